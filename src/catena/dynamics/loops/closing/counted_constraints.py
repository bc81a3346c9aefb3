"""Which constraints of the loops count, decided once for a system: those that are redundant up to the accuracy of the
model do not, and everything is computed with a plan whose loops leave them out (`kinematics.loops.near_redundancy`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from catena.dynamics.loops.closing.loop_closure import closure
from catena.dynamics.loops.formulations.certified_elimination import doubt, elimination_of, is_for
from catena.dynamics.loops.problem import LoopProblem, LoopSolution
from catena.errors import ModelError, warn
from catena.kernels.evaluation import Evaluator
from catena.kernels.teams.blas import by_one_blas_thread
from catena.kinematics import stacks
from catena.kinematics.extent import extent
from catena.kinematics.loops.closure import LoopState, loop_states, tree_motions
from catena.kinematics.loops.coupling_states import CouplingState, coupling_states
from catena.kinematics.loops.near_redundancy import NearRedundancy, looks_redundant, near_redundancy
from catena.kinematics.loops.scales import scales_of
from catena.structure import Plan, plan as planned
from catena.validation import is_not_negative, shown

# So many configurations are looked at. One will do unless the constraints happen to be redundant just there.
LOOKS = 4
# Loops are kept hard where the worst of some states is below the first part of what is trusted, and made soft where it
# is below the second. A mechanism whose solution is just trusted in one state is not in the next, nor in the same on
# another processor.
HARD, SOFT = 0.5, 0.1
# As many states are asked, which differ in their last digits (in radians or sizes of the mechanism).
PROBES, LAST_DIGITS = 16, 1e-15
# What is kept loses its control on the motion where it determines less than this part of it.
LEAST_CONTROL = 0.2


class CountedConstraints:
    """The plan of a system as it was described, and the one that is computed with.

    Both are the same until a look at the loops finds constraints that are redundant up to `accuracy`, which is said in
    a warning. It takes a configuration to look at, so it happens when loops are first computed with.
    """

    def __init__(self, described: Evaluator, neutral: np.ndarray, accuracy: float) -> None:
        if not (is_not_negative(accuracy) and accuracy <= 1e-3):
            raise ModelError(
                f"{described.plan.name!r}: accuracy is {shown(accuracy)}; give the error [rad, or part of its size] "
                f"that the dimensions of the mechanism may have, between 0 and 1e-3."
            )
        self.described, self.effective = described, described
        self.neutral, self.accuracy = neutral, accuracy
        self.found: NearRedundancy | None = None
        plan = described.plan
        self.looks = LOOKS if plan.nv and plan.total_constraints else 0
        self.tries = LOOKS if self.looks else 0

    def look(self, q: Any = None, tell: bool = True) -> bool:
        """Look at the loops at q (..., nq), or in the neutral configuration, and return whether that changed what is
        computed with; a warning tells constraints that count no more."""
        found = self.looks > 0 and self._find_redundancy(q, tell)
        return (self.tries > 0 and q is not None and self._soften(q)) or found

    @by_one_blas_thread
    def _soften(self, q: Any) -> bool:
        """Look whether loops can be eliminated at q (..., nq), and if they cannot, whether a larger regularisation
        helps; return whether that is computed with from now on.

        It does where loops hold bodies still: what passes through such a body feels the rounding errors of something as
        stiff as loops are regularised. Everywhere else it would cost digits next to singular configurations.
        """
        plan, states = self.effective.plan, np.reshape(q, (-1, len(self.neutral)))[:1]
        if not is_for(plan):
            self.tries = 0
        if not self.tries or not len(states) or not np.isfinite(states).all():
            return False
        self.tries -= 1
        if _doubt(self.effective, states) < HARD:
            return False
        soft = Evaluator(self.effective.mechanism, replace(self.effective.plan, soft=True))
        if not _doubt(soft, states) < SOFT:
            return False
        self.effective, self.tries = soft, 0
        return True

    @by_one_blas_thread
    def _find_redundancy(self, q: Any, tell: bool) -> bool:
        """Look for constraints that are redundant up to the accuracy of the model."""
        self.looks -= 1
        states = self.neutral[None] if q is None else np.reshape(q, (-1, len(self.neutral)))
        plan = self.described.plan
        if not len(states) or not looks_redundant(plan, self._measure, states[0], self.accuracy):
            return False
        # From the neutral configuration if possible, so that it does not matter what was asked for first.
        self.looks = 0
        for start in (self.neutral, states[0]):
            found = near_redundancy(self.described, self._measure, start, self.accuracy)
            if found is not None:
                self.effective = Evaluator(self.described.mechanism, found.kept.plan)
                self.found = found
                if tell:
                    warn(self._message(found))
                return True
        return False

    def in_own_plan(self) -> CountedConstraints:
        """Return those of the mechanism planned without a user's root and cuts; itself if there are none."""
        plan = self.described.plan
        if plan.root is None and not plan.cut and not plan.keep:
            return self
        mechanism = self.described.mechanism
        own = planned(mechanism)
        other = CountedConstraints(Evaluator(mechanism, own), own.neutral(), self.accuracy)
        other.look(tell=False)
        return other

    def with_evaluators(self, other: Callable[[Evaluator], Evaluator]) -> CountedConstraints:
        """Return one with the same findings and no more looks, and with other evaluators of the same plans."""
        found = CountedConstraints(other(self.described), self.neutral, self.accuracy)
        found.found, found.looks, found.tries = self.found, 0, 0
        if self.effective is not self.described:
            found.effective = other(self.effective)
        return found

    def _measure(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors (m,) of the loops as described at q (nq,), and their Jacobian (m, nv)."""
        # Velocity errors are linear in v: those of unit velocities are the columns of the Jacobian.
        position, J = closure(self.described, q, np.eye(self.described.plan.nv))
        return position[0], J.T

    def _message(self, found: NearRedundancy) -> str:
        plan = self.described.plan
        pairs = zip(plan.constraints, found.kept.plan.constraints, strict=True)
        less = [a.name for a, b in pairs if b.constraints < a.constraints]
        they = "It counts" if found.count == 1 else "They count"
        if found.count:
            many = "1 constraint is" if found.count == 1 else f"{found.count} constraints are"
            what = (
                f"{many} redundant but for an opening of the loops by {found.opening:.2g} for a motion of 1 (in "
                f"radians or sizes of the mechanism)"
            )
        else:
            what = (
                f"constraints are redundant but for a gap of {found.apart:.2g} that their loops have wherever it goes "
                f"(in radians or sizes of the mechanism)"
            )
        lost = (
            " In places what is kept hardly determines the motion: cut the loop at another joint, as in "
            "m.system(cut=[...])."
            if found.kept.determined < LEAST_CONTROL
            else ""
        )
        return (
            f"{plan.name!r}: {what}, less than the accuracy of {self.accuracy:.2g} that dimensions are trusted with. "
            f"{they} as redundant: the loops of {', '.join(map(repr, less))} leave out what they need not hold and may "
            f"stay open by about that much, and the mobility is {plan.nv - found.rank}. "
            f"s.diagnose(q) tells more, and m.system(accuracy=...) sets the accuracy.{lost}"
        )

    # What loops that leave something out say about loops as they were described.

    def kept_errors(self, q: np.ndarray, v: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the position and velocity errors (..., m) of all constraints as described, of which what is left out
        counts for nothing: the smallest that look like those of what is kept."""
        kept = [(stacks.transposed(np.linalg.pinv(B)), state) for state, B in self._states(q, v)]
        position = [stacks.apply(T, state.position) for T, state in kept]
        velocity = [stacks.apply(T, state.velocity) for T, state in kept]
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*position, *velocity)))

        def joined(parts: list[np.ndarray]) -> np.ndarray:
            return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], axis=-1)

        return joined(position), joined(velocity)

    def as_described(self, problem: LoopProblem, solution: LoopSolution) -> tuple[LoopProblem, LoopSolution]:
        """Return a problem and its solution with all constraints as described, of which no more are independent than
        those that are kept."""
        parts, at = [], 0
        for _, B in self._states(problem.q, None):
            k = B.shape[-1]
            parts.append(stacks.apply(B, solution.multipliers[:, at : at + k]))
            at += k
        whole = LoopProblem(self.described, **problem.arguments)
        whole.batch = problem.batch
        whole.rank = solution.rank
        return whole, replace(solution, multipliers=np.concatenate(parts, axis=-1))

    def _states(
        self, q: np.ndarray, v: np.ndarray | None
    ) -> list[tuple[LoopState | CouplingState, np.ndarray]]:
        """Return each loop and coupling as it is computed with, and what it keeps as a part B (..., m, k) of the
        constraint space that was described."""
        assert self.found is not None
        motions = tree_motions(self.described, q, v)
        described, effective = (
            loop_states(plan, motions, v) for plan in (self.described.plan, self.effective.plan)
        )
        result: list[tuple[LoopState | CouplingState, np.ndarray]] = []
        for a, b, turned in zip(described, effective, self.found.kept.turned, strict=True):
            F = b.Phi
            if turned:
                # From the frame on the parent's side, whose axes were turned too, to the one on the child's.
                turn = np.zeros((6, 6))
                turn[:3, :3] = turn[3:, 3:] = a.loop.parent_R.T @ b.loop.child_R
                F = -stacks.transposed(stacks.inverse(a.X)) @ (turn @ b.Phi)
            result.append((b, np.linalg.pinv(a.Phi) @ F))
        for whole, tied in zip(
            self.described.plan.couplings, coupling_states(self.effective.plan, q, v, effective), strict=True
        ):
            shape = (*tied.Phi.shape[:-2], whole.constraints, tied.loop.constraints)
            result.append((tied, np.ones(shape)))
        return result


