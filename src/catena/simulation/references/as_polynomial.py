"""References that are polynomials in time, which the compiled step follows by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.planning.motion_plan import PlannedMotion
from catena.simulation.references.constant import Constant
from catena.simulation.references.piecewise import PiecewisePolynomial

DEGREE = 5
"""The highest degree of a polynomial inside the step."""

InputPath = tuple[PiecewisePolynomial, int]
"""A polynomial, and which of its derivatives is meant."""


def as_polynomial(reference: Any) -> PiecewisePolynomial | None:
    """Return a reference as polynomials from knot to knot of degree 5 at most; None if it is something else."""
    if isinstance(reference, Constant) and len(reference.position) == reference.nv:
        return held(reference.position)
    if isinstance(reference, PiecewisePolynomial) and reference.coefficients.shape[1] <= DEGREE + 1:
        return reference
    if isinstance(reference, PlannedMotion):
        return PiecewisePolynomial(reference.times, reference.coefficients, name="plan")
    return None


def held(position: np.ndarray) -> PiecewisePolynomial:
    """Return the polynomial of numbers (k,) that do not change."""
    return PiecewisePolynomial(np.array([0.0, 1.0]), np.asarray(position, dtype=np.float64)[None, None, :])
