"""The multipliers that cause no motion: what is not unique about the reactions of redundant constraints."""

from collections.abc import Iterator

import numpy as np

from catena.dynamics.loops.problem import LoopProblem


def self_stresses(problem: LoopProblem) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each rank deficiency d > 0 that occurs, the indices of its states (k,), and multipliers (k, m, d) with
    J^T times which is zero, orthonormal in the scaled sense."""
    if not problem.plan.total_constraints:
        return
    A = problem.scaled
    U = np.linalg.svd(A, full_matrices=True)[0]
    rank = problem.rank
    for r in np.unique(rank):
        if r < A.shape[-2]:
            at = np.flatnonzero(rank == r)
            yield at, U[at][:, :, r:] / problem.scale[at][:, :, None]
