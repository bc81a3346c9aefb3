"""Loops at rest, for questions about motion that need no mass: which velocities there are, and how many.

Inertia serves as the measure of velocities. Where some motion moves no inertia, every node is lent a little, so
that mechanisms described without masses can be asked as well.
"""

from typing import Any

import numpy as np

from catena.dynamics.loops.problem import LoopProblem
from catena.errors import SingularDynamicsError
from catena.kernels.evaluation import Evaluator

LENT = 1e-6


def motion_problem(evaluator: Evaluator, q: Any) -> LoopProblem:
    """Return the loops at q (..., nq) at rest, with an inertia that is positive definite."""
    rest = np.zeros(evaluator.plan.nv)
    problem = LoopProblem(evaluator, q, rest)
    try:
        _ = problem.equations
        return problem
    except SingularDynamicsError:
        root = np.sqrt(LENT * problem.mass) * np.array([problem.length] * 3 + [1.0] * 3)
        return LoopProblem(evaluator, q, rest, lent=root)
