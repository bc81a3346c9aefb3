"""Where something happens along what a motion has passed: the one place where events, and changes of contacts, are
located.

Whoever moves a state tells where it has been, roughly between its nodes and exactly behind each of them. Signs of
events are looked for in the rough motion (`sign_changes`), times are found in the exact one. Contacts have margins,
many at a time, which must all stay above zero: the first of them that does not ends their motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from catena.simulation.guards.events import Event
from catena.simulation.guards.sign_changes import StatesAt, places, sign_changes
from catena.structure import Plan

# Events are located to this part of the interval that they are in, or to the rounding of the time.
EXACT = 1e-13
# How often it is tried to find where margins fall: at most, as secants have it, and then how near to the ends of what
# is left.
TRIALS, SECANTS, CLIP = 60, 8, 1e-3


class MovingState(Protocol):
    """Positions q (nq,) and velocities v (nv,), and what else the one who moves them knows."""

    @property
    def q(self) -> np.ndarray: ...

    @property
    def v(self) -> np.ndarray: ...


S = TypeVar("S", bound=MovingState)


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


class Margins(NamedTuple):
    """What must stay above zero, and how far below it each of them is still at zero."""

    values: list[float]
    none: list[float]

    @property
    def are_above(self) -> bool:
        """Return whether none is below zero."""
        return min(self.values, default=0.0) >= 0.0

    def straight(self, low: list[float], high: list[float]) -> float:
        """Return the part of an interval at which the first margin is below zero by next to nothing, if all go straight
        from some values to others."""
        parts = (
            (x + 0.5 * none) / (x - y) for x, y, none in zip(low, high, self.none, strict=True) if y < 0.0
        )
        return min([1.0, *parts])


class Fallen(NamedTuple, Generic[S]):
    """A state so many seconds behind another one, at which margins are below zero."""

    after: float
    state: S
    seen: Margins


def first_fall(
    low: list[float], last: Fallen[S], at: Callable[[float], S | None], margins: Callable[[S], Margins],
    part: float, now: float,
) -> S:  # fmt: skip
    """Return the state at which the first of several margins is below zero by next to nothing. They are above at a
    time `now`, with values `low`, and some are below at the `last` state. `at` gives the state so many seconds behind
    now, None where it cannot; `part` of the way to the last one it is expected.

    Regula falsi after Illinois for all margins at once: an end that stays where it is counts half."""
    begin, (end, found, seen), side = 0.0, last, 0
    high = seen.values
    for trial in range(TRIALS):
        there = all(x >= -none for x, none in zip(high, seen.none, strict=True))
        if there or end - begin <= 1e-15 * max(1.0, abs(now + end)):
            break
        clip = CLIP if trial > SECANTS else 0.0
        after = begin + min(max(part, clip), 1.0 - clip) * (end - begin)
        state = at(after) if begin < after < end else None
        if state is None:
            # Too short a step, or one that is not good enough: from the other side.
            part = 0.5 * (1.0 + part)
            if part > 1.0 - CLIP:
                break
            continue
        new = margins(state)
        if new.are_above:
            begin, low = after, new.values
            high, side = ([0.5 * x for x in high] if side < 0 else high), -1
        else:
            end, found, seen, high = after, state, new, new.values
            low, side = ([0.5 * x for x in low] if side > 0 else low), 1
        part = new.straight(low, high)
    return found
