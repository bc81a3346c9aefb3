"""Poses of bodies and frames: one sweep, cost O(N).

`body.pose` is the transform from the ground to the body; seen the other way it is where the body stands.
"""

from typing import Any

from catena.kernels import POSITION, Algorithm, at_frame, base_to_tip
from catena.spatial import Transform


def ground(ground: Any) -> None:
    """The ground stands at its own origin."""
    ground.pose = Transform.identity()


@base_to_tip
def stand(body: Any, parent: Any) -> None:
    """Each body stands where its joint puts it on its parent."""
    body.pose = body.joint.transform(body.q) * body.placement * parent.pose


@at_frame
def carry(frame: Any, body: Any) -> None:
    """The frame is carried by its body."""
    frame.pose_of_frame = frame.placement * body.pose


body_poses = Algorithm("body_poses", ground, (stand,), inputs={"q": POSITION}, outputs={"pose": Transform})

frame_pose = Algorithm(
    "frame_pose",
    ground,
    (stand, carry),
    inputs={"q": POSITION},
    frame_outputs=("pose_of_frame",),
    path_only=True,
)
