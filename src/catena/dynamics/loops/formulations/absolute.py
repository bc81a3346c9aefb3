"""Absolute coordinates: every body moves by itself, and every joint, tree or loop, constrains two of them.
Nikravesh, Gim, Arabyan and Rein, eq. 1 to 4. Cost O((6 n)^3).

    M a - D^T lambda = g,     D a = -D' v

a are the accelerations of all bodies in their own axes, M is block diagonal, and a joint contributes the rows
Phi^T X_b for its child and -Phi^T X_a for its parent to D. The tree appears only at the end, where joint
accelerations are read off the bodies.
"""

import numpy as np

from catena.dynamics.loops.formulations.joint_graph import (
    coupling_row,
    graph_joints,
    node_forces,
    node_inertias,
    rotor_rows,
    tree_accelerations,
)
from catena.dynamics.loops.problem import LoopProblem, LoopSolution, row_scale, row_weight, typical_inertia
from catena.dynamics.loops.square_root import (
    constrained,
    divide_lower,
    positive_definite,
    solve_lower,
    solve_upper,
)
from catena.kinematics.stacks import apply, transposed


def absolute(problem: LoopProblem) -> LoopSolution:
    """Solve for the accelerations of all bodies and the reactions of all joints."""
    plan, states = problem.plan, problem.states
    joints = graph_joints(problem)
    inertias = node_inertias(problem)
    g = node_forces(problem, inertias, joints)
    a_ground = problem.ground_acceleration
    D, known = [], []
    for joint in joints:
        full = np.zeros((states, 6, 6 * plan.n))
        full[..., 6 * joint.a : 6 * joint.a + 6] -= joint.X_a
        full[..., 6 * joint.b : 6 * joint.b + 6] += joint.X_b
        known.append(apply(full[..., :6], a_ground) - joint.c)
        D.append(full[..., 6:])
    across = [transposed(joint.Phi) for joint in joints]
    spaces = [joint.Phi for joint in joints]
    for state in problem.couplings:
        full, drift = coupling_row(problem, joints, state)
        known.append(apply(full[..., :6], a_ground) + drift)
        D.append(full[..., 6:])
        spaces.append(state.Phi)
        across.append(transposed(state.Phi))
    M, push = _block_diagonal(inertias[1:]), g[:, 1:].reshape(states, 6 * plan.n - 6)
    for inertia, row, drift in rotor_rows(problem, joints):
        drift, row = drift + np.einsum("si,si->s", row[:, :6], a_ground), row[:, 6:]
        M = M + inertia * row[:, :, None] * row[:, None, :]
        push = push - inertia * drift[:, None] * row
    L, _, force = positive_definite(
        M,
        push,
        np.concatenate([P @ d for P, d in zip(across, D, strict=True)], axis=-2),
        np.concatenate([apply(P, k) for P, k in zip(across, known, strict=True)], axis=-1),
        np.concatenate([row_weight(Phi, problem.mass, problem.length) for Phi in spaces], axis=-1),
        plan.name,
        np.tile(typical_inertia(np.eye(6), problem.mass, problem.length), plan.n - 1),
    )
    mobility = [divide_lower(L, transposed(d)) for d in D]
    scales = [row_scale(Phi, m, problem.length) for Phi, m in zip(spaces, mobility, strict=True)]
    scale = np.concatenate(scales, axis=-1)
    A = (
        np.concatenate([P @ transposed(m) for P, m in zip(across, mobility, strict=True)], axis=-2)
        / scale[..., None]
    )
    b = -np.concatenate([apply(P, k) for P, k in zip(across, known, strict=True)], axis=-1) / scale
    # The tree's constraints are independent, so the rank of all is known from that of the loops.
    in_tree = 6 * (plan.n - 1) - plan.nv
    y, mu, rank = constrained(A, solve_lower(L, force), b, problem.tolerance, rank=problem.rank + in_tree)
    a = np.concatenate([a_ground[:, None], solve_upper(L, y).reshape(states, plan.n - 1, 6)], axis=1)
    return LoopSolution(
        tree_accelerations(problem, joints, a), (mu / scale)[:, in_tree:], rank - in_tree,
        "absolute coordinates: every joint a constraint between two bodies",
    )  # fmt: skip


def _block_diagonal(inertias: np.ndarray) -> np.ndarray:
    """M as one matrix (1, 6 n, 6 n)."""
    n = len(inertias)
    M = np.zeros((1, 6 * n, 6 * n))
    for i in range(n):
        M[0, 6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = inertias[i]
    return M
