"""Independent coordinates, as many as the closed mechanism has degrees of freedom. Nikravesh, Gim, Arabyan and Rein,
eq. 16 to 26.

    positions     C_d dtheta_d = -e, repeated until the loops are closed (eq. 26), the independent ones held
    velocities    thetadot_d = -C_d^-1 C_i thetadot_i (eq. 22)

So loops are closed in every state that the solver sees, and nothing drifts. Which coordinates are independent is kept
as long as they determine the others well; next to where they do not, others are taken, and that is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catena.kinematics.loops.scales import scales_of
from catena.simulation.stepping.charts.chart import Charted
from catena.simulation.stepping.charts.joint import Imposed, JointChart
from catena.simulation.stepping.independent import GROWTH, IndependentComponents, OnChange
from catena.system import System
from catena.thresholds import RANK_SEARCHED

# Loops are closed to this [rad or sizes of the mechanism] and at most so many corrections are made.
CLOSED, CORRECTIONS = 1e-13, 12
# What corrections cannot better is closed if it is below this.
ENOUGH = 1e-11


class MinimalChart:
    """Local coordinates and velocities of independent components, y = (xi_i, v_i) (2 d,). `names` are joints, or their
    components, whose coordinates are independent as long as they can be; those that are `driven` (nv,) are known."""

    def __init__(
        self, system: System, imposed: Imposed | None, driven: np.ndarray,
        names: Sequence[str] | None, on_change: OnChange
    ) -> None:  # fmt: skip
        self.joints, self.system = JointChart(system, imposed), system
        self.components = IndependentComponents(system, driven, names, on_change)
        self._near, self._slope = np.zeros(system.nv), np.zeros((0, 0))

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Begin at a time and a closed state q (nq,), v (nv,), and return its coordinates (2 d,)."""
        C = self.components.choose(t, q)
        self.joints.begin(t, q, v)
        self._near, self._slope = np.zeros(self.system.nv), self.components.slopes(C[None])[0]
        return np.concatenate([np.zeros(len(self._chosen)), v[self._chosen]])

    def states(self, t: float, y: np.ndarray) -> Charted:
        """Return the closed states at a time whose independent components have coordinates y (rows, 2 d)."""
        own, others, d = self._chosen, self.components.dependent, len(self._chosen)
        xi, v = np.tile(self._near, (len(y), 1)), np.zeros((len(y), self.system.nv))
        xi[:, own] = y[:, :d]
        xi[:, others] += (y[:, :d] - self._near[own]) @ self._slope.T
        v[:, own] = y[:, d:]
        at = Charted(*self.joints.placed(t, xi, v), xi)
        if not len(others):
            return at
        scales, worst = scales_of(self.system.plan), np.full(len(y), np.inf)
        for _ in range(CORRECTIONS):
            e, C = self.components.closure(at.q)
            before, worst = worst, scales.largest(e)
            if np.all((worst <= CLOSED) | ((worst <= ENOUGH) & (worst > 0.5 * before))):
                break
            steps = np.linalg.pinv((C @ self._tangents(at))[:, :, others], rcond=RANK_SEARCHED)
            xi = xi.copy()
            xi[:, others] -= np.einsum("sij,sj->si", steps, e)
            at = Charted(*self.joints.placed(t, xi, v), xi)
        q, v = at.q.copy(), at.v.copy()
        known = np.einsum("sij,sj->si", C, v)
        v[:, others] -= np.einsum("sij,sj->si", np.linalg.pinv(C[:, :, others], rcond=RANK_SEARCHED), known)
        # What cannot be closed is no state: the solver takes a shorter step.
        q[worst > ENOUGH] = np.nan
        return Charted(q, v, xi)

    def rates(self, at: Charted, vdot: np.ndarray) -> np.ndarray:
        """Return the rates (rows, 2 d) of coordinates at states that accelerate by vdot (rows, nv)."""
        return np.concatenate(
            [self.joints.local_rates(at, at.v)[:, self._chosen], vdot[:, self._chosen]], axis=1
        )

    def is_spent(self, at: Charted) -> bool:
        """Return whether something has turned far, or the independent coordinates hardly determine others; the next
        states are found from this one."""
        C = self.components.closure(at.q)[1]
        slope = self.components.slopes(C @ self._tangents(at))[0]
        self._near, self._slope = at.local[0].copy(), slope
        return self.joints.is_spent(at) or self.components.growth(C[0]) > GROWTH

    def gap(self, y: np.ndarray, at: Charted) -> float:
        """Return nothing: joints have bodies where they want them."""
        return 0.0

    def _tangents(self, at: Charted) -> np.ndarray:
        """Return the velocities (rows, nv, nv) that local coordinates have when they move at 1."""
        nv = self.system.nv
        if not self.joints.curved:
            return np.broadcast_to(np.eye(nv), (len(at.q), nv, nv))
        rows = Charted(at.q, at.v, np.repeat(at.local, nv, axis=0))
        rates = self.joints.local_rates(rows, np.tile(np.eye(nv), (len(at.q), 1)))
        return np.linalg.inv(np.swapaxes(rates.reshape(len(at.q), nv, nv), -1, -2))

    @property
    def _chosen(self) -> np.ndarray:
        return self.components.chosen
