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

from catena.dynamics.closed.problem import LoopProblem, LoopSolution
from catena.kinematics.stacks import apply, transposed


def kkt(problem: LoopProblem) -> LoopSolution:
    """Solve by a singular value decomposition of the scaled constraints in square-root form."""
    L, _, force = problem.equations
    free = np.linalg.solve(L, force[..., None])[..., 0]
    A, scale = problem.scaled, problem.scale
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    kept = sigma > problem.tolerance[:, None] * np.max(sigma, axis=-1, initial=0.0, keepdims=True)
    inverse = np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)
    along = inverse * apply(transposed(U), -problem.gamma / scale) - kept * apply(Vt, free)
    y = free + apply(transposed(Vt), along)
    vdot = np.linalg.solve(transposed(L), y[..., None])[..., 0]
    return LoopSolution(
        vdot,
        apply(U, inverse * along) / scale,
        kept.sum(axis=-1),
        "equations of motion and constraints solved together by a singular value decomposition",
    )
