"""Inverse dynamics by Newton and Euler: two sweeps, cost O(N). Van der Merwe, eq. 4.27 to 4.31 with the
corrections in docs/notation.md.

Base to tip the twists and accelerations, tip to base the forces: F = I a + v x I v, f = F - f_ext + sum of
X^T f of the children, tau = phi^T f + friction. Gravity is an upward acceleration of the ground.
"""

from typing import Any

from catena.dynamics.tree.friction import passive_force
from catena.dynamics.tree.rotors import rotor_force
from catena.kernels import POSITION, VELOCITY, Algorithm, base_to_tip, tip_to_base
from catena.spatial import Force, Motion, Transform, cross
from catena.spatial.scalars import array


def ground(ground: Any) -> None:
    """The ground accelerates against gravity, besides whatever it is made to do."""
    ground.v = Motion.zero()
    ground.a = ground.a_base + Motion(array([0.0, 0.0, 0.0, *(-ground.gravity)]))
    ground.f = Force.zero()


@base_to_tip
def motions(body: Any, parent: Any) -> None:
    """Twist, acceleration, and the force F that this motion takes."""
    body.X_joint = body.joint.transform(body.q)
    body.S = body.joint.motion_space(body.q)
    X, v_joint = body.X_joint * body.placement, body.S * body.qd
    body.v = X * parent.v + v_joint
    body.a = X * parent.a + body.S * body.qdd + cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)
    body.F = body.inertia * body.a + body.inertia.velocity_product(body.v) - body.f_ext


@tip_to_base
def forces(body: Any, parent: Any) -> None:
    """What passes through the joint, and the part of it that the joint must exert by itself."""
    body.f += body.F
    body.tau = body.S.T * body.f + passive_force(body) + rotor_force(body.joint, body.qdd)
    parent.f += (body.X_joint * body.placement).pull(body.f)


_inputs = {"q": POSITION, "qd": VELOCITY, "qdd": VELOCITY, "f_ext": Force}
_optional = frozenset({"qdd", "f_ext", "a_base"})

newton_euler = Algorithm(
    "newton_euler", ground, (motions, forces), _inputs, outputs={"tau": VELOCITY}, contributed=frozenset({"tau"}),
    ground_inputs={"a_base": Motion}, optional=_optional,
)  # fmt: skip

newton_euler_bodies = Algorithm(
    "newton_euler_bodies", ground, (motions, forces), _inputs,
    outputs={"v": Motion, "a": Motion, "f": Force, "X_joint": Transform},
    ground_inputs={"a_base": Motion}, optional=_optional,
)  # fmt: skip
