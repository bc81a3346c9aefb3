"""Accelerations of all bodies of a tree and how each would yield to a wrench: four sweeps, cost O(N). Lilly and Orin,
step 1, with Omega left out: forces at the tips go through the same sweeps again.

The mobility Lambda^-1 of a body is that of its parent, carried over by a joint that yields, and the joint's own:
L X Lambda_parent^-1 X^T L^T + S D^-1 S^T with L = 1 - S D^-1 U^T.
"""

from typing import Any

import numpy as np

from catena.dynamics.tree.articulated_body import (
    accelerations,
    articulated_body,
    articulated_inertias,
    ground as free_ground,
    velocities,
)
from catena.kernels import VELOCITY, Algorithm, Scalars, base_to_tip
from catena.spatial import Motion, MotionSpace
from catena.spatial.scalars import array


def ground(ground: Any) -> None:
    """The ground yields to nothing."""
    free_ground(ground)
    ground.mobility = np.zeros(36)


@base_to_tip
def mobilities(body: Any, parent: Any) -> None:
    """How a body accelerates under each of six unit wrenches on itself."""
    X = body.X_joint * body.placement
    carried = MotionSpace(parent.mobility.reshape(6, 6))
    for _ in range(2):
        carried = X * carried
        carried = MotionSpace((carried - body.S * (body.D_inv @ (body.U.T * carried))).array.T)
    own = body.S.array @ body.D_inv @ body.S.array.T
    body.mobility = array((carried.array + own).ravel())


open_chains = Algorithm(
    "open_chains", ground, (velocities, articulated_inertias, accelerations, mobilities),
    inputs=articulated_body.inputs, outputs={"qdd": VELOCITY, "a": Motion, "mobility": Scalars(36)},
    ground_inputs=articulated_body.ground_inputs, optional=articulated_body.optional,
)  # fmt: skip

open_accelerations = Algorithm(
    "open_accelerations", free_ground, (velocities, articulated_inertias, accelerations),
    inputs=articulated_body.inputs, outputs={"qdd": VELOCITY, "a": Motion},
    ground_inputs=articulated_body.ground_inputs, optional=articulated_body.optional,
)  # fmt: skip
