"""Twists of bodies and frames, and the part of their acceleration that needs no joint acceleration. One
sweep, cost O(N).

Van der Merwe, eq. 4.27 and 4.28 with the corrections in docs/notation.md: v_i = X v_(i-1) + phi q', a_i = X
a_(i-1) + v_i x phi q' + phi' q'.
"""

from typing import Any

from catena.kernels import POSITION, VELOCITY, Algorithm, at_frame, base_to_tip
from catena.spatial import Motion, cross


def ground(ground: Any) -> None:
    """The ground rests."""
    ground.v = Motion.zero()
    ground.a = Motion.zero()


@base_to_tip
def move(body: Any, parent: Any) -> None:
    """Each body adds the motion of its joint to that of its parent."""
    X = body.joint.transform(body.q) * body.placement
    v_joint = body.joint.motion_space(body.q) * body.qd
    body.v = X * parent.v + v_joint
    body.a = X * parent.a + cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)


@at_frame
def carry(frame: Any, body: Any) -> None:
    """The frame moves with its body."""
    frame.twist = frame.placement * body.v
    frame.acceleration = frame.placement * body.a


_inputs = {"q": POSITION, "qd": VELOCITY}

frame_twist = Algorithm(
    "frame_twist", ground, (move, carry), _inputs, frame_outputs=("twist",), path_only=True
)

frame_bias_acceleration = Algorithm(
    "frame_bias_acceleration", ground, (move, carry), _inputs, frame_outputs=("acceleration",), path_only=True
)

body_twists = Algorithm("body_twists", ground, (move,), _inputs, outputs={"v": Motion})
