"""Closed chains by elimination on the graph, compiled in lanes (`dynamics.loop_elimination`): what "auto" takes.

Each state comes with the defect of its solution, the square sum of what is missing in the equations of motion
and constraints as parts of what is at work in them. A solution that satisfies both is the right one, because H is
positive definite; states whose defect is too large, near singular configurations or among loops that interlock
deeply, are solved again by the rank-revealing decomposition of `kkt`.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.closed.kkt import kkt
from catena.dynamics.closed.problem import LoopProblem, LoopSolution
from catena.dynamics.loop_elimination import loop_elimination
from catena.joints import JointKind
from catena.structure import Plan

# Forces and accelerations that are missing, as a part of those at work.
TRUSTED = 1e-10


def elimination(problem: LoopProblem) -> LoopSolution:
    """Solve by elimination, and by `kkt` where that is not exact enough or the mechanism not one for it."""
    if not is_for(problem.plan):
        return kkt(problem)
    given = problem.given
    inputs = {
        "q": given["q"],
        "qd": given["v"],
        "tau": given["tau"],
        "f_ext": given["f_ext"],
        "a_base": given["a_base"],
    }
    result = problem.runner.evaluate(loop_elimination, inputs, finite=False)
    vdot, multipliers = result["qdd"], _in_order(problem.plan, result["total"])
    doubtful = ~(result["defect"][:, 0] < TRUSTED**2)
    rank = np.full(problem.states, -1)
    if np.any(doubtful):
        rest: Any = {n: None if x is None else x[doubtful] for n, x in given.items()}
        exact = kkt(LoopProblem(problem.runner, **rest))
        vdot[doubtful], multipliers[doubtful], rank[doubtful] = exact.vdot, exact.multipliers, exact.rank
    by_kkt = f"{int(doubtful.sum())} of {problem.states} states by a singular value decomposition"
    note = f"elimination on the graph; {by_kkt}"
    return LoopSolution(vdot, multipliers, rank, note)


@lru_cache(maxsize=64)
def is_for(plan: Plan) -> bool:
    """Whether the elimination knows the joints that close the loops, and every body has inertia by itself."""
    mass = plan.inertia[1:, 0]
    about = plan.inertia[1:, [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(-1, 3, 3)
    if not (np.all(mass > 0.0) and np.all(np.linalg.eigvalsh(about)[:, 0] > 0.0)):
        return False
    return all(_is_known(loop.kind, bool(loop.constraints), bool(np.any([*loop.damping, *loop.friction])))
               for loop in plan.loop_joints)  # fmt: skip


def _is_known(kind: JointKind, constrains: bool, rubs: bool) -> bool:
    if kind.finds_coordinates_of_symbols:
        return True
    return (not constrains or kind.resists_alike) and (not rubs or kind.moves_alike)


def _in_order(plan: Plan, total: np.ndarray) -> np.ndarray:
    """Multipliers (states, m) of all constraints in the order of the loops, from those (states, loops, 6) of the
    elimination, which writes forces on the other side of the equations of motion."""
    parts = [-total[:, k, : loop.constraints] for k, loop in enumerate(plan.loop_joints)]
    return np.concatenate(parts, axis=-1) if parts else np.zeros((len(total), 0))
