"""Joints that are locked at positions and unlocked again, and modes of flexible bodies like them.

Each edit returns a new mechanism, which shares all parts that did not change; names survive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import ModelError
from catena.joints import Fixed
from catena.mechanism import validation
from catena.mechanism.flexible_bodies import MODES, owner_of_modes, with_modes_locked
from catena.mechanism.naming import selected
from catena.mechanism.parts import Body, Joint
from catena.mechanism.placed_mechanism import PlacedMechanism
from catena.validation import entries, shown

if TYPE_CHECKING:
    from catena.mechanism.edits import Names, Position
    from catena.mechanism.mechanism import Mechanism


def lock(mechanism: Mechanism, names: Names, at: Position) -> Mechanism:
    """Return the mechanism with joints held at positions, and modes of flexible bodies at amplitudes; patterns take
    joints that can move."""
    joints, flexible = _modes_apart(names, mechanism)
    if flexible:
        return _lock_modes(mechanism, joints, flexible, at)
    chosen = selected("joint", names, mechanism.joints, lambda name: mechanism.joints[name].dof > 0)
    changed = mechanism.copy()
    here = at if isinstance(at, PlacedMechanism) else None
    for name in chosen:
        joint = mechanism.joints[name]
        who = f"joint {name!r}"
        if joint.kind.nv == 0:
            raise ModelError(f"{who}: a joint without degrees of freedom cannot be locked: it already holds")
        wanted = _position(joint, at, chosen) if here is None else here.position_of(name)
        position = validation.coordinates(who, "the locked position", wanted, joint.kind.nq)
        joint.kind.check(position, name)
        changed._joints[name] = replace(joint, locked_at=position)
    changed._forget(chosen)
    changed._revision += 1
    return changed


def _modes_apart(names: Names, mechanism: Mechanism) -> tuple[Names, list[Body]]:
    """Return the names that are those of joints, and the flexible bodies whose modes the others are."""
    if all(body.flexible is None for body in mechanism.bodies.values()):
        return names, []
    try:
        asked = entries(names)
    except ValueError:
        return names, []
    owners = [(name, owner_of_modes(name, mechanism.bodies)) for name in asked]
    flexible = [body for _, body in owners if body is not None]
    return (tuple(name for name, body in owners if body is None), flexible) if flexible else (names, [])


def _lock_modes(mechanism: Mechanism, joints: Names, flexible: Sequence[Body], at: Position) -> Mechanism:
    """Return the mechanism with the modes of some bodies held, and besides some joints."""
    if not isinstance(at, (Mapping, PlacedMechanism)) and at is not None and (joints or len(flexible) > 1):
        raise ModelError(
            f"the locked position is {shown(at)}, but it is for several joints or modes: give a mapping from their "
            "names to positions, or where they are now, as in at=s.configuration(q)"
        )
    changed = mechanism.copy()
    for body in flexible:
        modes = body.name + MODES
        changed.replace_body(with_modes_locked(body, at.get(modes) if isinstance(at, Mapping) else at))
        changed._forget([modes])
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


def fixed_where_locked(mechanism: Mechanism) -> tuple[Mechanism, list[str]]:
    """Return the mechanism with a `Fixed` joint in the place of each locked one, so that it moves the same, and the
    names of couplings that could not be kept.

    Actuators and forces at these joints do nothing and are left out, and couplings are what remains of them. A coupling
    by a curve whose follower is locked holds the other joint at a place that is not known here, and is left out.
    """
    held = {name: joint.locked_at for name, joint in mechanism.joints.items() if joint.locked_at is not None}
    changed = mechanism.copy()
    for name, at in held.items():
        joint = mechanism.joints[name]
        place = joint.in_parent * joint.kind.transform(at).pose()
        changed._joints[name] = Joint(
            name,
            joint.parent,
            joint.child,
            Fixed(),
            place,
            joint.in_child,
            np.zeros(0),
            np.zeros(0),
            None,
            np.zeros(0, dtype=bool),
        )
    changed._actuators = {n: a for n, a in mechanism.actuators.items() if a.joint not in held}
    changed._springs = {n: f for n, f in mechanism.springs.items() if f.at_joint not in held}
    changed._forces = {n: f for n, f in mechanism.forces.items() if f.at_joint not in held}
    untold = []
    for name, coupling in mechanism.couplings.items():
        places = {one: float(held[one][0]) for one in coupling.joints if one in held}
        if not places:
            continue
        del changed._couplings[name]
        try:
            left = coupling.with_held(places)
        except ModelError:
            untold.append(name)
            continue
        if left is not None:
            changed._couplings[name] = left
    changed._revision += 1
    return changed, untold
