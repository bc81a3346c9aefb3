"""Hybrid dynamics with loops: some joint accelerations given, the others and the forces of the drives found.

With the coordinates split into driven ones (d) and the rest (f), the motion obeys

    H_ff vdot_f = (force - H_fd vdot_d)_f + J_f^T lambda,     J_f vdot_f = -(gamma + J_d vdot_d)

and a drive gives what H vdot = force + J^T lambda lacks in its row. Loops that the drives alone determine must agree
with what is prescribed; what they are opened by otherwise is a result. Where drives work against each other through
redundant constraints, their forces belong to the smallest multipliers.
"""

from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.hybrid import hybrid_elimination
from catena.dynamics.loops.formulations.certified_elimination import in_doubt, is_for
from catena.dynamics.loops.inertia_root import rooted
from catena.dynamics.loops.problem import LoopProblem, row_scales
from catena.dynamics.loops.square_root import constrained, divide_lower, solve_upper
from catena.kinematics.stacks import apply, transposed
from catena.thresholds import CONTRADICTION, LEFT_OF_SUMS


@dataclass(frozen=True, eq=False)
class HybridSolution:
    """Accelerations `vdot` and joint forces `tau` (states, nv), and the states (k,) in which the prescribed
    accelerations open loops, with the accelerations (k, m) that they do so by."""

    vdot: np.ndarray
    tau: np.ndarray
    open_states: np.ndarray
    opening: np.ndarray


def hybrid(problem: LoopProblem, driven: np.ndarray, prescribed: np.ndarray) -> HybridSolution:
    """Solve with the accelerations `prescribed` (states, nv) where `driven` (nv,) is true: by elimination in lanes, and
    by a rank-revealing decomposition where that is not exact enough."""
    states, m = problem.states, problem.plan.total_constraints
    vdot, tau = np.zeros_like(problem.v), np.zeros_like(problem.v)
    doubtful = np.ones(states, dtype=bool)
    if is_for(problem.plan):
        inputs = problem.inputs
        inputs |= {"driven": driven.astype(np.float64), "qdd_given": prescribed}
        algorithm = hybrid_elimination(shape_for(problem.plan))
        result = problem.evaluator.evaluate(algorithm, inputs, finite=False)
        vdot, tau = result["qdd"], result["drive"]
        if problem.loop_tau is not None:
            # What acts at joints of the tree in place of loop joints is not theirs.
            own = 0.0 if problem.tau is None else problem.tau
            tau = tau - (problem.inputs["tau"] - own)
        doubtful = in_doubt(problem.plan, result)
    if not doubtful.any():
        return HybridSolution(vdot, tau, np.zeros(0, dtype=np.int64), np.zeros((0, m)))
    vdot[doubtful], tau[doubtful], opening, allowed = hybrid_kkt(
        problem.some(np.flatnonzero(doubtful)), driven, prescribed[doubtful]
    )
    bad = np.linalg.norm(opening, axis=-1) > np.linalg.norm(allowed, axis=-1)
    return HybridSolution(vdot, tau, np.flatnonzero(doubtful)[bad], opening[bad])


def hybrid_kkt(
    problem: LoopProblem, driven: np.ndarray, prescribed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the same for all states by singular values, as `kkt` does: vdot and tau (states, nv), the accelerations
    (states, m) by which loops open, and those (states, m) that are no contradiction."""
    plan, free = problem.plan, ~driven
    H, J, n = problem.H, problem.J, int(free.sum())
    vdot = np.where(driven, prescribed, 0.0)
    J_f, gamma = J[..., free], problem.gamma + apply(J, vdot)
    L, unbound = np.zeros((problem.states, n, n)), np.zeros((problem.states, n))
    for some, rows, held in problem.portions():
        inertial, held = (x.with_driven(vdot[some], free) for x in (rows, held))
        L[some], unbound[some] = rooted(inertial, held, problem.joint_force[some][:, free], plan.name)
    scale = row_scales(problem.rows, L, problem.length, free)
    A = transposed(divide_lower(L, transposed(J_f))) / scale[..., None]
    y, mu, _ = constrained(A, unbound, -gamma / scale, problem.tolerance)
    vdot[:, free] = solve_upper(L, y)
    lacking = apply(H, vdot) - problem.force - apply(transposed(J), mu / scale)
    tau = np.zeros_like(vdot) if problem.tau is None else problem.tau
    at_work = apply(np.abs(J), np.abs(vdot)) + np.abs(problem.gamma)
    summed = apply(np.abs(J_f), np.abs(solve_upper(L, unbound))) + problem.gamma_terms
    # Rounding is measured by the accelerations that forces would cause without loops, and by products of velocities.
    allowed = CONTRADICTION * at_work + LEFT_OF_SUMS * summed
    return vdot, tau + np.where(driven, lacking, 0.0), apply(J, vdot) + problem.gamma, allowed
