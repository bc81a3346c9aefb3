"""Stacks of transforms and motions as plain arrays with leading batch dimensions.

The steps of the compiled algorithms work on one state and its symbols; what is computed in NumPy works on many
states at once. A transform is here its motion matrix [[R, 0], [-R p~, R]], shape (..., 6, 6), which takes
motions forward and, transposed, forces back.
"""

import numpy as np

from catena.spatial import Pose
from catena.thresholds import RANK_EXACT


def transposed(A: np.ndarray) -> np.ndarray:
    """Return A^T of every matrix in the stack."""
    return np.swapaxes(A, -1, -2)


def skew(p: np.ndarray) -> np.ndarray:
    """p~, shape (..., 3, 3), with p~ x = p cross x."""
    result = np.zeros((*p.shape[:-1], 3, 3))
    result[..., 0, 1], result[..., 0, 2], result[..., 1, 2] = -p[..., 2], p[..., 1], -p[..., 0]
    result[..., 1, 0], result[..., 2, 0], result[..., 2, 1] = p[..., 2], -p[..., 1], p[..., 0]
    return result


def cayley(a: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) by half rotation vectors a (..., 3) as Cayley has them, with tan(angle / 2) = |a|."""
    turned = skew(a)
    size = 1.0 + np.sum(a * a, axis=-1)[..., None, None]
    found: np.ndarray = np.eye(3) + 2.0 * (turned + turned @ turned) / size
    return found


def motion_matrices(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Motion matrices of the transforms (R, p), R (..., 3, 3) and p (..., 3) as in `Transform`."""
    below = -(R @ skew(p))
    X = np.zeros((*below.shape[:-2], 6, 6))
    X[..., :3, :3] = X[..., 3:, 3:] = R
    X[..., 3:, :3] = below
    return X


def from_entries(entries: np.ndarray) -> np.ndarray:
    """Motion matrices from the twelve entries of transforms, (..., 12)."""
    return motion_matrices(entries[..., :9].reshape(*entries.shape[:-1], 3, 3), entries[..., 9:])


def to_frame(pose: Pose) -> np.ndarray:
    """Return the motion matrix (..., 6, 6) from a reference frame to the frame that `pose` places in it."""
    return motion_matrices(
        transposed(np.asarray(pose.R, dtype=np.float64)), np.asarray(pose.p, dtype=np.float64)
    )


def inverse(X: np.ndarray) -> np.ndarray:
    """Motion matrices of the inverse transforms."""
    result = np.zeros_like(X)
    result[..., :3, :3] = result[..., 3:, 3:] = transposed(X[..., :3, :3])
    result[..., 3:, :3] = transposed(X[..., 3:, :3])
    return result


def parts(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotations R (..., 3, 3) and origins p (..., 3) of motion matrices."""
    R = X[..., :3, :3]
    P = transposed(R) @ X[..., 3:, :3]  # -p~
    return R, np.stack([P[..., 1, 2], P[..., 2, 0], P[..., 0, 1]], axis=-1)


def apply(X: np.ndarray, v: np.ndarray) -> np.ndarray:
    """X v for stacks of matrices and vectors."""
    return (X @ v[..., None])[..., 0]


def crossed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross products of vectors (..., 3), in a third of the time that NumPy's own takes for few."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    p, q, r = b[..., 0], b[..., 1], b[..., 2]
    first = y * r - z * q
    found = np.empty((*first.shape, 3), dtype=first.dtype)
    found[..., 0], found[..., 1], found[..., 2] = first, z * p - x * r, x * q - y * p
    return found


def cross(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the cross product of motions, shape (..., 6)."""
    angular = crossed(v[..., :3], w[..., :3])
    linear = crossed(v[..., :3], w[..., 3:]) + crossed(v[..., 3:], w[..., :3])
    return np.concatenate([angular, linear], axis=-1)


def pseudo_inverse(S: np.ndarray) -> np.ndarray:
    """Return the matrices (..., n, 6) that find coordinates from motions S (..., 6, n), zero along coordinates that
    move nothing, as in gimbal lock."""
    if S.shape[-1] == 0:
        return transposed(S)
    if S.shape[-1] > 1:
        return np.linalg.pinv(S, rcond=RANK_EXACT)
    square = np.sum(S * S, axis=-2, keepdims=True)
    return np.divide(transposed(S), square, out=np.zeros_like(transposed(S)), where=square > 0.0)


def logarithm(X: np.ndarray) -> np.ndarray:
    """Return the body twists (..., 6) that lead along the transforms in unit time, with angles up to pi."""
    R, p = parts(X)
    w = _rotation_vector(transposed(R))
    square = np.sum(w * w, axis=-1, keepdims=True)
    half = 0.5 * np.sqrt(square)
    small = half < 1e-4
    safe = np.where(small, 1.0, half)
    second = np.where(
        small, 1.0 / 12.0 + square / 720.0, (1.0 - safe / np.tan(safe)) / np.where(small, 1.0, square)
    )
    wp = crossed(w, p)
    return np.concatenate([w, p - 0.5 * wp + second * crossed(w, wp)], axis=-1)


def _rotation_vector(R: np.ndarray) -> np.ndarray:
    """Rotation vectors of rotations, by the largest component of the quaternion (well defined up to pi)."""
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    a, b, c = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    d, e, f = R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]
    # Each row is a multiple of the quaternion, by four times its own component.
    rows = np.empty((*xx.shape, 4, 4))
    rows[..., 0, 0], rows[..., 1, 1] = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz
    rows[..., 2, 2], rows[..., 3, 3] = 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    for i, j, entry in ((0, 1, a), (0, 2, b), (0, 3, c), (1, 2, d), (1, 3, e), (2, 3, f)):
        rows[..., i, j] = rows[..., j, i] = entry
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    quat = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    quat /= np.sqrt(np.sum(quat * quat, axis=-1, keepdims=True))
    quat = np.where(quat[..., :1] < 0.0, -quat, quat)
    length = np.sqrt(np.sum(quat[..., 1:] ** 2, axis=-1, keepdims=True))
    tiny = length < 1e-12
    ratio = np.where(tiny, 2.0, 2.0 * np.arctan2(length, quat[..., :1]) / np.where(tiny, 1.0, length))
    return ratio * quat[..., 1:]
