"""Motions that are computed from time to time, as polynomials of degree five that agree with them to many digits."""

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


def fitted(motion: Callable[[np.ndarray], ReferenceMotion], knots: np.ndarray) -> PiecewisePolynomial | None:
    """Return a motion of coordinates whose velocities are their rates, from the first to the last of its knots (n,)
    between which it is smooth; None where too many polynomials would be needed."""
    knots = np.unique(knots)
    # Knots that differ by rounding are one.
    knots = knots[np.concatenate([[True], np.diff(knots) > 1e-9 * (knots[-1] - knots[0])])]
    parts = -(-FEWEST // (len(knots) - 1))
    while parts * (len(knots) - 1) <= MOST:
        times = np.unique(np.concatenate([np.linspace(a, b, parts + 1) for a, b in zip(knots, knots[1:])]))
        found = PiecewisePolynomial(times, _through(motion, times), name="fitted")
        asked = (times[:-1, None] + np.diff(times)[:, None] * LOOKED_AT).ravel()
        wanted, told = motion(asked), found.at(asked)
        sizes = (1.0, *(max(float(np.max(np.abs(x))), 1e-9) for x in wanted[1:]))
        if all(
            np.max(np.abs(x - y)) <= near * size
            for x, y, near, size in zip(wanted, told, NEAR, sizes, strict=True)
        ):
            return found
        parts *= 2
    return None


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
