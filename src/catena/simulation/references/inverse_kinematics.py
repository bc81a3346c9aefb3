"""States of a mechanism that does something given over time, with its loops closed.

A task says how far it is from done, e(t, q), and how fast it should go on: J v = V(t). Together with the closure of
the loops (Phi^T J_rel v = 0) these are the rows A of one system. Positions are found by damped least-squares steps

    q <- q (+) A^T (A A^T + lambda^2)^-1 e

velocities and accelerations by its pseudo-inverse. The path is followed from its beginning in steps of time, by
resolved rates (a Runge-Kutta step along v) with a Newton correction. The nodes are kept: at any time in between, the
cubic through the two nodes is corrected in the same way, so that the task and the loops hold to rounding there too.
What neither determines, such as the elbow of a redundant arm, moves as the smooth interpolation does.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from catena.descent import Descent, largest
from catena.dynamics.loops.closing.loop_closure import closure
from catena.errors import StateError
from catena.kernels.evaluation import Evaluator
from catena.kinematics import stacks
from catena.kinematics.extent import characteristic_length
from catena.kinematics.loops.closure import coordinate_rows, tree_motions
from catena.kinematics.loops.coupling_states import constraint_states
from catena.kinematics.loops.scales import row_sizes
from catena.simulation.references.protocol import ReferenceMotion
from catena.system import System
from catena.thresholds import RANK_MOVING

# Newton's method ends at errors of the first size [rad or characteristic lengths], and succeeded below the second.
DONE, REACHED = 1e-13, 1e-9
# Damping of the least-squares steps, as a part of the error, and how far they go at most [rad or lengths].
DAMPING, FAR = 1e-3, 0.5
# Rates missed by more than this part of what is at work in them are out of reach.
MISSED = 1e-6
# Loops that are open by e contradict each other by about e, so that neither rank nor reach show below that.
OPEN_FACTOR = 10.0
# Where a path begins far from the guess, descents from these distances [rad or lengths] are tried as well.
STARTS = (0.0, 0.2, 0.5, 1.0, 1.5, 2.0, 0.3, 0.8)


class KinematicTask(Protocol):
    """What should be done, for states q (N, nq) and the goals (N rows each) of as many times."""

    def goal(self, t: np.ndarray) -> ReferenceMotion:
        """Return what the path gives at times (N,)."""

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Return J (N, k, nv)."""

    def error(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        """Return e (N, k): what J v must bring about in unit time."""

    def rate(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        """Return the J v (N, k) wanted where the error is zero."""

    def acceleration(self, goal: ReferenceMotion, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the J vdot (N, k) wanted."""

    @property
    def units(self) -> np.ndarray:
        """Return what each row (k,) is divided by to be compared with angles: 1, or a length."""

    def complaint(self, t: float, error: np.ndarray) -> str:
        """Say what is out of reach at a time, with this error (k,) left."""


class _Node(NamedTuple):
    q: np.ndarray
    v: np.ndarray


class _Rates(NamedTuple):
    """Rates x (N, nv), what they miss (N,) of what they should do, and the size (N,) of what is at work in that."""

    x: np.ndarray
    left: np.ndarray
    at_work: np.ndarray


class InverseKinematics:
    """Follows a task from the time `begin` on, in steps of `step` seconds, from near the configuration `guess`."""

    def __init__(
        self, system: System, task: KinematicTask, guess: np.ndarray, begin: float, step: float
    ) -> None:
        self.system, self.task = system, task
        self.begin, self.step = begin, step
        self._evaluator = Evaluator(system.mechanism, system.mechanics.effective_plan)
        length = characteristic_length(system.plan)
        S = coordinate_rows(system.plan, tree_motions(self._evaluator, guess).S_rows)
        self._columns = 1.0 / row_sizes(S.T, 1.0 / length)
        # The size of each constraint of a loop, in angles; that of a joint does not depend on where it stands.
        states = constraint_states(self._evaluator, guess)
        self._sizes = np.concatenate([np.ones(0), *(row_sizes(state.Phi, length) for state in states)])
        self._nodes = [self._first(np.asarray(guess, dtype=np.float64))]

    def at(self, t: np.ndarray) -> ReferenceMotion:
        """Return (N, nq), (N, nv), (N, nv) at times (N,); before the beginning it stands there."""
        if not len(t):
            return ReferenceMotion(
                *(np.zeros((0, n)) for n in (self.system.nq, self.system.nv, self.system.nv))
            )
        when = np.maximum(t, self.begin)
        place = (when - self.begin) / self.step
        self._extend(int(np.ceil(place.max() - 1e-9)))
        i = np.minimum(np.floor(place).astype(int), max(len(self._nodes) - 2, 0))
        guess, v0, a0 = self._between(i, when - self.begin - i * self.step)
        goal = self.task.goal(when)
        q = self._solved(when, goal, guess)
        A, opened = self._rows(q), self._worst(goal, q)
        rates = self._resolved(A, opened, v0, self.task.rate(goal, q), 0.0)
        self._require_rates(when, rates, opened, DONE / self.step)
        v = rates.x
        rates = self._resolved(A, opened, a0, self.task.acceleration(goal, q, v), self._bias(q, v))
        # Accelerations are made of products of velocities, which are at work although they may cancel.
        products = np.sum((v / self._columns) ** 2, axis=-1)
        self._require_rates(when, rates, opened, DONE / self.step**2, products)
        a = rates.x
        before = (t < self.begin)[:, None]
        return ReferenceMotion(q, np.where(before, 0.0, v), np.where(before, 0.0, a))

    # Nodes, from which everything between them is interpolated.

    def _first(self, guess: np.ndarray) -> _Node:
        """Return the beginning, from the guess or from somewhere around it."""
        rng = np.random.default_rng(0)
        t, q, best = np.array([self.begin]), guess[None], np.inf
        goal = self.task.goal(t)
        for far in STARTS:
            start = self.system.integrate(guess, far * self._columns * rng.normal(size=self.system.nv))
            trial, (worst,) = self._descend(goal, start[None])
            if worst < best:
                q, best = trial, worst
            if best < REACHED:
                break
        self._require(t, goal, q)
        return self._node(t, goal, q)

    def _node(self, t: np.ndarray, goal: ReferenceMotion, q: np.ndarray) -> _Node:
        """Return a closed configuration q (1, nq) with its velocity, which must be within reach."""
        rates = self._velocity(goal, q)
        self._require_rates(t, rates, self._worst(goal, q), DONE / self.step)
        return _Node(q[0], rates.x[0])

    def _extend(self, count: int) -> None:
        """Compute nodes up to the number `count`."""
        first, h = len(self._nodes) - 1, self.step
        if count <= first:
            return
        halves = self.begin + 0.5 * h * np.arange(2 * first, 2 * count + 1)
        goals = self.task.goal(halves)
        move = self.system.integrate
        for k in range(count - first):
            end = halves[[2 * k + 2]]
            by, to = (ReferenceMotion(*(x[[2 * k + j]] for x in goals)) for j in (1, 2))
            q0, v1 = (x[None] for x in self._nodes[-1])
            # Stages only predict: loops are a little open there, so that rates may not fit together.
            v2 = self._velocity(by, move(q0, v1, 0.5 * h)).x
            v3 = self._velocity(by, move(q0, v2, 0.5 * h)).x
            v4 = self._velocity(to, move(q0, v3, h)).x
            q = self._solved(end, to, move(q0, (v1 + 2.0 * v2 + 2.0 * v3 + v4) / 6.0, h))
            self._nodes.append(self._node(end, to, q))

    def _between(self, i: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and acceleration on the cubic, s seconds (N,) after the nodes i (N,)."""
        first = np.stack([self._nodes[k].q for k in i]), np.stack([self._nodes[k].v for k in i])
        if len(self._nodes) == 1:
            return first[0], np.zeros_like(first[1]), np.zeros_like(first[1])
        second = np.stack([self._nodes[k + 1].q for k in i]), np.stack([self._nodes[k + 1].v for k in i])
        h, x = self.step, (s / self.step)[:, None]
        way = self.system.difference(first[0], second[0])
        # Hermite's cubic from 0 to `way`, in the local coordinates of the first node.
        c2 = 3.0 * way - h * (2.0 * first[1] + second[1])
        c3 = -2.0 * way + h * (first[1] + second[1])
        xi = x * (h * first[1] + x * (c2 + x * c3))
        rate = first[1] + x * (2.0 * c2 + 3.0 * x * c3) / h
        return self.system.integrate(first[0], xi), rate, (2.0 * c2 + 6.0 * x * c3) / h**2

    # Equations.

    def _velocity(self, goal: ReferenceMotion, q: np.ndarray) -> _Rates:
        rest = np.zeros((len(q), self.system.nv))
        return self._resolved(self._rows(q), self._worst(goal, q), rest, self.task.rate(goal, q), 0.0)

    def _resolved(
        self,
        A: np.ndarray,
        opened: np.ndarray,
        near: np.ndarray,
        wanted: np.ndarray,
        bias: np.ndarray | float,
    ) -> _Rates:
        """Return the rates x (N, nv) nearest to `near` with J x = wanted and J_loops x + bias = 0, as well as they
        can be, at configurations whose largest error is `opened` (N,)."""
        closing = np.broadcast_to(-bias / self._sizes, (len(A), len(self._sizes)))
        goal = np.concatenate([wanted / self.task.units, closing], axis=-1)
        missing = goal - stacks.apply(A, near / self._columns)
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        least = np.maximum(RANK_MOVING, OPEN_FACTOR * opened)[:, None]
        # Rows are scaled so that one that counts has size 1 or so; all may be rounding.
        kept = s > least * np.max(s, axis=-1, initial=1.0, keepdims=True)
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        y = stacks.apply(stacks.transposed(Vt), inverse * stacks.apply(stacks.transposed(U), missing))
        left = np.linalg.norm(stacks.apply(A, y) - missing, axis=-1)
        at_work = np.linalg.norm(goal, axis=-1) + np.linalg.norm(missing, axis=-1)
        return _Rates(near + self._columns * y, left, at_work)

    def _require_rates(
        self,
        t: np.ndarray,
        rates: _Rates,
        opened: np.ndarray,
        rounding: float,
        also_at_work: np.ndarray | float = 0.0,
    ) -> None:
        """Raise where rates are out of reach: missed by more than a part of what is at work in them, and by more than
        `rounding`, which moves nothing by a measurable amount in one step."""
        part = np.maximum(MISSED, OPEN_FACTOR * opened)
        bad = rates.left > part * (rates.at_work + also_at_work) + rounding
        if np.any(bad):
            k = int(np.argmax(bad))
            raise StateError(
                f"{self.task.complaint(float(t[k]), np.zeros(len(self.task.units)))}: it stands in a singular "
                f"configuration, from which it cannot go on the way it should. Lead the path around it."
            )

    def _rows(self, q: np.ndarray) -> np.ndarray:
        """Return rows A (N, k + m, nv) of the task and the loops, scaled."""
        A = self.task.rows(q) / self.task.units[:, None]
        if len(self._sizes):
            # The velocity errors of the loops are linear in v: those of unit velocities are the columns of J.
            J = closure(self._evaluator, q[:, None, :], np.eye(self.system.nv))[1]
            A = np.concatenate([A, stacks.transposed(J / self._sizes)], axis=-2)
        return A * self._columns

    def _bias(self, q: np.ndarray, v: np.ndarray) -> np.ndarray | float:
        """Return the accelerations (N, m) of the loops for vdot = 0."""
        if not len(self._sizes):
            return 0.0
        return np.concatenate([state.gamma for state in constraint_states(self._evaluator, q, v)], axis=-1)

    def _errors(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        """Return what is left of the task and the loops, (N, k + m), scaled."""
        left = self.task.error(goal, q) / self.task.units
        if not len(self._sizes):
            return left
        return np.concatenate([left, -closure(self._evaluator, q)[0] / self._sizes], axis=-1)

    def _worst(self, goal: ReferenceMotion, q: np.ndarray) -> np.ndarray:
        """Return the largest error (N,) of the task and the loops."""
        return np.abs(self._errors(goal, q)).max(axis=-1, initial=0.0)

    def _descend(self, goal: ReferenceMotion, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take damped least-squares steps from q (N, nq), and return where they lead and the largest error (N,) left
        of each."""

        def of(which: np.ndarray) -> ReferenceMotion:
            return ReferenceMotion(*(x[which] for x in goal))

        return Descent(
            lambda q, which: -self._errors(of(which), q), lambda q, which: self._rows(q),
            lambda q, y, which: self.system.integrate(q, self._columns * y),
            lambda q, worst: worst < REACHED, lambda y, size: largest(y), FAR,
        )(q, DONE, DAMPING)  # fmt: skip

    def _solved(self, t: np.ndarray, goal: ReferenceMotion, guess: np.ndarray) -> np.ndarray:
        q, _ = self._descend(goal, guess)
        self._require(t, goal, q)
        return q

    def _require(self, t: np.ndarray, goal: ReferenceMotion, q: np.ndarray) -> None:
        """Raise where the task or the loops are not within reach."""
        errors = self._errors(goal, q)
        worst = self._worst(goal, q)
        if np.all(worst < REACHED):
            return
        k = int(np.argmax(worst >= REACHED))
        width = len(self.task.units)
        loops = float(np.abs(errors[k, width:]).max(initial=0.0))
        also = f" with its loops open by {loops:.3g}" if loops >= REACHED else ""
        raise StateError(
            f"{self.task.complaint(float(t[k]), errors[k, :width] * self.task.units)}{also}. Choose a path within "
            f"reach, or a guess nearer to the configuration wanted."
        )
