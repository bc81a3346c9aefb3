"""The constraints of loops as expressions: J v is by how much they open, J vdot + gamma by how fast that changes.

The steps are those of the elimination: they give the wrenches K on the two bodies of a loop for unit forces along its
constraints. A wrench on a body, pulled from joint to joint towards the base, meets the motion space of each joint in an
entry of J. Joints that move both sides alike take no part.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.loop_elimination import Sort, loop_elimination, sort_for
from catena.dynamics.loop_elimination.steps import drag, start, velocities
from catena.equations.derivation import Derivation
from catena.errors import EquationsError
from catena.kernels import COLUMNS, Algorithm, Entry, Schedule
from catena.spatial import Force, Motion, MotionSpace, Transform
from catena.spatial.scalars import array
from catena.structure import Plan, PlannedCoupling


@dataclass(frozen=True, eq=False)
class LoopRows:
    """The constraint Jacobian `J` (m, nv), the accelerations `gamma` (m,) of the constraints when vdot is zero, and the
    joint forces `friction` (nv,) of the loop joints' own friction on the joints of the tree."""

    J: np.ndarray
    gamma: np.ndarray
    friction: np.ndarray


@lru_cache(maxsize=8)
def loop_constraints(sort: Sort) -> Algorithm:
    """How tree joints stand and move, and how loops of up to so many constraints hold their bodies."""
    return replace(
        loop_elimination(sort), name=f"loop_constraints_{sort}",
        sweeps=(velocities, start, drag, Schedule(_order)), ground_outputs=(),
        outputs={"X": Transform, "S": COLUMNS, "c": Motion},
        multiplier_outputs=("K_child", "K_parent", "gamma", "drag_child", "drag_parent"),
    )  # fmt: skip


def _order(at: Any) -> list[Entry]:
    plan = at.plan
    entries = [
        Entry(velocities, i, (at.body(i), at.flows(i), at.flows(int(plan.parent[i]))))
        for i in range(1, plan.n)
    ]
    for k, loop in enumerate(plan.loop_joints):
        places = at.multiplier(k), at.flows(loop.child_node), at.flows(loop.parent_node)
        if loop.constraints:
            entries.append(Entry(start, k, places))
        if loop.rubs:
            entries.append(Entry(drag, k, (*places, at.flows(0))))
    return entries


def loop_rows(derivation: Derivation, moving: bool = True) -> LoopRows:
    """The rows of all loops of a plan, in their order. Without `moving` only J is there."""
    plan = derivation.plan
    for coupling in plan.couplings:
        if coupling.inertia:
            raise EquationsError(
                f"joint {coupling.terms[0].joint!r} of {plan.name!r} closes a loop and has a rotor, which these "
                "equations do not know: plan with another joint cut, m.system(cut=[...])."
            )
    found = derivation.play(loop_constraints(sort_for(plan)), ("q", "v") if moving else ("q",))
    rows, gamma, friction = [], [], np.zeros(plan.nv)
    for k, loop in enumerate(plan.loop_joints):
        last = _last_common(plan, loop.parent_node, loop.child_node)
        m = loop.constraints
        J, drift = np.zeros((m, plan.nv)), np.zeros(m)
        for node, side in ((loop.child_node, "child"), (loop.parent_node, "parent")):
            if m:
                for c in range(m):
                    K = Force(array(list(found[f"K_{side}"][k, 6 * c : 6 * c + 6])))
                    row, along = _to_base(plan, found, node, last, K)
                    J = _put(J, c, J[c] + row)
                    drift = _put(drift, c, drift[c] + along)
            if loop.rubs:
                f = Force(array(list(found[f"drag_{side}"][k])))
                friction = friction - _to_base(plan, found, node, last, f)[0]
        rows.append(J)
        gamma.append(array([g + d for g, d in zip(found["gamma"][k, :m], drift, strict=True)]))
    for coupling in plan.couplings:
        if coupling.constraints:
            row, bent = _coupled(derivation, coupling, moving)
            rows.append(row)
            gamma.append(bent)
    J = np.concatenate([np.zeros((0, plan.nv)), *rows])
    result = LoopRows(J, np.concatenate([np.zeros(0), *gamma]), friction)
    derivation.note("constraints", "loops", [*result.J.ravel(), *result.gamma, *result.friction])
    return result


def _coupled(
    derivation: Derivation, coupling: PlannedCoupling, moving: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The row (1, nv) of a coupling between joints of the tree, and the acceleration (1,) of its residual."""
    plan, row, bent = derivation.plan, np.zeros((1, derivation.plan.nv), dtype=object), 0.0
    for term in coupling.terms:
        if term.node < 0:
            raise EquationsError(
                f"coupling {coupling.name!r} of {plan.name!r}: its joint {term.joint!r} closes a loop, and equations "
                "know couplings between joints of the tree only: plan with another joint cut, m.system(cut=[...])."
            )
        x = derivation.arguments["q"][int(plan.q_start[term.node])]
        column = int(plan.v_start[term.node])
        row[0, column] = term.sign * term.profile.slope(x)
        if moving:
            rate = derivation.arguments["v"][column]
            bent = bent + term.sign * term.profile.curvature(x) * rate * rate
    return array([list(row[0])]), array([bent])


def _to_base(
    plan: Plan, found: dict[str, np.ndarray], node: int, last: int, f: Force
) -> tuple[np.ndarray, Any]:
    """The joint forces (nv,) that a wrench on a node makes on the way to the node `last`, and the power of it against
    the accelerations that joints have without vdot."""
    row = np.zeros(plan.nv, dtype=object)
    along: Any = 0.0
    while node != last:
        where = slice(int(plan.v_start[node]), int(plan.v_start[node] + plan.v_size[node]))
        row[where] = row[where] + MotionSpace(found["S"][:, plan.rows(node)]).T * f
        along = along + Motion(array(list(found["c"][node]))).dot(f)
        f = Transform.from_entries(list(found["X"][node])).pull(f)
        node = int(plan.parent[node])
    return array(list(row)), along


def _put(x: np.ndarray, k: int, value: Any) -> np.ndarray:
    """The array with entry k replaced, of objects where it must be."""
    result = x.astype(object)
    result[k] = value
    return result


def _last_common(plan: Plan, a: int, b: int) -> int:
    """The last node on both ways to ground; parents have smaller numbers."""
    while a != b:
        if a > b:
            a = int(plan.parent[a])
        else:
            b = int(plan.parent[b])
    return a
