"""Functions of one variable as B-splines, for the method of Rayleigh and Ritz: Gauss points, values at any place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.bodies.contract import Floats

DEGREE = 7


@dataclass(frozen=True, eq=False)
class Basis:
    """Splines of degree 7 over the stations (m,) [m] with so many spans between neighbouring ones: smooth within, once
    continuously differentiable (`slope`) or continuous at the stations."""

    stations: tuple[float, ...]
    spans: int
    slope: bool = True

    @cached_property
    def knots(self) -> Floats:
        """Return the knots; a station is repeated so that what jumps there may jump."""
        inner = DEGREE - 1 if self.slope else DEGREE
        ends = [self.stations[0]] * (DEGREE + 1), [self.stations[-1]] * (DEGREE + 1)
        middle: list[float] = []
        for a, b in zip(self.stations[:-1], self.stations[1:], strict=True):
            middle += np.linspace(a, b, self.spans + 1)[1:-1].tolist()
            middle += [b] * inner
        return np.array([*ends[0], *middle[:-inner], *ends[1]])

    @property
    def count(self) -> int:
        """Return the number of functions."""
        return len(self.knots) - DEGREE - 1

    @cached_property
    def gauss(self) -> tuple[Floats, Floats]:
        """Return places (n,) and weights (n,) that integrate products of two functions exactly."""
        edges = np.unique(self.knots)
        x, w = np.polynomial.legendre.leggauss(DEGREE + 2)
        half = np.diff(edges)[:, None] / 2.0
        middle = (edges[1:] + edges[:-1])[:, None] / 2.0
        return (middle + half * x).ravel(), (half * w).ravel()

    def at(self, x: Floats, derivative: int = 0) -> Floats:
        """Return the functions or their derivatives at places (n,), shape (n, count)."""
        from scipy.interpolate import BSpline

        unit = BSpline(self.knots, np.eye(self.count), DEGREE)
        values: Floats = np.asarray((unit.derivative(derivative) if derivative else unit)(x))
        return values

    def piecewise(self, values: Sequence[float], x: Floats) -> Floats:
        """Return what has these values between the stations, at places (n,)."""
        piece = np.clip(np.searchsorted(self.stations, x, side="right") - 1, 0, len(values) - 1)
        found: Floats = np.asarray(values, dtype=np.float64)[piece]
        return found
