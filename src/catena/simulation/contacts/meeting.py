"""Events that compiled steps and careful steps meet, and events that an impact jumps over.

Compiled steps are taken again up to an event, so that its time is as exact as they are. Careful steps are of first
order, and so are the times of the events on their way. An impact changes velocities at once: a function that has
another sign behind it than before has changed its sign there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np

from catena.simulation.contacts.joining import cut
from catena.simulation.guards.event_values import EventValues
from catena.simulation.guards.events import Event, crosses
from catena.simulation.guards.locating import Exact, Passage, hits
from catena.simulation.guards.sign_changes import Nodes
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.segment import Segment
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
        nodes = Nodes.of_one(t, q, v, partial(cubics, self.system, t, q, v))
        passage = Passage(nodes, partial(self._states_at, states))
        values = [EventValues(event, self.system) for event in self.events]
        for hit in hits(values, self.system.plan, passage, self.begin):
            self.found.append(EventHit(hit.event.label, hit.t, hit.q, hit.v))
            if hit.event.terminal:
                return hit.node, hit.beside
        return None

    def _states_at(self, states: Sequence[P], node: np.ndarray, times: np.ndarray) -> Exact:
        """Return the states behind those with the numbers `node` (n,) at times (n,)."""
        found = [self._state_at(states, int(k), float(t)) for k, t in zip(node, times, strict=True)]
        return Exact(np.array([x.q for x in found]), np.array([x.v for x in found]), found)

    def _state_at(self, states: Sequence[P], k: int, time: float) -> P:
        """Return the state behind the one with number k at a time."""
        span = time - states[k].t
        if span <= 0.0:
            return states[k]
        if time >= states[k + 1].t:
            return states[k + 1]
        # A step that is too short for the method, or not good enough, leaves the next state.
        return self.moved(states[k], span) or states[k + 1]


def cubics(
    system: System, t: np.ndarray, q: np.ndarray, v: np.ndarray, node: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states at `times` (n,) behind nodes (n,) of those at t (nodes,), q, v, roughly: by cubics."""
    h = (t[node + 1] - t[node])[:, None]
    s = (times[:, None] - t[node, None]) / h
    way = system.difference(q[node], q[node + 1])
    first, last = h * v[node], h * v[node + 1]
    xi = (s - 2.0 * s**2 + s**3) * first + (3.0 * s**2 - 2.0 * s**3) * way + (s**3 - s**2) * last
    rate = (1.0 - 4.0 * s + 3.0 * s**2) * first + 6.0 * (s - s**2) * way + (3.0 * s**2 - 2.0 * s) * last
    there, rate = system.integrate(q[node], xi), rate / h
    for end, at in ((node, s[:, 0] <= 0.0), (node + 1, s[:, 0] >= 1.0)):
        there[at], rate[at] = q[end[at]], v[end[at]]
    return there, rate


def met(run: Segment, events: Sequence[Event], begins: bool) -> Segment:
    """Return a run of careful steps with the events it meets, up to the first that ends it; whether the motion `begins`
    with it."""
    if not events or len(run.t) < 2:
        return run
    t, q, v = run.t, run.q, run.v

    def between(node: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = ((times - t[node]) / (t[node + 1] - t[node]))[:, None]
        way = run.system.difference(q[node], q[node + 1])
        return run.system.integrate(q[node], part * way), (1.0 - part) * v[node] + part * v[node + 1]

    found = list[EventHit]()
    nodes = Nodes.of_one(t, q, v, between)
    passage = Passage(nodes, lambda node, times: Exact(*between(node, times), times))
    values = [EventValues(event, run.system) for event in events]
    for hit in hits(values, run.system.plan, passage, float(t[0]) if begins else None):
        found.append(EventHit(hit.event.label, hit.t, hit.q, hit.v))
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
