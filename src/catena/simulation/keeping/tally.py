"""Numbers that follow from all of a signal, gathered step by step, so that no step is kept for them.

Steps are cut into equal parts. In each the signal is taken for the parabola through its values at both ends and in the
middle, where the state is found by the polynomial that the nodes determine. Integrals are then those of Simpson's rule.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catena.simulation.keeping.choice import Signal
from catena.simulation.results.dense import hermite_step
from catena.system import System


class Tally:
    """Gathers what `signals` want to know of the states of a run, which begin at times t (states,) with q (states, nq)
    and v (states, nv). Steps are cut into so many `parts`."""

    def __init__(
        self,
        signals: tuple[Signal, ...],
        system: System,
        parameters: Mapping[str, float],
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        parts: int,
    ) -> None:
        self._system, self._signals, self._parts = system, signals, parts
        self._values = [one.on(system, parameters) for one in signals]
        self._t, self._q, self._v = t.copy(), q.copy(), v.copy()
        self._begin = t.copy()
        self._last = [values(t, q, v) for values in self._values]
        self._found = [_started(one.tally, x, t) for one, x in zip(signals, self._last, strict=True)]

    def add(self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> None:
        """Take note of nodes of the states `who` (n,), in order of states and times, with the accelerations vdot (n,
        nv) with which the steps that led to them began."""
        if not len(who):
            return
        first = np.append(True, who[1:] != who[:-1])
        starts = np.flatnonzero(first)

        def before(x: np.ndarray, known: np.ndarray) -> np.ndarray:
            shifted = np.concatenate([x[:1], x[:-1]])
            shifted[first] = known[who[first]]
            return shifted

        t0, q0, v0 = before(t, self._t), before(q, self._q), before(v, self._v)
        h = t - t0
        span = np.where(h > 0.0, h, 1.0)
        inputs = {
            "q": q0, "qd": v0, "qdd": vdot, "q_next": q, "qd_next": v, "qdd_next": vdot,
            "distance": span[:, None], "known": np.zeros((len(t), 1)),
        }  # fmt: skip
        inputs = {name: np.ascontiguousarray(x) for name, x in inputs.items()}
        program = self._system.mechanics.program(hermite_step)

        def at(part: float) -> list[np.ndarray]:
            if part == 1.0:
                return [values(t, q, v) for values in self._values]
            _, state = program.run(inputs | {"part": np.full((len(t), 1), part)}, len(t))
            return [values(t0 + part * h, state["q_between"], state["qd_between"]) for values in self._values]

        ends = np.append(starts[1:], len(who)) - 1
        states, count = who[starts], self._parts
        # What the end of the last part is comes first, because the start of a step is the end of the one before.
        last = at(1.0)
        x0 = [before(x, known) for x, known in zip(last, self._last, strict=True)]
        for part in range(count):
            xm, x1 = at((part + 0.5) / count), last if part + 1 == count else at((part + 1) / count)
            for k, one in enumerate(self._signals):
                pieces = Parabolas(t0 + part / count * h, h / count, x0[k], xm[k], x1[k])
                _gather(one.tally, self._found[k], states, starts, pieces)
            x0 = x1
        for known, x in zip(self._last, last, strict=True):
            known[states] = x[ends]
        self._t[states], self._q[states], self._v[states] = t[ends], q[ends], v[ends]

    def results(self) -> dict[str, np.ndarray]:
        """Return what was found, {name: (states,)}."""
        found = {}
        for one, x, last in zip(self._signals, self._found, self._last, strict=True):
            if one.tally == "last":
                found[one.name] = last.copy()
            elif one.tally == "mean":
                passed = self._t - self._begin
                found[one.name] = np.where(passed > 0.0, x[0] / np.where(passed > 0.0, passed, 1.0), last)
            else:
                found[one.name] = x[1 if one.tally.startswith("time_of") else 0].copy()
        return found


class Parabolas:
    """A signal over steps that begin at t (n,) and are h (n,) long, with the values x0, xm, x1 (n,) at their starts, in
    their middles and at their ends."""

    def __init__(self, t: np.ndarray, h: np.ndarray, x0: np.ndarray, xm: np.ndarray, x1: np.ndarray) -> None:
        self.t, self.h, self.x0, self.xm, self.x1 = t, h, x0, xm, x1
        # x(s) = x0 + b s + c s^2 for s from 0 to 1.
        self.b, self.c = 4.0 * xm - 3.0 * x0 - x1, 2.0 * (x0 + x1) - 4.0 * xm

    def integrals(self) -> np.ndarray:
        """Return the integrals over the steps."""
        found: np.ndarray = self.h / 6.0 * (self.x0 + 4.0 * self.xm + self.x1)
        return found

    def largest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest values (n,) in the steps and their times (n,), their starts left out."""
        s = np.divide(-self.b, 2.0 * self.c, out=np.ones_like(self.b), where=self.c < 0.0)
        s = np.where((s > 0.0) & (s < 1.0), s, 1.0)
        top = np.where(s < 1.0, self.x0 + s * (self.b + s * self.c), self.x1)
        at_end = self.x1 >= top
        return np.where(at_end, self.x1, top), self.t + self.h * np.where(at_end, 1.0, s)

    def zeros(self) -> np.ndarray:
        """Return the first times (n,) in the steps at which the signal is zero or changes its sign, infinite where
        there is none."""
        root = np.sqrt(np.maximum(self.b**2 - 4.0 * self.c * self.x0, 0.0))
        # The two roots without cancellation.
        w = -0.5 * (self.b + np.copysign(root, self.b))
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = np.stack([w / self.c, self.x0 / w])
        roots = np.where((roots > 0.0) & (roots <= 1.0), roots, np.inf)
        real = self.b**2 >= 4.0 * self.c * self.x0
        s = np.where(real, roots.min(axis=0), np.inf)
        changes = np.signbit(self.x0) != np.signbit(self.x1)
        s = np.where(np.isinf(s) & changes, 1.0, s)
        return np.where(np.isfinite(s), self.t + self.h * np.where(np.isfinite(s), s, 0.0), np.inf)


def _started(tally: str, x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what is known of a signal with values x (states,) at the start t (states,)."""
    if tally in ("min", "max", "time_of_min", "time_of_max"):
        return x.copy(), t.copy()
    if tally == "crossing":
        return (np.where(x == 0.0, t, np.nan),)
    return (np.zeros_like(x),)


def _gather(
    tally: str, found: tuple[np.ndarray, ...], states: np.ndarray, starts: np.ndarray, steps: Parabolas
) -> None:
    """Add steps to what was found (states,) so far; those of each of the `states` (m,) begin at `starts` (m,)."""
    if tally in ("mean", "integral"):
        found[0][states] += np.add.reduceat(steps.integrals(), starts)
    elif tally == "crossing":
        first = np.minimum.reduceat(steps.zeros(), starts)
        known = found[0][states]
        found[0][states] = np.where(np.isnan(known) & np.isfinite(first), first, known)
    elif tally != "last":
        sign = -1.0 if tally.endswith("min") else 1.0
        own = steps if sign > 0.0 else Parabolas(steps.t, steps.h, -steps.x0, -steps.xm, -steps.x1)
        values, times = own.largest()
        counts = np.diff(np.append(starts, len(values)))
        most = np.maximum.reduceat(values, starts)
        when = np.minimum.reduceat(np.where(values == np.repeat(most, counts), times, np.inf), starts)
        known = sign * found[0][states]
        higher = most > known
        found[0][states] = sign * np.where(higher, most, known)
        found[1][states] = np.where(higher, when, found[1][states])
