"""Independent coordinates, as many as the closed mechanism has degrees of freedom. Nikravesh, Gim, Arabyan and Rein,
eq. 16 to 26.

    positions     C_d dtheta_d = -e, repeated until the loops are closed (eq. 26), the independent ones held
    velocities    thetadot_d = -C_d^-1 C_i thetadot_i (eq. 22)

So loops are closed in every state that the solver sees, and nothing drifts. Which coordinates are independent is kept
as long as they determine the others well; next to where they do not, others are taken, and that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catena.dynamics.loops.independent import component_names, independent_components
from catena.errors import LoopError
from catena.kinematics.loops.scales import scales_of
from catena.simulation.stepping.charts.chart import Charted
from catena.simulation.stepping.charts.joint import Imposed, JointChart
from catena.system import System
from catena.system.velocity_transformation import velocity_transformation
from catena.thresholds import RANK_SEARCHED

# Others become independent where a dependent coordinate moves so many times as far as the independent ones, in units
# of their inertias.
GROWTH = 50.0
# Loops are closed to this [rad or sizes of the mechanism] and at most so many corrections are made.
CLOSED, CORRECTIONS = 1e-13, 12
# What corrections cannot better is closed if it is below this.
ENOUGH = 1e-11

Told = Callable[[float, list[str], list[str]], None]
"""Who is told at which time which coordinates were independent, and which are from then on."""


class MinimalChart:
    """Local coordinates and velocities of independent components, y = (xi_i, v_i) (2 d,). `names` are joints, or their
    components, whose coordinates are independent as long as they can be; those that are `driven` (nv,) are known."""

    def __init__(
        self, system: System, imposed: Imposed | None, driven: np.ndarray, names: Sequence[str] | None, told: Told
    ) -> None:  # fmt: skip
        self.joints, self.system, self.driven, self.told = JointChart(system, imposed), system, driven, told
        self.names = names
        self.free = np.flatnonzero(~driven)
        self.independent: np.ndarray | None = None
        self.dependent = np.zeros(0, dtype=np.int64)
        self._near, self._slope = np.zeros(system.nv), np.zeros((0, 0))
        self._unit = np.ones(system.nv)

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Begin at a time and a closed state q (nq,), v (nv,), and return its coordinates (2 d,)."""
        before = self.independent
        C = self._closure(q[None])[1][0]
        inertia = np.diagonal(self.system.mass_matrix(q))
        self._unit = 1.0 / np.sqrt(np.maximum(inertia, 1e-12 * max(inertia.max(initial=0.0), 1e-300)))
        if before is None and self.names is not None:
            self._take(self._named(q, C))
        elif before is None or self._growth(C) > GROWTH:
            self._take(self._best(C))
        if before is not None and not np.array_equal(before, self._chosen):
            plan = self.system.plan
            self.told(t, component_names(plan, before), component_names(plan, self._chosen))
        self.joints.begin(t, q, v)
        self._near, self._slope = np.zeros(self.system.nv), self._slopes(C[None])[0]
        return np.concatenate([np.zeros(len(self._chosen)), v[self._chosen]])

    def states(self, t: float, y: np.ndarray) -> Charted:
        """Return the closed states at a time whose independent components have coordinates y (rows, 2 d)."""
        own, others, d = self._chosen, self.dependent, len(self._chosen)
        xi, v = np.tile(self._near, (len(y), 1)), np.zeros((len(y), self.system.nv))
        xi[:, own] = y[:, :d]
        xi[:, others] += (y[:, :d] - self._near[own]) @ self._slope.T
        v[:, own] = y[:, d:]
        at = Charted(*self.joints.placed(t, xi, v), xi)
        if not len(others):
            return at
        scales, worst = scales_of(self.system.plan), np.full(len(y), np.inf)
        for _ in range(CORRECTIONS):
            e, C = self._closure(at.q)
            before, worst = worst, np.max(np.abs(scales.errors(e)), axis=-1)
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
        C = self._closure(at.q)[1]
        slope = self._slopes(C @ self._tangents(at))[0]
        self._near, self._slope = at.local[0].copy(), slope
        return self.joints.is_spent(at) or self._growth(C[0]) > GROWTH

    def gap(self, y: np.ndarray, at: Charted) -> float:
        """Return nothing: joints have bodies where they want them."""
        return 0.0

    @property
    def _chosen(self) -> np.ndarray:
        assert self.independent is not None
        return self.independent

    def _closure(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far loops are open at q (rows, nq), (rows, m), and their constraints (rows, m, nv): the speeds at
        which each component alone opens them, in lanes."""
        e, C = self.system.closure(q[:, None], np.eye(self.system.nv))
        return e[:, 0], np.ascontiguousarray(np.swapaxes(C, -1, -2))

    def _tangents(self, at: Charted) -> np.ndarray:
        """Return the velocities (rows, nv, nv) that local coordinates have when they move at 1."""
        nv = self.system.nv
        if not self.joints.curved:
            return np.broadcast_to(np.eye(nv), (len(at.q), nv, nv))
        rows = Charted(at.q, at.v, np.repeat(at.local, nv, axis=0))
        rates = self.joints.local_rates(rows, np.tile(np.eye(nv), (len(at.q), 1)))
        return np.linalg.inv(np.swapaxes(rates.reshape(len(at.q), nv, nv), -1, -2))

    def _take(self, independent: np.ndarray) -> None:
        self.independent = independent
        self.dependent = np.setdiff1d(self.free, independent)

    def _slopes(self, C: np.ndarray) -> np.ndarray:
        """Return how dependent coordinates follow the independent ones, (rows, r, d), for constraints (rows, m, nv)."""
        if not len(self.dependent):
            return np.zeros((len(C), 0, len(self._chosen)))
        return -np.linalg.pinv(C[:, :, self.dependent], rcond=RANK_SEARCHED) @ C[:, :, self._chosen]

    def _growth(self, C: np.ndarray) -> float:
        """Return how far dependent coordinates go beside the independent ones, in units of their inertias; infinite
        where those do not determine them."""
        if not len(self.dependent):
            return 0.0
        A = scales_of(self.system.plan).jacobian(C)[:, self.dependent]
        s = np.linalg.svd(A, compute_uv=False)
        if len(A) < len(self.dependent) or s[-1] <= RANK_SEARCHED * s[0]:
            return np.inf
        slope = self._slopes(C[None])[0] * self._unit[self._chosen] / self._unit[self.dependent, None]
        return float(np.max(np.abs(slope), initial=0.0))

    def _best(self, C: np.ndarray) -> np.ndarray:
        """Return the components that constraints C (m, nv) determine worst, which determine all others best."""
        from scipy.linalg import qr

        scales = scales_of(self.system.plan)
        A = scales.jacobian(C)[:, self.free]
        if not A.size:
            return self.free
        s = np.linalg.svd(A, compute_uv=False)
        rank = int(np.count_nonzero(s > RANK_SEARCHED * max(s[0], 1.0)))
        weighed = A / scales.units[self.free] * self._unit[self.free]
        order = qr(weighed, mode="r", pivoting=True)[1]
        return np.sort(self.free[order[rank:]])

    def _named(self, q: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return the components of the joints that were named, which determine others with those that are driven."""
        assert self.names is not None
        plan = self.system.plan
        asked = independent_components(plan, self.names)
        clash = asked[self.driven[asked]]
        if len(clash):
            raise LoopError(
                f"independent: the motion of {component_names(plan, clash)} is prescribed; name others."
            )
        if not self.driven.any():
            # What does not determine the others is refused there in words.
            velocity_transformation(self.system, q, independent=component_names(plan, asked))
        self._take(asked)
        if len(asked) != len(self._best(C)) or self._growth(C) == np.inf:
            raise LoopError(
                f"independent = {component_names(plan, asked)} do not determine how {plan.name!r} moves beside the "
                f"joints whose motion is prescribed: name as many components as there are free motions, "
                f"{len(self._best(C))}."
            )
        return asked
