"""Constraints that are redundant up to the accuracy of the model: which loops hold what, decided once for a mechanism.

A planar four-bar in space, or Bennett's linkage, moves only because constraints repeat each other exactly. A pin that
is off by 1e-8 rad, as in any model file of rounded numbers, makes an independent constraint of what should be a
repetition, and by the letter the mechanism is rigid. Nobody means that. So a constraint that opens its loop by no more
than `accuracy` rad, or characteristic lengths, for a motion of one radian or length counts as redundant. So do
repetitions that contradict each other by no more than that, a pin off along its axis: a loop then stays open by as much
wherever the mechanism goes.

At a single configuration that cannot be told from being next to a singular one, where a constraint that counts is weak
as well. It is therefore judged along the motion: closed configurations are visited one after the other, with weak
directions left as they are, and the k-th singular value of the mechanism is the largest k-th one met on the way.

On the way a mechanism may come near a singular configuration, as a parallelogram with one crank more than it needs does
near its dead points. There the least singular value c of the constraints that count goes to zero, and whatever errors
the dimensions have is seen enlarged: the gap of loops that contradict each other grows as 1 / c^2, and the singular
value of what is redundant but for them, the slope of that gap, as 1 / c^3. Both are judged as they would be where c is
largest.

Where there are such constraints, they are left out for good, together with all that are redundant: each loop joint
keeps a fixed part of its constraint space (`Reduced`), so many directions in all as count. Positions, velocities and
accelerations, every formulation and every compiled step then see the same regular loops. Directions are chosen so that
what is kept determines the motion well wherever the mechanism was seen, and in the frame of that side of the joint, its
parent's or its child's, in which they turn least. What is left out stays closed to about the accuracy that the
dimensions have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from catena.kernels.evaluation import Evaluator
from catena.kinematics.coordinates import difference, integrate
from catena.kinematics.loops.assembly import close
from catena.kinematics.loops.kept_constraints import KeptConstraints, keep
from catena.kinematics.loops.scales import rounding_left, scales_of
from catena.structure import Plan

# How far a loop may open [rad or lengths] for a motion of one radian or length, and its constraint still count as
# redundant. An angle of a model file with seven digits is off by less; a microradian is seen.
ACCURACY = 2.5e-7
# Smaller singular values come from rounding: no formulation tells them from zero.
EXACT = 1e-12
# Directions of smaller singular values are left alone when loops are closed on the way.
WEAK = 1e-5
# Loops are closed on the way up to this, and may be open in weak directions by so many times the accuracy.
CLOSED, OPEN_FACTOR = 1e-13, 10.0
# The way: its steps [rad or lengths], how many of them each way, how many directions are tried, and how often Newton's
# method is repeated.
STEP, STEPS, DIRECTIONS, ITERATIONS = 0.4, 20, 6, 20


@dataclass(frozen=True, eq=False)
class NearRedundancy:
    """What was found: a plan whose loops keep only what counts, and how well that determines the motion; the number of
    constraints that count in all (`rank`), how many are redundant only up to the accuracy, and by how much those open
    their loops at most (`opening`, in rad or lengths per rad or length); and by how much loops stay open where all that
    counts is closed (`apart`, in rad or lengths), 0 where that is rounding."""

    kept: KeptConstraints
    rank: int
    count: int
    opening: float
    apart: float


Measure = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""The errors (m,) of all constraints at q (nq,), and their Jacobian (m, nv)."""


@dataclass(frozen=True, eq=False)
class _Place:
    """A closed configuration: the singular values s (min(m, nv),) of the scaled constraints there, largest first, the
    directions Vt (nv, nv) that belong to them, and by how much loops are open beyond rounding."""

    q: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    apart: float

    @property
    def strong(self) -> int:
        """How many constraints count clearly."""
        return int(np.sum(self.s > WEAK))

    @property
    def least(self) -> float:
        """The least singular value of those that count clearly, 1 where there is none."""
        return float(self.s[self.strong - 1]) if self.strong else 1.0

    @property
    def free(self) -> np.ndarray:
        """The directions (k, nv) that constraints hardly see."""
        return self.Vt[self.strong :]


def looks_redundant(plan: Plan, measure: Measure, q: np.ndarray, accuracy: float) -> bool:
    """Return whether loops are closed at q (nq,) and have constraints there that may be redundant up to the accuracy,
    unless a singular configuration is near."""
    scales = scales_of(plan)
    e, J = measure(q)
    e, J = scales.errors(e), scales.jacobian(J)
    if not np.abs(e).max(initial=0.0) <= OPEN_FACTOR * accuracy:
        return False
    U, s, _ = np.linalg.svd(J, full_matrices=False)
    U = U[:, s > WEAK]
    return bool(_nearly(s, OPEN_FACTOR * accuracy)) or _apart(plan, q, e - U @ (U.T @ e)) > 0.0


