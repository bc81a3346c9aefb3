"""Closing loops while some joints stay as they are, whatever the rank of the constraints.

Newton's method with the least change in the sense of kinetic energy, by a rank-revealing decomposition of J L^-T with
H = L L^T over the joints that may move. Directions that the constraints hardly see are left alone, so that nothing
jumps to another branch next to a singular configuration.
"""

import numpy as np

from catena.dynamics.closed.problem import LoopProblem
from catena.dynamics.closed.square_root import divide_lower, solve_upper
from catena.kinematics import integrate
from catena.system.evaluation import Evaluator

CLOSED = 1e-13
STEPS = 12
# Singular values below this part of the largest count as zero.
RANK = 1e-7


def project_holding(
    evaluator: Evaluator, q: np.ndarray, v: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The closed states near q (states, nq), v (states, nv) in which the velocity components `held` do not change, and
    the largest position error left of each, (states,)."""
    free = np.setdiff1d(np.arange(evaluator.plan.nv), held)
    problem = LoopProblem(evaluator, q, v)
    before = _errors(problem)
    for _ in range(STEPS):
        step = np.zeros_like(v)
        step[:, free] = _least(problem, free, -before)
        trial = LoopProblem(
            evaluator, evaluator.evaluate(integrate, {"q": problem.q, "qd": step})["q_next"], v
        )
        after = _errors(trial)
        if not np.any(_worst(after) < _worst(before)):
            break
        problem, before = trial, after
        if np.all(_worst(before) < CLOSED):
            break
    change = np.zeros_like(v)
    change[:, free] = _least(problem, free, -np.einsum("smn,sn->sm", problem.J, v))
    return problem.q, v + change, _worst(before)


def _errors(problem: LoopProblem) -> np.ndarray:
    return np.concatenate([state.position for state in problem.loops], axis=-1)


def _worst(errors: np.ndarray) -> np.ndarray:
    return np.max(np.abs(errors), axis=-1, initial=0.0)


def _least(problem: LoopProblem, free: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The x (states, free) of least x^T H x with J x = b, in the sense of least squares."""
    H, J = problem.H[:, free[:, None], free], problem.J[:, :, free]
    # Joints that move no inertia count as if they moved a little.
    ridge = 1e-12 * np.trace(H, axis1=-2, axis2=-1)[:, None, None] * np.eye(len(free)) + 1e-300 * np.eye(
        len(free)
    )
    L = np.linalg.cholesky(H + ridge)
    A = np.swapaxes(divide_lower(L, np.swapaxes(J, -1, -2)), -1, -2)
    y = np.einsum("snm,sm->sn", np.linalg.pinv(A, rcond=RANK), b)
    return solve_upper(L, y)
