"""Coordinates of a joint from the relative placement of its two frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.spatial import Transform, log
from catena.spatial.scalars import array, atan2

if TYPE_CHECKING:
    from catena.joints.axes import Direction
    from catena.joints.contract import JointKind


def angle_about(n: Direction, X: Transform) -> Any:
    """Return the angle of the rotation about the unit vector `n` that is nearest to the rotation of `X`.

    Numbers or symbols."""
    R = X.R.T
    axial = (R[2, 1] - R[1, 2]) * n[0] + (R[0, 2] - R[2, 0]) * n[1] + (R[1, 0] - R[0, 1]) * n[2]
    axis = array(n)
    return atan2(axial, R[0, 0] + R[1, 1] + R[2, 2] - axis @ (R @ axis))


def coordinates(
    kind: JointKind, X: Transform, starts: int = 8, tolerance: float = 1e-13, start: np.ndarray | None = None
) -> np.ndarray:
    """Return the q whose transform is nearest to `X`, by damped Gauss-Newton iterations from several starts.

    The error is the twist that carries the child frame of q to that of X in unit time. The search stops at
    the first start that reproduces X; if none does, the best is returned. The first start is `start` (nq,), by
    default the neutral position, and the others lie about it.
    """
    rng = np.random.default_rng(0)
    begin = kind.neutral() if start is None else start
    best, least = begin, math.inf
    for attempt in range(starts if kind.nv else 0):
        q = begin
        if attempt:
            q = kind.integrate(q, rng.uniform(-1.5, 1.5, kind.nv))
        q, error = _descend(kind, X, q, tolerance)
        if error < least:
            best, least = q, error
        if least < 1e-10:
            break
    return best


def _descend(kind: JointKind, X: Transform, q: np.ndarray, tolerance: float) -> tuple[np.ndarray, float]:
    """Return the end of one descent and the length of its remaining error."""
    damping = 1e-6
    error = log(X * kind.transform(q).inverse()).array
    for _ in range(100):
        S = kind.motion_space(q).array
        step = np.linalg.solve(S.T @ S + damping * np.eye(kind.nv), S.T @ error)
        trial = kind.integrate(q, step)
        trial_error = log(X * kind.transform(trial).inverse()).array
        if trial_error @ trial_error < error @ error:
            q, error = trial, trial_error
            damping = max(damping * 0.1, 1e-15)
        elif damping > 1e6:
            break
        else:
            damping *= 10.0
        if np.abs(step).max() < tolerance or error @ error < tolerance**2:
            break
    return q, float(np.sqrt(error @ error))
