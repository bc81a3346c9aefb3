"""The joint-space inertia H and the force h that a motion takes without accelerations, H vdot + h = tau, in one go: the
sweeps of Newton and Euler and those of composite bodies together. Cost O(N d), d the depth of the tree."""

from typing import Any

from catena.dynamics.tree.composite_body import composite_body, ground as at_rest, project
from catena.dynamics.tree.friction import passive_force
from catena.dynamics.tree.newton_euler import ground as moved, newton_euler
from catena.kernels import MATRIX, POSITION, VELOCITY, Algorithm, base_to_tip, tip_to_base
from catena.spatial import Force, cross


def ground(ground: Any) -> None:
    """What both algorithms begin with."""
    moved(ground)
    at_rest(ground)


@base_to_tip
def move(body: Any, parent: Any) -> None:
    """Where each joint stands and how it can move, and the force that the motion takes."""
    body.X, body.S = body.joint.transform(body.q) * body.placement, body.joint.motion_space(body.q)
    v_joint = body.S * body.qd
    body.v = body.X * parent.v + v_joint
    body.a = body.X * parent.a + cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)
    body.p = body.inertia * body.a + body.inertia.velocity_product(body.v) - body.f_ext


@tip_to_base
def feel(body: Any, parent: Any) -> None:
    """The force that passes through the joint, and the one that a unit acceleration takes of everything beyond it."""
    f, Ic = body.f + body.p, body.Ic + body.inertia
    body.tau, body.F = body.S.T * f + passive_force(body), Ic * body.S
    parent.f += body.X.pull(f)
    parent.Ic += body.X.pull(Ic)


inertia_and_bias = Algorithm(
    "inertia_and_bias", ground, (move, feel, project), inputs={"q": POSITION, "qd": VELOCITY, "f_ext": Force},
    outputs={"tau": VELOCITY, "H": MATRIX}, ground_inputs=newton_euler.ground_inputs,
    optional=newton_euler.optional, views=composite_body.views, component_fields={"F": "cursor"},
    contributed=newton_euler.contributed,
)  # fmt: skip
