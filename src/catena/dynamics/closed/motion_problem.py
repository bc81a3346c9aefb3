"""Loops at rest, for questions about motion that need no mass: which velocities there are, and how many.

Inertia serves as the measure of velocities. Where some motion moves no inertia, every node is lent a little, so
that mechanisms described without masses can be asked as well.
"""

from typing import Any

import numpy as np

from catena.dynamics.closed.problem import LoopProblem
from catena.errors import SingularDynamicsError
from catena.kinematics.closure import Runner, path_motion
from catena.kinematics.stacks import transposed

LENT = 1e-6


def motion_problem(runner: Runner, q: Any) -> LoopProblem:
    """The loops at q (..., nq) at rest, with an inertia that is positive definite."""
    rest = np.zeros(runner.plan.nv)
    problem = LoopProblem(runner, q, rest)
    try:
        _ = problem.equations
        return problem
    except SingularDynamicsError:
        measure = np.diag([problem.length**2] * 3 + [1.0] * 3)
        mass = float(runner.plan.inertia[1:, 0].sum()) or 1.0
        H = problem.H.copy()
        for node in range(1, runner.plan.n):
            J = path_motion(runner.plan, problem.motions, node, np.eye(6))[0]
            H += LENT * mass * transposed(J) @ measure @ J
        lent = LoopProblem(runner, q, rest)
        lent.H = H
        return lent
