"""Where a mechanism stays at rest: statics with loops, springs, gravity and constant joint forces.

Motions that loops allow are told in a basis N with N^T H N = 1. At rest the joint forces g that nothing gives vanish
along them, N^T g = 0, and their derivative by steps along N is the stiffness. Newton's method on it finds an
equilibrium of any sort; with the absolute values of its eigenvalues the same step goes downhill, to a stable one.
"""

from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.motion_problem import motion_problem
from catena.dynamics.loops.square_root import divide_upper, effective
from catena.errors import SimulationError, StateError
from catena.questions.actuator_limits import ActuatorLimits
from catena.questions.response import Responder
from catena.validation import is_one_of, shown

STEPS = 200
# No joint moves farther in one step [rad or m], and forces less than this part of those that act are none.
FARTHEST, BALANCED = 0.5, 1e-11
# A stiffness below this part of the largest, or of what gravity makes of the mechanism, is none.
NEUTRAL = 1e-9
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A configuration q (nq,) at rest: `stability` is "stable", "unstable" or "neutral" (some direction costs nothing
    to first order), `stiffness` (d,) the eigenvalues of the stiffness in units of inertia [1/s^2], smallest first,
    `multipliers` (m,) the smallest forces in the constraints, `unbalanced` what is left of the forces as a part of
    those that act, `steps` how many it took."""

    q: np.ndarray
    stability: str
    stiffness: np.ndarray
    multipliers: np.ndarray
    unbalanced: float
    steps: int

    @property
    def stable(self) -> bool:
        """Return whether the mechanism comes back, or stays near, when it is pushed a little."""
        return self.stability == "stable"


def equilibrium(responder: Responder, guess: np.ndarray, tau: np.ndarray, seek: str) -> Equilibrium:
    """Return the equilibrium near a guess; `seek` is "any" or "stable"."""
    if not is_one_of(seek, ("any", "stable")):
        raise StateError(f"seek is {shown(seek)}; choose 'any' or 'stable'.")
    # Actuators give what they can of what they are asked for.
    model = responder.model
    tau = ActuatorLimits.of(model.mechanism, model.plan).limited(tau, np.zeros(model.nv))
    q = model.closed(guess)
    held = _RestState(responder, q, tau)
    for step in range(STEPS):
        if held.balanced:
            return held.equilibrium(step)
        q = held.next(seek)
        last, held = held, _RestState(responder, q, tau)
        stuck = np.array_equal(last.q, held.q)
        if (stuck or step > STEPS // 2) and min(last.unbalanced, held.unbalanced) <= 1e-8:
            return min((last, held), key=lambda x: x.unbalanced).equilibrium(step + 1)
    raise SimulationError(
        f"{model.mechanism.name!r}: no equilibrium was found near the guess in {STEPS} steps; "
        f"{held.unbalanced:.3g} of the forces is left unbalanced. Give a guess nearer to one, or seek='stable'; a "
        f"mechanism that gravity can move without end has none."
    )


class _RestState:
    """Forces and stiffness at one configuration at rest."""

    def __init__(self, responder: Responder, q: np.ndarray, tau: np.ndarray) -> None:
        model = responder.model
        self.model, self.q, self.tau = model, q, tau
        rest = np.zeros((1, model.nv))
        model.settle(q)
        problem = motion_problem(model.evaluator, q[None])
        L = problem.equations[0][0]
        U, sigma, Vt = np.linalg.svd(problem.scaled[0])
        kept = effective(sigma, problem.tolerance)[..., :] if sigma.size else sigma.astype(bool)
        rank = int(np.count_nonzero(kept))
        self.N = divide_upper(L, Vt[rank:].T)
        residual = responder.residual((), True, ())
        rows = {"q": q[None], "v": rest, "vdot": rest}
        force = residual.values(rows)["free"][0] - tau
        along = Vt[:rank] @ np.linalg.solve(L, force)
        self.multipliers = (U[:, :rank] @ (along / sigma[:rank])) / problem.scale[0]
        self.g = self.N.T @ force
        pushed = residual.derivatives(rows, self.multipliers[None])["R1_q"][0]
        self.K = self.N.T @ pushed @ self.N
        gravity = float(np.linalg.norm(model.mechanism.gravity))
        self.typical = gravity / problem.length
        # Forces at joints and elsewhere may balance each other, and are felt all the same.
        own = [model.elements.at_joints(q, rest[0], some) for some in model.elements.by_site if some]
        parts = [np.linalg.norm(self.N.T @ x) for x in (force, tau, *own)]
        acting = np.sqrt(problem.mass) * gravity + sum(parts)
        left, stiffness = float(np.linalg.norm(self.g)), np.linalg.norm(self.K, 2) if self.K.size else 0.0
        # Where nothing acts any more, as at the free length of a spring, forces are rounding of the configuration.
        rounding = EPS * stiffness * np.sqrt(problem.mass) * problem.length
        self.nearest = -np.linalg.pinv(self.K, rcond=NEUTRAL) @ self.g
        off = np.max(np.abs(self.N @ self.nearest), initial=0.0)
        here = off <= 4.0 * EPS * max(np.max(np.abs(q), initial=0.0), min(1.0, problem.length))
        nothing = max(BALANCED * acting, rounding)
        self.balanced = left <= BALANCED * acting or (
            here and float(np.linalg.norm(self.g + self.K @ self.nearest)) <= nothing
        )
        size = acting + rounding / BALANCED
        self.unbalanced = left / size if size > 0.0 else 0.0

    def next(self, seek: str) -> np.ndarray:
        """Return the configuration (nq,) that a step of Newton's method, or one downhill, leads to."""
        if seek == "any":
            step = self.nearest
        else:
            stiffness, directions = np.linalg.eigh(0.5 * (self.K + self.K.T))
            floor = max(NEUTRAL * np.max(np.abs(stiffness), initial=0.0), 1e-3 * self.typical, 1e-12)
            step = -directions @ ((directions.T @ self.g) / np.maximum(np.abs(stiffness), floor))
        move = self.N @ step
        largest = np.max(np.abs(move), initial=0.0)
        move *= min(1.0, FARTHEST / largest) if largest > 0.0 else 1.0
        before = self._energy(self.q)
        for _ in range(30):
            q = self.model.moved(self.q, move)
            rounding = 1e-12 * max(abs(before), abs(self._energy(q)))
            if seek == "any" or np.any(self.tau) or self._energy(q) <= before + rounding:
                return q
            move = 0.5 * move
        return self.q

    def _energy(self, q: np.ndarray) -> float:
        return float(self.model.potential_energy(q) + self.model.elements.energy(q[None])[0])

    def equilibrium(self, steps: int) -> Equilibrium:
        """Return the equilibrium that was found."""
        stiffness = np.sort(np.linalg.eigvals(self.K).real)
        size = max(np.max(np.abs(stiffness), initial=0.0), self.typical)
        if np.any(stiffness < -NEUTRAL * size):
            stability = "unstable"
        else:
            stability = "neutral" if np.any(stiffness <= NEUTRAL * size) else "stable"
        return Equilibrium(self.q, stability, stiffness, self.multipliers, self.unbalanced, steps)
