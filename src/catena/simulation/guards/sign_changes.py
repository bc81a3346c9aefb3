"""Where the function of an event changes its sign between the nodes of motions, however far apart these are.

A step is as long as the motion allows, and an event may happen many times on the way. So every interval is looked at in
a few places, in more where joints turn far, and in still more wherever parabolas through neighbouring values leave room
for a zero: where two of them differ by as much as the function is away from zero it is not resolved yet, and where
their lowest place is beyond zero there may be two zeros close together.

Most steps of a long motion are short and far from any event. They are seen to be so from the values at nodes, window by
window: where these stay away from zero by far more than their second differences, which bound what lies between. What
is narrower than a step leaves a trace at the nodes beside it, which do not go on as their neighbours do; such windows
are looked at, and one place between two nodes of each other one. All states of a batch are looked at together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np

from catena.simulation.guards.event_values import EventValues
from catena.simulation.guards.events import crossings
from catena.simulation.turns import TurnsBehind
from catena.structure import Plan

# An interval is looked at in this many parts at least, and once for every so far [rad] that a joint turns. What slides
# has no such measure: places are added there where values ask for them.
PARTS, FAR = 4, 0.5
# How far places are moved to and fro, as a part of their distance, so that nothing periodic is met at its zeros only.
UNEVEN = 0.1
GOLDEN = 0.6180339887498949
# How often looking closer is tried, at how many places one function is looked at in one motion, and in all of them
# together.
ROUNDS, MOST, MOST_TOGETHER = 14, 200_000, 2_000_000
# Parabolas are trusted to so many times their difference. Where that is more than this part of the whole range of a
# function, its values say nothing of what lies between them, nor do those beside.
TRUST, ROUGH = 2.0, 0.1
# A function is zero at the start of a motion below this part of what it is within the first interval: an event that was
# located there is known to the rounding of its time.
AT_START = 1e-9
# Intervals of a window, the fewest of them that say something about each other, how many second differences a function
# must be away from zero, and how far it may be off at the place that is looked at, as a part of its distance from zero.
WINDOW, FEWEST, SURE, OFF = 32, 5, 2.0, 1e-3
# Something narrow is hidden where nodes are off the cubics through their four neighbours by more than so many times
# what is usual in a window, and by more than this part of the distance from zero.
UNUSUAL, TRACE = 30.0, 1e-6

StatesBehind = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gives q (n, nq) and v (n, nv) at times (n,) behind nodes (n,), up to the next node of the same state."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of motions in order of states and times: the `states` (n,) of a batch that pass them, and times t (n,).
    `everywhere` gives the values (n,) of a function of states, times, q and v at all of them, `roughly` states between
    them; `turns` what is known of whole turns of loop joints behind nodes (n,)."""

    states: np.ndarray
    t: np.ndarray
    everywhere: Callable[[Callable[..., np.ndarray]], np.ndarray]
    roughly: StatesBehind
    turns: Callable[[np.ndarray], TurnsBehind] | None = None

    @staticmethod
    def of_one(t: np.ndarray, q: np.ndarray, v: np.ndarray, roughly: StatesBehind) -> Nodes:
        """Return the nodes of one motion at times t (n,) with q (n, nq), v (n, nv)."""
        states = np.zeros(len(t), dtype=int)
        return Nodes(states, t, lambda function: function(states, t, q, v), roughly)

    @property
    def goes_on(self) -> np.ndarray:
        """Return which nodes (n,) have another one of their state behind them."""
        return np.append(self.states[1:] == self.states[:-1], False)

    def values_at_all(self, event: EventValues) -> np.ndarray:
        """Return the values (n,) of an event's function at all nodes."""
        if self.turns is None:
            return self.everywhere(lambda states, t, q, v: event.at(t, q, v, states))
        starts = np.flatnonzero(self.goes_on)
        begins, ends = (
            self.values(event, starts, self.t[starts]),
            self.values(event, starts, self.t[starts + 1]),
        )
        found = np.zeros(len(self.t))
        found[starts + 1], found[starts] = ends, begins
        return found

    def values(self, event: EventValues, node: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the values (n,) of an event's function at times (n,) behind nodes (n,), roughly."""
        q, v = self.roughly(node, times)
        return self.values_at(event, node, times, q, v)

    def values_at(
        self, event: EventValues, node: np.ndarray, times: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Return the values (n,) of an event's function at states q (n, nq), v (n, nv) behind nodes (n,)."""
        known = self.turns
        turns = None if known is None else (lambda rows: known(node[rows]))
        return event.at(times, q, v, self.states[node], turns)


class SignChanges(NamedTuple):
    """Times `first` and `last` (n,) [s] between which a function changes its sign, and the nodes (n,) behind which they
    are."""

    first: np.ndarray
    last: np.ndarray
    node: np.ndarray


def sign_changes(event: EventValues, plan: Plan, nodes: Nodes, begin: float | None) -> SignChanges:
    """Return where an event happens between nodes. A zero at the end of an interval belongs to it, one at the start
    does not; where a motion begins, at the time `begin` [s], that holds up to rounding."""
    starts = np.flatnonzero(nodes.goes_on)
    if not len(starts):
        return SignChanges(np.zeros(0), np.zeros(0), starts)
    parts, is_short = _parts(plan, nodes, starts)
    if len(starts) < FEWEST:
        windows, ranges = _windows(nodes, starts), None
    else:
        windows, ranges = _doubtful(event, nodes, starts, is_short)
    if not len(windows):
        return SignChanges(np.zeros(0), np.zeros(0), windows)
    return _resolved(event, nodes, starts, parts, windows, ranges, begin)


def _parts(plan: Plan, nodes: Nodes, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return in how many parts intervals (n,) behind nodes `starts` (n,) are looked at, if they are looked at, and in
    which of them nothing turns far."""
    speeds = turning(plan)
    turns = np.flatnonzero(speeds)
    # One column after the other: there are few of them, and many nodes.
    speed = nodes.everywhere(
        lambda states, t, q, v: reduce(
            np.maximum, (np.abs(v[:, k]) * speeds[k] for k in turns), np.zeros(len(v))
        )
    )
    h = nodes.t[starts + 1] - nodes.t[starts]
    wanted = np.ceil(np.maximum(speed[starts], speed[starts + 1]) * h / FAR)
    owner = nodes.states[starts]
    many = np.bincount(np.cumsum(np.append(False, owner[1:] != owner[:-1])))
    room = np.repeat(np.maximum(PARTS, MOST // np.maximum(1, many)), many)
    return np.where(h > 0.0, np.clip(wanted, PARTS, room), 1.0).astype(int), wanted <= 1.0


@lru_cache(maxsize=64)
def turning(plan: Plan) -> np.ndarray:
    """Return by how many radians a unit of each velocity component turns a body, (nv,)."""
    found = np.zeros(plan.nv)
    for i in range(1, plan.n):
        kind = plan.kind[i]
        assert kind is not None
        own = slice(plan.v_start[i], plan.v_start[i] + plan.v_size[i])
        S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=np.float64)
        found[own] = np.maximum(found[own], np.linalg.norm(S[:3], axis=0))
    return found


def _windows(nodes: Nodes, starts: np.ndarray) -> np.ndarray:
    """Return which of the intervals (n,) behind nodes `starts` (n,) are the first of their windows."""
    number = np.arange(len(starts))
    owner = nodes.states[starts]
    first = np.append(True, owner[1:] != owner[:-1])
    own = number - np.maximum.accumulate(np.where(first, number, 0))
    return np.flatnonzero(own % WINDOW == 0)


def _doubtful(
    event: EventValues, nodes: Nodes, starts: np.ndarray, is_short: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the first intervals of the windows in which a function may be zero somewhere, and the ranges of its values
    at the nodes of their states, window by window."""
    values = nodes.values_at_all(event)
    before, after = values[starts], values[starts + 1]
    gap = nodes.t[starts + 1] - nodes.t[starts]
    slope = (after - before) / np.where(gap > 0.0, gap, np.inf)
    owner = nodes.states[starts]
    jump = np.where(owner[1:] == owner[:-1], np.abs(np.diff(slope)), 0.0)
    bend = gap * np.maximum(np.append(0.0, jump), np.append(jump, 0.0))
    near = np.where((before < 0.0) == (after < 0.0), np.minimum(np.abs(before), np.abs(after)), 0.0)
    windows = _windows(nodes, starts)
    lowest, bound = np.minimum.reduceat(near, windows), np.maximum.reduceat(bend, windows)
    many = np.diff(np.append(windows, len(starts)))
    clear = (lowest > SURE * bound) & (many >= FEWEST) & np.logical_and.reduceat(is_short, windows)
    clear &= ~_hides(nodes, values, starts[windows], lowest)
    if clear.any():
        # One place of each window that never is the same part of a step says whether nodes tell all.
        some = np.flatnonzero(clear)
        order = np.modf(GOLDEN * np.abs(nodes.t[starts[windows[some]]]) / gap[windows[some]])[0]
        at = windows[some] + (order * many[some]).astype(int)
        part = 0.2 + 0.6 * np.modf(7.0 * order)[0]
        there = nodes.values(event, starts[at], nodes.t[starts[at]] + part * gap[at])
        off = np.abs(there - before[at] - part * (after[at] - before[at]))
        clear[some] = off <= np.maximum(SURE * bound[some], OFF * lowest[some])
    left = windows[~clear]
    first = np.flatnonzero(np.append(True, nodes.states[1:] != nodes.states[:-1]))
    span = np.maximum.reduceat(values, first) - np.minimum.reduceat(values, first)
    state = np.searchsorted(first, starts[left], side="right") - 1
    return left, span[state]


def _hides(nodes: Nodes, values: np.ndarray, first: np.ndarray, lowest: np.ndarray) -> np.ndarray:
    """Return in which windows, which begin with the nodes `first` (w,), values at nodes (n,) are further off the cubics
    through their neighbours than usual, as beside something narrow that lies between them and may reach zero, from
    which these values stay away by `lowest` (w,)."""
    if len(nodes.t) < 5:
        return np.zeros(len(first), dtype=bool)
    t, difference = nodes.t, values
    with np.errstate(divide="ignore", invalid="ignore"):
        for order in range(1, 5):
            difference = np.diff(difference) / (t[order:] - t[:-order])
        away = [t[2:-2] - t[k : len(t) - 4 + k] for k in (0, 1, 3, 4)]
        off = np.abs(difference * away[0] * away[1] * away[2] * away[3])
    known, each = np.zeros(len(t), dtype=bool), np.zeros(len(t))
    known[2:-2] = nodes.states[4:] == nodes.states[:-4]
    each[2:-2] = np.nan_to_num(off, nan=1e300, posinf=1e300)
    each[~known] = 0.0
    worst = np.maximum.reduceat(each, first)
    hides = worst > TRACE * lowest
    if hides.any():
        # The usual one is the geometric mean, to which a few that are large add little.
        each, many = np.log(np.where(known, each, 1.0) + 1e-300), np.add.reduceat(known, first, dtype=int)
        hides &= worst > UNUSUAL * np.exp(np.add.reduceat(each, first) / np.maximum(1, many))
    return hides


def _resolved(
    event: EventValues, nodes: Nodes, starts: np.ndarray, parts: np.ndarray, windows: np.ndarray,
    ranges: np.ndarray | None, begin: float | None,
) -> SignChanges:  # fmt: skip
    """Return where an event happens in windows, which begin with these intervals (w,), looked at as closely as its
    values ask for. `ranges` (w,) are those of its values in whole motions, as far as these are known."""
    t, node, window = _places(nodes, starts, parts, windows)
    values = nodes.values(event, node, t)
    span = np.zeros(len(windows)) if ranges is None else ranges
    if begin is not None and (event.event.then is None or not event.event.direction):
        # What changes the structure in a direction has been asked already whether it does so at once.
        _begin_at_zero(nodes, t, node, values, begin)
    for _ in range(ROUNDS):
        closer = _unresolved(t, values, window, span)
        if not len(closer[0]) or (len(t) + len(closer[0]) > MOST and len(windows) == 1):
            break
        if len(t) + len(closer[0]) > MOST_TOGETHER and len(windows) > 1:
            half = len(windows) // 2
            halves = [
                _resolved(event, nodes, starts, parts, windows[k], span[k], begin)
                for k in (slice(half), slice(half, None))
            ]
            return SignChanges(*(np.concatenate(both) for both in zip(*halves, strict=True)))
        times, k = closer
        new = nodes.values(event, node[k], times)
        order = np.argsort(np.concatenate([np.arange(len(t)), k + 0.5]), kind="stable")
        t, values, node, window = (
            np.concatenate(pair)[order]
            for pair in ((t, times), (values, new), (node, node[k]), (window, window[k]))
        )
    inner = window[1:] == window[:-1]
    k = np.flatnonzero(inner & crossings(event.event, values[:-1], values[1:]))
    return SignChanges(t[k], t[k + 1], node[k])


def _places(
    nodes: Nodes, starts: np.ndarray, parts: np.ndarray, windows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the times (n,) at which to look in windows, the nodes (n,) behind which they are, and the numbers (n,) of
    their windows: the nodes themselves, and more where joints turn far."""
    firsts = _windows(nodes, starts)
    many = np.diff(np.append(firsts, len(starts)))[np.searchsorted(firsts, windows)]
    inside = np.repeat(np.arange(len(windows)), many)
    interval = np.arange(len(inside)) - np.repeat(np.cumsum(many) - many, many) + windows[inside]
    # The last node of a window is one more place of its last interval.
    ends = np.append(inside[1:] != inside[:-1], True)
    count = parts[interval] + ends
    look = np.repeat(np.arange(len(interval)), count)
    number = np.arange(len(look)) - np.repeat(np.cumsum(count) - count, count)
    own = parts[interval][look]
    # The nodes stay where they are; others are moved by a sequence that never repeats.
    moved = UNEVEN * (2.0 * np.modf(GOLDEN * number)[0] - 1.0)
    moved = np.where((number > 0) & (number < own), moved, 0.0)
    node = starts[interval[look]]
    begin, end = nodes.t[node], nodes.t[node + 1]
    times = np.where(number == own, end, begin + (end - begin) * (number + moved) / own)
    return times, node, inside[look]


def _begin_at_zero(nodes: Nodes, t: np.ndarray, node: np.ndarray, values: np.ndarray, begin: float) -> None:
    """Let values (n,) be zero, in place, where a motion begins and they are so up to what they are soon after."""
    first = np.flatnonzero(np.append(True, node[1:] != node[:-1]))
    begins = first[(t[first] == begin) & (nodes.t[node[first]] == begin)]
    size = np.maximum.reduceat(np.abs(values), first)[np.searchsorted(first, begins)]
    values[begins[np.abs(values[begins]) <= AT_START * size]] = 0.0


def _unresolved(
    t: np.ndarray, values: np.ndarray, window: np.ndarray, span: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return times at which a function with these values (n,) at t (n,) must be looked at, because it may have zeros
    there that its signs do not show, and the place before each of them. Places of one `window` (n,) belong together;
    its function is known to vary by `span` (windows,)."""
    inner = window[1:] == window[:-1]
    edges = np.flatnonzero(np.append(True, ~inner))
    inner &= np.diff(np.append(edges, len(t)))[window[1:]] >= 4
    if not inner.any():
        return np.zeros(0), np.zeros(0, dtype=int)
    gap = np.where(inner, np.diff(t), np.inf)
    # Divided differences: the slope in every gap, and the curvature around every place but the ends.
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.nan_to_num(np.diff(values) / gap, posinf=0.0, neginf=0.0)
        middle = inner[1:] & inner[:-1]
        bend = np.where(middle, np.diff(slope) / np.where(middle, t[2:] - t[:-2], 1.0), np.nan)
    bend = np.where(np.isinf(bend), 0.0, bend)
    # The parabolas over a gap through the place before it and through the place behind it, or the one there is.
    left, right = np.append(np.nan, bend), np.append(bend, np.nan)
    left, right = (np.where(np.isnan(a), b, a) for a, b in ((left, right), (right, left)))
    left, right = np.nan_to_num(left), np.nan_to_num(right)
    short = np.where(inner, gap, 0.0)
    apart = 0.25 * TRUST * short**2 * np.abs(left - right)
    # At the ends of the motion there is one parabola only; it is as good as that of the next gap.
    first, last = inner & np.append(True, ~inner[:-1]), inner & np.append(~inner[1:], True)
    beside = apart.copy()
    apart[first] = np.maximum(apart[first], np.append(beside[1:], 0.0)[first])
    apart[last] = np.maximum(apart[last], np.append(0.0, beside[:-1])[last])
    before, after = values[:-1], values[1:]
    side = np.sign(np.where(before != 0.0, before, after))
    same = side * after >= 0.0
    lowest, where = np.minimum(np.abs(before), np.abs(after)), np.full(len(gap), 0.5)
    for curved in (left, right):
        with np.errstate(divide="ignore", invalid="ignore"):
            s = 0.5 - 0.5 * slope / (curved * short)
        dips = (side * curved > 0.0) & (s > 0.0) & (s < 1.0)
        s = np.where(dips, s, 0.5)
        value = side * (before + s * short * (slope - curved * short * (1.0 - s)))
        deeper = dips & (value < lowest)
        lowest, where = np.where(deeper, value, lowest), np.where(deeper, s, where)
    hidden = same & (lowest <= apart) & (apart > 0.0) | same & (lowest < 0.0)
    # A zero that both ends show may be three.
    wavy = ~same & (apart > np.maximum(np.abs(before), np.abs(after)))
    seen = np.maximum.reduceat(values, edges) - np.minimum.reduceat(values, edges)
    rough = apart > ROUGH * np.maximum(span, seen)[window[:-1]]
    neighbours = rough.copy()
    neighbours[1:] |= rough[:-1] & inner[1:]
    neighbours[:-1] |= rough[1:] & inner[:-1]
    late = np.maximum.reduceat(np.abs(t), edges)[window[:-1]]
    wanted = (hidden | wavy | neighbours) & inner & (short > 1e-12 * late)
    k = np.flatnonzero(wanted)
    return t[k] + short[k] * np.clip(where[k], 0.1, 0.9), k
