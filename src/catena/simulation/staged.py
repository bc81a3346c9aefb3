"""Steps taken stage by stage from Python: for controllers that are asked all the time, wrenches as functions of time
and prescribed motion, and for steps that the compiled loop cannot vouch for.

Accelerations come from the system, which solves next to singular configurations by a rank-revealing decomposition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from catena.errors import LoopError, SimulationError
from catena.kernels import VELOCITY, Algorithm, each_body
from catena.simulation.acting import Acting, joint_of
from catena.simulation.beside import accelerations_beside, is_near_singular
from catena.simulation.drift import Drift
from catena.simulation.nodes import Nodes
from catena.simulation.steps.multistep import CORRECT, PAST, PREDICT, combine
from catena.simulation.steps.step_size import GROW, SAFETY, SHRINK, error_ratio, root
from catena.simulation.steps.stepping import FAR
from catena.simulation.steps.tableaus import ADAPTIVE, Tableau, tableau

# Next to singular configurations accelerations are good to some digits only, and so are the steps that pass them.
BESIDE = 1e-8
# Joints that move faster than this [rad/s or m/s] run away.
RUNAWAY = 1e7
# A step below this part of the time passed makes no progress.
COLLAPSE = 1e-14


def _ground(ground: object) -> None:
    """The ground has no coordinates."""


@each_body
def _local(body: object) -> None:
    """The rate of the local coordinates."""
    body.rate = body.joint.local_rate(body.xi, body.qd)  # type: ignore[attr-defined]


local_rate = Algorithm(
    "local_rate", _ground, (_local,), inputs={"xi": VELOCITY, "qd": VELOCITY}, outputs={"rate": VELOCITY}
)


@dataclass
class Outcome:
    """The states at the end of a step, and its error as a part of the tolerance (0 for methods of fixed steps)."""

    q: np.ndarray
    v: np.ndarray
    ratio: np.ndarray


class Stages:
    """Takes steps of states with a common time."""

    def __init__(self, acting: Acting, method: str, rtol: float, atol: float, drift: Drift) -> None:
        self.acting, self.system, self.method = acting, acting.system, method
        self.rtol, self.atol, self.drift = rtol, atol, drift
        # Prescribed joints must not move.
        self.held = tuple(acting.motion) if acting.motion else None
        self.beside = False
        self.curved = any(
            size != other for size, other in zip(self.system.plan.q_size, self.system.plan.v_size)
        )
        self._local = self.system.program(local_rate)

    def step(
        self, t: float, q: np.ndarray, v: np.ndarray, h: float, tau: np.ndarray | None, doubtful: bool = False
    ) -> Outcome:
        """One step of the states q (states, nq), v (states, nv). `tau` is held, or None for a controller that is asked
        at every stage. Where a step of a single state is `doubtful` it may be near a singular configuration."""
        self.beside = doubtful and self.drift.projects and is_near_singular(self.system, q[0], v[0])
        if self.method == "semi_implicit":
            v1 = v + h * self.accelerations(t, q, v, tau)
            outcome = Outcome(self.moved(q, h * v1), v1, np.zeros(len(q)))
        else:
            # A method that needs a past begins with one that does not.
            outcome = self._runge_kutta(
                tableau("rk4" if self.method == "abm4" else self.method), t, q, v, h, tau
            )
        return self._close(t + h, outcome)

    def accelerations(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None) -> np.ndarray:
        if self.drift.is_fragile:
            q, v = self.system.project(q, v, held=self.held)
        force = self.acting.command(t, q, v) if tau is None else tau
        if self.beside:
            found = accelerations_beside(self.acting, t, q, v, force)
            if found is not None:
                return found
        return self.drift.accelerations(self.acting, t, q, v, force)

    def _runge_kutta(
        self, method: Tableau, t: float, q: np.ndarray, v: np.ndarray, h: float, tau: np.ndarray | None
    ) -> Outcome:
        rates: list[np.ndarray] = []
        accelerations: list[np.ndarray] = []
        xi = np.zeros_like(v)
        q_stage, v_stage = self.acting.impose(t, q, v)
        for stage in range(method.stages):
            time = t + method.c[stage] * h
            if stage:
                xi = h * combine(method.a[stage], rates)
                v_stage = v + h * combine(method.a[stage], accelerations)
                q_stage, v_stage = self.acting.impose(time, self.moved(q, xi), v_stage)
            accelerations.append(self.accelerations(time, q_stage, v_stage, tau))
            rates.append(self.rate(xi, v_stage))
        v1 = v + h * combine(method.b, accelerations)
        q1 = self.moved(q, h * combine(method.b, rates))
        errors = []
        rtol, atol = max(self.rtol, BESIDE * self.beside), max(self.atol, BESIDE * self.beside)
        if self.curved and method.errors and np.max(np.abs(h * combine(method.b, rates))) > FAR:
            return Outcome(q1, v1, np.full(len(q), 2.0))
        for weights in method.errors:
            e_q, e_v = (np.abs(h * combine(weights, x)) for x in (rates, accelerations))
            scale = atol + rtol * np.maximum(np.abs(v), np.abs(v_stage))
            errors.append(
                np.maximum(
                    np.max(e_q, axis=-1, initial=0.0) / (atol + rtol),
                    np.max(e_v / scale, axis=-1, initial=0.0),
                )
            )
        ratio = error_ratio(errors, np.sqrt) if errors else np.zeros(len(q))
        return Outcome(q1, v1, np.where(np.isfinite(ratio), ratio, np.inf))

    def adams(
        self,
        t: float,
        past: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
        h: float,
        tau: np.ndarray | None,
    ) -> Outcome:
        """A step of the Adams-Bashforth-Moulton method from the present state and the three before, the latest first,
        each with its accelerations."""
        q, v, _ = past[0]
        seen = [np.zeros_like(v), *(self.system.difference(q, q_past) for q_past, _, _ in past[1:])]
        rates = [self.rate(xi, v_past) for xi, (_, v_past, _) in zip(seen, past, strict=True)]
        accelerations = [a for _, _, a in past]
        xi = h * combine(PREDICT, rates)
        q_ahead, v_ahead = self.acting.impose(
            t + h, self.moved(q, xi), v + h * combine(PREDICT, accelerations)
        )
        ahead = self.accelerations(t + h, q_ahead, v_ahead, tau)
        v1 = v + h * combine(CORRECT, [ahead, *accelerations[:PAST]])
        q1 = self.moved(q, h * combine(CORRECT, [self.rate(xi, v_ahead), *rates[:PAST]]))
        return self._close(t + h, Outcome(q1, v1, np.zeros(len(q))))

    def moved(self, q: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """q (+) xi."""
        return self.system.integrate(q, xi) if self.curved else q + xi

    def rate(self, xi: np.ndarray, v: np.ndarray) -> np.ndarray:
        if not self.curved:
            return v
        inputs = {"xi": np.ascontiguousarray(xi), "qd": np.ascontiguousarray(v)}
        return self._local.run(inputs, len(v))[1]["rate"]

    def _projected(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest closed states. Next to singular configurations, and where the quick way does not lead there,
        loops of any rank are closed."""
        if self.held is None and not self.beside:
            try:
                near, rates = self.system.project(q, v)
                return near, rates
            except LoopError:
                pass
        near, rates = self.system.project(q, v, held=self.held or ())
        return near, rates

    def _close(self, t: float, outcome: Outcome) -> Outcome:
        """Bring prescribed joints where they must be, and loops back to closed states."""
        q, v = self.acting.impose(t, outcome.q, outcome.v)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return Outcome(q, v, np.full(len(q), np.inf))
        if self.drift.projects:
            try:
                q, v = self._projected(q, v)
            except LoopError:
                return Outcome(q, v, np.full(len(q), np.inf))
        return Outcome(q, v, outcome.ratio)


