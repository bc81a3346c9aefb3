"""How every body stands and moves, seen from ground: what points of bodies do follows from it without another sweep.
One sweep, cost O(N).

For each node the transform `stands` from ground, the motion space of its joint in ground axes at ground's origin, its
twist v and the acceleration a that needs no joint acceleration, both in ground axes at ground's origin too.
"""

from typing import Any

from catena.kernels import POSITION, ROWS, VELOCITY, Algorithm, base_to_tip
from catena.spatial import Motion, Transform, cross


def ground(ground: Any) -> None:
    """The ground rests."""
    ground.stands = Transform.identity()
    ground.v = Motion.zero()
    ground.a = Motion.zero()


@base_to_tip
def move(body: Any, parent: Any) -> None:
    """Each body adds the motion of its joint, seen from ground, to that of its parent."""
    stands = body.joint.transform(body.q) * body.placement * parent.stands
    to_ground = stands.inverse()
    S = body.joint.motion_space(body.q)
    v_joint = to_ground * (S * body.qd)
    body.stands = stands
    body.v = parent.v + v_joint
    body.a = parent.a + cross(body.v, v_joint) + to_ground * body.joint.bias(body.q, body.qd)
    body.S_rows = (to_ground * S).array.T


ground_motions = Algorithm(
    "ground_motions", ground, (move,), inputs={"q": POSITION, "qd": VELOCITY},
    outputs={"stands": Transform, "S_rows": ROWS, "v": Motion, "a": Motion}, per_node=frozenset({"S_rows"}),
)  # fmt: skip
