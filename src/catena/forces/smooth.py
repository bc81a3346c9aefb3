"""Steps of a force that go smoothly through a short range, so that integrators pass them without a jump."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.spatial.scalars import array, less, where

STANDSTILL = 1e-3
"""Below this velocity [rad/s or m/s] Coulomb friction is less than all of it."""
ONSET_DEPTH = 1e-5
"""The depth [rad or m] over which the damping of a stop or of a cable sets in, so that its force begins without a
jump."""


def smooth_sign(v: Any, width: float = STANDSTILL) -> Any:
    """Return the sign of v, which may be a number, a symbol, or an array of either: exactly -1 or 1 from |v| = `width`
    on, and between them the odd polynomial x (15 - 10 x^2 + 3 x^4) / 8 of x = v / width, twice continuously
    differentiable."""
    x = _clipped(v / width)
    square = x * x
    return x * (15.0 - square * (10.0 - 3.0 * square)) / 8.0


def smooth_sign_slope(v: Any, width: float = STANDSTILL) -> Any:
    """Return the derivative of `smooth_sign` by v."""
    x = _clipped(v / width)
    left = 1.0 - x * x
    return left * left * (15.0 / (8.0 * width))


def push_back(beyond: Any, rate: Any, stiffness: Any, damping: Any) -> Any:
    """Return the force of a spring with a damper that acts only where `beyond` is positive, by so much deflected at
    this rate: damping sets in over the first `ONSET_DEPTH`, and the force is never negative."""
    depth = positive(beyond)
    return positive(stiffness * depth + damping * smooth_sign(depth, ONSET_DEPTH) * rate)


def positive(x: Any) -> Any:
    """x where it is positive, and zero elsewhere."""
    return where(less(0.0, x), x, 0.0)


def _clipped(x: Any) -> Any:
    """x, but no less than -1 and no more than 1."""
    if not isinstance(x, np.ndarray):
        return where(less(x, -1.0), -1.0, where(less(1.0, x), 1.0, x))
    if x.dtype == object:
        return array([_clipped(entry) for entry in x])
    return np.clip(x, -1.0, 1.0)
