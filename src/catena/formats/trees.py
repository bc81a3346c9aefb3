"""A tree in the graph of a mechanism, for formats that have nothing else, and joints as rows of simple motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import FormatError
from catena.joints import (
    Cylindrical,
    Fixed,
    Free,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Sdof,
    Spherical,
    Universal,
)
from catena.joints.axes import perpendicular
from catena.joints.sdof import ROTATIONS
from catena.mechanism import GROUND, Joint, Mechanism
from catena.mechanism.groups import Groups
from catena.spatial import Pose

HINGE, SLIDE, BALL, FREE = "hinge", "slide", "ball", "free"


@dataclass(frozen=True)
class SimpleMotion:
    """One simple motion of a joint: its type, its axis (3,) in the frame of the joint, its component of the joint."""

    type: str
    axis: NDArray[np.float64]
    component: int


@dataclass(frozen=True)
class Branch:
    """A joint of the tree, seen from the root: `motions` is None if it has none that can be told."""

    joint: Joint
    parent: str
    child: str
    in_parent: Pose
    in_child: Pose
    motions: tuple[SimpleMotion, ...] | None


def grow(mechanism: Mechanism, file: str, rank: Callable[[Joint], Any]) -> tuple[list[Branch], list[Joint]]:
    """Return the branches of a tree from ground outwards, and the joints that are left over.

    Joints of lower rank are taken first, among equals those that were added first. No joint may be locked: see
    `fixed_where_locked`.
    """
    groups = Groups(mechanism.bodies)
    joints = list(mechanism.joints.values())
    chosen: set[str] = set()
    for joint in sorted(joints, key=rank):
        if groups.join(joint.parent, joint.child):
            chosen.add(joint.name)
    at: dict[str, list[Joint]] = {name: [] for name in mechanism.bodies}
    for joint in joints:
        if joint.name in chosen:
            at[joint.parent].append(joint)
            at[joint.child].append(joint)
    branches: list[Branch] = []
    reached, waiting = {GROUND}, [GROUND]
    while waiting:
        body = waiting.pop(0)
        for joint in at[body]:
            other = joint.child if joint.parent == body else joint.parent
            if other not in reached:
                reached.add(other)
                waiting.append(other)
                branches.append(_branch(joint, body, other))
    for name in mechanism.bodies:
        if name not in reached:
            raise FormatError(f"{file}: body {name!r} hangs on nothing: connect it to ground, or remove it")
    return branches, [joint for joint in joints if joint.name not in chosen]


def _branch(joint: Joint, parent: str, child: str) -> Branch:
    in_parent, in_child = joint.in_parent, joint.in_child
    motions = motions_of(joint.kind)
    if joint.parent != parent:
        in_parent, in_child = in_child, in_parent
        if motions is not None:
            motions = tuple(SimpleMotion(one.type, -one.axis, one.component) for one in reversed(motions))
    return Branch(joint, parent, child, in_parent, in_child, motions)


def motions_of(kind: JointKind) -> tuple[SimpleMotion, ...] | None:
    """Return the simple motions that a kind consists of, one after the other, or None if it does not."""
    if isinstance(kind, Sdof):
        screws = kind.screws()
        if any(np.any(point) for name, _, point in screws if name in ROTATIONS):
            return None  # axes that do not pass through one point
        types = {"r": HINGE, "d": SLIDE}
        return tuple(SimpleMotion(types[name[0]], axis, k) for k, (name, axis, _) in enumerate(screws))
    rows: list[tuple[str, object]]
    if isinstance(kind, Fixed):
        rows = []
    elif isinstance(kind, Revolute):
        rows = [(HINGE, kind.axis)]
    elif isinstance(kind, Prismatic):
        rows = [(SLIDE, kind.axis)]
    elif isinstance(kind, Cylindrical):
        rows = [(HINGE, kind.axis), (SLIDE, kind.axis)]
    elif isinstance(kind, Universal):
        rows = [(HINGE, kind.axis1), (HINGE, kind.axis2)]
    elif isinstance(kind, Planar):
        first, second = perpendicular(kind.normal)
        rows = [(SLIDE, first), (SLIDE, second), (HINGE, kind.normal)]
    elif isinstance(kind, Spherical):
        rows = [(BALL, (0.0, 0.0, 1.0))]
    elif isinstance(kind, Free):
        rows = [(FREE, (0.0, 0.0, 1.0))]
    else:
        return None
    return tuple(
        SimpleMotion(word, np.array(axis, dtype=np.float64), k) for k, (word, axis) in enumerate(rows)
    )


def motion_name(branch: Branch, motion: SimpleMotion) -> str:
    """Return what a file calls one motion of a joint: the joint's name if it is the only one."""
    several = branch.motions is not None and len(branch.motions) > 1
    return f"{branch.joint.name} {motion.component + 1}" if several else branch.joint.name
