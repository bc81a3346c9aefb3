"""Closed configurations within the limits of joints.

Loops close in several ways, and a search from a guess meets one of them. Where that has joints beyond their limits, the
same configuration with other whole turns is looked at, then what else closes the loops with those joints held at their
limits, then what other starts lead to. What stays beyond is told by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.dynamics.loops.closing.quick_assembly import QuickAssembly
from catena.errors import warn
from catena.joints.contract import HINGE
from catena.kernels import arrays
from catena.kernels.evaluation import Evaluator
from catena.kinematics.extent import characteristic_length
from catena.kinematics.loops.closure import loop_state
from catena.kinematics.loops.held import Held, free_components
from catena.thresholds import LIMIT_SLACK

TURN = 2.0 * np.pi
# Starts that are tried for a state, and states that are tried together.
STARTS, TOGETHER = 32, 256
# Sets of joints at their limits that are tried.
SETS = 8


class JointLimits:
    """The limits of the joints of a mechanism on its plan as described, of the tree as (2, nq) in `tree`, of loop
    joints by name in `loops`."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.plan = evaluator, evaluator.plan
        self.tree = np.full((2, self.plan.nq), [[-np.inf], [np.inf]])
        self.loops: dict[str, np.ndarray] = {}
        self.turns = np.zeros(self.plan.nq, dtype=bool)
        coupled = {term.joint for coupling in self.plan.couplings for term in coupling.terms}
        for name, joint in evaluator.mechanism.joints.items():
            own = joint.limits
            if own is None or not np.isfinite(own).any() or joint.kind.nq != joint.kind.nv:
                continue
            if name in self.plan.joints:
                self.tree[:, self.plan.slice_q(name)] = own.T
                i = self.plan.joint.index(name)
                is_free = self.plan.joint_kind(i).consists_of(HINGE) and name not in coupled
                self.turns[self.plan.slice_q(name)] = is_free
            elif name in self.plan.loops:
                self.loops[name] = own.T

    @property
    def any(self) -> bool:
        """Return whether some joint has limits."""
        return bool(np.isfinite(self.tree).any() or self.loops)

    def turned(self, q: np.ndarray, fixed: Any = ()) -> np.ndarray:
        """Return q (..., nq) with whole turns taken off where that brings joints within their limits, but for the
        coordinates that are `fixed`."""
        q = q.copy()
        for k in np.setdiff1d(np.flatnonzero(self.turns), fixed):
            low, high = self.tree[:, k]
            up = np.ceil((low - LIMIT_SLACK - q[..., k]) / TURN) if np.isfinite(low) else 0.0
            down = np.floor((high + LIMIT_SLACK - q[..., k]) / TURN) if np.isfinite(high) else 0.0
            moved = q[..., k] + TURN * np.where(q[..., k] < low, up, np.where(q[..., k] > high, down, 0.0))
            is_within = (moved >= low - LIMIT_SLACK) & (moved <= high + LIMIT_SLACK)
            q[..., k] = np.where(is_within, moved, q[..., k])
        return q

    def beyond(self, q: np.ndarray) -> np.ndarray:
        """Return how far each coordinate of the tree, then each of the loop joints with limits, is beyond its limits,
        (..., nq + entries); zero or less within them."""
        parts = [np.maximum(self.tree[0] - q, q - self.tree[1])]
        for name, (low, high) in self.loops.items():
            x = loop_state(self.evaluator, name, q).q
            if self.evaluator.mechanism.joints[name].kind.consists_of(HINGE):
                # The angle of a loop joint is known up to whole turns.
                x = x + TURN * np.ceil((low - LIMIT_SLACK - x) / TURN)
            parts.append(np.maximum(low - x, x - high))
        return np.concatenate(parts, axis=-1)

    def keeps(self, q: np.ndarray) -> np.ndarray:
        """Return whether all joints are within their limits, (...)."""
        return np.asarray((self.beyond(q) <= LIMIT_SLACK).all(axis=-1))

    def reached(self, q: np.ndarray) -> list[str]:
        """Return the joints of the tree that stand at a limit in q (nq,)."""
        at = np.flatnonzero(np.abs(self.beyond(q)[: len(q)]) <= LIMIT_SLACK)
        plan = self.plan
        return [
            plan.joint[i]
            for i in range(1, plan.n)
            if np.any((at >= plan.q_start[i]) & (at < plan.q_start[i] + plan.q_size[i]))
        ]

    def words(self, q: np.ndarray) -> str:
        """Return which joint of q (nq,) is furthest beyond which limit."""
        off = self.beyond(q)
        k = int(np.argmax(off))
        if k < self.plan.nq:
            plan = self.plan
            i = next(i for i in range(1, plan.n) if 0 <= k - plan.q_start[i] < plan.q_size[i])
            name, x, (low, high) = plan.joint[i], q[k], self.tree[:, k]
        else:
            entries = [(n, j) for n, own in self.loops.items() for j in range(own.shape[1])]
            name, j = entries[k - self.plan.nq]
            x, (low, high) = loop_state(self.evaluator, name, q).q[j], self.loops[name][:, j]
        limit = high if abs(x - high) < abs(x - low) else low
        return f"joint {name!r} is at {x:.6g}, beyond its limit of {limit:.6g}"


