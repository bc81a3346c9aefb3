"""Many states in absolute coordinates moved together by explicit methods, as `stiff` moves one after the other: after
every step loops are closed, bodies put back to their joints, and works counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.errors import CatenaError
from catena.simulation.acting import loads
from catena.simulation.stepping.charts import AbsoluteChart
from catena.simulation.stepping.charts.chart import Charted
from catena.simulation.stepping.explicit_together import ExplicitTogether
from catena.simulation.stepping.faults import require_bounds
from catena.simulation.stepping.integrators import EXPLICIT
from catena.simulation.stepping.methods.work import SOURCES
from catena.simulation.stepping.record import StepRecord

if TYPE_CHECKING:
    from catena.simulation.stepping.stiff import StiffSteps

# A step below this part of the time passed makes no progress.
COLLAPSE = 1e-15
# Gauss-Legendre points and weights on [-1, 1]: so many because LSODA takes long steps of up to twelfth order.
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(6)


class AbsoluteTogether:
    """States of `steps`, by their numbers `states` (n,), at times t (n,), q (n, nq) and v (n, nv), under control forces
    tau (n, width). They are left where the last step that could be taken has brought them."""

    def __init__(
        self, steps: StiffSteps, states: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> None:  # fmt: skip
        self.steps, self.states, self.tau = steps, states, tau
        self.t, self.q, self.v = t.copy(), q.copy(), v.copy()
        self.chart = AbsoluteChart(steps.system, None)

    def advance(self, ends: np.ndarray, nodes: StepRecord | None) -> None:
        """Move the states to their ends (n,). Where one of them cannot go on all stay where they are: who moves them
        one by one finds out why."""
        import scipy.integrate

        steps = self.steps
        y = self.chart.begin_each(self.q.copy(), self.v)
        began = np.zeros_like(self.v)
        try:
            together = ExplicitTogether(
                getattr(scipy.integrate, EXPLICIT[steps.method]), self._rates, self.t, y, ends,
                (steps.rtol, steps.atol), steps.acting.longest,
            )  # fmt: skip
            while len(who := np.flatnonzero(self.t < ends)):
                if nodes is not None:
                    at = self.chart.among(who).states(0.0, together.y[who])
                    began[who] = steps.accelerations(0.0, at, self.tau[who])
                if not self._step(together, who):
                    return
                if nodes is not None:
                    there = self.t[who].copy(), self.q[who], self.v[who]
                    nodes.add(
                        self.states[who], *there, steps.works(self.states[who]), self.tau[who], began[who]
                    )
                steps.tick(float(self.t.min()))
        except CatenaError:
            return

    def _step(self, together: ExplicitTogether, who: np.ndarray) -> bool:
        """Take a step of some of the states, by their numbers (rows,) here, and return whether it could be taken."""
        steps, chart = self.steps, self.chart.among(who)
        start, before, stages, h = together.step(who)
        at = chart.states(0.0, together.y[who])
        short = h < COLLAPSE * np.maximum(1.0, np.abs(start))
        if not np.isfinite(h).all() or short.any() or not np.isfinite(at.q).all():
            return False
        q, v, anew = at.q, at.v, chart.spent(at)
        if steps.drift.projects:
            q, v = steps.system.project(q, v)
            anew[:] = True
        require_bounds(steps.system, self.states[who], together.t[who], q, v)
        works = self._works(together, chart, who, before, stages, h) if steps.sources else None
        self.t[who], self.q[who], self.v[who] = together.t[who], q, v
        steps.steps += len(who)
        if works is not None:
            steps.work[self.states[who], : steps.sources] += works
        for k in who.tolist():
            steps.state = int(steps.owner[self.states[k]])
            steps.require_progress(int(self.states[k]), float(self.t[k]), self.q[k])
        some = who[anew]
        together.begin_anew(some, self.chart.begin_some(some, q[anew], v[anew]))
        return True

    def _rates(self, who: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the rates (rows, n) of coordinates y (rows, n) of states by their numbers; NaN where these belong to
        no state."""
        chart = self.chart.among(who)
        at = chart.states(0.0, y)
        good = np.isfinite(at.q).all(axis=1)
        found = np.full_like(y, np.nan)
        if good.any():
            some = Charted(*(x[good] for x in at))
            vdot = self.steps.accelerations(0.0, some, self.tau[who[good]])
            found[good] = chart.among(np.flatnonzero(good)).rates(some, vdot)
        return found

    def _works(
        self, together: ExplicitTogether, chart: AbsoluteChart, who: np.ndarray, before: np.ndarray,
        stages: np.ndarray, h: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Return the works (rows, sources) of steps: the integrals of the powers along their polynomials, on the
        loops."""
        steps = self.steps
        points = together.between(who, before, stages, h, 0.5 * (1.0 + POINTS))
        rows, count = points.shape[:2]
        each = np.repeat(np.arange(rows), count)
        q, v, _ = chart.among(each).states(0.0, points.reshape(rows * count, -1))
        if steps.drift.projects:
            q, v = steps.system.project(q, v)
        tau = steps.effort(self.tau[who[each]], v)
        besides = loads.Besides(steps.acting.loop_forces(tau), near={})
        powers = loads.powers(steps.system, q, v, tau[:, : steps.system.nv], {}, {}, besides)
        return np.stack(
            [0.5 * h * (powers[source].reshape(rows, count) @ WEIGHTS) for source in SOURCES], axis=1
        )
