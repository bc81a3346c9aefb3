"""Between which bounds the forces of actuated joints may lie while dry friction holds what is at rest.

Along the motions that loops allow, in square-root form, forces x of actuators and u of friction, in parts of what it
holds with, produce a motion where E x + F u = w and |u| <= 1. What actuators can do leaves x = E^+ (w - F u) and the
kernel of E; what they cannot do, friction must: A u = b. A component of x that the kernel changes has no bounds, since
other actuators can hold against it. The bounds of each other one, whatever the others give, are sums of |E^+ F| where
actuators can do everything, and else two linear programmes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.least_holding import least_within
from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import effective
from catena.errors import LoopError
from catena.kinematics.stacks import apply, transposed
from catena.questions.inverse_dynamics import ActuatedForces, Demand
from catena.thresholds import RANK_ACTUATED, RANK_EXACT, RANK_MOVING

# How far programmes may be from satisfied and from the best, in parts of what friction holds with.
EXACT = 1e-10


@dataclass(frozen=True, eq=False)
class ForceBounds:
    """Between which bounds forces of actuated joints produce accelerations that are demanded, each whatever the others
    give: where friction along rows of joints has the `effect`s (states, d, c), which may be as large as `rubbing`
    (states,), and actuators those of `acting`."""

    demand: Demand
    acting: ActuatedForces
    actuators: tuple[np.ndarray, np.ndarray]
    friction: tuple[np.ndarray, np.ndarray]

    @staticmethod
    def of(problem: LoopProblem, vdot: np.ndarray, acting: ActuatedForces, rows: np.ndarray) -> ForceBounds:
        """Return those for accelerations vdot (states, nv) and friction along rows (states, c, nv) of joints."""
        demand = Demand.of(problem, vdot)
        return ForceBounds(demand, acting, demand.effect(acting.columns), demand.effect(transposed(rows)))

    def bounds(self, middle: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Return the least and the largest forces (states, k, 2) where friction may be `middle` (states, c) and up to
        `reach` (states, c) more or less."""
        found = np.array(
            [self._required(share.bounds(), k) for k, share in enumerate(self._shares(middle, reach))]
        )
        return found.reshape(*self.acting.unit.shape, 2) * self.acting.unit[..., None]

    def at_end(
        self, middle: np.ndarray, reach: np.ndarray, motor: int, end: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the forces (states, k) of actuators and the parts (states, c) of the reach that friction has at one
        end, 0 or 1, of the bounds of one motor: those parts that do not matter there are the least."""
        forces, parts = np.zeros(self.acting.unit.shape), np.zeros(reach.shape)
        for k, share in enumerate(self._shares(middle, reach)):
            parts[k] = self._required(share.end(motor, 1.0 if end == 0 else -1.0), k)
            forces[k] = share.start - share.slope @ parts[k]
        return forces * self.acting.unit, parts

    def least(self, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return forces (states, k) of actuators and of friction besides `middle` (states, c) that produce what is
        demanded, the least of all, whatever friction can hold."""
        effect = np.concatenate([self.actuators[0], self.friction[0]], axis=-1)
        wanted = self.demand.wanted - apply(self.friction[0], middle)
        found = [np.linalg.lstsq(e, w, rcond=RANK_EXACT)[0] for e, w in zip(effect, wanted, strict=True)]
        parts = np.array(found).reshape(len(wanted), effect.shape[-1])
        motors = self.acting.unit.shape[-1]
        return parts[:, :motors] * self.acting.unit, parts[:, motors:]

    @property
    def unbounded(self) -> np.ndarray:
        """Return whether other actuators can hold against each (states, k), so that its force has no bounds."""
        nothing = np.zeros(self.friction[0].shape[::2])
        return np.array([share.unbounded for share in self._shares(nothing, nothing, False)]).reshape(
            self.acting.unit.shape
        )

    def _shares(self, middle: np.ndarray, reach: np.ndarray, meets: bool = True) -> list[_Shares]:
        (effect, size), (friction, rubbing) = self.actuators, self.friction
        wanted = self.demand.wanted - apply(friction, middle)
        rubbing = np.max(reach, axis=-1, initial=0.0) * rubbing
        found = [
            _Shares(effect[k], size[k], friction[k] * reach[k], rubbing[k], wanted[k])
            for k in range(len(size))
        ]
        if meets:
            self.demand.require_met(np.array([x.missed for x in found]), self.acting.hint)
        return found

    def _required(self, found: np.ndarray | None, state: int) -> np.ndarray:
        """Return what was found in a state, or raise where friction cannot hold what it must."""
        if found is None:
            raise LoopError(
                f"The actuators of {self.demand.problem.plan.name!r} cannot produce this motion in state {state}, not "
                f"even with all that dry friction holds. {self.acting.hint}"
            )
        return found


class _Shares:
    """What actuators (n, k) and friction (n, c) do together for what is wanted (n,) in one state: x = `start` - `slope`
    u with `across` u = `held` besides; `missed` is what neither does."""

    def __init__(
        self, effect: np.ndarray, size: float, friction: np.ndarray, rubbing: float, wanted: np.ndarray
    ) -> None:
        U, sigma, Vt = np.linalg.svd(effect)
        rank = int(np.count_nonzero(effective(sigma, np.asarray(RANK_EXACT), size)))
        push, inverse = U[:, :rank], Vt[:rank].T / sigma[:rank]
        self.start, self.slope = inverse @ (push.T @ wanted), inverse @ (push.T @ friction)
        self.unbounded = np.linalg.norm(Vt[rank:], axis=0) > RANK_ACTUATED
        left = wanted - push @ (push.T @ wanted)
        U, sigma, Vt = np.linalg.svd(friction - push @ (push.T @ friction), full_matrices=False)
        kept = sigma > RANK_MOVING * rubbing
        along = U[:, kept].T @ left
        self.across, self.held = Vt[kept], along / sigma[kept]
        self.missed = float(np.linalg.norm(left - U[:, kept] @ along))

    def bounds(self) -> np.ndarray | None:
        """Return the least and the largest x (k, 2), None where friction cannot hold what it must."""
        reach = np.sum(np.abs(self.slope), axis=-1)
        ends = np.stack([-reach, reach], axis=-1)
        if len(self.held):
            if self._most(np.zeros(self.slope.shape[-1])) is None:
                return None
            for i in np.flatnonzero((reach > 0.0) & ~self.unbounded):
                for end, sign in enumerate((1.0, -1.0)):
                    most = self._most(sign * self.slope[i] / reach[i])
                    if most is None:
                        return None
                    ends[i, end] = -sign * reach[i] * most
        ends[self.unbounded] = [-np.inf, np.inf]
        return np.asarray(self.start[:, None] + ends)

    def end(self, motor: int, sign: float) -> np.ndarray | None:
        """Return the u (c,) with the largest `sign` times slope . u of a motor, the least one where there are many."""
        reach = np.sum(np.abs(self.slope[motor]))
        direction = sign * self.slope[motor] / (reach or 1.0)
        u = np.sign(direction)
        if len(self.held):
            best = self._best(direction)
            if best is None:
                return None
            u = best
        _, sizes, ways = np.linalg.svd(np.vstack([self.across, direction]))
        return least_within(u, ways[int((sizes > RANK_MOVING).sum()) :].T)

    def _most(self, direction: np.ndarray) -> float | None:
        """Return the largest direction . u, None where there is no u."""
        best = self._best(direction)
        return None if best is None else float(direction @ best)

    def _best(self, direction: np.ndarray) -> np.ndarray | None:
        """Return a u with the largest direction . u, None where there is none."""
        from scipy.optimize import linprog

        exact = {"primal_feasibility_tolerance": EXACT, "dual_feasibility_tolerance": EXACT}
        found = linprog(-direction, A_eq=self.across, b_eq=self.held, bounds=(-1.0, 1.0), options=exact)
        return np.asarray(found.x) if found.success else None
