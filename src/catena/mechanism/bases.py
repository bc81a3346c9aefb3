"""What a mechanism floats by: its base fixed, free, or seen from another body.

Each edit returns a new mechanism, which shares all parts that did not change; names survive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from catena.errors import ModelError
from catena.joints import Fixed, Free, JointKind
from catena.mechanism import validation
from catena.mechanism.changes import with_joint_replaced
from catena.mechanism.edits import Position, reached
from catena.mechanism.parts import GROUND, Joint
from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism


def fix_base(mechanism: Mechanism, at: Position) -> Mechanism:
    """Return the mechanism with the one moving `Free` joint to ground locked."""
    free = [joint.name for joint in _ground_joints(mechanism, Free) if not joint.locked]
    if len(free) != 1:
        found = ", ".join(repr(n) for n in free) or "none"
        raise ModelError(
            f"mechanism {mechanism.name!r}: fix_base needs one moving Free joint to ground, found {found}: "
            "lock the joint you mean by name"
        )
    return mechanism.lock(free[0], at)


def free_base(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with its base floating: the one locked `Free` joint to ground unlocked, or, where there is
    none, the one `Fixed` joint to ground replaced by a `Free` joint of the same name and frames."""
    locked = [joint for joint in _ground_joints(mechanism, Free) if joint.locked]
    fixed = _ground_joints(mechanism, Fixed)
    if len(locked) == 1:
        return mechanism.unlock(locked[0].name)
    if not locked and len(fixed) == 1:
        kind = Free()
        none = np.zeros(kind.nv)
        none.setflags(write=False)
        free = replace(
            fixed[0], kind=kind, damping=none, friction=none, powered=np.zeros(kind.nv, dtype=bool)
        )
        free = replace(free, limits=None, limit_stiffness=None, limit_damping=None)
        return with_joint_replaced(
            mechanism,
            replace(free, armature=None, velocity_limit=None, static_friction=None, stribeck_velocity=None),
        )
    found = ", ".join(repr(joint.name) for joint in locked + fixed) or "none"
    raise ModelError(
        f"mechanism {mechanism.name!r}: free_base needs one locked Free joint or one Fixed joint to ground, "
        f"found {found}: detach the joints that hold the base and attach a Free joint"
    )


def reroot(mechanism: Mechanism, body: str) -> Mechanism:
    """Return the mechanism whose one moving `Free` joint to ground leads to another body, under the same name.

    The joint constrains nothing, so the motion is the same; coordinates of the base are then those of the body.
    """
    validation.known("body", body, mechanism.bodies, "reroot")
    free = [joint for joint in _ground_joints(mechanism, Free) if not joint.locked]
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
    changed._forget([joint.name])
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


def _ground_joints(mechanism: Mechanism, kind: type[JointKind]) -> list[Joint]:
    return [
        joint
        for joint in mechanism.joints.values()
        if GROUND in (joint.parent, joint.child) and isinstance(joint.kind, kind)
    ]
