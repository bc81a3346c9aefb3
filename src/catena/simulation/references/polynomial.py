"""Cubic and quintic motion from point to point.

Van der Merwe's valve task (section 4.6) moves all joints along third-order polynomials that rest at every point; a
quintic starts and ends without a jump of the acceleration as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.simulation.references.piecewise import PiecewisePolynomial, hermite
from catena.simulation.references.protocol import as_knots, as_points


def cubic(times: ArrayLike, points: ArrayLike, velocities: ArrayLike | None = None) -> PiecewisePolynomial:
    """Return the motion through `points` (n, k), or (n,) for one coordinate, at `times` (n,) along cubics.

    `velocities` (n, k) at the points are zero unless given: the motion rests at every point.
    """
    t, x = as_knots(times, points, "cubic")
    return hermite(t, [x, _given("cubic", "velocities", velocities, x)], "cubic")


def quintic(
    times: ArrayLike,
    points: ArrayLike,
    velocities: ArrayLike | None = None,
    accelerations: ArrayLike | None = None,
) -> PiecewisePolynomial:
    """Return the motion through `points` (n, k), or (n,) for one coordinate, at `times` (n,) along quintics.

    `velocities` and `accelerations` (n, k) at the points are zero unless given.
    """
    t, x = as_knots(times, points, "quintic")
    v = _given("quintic", "velocities", velocities, x)
    return hermite(t, [x, v, _given("quintic", "accelerations", accelerations, x)], "quintic")


def _given(who: str, what: str, values: Any, points: np.ndarray) -> np.ndarray:
    if values is None:
        return np.zeros_like(points)
    return as_points(values, who, what, *points.shape)
