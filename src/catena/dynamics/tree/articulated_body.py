"""Forward dynamics by articulated bodies: three sweeps, cost O(N). Shao and Yuan, eq. 11, 13 and 14.

IA is the inertia a body shows when everything beyond it is free to move, pA the force it takes to keep it
from accelerating.
"""

from typing import Any

from catena.dynamics.tree.friction import passive_force
from catena.dynamics.tree.rotors import felt_through, with_rotor
from catena.kernels import POSITION, VELOCITY, Algorithm, base_to_tip, tip_to_base
from catena.spatial import ArticulatedInertia, Force, ForceSpace, Motion, cross, spd_inverse
from catena.spatial.scalars import array


def ground(ground: Any) -> None:
    """The ground accelerates against gravity, besides whatever it is made to do."""
    ground.v = Motion.zero()
    ground.a = ground.a_base + Motion(array([0.0, 0.0, 0.0, *(-ground.gravity)]))
    ground.IA = ArticulatedInertia.zero()
    ground.pA = Force.zero()


@base_to_tip
def velocities(body: Any, parent: Any) -> None:
    """Twists, and the force p that each body by itself would need."""
    body.X_joint = body.joint.transform(body.q)
    body.S = body.joint.motion_space(body.q)
    v_joint = body.S * body.qd
    body.v = body.X_joint * body.placement * parent.v + v_joint
    body.c = cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)
    body.p = body.inertia.velocity_product(body.v) - body.f_ext


@tip_to_base
def articulated_inertias(body: Any, parent: Any) -> None:
    """What the parent feels of a body through a joint that yields (eq. 13 and 14)."""
    yielded(body, parent)


@tip_to_base
def articulated_inertias_shown(body: Any, parent: Any) -> None:
    """The same, and what the body itself shows is kept for those who ask."""
    body.shown_inertia, body.shown_force = yielded(body, parent)


def yielded(body: Any, parent: Any) -> tuple[ArticulatedInertia, Force]:
    """Pass on what is felt through a joint that yields, and return IA and pA of the body."""
    IA, pA, U, u = resistance(body)
    D_inv = spd_inverse(with_rotor(body.joint, body.S.T * U))
    pass_on(body, parent, felt_through(body.joint, IA, body.S, U, D_inv), pA, U, D_inv, u)
    return IA, pA


def resistance(body: Any) -> tuple[ArticulatedInertia, Force, ForceSpace, Any]:
    """IA and pA of the body with all that hangs on it, U = IA S, and the joint force u that is left to accelerate."""
    IA, pA = body.IA + body.inertia, body.pA + body.p
    return IA, pA, IA * body.S, body.tau - passive_force(body) - body.S.T * pA


def pass_on(
    body: Any, parent: Any, Ia: ArticulatedInertia, pA: Force, U: ForceSpace, D_inv: Any, u: Any
) -> None:
    """Add what is felt through the joint, Ia and the force that goes with it, to the parent."""
    X = body.X_joint * body.placement
    pa = pA + Ia * body.c + U * (D_inv @ u)
    parent.IA += X.pull(Ia)
    parent.pA += X.pull(pa)
    body.U, body.D_inv, body.u = U, D_inv, u


@base_to_tip
def accelerations(body: Any, parent: Any) -> None:
    """Each joint accelerates as its force and its parent's acceleration have it (eq. 11)."""
    a = body.X_joint * body.placement * parent.a + body.c
    body.qdd = body.D_inv @ (body.u - body.U.T * a)
    body.a = a + body.S * body.qdd


articulated_body = Algorithm(
    "articulated_body", ground, (velocities, articulated_inertias, accelerations),
    inputs={"q": POSITION, "qd": VELOCITY, "tau": VELOCITY, "f_ext": Force}, outputs={"qdd": VELOCITY},
    ground_inputs={"a_base": Motion}, optional=frozenset({"tau", "f_ext", "a_base"}),
)  # fmt: skip

articulated_inertia = Algorithm(
    "articulated_inertia", ground, (velocities, articulated_inertias_shown),
    inputs={"q": POSITION, "qd": VELOCITY, "tau": VELOCITY, "f_ext": Force},
    outputs={"shown_inertia": ArticulatedInertia, "shown_force": Force},
    ground_inputs={"a_base": Motion}, optional=frozenset({"qd", "tau", "f_ext", "a_base"}),
)  # fmt: skip
