"""Joints as a plan has them."""

from typing import NamedTuple

import catena as ct
from catena import Pose


class Edge(NamedTuple):
    """A joint as a plan has it: also the one that a pinned root adds."""

    parent: str
    child: str
    kind: ct.JointKind
    in_parent: Pose
    in_child: Pose


def edge(mechanism, name):
    if name.startswith("root:"):
        return Edge("ground", name.removeprefix("root:"), ct.Free(), Pose(), Pose())
    joint = mechanism.joints[name]
    return Edge(joint.parent, joint.child, joint.kind, joint.in_parent, joint.in_child)
