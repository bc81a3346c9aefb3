"""What a joint's friction takes: viscous damping and Coulomb friction, both against the motion.

Coulomb friction is friction sign(v), with a sign that goes smoothly through a short range of velocities around rest.
So integrators pass a reversal without a jump, and a joint that loops hold still, whose velocity is nothing but
rounding, has next to no friction instead of all of it in a random direction. A joint at rest on a slope creeps.
"""

from typing import Any

import numpy as np

from catena.spatial.scalars import array, less, where

STANDSTILL = 1e-3
"""Below this velocity [rad/s or m/s] Coulomb friction is less than all of it."""


def friction_force(body: Any) -> Any:
    """The joint force, shape (nv,), that overcomes friction: damping v + friction smooth_sign(v)."""
    return friction_at(body.damping, body.friction, body.qd)


def friction_at(damping: Any, friction: Any, v: Any) -> Any:
    """The force that overcomes friction at velocities v, with coefficients of the same shape."""
    return damping * v + friction * smooth_sign(v)


def smooth_sign(v: Any, width: float = STANDSTILL) -> Any:
    """The sign of v, which may be a number, a symbol, or an array of either: exactly -1 or 1 from |v| = `width` on, and
    between them the odd polynomial x (15 - 10 x^2 + 3 x^4) / 8 of x = v / width, twice continuously differentiable."""
    x = _clipped(v / width)
    square = x * x
    return x * (15.0 - square * (10.0 - 3.0 * square)) / 8.0


def _clipped(x: Any) -> Any:
    """x, but no less than -1 and no more than 1."""
    if not isinstance(x, np.ndarray):
        return where(less(x, -1.0), -1.0, where(less(1.0, x), 1.0, x))
    if x.dtype == object:
        return array([_clipped(entry) for entry in x])
    return np.clip(x, -1.0, 1.0)
