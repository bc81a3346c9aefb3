"""The Jacobians of all nodes at once, and what they accelerate by when the joints do not, in NumPy for many states."""

import numpy as np

from catena.kinematics.extent import largest_coordinate
from catena.kinematics.loops.closure import Motions
from catena.structure import Plan


def body_jacobians(plan: Plan, motions: Motions, a_ground: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B (states, n, 6, nv), which takes joint velocities to the twists of all nodes, and the accelerations
    (states, n, 6) of all nodes when vdot is zero and the ground accelerates by a_ground (states, 6)."""
    states = len(motions.v)
    # Accelerations are passed on as the columns of Jacobians are.
    columns = np.zeros((states, plan.n, 6, plan.nv + 1))
    columns[..., -1] = motions.c
    columns[:, 0, :, -1] = a_ground
    columns[:, plan.row_nodes, :, plan.row_columns] = np.swapaxes(motions.S_rows, 0, 1)
    for nodes in plan.levels:
        columns[:, nodes] += motions.X[:, nodes] @ columns[:, plan.parent[nodes]]
    return columns[..., :-1], columns[..., -1]


def summed_up(plan: Plan, J: np.ndarray) -> np.ndarray:
    """Return the magnitudes (..., 6, nv) of what the entries of a Jacobian J (..., 6, nv) were summed up from.

    A displacement is a sum of products of rotations and coordinates. Where an axis passes through the point they
    cancel, and what is left is their rounding.
    """
    found = np.abs(J)
    found[..., 3:, :] += largest_coordinate(plan) * np.sum(found[..., :3, :], axis=-2, keepdims=True)
    return found
