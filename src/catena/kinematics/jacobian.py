"""The Jacobian of a frame: from the joint velocities to the frame's twist in its own axes. Two sweeps over
the path, cost O(N).

Column block i is X phi_i, with X from body i to the frame (van der Merwe, eq. 5.38).
"""

from typing import Any

from catena.kernels import COLUMNS, POSITION, Algorithm, at_frame, base_to_tip, tip_to_base
from catena.spatial import Transform


def ground(ground: Any) -> None:
    """`to_frame` is the transform from a body to the frame; it is filled in on the way down."""
    ground.to_frame = Transform.identity()


@base_to_tip
def place(body: Any, parent: Any) -> None:
    """Where each joint stands and how it can move."""
    body.X = body.joint.transform(body.q) * body.placement
    body.S = body.joint.motion_space(body.q)


@at_frame
def start(frame: Any, body: Any) -> None:
    """The way begins at the frame."""
    body.to_frame = frame.placement


@tip_to_base
def collect(body: Any, parent: Any) -> None:
    """Each joint's motions as the frame feels them."""
    body.J = body.to_frame * body.S
    parent.to_frame = body.to_frame * body.X


jacobian = Algorithm(
    "jacobian",
    ground,
    (place, start, collect),
    inputs={"q": POSITION},
    outputs={"J": COLUMNS},
    path_only=True,
)
