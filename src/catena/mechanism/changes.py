"""The mechanism with some numbers of a part changed, checked as new parts are.

A changed part is made by adding it, with what was there and what is new, to a mechanism that lacks it. So everything
that `add_body`, `add_joint` or `add_spring` says about wrong numbers is said here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import ModelError
from catena.forces import ForceKind
from catena.mechanism.edits import without_what_belongs_to
from catena.mechanism.new_parts import signal_values
from catena.mechanism.parts import GROUND, Body, Frame, Joint
from catena.mechanism.validation import known, pose
from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

OF_BODY = ("mass", "com", "inertia", "density", "visuals", "collisions", "physical", "flexible")
OF_JOINT = (
    "kind", "in_parent", "in_child", "damping", "friction", "limits", "actuated", "limit_stiffness", "limit_damping",
    "armature", "velocity_limit", "static_friction", "stribeck_velocity", "load_friction",
)  # fmt: skip


def with_body(mechanism: Mechanism, name: str, numbers: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism with other numbers of a body."""
    body = mechanism.bodies[known("body", name, mechanism.bodies)]
    if name == GROUND:
        raise ModelError("body 'ground': it does not move, so it has no numbers to change: name another body")
    changed = mechanism.copy()
    changed._bodies[name] = _changed_body(_empty(mechanism), body, numbers)
    changed._revision += 1
    return changed


