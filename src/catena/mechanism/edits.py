"""Edits that change several parts at once, or that take a pose from where the bodies are now.

Each returns a new mechanism, which shares all parts that did not change; names survive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from catena.errors import ModelError, PlanError
from catena.given import entries, shown
from catena.joints import Free, JointKind
from catena.mechanism import validation
from catena.mechanism.flexible_bodies import MODES, owner_of_modes, with_modes_locked
from catena.mechanism.parts import GROUND, Body, Joint
from catena.mechanism.selection import selected
from catena.mechanism.whereabouts import Whereabouts
from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

Position = ArrayLike | Mapping[str, ArrayLike] | Whereabouts | None
Names = str | Iterable[str]


def lock(mechanism: Mechanism, names: Names, at: Position) -> Mechanism:
    """Return the mechanism with joints held at positions, and modes of flexible bodies at amplitudes; patterns take
    joints that can move."""
    joints, flexible = _modes_apart(names, mechanism)
    if flexible:
        return _lock_modes(mechanism, joints, flexible, at)
    chosen = selected("joint", names, mechanism.joints, lambda name: mechanism.joints[name].dof > 0)
    changed = mechanism.copy()
    initial = mechanism.initial
    here = at if isinstance(at, Whereabouts) else None
    for name in chosen:
        joint = mechanism.joints[name]
        who = f"joint {name!r}"
        if joint.kind.nv == 0:
            raise ModelError(f"{who}: a joint without degrees of freedom cannot be locked: it already holds")
        given = _position(joint, at, chosen) if here is None else here.position_of(name)
        position = validation.coordinates(who, "the locked position", given, joint.kind.nq)
        joint.kind.check(position, name)
        changed._joints[name] = replace(joint, locked_at=position)
        initial = initial.without(name)
    changed._initial = initial
    changed._revision += 1
    return changed


def _modes_apart(names: Names, mechanism: Mechanism) -> tuple[Names, list[Body]]:
    """Return the names that are those of joints, and the flexible bodies whose modes the others are."""
    if all(body.flexible is None for body in mechanism.bodies.values()):
        return names, []
    try:
        given = entries(names)
    except ValueError:
        return names, []
    owners = [(name, owner_of_modes(name, mechanism.bodies)) for name in given]
    flexible = [body for _, body in owners if body is not None]
    return (tuple(name for name, body in owners if body is None), flexible) if flexible else (names, [])


def _lock_modes(mechanism: Mechanism, joints: Names, flexible: Sequence[Body], at: Position) -> Mechanism:
    """Return the mechanism with the modes of some bodies held, and besides some joints."""
    if not isinstance(at, (Mapping, Whereabouts)) and at is not None and (joints or len(flexible) > 1):
        raise ModelError(
            f"the locked position is {shown(at)}, but it is for several joints or modes: give a mapping from their "
            "names to positions, or where they are now, as in at=s.configuration(q)"
        )
    changed = mechanism.copy()
    for body in flexible:
        modes = body.name + MODES
        changed.replace_body(with_modes_locked(body, at.get(modes) if isinstance(at, Mapping) else at))
        changed._initial = changed._initial.without(modes)
    if isinstance(at, Mapping):
        held = {body.name + MODES for body in flexible}
        at = {name: position for name, position in at.items() if name not in held}
        for name in at:
            validation.known(
                "joint",
                name,
                selected("joint", joints, mechanism.joints) if joints else (),
                "the locked position",
            )
    return lock(changed, joints, at) if joints else changed


def _position(joint: Joint, at: Position, chosen: tuple[str, ...]) -> Any:
    """Return where a joint of those chosen is to be locked."""
    if at is None:
        return joint.kind.neutral()
    if isinstance(at, Mapping):
        for name in at:
            validation.known("joint", name, chosen, "the locked position")
        return at.get(joint.name, joint.kind.neutral())
    if len(chosen) > 1:
        raise ModelError(
            f"the locked position is {shown(at)}, but it is for {len(chosen)} joints: give a mapping from joints to "
            "positions, or where they are now, as in at=s.configuration(q)"
        )
    return at


def unlock(mechanism: Mechanism, names: Names) -> Mechanism:
    """Return the mechanism with locked joints, or locked modes of flexible bodies, free to move again."""
    names, flexible = _modes_apart(names, mechanism)
    changed = mechanism.copy()
    for body in flexible:
        if body.locked_at is None:
            raise ModelError(
                f"modes of body {body.name!r}: they are not locked: only what was locked can be unlocked"
            )
        changed.replace_body(replace(body, locked_at=None))
    if flexible and not names:
        return changed
    for name in selected("joint", names, mechanism.joints, lambda name: mechanism.joints[name].locked):
        joint = mechanism.joints[name]
        if joint.locked_at is None:
            raise ModelError(f"joint {name!r}: it is not locked: only a joint locked before can be unlocked")
        changed._joints[name] = replace(joint, locked_at=None)
    changed._revision += 1
    return changed


def attach(
    mechanism: Mechanism,
    name: str,
    parent: str,
    child: str,
    kind: JointKind,
    in_parent: Pose | None,
    in_child: Pose | None,
    at: Whereabouts | None,
    options: Mapping[str, Any],
) -> Mechanism:
    """Return the mechanism with one more joint between two bodies or frames.

    With `at`, a pose that is not given follows from where the bodies are; if both are given they must fit.
    """
    who = f"joint {name!r}"
    bodies, bases = [], []
    for end in (parent, child):
        validation.known("body or frame", end, [*mechanism.bodies, *mechanism.frames], who)
        frame = mechanism.frames.get(end)
        bodies.append(end if frame is None else frame.body)
        bases.append(Pose() if frame is None else frame.pose)
    if at is not None and not isinstance(at, Whereabouts):
        raise ModelError(f"{who}: at is {shown(at)}: give where the bodies are now, as in s.configuration(q)")
    for side, pose in (("in_parent", in_parent), ("in_child", in_child)):
        if pose is not None and not isinstance(pose, Pose):
            raise ModelError(
                f"{who}: {side} is {shown(pose)}, which is not a pose: give Pose(p=(x, y, z), rpy=...)"
            )
    outer, inner = (
        base if pose is None else base * pose for base, pose in zip(bases, (in_parent, in_child), strict=True)
    )
    given = in_parent is not None and in_child is not None
    # Two frames say where the joint is on either side as well as two poses do.
    given = given or (bodies[0] != parent and bodies[1] != child)
    if at is not None and not given:
        if in_child is None and bodies[1] == child:
            inner = at.pose_on(bodies[1], at.pose_at(bodies[0], outer))
        else:
            outer = at.pose_on(bodies[0], at.pose_at(bodies[1], inner))
    changed = mechanism.copy()
    changed.add_joint(name, bodies[0], bodies[1], kind, outer, inner, **options)
    if at is not None and given:
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
    changed = mechanism.copy()
    changed._joints = {n: j for n, j in mechanism.joints.items() if n not in gone}
    changed._actuators = {n: a for n, a in mechanism.actuators.items() if a.joint not in gone}
    changed._springs = {n: s for n, s in mechanism.springs.items() if s.at_joint not in gone}
    changed._forces = {n: f for n, f in mechanism.forces.items() if f.at_joint not in gone}
    changed._couplings = {n: c for n, c in mechanism.couplings.items() if not gone & set(c.joints)}
    for name in gone:
        changed._initial = changed._initial.without(name)
    changed._revision += 1
    return changed


def reduce_to(mechanism: Mechanism, names: Names, at: Position) -> Mechanism:
    """Return the mechanism in which these joints and modes move and all others are locked."""
    names, flexible = _modes_apart(names, mechanism)
    stay = {body.name for body in flexible}
    stiff = [
        name + MODES
        for name, body in mechanism.bodies.items()
        if body.flexible is not None and body.locked_at is None and name not in stay
    ]
    kept = set()
    if not (flexible and not names):
        kept = set(selected("joint", names, mechanism.joints, lambda name: mechanism.joints[name].dof > 0))
    for name in kept:
        if mechanism.joints[name].dof == 0:
            raise ModelError(
                f"joint {name!r}: it is to be kept but does not move: unlock it first, or leave it out"
            )
    others = [name for name, joint in mechanism.joints.items() if joint.dof > 0 and name not in kept] + stiff
    return lock(mechanism, others, at) if others else mechanism.copy()


def reroot(mechanism: Mechanism, body: str) -> Mechanism:
    """Return the mechanism whose one moving `Free` joint to ground leads to another body, under the same name.

    The joint constrains nothing, so the motion is the same; coordinates of the base are then those of the body.
    """
    validation.known("body", body, mechanism.bodies, "reroot")
    free = [
        joint
        for joint in mechanism.joints.values()
        if GROUND in (joint.parent, joint.child) and isinstance(joint.kind, Free) and not joint.locked
    ]
    if len(free) != 1 or body == GROUND:
        found = ", ".join(repr(joint.name) for joint in free) or "none"
        raise ModelError(
            f"mechanism {mechanism.name!r}: reroot moves the one moving Free joint to ground to another body than "
            f"ground; found {found}, and the body {body!r}: attach and detach the joints you mean"
        )
    joint = free[0]
    _require_floating_with(mechanism, joint, body)
    at = joint.in_parent if joint.parent == GROUND else joint.in_child
    changed = mechanism.copy()
    changed._joints[joint.name] = replace(joint, parent=GROUND, child=body, in_parent=at, in_child=Pose())
    changed._initial = mechanism.initial.without(joint.name)
    changed._revision += 1
    return changed


def _require_floating_with(mechanism: Mechanism, base: Joint, body: str) -> None:
    """Raise an error unless joints besides the base lead from the body to the one that floats by it."""
    near = base.child if base.parent == GROUND else base.parent
    if body not in reached(mechanism, near, {base.name}, through_ground=False):
        raise ModelError(
            f"mechanism {mechanism.name!r}: body {body!r} does not hang together with {near!r}, which floats by "
            f"{base.name!r}: reroot to a body of the same part"
        )


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
    at: Whereabouts | None,
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
    if at is not None and not isinstance(at, Whereabouts):
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
