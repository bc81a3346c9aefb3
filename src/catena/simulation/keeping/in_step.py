"""Numbers that follow from all of a signal, gathered inside the compiled step, so that no step leaves it for them.

They are found as in `tally`, by parabolas through values at the ends and in the middle of equal parts of a step. Of the
state only joints that signals name are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from catena.formulas import parse
from catena.simulation.keeping.choice import Signal
from catena.simulation.stepping.methods.conditions import both, larger
from catena.simulation.stepping.observing import StepStart, fit
from catena.spatial.scalars import absolute, sqrt, where
from catena.system import System

# What stands for a time at which nothing happens: numbers that are not finite are taken for a motion that went astray.
NEVER = 1e300


@dataclass(frozen=True)
class StepTally:
    """Gathers what `signals` want to know, in steps that are cut into so many `parts`. `start` has the joints that
    formulas look at, `numbers` are the names of numbers in them, and `place` tells systems apart in which names mean
    something else."""

    signals: tuple[Signal, ...]
    parts: int
    start: StepStart
    numbers: tuple[str, ...]
    place: tuple[Any, ...]
    values: Callable[[Any, Any, Any, Any], list[Any]] = field(compare=False)
    """The values of all formulas at (t, q, v), with the named numbers."""

    @staticmethod
    def of(
        signals: tuple[Signal, ...], system: System, named: Mapping[str, float], parts: int
    ) -> StepTally | None:
        """Return what gathers signals that are formulas in runs of a system in which numbers are `named`; None where
        the step cannot, or where there are none."""
        if not signals:
            return None
        words, joints = set[str](), system.mechanism.joints
        for one in signals:
            # What is wrong with a formula is said now.
            one.on(system, named)
            for name in parse(str(one.signal)).names:
                words |= {str(part) for part in (name if isinstance(name, tuple) else (name,))}
        # Entries that are counted may be those of any joint.
        counted = words & {"q", "v"}
        start = StepStart.of(system, set(system.joints) if counted else words)
        if start is None:
            return None
        numbers, formulas = tuple(name for name in named if name in words), _distinct(signals)
        locked = [(j, tuple(np.ravel(x.locked_at))) for j, x in joints.items() if x.locked_at is not None]
        place = *((j, system.slice_q(j).start, system.slice_v(j).start) for j in system.joints), *locked
        # Scenarios know formulas, and are made of runs.
        from catena.simulation.scenario.formulas import of_state

        def values(t: Any, q: Any, v: Any, number_values: Any) -> list[Any]:
            own = dict(zip(numbers, number_values, strict=True))
            return of_state([parse(text) for text in formulas], system, own, "keep")(t, q, v)

        return fit(StepTally(signals, parts, start, numbers, place, values))

    @cached_property
    def formulas(self) -> tuple[str, ...]:
        """Return the signals as texts, each once."""
        return _distinct(self.signals)

    @cached_property
    def _columns(self) -> dict[str, slice]:
        """Return where numbers of a state are among those that it carries."""
        sizes = {
            "start": self.start.size, "values": len(self.formulas), "found": 2 * len(self.signals),
            "numbers": len(self.numbers),
        }  # fmt: skip
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def size(self) -> int:
        """Return how many numbers each state carries."""
        return self._columns["numbers"].stop

    def started(
        self, system: System, named: Mapping[str, float], t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Return what states carry (states, size) that begin at times t (states,) with q (states, nq), v (states,
        nv)."""
        values = [Signal("", text).on(system, named)(t, q, v) for text in self.formulas]
        found = list[np.ndarray]()
        for one in self.signals:
            x = values[self.formulas.index(str(one.signal))]
            if one.tally == "crossing":
                found += [np.where(x == 0.0, t, NEVER), t]
            else:
                found += [x if one.tally.endswith(("min", "max")) else 0.0 * t, t]
        numbers = [np.full(len(t), named[name]) for name in self.numbers]
        return np.stack([*self.start.at(t, q.T, v.T), *values, *found, *numbers], axis=1)

    def results(self, carried: np.ndarray, begin: float) -> dict[str, np.ndarray]:
        """Return what was found, {name: (states,)}, from what states carry (states, size) that began at a time."""
        found, passed = {}, carried[:, 0] - begin
        columns = carried[:, self._columns["found"]].T
        for one, first, second in zip(self.signals, columns[::2], columns[1::2], strict=True):
            if one.tally == "mean":
                now = carried[:, self._columns["values"]][:, self.formulas.index(str(one.signal))]
                first = np.where(passed > 0.0, first / np.where(passed > 0.0, passed, 1.0), now)
            elif one.tally == "crossing":
                first = np.where(first < NEVER, first, np.nan)
            found[one.name] = np.array(second if one.tally.startswith("time_of") else first)
        return found

    def after(self, t: Any, q: Any, v: Any, vdot: Any, carried: Any) -> list[Any]:
        """Return what a state carries behind a step."""
        numbers = carried[self._columns["numbers"]]
        found, parts = list(carried[self._columns["found"]]), self.parts

        def at(s: float) -> list[Any]:
            return self.values(*self.start.between(s, t, q, v, vdot, carried), numbers)

        x0, last = list(carried[self._columns["values"]]), self.values(t, q, v, numbers)
        h = (t - carried[0]) / parts
        for part in range(parts):
            xm, x1 = at((part + 0.5) / parts), last if part + 1 == parts else at((part + 1) / parts)
            for k, one in enumerate(self.signals):
                which = self.formulas.index(str(one.signal))
                piece = Parabola(carried[0] + part * h, h, x0[which], xm[which], x1[which])
                found[2 * k : 2 * k + 2] = piece.gathered(one.tally, *found[2 * k : 2 * k + 2])
            x0 = x1
        return [*self.start.at(t, q, v), *last, *found, *numbers]


