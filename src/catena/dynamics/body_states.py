"""Where all bodies stand and how they move, in one sweep: what forces between points need. Cost O(N)."""

from typing import Any

from catena.kernels import POSITION, VELOCITY, Algorithm, base_to_tip
from catena.spatial import Motion, Transform


def ground(ground: Any) -> None:
    """The ground rests at its own origin."""
    ground.pose = Transform.identity()
    ground.v = Motion.zero()


@base_to_tip
def move(body: Any, parent: Any) -> None:
    """Each body stands and moves as its joint has it on its parent."""
    X = body.joint.transform(body.q) * body.placement
    body.pose = X * parent.pose
    body.v = X * parent.v + body.joint.motion_space(body.q) * body.qd


body_states = Algorithm(
    "body_states", ground, (move,), inputs={"q": POSITION, "qd": VELOCITY},
    outputs={"pose": Transform, "v": Motion}, optional=frozenset({"qd"}),
)  # fmt: skip
