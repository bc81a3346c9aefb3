"""Minimal coordinates: as many equations as the closed mechanism has degrees of freedom. Nikravesh, Gim, Arabyan
and Rein, eq. 16 to 25 (with -C_d^-1 C' thetadot in eq. 25). Cost O(N^3).

    thetadot = E thetadot_i,   M' = E^T M E,   f' = E^T (f - M E' thetadot_i),   M' thetadd_i = f'

Which coordinates are independent is decided by a QR decomposition of C with pivoting over coordinates, each in
units of its own inertia: the ones that C determines best become dependent.
"""

from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.formulations.kkt import multipliers_of
from catena.dynamics.loops.formulations.velocity_transformation import cut_joint_constraints, transform_tree
from catena.dynamics.loops.problem import LoopProblem, LoopSolution
from catena.errors import SingularDynamicsError


@dataclass(frozen=True, eq=False)
class Partition:
    """Independent coordinates of one state: their indices (d,), E (nv, d), and E' thetadot_i (nv,)."""

    independent: np.ndarray
    E: np.ndarray
    drift: np.ndarray


def minimal(problem: LoopProblem) -> LoopSolution:
    """Solve for the accelerations of independent coordinates, state by state, since each may choose its own."""
    tree = transform_tree(problem)
    C, drift = cut_joint_constraints(problem, tree)
    scale = problem.scale
    vdot = np.zeros((problem.states, problem.plan.nv))
    for s in range(problem.states):
        M, f = tree.M[s], tree.f[s]
        unit = 1.0 / np.linalg.norm(problem.equations[0][s], axis=-1)
        part = partition(C[s] / scale[s][:, None], drift[s] / scale[s], unit, int(problem.rank[s]))
        E = part.E
        reduced = E.T @ M @ E
        try:
            thetadd = np.linalg.solve(reduced, E.T @ (f - M @ part.drift))
        except np.linalg.LinAlgError:
            raise SingularDynamicsError(
                f"{problem.plan.name!r} has a motion that its loops allow and that moves no inertia. Give the bodies "
                f"that take part mass and inertia, or lock a joint."
            ) from None
        vdot[s] = E @ thetadd + part.drift
    multipliers, rank = multipliers_of(problem, vdot)
    return LoopSolution(vdot, multipliers, rank, "minimal coordinates, chosen by a pivoted QR decomposition")


def partition(C: np.ndarray, drift: np.ndarray, unit: np.ndarray, rank: int) -> Partition:
    """Split the coordinates of C (m, nv) into dependent and independent ones.

    `drift` (m,) is C' thetadot, `unit` (nv,) the unit in which each coordinate counts, `rank` the rank of C. With
    C P = Q [R_d R_i] the dependent coordinates are -R_d^-1 R_i times the independent ones, which covers redundant
    rows.
    """
    from scipy.linalg import qr, solve_triangular

    nv = C.shape[1]
    if min(C.shape) == 0:
        return Partition(np.arange(nv), np.eye(nv), np.zeros(nv))
    Q, R, order = qr(C * unit, mode="economic", pivoting=True)
    r = rank
    dependent, independent = order[:r], np.sort(order[r:])
    place = {int(k): j for j, k in enumerate(order)}
    R_i = R[:r][:, [place[int(k)] for k in independent]]
    E = np.zeros((nv, nv - r))
    E[independent, np.arange(nv - r)] = 1.0
    E[dependent] = -solve_triangular(R[:r, :r], R_i) * unit[dependent][:, None] / unit[independent]
    known = np.zeros(nv)
    known[dependent] = -solve_triangular(R[:r, :r], Q[:, :r].T @ drift) * unit[dependent]
    return Partition(independent, E, known)
