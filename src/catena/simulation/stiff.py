"""Stiff problems by SciPy's implicit methods, in local coordinates.

The state is y = (xi, v) with q = q0 (+) xi. Where a rotation or the loops' drift has gone far enough, the solver begins
anew from where it is, with xi = 0 and closed loops.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from catena.errors import LoopError, SimulationError
from catena.simulation.acting import Acting
from catena.simulation.drift import Drift
from catena.simulation.nodes import Nodes
from catena.simulation.staged import Stages

SOLVERS = {"radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}
# Local coordinates are good short of half a turn.
FAR = 1.0
# Loops that are open by more than this part of the tolerance are closed again.
OPEN = 10.0


class StiffSteps:
    """Moves the states of a run one by one with a solver of SciPy."""

    def __init__(
        self,
        acting: Acting,
        method: str,
        rtol: float,
        atol: float,
        drift: Drift,
        tick: Callable[[float], None],
    ) -> None:
        self.acting, self.system, self.method = acting, acting.system, method
        self.rtol, self.atol, self.drift, self.tick = rtol, atol, drift, tick
        self.stages = Stages(acting, "rk4", rtol, atol, drift)
        self.steps = 0
        self.curved = self.stages.curved

    def begin(self, states: int, h: float) -> None:
        """A run begins."""

    def forget(self) -> None:
        """Forces jumped."""

    def advance(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float, nodes: Nodes | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move the states from their times to `end`."""
        q, v = q.copy(), v.copy()
        for state in range(len(q)):
            q[state], v[state] = self._advance(
                state, float(t[state]), q[state], v[state], tau[state], end, nodes
            )
        return np.full(len(q), end), q, v

    def _advance(
        self,
        state: int,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        end: float,
        nodes: Nodes | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        import scipy.integrate

        solver_class = getattr(scipy.integrate, SOLVERS[self.method])
        held = tau[None] if self.acting.rate is not None or self.acting.control is None else None
        nv, closes = self.system.nv, self.drift.projects
        while t < end:
            origin = q

            def rate(time: float, y: np.ndarray, origin: np.ndarray = origin) -> np.ndarray:
                xi, velocity = y[None, :nv], y[None, nv:]
                here, velocity = self.acting.impose(time, self.system.integrate(origin[None], xi), velocity)
                vdot = self.stages.accelerations(time, here, velocity, held)
                return np.concatenate([self.stages.rate(xi, velocity)[0], vdot[0]])

            solver = solver_class(
                rate, t, np.concatenate([np.zeros(nv), v]), end, rtol=self.rtol, atol=self.atol
            )
            while solver.status == "running":
                message = solver.step()
                self.steps += 1
                if solver.status == "failed":
                    raise SimulationError(
                        f"{self.method} gave up at t = {solver.t:.9g} s in state {state}: {message}. The trajectory so "
                        f"far is in the attribute `trajectory` of this error."
                    )
                t = float(solver.t)
                q = self.system.integrate(origin, solver.y[:nv])
                v = solver.y[nv:].copy()
                moved = False
                if self.acting.motion:
                    (q,), (v,) = self.acting.impose(t, q[None], v[None])
                if closes:
                    gap = max(float(np.max(np.abs(x))) for x in self.system.closure(q, v))
                    moved = gap > OPEN * (self.rtol + self.atol)
                    q, v = self._close(t, q, v)
                if nodes is not None:
                    force = self.acting.command(t, q[None], v[None]) if held is None else held
                    nodes.add(np.array([state]), np.array([t]), q[None], v[None], force)
                self.tick(t)
                if moved or (self.curved and np.max(np.abs(solver.y[:nv])) > FAR):
                    break
        return q, v

    def _close(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        try:
            return self.system.project(q, v, held=self.stages.held)
        except LoopError as error:
            raise SimulationError(f"At t = {t:.9g} s: {error}") from error
