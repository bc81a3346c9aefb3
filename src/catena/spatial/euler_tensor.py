"""Cartesian tensors of rotation: the Euler tensor of a body and what it does. Van der Merwe, eq. 3.3 to 3.75.

    J = integral of r r^T dm,     I = tr(J) 1 - J,     A = w'~ + w~ w~

Angular momentum and torque are skew-symmetric here, the duals of the vectors that others write. Arrays carry leading
batch dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def dual(x: ArrayLike) -> np.ndarray:
    """Return the skew-symmetric tensors x~ (..., 3, 3) of vectors x (..., 3): x~ y = x cross y."""
    x = np.asarray(x, dtype=np.float64)
    found = np.zeros((*x.shape, 3))
    found[..., 2, 1], found[..., 0, 2], found[..., 1, 0] = np.moveaxis(x, -1, 0)
    return found - np.swapaxes(found, -1, -2)


def dual_vector(A: ArrayLike) -> np.ndarray:
    """Return the vectors (..., 3) whose duals are the skew-symmetric parts of tensors A (..., 3, 3)."""
    A = np.asarray(A, dtype=np.float64)
    return 0.5 * np.stack(
        [A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], axis=-1
    )


def _traced(A: ArrayLike, factor: float) -> np.ndarray:
    A = np.asarray(A, dtype=np.float64)
    trace = np.trace(A, axis1=-2, axis2=-1)
    return np.asarray(factor * trace[..., None, None] * np.eye(3) - A)


def euler_tensor(inertia: ArrayLike) -> np.ndarray:
    """Return the Euler tensors J (..., 3, 3) [kg m^2] of inertia tensors (..., 3, 3) about the same point (3.29)."""
    return _traced(inertia, 0.5)


def inertia_tensor(euler: ArrayLike) -> np.ndarray:
    """Return the inertia tensors (..., 3, 3) [kg m^2] of Euler tensors (..., 3, 3) about the same point (3.30)."""
    return _traced(euler, 1.0)


def shifted_euler_tensor(euler: ArrayLike, mass: ArrayLike, r: ArrayLike) -> np.ndarray:
    """Return the Euler tensors (..., 3, 3) about a point from which the mass centre is at r (..., 3) [m], from those
    about the mass centre and the mass [kg] (3.33)."""
    r = np.asarray(r, dtype=np.float64)
    weight = np.asarray(mass, dtype=np.float64)[..., None, None]
    return np.asarray(np.asarray(euler, dtype=np.float64) + weight * r[..., :, None] * r[..., None, :])


def angular_acceleration_tensor(w: ArrayLike, w_dot: ArrayLike) -> np.ndarray:
    """Return A = w'~ + w~ w~ (..., 3, 3) of angular velocities and accelerations (..., 3): R'' = A R (3.9, 3.10)."""
    return np.asarray(dual(w_dot) + dual(w) @ dual(w))


def angular_momentum_tensor(euler: ArrayLike, w: ArrayLike) -> np.ndarray:
    """Return the dual (..., 3, 3) of the angular momentum [N m s] of bodies with Euler tensors (..., 3, 3) that turn at
    w (..., 3): J w~ + w~ J (3.55)."""
    J, turning = np.asarray(euler, dtype=np.float64), dual(w)
    return np.asarray(J @ turning + turning @ J)


def torque_tensor(euler: ArrayLike, w: ArrayLike, w_dot: ArrayLike) -> np.ndarray:
    """Return the dual (..., 3, 3) of the moment [N m] that turns bodies with Euler tensors (..., 3, 3) at w (..., 3)
    and w' (..., 3): A J - (A J)^T (3.75)."""
    AJ = angular_acceleration_tensor(w, w_dot) @ np.asarray(euler, dtype=np.float64)
    return np.asarray(AJ - np.swapaxes(AJ, -1, -2))
