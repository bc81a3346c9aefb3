"""The equations of motion and the constraints solved together, whatever the rank of the constraints: the oracle
for all other formulations. Cost O(N^3).

With H = L L^T and y = L^T vdot the system H vdot = f + J^T lambda, J vdot = -gamma reads

    y = L^-1 f + A^T lambda,     A y = -gamma,     A = J L^-T,

so y is the point nearest to L^-1 f that satisfies the constraints. The singular values of A decide about the
rank; those of A A^T = J H^-1 J^T, the usual form, are their squares and show half the digits. Rows are scaled
(`LoopProblem.scale`), singular values below `LoopProblem.tolerance` times the largest count as zero, and the
multipliers are the smallest in the scaled sense that do it.
"""

import numpy as np

from catena.dynamics.loops.problem import LoopProblem, LoopSolution
from catena.dynamics.loops.square_root import constrained, solve_upper
from catena.kinematics.stacks import apply, transposed


def kkt(problem: LoopProblem) -> LoopSolution:
    """Solve by a singular value decomposition of the scaled constraints in square-root form."""
    L, free = problem.equations
    scale = problem.scale
    y, mu, rank = constrained(problem.scaled, free, -problem.gamma / scale, problem.tolerance)
    note = "equations of motion and constraints solved together by a singular value decomposition"
    return LoopSolution(solve_upper(L, y), mu / scale, rank, note)


def multipliers_of(problem: LoopProblem, vdot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest multipliers (states, m) that belong to accelerations vdot (states, nv), and the rank, for
    formulations that find vdot without them."""
    L, free = problem.equations
    missing = apply(transposed(L), vdot) - free
    zero = np.zeros((problem.states, problem.scaled.shape[-2]))
    # A^T mu = missing: project 0 on A y = A missing.
    b = np.einsum("sij,sj->si", problem.scaled, missing)
    _, mu, rank = constrained(problem.scaled, np.zeros_like(missing), b + zero, problem.tolerance)
    return mu / problem.scale, rank
