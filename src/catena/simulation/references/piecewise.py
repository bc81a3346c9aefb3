"""Motions that are polynomials in time from knot to knot."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.references.protocol import ReferenceMotion, as_times
from catena.validation import real_array


@dataclass(frozen=True, eq=False)
class PiecewisePolynomial:
    """Between times[i] and times[i + 1] the position is sum_j coefficients[i, j] s^j with s = t - times[i].

    times (n + 1,), coefficients (n, degree + 1, k). Before the first and after the last time the end positions are
    held, at rest; a `periodic` motion repeats itself instead.
    """

    times: np.ndarray
    coefficients: np.ndarray
    periodic: bool = False
    name: str = field(default="polynomial", compare=False)

    def at(self, t: Any) -> ReferenceMotion:
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
        return ReferenceMotion(
            q, np.where(moving[..., None], v, 0.0), np.where(moving[..., None], 2.0 * a, 0.0)
        )

    def at_one(self, t: float) -> np.ndarray:
        """Return position, velocity and acceleration at one finite time as rows, (3, k): `at` without its checks."""
        times = self._knots
        begin, end = times[0], times[-1]
        if self.periodic:
            t = begin + (t - begin) % (end - begin)
        is_moving, t = begin <= t <= end, min(max(t, begin), end)
        i = min(max(bisect_right(times, t) - 1, 0), len(times) - 2)
        s, powers = t - times[i], [1.0]
        for _ in range(self.coefficients.shape[1] - 1):
            powers.append(s * powers[-1])
        found: np.ndarray = (np.array(powers) @ self._with_rates[i]).reshape(3, -1)
        if not is_moving:
            found[1:] = 0.0
        return found

    @cached_property
    def _with_rates(self) -> np.ndarray:
        """Return the coefficients (n, degree + 1, 3 k) of position, velocity and acceleration side by side."""
        c, found = self.coefficients, [self.coefficients]
        for _ in range(2):
            c = np.concatenate(
                [c[:, 1:] * np.arange(1, c.shape[1])[:, None], np.zeros_like(c[:, :1])], axis=1
            )
            found.append(c)
        return np.ascontiguousarray(np.concatenate(found, axis=-1))

    @cached_property
    def _knots(self) -> list[float]:
        return [float(t) for t in self.times]

    def taylor(self, t: float, degree: int) -> np.ndarray:
        """Return the coefficients (degree + 1, k) of the polynomial that holds from the time t on, in powers of the
        time since t. Just before a knot, by no more than rounding, it is that behind the knot."""
        begin, end = self.span
        result = np.zeros((degree + 1, self.coefficients.shape[-1]))
        slack = 1e-12 * max(abs(begin), abs(end), abs(t))
        if self.periodic:
            t = begin + float(np.mod(t - begin, end - begin))
            t = begin if end - t <= slack else t
        elif not begin - slack <= t < end - slack:
            result[0] = self.at(t).q
            return result
        i = int(
            np.clip(np.searchsorted(self.times, t + slack, side="right") - 1, 0, len(self.coefficients) - 1)
        )
        c, s = self.coefficients[i].copy(), t - self.times[i]
        # Repeated division by (x - s): each pass leaves the next coefficient about s. At a knot they are known.
        for j in range(len(c)) if s else ():
            for m in range(len(c) - 2, j - 1, -1):
                c[m] += s * c[m + 1]
        result[: len(c)] = c
        return result

    @property
    def span(self) -> tuple[float, float]:
        """Return the first and the last time."""
        return float(self.times[0]), float(self.times[-1])


def piecewise(times: Any, coefficients: Any, periodic: bool = False) -> PiecewisePolynomial:
    """Return the motion of polynomials, `coefficients` (n, powers, k) in powers of the time since the beginning of each
    piece, between `times` (n + 1,)."""
    t = as_times(times, "polynomial")
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0.0).all():
        raise StateError(
            f"polynomial: times are {t.tolist()}; give at least two, each later than the one before."
        )
    try:
        c = np.array(real_array(coefficients))
    except ValueError as error:
        raise StateError(f"polynomial: coefficients are no numbers: {error}.") from error
    if c.ndim != 3 or len(c) != len(t) - 1 or 0 in c.shape or not np.isfinite(c).all():
        raise StateError(
            f"polynomial: coefficients have shape {c.shape}; give finite numbers ({len(t) - 1}, powers, coordinates)."
        )
    return PiecewisePolynomial(t, c, bool(periodic), "polynomial")


def hermite(times: np.ndarray, ends: list[np.ndarray], name: str) -> PiecewisePolynomial:
    """Return the polynomials with given positions, velocities and so on, ends[d] (n + 1, k), at the knots.

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
