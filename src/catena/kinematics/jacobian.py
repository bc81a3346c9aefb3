"""The Jacobian of a frame: from the joint velocities to the frame's twist in its own axes. Two sweeps over
the path, cost O(N).

Column block i is X phi_i, with X from body i to the frame (van der Merwe, eq. 5.38). Its rate is X (phi_i' + u_i x
phi_i), with u_i the twist of body i less that of the frame.
"""

from typing import Any

from catena.joints.derivatives import motion_space_rate
from catena.kernels import COLUMNS, POSITION, VELOCITY, Algorithm, at_frame, base_to_tip, tip_to_base
from catena.spatial import Motion, Transform, cross


def ground(ground: Any) -> None:
    """`to_frame` is the transform from a body to the frame, `passes` the twist of a body less that of the frame; they
    are filled in on the way down."""
    ground.to_frame = Transform.identity()
    ground.passes = Motion.zero()


@base_to_tip
def place(body: Any, parent: Any) -> None:
    """Where each joint stands and how it can move."""
    body.X = body.joint.transform(body.q) * body.placement
    body.S = body.joint.motion_space(body.q)


@at_frame
def start(frame: Any, body: Any) -> None:
    """The way begins at the frame."""
    body.to_frame = frame.placement
    body.passes = Motion.zero()


@tip_to_base
def collect(body: Any, parent: Any) -> None:
    """Each joint's motions as the frame feels them."""
    body.J = body.to_frame * body.S
    parent.to_frame = body.to_frame * body.X


@tip_to_base
def collect_rates(body: Any, parent: Any) -> None:
    """How fast each joint's motions change as the frame feels them."""
    rate = cross(body.passes, body.S)
    if not body.has_constant_motion_space:
        rate = rate + motion_space_rate(body.joint, body.q, body.qd)
    body.J_rate = body.to_frame * rate
    parent.to_frame = body.to_frame * body.X
    parent.passes = body.X.pull_motion(body.passes - body.S * body.qd)


jacobian = Algorithm(
    "jacobian",
    ground,
    (place, start, collect),
    inputs={"q": POSITION},
    outputs={"J": COLUMNS},
    path_only=True,
)

jacobian_rate = Algorithm(
    "jacobian_rate", ground, (place, start, collect_rates), inputs={"q": POSITION, "qd": VELOCITY},
    outputs={"J_rate": COLUMNS}, path_only=True,
)  # fmt: skip
