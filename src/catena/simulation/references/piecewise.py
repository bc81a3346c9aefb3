"""Motions that are polynomials in time from knot to knot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.simulation.references.protocol import Motion, as_times


@dataclass(frozen=True, eq=False)
class PiecewisePolynomial:
    """Between times[i] and times[i + 1] the position is sum_j coefficients[i, j] s^j with s = t - times[i].

    times (n + 1,), coefficients (n, degree + 1, k). Before the first and after the last time the end positions are
    held, at rest; a `periodic` motion repeats itself instead.
    """

    times: np.ndarray
    coefficients: np.ndarray
    periodic: bool = False
    name: str = "polynomial"

    def at(self, t: Any) -> Motion:
        """Return position, velocity and acceleration, each (..., k)."""
        asked = as_times(t, self.name)
        begin, end = self.times[0], self.times[-1]
        t = begin + np.mod(asked - begin, end - begin) if self.periodic else np.clip(asked, begin, end)
        i = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.coefficients) - 1)
        s = (t - self.times[i])[..., None]
        c = self.coefficients[i]
        q, v, a = (np.zeros((*asked.shape, c.shape[-1])) for _ in range(3))
        # Horner's scheme for a polynomial together with its derivatives.
        for j in reversed(range(c.shape[-2])):
            a = a * s + v
            v = v * s + q
            q = q * s + c[..., j, :]
        moving = np.ones(asked.shape, dtype=bool) if self.periodic else (asked >= begin) & (asked <= end)
        return Motion(q, np.where(moving[..., None], v, 0.0), np.where(moving[..., None], 2.0 * a, 0.0))

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time."""
        return float(self.times[0]), float(self.times[-1])


def hermite(times: np.ndarray, ends: list[np.ndarray], name: str) -> PiecewisePolynomial:
    """The polynomials with given positions, velocities and so on, ends[d] (n + 1, k), at the knots.

    With positions and velocities they are cubic, with accelerations as well quintic.
    """
    orders = len(ends)
    degree = 2 * orders - 1
    # Unit time on each segment: the scaled coefficients solve the same small system everywhere.
    powers = np.arange(degree + 1)
    A = np.zeros((2 * orders, degree + 1))
    factor = np.ones(degree + 1)
    for d in range(orders):
        A[d, d] = factor[d]
        A[orders + d] = np.where(powers >= d, factor, 0.0)
        factor = factor * np.maximum(powers - d, 0)
    h = np.diff(times)[:, None]
    known = [end[:-1] * h**d for d, end in enumerate(ends)] + [end[1:] * h**d for d, end in enumerate(ends)]
    scaled = np.einsum("ij,jnk->nik", np.linalg.inv(A), np.stack(known))
    return PiecewisePolynomial(times, scaled / h[:, :, None] ** powers[None, :, None], name=name)
