"""The joint-space inertia H by composite bodies: everything beyond a joint moves as one body with it. Cost
O(N d), d the depth of the tree."""

from typing import Any

import numpy as np

from catena.kernels import MATRIX, POSITION, VELOCITY, Algorithm, base_to_tip, columns_to_base, tip_to_base
from catena.spatial import Force, RigidInertia


def ground(ground: Any) -> None:
    """`Ic` is the inertia of everything from a body outward."""
    ground.Ic = RigidInertia.zero()


@base_to_tip
def place(body: Any, parent: Any) -> None:
    """Where each joint stands and how it can move."""
    body.X = body.joint.transform(body.q) * body.placement
    body.S = body.joint.motion_space(body.q)


@tip_to_base
def compose(body: Any, parent: Any) -> None:
    """The force F that a unit acceleration of the joint takes, and the composite inertia."""
    Ic = body.Ic + body.inertia
    body.F = Ic * body.S
    parent.Ic += body.X.pull(Ic)


@columns_to_base
def project(body: Any, cursor: Any, row: Any) -> None:
    """That force as each joint on the way to the base feels it."""
    row.h = body.S.T * cursor.F
    cursor.F = body.X.pull(cursor.F)


composite_body = Algorithm(
    "composite_body", ground, (place, compose, project), inputs={"q": POSITION}, outputs={"H": MATRIX},
    views={"cursor": {"F": Force}, "row": {"h": VELOCITY}},
)  # fmt: skip


def accelerations(H: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the accelerations (..., nv) of a tree with joint-space inertia H (..., nv, nv) under forces (..., nv)."""
    return np.asarray(np.linalg.solve(H, force[..., None])[..., 0])
