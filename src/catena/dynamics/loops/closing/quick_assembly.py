"""Closing the loops of many configurations at once, or of one without waiting: the search of
`kinematics.loops.assembly` with all states in step and errors and Jacobians of the loops from compiled code.

It is the same search in its first two parts. A closed guess leads its held coordinates in small steps to where they
should be, an open one descends by damped Newton steps. What it does not close, or not on the way it should, is left to
the careful search, which looks further and knows what to say: states whose steps do not converge, values that
over-determine the loops, loop joints that are held, kinds of joints without formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from catena.dynamics.loops.elimination import sort_for
from catena.dynamics.loops.elimination.least_change import closure
from catena.joints import JointKind, Revolute
from catena.joints.around import described
from catena.kernels import CONSTANTS, Program
from catena.kernels.evaluation import Evaluator
from catena.kinematics import difference, integrate
from catena.kinematics.loops.assembly import (
    CLOSED,
    FAR,
    FINISHED,
    FOLLOWED,
    ROUGHLY,
    STEP,
    characteristic_length,
)
from catena.kinematics.loops.held import Held
from catena.kinematics.loops.loop_movers import gear_response, geared_units, moving_loops, only_geared
from catena.kinematics.loops.scales import scales_of
from catena.structure import Plan

# A single state asks for a column of its Jacobian at a time, which is quicker up to about so many.
ALONE = 24
# Damped steps at most, and tries of one of them.
STEPS, TRIES = 80, 12
# A step that leaves more than this part of the error is slow, and after so many of them in a row a descent ends.
SLOW, SLOW_STEPS = 0.99, 6

# States whose mechanisms differ that are closed together: their numbers are repeated for each column of a Jacobian.
TOGETHER = 1024

Errors = tuple[np.ndarray, np.ndarray]


class QuickAssembly:
    """The loops of one plan, measured in radians and characteristic lengths."""

    slow = SLOW

    def __init__(self, evaluator: Evaluator, batch: tuple[int, ...] = ()) -> None:
        plan: Plan = evaluator.plan
        self.plan, self.evaluator = plan, evaluator
        # Numbers of the mechanisms, and which of them each state has, where they differ from state to state.
        self._constants, self._which = np.zeros((0, 0)), np.zeros(0, dtype=int)
        if evaluator.by_state is not None:
            rows = evaluator.by_state.rows(True, (), None)
            self._constants = rows.reshape(-1, rows.shape[-1])
            self._which = evaluator.by_state.which(batch)
        self.scales = scales_of(plan)
        self.units = geared_units(plan, self.scales.units, characteristic_length(plan))
        self.bends = ~only_geared(plan)
        counts = np.array([each.constraints for each in plan.constraints], dtype=int)
        self.kept = np.flatnonzero(np.arange(sort_for(plan).columns) < counts[:, None])
        self.moves_loops = moving_loops(plan)
        self.turning = np.zeros(plan.nv, dtype=bool)
        self.is_plain = True
        for i in range(1, plan.n):
            kind = plan.kind[i]
            assert kind is not None
            S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=np.float64)
            self.turning[plan.v_start[i] : plan.v_start[i] + plan.v_size[i]] = np.any(S[:3] != 0.0, axis=0)
            self.is_plain &= self.is_straight(kind)

    @staticmethod
    def fits(plan: Plan) -> bool:
        """Return whether all loop joints find their coordinates by formulas, and there is something to close."""
        return any(each.constraints for each in plan.constraints) and all(
            j.kind.finds_coordinates_of_symbols for j in plan.loop_joints
        )

    @cached_property
    def _program(self) -> Program:
        return self.evaluator.program(closure(sort_for(self.plan)), frozenset())

    @cached_property
    def _alone(self) -> Any:
        return self._program.single()

    def assemble(
        self, held: Sequence[Held], guess: np.ndarray, slack: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (states, nq) near the guesses (states, nq) that close the loops and hold what is given,
        and which states (states,) do."""
        # Values that are too large for any mechanism overflow, and are not closed like others.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.evaluator.by_state is None:
                return self._assembled(held, guess, slack)
            q, done, which = guess.copy(), np.zeros(len(guess), dtype=bool), self._which
            for first in range(0, len(guess), TOGETHER):
                part = slice(first, first + TOGETHER)
                self._which = which[part]
                own = [replace(h, value=h.value[part]) for h in held]
                q[part], done[part] = self._assembled(own, guess[part], slack)
            self._which = which
            return q, done

    def _assembled(
        self, held: Sequence[Held], guess: np.ndarray, slack: float
    ) -> tuple[np.ndarray, np.ndarray]:
        if any(h.node < 0 for h in held):
            return guess, np.zeros(len(guess), dtype=bool)
        free = np.ones(self.plan.nv, dtype=bool)
        for h in held:
            free[int(self.plan.v_start[h.node]) + np.flatnonzero(h.mask)] = False
        free_columns = np.flatnonzero(free)
        all_states = np.arange(len(guess))
        begun = self._worst(self.errors(guess, free_columns[:0], all_states)[0])
        closed = begun <= 0.1 * slack
        q, done = self.put(guess, held), np.zeros(len(guess), dtype=bool)
        if closed.any():
            # An open guess is none to follow, and an error of the slack's size is for the careful search to judge.
            who = np.flatnonzero(closed)
            q[who], done[who] = self._follow(guess[who], _some(held, who), free_columns, who)
        rest = np.flatnonzero(begun > 10.0 * slack)
        if len(rest):
            q[rest], worst = self._descend(q[rest], free_columns, FINISHED, 1e-2, rest)
            done[rest] = worst <= CLOSED
        return q, done

    def _follow(
        self, q: np.ndarray, held: Sequence[Held], free: np.ndarray, who: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lead the held coordinates from where they are at closed configurations to where they should be. `who` says
        which states of all they are."""
        plan, states = self.plan, len(q)
        ways, far, led = [], np.zeros(states), np.zeros((states, plan.nv))
        units = self.units
        for h in held:
            way = self._way(h, q)
            if way is None:
                return q, np.zeros(states, dtype=bool)
            if not self.moves_loops[h.node]:
                way = np.zeros_like(way)
            own = int(plan.v_start[h.node]) + np.arange(h.kind.nv)
            far = np.maximum(far, np.max(np.abs(way) / units[own], axis=-1, initial=0.0))
            led[:, own] = way
            ways.append(way)
        # What a gear takes along through a loop of its own may have further to go.
        given = ~np.isin(np.arange(plan.nv), free)
        along = np.abs(gear_response(plan, given, led) / units)
        far = np.maximum(far, np.max(along[:, self.bends], axis=-1, initial=0.0))
        watched = free[self.bends[free]]
        steps = np.clip(np.ceil(far / STEP), 1, FOLLOWED).astype(int)
        stride = np.maximum(STEP, far / steps)
        found, good = q.copy(), np.ones(states, dtype=bool)
        last = np.zeros((states, plan.nv))
        going = np.arange(states)
        for k in range(1, int(steps.max(initial=0)) + 1):
            going = going[good[going] & (steps[going] >= k)]
            if not len(going):
                break
            to = k / steps[going]
            start = self.moved(found[going], last[going]) if k > 1 else found[going].copy()
            for h, way in zip(held, ways, strict=True):
                own = int(plan.q_start[h.node]) + np.flatnonzero(h.mask)
                left = (1.0 - to)[:, None] * way[going]
                start[:, own] = (h.value[going] + left)[:, h.mask]
            ends = steps[going] == k
            enough = np.where(ends, FINISHED, ROUGHLY)
            reached, worst = self._descend(start, free, enough, 1e-6, who[going])
            moved = self.between(found[going], reached)
            apart = np.max(np.abs(moved[:, watched] / units[watched]), axis=-1, initial=0.0)
            good[going] = (worst <= np.where(ends, CLOSED, ROUGHLY)) & (apart <= 4.0 * stride[going])
            last[going] = 0.0
            last[going[:, None], free] = moved[:, free]
            found[going] = reached
        return found, good

    def _way(self, h: Held, q: np.ndarray) -> np.ndarray | None:
        """Return the shortest way back (states, nv of the joint) from the positions given to those at q; None for
        kinds of joints whose ways are curved."""
        if not self.is_straight(h.kind):
            return None
        way = np.where(h.mask, q[:, int(self.plan.q_start[h.node]) + np.arange(h.kind.nq)] - h.value, 0.0)
        if h.name in self._coupled:
            return way
        # Whole turns count in coordinates, and in couplings, but not on the way.
        own = int(self.plan.v_start[h.node]) + np.arange(h.kind.nv)
        turns = np.where(self.whole_turns[own], np.round(way / (2.0 * np.pi)), 0.0)
        return np.asarray(way - 2.0 * np.pi * turns)

    @staticmethod
    def is_straight(kind: JointKind) -> bool:
        """Return whether positions of a kind are plain numbers."""
        return kind.nq == kind.nv and not kind.turning

    @cached_property
    def _coupled(self) -> frozenset[str]:
        return frozenset(term.joint for coupling in self.plan.couplings for term in coupling.terms)

    def put(self, q: np.ndarray, held: Sequence[Held]) -> np.ndarray:
        """Return q with the held coordinates in place."""
        q = q.copy()
        for h in held:
            first = int(self.plan.q_start[h.node])
            own = first + (np.flatnonzero(h.mask) if h.kind.nq == h.kind.nv else np.arange(h.kind.nq))
            q[:, own] = h.value[:, h.mask] if h.kind.nq == h.kind.nv else h.value
        return q

    def _descend(
        self, q: np.ndarray, free: np.ndarray, enough: float | np.ndarray, damping: float, who: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take damped Newton steps until errors are small `enough` or no longer decrease; return q and the worst
        error (states,) of each state. `who` says which states of all they are."""
        q, states = q.copy(), len(q)
        if states == 1 and self.plan.nv <= ALONE and len(free):
            found = self._descend_alone(q[0], free, float(np.ravel(enough)[0]), damping)
            if found is not None:
                return found
        enough = np.broadcast_to(enough, (states,))
        damp, least = np.full(states, damping), min(damping, 1e-3)
        slow, units = np.zeros(states, dtype=int), self.units[free]
        turning, sliding = (self.turning & self.bends)[free], (~self.turning & self.bends)[free]
        e, J = self.errors(q, free, who)
        going = np.arange(states)
        for _ in range(STEPS):
            worst = self._worst(e[going])
            going = going[(worst > enough[going]) & (slow[going] < SLOW_STEPS)]
            if not len(going) or not len(free):
                break
            size = np.linalg.norm(e[going], axis=-1)
            U, s, Vt = np.linalg.svd(J[going] * units, full_matrices=False)
            back = (np.swapaxes(U, -1, -2) @ -e[going][..., None])[..., 0]
            trying, stuck = np.arange(len(going)), np.ones(len(going), dtype=bool)
            for _ in range(TRIES):
                at = going[trying]
                y = s[trying] / (s[trying] ** 2 + (damp[at] * size[trying])[:, None]) * back[trying]
                y = (np.swapaxes(Vt[trying], -1, -2) @ y[..., None])[..., 0]
                most = np.abs(y[:, turning]).max(axis=-1, initial=0.0)
                slid = np.abs(y[:, sliding]).max(axis=-1, initial=0.0) / np.maximum(1.0, size[trying])
                most = np.maximum(most, slid)
                y = y * np.minimum(1.0, FAR / np.where(most > 0.0, most, FAR))[:, None]
                step = np.zeros((len(at), self.plan.nv))
                step[:, free] = units * y
                trial = self.moved(q[at], step)
                e_trial, J_trial = self.errors(trial, free, who[at])
                reached = np.linalg.norm(e_trial, axis=-1)
                better = reached < size[trying]
                won = at[better]
                slow[won] = np.where(reached[better] > self.slow * size[trying][better], slow[won] + 1, 0)
                damp[won] = np.maximum(least, 0.3 * damp[won])
                q[won], e[won], J[won] = trial[better], e_trial[better], J_trial[better]
                stuck[trying[better]] = False
                # What is closed and gets no better is done.
                lost = ~better & (self._worst(e[at]) > CLOSED)
                damp[at[lost]] = np.maximum(6.0 * damp[at[lost]], 1e-2)
                trying = trying[lost]
                if not len(trying):
                    break
            going = going[~stuck]
        return q, self._worst(e)

    def _descend_alone(
        self, q: np.ndarray, free: np.ndarray, enough: float, damping: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Do what `_descend` does for one state q (nq,), without the cost of arrays of states; None where the shortest
        way to errors declines."""
        found = self._one(q, free)
        if found is None:
            return None
        e, J = found[0][0], found[1][0]
        units, least, slow = self.units[free], min(damping, 1e-3), 0
        bounds = np.flatnonzero(self.bends[free])
        slides = np.flatnonzero((~self.turning & self.bends)[free])
        step = np.zeros((1, self.plan.nv))
        for _ in range(STEPS):
            worst, size = float(np.abs(e).max()), float(np.sqrt(e @ e))
            if worst <= enough or slow >= SLOW_STEPS:
                break
            U, s, Vt = np.linalg.svd(J * units, full_matrices=False)
            back = -(e @ U)
            for _ in range(TRIES):
                y = (s / (s * s + damping * size) * back) @ Vt
                far = np.abs(y)
                if len(slides):
                    far[slides] /= max(1.0, size)
                most = float(far[bounds].max(initial=0.0))
                if most > FAR:
                    y *= FAR / most
                step[0, free] = units * y
                trial = self.moved(q[None], step)[0]
                found = self._one(trial, free)
                if found is None:
                    return None
                reached = float(np.sqrt(found[0][0] @ found[0][0]))
                if reached < size:
                    break
                if worst <= CLOSED:
                    return q[None], np.array([worst])
                damping = max(6.0 * damping, 1e-2)
            else:
                break
            slow = slow + 1 if reached > self.slow * size else 0
            damping = max(least, 0.3 * damping)
            q, e, J = trial, found[0][0], found[1][0]
        return q[None], self._worst(e[None])

    def errors(self, q: np.ndarray, free: np.ndarray, who: np.ndarray | None = None) -> Errors:
        """Return the errors (states, m) of the loops in radians and lengths, and their Jacobian (states, m, free).
        `who` (states,) says which states of all they are, None that they are all."""
        states, nv = len(q), self.plan.nv
        if states == 1 and nv <= ALONE:
            found = self._one(q[0], free)
            if found is not None:
                return found
        units = np.zeros((max(1, len(free)), nv))
        units[np.arange(len(free)), free] = 1.0
        rows = np.repeat(q, len(units), axis=0)
        v = np.tile(units, (states, 1))
        more = {name: np.repeat(x, len(units), axis=0) for name, x in self._numbers(who, states).items()}
        out = self._program.run({"q": rows, "qd": v, **more}, len(rows))[1]
        position, velocity = (
            out[n].reshape(states, len(units), -1)[..., self.kept] / self.scales.rows
            for n in ("position", "velocity")
        )
        e = np.nan_to_num(position[:, 0], nan=np.inf)
        return e, np.swapaxes(np.nan_to_num(velocity), -1, -2)[..., : len(free)]

    def _numbers(self, who: np.ndarray | None, states: int) -> dict[str, np.ndarray]:
        """Return what else tells the mechanisms of these states apart, {input: (states, n)}."""
        if self.evaluator.by_state is None:
            return {}
        return {CONSTANTS: self._constants[self._which if who is None else self._which[who]]}

    def _one(self, q: np.ndarray, free: np.ndarray) -> Errors | None:
        """Return errors and Jacobian of one state by the shortest way, which knows one mechanism; None where that
        declines."""
        if self.evaluator.by_state is not None:
            return None
        v = np.zeros(self.plan.nv)
        q = np.ascontiguousarray(q)
        J = np.zeros((1, len(self.kept), len(free)))
        found = self._alone(q, v)
        if found is None:
            return None
        e = found[0].ravel()[self.kept] / self.scales.rows
        for k, column in enumerate(free.tolist()):
            v[column] = 1.0
            found = self._alone(q, v)
            v[column] = 0.0
            if found is None:
                return None
            J[0, :, k] = found[1][self.kept]
        return e[None], J / self.scales.rows[:, None]

    def _worst(self, e: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(e).max(axis=-1, initial=0.0))

    def close(
        self, q: np.ndarray, free: np.ndarray, who: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the closed configurations (states, nq) that damped Newton steps of the components `free` lead to from
        q (states, nq), and which states (states,) they close. `who` (states,) says which states of all they are, None
        that they are all."""
        who = np.arange(len(q)) if who is None else who
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            q, worst = self._descend(q, free, FINISHED, 1e-2, who)
        return q, worst <= CLOSED

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return q (+) step for rows of both."""
        if self.is_plain:
            return q + step[:, self._velocity_of_position]
        return self.evaluator.program(integrate, frozenset()).run({"q": q, "qd": step}, len(q))[1]["q_next"]

    def between(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the steps (states, nv) from q0 to q1."""
        if self.is_plain:
            way = np.zeros((len(q0), self.plan.nv))
            way[:, self._velocity_of_position] = q1 - q0
            return way
        return self.evaluator.program(difference, frozenset()).run({"q": q0, "q_next": q1}, len(q0))[1][
            "step"
        ]

    @cached_property
    def whole_turns(self) -> np.ndarray:
        """Return which velocity components (nv,) are those of joints that only turn: whole turns change nothing."""
        turns = np.zeros(self.plan.nv, dtype=bool)
        for i in range(1, self.plan.n):
            turns[int(self.plan.v_start[i])] |= isinstance(described(self.plan.kind[i]), Revolute)
        return turns

    @cached_property
    def _velocity_of_position(self) -> np.ndarray:
        """Return the velocity component of each position, where these are plain numbers."""
        where = np.zeros(self.plan.nq, dtype=int)
        for i in range(1, self.plan.n):
            where[self.plan.q_start[i] + np.arange(self.plan.q_size[i])] = self.plan.v_start[i] + np.arange(
                self.plan.v_size[i]
            )
        return where


def quick_assembly(evaluator: Evaluator) -> QuickAssembly | None:
    """Return what closes the loops of many states at once, None where that does not know the joints; made once."""
    return evaluator.once(_fitting)


def _fitting(evaluator: Evaluator) -> QuickAssembly | None:
    return QuickAssembly(evaluator) if QuickAssembly.fits(evaluator.plan) else None


def _some(held: Sequence[Held], states: np.ndarray) -> list[Held]:
    """Return what is given for some states."""
    return [replace(h, value=h.value[states]) for h in held]
