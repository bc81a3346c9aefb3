"""Numbers of a mechanism as variables of an FMU: who owns them, and their units."""

from __future__ import annotations

from catena.mechanism import Mechanism
from catena.simulation.results.labels import joint_labels
from catena.system import System

_OF_ANY = {
    "mass": "kg",
    "com": "m",
    "inertia": "kg.m2",
    "in_parent": "m",
    "in_child": "m",
    "p": "m",
    "pitch": "m/rad",
}
_OF_JOINT = {
    "damping": {"N.m": "N.m.s/rad", "N": "N.s/m"},
    "friction": {"N.m": "N.m", "N": "N"},
    "armature": {"N.m": "kg.m2", "N": "kg"},
}


def entry_parts(mechanism: Mechanism, entry: str) -> tuple[str, ...]:
    """Return the owner of an entry of a parameter, "left leg" of "left leg.com.x", and what follows. Names may have
    dots in them."""
    owners = [*mechanism.bodies, *mechanism.joints, *mechanism.frames, *mechanism.force_elements, "gravity"]
    owner = max((o for o in owners if entry.startswith(f"{o}.")), key=len, default=entry)
    return (owner, *entry.removeprefix(owner).removeprefix(".").split(".")) if owner != entry else (entry,)


def entry_unit(system: System, entry: str) -> str:
    """Return the unit of an entry of a parameter, "" where only the kind of a force knows it."""
    m = system.mechanism
    owner, *rest = entry_parts(m, entry)
    if owner == "gravity":
        return "m/s2"
    what = rest[0] if rest else ""
    if owner in m.joints and what in _OF_JOINT:
        component = int(rest[1]) if len(rest) > 1 else 0
        unit = joint_labels(system, owner, "force")[component].unit.replace(" ", ".")
        return _OF_JOINT[what].get(unit, "")
    is_force = owner in m.force_elements and what in m.force_elements[owner].kind.named_params()
    return "" if is_force else _OF_ANY.get(what, "")
