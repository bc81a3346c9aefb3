"""Quaternions of rotation matrices, for poses that are handed to tables and players."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def quaternions(R: Floats) -> Floats:
    """Return quaternions (w, x, y, z) of rotations R (..., 3, 3), of either sign.

    The largest of the four components is found first and divides the others, so that none loses digits.
    """
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    squares = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], axis=-1)
    a = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    b = R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]
    # Row k has the products 4 q_k q_i.
    products = np.stack(
        [
            np.stack([squares[..., 0], a[0], a[1], a[2]], axis=-1),
            np.stack([a[0], squares[..., 1], b[0], b[1]], axis=-1),
            np.stack([a[1], b[0], squares[..., 2], b[2]], axis=-1),
            np.stack([a[2], b[1], b[2], squares[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    largest = np.argmax(squares, axis=-1)
    q = np.take_along_axis(products, largest[..., None, None], axis=-2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def continued(q: Floats) -> Floats:
    """Return quaternions (..., samples, 4), each of the sign that is nearest to the one before it, the first with w
    not negative; what is NaN counts as nothing."""
    first = np.where(q[..., :1, :1] < 0.0, -1.0, 1.0)
    turned = np.sum(q[..., 1:, :] * q[..., :-1, :], axis=-1, keepdims=True) < 0.0
    return q * np.cumprod(np.concatenate([first, np.where(turned, -1.0, 1.0)], axis=-2), axis=-2)
