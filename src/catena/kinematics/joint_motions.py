"""How every joint stands and moves: what relative motion and elimination start from. One sweep, cost O(N).

For each node the transform X from its parent node, the motion space S of its joint, its twist v, and the part
c = v x S v_joint + S' v_joint of its acceleration relative to the parent that needs no joint acceleration.
"""

from typing import Any

from catena.kernels import POSITION, ROWS, VELOCITY, Algorithm, base_to_tip
from catena.spatial import Motion, Transform, cross


def ground(ground: Any) -> None:
    """The ground rests."""
    ground.v = Motion.zero()


@base_to_tip
def move(body: Any, parent: Any) -> None:
    """Each body adds the motion of its joint to that of its parent."""
    X = body.joint.transform(body.q) * body.placement
    S = body.joint.motion_space(body.q)
    v_joint = S * body.qd
    body.v = X * parent.v + v_joint
    body.X = X
    body.c = cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)
    body.S_rows = S.array.T


joint_motions = Algorithm(
    "joint_motions", ground, (move,), inputs={"q": POSITION, "qd": VELOCITY},
    outputs={"X": Transform, "S_rows": ROWS, "v": Motion, "c": Motion}, optional=frozenset({"qd"}),
    per_node=frozenset({"S_rows"}),
)  # fmt: skip
