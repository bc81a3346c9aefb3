"""Motions and forces that are computed from time to time, as polynomials of degree five that agree with them to many
digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from catena.simulation.references.piecewise import PiecewisePolynomial
from catena.simulation.references.protocol import ReferenceMotion

# Polynomials are those through position, velocity and acceleration at two places of each piece, a little inside, where
# no corner of the motion is; they are looked at elsewhere.
THROUGH, LOOKED_AT = np.array([0.01, 0.99]), np.array([0.001, 0.2, 0.5, 0.8, 0.999])
# How far positions may be off [rad or m], and velocities and accelerations as parts of the largest: inverse kinematics
# of redundant arms leave 1e-9 and 1e-7 of these to rounding.
NEAR = (1e-11, 1e-8, 1e-6)
# Pieces are halved until they are near; a motion that needs more of them is none of polynomials.
FEWEST, MOST = 8, 2048
# Numbers without known rates go through so many places of each piece (Chebyshev's), and may be off by this part of the
# largest.
PLACES = 0.5 - 0.5 * np.cos(np.pi * (np.arange(6) + 0.5) / 6.0)
NEAR_VALUES, MOST_VALUES = 1e-10, 512
# What holds before and after is a piece of this length [s].
BESIDE = 1.0


def fitted(motion: Callable[[np.ndarray], ReferenceMotion], knots: np.ndarray) -> PiecewisePolynomial | None:
    """Return a motion of coordinates whose velocities are their rates, from the first to the last of its knots (n,)
    between which it is smooth; None where too many polynomials would be needed."""
    knots = _distinct(knots)
    parts = -(-FEWEST // (len(knots) - 1))
    while parts * (len(knots) - 1) <= MOST:
        times = np.unique(np.concatenate([np.linspace(a, b, parts + 1) for a, b in zip(knots, knots[1:])]))
        found = PiecewisePolynomial(times, _through(motion, times), name="fitted")
        asked = (times[:-1, None] + np.diff(times)[:, None] * LOOKED_AT).ravel()
        wanted, fit = motion(asked), found.at(asked)
        sizes = (1.0, *(max(float(np.max(np.abs(x))), 1e-9) for x in wanted[1:]))
        if all(
            np.max(np.abs(x - y)) <= near * size
            for x, y, near, size in zip(wanted, fit, NEAR, sizes, strict=True)
        ):
            return found
        parts *= 2
    return None


def fitted_values(
    values: Callable[[np.ndarray], np.ndarray], knots: np.ndarray
) -> PiecewisePolynomial | None:
    """Return numbers (k,) that depend on the time as polynomials, from the first to the last of its knots (n,) between
    which they are smooth, and as they stand before and after; None where too many polynomials would be needed."""
    knots = _distinct(knots)
    before, after = values(np.array([knots[0] - BESIDE, knots[-1] + BESIDE]))
    powers = np.linalg.inv(PLACES[:, None] ** np.arange(6))
    parts = -(-FEWEST // (len(knots) - 1))
    while parts * (len(knots) - 1) <= MOST_VALUES:
        times = np.unique(np.concatenate([np.linspace(a, b, parts + 1) for a, b in zip(knots, knots[1:])]))
        length = np.diff(times)[:, None]
        rows = values((times[:-1, None] + length * PLACES).ravel()).reshape(len(length), 6, -1)
        c = (powers @ rows) / length[..., None] ** np.arange(6)[:, None]
        asked = (times[:-1, None] + length * LOOKED_AT).ravel()
        wanted, fit = values(asked), PiecewisePolynomial(times, c).at(asked).q
        size = max(float(np.abs(x).max(initial=0.0)) for x in (before, after, wanted))
        if np.abs(wanted - fit).max(initial=0.0) <= NEAR_VALUES * size:
            still = np.zeros((2, *c.shape[1:]))
            still[:, 0] = before, after
            whole = np.concatenate([still[:1], c, still[1:]])
            times = np.concatenate([[times[0] - BESIDE], times, [times[-1] + BESIDE]])
            return PiecewisePolynomial(times, whole, name="fitted")
        parts *= 2
    return None


def _distinct(knots: np.ndarray) -> np.ndarray:
    """Return knots in order; those that differ by rounding are one."""
    knots = np.unique(knots)
    return knots[np.concatenate([[True], np.diff(knots) > 1e-9 * (knots[-1] - knots[0])])]


def _through(motion: Callable[[np.ndarray], ReferenceMotion], times: np.ndarray) -> np.ndarray:
    """Return the coefficients (n, 6, k) of polynomials from time to time."""
    length = np.diff(times)[:, None]
    rows = [x.reshape(len(length), 2, -1) for x in motion((times[:-1, None] + length * THROUGH).ravel())]
    powers = np.arange(6)
    # Values and derivatives of the powers of the part of the piece that has passed.
    basis = [THROUGH[:, None] ** powers]
    for _ in range(2):
        basis.append(np.concatenate([np.zeros((2, 1)), powers[1:] * basis[-1][:, :-1]], axis=1))
    values = [x * length[..., None] ** j for j, x in enumerate(rows)]
    c = np.linalg.solve(np.concatenate(basis), np.concatenate(values, axis=1))
    return np.asarray(c / length[..., None] ** powers[:, None])