@dataclass(frozen=True)
class Parabola:
    """A signal over a time h from t on, with the values x0, xm, x1 at its start, in its middle and at its end, numbers
    or symbols."""

    t: Any
    h: Any
    x0: Any
    xm: Any
    x1: Any

    def gathered(self, tally: str, first: Any, second: Any) -> tuple[Any, Any]:
        """Return the two numbers that stand for a tally, with this parabola."""
        if tally in ("mean", "integral"):
            return first + self.h / 6.0 * (self.x0 + 4.0 * self.xm + self.x1), second
        if tally == "crossing":
            return where(first < NEVER, first, self.zero()), second
        sign = -1.0 if tally.endswith("min") else 1.0
        own = self if sign > 0.0 else Parabola(self.t, self.h, -self.x0, -self.xm, -self.x1)
        value, time = own.largest()
        higher = value > sign * first
        return where(higher, sign * value, first), where(higher, time, second)

    @property
    def _powers(self) -> tuple[Any, Any]:
        """Return b and c of x0 + b s + c s^2, s from 0 to 1."""
        return 4.0 * self.xm - 3.0 * self.x0 - self.x1, 2.0 * (self.x0 + self.x1) - 4.0 * self.xm

    def largest(self) -> tuple[Any, Any]:
        """Return the largest value and its time, the start left out."""
        b, c = self._powers
        s = -b / (2.0 * where(c < 0.0, c, -1.0))
        inside = both(c < 0.0, both(s > 0.0, s < 1.0))
        top = where(inside, self.x0 + s * (b + s * c), self.x1)
        at_end = self.x1 >= top
        return where(at_end, self.x1, top), self.t + self.h * where(at_end, 1.0, s)

    def zero(self) -> Any:
        """Return the first time at which the signal is zero or changes its sign, `NEVER` where there is none."""
        b, c = self._powers
        square = b * b - 4.0 * c * self.x0
        root = sqrt(larger(square, 0.0))
        # The two roots without cancellation.
        w = -0.5 * (b + where(b < 0.0, -root, root))
        roots = [_quotient(w, c), _quotient(self.x0, w)]
        one, other = (where(both(r > 0.0, r <= 1.0), r, NEVER) for r in roots)
        s = where(square < 0.0, NEVER, where(one < other, one, other))
        changes = where(self.x0 < 0.0, where(self.x1 < 0.0, 0.0, 1.0), where(self.x1 < 0.0, 1.0, 0.0))
        s = where(s < NEVER, s, where(changes > 0.5, 1.0, NEVER))
        return where(s < NEVER, self.t + self.h * s, NEVER)


def _quotient(a: Any, b: Any) -> Any:
    """Return a / b, and what is no root where b is zero."""
    there = absolute(b) > 0.0
    return where(there, a / where(there, b, 1.0), NEVER)


def _distinct(signals: tuple[Signal, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(one.signal) for one in signals))
