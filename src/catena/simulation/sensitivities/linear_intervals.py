"""What intervals of time do to the solutions of linear equations x' = A(t) x + B(t) u with constant u.

Over an interval the method of Gauss with two stages and order four is taken once, and in two halves. Where the two
differ the interval is halved, so that A and B may jump or change quickly anywhere, as they do where a joint touches its
stop. The stages lie within an interval, and never at its ends: what happens between an end and the stage next to it is
seen by A and B at the end, which must be where the stages lead.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Intervals are halved where their transitions are not known to this part of themselves, and what u does not to this
# part of what it does in all; down to this part of the whole time. What one entry of u does is not looked at below this
# part of what others do, where it may be rounding.
EXACT, SHORTEST, SLIGHT = 1e-9, 1e-14, 1e-6
# So many times the intervals at first may be looked at at once.
MOST = 16
# The two points of Gauss on [0, 1], and the weights of the stages there.
_AWAY = np.sqrt(3.0) / 6.0
_POINTS = (0.5 - _AWAY, 0.5 + _AWAY)
_WEIGHTS = ((0.25, 0.25 - _AWAY), (0.25 + _AWAY, 0.25))
# Where the stages of both halves of an interval are, and how a cubic through values there goes on to its two ends.
_FOUR = np.array([0.5 * (half + point) for half in (0, 1) for point in _POINTS])
_LEAD = np.linalg.solve(np.vander(_FOUR, increasing=True).T, np.vander([0.0, 1.0], 4, increasing=True).T).T

Rates = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gives A (n, m, m) and B (n, m, k) at times (n,)."""


def transitions(rates: Rates, nodes: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return F (n, m, m) and G (n, m, k) with which x becomes F x + G u over the n intervals between times `wanted`
    (n + 1,), which are among the `nodes` that no interval passes at first."""
    starts, ends = nodes[:-1], nodes[1:]
    once, _ = _gauss(rates, starts, ends)
    m, most = once.shape[1], MOST * max(len(starts), MOST)
    effect = np.sum(np.abs(once[..., m:]), axis=0).max(axis=0, initial=0.0)
    effect = np.maximum(effect, max(SLIGHT * float(np.max(effect, initial=0.0)), 1e-300))
    done: list[tuple[float, np.ndarray]] = []
    while n := len(starts):
        middle = 0.5 * (starts + ends)
        halves, inside = _gauss(rates, np.concatenate([starts, middle]), np.concatenate([middle, ends]))
        first, second = halves[:n], halves[n:]
        twice = _after(second, first)
        missed = np.abs(twice - once) + _beyond(rates, starts, ends, inside)
        far = np.max(missed[..., :m], axis=(1, 2)) > EXACT * np.max(np.abs(twice[..., :m]), axis=(1, 2))
        far |= np.any(np.max(missed[..., m:], axis=1) > EXACT * effect, axis=1)
        far &= (ends - starts > SHORTEST * (nodes[-1] - nodes[0])) & (np.sum(far) <= most)
        done += zip(starts[~far].tolist(), (twice + (twice - once) / 15.0)[~far], strict=True)
        starts, ends = np.concatenate([starts[far], middle[far]]), np.concatenate([middle[far], ends[far]])
        once = np.concatenate([first[far], second[far]])
    done.sort(key=lambda part: part[0])
    whole = np.zeros((len(wanted) - 1, *once.shape[1:]))
    whole[:, :, :m] = np.eye(m)
    owner = np.searchsorted(wanted, [start for start, _ in done], side="right") - 1
    for k, (_, part) in zip(owner.tolist(), done, strict=True):
        whole[k] = _after(part, whole[k])
    return whole[..., :m], whole[..., m:]


def _after(second: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return what two intervals [F G] (..., m, m + k) do one after the other."""
    m = first.shape[-2]
    found = second[..., :m] @ first
    found[..., m:] += second[..., m:]
    return found


def _gauss(rates: Rates, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return [F G] (n, m, m + k) of one step over each interval, and [A B] (2, n, m, m + k) at its two stages."""
    h = (ends - starts)[:, None, None]
    both = _rates(rates, *(starts + point * (ends - starts) for point in _POINTS))
    n, m = both.shape[1:3]
    unit = np.eye(m, both.shape[3])
    matrix = np.zeros((n, 2 * m, 2 * m))
    for i in range(2):
        for j in range(2):
            block = (np.eye(m) if i == j else 0.0) - h * _WEIGHTS[i][j] * both[i, ..., :m]
            matrix[:, i * m : (i + 1) * m, j * m : (j + 1) * m] = block
    slopes = np.linalg.solve(matrix, np.concatenate([both[0], both[1]], axis=1))
    return unit + 0.5 * h * (slopes[:, :m] + slopes[:, m:]), both


def _beyond(rates: Rates, starts: np.ndarray, ends: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return what [F G] (n, m, m + k) miss at most beyond the outermost stages of both halves of intervals, from [A B]
    (2, 2 n, m, m + k) at these stages and those at the ends."""
    n, h = len(starts), (ends - starts)[:, None, None]
    four = np.stack([inside[0, :n], inside[1, :n], inside[0, n:], inside[1, n:]])
    apart = np.abs(_rates(rates, starts, ends) - np.tensordot(_LEAD, four, axes=1))
    return _FOUR[0] * h * np.max(apart, axis=0)


def _rates(rates: Rates, *times: np.ndarray) -> np.ndarray:
    """Return [A B] (rows, n, m, m + k) at several rows of times (n,)."""
    A, B = rates(np.concatenate(times))
    return np.concatenate([A, B], axis=-1).reshape(len(times), len(times[0]), A.shape[1], -1)