def near_redundancy(
    evaluator: Evaluator, measure: Measure, start: np.ndarray, accuracy: float
) -> NearRedundancy | None:
    """Look for constraints that are redundant up to the accuracy of the model, on the way from `start` (nq,).

    None if there are none, or if the loops cannot be closed near the start.
    """
    scout = _Scout(evaluator, measure, accuracy)
    begin = scout.begin(start)
    if begin is None:
        return None
    ways = scout.ways(begin)
    beside = next((place for way in ways if (place := scout.step(begin, way)) is not None), None)
    # A mechanism that does not get anywhere is held by what is weak here: that counts.
    if beside is None and len(begin.free):
        return None
    near = [begin] if beside is None else [begin, beside]
    if not _nearly(_largest(near), accuracy) and not any(place.apart for place in near):
        return None
    places = [begin, *(place for way in ways for place in scout.walk(begin, way))]
    places = _as_if_regular(places)
    largest = _largest(places)
    nearly, rank = _nearly(largest, accuracy), int(np.sum(largest > accuracy))
    # Next to a singular configuration nothing can be learnt about what is redundant.
    regular = [p for p in places if not rank or p.s[rank - 1] > WEAK] or [begin]
    apart = max(place.apart for place in regular)
    if not nearly and not 0.0 < apart <= accuracy:
        return None
    kept = keep(evaluator, np.array([p.q for p in regular]), rank)
    return NearRedundancy(kept, rank, len(nearly), max(nearly, default=0.0), apart)


def _as_if_regular(places: Sequence[_Place]) -> list[_Place]:
    """Return the places with weak singular values and gaps as they would be where the others are furthest from zero."""
    most: dict[int, float] = {}
    for place in places:
        most[place.strong] = max(most.get(place.strong, 0.0), place.least)
    found = []
    for place in places:
        part = place.least / most[place.strong]
        weak = np.arange(len(place.s)) >= place.strong
        found.append(replace(place, s=np.where(weak, part**3, 1.0) * place.s, apart=part**2 * place.apart))
    return found


def _largest(places: Sequence[_Place]) -> np.ndarray:
    return np.max([place.s for place in places], axis=0)


def _nearly(largest: np.ndarray, accuracy: float) -> list[float]:
    return [float(s) for s in largest if EXACT < s <= accuracy]


def _apart(plan: Plan, q: np.ndarray, e: np.ndarray) -> float:
    """By how much loops are open with errors e (m,) at q (nq,), 0 where that is rounding."""
    apart = float(np.abs(e).max(initial=0.0))
    return apart if apart > rounding_left(plan, q) else 0.0


class _Scout:
    """Walks through closed configurations of a mechanism whose loops may close only up to the accuracy."""

    def __init__(self, evaluator: Evaluator, measure: Measure, accuracy: float) -> None:
        self.evaluator, self.measure, self.accuracy = evaluator, measure, accuracy
        self.scales = scales_of(evaluator.plan)

    def begin(self, start: np.ndarray) -> _Place | None:
        """Return the closed configuration near the start."""
        e = self.scales.errors(self.measure(start)[0])
        near = start if np.abs(e).max(initial=0.0) <= self.accuracy else close(self.evaluator, start)[0]
        return self._closed(near)

    def ways(self, place: _Place) -> list[np.ndarray]:
        """Directions (nv,) in which the mechanism may move from a place, always the same ones, each both ways."""
        free = place.free
        if not len(free):
            return []
        mixed = np.random.default_rng(0).normal(size=(DIRECTIONS // 2, len(free)))
        ways = [z @ free / np.linalg.norm(z) for z in (mixed if len(free) > 1 else np.eye(1))]
        return [sign * way for way in ways for sign in (1.0, -1.0)]

    def step(self, place: _Place, way: np.ndarray) -> _Place | None:
        """Return the closed configuration a step along a direction (nv,), None if the mechanism does not go there."""
        found = self._closed(self._moved(place.q, STEP * way))
        if found is None:
            return None
        gone = self.evaluator.evaluate(difference, {"q": place.q, "q_next": found.q})["step"]
        return found if float(np.linalg.norm(gone / self.scales.units)) > 0.3 * STEP else None

    def walk(self, place: _Place, way: np.ndarray) -> list[_Place]:
        """Return the places that are met going on and on in a direction."""
        met: list[_Place] = []
        while len(met) < STEPS:
            found = self.step(place, way)
            if found is None:
                break
            met.append(found)
            ahead = found.free.T @ (found.free @ way)
            size = float(np.linalg.norm(ahead))
            if size < 0.1:
                break
            place, way = found, ahead / size
        return met

    def _closed(self, q: np.ndarray) -> _Place | None:
        """Newton's method from q, with weak directions left as they are."""
        left = np.inf
        for _ in range(ITERATIONS):
            e, J = self.measure(q)
            e, J = self.scales.errors(e), self.scales.jacobian(J)
            U, s, Vt = np.linalg.svd(J, full_matrices=J.shape[0] < J.shape[1])
            k = int(np.sum(s > WEAK))
            along = U[:, :k].T @ e
            now = float(np.abs(along).max(initial=0.0))
            if now <= CLOSED or now > 0.5 * left:
                break
            left = now
            y = Vt[:k].T @ (-along / s[:k])
            q = self._moved(q, y * min(1.0, 0.5 / (float(np.abs(y).max(initial=0.0)) or 1.0)))
        closed = now <= 10.0 * CLOSED and float(np.abs(e).max(initial=0.0)) <= OPEN_FACTOR * self.accuracy
        return _Place(q, s, Vt, _apart(self.evaluator.plan, q, e)) if closed else None

    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return self.evaluator.evaluate(integrate, {"q": q, "qd": step * self.scales.units})["q_next"]
