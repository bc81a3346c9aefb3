"""Joints that come and go: attached where the bodies are now, detached with all that acts at them, or both at once.

Each returns a new mechanism, which shares all parts that did not change; names survive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from catena.errors import ModelError, PlanError
from catena.joints import JointKind
from catena.mechanism import validation
from catena.mechanism.locking import lock, unlock
from catena.mechanism.naming import end_of_joint, selected
from catena.mechanism.parts import GROUND
from catena.mechanism.placed_mechanism import PlacedMechanism
from catena.spatial import Pose
from catena.validation import entries, shown

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

Position = ArrayLike | Mapping[str, ArrayLike] | PlacedMechanism | None
Names = str | Iterable[str]


def attach(
    mechanism: Mechanism,
    name: str,
    parent: str,
    child: str,
    kind: JointKind,
    in_parent: Pose | None,
    in_child: Pose | None,
    at: PlacedMechanism | None,
    options: Mapping[str, Any],
) -> Mechanism:
    """Return the mechanism with one more joint between two bodies or frames.

    With `at`, a pose that is not given follows from where the bodies are; if both are given they must fit.
    """
    who = f"joint {name!r}"
    bodies, bases = zip(*(end_of_joint(mechanism, who, end) for end in (parent, child)), strict=True)
    if at is not None and not isinstance(at, PlacedMechanism):
        raise ModelError(f"{who}: at is {shown(at)}: give where the bodies are now, as in s.configuration(q)")
    for side, pose in (("in_parent", in_parent), ("in_child", in_child)):
        if pose is not None:
            validation.pose(who, side, pose)
    outer, inner = (
        base if pose is None else base * pose for base, pose in zip(bases, (in_parent, in_child), strict=True)
    )
    is_placed = in_parent is not None and in_child is not None
    # Two frames say where the joint is on either side as well as two poses do.
    is_placed = is_placed or (bodies[0] != parent and bodies[1] != child)
    if at is not None and not is_placed:
        if in_child is None and bodies[1] == child:
            inner = at.pose_on(bodies[1], at.pose_at(bodies[0], outer))
        else:
            outer = at.pose_on(bodies[0], at.pose_at(bodies[1], inner))
    changed = mechanism.copy()
    changed.add_joint(name, bodies[0], bodies[1], kind, outer, inner, **options)
    if at is not None and is_placed:
        at.require_closed(changed, name)
    return changed


def joints_at(mechanism: Mechanism, places: Mapping[str, tuple[Pose, Pose]]) -> Mechanism:
    """Return the mechanism with joints elsewhere on their bodies, {joint: (in_parent, in_child)}."""
    changed = mechanism.copy()
    for name, (in_parent, in_child) in places.items():
        changed._joints[name] = replace(mechanism.joints[name], in_parent=in_parent, in_child=in_child)
    changed._revision += 1
    return changed


def detach(mechanism: Mechanism, names: Names) -> Mechanism:
    """Return the mechanism without joints, and without what acts at them or was said of them."""
    gone = set(selected("joint", names, mechanism.joints))
    changed = without_what_belongs_to(mechanism, gone)
    changed._joints = {n: j for n, j in mechanism.joints.items() if n not in gone}
    return changed


def without_what_belongs_to(mechanism: Mechanism, gone: Set[str]) -> Mechanism:
    """Return the mechanism without the actuators, forces, couplings and initial values of some joints."""
    changed = mechanism.copy()
    changed._actuators = {n: a for n, a in mechanism.actuators.items() if a.joint not in gone}
    changed._springs = {n: s for n, s in mechanism.springs.items() if s.at_joint not in gone}
    changed._forces = {n: f for n, f in mechanism.forces.items() if f.at_joint not in gone}
    changed._couplings = {n: c for n, c in mechanism.couplings.items() if not gone & set(c.joints)}
    at_joints = {n for n, f in mechanism.force_elements.items() if f.at_joint in gone}
    changed._forget(gone, at_joints)
    changed._sensors = {n: s for n, s in mechanism.sensors.items() if not s.is_at(gone, at_joints)}
    changed._revision += 1
    return changed


def without_couplings(mechanism: Mechanism, names: Names) -> Mechanism:
    """Return the mechanism without couplings; their joints move by themselves."""
    return _without(mechanism, "coupling", "_couplings", names)


def without_actuators(mechanism: Mechanism, names: Names) -> Mechanism:
    """Return the mechanism without actuators; their joints stay as they are."""
    return _without(mechanism, "actuator", "_actuators", names)


def _without(mechanism: Mechanism, what: str, group: str, names: Names) -> Mechanism:
    changed = mechanism.copy()
    parts = getattr(changed, group)
    for name in set(selected(what, names, parts)):
        del parts[name]
    changed._revision += 1
    return changed


def without_forces_named(mechanism: Mechanism, names: Names) -> Mechanism:
    """Return the mechanism without some springs, wrenches and other forces."""
    gone = set(selected("force", names, mechanism.force_elements))
    changed = mechanism.copy()
    for group in (changed._springs, changed._wrenches, changed._forces):
        for name in gone & set(group):
            del group[name]
    changed._forget((), gone)
    changed._sensors = {n: s for n, s in mechanism.sensors.items() if not s.is_at(forces=gone)}
    changed._revision += 1
    return changed


def reached(
    mechanism: Mechanism, start: str, without: Iterable[str] = (), through_ground: bool = True
) -> set[str]:
    """Return the bodies that joints, those in `without` excepted, connect to a body; itself included."""
    left_out = set(without)
    around: dict[str, list[str]] = {name: [] for name in mechanism.bodies}
    for joint in mechanism.joints.values():
        if joint.name not in left_out:
            around[joint.parent].append(joint.child)
            around[joint.child].append(joint.parent)
    found, stack = {start}, [start]
    while stack:
        body = stack.pop()
        if body == GROUND and not through_ground and body != start:
            continue
        for other in around[body]:
            if other not in found:
                found.add(other)
                stack.append(other)
    return found


def changed(
    mechanism: Mechanism,
    detach_: Names,
    unlock_: Names,
    lock_: Names | Mapping[str, ArrayLike],
    attach_: Mapping[str, Any],
    at: PlacedMechanism | None,
) -> Mechanism:
    """Return the mechanism after several edits at once: joints go, others are unlocked, locked and added.

    What hangs together is looked at when all is done, so that a joint may take the place of another one.
    """
    found = mechanism
    gone, freed = _listed("detach", detach_), _listed("unlock", unlock_)
    if gone:
        found = detach(found, gone)
    if freed:
        found = unlock(found, freed)
    if isinstance(lock_, Mapping):
        for names, position in lock_.items():
            found = lock(found, names, at if position is None else position)
    elif held := _listed("lock", lock_):
        found = lock(found, held, at)
    if not isinstance(attach_, Mapping):
        raise ModelError(
            f"attach is {shown(attach_)}: give a mapping from new joints to (parent, child, kind)"
        )
    if at is not None and not isinstance(at, PlacedMechanism):
        raise ModelError(f"at is {shown(at)}: give where the bodies are now, as in s.configuration(q)")
    for name, described in attach_.items():
        try:
            parts: list[Any] = [] if isinstance(described, str) else list(described)
            parent, child, kind, *rest = parts
            options = dict(rest[0]) if rest else {}
        except (TypeError, ValueError):
            raise ModelError(
                f"joint {name!r}: it is to be attached as {shown(described)}: give (parent, child, kind) or (parent, "
                "child, kind, {'in_parent': ..., ...})"
            ) from None
        poses = options.pop("in_parent", None), options.pop("in_child", None)
        found = attach(found, name, parent, child, kind, *poses, at, options)
    loose = [name for name in found.bodies if name not in reached(found, GROUND)]
    if loose:
        some = ", ".join(repr(name) for name in loose[:6])
        raise PlanError(
            f"mechanism {mechanism.name!r}: after these edits nothing connects {some} to ground: attach what is "
            "missing in the same call, or a Free joint from ground for what floats"
        )
    return found


def _listed(what: str, names: Names) -> tuple[str, ...]:
    """Return names or patterns from one or many."""
    try:
        return entries(names)
    except ValueError:
        raise ModelError(
            f"{what} is {shown(names)}: name joints, or give patterns such as 'arm2/*'"
        ) from None
