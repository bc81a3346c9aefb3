"""Between which bounds the forces of actuated joints may lie while dry friction holds what is at rest.

Along the motions that loops allow, in square-root form, forces x of actuators and u of friction, in parts of what it
holds with, produce a motion where E x + F u = w and |u| <= 1. What actuators can do leaves x = E^+ (w - F u) and the
kernel of E; what they cannot do, friction must: A u = b. A component of x that the kernel changes has no bounds, since
other actuators can hold against it. The bounds of each other one, whatever the others give, are sums of |E^+ F| where
actuators can do everything, and else two linear programmes.
"""

import numpy as np

from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import effective
from catena.errors import LoopError
from catena.kinematics.stacks import apply, transposed
from catena.questions.inverse_dynamics import ActuatedForces, Demand
from catena.thresholds import RANK_ACTUATED, RANK_EXACT, RANK_MOVING

# How far programmes may be from satisfied and from the best, in parts of what friction holds with.
EXACT = 1e-10


def force_bounds(
    problem: LoopProblem, vdot: np.ndarray, acting: ActuatedForces, rows: np.ndarray, middle: np.ndarray,
    reach: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the least and the largest forces (states, k, 2) of actuated joints that produce vdot (states, nv), each
    whatever the others give, where friction along rows (states, c, nv) of joints may be `middle` (states, c) and up to
    `reach` (states, c) more or less."""
    demand = Demand.of(problem, vdot)
    effect, size = demand.effect(acting.columns)
    friction, rubbing = demand.effect(transposed(rows))
    wanted = demand.wanted - apply(friction, middle)
    rubbing = np.max(reach, axis=-1, initial=0.0) * rubbing
    shares = [
        _Shares(effect[k], size[k], friction[k] * reach[k], rubbing[k], wanted[k])
        for k in range(problem.states)
    ]
    demand.require_met(np.array([x.missed for x in shares]), acting.hint)
    found = np.zeros((problem.states, acting.columns.shape[-1], 2))
    for k, share in enumerate(shares):
        bounds = share.bounds()
        if bounds is None:
            raise LoopError(
                f"The actuators of {problem.plan.name!r} cannot produce this motion in state {k}, not even with all "
                f"that dry friction holds. {acting.hint}"
            )
        found[k] = bounds
    return found * acting.unit[..., None]


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

    def _most(self, direction: np.ndarray) -> float | None:
        """Return the largest direction . u, None where there is no u."""
        from scipy.optimize import linprog

        exact = {"primal_feasibility_tolerance": EXACT, "dual_feasibility_tolerance": EXACT}
        found = linprog(-direction, A_eq=self.across, b_eq=self.held, bounds=(-1.0, 1.0), options=exact)
        return -float(found.fun) if found.success else None
