"""Motion over time: fixed or adaptive steps, compiled, with a controller that is asked once a step and loops that
stay closed.

Every state of a batch has its own time and step size where the step is adaptive. Loops are projected back on closed
states after every step, in the sense of least kinetic energy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catena.dynamics.closed.elimination import is_trusted
from catena.dynamics.loop_elimination import columns_for
from catena.errors import SimulationError, StateError
from catena.simulation.stepping import step_algorithm
from catena.simulation.tableaus import TABLEAUS
from catena.simulation.trajectory import Trajectory
from catena.system import System

Control = Callable[[float, np.ndarray, np.ndarray], Any]
# A step grows or shrinks by no more than these factors, and aims a little below the tolerance.
SHRINK, GROW, SAFETY = 0.2, 5.0, 0.9
# A step below this part of the duration makes no progress.
COLLAPSE = 1e-13


def simulate(
    system: System,
    q: Any,
    v: Any,
    duration: float,
    *,
    control: Control | None = None,
    integrator: str = "dopri5",
    step: float | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    samples: int = 101,
) -> Trajectory:
    """Follow the motion from q (..., nq) and v (..., nv) for `duration` seconds.

    `integrator` is "dopri5" (adaptive), or with a fixed `step` "rk4", "midpoint", "euler" or "semi_implicit".
    `control(t, q, v)` gives the joint forces (..., nv) for the next step. States are kept at `samples` times, first and
    last included.
    """
    run = _Run(system, q, v, duration, control, integrator, step, rtol, atol, samples)
    return run.go()


class _Run:
    def __init__(
        self, system: System, q: Any, v: Any, duration: float, control: Control | None, integrator: str,
        step: float | None, rtol: float, atol: float, samples: int,
    ) -> None:  # fmt: skip
        _check(duration, integrator, step, rtol, atol, samples)
        self.system, self.control = system, control
        q, v = np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)
        system.kinetic_energy(q, v)  # complains about shapes, NaN and quaternions
        self.batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        self.q = np.ascontiguousarray(np.broadcast_to(q, (*self.batch, system.nq)).reshape(-1, system.nq))
        self.v = np.ascontiguousarray(np.broadcast_to(v, (*self.batch, system.nv)).reshape(-1, system.nv))
        self.times = np.linspace(0.0, duration, samples)
        self.tableau = TABLEAUS.get(integrator)
        self.rtol, self.atol, self.step = rtol, atol, step
        self.closed = any(loop.constraints for loop in system.plan.loop_joints)
        columns = columns_for(system.plan) if self.closed else 0
        self.program = system.program(step_algorithm(self.tableau, columns), frozenset({"f_ext", "a_base"}))
        self.t = np.zeros(len(self.q))
        self.h = np.full(len(self.q), duration * 1e-3)
        self.steps = 0
        if self.closed:
            self._require_closed()

    def go(self) -> Trajectory:
        """Step from sample to sample."""
        states = [(self.q, self.v, self._force(0.0))]
        for k, end in enumerate(self.times[1:], start=1):
            try:
                self._advance(float(end))
            except SimulationError as error:
                error.trajectory = self._trajectory(states, k)
                raise
            states.append((self.q, self.v, self._force(float(end))))
        return self._trajectory(states, len(self.times))

    def _advance(self, end: float) -> None:
        if self.tableau is None or not self.tableau.b_low:
            assert self.step is not None
            count = max(1, round((end - float(self.t[0])) / self.step))
            h = (end - float(self.t[0])) / count
            for _ in range(count):
                self._take(np.full(len(self.q), h), np.ones(len(self.q), dtype=bool))
            self.t[:] = end
            return
        while True:
            # A rest below rounding is no step.
            going = end - self.t > 1e-14 * max(end, 1.0)
            if not np.any(going):
                self.t[:] = end
                return
            self._try(np.where(going, np.minimum(self.h, end - self.t), 0.0), going)

    def _try(self, h: np.ndarray, going: np.ndarray) -> None:
        """A step of each state's own size, taken where its error is small enough."""
        assert self.tableau is not None
        new, error = self._play(h)
        scale_v = self.atol + self.rtol * np.maximum(np.abs(self.v), np.abs(new["qd"]))
        ratio = np.maximum(
            np.max(np.abs(error[0]), axis=-1, initial=0.0) / (self.atol + self.rtol),
            np.max(np.abs(error[1]) / scale_v, axis=-1, initial=0.0),
        )
        ratio = np.where(np.isfinite(ratio), ratio, np.inf)
        accepted = going & (ratio <= 1.0)
        self._keep(new, accepted)
        self.t = np.where(accepted, self.t + h, self.t)
        power = -1.0 / self.tableau.order
        factor = np.clip(SAFETY * np.maximum(ratio, 1e-10) ** power, SHRINK, GROW)
        # A step that only reached up to a sample says nothing against the size planned before.
        planned = np.where(accepted, np.maximum(self.h, h * factor), h * factor)
        self.h = np.where(going, np.where(accepted & (h < self.h), planned, h * factor), self.h)
        small = going & (self.h < COLLAPSE * self.times[-1])
        if np.any(small):
            worst = int(np.argmax(small))
            joint = self._joint_of(int(np.argmax(np.abs(error[1][worst]))))
            raise SimulationError(
                f"The step size collapsed at t = {self.t[worst]:.9g} s in state {worst}: the error does not shrink "
                f"with the step, most of all at joint {joint!r}. Something jumps there (friction, a controller, a "
                f"singular configuration); the trajectory so far is in the attribute `trajectory` of this error."
            )

    def _take(self, h: np.ndarray, going: np.ndarray) -> None:
        new, _ = self._play(h)
        self._keep(new, going)
        self.t = self.t + h

    def _play(self, h: np.ndarray) -> tuple[dict[str, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        self.steps += 1
        inputs = {
            "q": self.q,
            "qd": self.v,
            "tau": self._force(float(self.t.min())),
            "step": h[:, None].copy(),
        }
        _, new = self.program.run(inputs, len(self.q))
        nothing = np.zeros_like(self.v)
        return new, (new.get("error_q", nothing), new.get("error_v", nothing))

    def _keep(self, new: dict[str, np.ndarray], accepted: np.ndarray) -> None:
        bad = accepted & ~(np.isfinite(new["q"]).all(axis=-1) & np.isfinite(new["qd"]).all(axis=-1))
        if np.any(bad):
            worst = int(np.argmax(bad))
            raise SimulationError(
                f"The motion is not finite any more after t = {self.t[worst]:.9g} s in state {worst}; take smaller "
                f"steps. The trajectory so far is in the attribute `trajectory` of this error."
            )
        q = np.where(accepted[:, None], new["q"], self.q)
        v = np.where(accepted[:, None], new["qd"], self.v)
        if self.closed:
            self._require_certainty(new, accepted)
            q, v = self.system.project(q, v)
        self.q, self.v = np.ascontiguousarray(q), np.ascontiguousarray(v)

    def _require_certainty(self, new: dict[str, np.ndarray], accepted: np.ndarray) -> None:
        """The compiled elimination says where it cannot vouch for accelerations: next to singular configurations."""
        certain = is_trusted(*(new[name][:, 0] for name in ("defect", "change", "before", "size")))
        if np.any(accepted & ~certain):
            worst = int(np.argmax(accepted & ~certain))
            raise SimulationError(
                f"The accelerations of {self.system.mechanism.name!r} could not be certified at "
                f"t = {self.t[worst]:.9g} s in state {worst}: it is next to a singular configuration (s.diagnose "
                f"tells). Passing through those is not supported yet; the trajectory so far is in the attribute "
                f"`trajectory` of this error."
            )

    def _force(self, t: float) -> np.ndarray:
        """What the controller gives, (states, nv)."""
        nv = self.system.nv
        if self.control is None:
            return np.zeros((len(self.q), nv))
        shape = (*self.batch, -1)
        given = np.asarray(self.control(t, self.q.reshape(shape), self.v.reshape(shape)), dtype=np.float64)
        if given.shape[-1:] != (nv,):
            raise SimulationError(
                f"The controller gave shape {given.shape} at t = {t:.9g} s; it must end in {nv}."
            )
        tau = np.array(np.broadcast_to(given, (*self.batch, nv)).reshape(-1, nv))
        if not np.isfinite(tau).all():
            joint = self._joint_of(int(np.argwhere(~np.isfinite(tau))[0][1]))
            raise SimulationError(
                f"The controller gave {tau[~np.isfinite(tau)][0]} for joint {joint!r} at t = {t:.9g} s; the trajectory "
                f"so far is in the attribute `trajectory` of this error."
            )
        return tau

    def _joint_of(self, component: int) -> str:
        plan = self.system.plan
        for i in range(1, plan.n):
            if plan.v_start[i] <= component < plan.v_start[i] + plan.v_size[i]:
                return plan.joint[i]
        return ""

    def _require_closed(self) -> None:
        position, velocity = self.system.closure(self.q, self.v)
        worst = max(float(np.max(np.abs(x), initial=0.0)) for x in (position, velocity))
        if worst > 1e-6:
            raise StateError(
                f"The loops of {self.system.mechanism.name!r} are not closed at the start (the largest error is "
                f"{worst:.3g}); begin with `q, v = s.project(q, v)`, or with s.assemble and s.velocity."
            )

    def _trajectory(self, states: list[Any], count: int) -> Trajectory:
        q, v, tau = (np.stack([s[k] for s in states], axis=1) for k in range(3))
        shape = (*self.batch, count)
        return Trajectory(
            self.system,
            self.times[:count],
            q.reshape(*shape, -1),
            v.reshape(*shape, -1),
            tau.reshape(*shape, -1),
            self.steps,
        )


def _check(
    duration: float, integrator: str, step: float | None, rtol: float, atol: float, samples: int
) -> None:
    names = [*TABLEAUS, "semi_implicit"]
    if integrator not in names:
        raise StateError(f"There is no integrator {integrator!r}; choose {', '.join(names)}.")
    if not (np.isfinite(duration) and duration > 0.0):
        raise StateError(f"duration is {duration}; give a positive number of seconds.")
    adaptive = integrator in TABLEAUS and bool(TABLEAUS[integrator].b_low)
    if not adaptive and not (step is not None and np.isfinite(step) and step > 0.0):
        raise StateError(
            f"{integrator} takes fixed steps: give step= a positive number of seconds, found {step}."
        )
    if adaptive and step is not None:
        raise StateError(f"{integrator} chooses its steps by itself; leave step out, or choose rk4.")
    if not (rtol >= 0.0 and atol >= 0.0 and rtol + atol > 0.0):
        raise StateError(f"rtol is {rtol} and atol {atol}; they must not be negative, nor both zero.")
    if not isinstance(samples, int) or samples < 2:
        raise StateError(f"samples is {samples!r}; give a whole number of at least 2.")
