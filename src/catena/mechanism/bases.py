"""What a mechanism floats by: its base fixed, free, or seen from another body.

A base floats by a moving `Free` joint to ground, or by a `Planar` one where nothing leaves its plane. A mechanism may
have several, as a robot and its target have. Each edit returns a new mechanism, which shares all parts that did not
change; names survive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from catena.errors import ModelError
from catena.joints import Free, JointKind, Planar
from catena.joints.contract import HINGE, SLIDE
from catena.mechanism import validation
from catena.mechanism.changes import with_joint_replaced
from catena.mechanism.edits import Names, Position, reached
from catena.mechanism.naming import selected
from catena.mechanism.parts import GROUND, Joint
from catena.spatial import Pose

if TYPE_CHECKING:
    from catena.mechanism.mechanism import Mechanism

# Axes that are parallel, or at a right angle, up to this sine or cosine stay in the plane.
PARALLEL = 1e-9


def fix_base(mechanism: Mechanism, at: Position, base: Names | None = None) -> Mechanism:
    """Return the mechanism with the one moving `Free` joint to ground locked, with none of these the one `Planar`
    joint; or with the bases that are named."""
    return mechanism.lock(_chosen(mechanism, "fix_base", False, base), at)


def free_base(mechanism: Mechanism, base: Names | None = None) -> Mechanism:
    """Return the mechanism with its base floating: the one locked `Free` joint to ground unlocked, with none of these
    the one locked `Planar` joint, or, where there is neither, the one `Fixed` joint to ground replaced by a `Free`
    joint of the same name and frames; or the bases that are named."""
    locked = [joint.name for joint in _floating(mechanism) if joint.locked]
    fixed = {joint.name: joint for joint in _ground_joints(mechanism) if not joint.kind.nv}
    if base is not None:
        names = selected("locked or fixed base", base, (*locked, *fixed))
    elif locked:
        names = _chosen(mechanism, "free_base", True, None)
    elif len(fixed) == 1:
        names = tuple(fixed)
    else:
        found = ", ".join(map(repr, fixed)) or "none"
        raise ModelError(
            f"mechanism {mechanism.name!r}: free_base needs one locked Free or Planar joint or one Fixed joint to "
            f"ground, found {found}: name it, base=..., or detach the joints that hold the base and attach a Free joint"
        )
    for name in names:
        mechanism = mechanism.unlock(name) if name in locked else _freed(mechanism, fixed[name])
    return mechanism


def _freed(mechanism: Mechanism, fixed: Joint) -> Mechanism:
    """Return the mechanism with a Free joint in the place of a fixed one."""
    kind = Free()
    none = np.zeros(kind.nv)
    none.setflags(write=False)
    free = replace(fixed, kind=kind, damping=none, friction=none, powered=np.zeros(kind.nv, dtype=bool))
    free = replace(free, limits=None, limit_stiffness=None, limit_damping=None)
    return with_joint_replaced(
        mechanism,
        replace(
            free,
            armature=None,
            velocity_limit=None,
            static_friction=None,
            stribeck_velocity=None,
            load_friction=None,
        ),
    )


def reroot(mechanism: Mechanism, body: str, base: str | None = None) -> Mechanism:
    """Return the mechanism whose moving `Free` or `Planar` joint to ground leads to another body, under the same name:
    of several the one that the body floats by, or the one that is named.

    The joint constrains nothing that other joints do not, so the motion is the same; coordinates of the base are then
    those of the body.
    """
    validation.known("body", body, mechanism.bodies, "reroot")
    moving = [joint for joint in _floating(mechanism) if not joint.locked]
    if base is not None:
        name = validation.known("base", base, [joint.name for joint in moving], "reroot")
        moving = [joint for joint in moving if joint.name == name]
    with_body = [joint for joint in moving if _floats_with(mechanism, joint, body)]
    if len(with_body) != 1 or body == GROUND:
        found = ", ".join(repr(joint.name) for joint in moving) or "none"
        if len(moving) == 1 and body != GROUND:
            raise ModelError(
                f"mechanism {mechanism.name!r}: body {body!r} does not hang together with {_near(moving[0])!r}, which "
                f"floats by {moving[0].name!r}: reroot to a body of the same part"
            )
        raise ModelError(
            f"mechanism {mechanism.name!r}: reroot moves the one moving Free joint to ground to another body than "
            f"ground; found {found}, and the body {body!r}: name the base, or attach and detach the joints you mean"
        )
    joint = with_body[0]
    at, own = (
        (joint.in_parent, joint.in_child) if joint.parent == GROUND else (joint.in_child, joint.in_parent)
    )
    there = Pose()
    kind, plane = joint.kind, joint.kind.plane_normal
    if plane is not None:
        if joint.parent != GROUND:
            plane = tuple(-x for x in plane)
            kind = Planar(plane)
        there = _along_plane(mechanism, joint, body, own.R @ np.asarray(plane, dtype=float)).inverse() * own
    changed = mechanism.copy()
    changed._joints[joint.name] = replace(
        joint, kind=kind, parent=GROUND, child=body, in_parent=at, in_child=there
    )
    changed._forget([joint.name])
    changed._revision += 1
    return changed


def _along_plane(mechanism: Mechanism, base: Joint, body: str, normal: np.ndarray) -> Pose:
    """Return the pose of a body in the one that floats by a planar base, with joints in between at their neutral or
    locked positions, if these keep it in the plane across `normal`, told in the axes of the body that floats."""
    start = _near(base)
    placed, stack = {start: Pose()}, [start]
    while stack and body not in placed:
        here = stack.pop(0)
        for joint in mechanism.joints.values():
            if joint.name == base.name or here not in (joint.parent, joint.child):
                continue
            other = joint.child if joint.parent == here else joint.parent
            if other in placed or other == GROUND:
                continue
            across = placed[here].R.T @ normal
            near, far = (
                (joint.in_parent, joint.in_child)
                if joint.parent == here
                else (joint.in_child, joint.in_parent)
            )
            if not joint.locked and not stays_in_plane(joint.kind, near.R.T @ across):
                continue
            moved = Pose()
            if joint.locked and joint.locked_at is not None:
                moved = joint.kind.transform(np.asarray(joint.locked_at)).pose()
                moved = moved if joint.parent == here else moved.inverse()
            placed[other] = placed[here] * near * moved * far.inverse()
            stack.append(other)
    if body not in placed:
        raise ModelError(
            f"mechanism {mechanism.name!r}: joints between {start!r} and {body!r} leave the plane of {base.name!r}, so "
            "a planar base cannot be seen from there: use a Free joint"
        )
    return placed[body]


def stays_in_plane(kind: JointKind, normal: np.ndarray) -> bool:
    """Return whether a joint moves only in the plane across a normal in its frame."""
    motions = kind.simple_motions
    return motions is not None and all(
        (one.type == HINGE and np.linalg.norm(np.cross(one.axis, normal)) < PARALLEL)
        or (one.type == SLIDE and abs(float(np.dot(one.axis, normal))) < PARALLEL)
        for one in motions
    )


def _chosen(mechanism: Mechanism, what: str, locked: bool, base: Names | None) -> tuple[str, ...]:
    """Return the bases that are named, or the one there is, among those that are locked or not."""
    able = [joint for joint in _floating(mechanism) if joint.locked == locked]
    if base is not None:
        return selected(f"{'locked' if locked else 'moving'} base", base, [joint.name for joint in able])
    free = [joint.name for joint in able if joint.kind.is_floating]
    names = free or [joint.name for joint in able]
    if len(names) != 1:
        found = ", ".join(map(repr, names)) or "none"
        raise ModelError(
            f"mechanism {mechanism.name!r}: {what} needs one {'locked' if locked else 'moving'} Free joint to ground, "
            f"found {found}: name the bases you mean, base=..., or lock joints by name"
        )
    return tuple(names)


def _near(base: Joint) -> str:
    """Return the body that floats by a base."""
    return base.child if base.parent == GROUND else base.parent


def _floats_with(mechanism: Mechanism, base: Joint, body: str) -> bool:
    """Return whether joints besides the base lead from a body to the one that floats by it."""
    return body in reached(mechanism, _near(base), {base.name}, through_ground=False)


def _floating(mechanism: Mechanism) -> list[Joint]:
    """Return the joints to ground that bases float by, locked ones too."""
    return [
        joint
        for joint in _ground_joints(mechanism)
        if joint.kind.is_floating or joint.kind.plane_normal is not None
    ]


def _ground_joints(mechanism: Mechanism) -> list[Joint]:
    return [joint for joint in mechanism.joints.values() if GROUND in (joint.parent, joint.child)]