class StagedSteps:
    """Moves all states of a run stage by stage, with one step size for all of them."""

    def __init__(
        self, acting: Acting, method: str, step: float | None, rtol: float, atol: float, drift: Drift,
        tick: Callable[[float], None],
    ) -> None:  # fmt: skip
        self.acting, self.system, self.method, self.tick = acting, acting.system, method, tick
        self.stages = Stages(acting, method, rtol, atol, drift)
        self.fixed_step, self.adaptive = step, method in ADAPTIVE
        self.h, self.steps = 0.0, 0
        self.past: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def begin(self, states: int, h: float) -> None:
        """A run begins, with steps of this size."""
        self.h = h
        self.past = []

    def forget(self) -> None:
        """Forces jumped: what was before says nothing about what comes."""
        self.past = []

    def advance(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float, nodes: Nodes | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move the states from their common time to `end`, and add what they pass to `nodes`. The control forces tau
        are held, unless the controller is asked at every stage."""
        now = float(t.min())
        held = tau if self.acting.rate is not None or self.acting.control is None else None
        if not self.adaptive:
            count = max(1, round((end - now) / (self.fixed_step or end - now) * (1.0 - 1e-9)))
            self.h = (end - now) / count
        while end - now > COLLAPSE * max(1.0, end):
            left = end - now
            h = left if self.h * (1.0 + 1e-9) >= left else self.h
            outcome = self._step(now, q, v, h, held)
            self.steps += 1
            ratio = float(np.max(outcome.ratio))
            if self.adaptive:
                order = tableau(self.method).error_order
                factor = SAFETY / root(min(max(ratio, 1e-10), 1e10), order, math.sqrt)
                size = h * min(max(factor, SHRINK), GROW)
                self.h = max(size, self.h) if ratio <= 1.0 and h == left else size
            if not ratio <= 1.0:
                worst = int(np.argmax(outcome.ratio))
                if not self.adaptive:
                    raise SimulationError(
                        f"The step from t = {now:.9g} s in state {worst} leads to a state that is not finite or whose "
                        f"loops do not close; take smaller steps, or an adaptive method."
                    )
                if self.h < COLLAPSE * max(1.0, abs(now)):
                    raise SimulationError(collapse_message(self.acting, worst, now, q[worst], v[worst]))
                continue
            now = end if h == left else now + h
            q, v = outcome.q, outcome.v
            if np.max(np.abs(v), initial=0.0) > RUNAWAY:
                state = int(np.argmax(np.max(np.abs(v), axis=-1)))
                raise SimulationError(runaway_message(self.acting, state, np.full(len(v), now), v))
            if nodes is not None:
                force = self.acting.command(now, q, v) if held is None else tau
                nodes.add(np.arange(len(q)), np.full(len(q), now), q, v, force)
            self.tick(now)
        return np.full(len(q), end), q, v

    def _step(self, t: float, q: np.ndarray, v: np.ndarray, h: float, tau: np.ndarray | None) -> Outcome:
        if self.method != "abm4":
            return self.stages.step(t, q, v, h, tau)
        force = self.acting.command(t, q, v) if tau is None else tau
        self.past = [(q, v, self.acting.accelerations(t, q, v, force)), *self.past[:PAST]]
        return (
            self.stages.adams(t, self.past, h, tau)
            if len(self.past) > PAST
            else self.stages.step(t, q, v, h, tau)
        )


def runaway_message(acting: Acting, state: int, t: np.ndarray, v: np.ndarray) -> str:
    """Which joint runs away."""
    component = int(np.argmax(np.abs(v[state])))
    return (
        f"The motion runs away: joint {joint_of(acting.system, component)!r} moves at {v[state, component]:.3g} at "
        f"t = {t[state]:.9g} s in state {state}. A controller that is too stiff for its rate, or for the step, does "
        f"that; the trajectory so far is in the attribute `trajectory` of this error."
    )


def collapse_message(acting: Acting, state: int, t: float, q: np.ndarray, v: np.ndarray) -> str:
    """Where and why steps do not get through."""
    system = acting.system
    vdot = system.forward_dynamics(q, v, np.zeros(system.nv))
    fastest = joint_of(system, int(np.argmax(np.abs(vdot))))
    reason = "Something jumps there (a stop, a controller, a wrench)"
    if system.loops and system.diagnose(q).singular:
        reason = "It is a singular configuration, where the loops leave more motions open (s.diagnose tells)"
    return (
        f"The step size collapsed at t = {t:.9g} s in state {state}: the error does not shrink with the step. "
        f"{reason}, most of all at joint {fastest!r}; the trajectory so far is in the attribute `trajectory` of "
        f"this error."
    )
