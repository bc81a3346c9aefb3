"""Steps taken in the compiled loop: many steps of all states of a batch in one call, each state with its own step size.

A step that the loop cannot vouch for halts its state; that step is taken stage by stage, with accelerations from a
rank-revealing decomposition, and the loop goes on behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from catena.dynamics.loop_elimination import columns_for
from catena.errors import SimulationError
from catena.forces import PlacedForce
from catena.kernels import FORCE_INPUTS
from catena.simulation.acting import Acting
from catena.simulation.drift import Drift
from catena.simulation.laws import CompiledLaw
from catena.simulation.nodes import Nodes
from catena.simulation.staged import COLLAPSE, RUNAWAY, Stages, collapse_message, runaway_message
from catena.simulation.steps.making import Making
from catena.simulation.steps.multistep import HISTORY, PAST
from catena.simulation.steps.step_size import GROW, SAFETY, SHRINK, root
from catena.simulation.steps.stepping import step_algorithm
from catena.simulation.steps.tableaus import ADAPTIVE, tableau

# Steps in one call: enough to forget the cost of a call, few enough to stop at once and to waste little.
FIRST_CALL, LONGEST_CALL = 8, 1024
# Lanes for a single state: the fewest that give the bits of a batch; one would be other machine instructions.
LANES_ALONE = 2
# Numbers that one call may record.
RECORD = 4_000_000


class CompiledSteps:
    """Moves the states of a run with the compiled loop."""

    def __init__(
        self,
        acting: Acting,
        method: str,
        step: float | None,
        rtol: float,
        atol: float,
        drift: Drift,
        forces: tuple[PlacedForce, ...],
        tick: Callable[[float], None],
        law: CompiledLaw | None = None,
    ) -> None:
        self.acting, self.system, self.method = acting, acting.system, method
        self.rtol, self.atol, self.tick = rtol, atol, tick
        self.adaptive = method in ADAPTIVE
        self.fixed_step = step
        self.forces = forces
        columns = columns_for(self.system.plan) if drift.closed else 0
        making = Making(
            method,
            columns,
            bool(forces),
            law.making if law else None,
            projects=drift.projects,
            fragile=drift.is_fragile,
        )
        algorithm = law.algorithm(making) if law else step_algorithm(making)
        absent = {"f_given" if forces else "f_ext", "a_base"}
        self.algorithm, self.absent = algorithm, frozenset(absent)
        self.law = law
        self.target = "given" if forces else "tau"
        self.careful = Stages(acting, method, rtol, atol, drift)
        self.steps = 0
        self.every, self.since = drift.every, 0
        self.h = np.zeros(0)
        self.past: dict[str, np.ndarray] = {}

    def begin(self, states: int, h: float) -> None:
        """A run of so many states begins, with steps of this size."""
        self.h = np.full(states, h)
        self.past = {}
        # For a single state there is no use for wide registers, and what it works on stays in the nearest cache.
        self.program = self.system.program(
            self.algorithm, self.absent, LANES_ALONE if states == 1 else None, self.forces
        )
        if self.law is not None:
            self.law.begin(states)

    def forget(self) -> None:
        """Forces jumped: what was before says nothing about what comes."""
        self.past = {}

    def advance(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float, nodes: Nodes | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move the states from their times t (states,) to `end` under the held control forces tau (which a law inside
        the loop overwrites), and add what they pass to `nodes`. A state whose time is infinite stays where it is."""
        if not self.adaptive:
            span = end - float(t.min())
            count = max(1, round(span / (self.fixed_step or span) * (1.0 - 1e-9)))
            self.h[:] = span / count
        if self.method == "abm4" and not self.past:
            t, q, v = self._gather_past(t, q, v, tau, end, nodes)
        t, q, v = t.copy(), q.copy(), v.copy()
        # How many adaptive steps there will be is not known, so a call begins with few.
        plays = FIRST_CALL if self.adaptive else LONGEST_CALL
        while True:
            active = np.flatnonzero(end - t > COLLAPSE * max(1.0, end))
            if not len(active):
                return np.where(np.isfinite(t), end, t), q, v
            active, until = self._together(active, t, end)
            ahead = float(np.max((until - t[active]) / self.h[active]))
            room = max(1, RECORD // (len(active) * (self.system.nq + self.system.nv)))
            plays = max(1, min(LONGEST_CALL, room, math.ceil(ahead * (1.0 - 1e-9)), plays))
            out = self._play(active, t, q, v, tau, end, plays)
            self._take_over(active, out, t, q, v, tau, nodes)
            halted = active[out["halt"][:, -1, 0] > 0.5]
            doubts = dict(zip(active.tolist(), out["doubt"].max(axis=(1, 2)) > 0.5, strict=True))
            for state in halted.tolist():
                doubtful = self.adaptive or bool(doubts[state])
                self._step_carefully(state, t, q, v, tau, end, nodes, doubtful)
            self._require_progress(active, t, q, v, out)
            self.tick(float(t.min()))
            plays = min(2 * plays, LONGEST_CALL)

    def _together(self, active: np.ndarray, t: np.ndarray, end: float) -> tuple[np.ndarray, float]:
        """The states that go on in the next call, and how far: a law with references is asked at one time for all of
        them, so those that were held up come first."""
        if self.law is None or self.law.rate is None:
            return active, end
        behind = t[active] < t[active].min() + 0.5 * self.h[0]
        return active[behind], end if behind.all() else float(t[active[~behind]].min())

    def _play(
        self,
        who: np.ndarray,
        t: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        end: float,
        plays: int,
    ) -> dict[str, np.ndarray]:
        n = len(who)

        def each(x: Any) -> np.ndarray:
            return np.ascontiguousarray(
                np.broadcast_to(np.asarray(x, dtype=np.float64).reshape(-1, 1), (n, 1))
            )

        inputs = {
            "q": q[who], "qd": v[who], self.target: tau[who],
            "t": each(t[who]), "h": each(self.h[who]), "end": each(end), "halt": each(0.0),
            "row": each(0.0), "wish": each(0.0), "rtol": each(self.rtol), "atol": each(self.atol),
            **{name: x[who] for name, x in self.past.items()},
        }  # fmt: skip
        told = sum(force.kind.inputs for force in self.forces)
        if told:
            inputs[FORCE_INPUTS] = np.zeros(told)
        if self.law is not None:
            inputs |= self.law.given(who, float(t[who].min()), float(self.h[0]), plays)
        every = 1 if self.adaptive else self.every
        found = self.program.run(inputs, n, steps=plays, every=1, rare=(every, self.since % every))[1]
        self.since += plays
        tried = (found["t"][:, :-1, 0] < end) & (found["halt"][:, :-1, 0] < 0.5)
        self.steps += 1 + int(tried.sum(axis=1).max())
        return found

    def _take_over(
        self, who: np.ndarray, out: dict[str, np.ndarray], t: np.ndarray, q: np.ndarray, v: np.ndarray,
        tau: np.ndarray, nodes: Nodes | None,
    ) -> None:  # fmt: skip
        if nodes is not None:
            finite = np.isfinite(out["q"]).all(axis=-1) & np.isfinite(out["qd"]).all(axis=-1)
            state, play = np.nonzero((out["accepted"][:, :, 0] > 0.5) & finite)
            force = tau[who[state]] if self.law is None else out[self.target][state, play]
            nodes.add(
                who[state], out["t"][state, play, 0], out["q"][state, play], out["qd"][state, play], force
            )
        if self.law is not None:
            tau[who] = out[self.target][:, -1]
            self.law.remember(who, out)
        t[who], q[who], v[who] = out["t"][:, -1, 0], out["q"][:, -1], out["qd"][:, -1]
        if self.adaptive:
            self.h[who] = out["h"][:, -1, 0]
        for name in self.past:
            self.past[name][who] = out[name][:, -1]

    def _step_carefully(
        self, state: int, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float,
        nodes: Nodes | None, doubtful: bool,
    ) -> None:  # fmt: skip
        """One step of a state that the loop could not vouch for."""
        here = slice(state, state + 1)
        while True:
            left = end - t[state]
            h = float(min(self.h[state], left))
            outcome = self.careful.step(float(t[state]), q[here], v[here], h, tau[here], doubtful)
            self.steps += 1
            ratio = float(outcome.ratio[0])
            good = ratio <= 1.0
            if not self.adaptive and not good:
                raise SimulationError(
                    f"The step from t = {t[state]:.9g} s in state {state} leads to a state that is not finite or whose "
                    f"loops do not close: {h:g} s is too long for {self.method}. Take smaller steps, or an adaptive "
                    f"method. The trajectory so far is in the attribute `trajectory` of this error."
                )
            if self.adaptive:
                order = tableau(self.method).error_order
                factor = SAFETY / root(min(max(ratio, 1e-10), 1e10), order, math.sqrt)
                size = h * min(max(factor, SHRINK), GROW)
                self.h[state] = size if h < left else max(size, self.h[state])
            if good:
                break
            if h < COLLAPSE * max(1.0, end):
                self._collapse(state, float(t[state]), q[state], v[state])
        if self.past:
            self._remember(
                state, q, v, self.acting.accelerations(float(t[state]), q[here], v[here], tau[here])[0]
            )
        t[state], q[state], v[state] = (end if h == left else t[state] + h), outcome.q[0], outcome.v[0]
        if nodes is not None:
            nodes.add(np.array([state]), t[here].copy(), q[here].copy(), v[here].copy(), tau[here])

    def _gather_past(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float, nodes: Nodes | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first steps of a method that needs a past, by one that does not."""
        past = []
        for _ in range(PAST):
            now, h = float(t.min()), float(self.h[0])
            if end - now <= h * (1.0 + 1e-9):
                break
            past.append((q, v, self.acting.accelerations(now, q, v, tau)))
            outcome = self.careful.step(now, q, v, h, tau)
            t, q, v = t + h, outcome.q, outcome.v
            self.steps += 1
            if nodes is not None:
                nodes.add(np.arange(len(q)), t.copy(), q, v, tau)
        while past and len(past) < PAST:
            past.append(past[-1])
        if not past:
            past = [(q, v, self.acting.accelerations(float(t.min()), q, v, tau))] * PAST
        for j, (q_past, v_past, a_past) in enumerate(reversed(past), start=1):
            for name, x in (("q_past", q_past), ("v_past", v_past), ("a_past", a_past)):
                self.past[f"{name}_{j}"] = np.array(x)
        assert set(self.past) == set(HISTORY)
        return t, q, v

    def _remember(self, state: int, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> None:
        """The present of one state becomes its past."""
        for name, x in (("q_past", q[state]), ("v_past", v[state]), ("a_past", vdot)):
            for j in range(PAST, 1, -1):
                self.past[f"{name}_{j}"][state] = self.past[f"{name}_{j - 1}"][state]
            self.past[f"{name}_1"][state] = x

    def _require_progress(
        self, who: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, out: dict[str, np.ndarray]
    ) -> None:
        stuck = who[self.h[who] < COLLAPSE * np.maximum(1.0, np.abs(t[who]))] if self.adaptive else who[:0]
        fast = np.flatnonzero(np.max(np.abs(v), axis=-1) > RUNAWAY)
        if len(fast):
            raise SimulationError(runaway_message(self.acting, int(fast[0]), t, v))
        lost = who[~(np.isfinite(out["q"][:, -1]).all(axis=-1) & np.isfinite(out["qd"][:, -1]).all(axis=-1))]
        for state in [*lost, *stuck][:1]:
            if state in lost:
                raise SimulationError(
                    f"The motion is not finite any more near t = {t[state]:.9g} s in state {state}; take smaller "
                    f"steps. The trajectory so far is in the attribute `trajectory` of this error."
                )
            self._collapse(int(state), float(t[state]), q[state], v[state])

    def _collapse(self, state: int, t: float, q: np.ndarray, v: np.ndarray) -> None:
        raise SimulationError(collapse_message(self.acting, state, t, q, v))
