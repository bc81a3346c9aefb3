"""A tree in the graph of a mechanism, for formats that have nothing else, and joints as rows of simple motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from catena.errors import FormatError
from catena.joints.contract import SimpleMotion, reversed_motions
from catena.mechanism import GROUND, Joint, Mechanism
from catena.mechanism.groups import Groups
from catena.spatial import Pose


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
    motions = joint.kind.simple_motions
    if joint.parent != parent:
        in_parent, in_child, motions = in_child, in_parent, reversed_motions(motions)
    return Branch(joint, parent, child, in_parent, in_child, motions)


def motion_name(branch: Branch, motion: SimpleMotion) -> str:
    """Return what a file calls one motion of a joint: the joint's name if it is the only one."""
    several = branch.motions is not None and len(branch.motions) > 1
    return f"{branch.joint.name} {motion.component + 1}" if several else branch.joint.name
