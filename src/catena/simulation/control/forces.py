"""Which forces of the actuated joints make a mechanism accelerate as wanted.

Accelerations are affine in the forces, vdot = a + B tau, whatever the tree, the loops and their rank: a and the columns
of B are the forward dynamics without forces and with unit forces, computed side by side in lanes. What is wanted is

    first    rows (a + B tau) = wanted      as well as the actuators can
    then     a + B tau = rest               where the first leaves a choice

two least-squares problems, the second in the null space of the first. Accelerations are weighed with the square root
of the inertia that each coordinate carries, so the result does not depend on units.
"""

from __future__ import annotations

import numpy as np

from catena.kinematics.stacks import apply, transposed
from catena.system import System
from catena.thresholds import RANK_ACTUATED

# A row that is shorter than this part of the longest is rounding: the mechanism does not move that way.
NO_ROW = 1e-12


def forces(
    system: System,
    q: np.ndarray,
    v: np.ndarray,
    rows: np.ndarray,
    wanted: np.ndarray,
    rest: np.ndarray | None = None,
    singular: float = RANK_ACTUATED,
    units: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Return tau (..., nv) of the actuated joints for rows (..., k, nv), wanted (..., k) and rest (..., nv) at q and
    v.

    Nothing is asked for in second place when `rest` is None: the forces are the smallest. Directions of the first in
    which the actuators reach less than the part `singular` of the best one are damped, those of no reach left out. Rows
    that are rounding beside the longest, in `units` (k,), are none.
    """
    weight, a, B, actuated = affine(system, q, v)
    T = rows / weight[..., None, :]
    size = np.linalg.norm(T, axis=-1)
    is_row = size / units > NO_ROW * np.max(size / units, axis=-1, keepdims=True, initial=0.0)
    T = np.where(is_row, 1.0 / np.where(is_row, size, 1.0), 0.0)[..., None] * T
    size = np.where(is_row, size, np.inf)
    # A unit force moves its own joint by 1 or more where no loop holds it; held ones are measured by that.
    reach = np.maximum(np.linalg.norm(B, axis=(-1, -2)), 1.0)[..., None]
    x, free = _solved(T @ B, wanted / size - apply(T, a), reach, singular)
    if rest is not None:
        left = weight * rest - a - apply(B, x)
        x = x + apply(free, _solved(B @ free, left, reach, RANK_ACTUATED)[0])
    tau = np.zeros((*x.shape[:-1], system.nv))
    tau[..., actuated] = x * weight[..., actuated]
    return tau


def affine(
    system: System, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return weight (..., nv), weight a (..., nv), weight B weight (..., nv, na), and which components are
    actuated."""
    actuated = np.flatnonzero(system.plan.actuated)
    H = np.diagonal(system.mass_matrix(q), axis1=-2, axis2=-1)
    most = np.max(H, axis=-1, keepdims=True, initial=0.0)
    weight = np.sqrt(np.maximum(H, 1e-12 * np.where(most > 0.0, most, 1.0)))
    units = np.concatenate([np.zeros((1, system.nv)), np.eye(system.nv)[actuated]])
    # Unit forces of a size that accelerates about as much as one radian per second squared.
    scale = weight[..., None, :] * np.ones_like(units)
    tau = units * scale
    vdot = system.forward_dynamics(q[..., None, :], v[..., None, :], tau) * weight[..., None, :]
    return weight, vdot[..., 0, :], transposed(vdot[..., 1:, :] - vdot[..., :1, :]), actuated


def _solved(
    A: np.ndarray, b: np.ndarray, reach: np.ndarray, singular: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest x (..., n) with A x nearest to b, and the projection (..., n, n) on the null space of A.

    Singular values are measured by the largest, and against `reach` (..., 1) are told from rounding.
    """
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    most = np.maximum(np.max(s, axis=-1, keepdims=True, initial=0.0), RANK_ACTUATED * reach)
    kept = s > RANK_ACTUATED * np.maximum(most, reach)
    # Nakamura and Hanafusa: no damping where all directions are well within reach.
    least = np.where(most > 0.0, singular * most, 1.0)
    damping = np.where(s < least, least**2 - s**2, 0.0)
    inverse = np.where(kept, s / np.where(kept, s * s + damping, 1.0), 0.0)
    x = apply(transposed(Vt), inverse * apply(transposed(U), b))
    along = np.where(kept[..., None], Vt, 0.0)
    return x, np.eye(A.shape[-1]) - transposed(along) @ along
