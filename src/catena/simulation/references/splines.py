"""Smooth motion through points without stopping at them."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.references.piecewise import PiecewisePolynomial
from catena.simulation.references.protocol import as_knots
from catena.validation import is_count, is_one_of, shown

ENDS = ("rest", "natural", "free", "periodic")


def spline(times: ArrayLike, points: ArrayLike, degree: int = 3, ends: str = "rest") -> PiecewisePolynomial:
    """Return the spline of degree 3 or 5 through `points` (n, k), or (n,) for one coordinate, at `times` (n,).

    It has continuous derivatives up to degree - 1. `ends`: "rest" begins and ends with zero velocity (and, for degree
    5, acceleration), "natural" with zero acceleration (and third derivative for degree 5, whose first free ones these
    are), "free" lets the outer points decide (not-a-knot), "periodic" joins the end to the beginning, where the last
    point must be the first, and repeats.
    """
    from scipy.interpolate import make_interp_spline

    t, x = as_knots(times, points, "spline")
    if not is_count(degree) or degree not in (3, 5):
        raise StateError(f"spline: degree is {shown(degree)}; choose 3 or 5.")
    if not is_one_of(ends, ENDS):
        raise StateError(f"spline: ends is {shown(ends)}; choose {', '.join(ENDS)}.")
    if ends == "periodic" and np.abs(x[0] - x[-1]).max() > 1e-12 * max(1.0, float(np.abs(x).max())):
        raise StateError(
            f"spline: a periodic motion ends where it begins, but the first point is {x[0].tolist()} and the last "
            f"{x[-1].tolist()}."
        )
    needed = degree + 1 if ends == "free" else 3 if ends == "periodic" else 2
    if len(t) < needed:
        raise StateError(f"spline: {len(t)} points are too few for ends={ends!r}; give at least {needed}.")
    if ends == "periodic":
        x[-1] = x[0]
    zero = np.zeros(x.shape[1])
    fixed = {
        "rest": [(d, zero) for d in range(1, (degree + 1) // 2)],
        "natural": [(d, zero) for d in range(2, 2 + (degree - 1) // 2)],
    }.get(ends)
    kind: Any = (fixed, fixed) if fixed is not None else ("periodic" if ends == "periodic" else None)
    found = make_interp_spline(t, x, k=degree, bc_type=kind)
    bounds = np.unique(found.t[(found.t >= t[0]) & (found.t <= t[-1])])
    # Taylor's coefficients at the beginning of each piece.
    coefficients = np.stack(
        [found.derivative(d)(bounds[:-1]) / factorial(d) for d in range(1, degree + 1)], axis=1
    )
    coefficients = np.concatenate([found(bounds[:-1])[:, None], coefficients], axis=1)
    return PiecewisePolynomial(bounds, coefficients, ends == "periodic", "spline")
