"""The angles of up to three successive rotations, each about an axis perpendicular to the one before.

R = rot(a1, x1) rot(a2, x2) rot(a3, x3) gives a1 . R a3 = a1 . rot(a2, x2) a3 = A cos x2 + B sin x2 with A = a1 . a3 and
B = a1 . (a2 x a3), so that x2 = phi +- delta, tan phi = B / A. The first angle then turns rot(a2, x2) a3 onto R a3, and
the last is what is left. Euler angles of all twelve kinds are among them: about three different axes phi is +-90
degrees, and where the last axis is the first phi is 0. Numbers or symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.joints.nearest import angle_about
from catena.spatial import Transform
from catena.spatial.scalars import array, atan2, less, sqrt, where

# Below this sine the last axis lies on the first one, and only the sum of their angles is determined.
LOCKED = 1e-9


def angles_of_turns(axes: Sequence[Any], X: Transform, other: bool = False) -> list[Any]:
    """Return the angles about `axes` (at most three unit vectors) whose rotation is that of X, or near it where fewer
    than three axes cannot reach it.

    Three axes reach a rotation in two ways: the first has the middle angle within 90 degrees, or between 0 and 180
    degrees where the last axis is the first; `other` asks for the second.
    """
    if len(axes) < 2:
        return [angle_about(axis, X) for axis in axes]
    a1, a2 = array(axes[0]), array(axes[1])
    R = X.R.T
    # The first angle alone turns the second axis.
    first = _angle_between(a1, a2, R @ a2)
    if len(axes) == 2:
        return [first, _rest(axes, [first], X)]
    a3 = array(axes[2])
    reached = R @ a3
    aside = np.cross(a1, reached)
    phi = atan2(a1 @ np.cross(a2, a3), a1 @ a3)
    delta = atan2(sqrt(aside @ aside), a1 @ reached)
    middle = phi + where(less(phi, 0.5), 1.0, -1.0) * (-delta if other else delta)
    turned = _angle_between(a1, Transform.rotation(axes[1], middle).R.T @ a3, reached)
    angles = [where(less(aside @ aside, LOCKED * LOCKED), first, turned), middle]
    return [*angles, _rest(axes, angles, X)]


def _angle_between(a: np.ndarray, u: np.ndarray, w: np.ndarray) -> Any:
    """Return the angle about `a` that turns the part of u across a onto that of w."""
    return atan2(a @ np.cross(u, w), u @ w - (a @ u) * (a @ w))


def _rest(axes: Sequence[Any], angles: Sequence[Any], X: Transform) -> Any:
    """Return the last angle: that about the last axis nearest to what the others leave of X."""
    for axis, x in zip(axes, angles):
        X = X * Transform.rotation(axis, x).inverse()
    return angle_about(axes[len(angles)], X)