def _doubt(evaluator: Evaluator, q: np.ndarray) -> float:
    """Return how far the elimination is from finding accelerations at rest that are trusted, at q (1, nq) and where the
    last digits of it are others, under forces of the size that would turn the whole mechanism with 1 rad/s^2; the
    worst of all. In one state it may be a thousand times better by chance where rounding decides."""
    plan = evaluator.plan
    near, tau = (np.cos(1.0 + np.arange(PROBES * n)).reshape(PROBES, n) for n in (plan.nq, plan.nv))
    near = q + LAST_DIGITS * _units(plan) * near
    moment = float(plan.inertia[1:, 0].sum()) * extent(plan) ** 2 or 1.0
    inputs = {"q": near, "qd": np.zeros_like(tau), "tau": moment * tau}
    found = evaluator.evaluate(elimination_of(plan), inputs, finite=False)
    return float(doubt(*(found[name][:, 0] for name in ("defect", "change", "before", "size"))).max())


def _units(plan: Plan) -> np.ndarray:
    """Return a radian or the size of the mechanism (nq,) for each coordinate, the smaller one where a joint has more of
    them than velocities."""
    units = np.ones(plan.nq)
    for i in range(1, plan.n):
        own = scales_of(plan).units[plan.v_of(i)]
        alike = plan.q_size[i] == plan.v_size[i]
        units[plan.q_of(i)] = own if alike else own.min(initial=1.0)
    return units
