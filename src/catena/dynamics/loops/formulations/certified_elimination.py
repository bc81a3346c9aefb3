"""Closed chains by elimination on the graph, compiled in lanes (`dynamics.loops.elimination`): what "auto" takes.

Each state comes with the defect of its solution, the square sum of what is missing in the equations of motion
and constraints, as parts of all that was summed up in them, which does not vanish where the sum does. A
solution that satisfies both is the right one, if the motion is determined. But a constraint that is weak
beside the others, as next to a singular configuration, can be missed altogether and hardly show; it is found
slowly, so that refinements go on changing the solution. States with too large a defect or change (there, among
loops that interlock deeply, or where loops hold a part of the mechanism still) are solved again by the
rank-revealing decomposition of `kkt`; so is the first state where bodies are lent inertia (`lending`), because only
that tells whether the loops determine how they move.
"""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from catena.dynamics.loops.elimination import borrowers, loop_elimination, shape_for
from catena.dynamics.loops.elimination.magnitudes import TRUSTED_CHANGE, TRUSTED_DEFECT
from catena.dynamics.loops.formulations.kkt import kkt, multipliers_of
from catena.dynamics.loops.problem import LoopProblem, LoopSolution
from catena.joints import JointKind
from catena.kernels import Algorithm
from catena.structure import Plan
from catena.structure.stations import has_many_modes


def is_trusted(defect: Any, change: Any, before: Any, size: Any) -> Any:
    """Return whether a solution satisfies the equations and has settled; numbers or arrays.

    Refinements converge linearly: after the last two changed the accelerations by `before` and `change`, the next would
    by change^2 / before. Where they do not converge, because all that is left is rounding or because they go on for
    long, the next is taken to change as much as the last.
    """
    allowed = TRUSTED_CHANGE * size
    return (defect < TRUSTED_DEFECT) & ((change <= allowed) | (change * change <= allowed * before))


def doubt(defect: np.ndarray, change: np.ndarray, before: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return how far solutions are from being trusted: 1 at the edge, less for those that are, more for those that are
    not, and infinite where there is no solution."""
    allowed = TRUSTED_CHANGE * size
    with np.errstate(divide="ignore", invalid="ignore"):
        settled = np.fmin(change / allowed, change * change / (allowed * before))
        found = np.maximum(np.sqrt(defect / TRUSTED_DEFECT), np.where(change > 0.0, settled, 0.0))
    return np.where(np.isfinite(found), found, np.inf)


def in_doubt(plan: Plan, result: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return which states (states,) have to be solved again: those whose solution is not trusted. Where bodies are lent
    inertia, the first state too, because only a rank-revealing decomposition sees whether the loops determine how
    they move."""
    certificate = (result[name].reshape(-1) for name in ("defect", "change", "before", "size"))
    doubtful = ~is_trusted(*certificate)
    if borrowers(plan):
        doubtful[:1] = True
    return np.asarray(doubtful)


class EliminationSolution(LoopSolution):
    """Accelerations by elimination. The smallest multipliers that belong to them, and the rank, are found when they are
    asked for."""

    def __init__(self, problem: LoopProblem, vdot: np.ndarray, note: str, handed_over: np.ndarray) -> None:
        known = {"problem": problem, "vdot": vdot, "note": note, "handed_over": handed_over}
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _smallest(self) -> tuple[np.ndarray, np.ndarray]:
        problem: LoopProblem = self.problem  # type: ignore[attr-defined]
        return multipliers_of(problem, self.vdot)

    @property
    def multipliers(self) -> np.ndarray:
        return self._smallest[0]

    @property
    def rank(self) -> np.ndarray:
        return self._smallest[1]


def elimination(problem: LoopProblem) -> LoopSolution:
    """Solve by elimination, and by `kkt` where that is not exact enough or the mechanism not one for it."""
    if not is_for(problem.plan):
        return kkt(problem)
    return mended(
        problem, problem.evaluator.evaluate(elimination_of(problem.plan), problem.inputs, finite=False)
    )


def mended(problem: LoopProblem, result: Mapping[str, np.ndarray]) -> LoopSolution:
    """Solve by `kkt` what the elimination found no certain `result` for; its accelerations are written to."""
    vdot = result["qdd"].reshape(problem.states, problem.plan.nv)
    doubtful = in_doubt(problem.plan, result)
    if np.any(doubtful):
        vdot[doubtful] = kkt(problem.some(np.flatnonzero(doubtful))).vdot
    by_kkt = f"{int(doubtful.sum())} of {problem.states} states by a singular value decomposition"
    return EliminationSolution(problem, vdot, f"elimination on the graph; {by_kkt}", np.flatnonzero(doubtful))


@lru_cache(maxsize=64)
def is_for(plan: Plan) -> bool:
    """Return whether the elimination knows the joints that close the loops, and no body has so many modes that code for
    their number would be long."""
    return knows_joints(plan) and not has_many_modes(plan)


def elimination_of(plan: Plan) -> Algorithm:
    """Return the elimination for a plan, with modes where bodies are flexible."""
    return loop_elimination(shape_for(plan))


def knows_joints(plan: Plan) -> bool:
    """Return whether there are formulas for the joints that close the loops."""
    if plan.couplings and not all(loop.kind.finds_coordinates_of_symbols for loop in plan.loop_joints):
        return False
    if any(loop.kind.nv > 1 and loop.armature.any() for loop in plan.loop_joints):
        return False
    return all(
        _is_known(loop.kind, bool(loop.constraints), bool(np.any([*loop.damping, *loop.friction])))
        for loop in plan.loop_joints
    )


def _is_known(kind: JointKind, constrains: bool, rubs: bool) -> bool:
    if kind.finds_coordinates_of_symbols:
        return True
    return (not constrains or kind.has_constant_constraint_space) and (
        not rubs or kind.has_constant_motion_space
    )
