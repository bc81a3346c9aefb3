"""Inverse kinematics: configurations in which frames are where they should be, loops closed and joints within limits.

The rows of the loops and those of the frames make one system, and the search is that of assembly: damped Newton steps
of all states at once, from the guess and then from starts further and further away, always the same ones. Of what is
left open, as by a redundant arm, the guess decides. A goal that no configuration can reach, because it is further away
than the links are long, is not searched for from afar. What is not reached is approached as near as the search gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.descent import largest
from catena.dynamics.loops.closing.joint_limits import JointLimits
from catena.dynamics.loops.closing.quick_assembly import QuickAssembly
from catena.kernels.evaluation import Evaluator
from catena.kinematics import frame_pose, jacobian, stacks
from catena.kinematics.extent import characteristic_length
from catena.kinematics.loops.goals import Goal
from catena.kinematics.loops.held import Held, free_components
from catena.thresholds import LIMIT_SLACK

# How far starts are from the guess [rad or characteristic lengths]: the guess itself first.
STARTS = (0.0, 0.1, 0.3, 0.3, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0)
# Starts of so many states at most are tried all at once; those of more one after the other.
FEW = 16
# Sets of joints at their limits that are tried.
SETS = 8
# Steps towards goals out of reach go on as long as they leave less than this part of the error.
NEAREST = 1.0 - 1e-6


@dataclass(frozen=True, eq=False)
class Reach:
    """How near frames come to their goals: configurations `q` (..., nq) with loops closed, which states (...) have
    `reached` theirs, and what is left, the largest `distance` (...) [m] and `angle` (...) [rad] of any frame.

    Where a goal is not reached, q is the nearest configuration that was found, with joints within their limits where
    that was possible.
    """

    q: np.ndarray
    reached: np.ndarray
    distance: np.ndarray
    angle: np.ndarray

    def __repr__(self) -> str:
        return f"Reach({int(np.sum(self.reached))} of {self.reached.size} goals reached)"


class Reaching(QuickAssembly):
    """The loops of a plan and the goals of frames as one system of errors."""

    def __init__(self, evaluator: Evaluator, goals: Sequence[Goal]) -> None:
        super().__init__(evaluator)
        self.goals = goals
        self.length = characteristic_length(self.plan)
        self.has_loops = QuickAssembly.fits(self.plan)

    def residual(self, q: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Return the errors (states, m) of loops and frames at q (states, nq), in radians and lengths. `which`
        (states,) says whose goals are meant, None those of all."""
        mine = slice(None) if which is None else which
        parts = [super().residual(q, which) if self.has_loops else np.zeros((len(q), 0))]
        for goal in self.goals:
            turn, p = self._poses(goal, q)
            parts.append((p - goal.p[mine]) / self.length)
            if goal.R is not None:
                off = stacks.motion_matrices(turn @ goal.R[mine], np.zeros_like(p))
                parts.append(stacks.logarithm(off)[:, :3])
        return np.concatenate(parts, axis=1)

    def jacobian(self, q: np.ndarray, free: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Return the derivatives (states, m, free) of these errors by the components `free`."""
        parts = [super().jacobian(q, free, which) if self.has_loops else np.zeros((len(q), 0, len(free)))]
        for goal in self.goals:
            program = self.evaluator.program(jacobian, frozenset(), goal.frame)
            J = program.run({"q": np.ascontiguousarray(q)}, len(q))[1]["J"][..., free]
            parts.append(stacks.transposed(self._poses(goal, q)[0]) @ J[:, 3:] / self.length)
            if goal.R is not None:
                parts.append(J[:, :3])
        return np.concatenate(parts, axis=1)

    def _poses(self, goal: Goal, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rotations (states, 3, 3) from ground to a frame, and where it is (states, 3)."""
        program = self.evaluator.program(frame_pose, frozenset(), goal.frame)
        found = program.run({"q": np.ascontiguousarray(q)}, len(q))[1]["pose_of_frame"]
        return found[:, :9].reshape(-1, 3, 3), found[:, 9:]

    @cached_property
    def _loops_alone(self) -> QuickAssembly:
        return QuickAssembly(self.evaluator)

    def reach(
        self, held: Sequence[Held], guess: np.ndarray, limits: JointLimits
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return configurations (states, nq) near the guesses that do what is wanted, and which states do."""
        columns = np.flatnonzero(free_components(self.plan, held))
        fixed = [int(self.plan.q_start[h.node]) + k for h in held for k in np.flatnonzero(h.mask)]
        guess = self.put(guess, held)
        # The same starts for all states, so that one of many is found as it is alone.
        steps = np.zeros((len(STARTS), self.plan.nv))
        steps[:, columns] = self.units[columns] * np.random.default_rng(0).normal(
            size=(len(STARTS), len(columns))
        )
        steps *= np.array(STARTS)[:, None]
        found = _Best(guess)
        hopeless = self._out_of_reach(limits)
        first = 0
        while first < len(STARTS):
            left = np.flatnonzero(~found.done & ~(hopeless & (first > 0)))
            if not len(left):
                break
            count = 1 if first == 0 or len(left) > FEW else len(STARTS) - first
            states = np.repeat(left, count)
            start = self.moved(guess[states], np.tile(steps[first : first + count], (len(left), 1)))
            q, closed = self.close(start, columns, states)
            q = limits.turned(q, fixed)
            # What is at its goal beyond a limit is as far from being possible as it is beyond.
            beyond = limits.beyond(q)
            worst = largest(self.residual(q, states)) + beyond.max(axis=-1, initial=0.0)
            found.take(left, q, closed & (beyond <= LIMIT_SLACK).all(axis=-1), worst)
            first += count
        self._come_near(found, columns, limits)
        return found.q, found.done

    def _out_of_reach(self, limits: JointLimits) -> np.ndarray:
        """Return for which states (states,) some goal is further away than the links to its frame are long."""
        hopeless = np.zeros(len(self.goals[0].p), dtype=bool)
        for goal in self.goals:
            at, length = _longest(self.evaluator, goal.frame, limits)
            hopeless |= np.linalg.norm(goal.p - at, axis=-1) > length * (1.0 + 1e-9)
        return hopeless

    def _come_near(self, found: _Best, columns: np.ndarray, limits: JointLimits) -> None:
        """Bring states that do not reach their goals as near as possible, loops closed, joints that would go beyond a
        limit held there."""
        left = np.flatnonzero(~found.done)
        if not len(left):
            return
        self.slow = NEAREST
        beyond = limits.beyond(found.q[left])[:, : found.q.shape[-1]] > LIMIT_SLACK
        for pattern in np.unique(beyond, axis=0)[:SETS]:
            states = left[(beyond == pattern).all(axis=-1)]
            kept = columns[~np.isin(columns, self._components(pattern))]
            q = np.where(pattern, np.clip(found.q[states], *limits.tree), found.q[states])
            near, closed = self.close(q, kept, states)
            keeps = limits.keeps(near)
            q = np.where(keeps[:, None], near, q)
            good = closed & keeps
            fits = np.ones(len(states), dtype=bool)
            if self.has_loops:
                near, fits = self._loops_alone.close(q, kept)
                q = np.where((fits & ~good)[:, None], near, q)
            found.q[states[fits]], found.done[states[good]] = q[fits], True

    def _components(self, pattern: np.ndarray) -> np.ndarray:
        """Return the velocity components of coordinates (nq,) that are plain numbers."""
        plan, found = self.plan, np.zeros(self.plan.nv, dtype=bool)
        for i in range(1, plan.n):
            if plan.q_size[i] == plan.v_size[i]:
                own = np.arange(plan.v_size[i])
                found[plan.v_start[i] + own] |= pattern[plan.q_start[i] + own]
        return np.flatnonzero(found)


class _Best:
    """The best configurations q (states, nq) so far, their errors, and which states are done."""

    def __init__(self, guess: np.ndarray) -> None:
        self.q, self.done = guess.copy(), np.zeros(len(guess), dtype=bool)
        self.least = np.full(len(guess), np.inf)

    def take(self, states: np.ndarray, q: np.ndarray, good: np.ndarray, worst: np.ndarray) -> None:
        """Take over what some starts led to for each of these states, (states * starts, nq): the first that is good, or
        else the nearest."""
        starts = len(q) // len(states)
        good, worst = good.reshape(-1, starts), worst.reshape(-1, starts)
        which = np.where(good.any(axis=-1), np.argmax(good, axis=-1), np.argmin(worst, axis=-1))
        rows = np.arange(len(states))
        is_good, error = good[rows, which], worst[rows, which]
        better = is_good | (error < self.least[states])
        self.q[states[better]] = q.reshape(len(states), starts, -1)[rows, which][better]
        self.least[states[better]], self.done[states[is_good]] = error[better], True


def _longest(evaluator: Evaluator, frame: str, limits: JointLimits) -> tuple[np.ndarray, float]:
    """Return a place in ground (3,) and how far a frame can be from it at most; infinity where joints slide at will."""
    plan = evaluator.plan
    node, pose = plan.body_pose[frame]
    length, at = float(np.linalg.norm(pose.p)), np.asarray(pose.p, dtype=np.float64)
    while node:
        kind = plan.kind[node]
        assert kind is not None
        S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=np.float64)
        own = plan.q_of(node)
        if kind.nv == 1 and not S[:3].any():
            length += float(np.abs(limits.tree[:, own]).max() * np.linalg.norm(S[3:]))
        elif S[3:].any() or plan.owner is not None:
            return np.zeros(3), np.inf
        at = plan.placement_p[node]
        node = int(plan.parent[node])
        length += float(np.linalg.norm(at)) if node else 0.0
    return at, length


def left_of(evaluator: Evaluator, goal: Goal, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far a frame is from its goal, (states,) [m] and [rad], in configurations q (states, nq)."""
    found = evaluator.evaluate(frame_pose, {"q": q}, goal.frame)["pose_of_frame"]
    distance = np.linalg.norm(found[:, 9:] - goal.p, axis=-1)
    if goal.R is None:
        return distance, np.zeros(len(q))
    off = stacks.motion_matrices(found[:, :9].reshape(-1, 3, 3) @ goal.R, np.zeros((len(q), 3)))
    return distance, np.linalg.norm(stacks.logarithm(off)[:, :3], axis=-1)