def with_joint(mechanism: Mechanism, name: str, numbers: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism with other numbers of a joint, or with another kind."""
    old = mechanism.joints[known("joint", name, mechanism.joints)]
    made = _changed_joint(_empty(mechanism), old, numbers)
    if (made.kind.nq, made.kind.nv) != (old.kind.nq, old.kind.nv):
        # What was said for each coordinate of the old kind says nothing about those of the new one.
        mechanism = without_what_belongs_to(mechanism, {name})
    for actuator in mechanism.actuators.values():
        if actuator.joint == name and not made.powered[list(actuator.components)].all():
            raise ModelError(
                f"joint {name!r}: actuator {actuator.name!r} drives its components {actuator.components}: leave them "
                f"actuated"
            )
    return with_joint_replaced(mechanism, made)


def with_joint_replaced(mechanism: Mechanism, joint: Joint) -> Mechanism:
    """Return the mechanism in which a joint takes the place of the one with its name, so that the order of coordinates
    stays."""
    changed = mechanism.copy()
    changed._joints[joint.name] = joint
    changed._revision += 1
    return changed


def with_spring(mechanism: Mechanism, name: str, numbers: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism with other numbers of a spring."""
    old = mechanism.springs[known("spring", name, mechanism.springs)]
    changed = mechanism.copy()
    order = list(mechanism.springs)
    del changed._springs[name]
    _require(f"spring {old.name!r}", numbers, old.numbers)
    old.added_to(changed, **numbers)
    changed._springs = {n: changed._springs[n] for n in order}
    return changed


def with_force(mechanism: Mechanism, name: str, numbers: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism with other values of the fields of a force."""
    old = mechanism.forces[known("force", name, mechanism.forces)]
    changed = mechanism.copy()
    kind = _changed_kind(f"force {name!r}", old.kind, numbers)
    changed._forces[name] = replace(old, given_kind=kind)
    changed._revision += 1
    return changed


def with_signals(mechanism: Mechanism, signals: Mapping[str, float]) -> Mechanism:
    """Return the mechanism whose servos are told these signals."""
    changed = mechanism.copy()
    for name, signal in signal_values(mechanism, signals).items():
        old = mechanism.forces[name]
        changed._forces[name] = replace(old, given_kind=replace(old.kind, signal=signal))  # type: ignore[type-var]
    changed._revision += 1
    return changed


def with_frame(mechanism: Mechanism, name: str, at: Pose) -> Mechanism:
    """Return the mechanism with a frame at another pose on its body."""
    old = mechanism.frames[known("frame", name, mechanism.frames)]
    pose(f"frame {name!r}", "pose", at)
    changed = mechanism.copy()
    changed._frames[name] = replace(old, pose=at)
    changed._revision += 1
    return changed


def without_forces(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with nothing that acts of its own."""
    changed = mechanism.copy()
    joints = {name: _idle(joint) for name, joint in mechanism.joints.items()}
    if not mechanism.force_elements and all(joints[n] is j for n, j in mechanism.joints.items()):
        return changed
    changed._joints = joints
    for group in (changed._springs, changed._wrenches, changed._forces):
        group.clear()
    changed._forget((), mechanism.force_elements)
    gone = mechanism.force_elements
    changed._sensors = {n: s for n, s in mechanism.sensors.items() if not s.is_at(forces=gone)}
    changed._revision += 1
    return changed


def _idle(joint: Joint) -> Joint:
    """Return a joint that neither rubs nor has stops."""
    rubs = joint.damping.any() or joint.friction.any() or joint.load_friction
    if joint.limits is None and not rubs:
        return joint
    none = np.zeros_like(joint.damping)
    joint = replace(joint, static_friction=None, stribeck_velocity=None, load_friction=None)
    return replace(joint, damping=none, friction=none, limits=None, limit_stiffness=None, limit_damping=None)


def with_parts(
    mechanism: Mechanism, gravity: ArrayLike, bodies: Mapping[str, Body], joints: Mapping[str, Joint],
    frames: Mapping[str, Frame], kinds: Mapping[str, ForceKind],
) -> Mechanism:  # fmt: skip
    """Return the mechanism with parts of the same names in the places of its own; nothing is checked."""
    changed = mechanism.copy()
    changed._gravity = np.array(gravity, dtype=np.float64)
    changed._gravity.setflags(write=False)
    changed._bodies, changed._joints, changed._frames = dict(bodies), dict(joints), dict(frames)
    for name, kind in kinds.items():
        place = changed.force_elements[name]
        for group in (changed._springs, changed._wrenches, changed._forces):
            if name in group:
                group[name] = place.with_kind(kind)  # type: ignore[assignment]
    changed._revision += 1
    return changed


def _empty(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism of the same name that has nothing yet."""
    from catena.mechanism.mechanism import Mechanism

    return Mechanism(mechanism.name)


def _changed_body(empty: Mechanism, old: Body, numbers: Mapping[str, Any]) -> Body:
    """Return a body with other numbers; its inertia must be possible unless it is the one that was there."""
    _require(f"body {old.name!r}", numbers, OF_BODY)
    there: dict[str, Any] = {"visuals": old.visuals, "collisions": old.collisions}
    if numbers.get("flexible", old.flexible) is not None:
        # A flexible body has its own mass; whoever gives another is told so.
        made = empty.add_body(old.name, **{**there, "flexible": old.flexible, **numbers})
        return replace(made, locked_at=old.locked_at) if made.flexible is old.flexible else made
    if numbers.get("density") is None:
        there |= {"mass": old.mass, "com": old.com, "inertia": old.inertia}
        # What came from a file may never have been possible.
        there["physical"] = numbers.get("inertia") is not None
    return empty.add_body(old.name, **{**there, **numbers})


def _changed_joint(empty: Mechanism, old: Joint, numbers: Mapping[str, Any]) -> Joint:
    """Return a joint between the same bodies with other numbers, or of another kind; a locked one stays locked."""
    _require(f"joint {old.name!r}", numbers, OF_JOINT)
    there = {name: getattr(old, name) for name in OF_JOINT}
    # What is driven alike says something about any kind, and about none that had no velocity.
    there["actuated"] = old.powered.tolist()
    if len(set(there["actuated"])) < 2:
        there["actuated"] = old.actuated or not old.kind.nv
    if old.limit_damping is None:
        del there["limit_damping"]
    kind = numbers.get("kind", old.kind)
    if getattr(kind, "nv", old.kind.nv) != old.kind.nv:
        # Numbers for each velocity of the old kind say nothing about those of the new one.
        for name in (
            "damping",
            "friction",
            "limits",
            "limit_stiffness",
            "limit_damping",
            "armature",
            "velocity_limit",
            "static_friction",
            "stribeck_velocity",
            "load_friction",
        ):
            there.pop(name, None)
        if isinstance(there["actuated"], list):
            del there["actuated"]
    for body in (old.parent, old.child):
        if body not in empty.bodies:
            empty.add_body(body)
    made = empty.add_joint(old.name, old.parent, old.child, **{**there, **numbers})
    if old.locked and (made.kind.nq, made.kind.nv) != (old.kind.nq, old.kind.nv):
        raise ModelError(f"joint {old.name!r}: it is locked at coordinates of its old kind: unlock it first")
    return replace(made, locked_at=old.locked_at)


def _changed_kind(who: str, kind: ForceKind, numbers: Mapping[str, Any]) -> ForceKind:
    """Return a kind of force with other values of its fields."""
    if not is_dataclass(kind):
        raise ModelError(f"{who}: {type(kind).__name__} is no dataclass: add the force anew")
    _require(who, numbers, [one.name for one in fields(kind)])
    try:
        return replace(kind, **numbers)
    except ModelError as error:
        raise ModelError(f"{who}: {error}") from None


def _require(who: str, numbers: Mapping[str, Any], names: Any) -> None:
    for name in numbers:
        known("number or property to change", name, names, who)
