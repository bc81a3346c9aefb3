"""Events that compiled steps and careful steps meet, and events that an impact jumps over.

Compiled steps are taken again up to an event, so that its time is as exact as they are. Careful steps are of first
order, and so are the times of the events on their way. An impact changes velocities at once: a function that has
another sign behind it than before has changed its sign there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from catena.simulation.contacts.joining import cut
from catena.simulation.guards.events import Event, crosses
from catena.simulation.guards.locating import Passage, hits
from catena.simulation.results.segment import EventHit, Segment
from catena.system import System


class Passing(Protocol):
    """A time with q (nq,) and v (nv,) there."""

    t: float
    q: np.ndarray
    v: np.ndarray


P = TypeVar("P", bound=Passing)


@dataclass(eq=False)
class Meeting(Generic[P]):
    """The events of a stretch that its steps have `found` so far. A run begins at the time `begin` [s]. `moved` takes a
    step of so many seconds from a state, which is less than the step from there to the next state."""

    system: System
    begin: float
    events: Sequence[Event]
    moved: Callable[[P, float], P | None]
    found: list[EventHit] = field(default_factory=list)

    def along(self, states: Sequence[P]) -> tuple[int, P] | None:
        """Look for events between states that follow each other. Returns behind which state, and where, the first that
        is terminal happens; None if none does."""
        if len(states) < 2:
            return None
        t, q, v = (np.array([getattr(state, name) for state in states]) for name in "tqv")
        passage = Passage(t, v, partial(self._between, t, q, v), partial(self._state_at, states))
        for hit in hits(self.events, self.system.plan, passage, bool(t[0] == self.begin)):
            self.found.append(EventHit(hit.event.label, hit.t, hit.state.q, hit.state.v))
            if hit.event.terminal:
                return hit.node, hit.state
        return None

    def _between(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the states at `times` (n,) between nodes t (nodes,), q, v, roughly: by cubics."""
        k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
        h = np.diff(t)[k, None]
        s = (times[:, None] - t[k, None]) / h
        way = self.system.difference(q[:-1], q[1:])[k]
        first, last = h * v[k], h * v[k + 1]
        xi = (s - 2.0 * s**2 + s**3) * first + (3.0 * s**2 - 2.0 * s**3) * way + (s**3 - s**2) * last
        rate = (1.0 - 4.0 * s + 3.0 * s**2) * first + 6.0 * (s - s**2) * way + (3.0 * s**2 - 2.0 * s) * last
        there, rate = self.system.integrate(q[k], xi), rate / h
        for node, at in ((k, s[:, 0] <= 0.0), (k + 1, s[:, 0] >= 1.0)):
            there[at], rate[at] = q[node[at]], v[node[at]]
        return there, rate

    def _state_at(self, states: Sequence[P], k: int, time: float) -> P:
        """Return the state behind the one with number k at a time."""
        span = time - states[k].t
        if span <= 0.0:
            return states[k]
        if time >= states[k + 1].t:
            return states[k + 1]
        # A step that is too short for the method, or not good enough, leaves the next state.
        return self.moved(states[k], span) or states[k + 1]


class _Between(NamedTuple):
    """A state q (nq,), v (nv,) between two others."""

    q: np.ndarray
    v: np.ndarray


def met(run: Segment, events: Sequence[Event], begins: bool) -> Segment:
    """Return a run of careful steps with the events it meets, up to the first that ends it; whether the motion `begins`
    with it."""
    if not events or len(run.t) < 2:
        return run
    t, q, v = run.t, run.q, run.v

    def state_at(k: int, time: float) -> _Between:
        part = (time - t[k]) / (t[k + 1] - t[k])
        way = run.system.difference(q[k], q[k + 1])
        return _Between(run.system.integrate(q[k], part * way), (1.0 - part) * v[k] + part * v[k + 1])

    def between(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
        rows = [state_at(int(k), float(time)) for k, time in zip(inside, times, strict=True)]
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    found = list[EventHit]()
    for hit in hits(events, run.system.plan, Passage(t, v, between, state_at), begins):
        found.append(EventHit(hit.event.label, hit.t, *hit.state))
        if hit.event.terminal:
            return _ended(run, found)
    return replace(run, events=tuple(found))


def _ended(run: Segment, found: Sequence[EventHit]) -> Segment:
    """Return a run up to the last of the events that were found, which ended it."""
    last = found[-1]
    shorter = cut(run, last.t)
    q, v = shorter.q.copy(), shorter.v.copy()
    q[-1], v[-1] = last.q, last.v
    return replace(shorter, q=q, v=v, events=tuple(found), ended=last.ended)


def jumped_over(
    events: Sequence[Event],
    t: float,
    before: tuple[np.ndarray, np.ndarray],
    after: tuple[np.ndarray, np.ndarray],
) -> list[int]:
    """Return which of the events happen because states (q, v) before and after a time differ."""
    values = [[event.value(t, *state) for state in (before, after)] for event in events]
    return [k for k, event in enumerate(events) if crosses(event, *values[k])]
