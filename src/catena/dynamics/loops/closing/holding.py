"""Closing loops while some joints stay as they are, whatever the rank of the constraints.

Newton's method with the least change in the sense of kinetic energy, by a rank-revealing decomposition of J L^-T with
H = L L^T over the joints that may move. Directions that the constraints hardly see are left alone, so that nothing
jumps to another branch next to a singular configuration.
"""

from functools import cached_property

import numpy as np

from catena.descent import Descent, remembered
from catena.dynamics.loops.problem import LoopProblem, row_scales, typical_inertia
from catena.dynamics.loops.square_root import divide_lower, effective, solve_upper
from catena.kernels.evaluation import Evaluator
from catena.kinematics import integrate
from catena.kinematics.loops.closure import coordinate_rows
from catena.kinematics.loops.scales import scales_of
from catena.kinematics.stacks import apply, transposed
from catena.thresholds import RANK_SEARCHED

# Errors in rad, or in characteristic lengths.
CLOSED = 1e-13
# Joints that move no inertia count as if they moved this part of a typical one, or of what they move when bodies are
# far away, whichever is more.
LENT = 1e-12


def project_holding(
    evaluator: Evaluator, q: np.ndarray, v: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the closed states near q (states, nq), v (states, nv) in which the velocity components `held` do not
    change, and the largest position error left of each, (states,)."""
    free = np.setdiff1d(np.arange(evaluator.plan.nv), held)
    scales = scales_of(evaluator.plan)
    nearest = remembered(lambda q, which: _Nearest(LoopProblem(evaluator, q, v[which]), free))

    def newton(q: np.ndarray, which: np.ndarray) -> np.ndarray:
        return nearest(q, which).least(-nearest(q, which).errors)

    def move(q: np.ndarray, y: np.ndarray, which: np.ndarray) -> np.ndarray:
        step = np.zeros((len(q), v.shape[-1]))
        step[:, free] = y
        return evaluator.evaluate(integrate, {"q": q, "qd": step})["q_next"]

    there, left = Descent(
        lambda q, which: scales.errors(nearest(q, which).errors), None, move, newton=newton
    )(q, CLOSED)  # fmt: skip
    found, change = nearest(there, np.arange(len(q))), np.zeros_like(v)
    change[:, free] = found.least(-np.einsum("smn,sn->sm", found.problem.J, v))
    return found.problem.q, v + change, left


class _Nearest:
    """The least changes of velocity components `free` at the states of a problem, which is decomposed once: most of
    the time goes there."""

    def __init__(self, problem: LoopProblem, free: np.ndarray) -> None:
        self.problem, self.free = problem, free

    @cached_property
    def errors(self) -> np.ndarray:
        """Return the errors (states, m) of the loops."""
        return np.concatenate([state.position for state in self.problem.rows], axis=-1)

    def least(self, b: np.ndarray) -> np.ndarray:
        """Return the x (states, free) of least x^T H x with J x = b (states, m), in the sense of least squares."""
        L, scale, U, sigma, Vt = self._decomposed
        kept = effective(sigma, np.full(len(sigma), RANK_SEARCHED))
        along = apply(transposed(U), b / scale) * np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)
        return solve_upper(L, apply(transposed(Vt), along))

    @cached_property
    def _decomposed(self) -> tuple[np.ndarray, ...]:
        """Return the root L of H = L L^T, the scales of the rows of J, and J L^-T in these scales as U sigma Vt."""
        problem, free = self.problem, self.free
        H, J = problem.H[:, free[:, None], free], problem.J[:, :, free]
        typical = typical_inertia(
            coordinate_rows(problem.plan, problem.motions.S_rows), problem.mass, problem.length
        )[:, free]
        lent = LENT * np.maximum(typical, np.diagonal(H, axis1=-2, axis2=-1))
        L = np.linalg.cholesky(H + lent[:, None, :] * np.eye(len(free)))
        scale = row_scales(problem.rows, L, problem.length, free)
        A = transposed(divide_lower(L, transposed(J))) / scale[..., None]
        return L, scale, *np.linalg.svd(A, full_matrices=False)
