"""The joint-space inertia by the structurally recursive method: van der Merwe, eq. 5.46, H_i = J_i^T I_i J_i
+ H*_(i-1).

Links are added one after another to the free end; each adds its inertia as the joints before it feel it. Here
J_i is padded with zeros, so that the recursion is a sum over all bodies of any tree.
"""

from collections.abc import Callable

import numpy as np

from catena.spatial import RigidInertia, Transform
from catena.structure import Plan


def structurally_recursive(
    plan: Plan, jacobian: Callable[[str], np.ndarray], batch: tuple[int, ...]
) -> np.ndarray:
    """H, shape (*batch, nv, nv), given the Jacobian (*batch, 6, nv) of a body by its name."""
    H = np.zeros((*batch, plan.nv, plan.nv))
    for i in range(1, plan.n):
        body = plan.bodies[i][0]
        to_body = Transform.from_pose(plan.body_pose[body][1])
        inertia = to_body.push(RigidInertia.from_entries(list(plan.inertia[i]))).matrix()
        J = jacobian(body)
        H += np.swapaxes(J, -1, -2) @ inertia @ J
    return H
