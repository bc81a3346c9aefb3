"""Where the function of an event changes its sign between the nodes of a motion, however far apart these are.

A step is as long as the motion allows, and an event may happen many times on the way. So every interval is looked at in
a few places, in more where joints turn far, and in still more wherever parabolas through neighbouring values leave room
for a zero: where two of them differ by as much as the function is away from zero it is not resolved yet, and where
their lowest place is beyond zero there may be two zeros close together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from catena.simulation.guards.events import Event, crossings
from catena.structure import Plan

# An interval is looked at in this many parts at least, and once for every so far [rad] that a joint turns. What slides
# has no such measure: places are added there where values ask for them.
PARTS, FAR = 4, 0.5
# How far places are moved to and fro, as a part of their distance, so that nothing periodic is met at its zeros only.
UNEVEN = 0.1
# How often looking closer is tried, and at how many places one function is looked at in all.
ROUNDS, MOST = 14, 200_000
# Parabolas are trusted to so many times their difference. Where that is more than this part of the whole range of a
# function, its values say nothing of what lies between them, nor do those beside.
TRUST, ROUGH = 2.0, 0.1
# A function is zero at the start of a motion below this part of what it is within the first interval: an event that was
# located there is known to the rounding of its time.
AT_START = 1e-9

StatesAt = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gives q (times, nq) and v (times, nv) at times (times,) between nodes."""


class SignChange(NamedTuple):
    """Two times [s] between which a function changes its sign, and the interval between two nodes that they are in."""

    first: float
    last: float
    interval: int


def places(plan: Plan, t: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the times (places,) at which to look between nodes at times t (nodes,) with velocities v (nodes, nv):
    the nodes themselves, and more where joints turn far."""
    h = np.diff(t)
    speed = np.max(np.abs(v) * _turning(plan), axis=-1, initial=0.0)
    wanted = np.ceil(np.maximum(speed[:-1], speed[1:]) * h / FAR)
    room = max(PARTS, MOST // max(1, len(h)))
    parts = np.where(h > 0.0, np.clip(wanted, PARTS, room), 1.0).astype(int)
    interval = np.repeat(np.arange(len(h)), parts)
    number = np.arange(len(interval)) - np.repeat(np.cumsum(parts) - parts, parts)
    # The nodes stay where they are; others are moved by a sequence that never repeats.
    moved = np.where(number > 0, UNEVEN * (2.0 * np.modf(0.6180339887498949 * number)[0] - 1.0), 0.0)
    return np.append(t[interval] + h[interval] * (number + moved) / parts[interval], t[-1])


@lru_cache(maxsize=64)
def _turning(plan: Plan) -> np.ndarray:
    """Return by how many radians a unit of each velocity component turns a body, (nv,)."""
    found = np.zeros(plan.nv)
    for i in range(1, plan.n):
        kind = plan.kind[i]
        assert kind is not None
        own = slice(plan.v_start[i], plan.v_start[i] + plan.v_size[i])
        S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=np.float64)
        found[own] = np.maximum(found[own], np.linalg.norm(S[:3], axis=0))
    return found


def sign_changes(
    event: Event, nodes: np.ndarray, looks: np.ndarray, states_at: StatesAt, begins: bool = False
) -> list[SignChange]:
    """Return where an event happens between `nodes` (nodes,), which is looked for at the times `looks` (places,) and
    between them. A zero at the end of an interval belongs to it, one at the start does not; where the motion `begins`
    at the first node, that holds up to rounding."""

    def values_at(times: np.ndarray) -> np.ndarray:
        q, v = states_at(times)
        return np.array([event.value(float(t), q[k], v[k]) for k, t in enumerate(times)])

    t, values = looks, values_at(looks)
    # What changes the structure in a direction has been asked already whether it does so at once.
    if begins and (event.then is None or not event.direction):
        size = np.max(np.abs(values[t <= nodes[min(1, len(nodes) - 1)]]))
        values[0] = 0.0 if abs(values[0]) <= AT_START * size else values[0]
    for _ in range(ROUNDS):
        closer = _unresolved(t, values)
        if not len(closer) or len(t) + len(closer) > MOST:
            break
        order = np.argsort(np.concatenate([t, closer]), kind="stable")
        t, values = (np.concatenate(pair)[order] for pair in ((t, closer), (values, values_at(closer))))
    inside = np.clip(np.searchsorted(nodes, t, side="right") - 1, 0, len(nodes) - 2)
    return [SignChange(float(t[k]), float(t[k + 1]), int(inside[k])) for k in crossings(event, values)]


def _unresolved(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return times between t (n,) at which a function with these values (n,) must be looked at, because it may have
    zeros there that its signs do not show."""
    n = len(t)
    if n < 4:
        return np.zeros(0)
    gap = np.diff(t)
    # Divided differences: the slope in every gap, and the curvature around every place but the ends.
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.diff(values) / gap
        bend = np.diff(slope) / (t[2:] - t[:-2])
    slope, bend = np.nan_to_num(slope), np.nan_to_num(bend, posinf=0.0, neginf=0.0)
    # The parabolas over a gap through the place before it and through the place behind it.
    left, right = np.concatenate([bend[:1], bend]), np.concatenate([bend, bend[-1:]])
    left[0] = right[0]
    apart = 0.25 * TRUST * gap**2 * np.abs(left - right)
    # At the ends of the motion there is one parabola only; it is as good as that of the next gap.
    apart[0], apart[-1] = max(apart[0], apart[1]), max(apart[-1], apart[-2])
    before, after = values[:-1], values[1:]
    side = np.sign(np.where(before != 0.0, before, after))
    same = side * after >= 0.0
    lowest, where = np.minimum(np.abs(before), np.abs(after)), np.full(n - 1, 0.5)
    for curved in (left, right):
        with np.errstate(divide="ignore", invalid="ignore"):
            s = 0.5 - 0.5 * slope / (curved * gap)
        dips = (side * curved > 0.0) & (s > 0.0) & (s < 1.0)
        s = np.where(dips, s, 0.5)
        value = side * (before + s * gap * (slope - curved * gap * (1.0 - s)))
        deeper = dips & (value < lowest)
        lowest, where = np.where(deeper, value, lowest), np.where(deeper, s, where)
    hidden = same & (lowest <= apart) & (apart > 0.0) | same & (lowest < 0.0)
    # A zero that both ends show may be three.
    wavy = ~same & (apart > np.maximum(np.abs(before), np.abs(after)))
    rough = apart > ROUGH * np.ptp(values)
    rough[1:] |= rough[:-1].copy()
    rough[:-1] |= rough[1:].copy()
    wanted = (hidden | wavy | rough) & (gap > 1e-12 * max(abs(t[-1]), t[-1] - t[0]))
    return (t[:-1] + gap * np.clip(where, 0.1, 0.9))[wanted]
