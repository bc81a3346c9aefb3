"""How steps get on: how many of them one call of the compiled loop takes, and whether states are given up, because they
run away, hardly move, or would take for ever."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from catena.errors import CatenaError, SimulationError
from catena.simulation.acting.compiled_law import CompiledLaw
from catena.simulation.stepping.faults import RUNAWAY, collapse_message, crawling_message, lost_states

if TYPE_CHECKING:
    from catena.simulation.stepping.compiled import CompiledSteps

# A step below this part of the time passed makes no progress.
COLLAPSE = 1e-14
# So far ahead at least [s] a law is asked what it has to say of steps that collapsed.
AHEAD = 1e-6
# What a function could not answer is why steps collapse where both happen within this part of the time passed.
TOGETHER = 1e-12
# What steps cost, in steps of the compiled loop: with Python in between, and with care where the loop cannot vouch (100
# steps for a row of 40 four-bars, 2000 for small mechanisms).
PAUSED, CAREFUL = 50.0, 2000.0
# Progress is judged over steps of this cost in all: at their pace the run must not cost more than that.
WATCHED, ENDLESS = 1e5, 1e8
# States whose velocities have no more than this as the sum of their squares do not run away.
SLOW = RUNAWAY**2
# Calls of the tape in the first call of the loop, at 0.1 us each. What a tape leaves out costs less, so later calls do
# as much as takes SOON [s], which is how long whoever cancels a run waits.
MOST_WORK, SOON = 300_000, 0.03
# Numbers that one call may record.
RECORD = 1_000_000


class ProgressOfSteps:
    """Watches the states that are moved by `steps`, from a time `start` [s] on."""

    def __init__(self, steps: CompiledSteps, states: int, start: float) -> None:
        self.steps = steps
        self._cost, self._tried = np.zeros(states), np.zeros(states)
        # Cost, attempts and time when progress was judged last.
        self._watched = np.zeros((states, 3))
        self._watched[:, 2] = start
        self._said: dict[int, str] = {}
        """What the controller said of states in which its law found no number."""

    def count(self, who: np.ndarray | slice, steps: float | np.ndarray, cost: float = 1.0) -> None:
        """Count steps of the states `who` (n,), each of a cost."""
        if not self.steps.adaptive:
            # Nobody chooses their sizes, so that there are as many as were asked for.
            return
        self._cost[who] += steps * cost
        self._tried[who] += steps

    def give_up(self, faults: Iterable[tuple[int, str]], t: np.ndarray) -> None:
        """Raise for the first of the states that cannot go on, each with its words, or let the others go on without
        them."""
        for state, words in faults:
            if self.steps.failing is None:
                error, batch = SimulationError(words), self.steps.acting.batch
                if batch:
                    error.failed = {tuple(map(int, np.unravel_index(self.steps.owner[state], batch))): words}
                raise error
            self.steps.failing.setdefault(state, words)
            t[state] = np.inf

    def said_by_law(self, state: int, t: float, q: np.ndarray, v: np.ndarray) -> str:
        """Return what the controller says when Python asks it what the compiled law found no number for, at q (nq,) and
        v (nv,) or, if it is asked always, within a step from there; nothing where it finds some. It is raised as it is
        where one state ends the run."""
        steps = self.steps
        if not isinstance(steps.law, CompiledLaw):
            return ""
        own, ahead = steps.owner[state : state + 1], [0.0]
        if steps.law.asked == "always":
            ahead.append(0.5 * max(float(steps.kept["h"][state, 0]), AHEAD))
        try:
            for h in ahead:
                there = steps.system.integrate(q, v, h)
                steps.acting.command(t + h, there[None], v[None], own)
        except CatenaError as error:
            if self.steps.failing is None:
                raise
            return str(error)
        return ""

    def ask_law(
        self, who: np.ndarray, out: Mapping[str, np.ndarray], t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> None:
        """Ask the controller of those of the states `who` (n,), at t, q and v before a call, that are not finite any
        more behind some step of its results `out`, (n, steps, ...): where they were finite last."""
        finite = np.isfinite(out["q"]).all(axis=-1) & np.isfinite(out["qd"]).all(axis=-1)
        for k in np.flatnonzero(~finite.all(axis=-1)):
            state, first = int(who[k]), int(np.argmin(finite[k]))
            at = (t[state], q[state], v[state])
            if first:
                at = (out["t"][k, first - 1, 0], out["q"][k, first - 1], out["qd"][k, first - 1])
            words = self.said_by_law(state, float(at[0]), *at[1:])
            if words:
                self._said[state] = words

    def leave_lost(self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Give up those of the states `who` (n,) that have run away."""
        # Squares that are finite and small tell the same of all entries at once.
        if np.vdot(v, v) <= SLOW and np.vdot(q, q) < np.inf:
            return
        suspect = self.steps.drift.suspect
        lost = lost_states(self.steps.system, who, t[who], q[who], v[who], suspect)
        self.give_up(((state, self._said.get(state, words)) for state, words in lost), t)

    def require(self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
        """Give up states `who` (n,) that have run away, or do not get on."""
        self.leave_lost(who, t, q, v)
        if not self.steps.adaptive:
            return
        who = who[np.isfinite(t[who])]
        small = self.steps.kept["h"][who, 0] < COLLAPSE * np.maximum(1.0, np.abs(t[who]))
        # Not even steps with care cost so much that it would be worth a look.
        if self.steps.steps * CAREFUL < WATCHED and not small.any():
            return
        slow = itertools.chain(self._crawling(who, t, q), self._stuck(who[small], t, q, v))
        if self.steps.asks:
            # They share their steps, so that nobody knows whose fault it is.
            for _, words in slow:
                raise SimulationError(words)
        self.give_up(slow, t)

    def _crawling(self, who: np.ndarray, t: np.ndarray, q: np.ndarray) -> Iterator[tuple[int, str]]:
        """Give the states that would take for ever, each with its words."""
        watched = self._cost[who] - self._watched[who, 0] > WATCHED
        if not watched.any():
            return
        ready = who[watched]
        cost, tried, before = self._watched[ready].T
        passed = np.maximum(t[ready] - before, 1e-300)
        left = self.steps.horizon - t[ready]
        pace = passed / (self._tried[ready] - tried)
        endless = left * (self._cost[ready] - cost) > ENDLESS * passed
        self._watched[ready] = np.stack([self._cost[ready], self._tried[ready], t[ready]], axis=1)
        for k in np.flatnonzero(endless):
            state = int(ready[k])
            words = crawling_message(
                self.steps.system, state, float(t[state]), q[state], float(pace[k]), float(left[k])
            )
            yield state, words

    def _stuck(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> Iterator[tuple[int, str]]:
        """Give the states `who` (n,), whose steps have become too small to move them, each with its words."""
        for k in who:
            state, fault = int(k), self.steps.acting.fault
            if fault is not None and abs(fault[0] - t[state]) <= TOGETHER * max(1.0, abs(t[state])):
                yield state, fault[1]
                continue
            words = self.said_by_law(state, float(t[state]), q[state], v[state])
            if words:
                yield state, words
                continue
            own = self.steps.system.variants.state(int(self.steps.owner[state]))
            yield state, collapse_message(own, state, float(t[state]), q[state], v[state])


class CallLength:
    """Learns from calls how much may be done in one: many steps, so that the call itself costs nothing, and few enough
    that whoever cancels a run need not wait. It changes no number."""

    def __init__(self) -> None:
        self._most_work = float(MOST_WORK)

    def chosen(self, ahead: float, numbers: int, work: int) -> tuple[int, int]:
        """Return how many steps a call takes on a way of about so many `ahead`, where each of them records so many
        `numbers` and plays `work` calls of the tape, and how many are soon over."""
        soon = max(1, int(self._most_work / work))
        return max(1, min(RECORD // numbers, soon, math.ceil(ahead * (1.0 - 1e-9)))), soon

    def took(self, taken: float, is_bounded: bool) -> None:
        """Let the next call do more where this one, which was `is_bounded` by its work, was over soon [s], and less
        where it was not."""
        if is_bounded and taken < 0.4 * SOON:
            self._most_work *= 2.0
        elif taken > SOON:
            self._most_work = max(float(MOST_WORK), 0.5 * self._most_work)
