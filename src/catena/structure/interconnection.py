"""How bodies are connected, as matrices: Wittenburg's incidence and path matrices (van der Merwe, section 1.3).

    S[i, a] = +1 where arc a leaves body i, -1 where it arrives there, T S = 1 in a tree

An arc is a joint from its parent in the plan to its child; T has of each joint a column with -1 (arcs away from ground)
for every body beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.structure.plan import Plan


@dataclass(frozen=True, eq=False)
class Interconnection:
    """The `bodies` (n,) of a plan, those welded together as one entry and ground left out, its tree `joints` (n,) and
    its `loops` (k,) by name. `S0` (n,) and `S` (n, n) are the incidence of tree joints with ground and with bodies, `T`
    (n, n) the path matrix: T[a, i] is -1 where joint a leads to body i. `S0_loops` (k,) and `S_loops` (n, k) are the
    incidence of joints that close loops, from parent to child."""

    bodies: tuple[tuple[str, ...], ...]
    joints: tuple[str, ...]
    loops: tuple[str, ...]
    S0: np.ndarray
    S: np.ndarray
    T: np.ndarray
    S0_loops: np.ndarray
    S_loops: np.ndarray


def interconnection(plan: Plan) -> Interconnection:
    """Return the incidence and path matrices of a plan."""
    n, k = plan.n, len(plan.loop_joints)
    S, T = np.zeros((n, n), dtype=np.int64), np.zeros((n, n), dtype=np.int64)
    for i in range(1, n):
        S[int(plan.parent[i]), i] += 1
        S[i, i] -= 1
        # What leads to the parent leads here, and its own joint does.
        T[:, i] = T[:, int(plan.parent[i])]
        T[i, i] = -1
    loops = np.zeros((n, k), dtype=np.int64)
    for a, loop in enumerate(plan.loop_joints):
        loops[loop.parent_node, a] += 1
        loops[loop.child_node, a] -= 1
    return Interconnection(
        plan.bodies[1:],
        tuple(plan.joint[1:]),
        plan.loops,
        S[0, 1:],
        S[1:, 1:],
        T[1:, 1:],
        loops[0],
        loops[1:],
    )