def within_limits(
    evaluator: Evaluator, q: np.ndarray, held: Sequence[Held], quick: QuickAssembly | None, slack: float
) -> np.ndarray:
    """Return closed configurations (..., nq) with joints within their limits as far as there are any, given those that
    were found, q (..., nq), and what is held (..., nq of the joint). The others stay as they were found, with a warning
    that names a joint."""
    limits = evaluator.once(JointLimits)
    if not limits.any or not q.size:
        return q
    batch, plan = q.shape[:-1], evaluator.plan
    rows = [replace(h, value=arrays.rows(h.value, batch)) for h in held]
    fixed = [int(plan.q_start[h.node]) + k for h in rows if h.node >= 0 for k in np.flatnonzero(h.mask)]
    flat = limits.turned(q.reshape(-1, q.shape[-1]), fixed)
    left = np.flatnonzero(~limits.keeps(flat))
    as_given = (limits.beyond(flat[left])[:, fixed] > LIMIT_SLACK).any(axis=-1)
    if quick is not None and all(h.node >= 0 for h in rows):
        # Nothing else keeps a limit that is broken by what is given.
        left = left[~as_given]
        left = left[~_held_at_limits(limits, quick, rows, flat, left, slack)]
        for first in range(0, len(left), TOGETHER):
            _from_other_starts(limits, quick, rows, flat, left[first : first + TOGETHER], fixed)
    lost = np.flatnonzero(~limits.keeps(flat))
    if len(lost):
        where = f" in {len(lost)} of {len(flat)} states, in state {lost[0]}" if batch else ""
        held_beyond = (limits.beyond(flat[lost[0]])[fixed] > LIMIT_SLACK).any() if fixed else False
        why = (
            "It was given so."
            if held_beyond
            else "No other configuration was found that closes the loops within limits."
        )
        warn(f"{evaluator.mechanism.name!r} is assembled beyond the limits of joints{where}: "
             f"{limits.words(flat[lost[0]])}. {why}")  # fmt: skip
    return flat.reshape(q.shape)


def _held_at_limits(
    limits: JointLimits,
    quick: QuickAssembly,
    held: Sequence[Held],
    q: np.ndarray,
    left: np.ndarray,
    slack: float,
) -> np.ndarray:
    """Put states `left` of q (states, nq) within limits, where loops close with the joints that are beyond at their
    limits; return which of them are."""
    off = limits.beyond(q[left])[:, : q.shape[-1]] > LIMIT_SLACK
    done = np.zeros(len(left), dtype=bool)
    for pattern in np.unique(off, axis=0)[:SETS]:
        who = np.flatnonzero((off == pattern).all(axis=-1))
        start, wanted = q[left[who]], np.clip(q[left[who]], *limits.tree)
        more = _at_limits(limits, pattern, wanted)
        found, closed = quick.assemble([*(_of(h, left[who]) for h in held), *more], start, slack)
        closed &= limits.keeps(found)
        q[left[who[closed]]] = found[closed]
        done[who[closed]] = True
    return done


def _at_limits(limits: JointLimits, pattern: np.ndarray, wanted: np.ndarray) -> list[Held]:
    """Return what is held when the coordinates in `pattern` (nq,) are at their limits, `wanted` (states, nq)."""
    plan, found = limits.plan, []
    for i in range(1, plan.n):
        own = plan.q_of(i)
        kind = plan.kind[i]
        if kind is not None and pattern[own].any():
            found.append(Held(plan.joint[i], kind, i, -1, wanted[:, own], pattern[own]))
    return found


def _from_other_starts(
    limits: JointLimits,
    quick: QuickAssembly,
    held: Sequence[Held],
    q: np.ndarray,
    left: np.ndarray,
    fixed: Any,
) -> None:
    """Put states `left` of q (states, nq) within limits, where other starts lead to closed configurations there: to the
    nearest of them."""
    plan = limits.plan
    columns = np.flatnonzero(free_components(plan, held))
    reach = np.where(quick.turning[columns], np.pi, 2.0 * characteristic_length(plan)) * quick.units[columns]
    rng = np.random.default_rng(0)
    steps = np.zeros((STARTS, plan.nv))
    steps[:, columns] = reach * rng.uniform(-1.0, 1.0, (STARTS, len(columns)))
    starts = quick.moved(np.repeat(q[left], STARTS, axis=0), np.tile(steps, (len(left), 1)))
    found, closed = quick.close(starts, columns)
    found = limits.turned(found, fixed)
    good = (closed & limits.keeps(found)).reshape(len(left), STARTS)
    way = np.abs(quick.between(np.repeat(q[left], STARTS, axis=0), found) / quick.units)
    far = np.where(good, way.max(axis=-1, initial=0.0).reshape(good.shape), np.inf)
    best = np.argmin(far, axis=-1)
    some = np.flatnonzero(good.any(axis=-1))
    q[left[some]] = found.reshape(len(left), STARTS, -1)[some, best[some]]


def _of(h: Held, states: np.ndarray) -> Held:
    return replace(h, value=h.value[states])
