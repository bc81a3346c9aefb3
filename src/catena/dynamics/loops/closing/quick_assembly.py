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

from catena.descent import SLOW, Descent, largest
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.least_change import closure
from catena.joints import JointKind
from catena.joints.contract import HINGE
from catena.kernels import CONSTANTS, Program
from catena.kernels.evaluation import Evaluator
from catena.kinematics import difference, integrate
from catena.kinematics.extent import characteristic_length
from catena.kinematics.loops.assembly import FAR, FINISHED, FOLLOWED, ROUGHLY, STEP
from catena.kinematics.loops.held import Held, free_components
from catena.kinematics.loops.loop_movers import gear_response, geared_units, moving_loops, only_geared
from catena.kinematics.loops.scales import CLOSED, scales_of
from catena.structure import Plan

# A single state asks for a column of its Jacobian at a time, which is quicker up to about so many.
ALONE = 24
# States whose mechanisms differ that are closed together: their numbers are repeated for each column of a Jacobian.
TOGETHER = 1024


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
        # The shortest way knows one state of one mechanism.
        self._goes_alone = plan.nv <= ALONE and evaluator.by_state is None
        self._latest: tuple[Any, Descent] | None = None
        self.scales = scales_of(plan)
        self.units = geared_units(plan, self.scales.units, characteristic_length(plan))
        self.bends = ~only_geared(plan)
        self.kept = kept_entries(evaluator)
        self.moves_loops = moving_loops(plan)
        self.turning = np.zeros(plan.nv, dtype=bool)
        self.is_plain = True
        for i in range(1, plan.n):
            kind = plan.kind[i]
            assert kind is not None
            S = np.asarray(kind.motion_space(kind.neutral()).array, dtype=np.float64)
            self.turning[plan.v_of(i)] = np.any(S[:3] != 0.0, axis=0)
            self.is_plain &= self.is_straight(kind)

    @staticmethod
    def fits(plan: Plan) -> bool:
        """Return whether all loop joints find their coordinates by formulas, and there is something to close."""
        return any(each.constraints for each in plan.constraints) and all(
            j.kind.finds_coordinates_of_symbols for j in plan.loop_joints
        )

    @cached_property
    def _program(self) -> Program:
        return self.evaluator.program(closure(shape_for(self.plan)), frozenset())

    @cached_property
    def _alone(self) -> Any:
        return self._program.single()

    @cached_property
    def _rest(self) -> np.ndarray:
        return np.zeros(self.plan.nv)

    @cached_property
    def _unit_velocities(self) -> np.ndarray:
        return np.eye(self.plan.nv)

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
        free_columns = np.flatnonzero(free_components(self.plan, held))
        descent = self.descent(free_columns)
        begun = largest(self.residual(guess, np.arange(len(guess))))
        closed = begun <= 0.1 * slack
        q, done = self.put(guess, held), np.zeros(len(guess), dtype=bool)
        if closed.any():
            # An open guess is none to follow, and an error of the slack's size is for the careful search to judge.
            who = np.flatnonzero(closed)
            q[who], done[who] = self._follow(guess[who], _some(held, who), free_columns, descent, who)
        rest = np.flatnonzero(begun > 10.0 * slack)
        if len(rest):
            q[rest], worst = descent(q[rest], FINISHED, 1e-2, rest)
            done[rest] = worst <= CLOSED
        return q, done

    def _follow(
        self, q: np.ndarray, held: Sequence[Held], free: np.ndarray, descent: Descent, who: np.ndarray
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
        is_led = np.ones(plan.nv, dtype=bool)
        is_led[free] = False
        along = np.abs(gear_response(plan, is_led, led) / units)
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
            reached, worst = descent(start, enough, 1e-6, who[going])
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

    def descent(self, free: np.ndarray) -> Descent:
        """Return the way down to closed configurations by steps of the components `free`, in radians and lengths."""
        asked = (free.tobytes(), self.slow)
        if self._latest is None or self._latest[0] != asked:
            self._latest = asked, self._descent(free)
        return self._latest[1]

    def _descent(self, free: np.ndarray) -> Descent:
        units, bent = self.units[free], np.flatnonzero(self.bends[free])
        sliding = np.flatnonzero((~self.turning & self.bends)[free])
        steps = self._unit_velocities[free] * units[:, None]
        steps = steps[:, self._velocity_of_position] if self.is_plain else steps

        def move(q: np.ndarray, y: np.ndarray, which: np.ndarray) -> np.ndarray:
            return q + y @ steps if self.is_plain else self.moved(q, y @ steps)

        def length(y: np.ndarray, size: np.ndarray) -> np.ndarray:
            far = np.abs(y)
            if len(sliding):
                far[:, sliding] /= np.maximum(1.0, size)[:, None]
            far = far if len(bent) == len(free) else far.take(bent, axis=1)
            return np.asarray(np.maximum.reduce(far, axis=-1, initial=0.0))

        return Descent(
            self.residual, lambda q, which: self.jacobian(q, free, which) * units, move,
            lambda q, worst: worst <= CLOSED, length, FAR, slow=self.slow,
        )  # fmt: skip

    def residual(self, q: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Return the errors (states, m) of the loops at q (states, nq), in radians and lengths. `which` (states,) says
        which states of all they are, None that they are all."""
        found = self._alone(q[0], self._rest) if len(q) == 1 and self._goes_alone else None
        if found is not None:
            return np.asarray(found[0].reshape(1, -1).take(self.kept, axis=1) / self.scales.rows)
        inputs = {"q": q, "qd": np.zeros((len(q), self.plan.nv)), **self._numbers(which)}
        position = self._program.run(inputs, len(q))[1]["position"]
        e = position.reshape(len(q), -1)[:, self.kept] / self.scales.rows
        return np.nan_to_num(e, nan=np.inf)

    def jacobian(self, q: np.ndarray, free: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Return the derivatives (states, m, free) of these errors by the components `free`."""
        states, units = len(q), self._unit_velocities[free]
        if not len(free):
            return np.zeros((states, len(self.kept), 0))
        if states == 1 and self._goes_alone:
            columns = [self._alone(q[0], unit) for unit in units]
            if all(column is not None for column in columns):
                J = np.array([column[1] for column in columns]).take(self.kept, axis=1)
                return np.asarray((J / self.scales.rows).T[None])
        rows, v = np.repeat(q, len(units), axis=0), np.tile(units, (states, 1))
        more = {name: np.repeat(x, len(units), axis=0) for name, x in self._numbers(which).items()}
        out = self._program.run({"q": rows, "qd": v, **more}, len(rows))[1]["velocity"]
        J = out.reshape(states, len(units), -1)[..., self.kept] / self.scales.rows
        return np.swapaxes(np.nan_to_num(J), -1, -2)

    def _numbers(self, which: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return what else tells the mechanisms of these states apart, {input: (states, n)}."""
        if self.evaluator.by_state is None:
            return {}
        return {CONSTANTS: self._constants[self._which if which is None else self._which[which]]}

    def close(
        self, q: np.ndarray, free: np.ndarray, who: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the closed configurations (states, nq) that damped Newton steps of the components `free` lead to from
        q (states, nq), and which states (states,) they close. `who` (states,) says which states of all they are, None
        that they are all."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            q, worst = self.descent(free)(q, FINISHED, 1e-2, who)
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
            turns[int(self.plan.v_start[i])] |= self.plan.joint_kind(i).consists_of(HINGE)
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


def kept_entries(evaluator: Evaluator) -> np.ndarray:
    """Return which entries (m,) of all columns that the elimination has for loops are constraints."""
    counts = np.array([each.constraints for each in evaluator.plan.constraints], dtype=int)
    return np.flatnonzero(np.arange(shape_for(evaluator.plan).columns) < counts[:, None])


def quick_assembly(evaluator: Evaluator) -> QuickAssembly | None:
    """Return what closes the loops of many states at once, None where that does not know the joints; made once."""
    return evaluator.once(_fitting)


def _fitting(evaluator: Evaluator) -> QuickAssembly | None:
    return QuickAssembly(evaluator) if QuickAssembly.fits(evaluator.plan) else None


def _some(held: Sequence[Held], states: np.ndarray) -> list[Held]:
    """Return what is given for some states."""
    return [replace(h, value=h.value[states]) for h in held]
