"""Steps of Dormand and Prince of many states in absolute coordinates at once, each with steps of its own size.

The methods, their error estimates and how they choose steps are those of SciPy's RK45 and DOP853, which move one state
after the other (`stiff`); accelerations of all states that need them are found together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# By which factors steps may change, and how much of what the error allows is taken: those of SciPy.
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
Rates = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""What gives the rates (rows, n) of coordinates y (rows, n) of states numbered (rows,)."""


class ExplicitTogether:
    """Steps by SciPy's class `solver` of states with coordinates y (states, n) at times t (states,), which go on to
    `ends` (states,) with steps of at most `longest`."""

    def __init__(
        self, solver: Any, rates: Rates, t: np.ndarray, y: np.ndarray, ends: np.ndarray,
        tolerances: tuple[float, float], longest: float,
    ) -> None:  # fmt: skip
        self.solver, self.rates, self.ends = solver, rates, ends
        self.rtol, self.atol = max(tolerances[0], 100 * np.finfo(float).eps), tolerances[1]
        self.longest = longest
        self.t, self.y, self.h = t.copy(), y.copy(), np.zeros(len(t))
        self.f = rates(np.arange(len(t)), y)
        self.h[:] = self._first()

    def _first(self) -> np.ndarray:
        """Return first steps (states,)."""
        left, scale = self.ends - self.t, self.atol + np.abs(self.y) * self.rtol
        d0, d1 = _norm(self.y / scale), _norm(self.f / scale)
        small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = np.minimum(np.where(small, 1e-6, 0.01 * d0 / np.where(small, 1.0, d1)), left)
        f1 = self.rates(np.arange(len(self.t)), self.y + h0[:, None] * self.f)
        d2 = _norm((f1 - self.f) / scale) / h0
        none = (d1 <= 1e-15) & (d2 <= 1e-15)
        order = self.solver.error_estimator_order
        by_rates = (0.01 / np.where(none, 1.0, np.maximum(d1, d2))) ** (1.0 / (order + 1))
        h1 = np.where(none, np.maximum(1e-6, h0 * 1e-3), by_rates)
        return np.minimum.reduce([100.0 * h0, h1, left, np.full(len(h0), self.longest)])

    def step(self, who: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Take a step of each of the states numbered (rows,), and return where it began: times (rows,) and coordinates
        (rows, n), with its stages (rows, stages, n) and the step sizes; one of NaN could not be taken."""
        solver, n = self.solver, self.y.shape[1]
        t, y, f = self.t[who], self.y[who], self.f[who]
        least = 10.0 * np.abs(np.nextafter(t, np.inf) - t)
        size = np.clip(self.h[who], least, max(self.longest, float(least.max())))
        stages, taken = np.zeros((len(who), solver.n_stages + 1, n)), np.full(len(who), np.nan)
        left, rejected = np.arange(len(who)), np.zeros(len(who), dtype=bool)
        while len(left := left[size[left] >= least[left]]):
            some = who[left]
            later = np.minimum(t[left] + size[left], self.ends[some])
            h = later - t[left]
            K = stages[left]
            K[:, 0] = f[left]
            for s in range(1, solver.n_stages):
                moved = y[left] + h[:, None] * np.einsum("j,rjn->rn", solver.A[s, :s], K[:, :s])
                K[:, s] = self.rates(some, moved)
            new = y[left] + h[:, None] * np.einsum("j,rjn->rn", solver.B, K[:, :-1])
            K[:, -1] = self.rates(some, new)
            scale = self.atol + np.maximum(np.abs(y[left]), np.abs(new)) * self.rtol
            error = self._error(K, h, scale)
            with np.errstate(divide="ignore", invalid="ignore"):
                factor = SAFETY * error ** (-1.0 / (solver.error_estimator_order + 1))
            good = error < 1.0
            # Where rates are none, a step is much too long.
            factor = np.where(good, np.minimum(factor, np.where(rejected[left], 1.0, MOST)),
                              np.fmax(LEAST, np.where(np.isfinite(factor), factor, LEAST)))  # fmt: skip
            stages[left], size[left] = K, h * factor
            done = left[good]
            taken[done], rejected[left[~good]] = h[good], True
            rows = who[done]
            self.t[rows], self.y[rows], self.f[rows] = later[good], new[good], K[good, -1]
            left = left[~good]
        self.h[who] = size
        return t, y, stages, taken

    def begin_anew(self, who: np.ndarray, y: np.ndarray) -> None:
        """Go on in other coordinates (rows, n), with steps as long as those that were chosen."""
        if len(who):
            self.y[who] = y
            self.f[who] = self.rates(who, y)
            self.h[who] = np.minimum(self.h[who], np.maximum(self.ends[who] - self.t[who], 0.0))

    def _error(self, K: np.ndarray, h: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the errors (rows,) of steps as parts of what is allowed."""
        solver = self.solver
        if not hasattr(solver, "E5"):
            return _norm(np.einsum("j,rjn->rn", solver.E, K) * h[:, None] / scale)
        fifth, third = (
            np.sum((np.einsum("j,rjn->rn", E, K) / scale) ** 2, axis=1) for E in (solver.E5, solver.E3)
        )
        whole = fifth + 0.01 * third
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(h) * fifth / np.sqrt(whole * scale.shape[1])
        return np.where(whole == 0.0, 0.0, found)

    def between(
        self, who: np.ndarray, y: np.ndarray, stages: np.ndarray, h: np.ndarray, parts: np.ndarray
    ) -> np.ndarray:
        """Return the coordinates (rows, parts, n) at some parts (parts,) of steps that were taken, before coordinates
        began anew: by the polynomials that belong to the method."""
        solver, x = self.solver, parts[None, :, None]
        if not hasattr(solver, "D"):
            Q = np.einsum("rjn,jk->rkn", stages, solver.P)
            powers = parts[:, None] ** np.arange(1, Q.shape[1] + 1)
            return y[:, None] + h[:, None, None] * np.einsum("pk,rkn->rpn", powers, Q)
        K = stages
        for a in solver.A_EXTRA:
            moved = y + h[:, None] * np.einsum("j,rjn->rn", a[: K.shape[1]], K)
            K = np.concatenate([K, self.rates(who, moved)[:, None]], axis=1)
        change, hf = self.y[who] - y, h[:, None] * K[:, 0]
        hg = h[:, None] * self.f[who]
        F = [change, hf - change, 2.0 * change - (hg + hf)]
        F += list(np.swapaxes(h[:, None, None] * np.einsum("kj,rjn->rkn", solver.D, K), 0, 1))
        found = np.zeros((len(y), len(parts), y.shape[1]))
        for k, part in enumerate(reversed(F)):
            found = (found + part[:, None]) * (x if k % 2 == 0 else 1.0 - x)
        return found + y[:, None]


def _norm(x: np.ndarray) -> np.ndarray:
    """Return root mean squares (rows,)."""
    found: np.ndarray = np.sqrt(np.mean(x**2, axis=1))
    return found
