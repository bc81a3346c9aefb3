"""The matrices that take joint velocities to those of bodies, and independent ones to all, by their names in the paper.
Nikravesh, Gim, Arabyan and Rein, eq. 1 to 25.

    v = B thetadot,   D v = 0,   C = D* B,   C thetadot = 0,   thetadot = E thetadot_i,   C thetadd + gamma = 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.formulations.joint_multipliers import independent_rows
from catena.dynamics.loops.formulations.minimal import partition_of
from catena.dynamics.loops.formulations.velocity_transformation import cut_joint_constraints, transform_tree
from catena.dynamics.loops.independent import component_names
from catena.dynamics.loops.problem import LoopProblem
from catena.kinematics.stacks import transposed


@dataclass(frozen=True, eq=False)
class VelocityTransformation:
    """The matrices of one state. Twists [angular; linear] of the `bodies` (those welded together are one entry) are in
    their own axes at their joint frames, one below the other: 6 n numbers. `joints` are those of the tree and those
    that are cut, and `rows` says of which joint each row of D is.

    * `B` (6 n, nv): twists from joint velocities, and `B_rate` (6 n,) = B' thetadot.
    * `D` (m, 6 n): what all joints resist of the twists; `D_star` are its rows of cut joints. D B = 0 in the rows of
      the tree.
    * `C` (r, nv): a largest independent set of the rows of D* B and of couplings, `C_rows` their indices among those,
      and `gamma` (r,) = C' thetadot.
    * `E` (nv, d): all joint velocities from the `independent` ones, which are named, and `E_rate` (nv,) is E'
      thetadot_i.
    """

    bodies: tuple[tuple[str, ...], ...]
    rows: tuple[str, ...]
    B: np.ndarray
    B_rate: np.ndarray
    D: np.ndarray
    D_star: np.ndarray
    C: np.ndarray
    C_rows: np.ndarray
    gamma: np.ndarray
    E: np.ndarray
    E_rate: np.ndarray
    independent: tuple[str, ...]


def velocity_transformation(
    problem: LoopProblem, independent: np.ndarray | None = None
) -> VelocityTransformation:
    """Return the matrices of the one state of a problem without gravity; `independent` (d,) are the components that are
    to be independent."""
    plan = problem.plan
    tree = transform_tree(problem)
    n = plan.n - 1
    D, rows, cut = [np.zeros((0, 6 * n))], [], []
    for joint in tree.joints:
        full = np.zeros((6, 6 * plan.n))
        full[:, 6 * joint.a : 6 * joint.a + 6] -= joint.X_a[0]
        full[:, 6 * joint.b : 6 * joint.b + 6] += joint.X_b[0]
        D.append((transposed(joint.Phi[0]) @ full)[:, 6:])
        count = joint.Phi.shape[-1]
        rows += [plan.joint[joint.b] if joint.loop is None else plan.loops[joint.loop]] * count
        cut += [joint.loop is not None] * count
    all_rows = np.concatenate(D)
    C, drift = cut_joint_constraints(problem, tree)
    part = partition_of(problem, independent)
    chosen = independent_rows(problem.scaled[0], int(problem.rank[0]))
    names = component_names(plan, np.arange(plan.nv))
    return VelocityTransformation(
        plan.bodies[1:], tuple(rows), tree.B[0, 1:].reshape(6 * n, plan.nv), tree.bdot[0, 1:].reshape(6 * n),
        all_rows, all_rows[np.array(cut, dtype=bool)], C[0, chosen], chosen, drift[0, chosen], part.E, part.drift,
        tuple(names[int(k)] for k in part.independent),
    )  # fmt: skip
