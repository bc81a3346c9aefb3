"""Joint coordinates with multipliers for the cut joints. Nikravesh, Gim, Arabyan and Rein, eq. 11 to 15 (with
M thetadd - C^T nu = f for eq. 14). Cost O(N^3).

C = D* B is what the cut joints' constraints leave of the joint velocities. Its redundant rows are eliminated by a
QR decomposition with pivoting, and what remains is solved together with the equations of motion of the tree.
"""

import numpy as np

from catena.dynamics.loops.formulations.velocity_transformation import cut_joint_constraints, transform_tree
from catena.dynamics.loops.problem import LoopProblem, LoopSolution
from catena.dynamics.loops.square_root import REFINEMENTS
from catena.kinematics.stacks import transposed


def joint_multipliers(problem: LoopProblem) -> LoopSolution:
    """Solve for joint accelerations and the multipliers of a largest independent set of constraints; the others
    get zero."""
    from scipy.linalg import lu_factor, lu_solve

    tree = transform_tree(problem)
    C, drift = cut_joint_constraints(problem, tree)
    nv = problem.plan.nv
    vdot = np.zeros((problem.states, nv))
    multipliers = np.zeros(drift.shape)
    for s in range(problem.states):
        chosen = independent_rows(problem.scaled[s], int(problem.rank[s]))
        r = len(chosen)
        scale = problem.scale[s, chosen]
        c = C[s, chosen] / scale[:, None]
        # Joint coordinates in units of their own inertia, so that the matrix is well scaled.
        unit = _units(tree.M[s])
        system = np.zeros((nv + r, nv + r))
        system[:nv, :nv] = tree.M[s] * np.outer(unit, unit)
        system[nv:, :nv] = c * unit
        system[:nv, nv:] = -transposed(c * unit)
        known = np.concatenate([tree.f[s] * unit, -drift[s, chosen] / scale])
        factors, solution = lu_factor(system), np.zeros_like(known)
        # Beside a singular configuration multipliers are huge, and what rounding leaves is solved for once more.
        for _ in range(1 + REFINEMENTS):
            solution += lu_solve(factors, known - system @ solution)
        vdot[s] = solution[:nv] * unit
        multipliers[s, chosen] = solution[nv:] / scale
    note = "joint coordinates with multipliers for the cut joints, redundant rows left out"
    return LoopSolution(vdot, multipliers, problem.rank, note)


def independent_rows(A: np.ndarray, rank: int) -> np.ndarray:
    """Indices of `rank` rows of A (m, n) that are as independent as a QR decomposition with pivoting finds them."""
    from scipy.linalg import qr

    if min(A.shape) == 0:
        return np.zeros(0, dtype=np.int64)
    order = qr(A.T, mode="r", pivoting=True)[1]
    return np.sort(order[:rank])


def _units(M: np.ndarray) -> np.ndarray:
    diagonal = np.diagonal(M)
    typical = np.max(diagonal, initial=0.0) or 1.0
    return 1.0 / np.sqrt(np.where(diagonal > 1e-12 * typical, diagonal, typical))
