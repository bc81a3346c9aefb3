"""Where something happens along what a motion has passed: the one place where events, and changes of contacts, are
located.

Whoever moves a state tells where it has been, roughly between its nodes and exactly behind each of them. Signs of
events are looked for in the rough motion (`sign_changes`), times are found in the exact one. Contacts have margins,
many at a time, which must all stay above zero: the first of them that does not ends their motion.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from catena.simulation.guards.event_values import EventValues
from catena.simulation.guards.events import Event, TimePassed
from catena.simulation.guards.roots import zeros
from catena.simulation.guards.sign_changes import Nodes, SignChanges, sign_changes
from catena.structure import Plan

# Events are located to this part of the interval that they are in, or to the rounding of the time.
EXACT = 1e-13
# How often it is tried to find where margins fall: at most, as secants have it, and then how near to the ends of what
# is left.
TRIALS, SECANTS, CLIP = 60, 8, 1e-3

S = TypeVar("S")
Y = TypeVar("Y")


class Exact(NamedTuple):
    """States q (n, nq), v (n, nv), and what else the one who moves them knows of each of them."""

    q: np.ndarray
    v: np.ndarray
    beside: Sequence[Any] | np.ndarray


@dataclass(frozen=True, eq=False)
class Passage:
    """What states have passed: `nodes`, and `exactly`, which gives the states at times (n,) behind nodes (n,)."""

    nodes: Nodes
    exactly: Callable[[np.ndarray, np.ndarray], Exact]


@dataclass(frozen=True, eq=False)
class Hit:
    """An event that happened: when, behind which node of a passage, and the state q (nq,), v (nv,) there, with what is
    known beside."""

    event: Event
    t: float
    node: int
    q: np.ndarray
    v: np.ndarray
    beside: Any


def hits(events: Sequence[EventValues], plan: Plan, passage: Passage, begin: float | None) -> list[Hit]:
    """Return what happens along a passage, state by state and in order of time, of each state up to the first terminal
    event. Motions begin at the time `begin` [s]; None for those that go on."""
    nodes = passage.nodes
    if not nodes.goes_on.any():
        return []
    which, times, behind = [], [], []
    comes = _times_that_come(events, nodes)
    for k, event in enumerate(events):
        if isinstance(event.event.function, TimePassed) and event.event.function.time not in comes:
            continue
        changes = sign_changes(event, plan, nodes, begin)
        if len(changes.node):
            which.append(np.full(len(changes.node), k))
            times.append(located(event, changes, passage))
            behind.append(changes.node)
    if not which:
        return []
    number, t, node = (np.concatenate(x) for x in (which, times, behind))
    order = np.lexsort((t, nodes.states[node]))
    number, t, node = number[order], t[order], node[order]
    # Of each state nothing counts behind the first event that ends it.
    terminal = np.array([one.event.terminal for one in events])[number]
    first = np.append(True, np.diff(nodes.states[node]) != 0)
    before = np.cumsum(terminal) - terminal
    kept = before == np.maximum.accumulate(np.where(first, before, -1))
    number, t, node = number[kept], t[kept], node[kept]
    state = passage.exactly(node, t)
    return [
        Hit(events[number[k]].event, float(t[k]), int(node[k]), state.q[k], state.v[k], state.beside[k])
        for k in range(len(t))
    ]


def _times_that_come(events: Sequence[EventValues], nodes: Nodes) -> set[float]:
    """Return the known times that come along a passage, none of them behind one that ends it."""
    first, last = float(nodes.t.min()), float(nodes.t.max())
    known = [(one.event.function, one.event.terminal) for one in events]
    timed = [(x.time, ends) for x, ends in known if isinstance(x, TimePassed) and x.comes(first, last)]
    end = min((time for time, ends in timed if ends), default=last)
    return {time for time, _ in timed if time <= end}


def located(event: EventValues, changes: SignChanges, passage: Passage) -> np.ndarray:
    """Return the times (n,) at which an event happens, between those that changes of its sign lie between."""

    def values(which: np.ndarray, t: np.ndarray) -> np.ndarray:
        node = changes.node[which]
        q, v, _ = passage.exactly(node, t)
        return passage.nodes.values_at(event, node, t, q, v)

    first, last, _ = changes
    everyone = np.arange(len(first))
    ends = values(np.tile(everyone, 2), np.concatenate([first, last]))
    at_first, at_last = ends[: len(first)], ends[len(first) :]
    found = last.copy()
    inside = np.flatnonzero((at_last != 0.0) & (at_first * at_last <= 0.0))
    found[inside] = zeros(
        lambda which, t: values(inside[which], t), first[inside], last[inside], at_first[inside], at_last[inside],
        EXACT * (last - first)[inside],
    )  # fmt: skip
    return found


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
    low: list[float], last: Fallen[S], at: Callable[[float], Generator[Y, Any, S | None]],
    margins: Callable[[S], Margins], part: float, now: float,
) -> Generator[Y, Any, Fallen[S]]:  # fmt: skip
    """Return the state at which the first of several margins is below zero by next to nothing. They are above at a
    time `now`, with values `low`, and some are below at the `last` state. `at` gives the state so many seconds behind
    now, None where it cannot, and may have to wait for it; `part` of the way to the last one it is expected.

    Regula falsi after Illinois for all margins at once: an end that stays where it is counts half."""
    begin, (end, found, seen), side = 0.0, last, 0
    high = seen.values
    for trial in range(TRIALS):
        there = all(x >= -none for x, none in zip(high, seen.none, strict=True))
        if there or end - begin <= 1e-15 * max(1.0, abs(now + end)):
            break
        clip = CLIP if trial > SECANTS else 0.0
        after = begin + min(max(part, clip), 1.0 - clip) * (end - begin)
        state = (yield from at(after)) if begin < after < end else None
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
    return Fallen(end, found, seen)
