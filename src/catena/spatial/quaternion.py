"""Unit quaternions (w, x, y, z), of numbers or symbols.

A quaternion stands for the rotation that takes coordinates of the turned frame (child) to coordinates of the
frame it was turned from (parent). q and -q are the same rotation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.spatial.scalars import TINY, absolute, array, atan2, cos, less, sin, sqrt, where


def multiply(a: Any, b: Any) -> np.ndarray:
    """Return a b: the rotation that applies b first."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def conjugate(q: Any) -> np.ndarray:
    """Return the inverse of a unit quaternion."""
    w, x, y, z = q
    return array([w, -x, -y, -z])


def normalise(q: Any) -> np.ndarray:
    """Return q / |q|."""
    w, x, y, z = q
    scale = 1.0 / sqrt(w * w + x * x + y * y + z * z)
    return array([w * scale, x * scale, y * scale, z * scale])


def rotation(q: Any) -> np.ndarray:
    """Return the 3x3 matrix R of a unit quaternion; its columns are the child's axes in the parent."""
    w, x, y, z = q
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return array(
        [
            [1.0 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1.0 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1.0 - (xx + yy)],
        ]
    )


def from_rotation(R: Any) -> np.ndarray:
    """Return a unit quaternion of the rotation matrix `R`, accurate at every angle, pi included.

    Four times the product of q with each of its own entries is linear in R; the row whose own entry is the
    largest is used, so no digits are lost (Shepperd).
    """
    (a, b, c), (d, e, f), (g, h, i) = (tuple(row) for row in R)
    candidates = [
        [1.0 + a + e + i, h - f, c - g, d - b],
        [h - f, 1.0 + a - e - i, b + d, c + g],
        [c - g, b + d, 1.0 - a + e - i, f + h],
        [d - b, c + g, f + h, 1.0 - a - e + i],
    ]
    best, largest = candidates[0], candidates[0][0]
    for k in (1, 2, 3):
        better = less(largest, candidates[k][k])
        best = [where(better, new, old) for new, old in zip(candidates[k], best, strict=True)]
        largest = where(better, candidates[k][k], largest)
    return normalise(best)


def exp(w: Any) -> np.ndarray:
    """Return the quaternion of the rotation vector `w` (axis times angle); no branch, exact at zero."""
    x, y, z = w
    angle = sqrt(x * x + y * y + z * z + TINY)
    scale = sin(0.5 * angle) / angle
    return array([cos(0.5 * angle), x * scale, y * scale, z * scale])


def log(q: Any) -> np.ndarray:
    """Return the shortest rotation vector of a unit quaternion, the same for q and -q; no branch at zero."""
    w, x, y, z = q
    length = sqrt(x * x + y * y + z * z + TINY)
    half_angle = atan2(length, absolute(w))
    scale = where(less(w, 0.0), -2.0, 2.0) * half_angle / length
    return array([x * scale, y * scale, z * scale])
