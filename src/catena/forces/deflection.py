"""How far a joint is from a position, as its springs and stops count it, and how fast that changes.

The deflection from a position `origin` is d = difference(origin, q) of the joint's kind, shape (nv,). Its rate is A v,
so a force y against the deflection is the joint force A^T y. For kinds whose positions are vectors d = q - origin and
A = 1. Balls and free bodies have exponential coordinates, whose A is the inverse of the exponential's derivative:

    A v = v + [d, v]/2 + c2 [d, [d, v]] + c4 [d, [d, [d, [d, v]]]]

with coefficients that depend on the angle only, exact up to a full turn. Everything runs on numbers and on symbols.
"""

from typing import Any

import numpy as np

from catena.joints import JointKind, described
from catena.spatial import Motion, cross
from catena.spatial.scalars import array, cos, less, sin, sqrt, where

# Below this square of the angle the closed forms of c2 and c4 lose digits, and their series do not.
_SMALL = 0.05


def is_vector(kind: JointKind) -> bool:
    """Return whether the positions of a kind are vectors, so that a deflection is q - origin."""
    return type(_described(kind)).difference is JointKind.difference


def deflection(kind: JointKind, origin: Any, q: Any) -> tuple[Any, np.ndarray | None]:
    """d (nv,) from `origin` (nq,) to `q` (nq,), and A (nv, nv), None where it is 1."""
    kind = _described(kind)
    d = kind.difference(origin, q)
    if is_vector(kind):
        return d, None
    directions = np.eye(kind.nv)
    if not kind.params() and kind.has_constant_motion_space:
        # Motions that are the same everywhere: following one of them is an exponential.
        S = kind.motion_space(kind.neutral())
        back = np.linalg.pinv(np.asarray(S.array, dtype=np.float64))
        columns = [back @ exact_rate(S * d, S * e).array for e in directions]
    else:
        columns = [kind.local_rate(d, e) for e in directions]
    return d, array(columns).T


def _described(kind: JointKind) -> JointKind:
    """Return the kind as its joint was described: seen from the other side it has the same coordinates."""
    found = described(kind)
    assert found is not None
    return found


def exact_rate(xi: Motion, v: Motion) -> Motion:
    """d xi/dt of a frame that stands at exp(xi) and moves with body twist v, up to a full turn."""
    x, y, z = xi.angular
    square = x * x + y * y + z * z
    small = less(square, _SMALL)
    safe = where(small, 1.0, square)
    angle = sqrt(safe)
    s, c = sin(angle), cos(angle) - 1.0
    # Bernoulli's series, with the sixth and eighth powers of [xi, .] written by the second and fourth.
    c2 = where(
        small,
        1.0 / 12.0 - square * square * (1.0 / 30240.0 + square / 604800.0),
        2.0 / safe + (angle + 3.0 * s) / (4.0 * angle * c),
    )
    c4 = where(
        small,
        -1.0 / 720.0 - square * (1.0 / 15120.0 + square / 403200.0),
        1.0 / (safe * safe) + (angle + s) / (4.0 * safe * angle * c),
    )
    first = cross(xi, v)
    second = cross(xi, first)
    fourth = cross(xi, cross(xi, second))
    return v + 0.5 * first + c2 * second + c4 * fourth
