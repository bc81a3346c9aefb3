"""The velocity transformation B from joint velocities to the twists of all bodies, and what follows from it for
the tree. Nikravesh, Gim, Arabyan and Rein, eq. 5 to 10.

    v = B thetadot,   M_tree = B^T M B,   f = B^T (g - M B' thetadot)
"""

from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.formulations.joint_graph import (
    GraphJoint,
    graph_joints,
    node_forces,
    node_inertias,
)
from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.tree.rotors import with_rotors
from catena.kinematics.body_jacobians import body_jacobians
from catena.kinematics.stacks import apply, transposed


@dataclass(frozen=True, eq=False)
class TransformedTree:
    """B (states, n, 6, nv), the accelerations bdot (states, n, 6) of all nodes when vdot is zero, gravity and the
    motion of ground included, the tree's inertia M (states, nv, nv) and force f (states, nv), and all joints."""

    B: np.ndarray
    bdot: np.ndarray
    M: np.ndarray
    f: np.ndarray
    joints: list[GraphJoint]


def transform_tree(problem: LoopProblem) -> TransformedTree:
    """Return the tree's equations of motion from those of its bodies."""
    joints = graph_joints(problem)
    B, bdot = body_jacobians(problem.plan, problem.motions, problem.ground_acceleration)
    inertias = node_inertias(problem)
    g = node_forces(problem, inertias, joints) - np.einsum("nij,snj->sni", inertias, bdot)
    Bt = transposed(B)
    M = np.sum(Bt @ inertias @ B, axis=1)
    f = np.sum(apply(Bt, g), axis=1)
    M = with_rotors(problem.plan, M)
    for row, inertia, drift in problem.loop_rotors:
        M = M + inertia * row[:, :, None] * row[:, None, :]
        f = f - inertia * drift[:, None] * row
    return TransformedTree(B, bdot, M, f, joints)


def cut_joint_constraints(problem: LoopProblem, tree: TransformedTree) -> tuple[np.ndarray, np.ndarray]:
    """C = D* B (states, m, nv) and C' thetadot (states, m) of all cut joints and couplings, redundant rows
    included (eq. 15)."""
    rows, known = [], []
    for joint in tree.joints:
        if joint.loop is not None:
            across = transposed(joint.Phi)
            rows.append(across @ (joint.X_b @ tree.B[:, joint.b] - joint.X_a @ tree.B[:, joint.a]))
            drift = (
                apply(joint.X_b, tree.bdot[:, joint.b]) - apply(joint.X_a, tree.bdot[:, joint.a]) - joint.c
            )
            known.append(apply(across, drift))
    rows += [state.J for state in problem.couplings]
    known += [state.gamma for state in problem.couplings]
    if not rows:
        return np.zeros((problem.states, 0, problem.plan.nv)), np.zeros((problem.states, 0))
    return np.concatenate(rows, axis=-2), np.concatenate(known, axis=-1)
