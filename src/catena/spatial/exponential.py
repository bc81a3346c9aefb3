"""The exponential of a motion and the logarithm of a transform.

Moving for unit time with the constant body twist `xi` carries a frame A to a frame B; `exp(xi)` is the
transform from A to B, and `log` finds the twist of the shortest such motion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.spatial import blocks, quaternion
from catena.spatial.scalars import TINY, array, cos, sin, sqrt
from catena.spatial.transform import Transform
from catena.spatial.vectors import Motion, cross


def exp(xi: Motion) -> Transform:
    """Return the transform to the frame reached with body twist `xi` in unit time."""
    w = xi.angular
    return Transform(quaternion.rotation(quaternion.exp(w)).T, displacement(w, xi.linear))


def log(X: Transform) -> Motion:
    """Return the body twist with exp(log(X)) = X and the smallest angle, which is at most pi."""
    w = quaternion.log(quaternion.from_rotation(X.R.T))
    return Motion(np.concatenate([w, velocity(w, X.p)]))


def displacement(w: Any, v: Any) -> np.ndarray:
    """Return where the origin gets in unit time with the constant body twist [w; v], seen from the start.

    There is no branch; at w = 0 the result is v.
    """
    w, v = list(w), list(v)
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + TINY
    angle = sqrt(square)
    half = sin(0.5 * angle) / (0.5 * angle)
    first = 0.5 * half * half
    second = (1.0 - sin(angle) / angle) / square
    wv = blocks.cross(w, v)
    wwv = blocks.cross(w, wv)
    return array([v[i] + first * wv[i] + second * wwv[i] for i in range(3)])


def velocity(w: Any, p: Any) -> np.ndarray:
    """Return the v for which displacement(w, v) = p; angles |w| up to pi (and beyond, short of 2 pi)."""
    w, p = list(w), list(p)
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + TINY
    half = 0.5 * sqrt(square)
    second = (1.0 - half * cos(half) / sin(half)) / square
    wp = blocks.cross(w, p)
    wwp = blocks.cross(w, wp)
    return array([p[i] - 0.5 * wp[i] + second * wwp[i] for i in range(3)])


def exponential_rate(xi: Motion, v: Motion) -> Motion:
    """Return d xi/dt for a frame that stands at exp(xi) and moves with body twist `v` (the inverse of dexp).

    The series of Bernoulli numbers v + [xi, v]/2 + [xi, [xi, v]]/12 - ... up to the eighth power of xi; a step in time
    has |xi| well below 1, where the rest is below 1e-8 |xi|^10.
    """
    total, term = v, v
    for factors in ((0.5, 1.0 / 12.0), (0.0, -1.0 / 720.0), (0.0, 1.0 / 30240.0), (0.0, -1.0 / 1209600.0)):
        for factor in factors:
            term = cross(xi, term)
            if factor:
                total = total + factor * term
    return total
