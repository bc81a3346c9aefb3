"""Zeros of many functions at once, each between two places at which it has different signs.

Chandrupatla's method ("A new hybrid quadratic/bisection algorithm", Advances in Engineering Software 28, 1997): inverse
quadratic interpolation where it is safe, and halving elsewhere. All zeros that are left are asked for together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Halving alone would come to the rounding of a double in so many trials.
TRIALS = 200


def zeros(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray,
    at_low: np.ndarray, at_high: np.ndarray, within: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return places (n,) of zeros between `low` (n,) and `high` (n,), where functions have the values `at_low` and
    `at_high` of different signs, each to the accuracy `within` (n,). `function(which, x)` gives the values at x (m,) of
    the functions with the numbers `which` (m,)."""
    found = np.where(np.abs(at_low) < np.abs(at_high), low, high)
    which = np.flatnonzero((at_low != 0.0) & (at_high != 0.0) & (np.abs(high - low) > within))
    b, a, fb, fa = (x[which].astype(np.float64) for x in (low, high, at_low, at_high))
    part = np.full(len(which), 0.5)
    for _ in range(TRIALS):
        if not len(which):
            break
        x = a + part * (b - a)
        fx = function(which, x)
        # The new place is an end now; the old one of its sign stays for the interpolation.
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        nearest = np.abs(fa) < np.abs(fb)
        best = np.where(nearest, a, b)
        found[which] = best
        least = 0.5 * (within[which] + 2.0 * np.finfo(np.float64).eps * np.abs(best)) / np.abs(b - a)
        open_ = (least < 0.5) & (fx != 0.0) & (fb != 0.0)
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        safe = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        part = np.clip(np.where(safe & np.isfinite(guess), guess, 0.5), least, 1.0 - least)
        which, a, b, fa, fb, part = (y[open_] for y in (which, a, b, fa, fb, part))
    return found
