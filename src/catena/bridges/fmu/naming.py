"""What variables are called in an FMU, and their units.

Names follow FMI's structured convention: parts joined by dots, and a part that is no identifier between apostrophes.
Characters that may not stand there are written by their number, `<U+00FC>`, so that different names stay different.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from catena.errors import StateError
from catena.mechanism import Mechanism
from catena.simulation.results.labels import joint_labels
from catena.system import System
from catena.validation import listed, shown

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = frozenset(string.ascii_letters + string.digits + "_ !#$%&()*+,-./:;<>=?@[]^{}|~")


def part(text: str) -> str:
    """Return a name as one part of a structured name."""
    if _IDENTIFIER.fullmatch(text):
        return text
    coded = (
        c if c in _QUOTED and not text.startswith("<U+", k) else f"<U+{ord(c):04X}>"
        for k, c in enumerate(text)
    )
    return f"'{''.join(coded)}'"


def structured(owner: str, *parts: str) -> str:
    """Return the structured name of something that belongs to an owner; a part that counts, "0", is an index from 1."""
    text = part(owner)
    for one in parts:
        text += f"[{int(one) + 1}]" if one.isascii() and one.isdecimal() else f".{part(one)}"
    return text


def printable(text: str) -> str:
    """Return a text with the characters that XML does not know written by their numbers."""

    def is_known(c: str) -> bool:
        return c >= " " and not ("\ud800" <= c <= "\udfff" or c in "\ufffe\uffff\x7f")

    return "".join(c if is_known(c) else f"<U+{ord(c):04X}>" for c in text)


UNITS: Mapping[str, Mapping[str, int]] = MappingProxyType({
    "1": {}, "s": {"s": 1}, "m": {"m": 1}, "rad": {"rad": 1}, "kg": {"kg": 1},
    "m/s": {"m": 1, "s": -1}, "rad/s": {"rad": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2}, "rad/s2": {"rad": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2}, "W": {"kg": 1, "m": 2, "s": -3},
    "kg.m2": {"kg": 1, "m": 2}, "m/rad": {"m": 1, "rad": -1},
    "N.s/m": {"kg": 1, "s": -1}, "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
})  # fmt: skip
"""The units that variables have, as powers of base units."""

RATE: Mapping[str, str] = MappingProxyType({
    "": "", "rad": "rad/s", "m": "m/s", "rad/s": "rad/s2", "m/s": "m/s2",
})  # fmt: skip
"""The unit of the derivative of a coordinate or a velocity with a unit."""


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


@dataclass(frozen=True)
class FmuSignal:
    """A number that goes in or comes out: its name in the FMU, its unit ("" for none), a sentence, and what it begins
    with."""

    name: str
    unit: str
    about: str
    start: float = 0.0


def coordinate_parts(coordinate: str) -> tuple[str, ...]:
    """Return the parts of a name that a coordinate adds: none where a joint has one only; counted from 0 where they
    have no names."""
    if not coordinate:
        return ()
    return (str(int(coordinate) - 1),) if coordinate.isdecimal() else (coordinate,)


def listed_names(what: str, names: Any) -> list[str]:
    """Return names as a list, each once; a StateError says what is none."""
    try:
        found = listed(names)
    except ValueError as error:
        raise StateError(f"{what}: {shown(names)} is no list of names ({error}).") from error
    for name in found:
        if not isinstance(name, str):
            raise StateError(f"{what}: {shown(name)} is no name; give a list of names such as 'elbow.tau'.")
    return list(dict.fromkeys(found))
