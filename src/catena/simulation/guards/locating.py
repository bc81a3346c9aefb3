"""Where events happen along what a motion has passed: the one place where they are located.

Whoever moves a state tells where it has been, roughly between its nodes and exactly behind each of them. Signs are
looked for in the rough motion (`sign_changes`), times are found in the exact one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from catena.simulation.guards.events import Event
from catena.simulation.guards.sign_changes import StatesAt, places, sign_changes
from catena.structure import Plan

# Events are located to this part of the interval that they are in, or to the rounding of the time.
EXACT = 1e-13


class State(Protocol):
    """Positions q (nq,) and velocities v (nv,), and what else the one who moves them knows."""

    @property
    def q(self) -> np.ndarray: ...

    @property
    def v(self) -> np.ndarray: ...


S = TypeVar("S", bound=State)


@dataclass(frozen=True, eq=False)
class Passage(Generic[S]):
    """What one state has passed: nodes at times t (nodes,) with velocities v (nodes, nv). `roughly` gives states at
    many times between them, `exactly` the one behind the node with a number at a time up to the next."""

    t: np.ndarray
    v: np.ndarray
    roughly: StatesAt
    exactly: Callable[[int, float], S]


@dataclass(frozen=True, eq=False)
class Hit(Generic[S]):
    """An event that happened: when, behind which node of a passage, and the state there."""

    event: Event
    t: float
    node: int
    state: S


def hits(events: Sequence[Event], plan: Plan, passage: Passage[S], begins: bool) -> list[Hit[S]]:
    """Return what happens along a passage in order of time, up to the first terminal event; whether the motion `begins`
    with it."""
    looks = places(plan, passage.t, passage.v)
    happened = [
        (located(event, change.first, change.last, change.interval, passage), change.interval, event)
        for event in events
        for change in sign_changes(event, passage.t, looks, passage.roughly, begins)
    ]
    found = list[Hit[S]]()
    for t, node, event in sorted(happened, key=lambda each: each[0]):
        found.append(Hit(event, t, node, passage.exactly(node, t)))
        if event.terminal:
            break
    return found


def located(event: Event, first: float, last: float, node: int, passage: Passage[S]) -> float:
    """Return the time between `first` and `last`, behind a node, at which an event happens."""
    from scipy.optimize import brentq

    def value(t: float) -> float:
        state = passage.exactly(node, t)
        return event.value(t, state.q, state.v)

    at_first, at_last = value(first), value(last)
    if at_last == 0.0 or at_first * at_last > 0.0:
        return last
    return float(brentq(value, first, last, xtol=EXACT * (last - first), rtol=8.9e-16))
