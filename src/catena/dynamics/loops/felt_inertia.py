"""The inertia that a joint feels in one configuration: the force that accelerates it alone, with all other joints free
to follow and loops respected, so that it does not depend on which joints the plan cuts."""

import numpy as np

from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import divide_lower, effective
from catena.kinematics.stacks import transposed

# A joint that loops hold still feels no inertia but a wall; its inertia counts for no more than this many times what
# it would be without loops.
WALL = 1e3


def felt_inertia(problem: LoopProblem, joint: str) -> np.ndarray:
    """Return the inertia (nv of the joint,) of each velocity component of a joint of the tree or of a loop, in the
    first state of a problem: 1 / (j H^-1 j^T) for the row j that takes the velocities of the tree to that component."""
    L, A = problem.equations[0], problem.scaled
    root = divide_lower(L, transposed(_rows(problem, joint)))
    _, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    blocked = Vt * effective(sigma, problem.tolerance)[..., None]
    closed = root - transposed(blocked) @ (blocked @ root)
    open_mobility, mobility = (np.sum(x * x, axis=-2)[0] for x in (root, closed))
    mobility = np.maximum(mobility, open_mobility / WALL)
    # A joint between bodies that cannot move against each other at all feels whatever one likes.
    return np.where(mobility > 0.0, 1.0 / np.where(mobility > 0.0, mobility, 1.0), problem.mass)


def _rows(problem: LoopProblem, joint: str) -> np.ndarray:
    """Return the rows (states, nv of the joint, nv) that take the velocities of the tree to those of the joint."""
    for state in problem.loops:
        if state.name == joint:
            return state.S_inv @ state.J_rel
    plan = problem.plan
    i = plan.joint.index(joint)
    rows = np.eye(plan.nv)[plan.v_of(i)]
    return np.broadcast_to(rows, (problem.states, *rows.shape))
