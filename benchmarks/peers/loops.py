"""A mechanism with loops as a tree of links and what holds them together: points and welds, the loop joints that
other engines have."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.links import links_and_places
from catena import joints

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Hold:
    """A "point" or a "weld" that keeps a frame of one link on a frame of another; links as in `links`, -1 for
    ground, poses (4 x 4) in their frames."""

    kind: str
    link1: int
    pose1: Array
    link2: int
    pose2: Array


def spanning_tree(system: Any) -> Any:
    """The mechanism without the joints that the system's plan leaves out of its tree; its coordinates are those of
    the system."""
    mechanism = system.mechanism
    for name in system.loops:
        mechanism = mechanism.detach(name)
    return mechanism


def holds(system: Any, planar: bool = False) -> list[Hold]:
    """What holds the links of the spanning tree together in place of the loop joints.

    Spherical joints are points, fixed joints welds. A revolute joint is two points on its axis, one row too many; in
    a `planar` mechanism one point is enough. Other kinds raise a ValueError.
    """
    mechanism = system.mechanism
    _, places = links_and_places(spanning_tree(system))
    result = []
    for name in system.loops:
        joint = mechanism.joints[name]
        for kind, offset in _offsets(joint, planar):
            shift = np.eye(4)
            shift[:3, 3] = offset
            (link1, pose1), (link2, pose2) = places[joint.parent], places[joint.child]
            result.append(
                Hold(
                    kind, link1, pose1 @ joint.in_parent.matrix() @ shift,
                    link2, pose2 @ joint.in_child.matrix() @ shift,
                )
            )  # fmt: skip
    return result


def _offsets(joint: Any, planar: bool) -> list[tuple[str, Array]]:
    """Kind and place, in the joint's frames, of each hold."""
    match joint.kind:
        case joints.Free():
            return []
        case joints.Fixed():
            return [("weld", np.zeros(3))]
        case joints.Spherical():
            return [("point", np.zeros(3))]
        case joints.Revolute():
            axis = joint.kind.motion_space(np.zeros(1)).array[:3, 0].astype(float)
            return [("point", np.zeros(3))] if planar else [("point", 0.5 * axis), ("point", -0.5 * axis)]
    kind = type(joint.kind).__name__
    raise ValueError(f"Loop joint {joint.name!r} is of kind {kind}, which peers do not have as a loop.")
