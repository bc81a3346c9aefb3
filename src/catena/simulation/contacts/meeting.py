"""Events that careful steps meet, and events that an impact jumps over.

Careful steps are of first order, and so are the times of the events on their way. An impact changes velocities at once:
a function that has another sign behind it than before has changed its sign there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from catena.simulation.contacts.joining import cut
from catena.simulation.events import Event, crossings, locate
from catena.simulation.trajectory import Found, Trajectory


def met(run: Trajectory, events: Sequence[Event]) -> Trajectory:
    """Return a run of careful steps with the events it meets, up to the first that ends it. Times of events count from
    its start."""
    if not events:
        return run
    start, t, q, v = float(run.t[0]), run.t - run.t[0], run.q, run.v

    def state_at(k: int, time: float) -> tuple[np.ndarray, np.ndarray]:
        part = (time - t[k]) / (t[k + 1] - t[k])
        way = run.system.difference(q[k], q[k + 1])
        return run.system.integrate(q[k], part * way), (1.0 - part) * v[k] + part * v[k + 1]

    happened = [
        (locate(event, float(t[k]), float(t[k + 1]), partial(state_at, k)), k, event)
        for event in events
        for k in crossings(event, t, q, v)
    ]
    found: list[Found] = []
    for time, k, event in sorted(happened, key=lambda each: each[0]):
        found.append(Found(event.label, start + time, *state_at(k, time)))
        if event.terminal:
            return _ended(run, found)
    return replace(run, events=tuple(found))


def _ended(run: Trajectory, found: Sequence[Found]) -> Trajectory:
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
    q, v = (np.stack(pair) for pair in zip(before, after, strict=True))
    return [k for k, event in enumerate(events) if crossings(event, np.array([t, t]), q, v)]
