"""The constraints of loops as expressions: J v is by how much they open, J vdot + gamma by how fast that changes.

The steps are those of the elimination: they give the wrenches K on the two bodies of a loop for unit forces along its
constraints. A wrench on a body, pulled from joint to joint towards the base, meets the motion space of each joint in an
entry of J. Joints that move both sides alike take no part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from catena.dynamics.loops.elimination import EliminationShape, loop_elimination, shape_for
from catena.dynamics.loops.elimination.steps import drag, start, velocities
from catena.dynamics.loops.elimination.ties import tell_loop
from catena.dynamics.loops.formulations.certified_elimination import knows_joints
from catena.equations.derivation import Derivation
from catena.errors import EquationsError
from catena.kernels import COLUMNS, Algorithm, Entry, Schedule
from catena.spatial import Force, Motion, MotionSpace, Transform
from catena.spatial.scalars import array
from catena.structure import Plan, PlannedCoupling


@dataclass(frozen=True, eq=False)
class LoopRows:
    """The constraint Jacobian `J` (m, nv), the accelerations `gamma` (m,) of the constraints when vdot is zero, the
    joint forces `friction` (nv,) of the loop joints' own friction on the joints of the tree, and the `rotors` of loop
    joints."""

    J: np.ndarray
    gamma: np.ndarray
    friction: np.ndarray
    rotors: tuple["RotorRow", ...] = ()


@dataclass(frozen=True, eq=False)
class RotorRow:
    """A rotor of a joint that closes a loop, which accelerates by row . vdot + drift: its `inertia`, `row` (nv,) and
    `drift`."""

    inertia: Any
    row: np.ndarray
    drift: Any


@lru_cache(maxsize=8)
def loop_constraints(shape: EliminationShape, poses: bool = False) -> Algorithm:
    """Return how tree joints stand and move, and how loops of up to so many constraints hold their bodies; with `poses`
    also how bodies stand and move."""
    outputs = {"pose": Transform, "v": Motion} if poses else {}
    return replace(
        loop_elimination(shape), name=f"loop_constraints_{shape}",
        sweeps=(velocities, start, drag, Schedule(_order)), ground_outputs=(),
        outputs={"X": Transform, "S": COLUMNS, "c": Motion, **outputs}, per_node=frozenset({"S"}),
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


def require_formulas(plan: Plan) -> None:
    """Raise an error that names the loop joints of which there are no formulas over all states."""
    if knows_joints(plan):
        return
    turning = [loop.name for loop in plan.loop_joints if loop.kind.nv > 1 and loop.armature.any()]
    if turning:
        raise EquationsError(
            f"The loop joints {turning} of {plan.name!r} have several degrees of freedom and rotors, whose "
            f"accelerations are not among the unknowns of these equations: cut other joints, m.system(cut=[...]), or "
            f"leave the armature out."
        )
    iterating = [loop.name for loop in plan.loop_joints if not loop.kind.finds_coordinates_of_symbols]
    raise EquationsError(
        f"The loop joints {iterating} of {plan.name!r} find their coordinates by an iteration that depends on the "
        f"state, so there is no single expression: give their kind a `coordinates` that takes symbols, or cut other "
        f"joints."
    )


def loop_rows(derivation: Derivation, moving: bool = True) -> LoopRows:
    """Return the rows of all loops of a plan, in their order. Without `moving` only J is there."""
    found = derivation.play(told_of_loops(derivation.plan), ("q", "v") if moving else ("q",))
    result = rows_of(derivation.plan, found, derivation.arguments, moving)
    turning = [x for rotor in result.rotors for x in (*rotor.row, rotor.drift)]
    derivation.note("constraints", "loops", [*result.J.ravel(), *result.gamma, *result.friction, *turning])
    return result


def told_of_loops(plan: Plan) -> Algorithm:
    """Return the algorithm that tells what rows of the loops of a plan are made of."""
    asked = any(term.loop >= 0 for coupling in plan.couplings for term in coupling.terms)
    return loop_constraints(shape_for(plan), asked)


def rows_of(
    plan: Plan, found: dict[str, np.ndarray], arguments: Mapping[str, np.ndarray], moving: bool = True
) -> LoopRows:
    """Return the rows of all loops from what `told_of_loops` has told at the arguments q and v, numbers or symbols."""
    rows, gamma, friction = [], [], np.zeros(plan.nv)
    for k, loop in enumerate(plan.loop_joints):
        last = plan.last_common(loop.parent_node, loop.child_node)
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
    rotors = []
    for coupling in plan.couplings:
        if coupling.acts:
            row, bent = _coupled(plan, coupling, found, arguments, moving)
            if coupling.is_rotor:
                rotors.append(RotorRow(coupling.inertia, row, bent))
            else:
                rows.append(row[None])
                gamma.append(array([bent]))
    J = np.concatenate([np.zeros((0, plan.nv)), *rows])
    return LoopRows(J, np.concatenate([np.zeros(0), *gamma]), friction, tuple(rotors))


def _coupled(
    plan: Plan, coupling: PlannedCoupling, found: dict[str, np.ndarray], arguments: Mapping[str, np.ndarray],
    moving: bool,
) -> tuple[np.ndarray, Any]:  # fmt: skip
    """Return the row (nv,) of a coupling, and the acceleration of its residual when vdot is zero."""
    bent = 0.0
    row: list[Any] = [0.0] * plan.nv
    for term in coupling.terms:
        if term.loop >= 0:
            own, drift, x, rate = _of_loop_joint(plan, found, term.loop)
        else:
            column = int(plan.v_start[term.node])
            own, drift, x = np.zeros(plan.nv), 0.0, arguments["q"][int(plan.q_start[term.node])]
            own[column], rate = 1.0, arguments["v"][column] if moving else 0.0
        slope = term.sign * term.profile.slope(x)
        row = [r + slope * o for r, o in zip(row, own, strict=True)]
        if moving:
            bent = bent + slope * drift + term.sign * term.profile.curvature(x) * rate * rate
    return array(row), bent


def _of_loop_joint(plan: Plan, found: dict[str, np.ndarray], number: int) -> tuple[np.ndarray, Any, Any, Any]:
    """Of a joint with one freedom that closes a loop: its rate is row . v with a row (nv,), and further its
    acceleration when vdot is zero, its position and its rate."""
    joint, term = plan.loop_joints[number], SimpleNamespace()
    sides = (joint.child_node, joint.parent_node)
    if sides[0] == sides[1]:
        # Both sides are on one rigid piece: the joint stands still.
        return np.zeros(plan.nv), 0.0, joint.kind.neutral()[0], 0.0
    on_child, on_parent = (Transform.from_pose(pose) for pose in (joint.child_pose, joint.parent_pose))
    loop = SimpleNamespace(joint=joint.kind, on_child=on_child, on_parent=on_parent)
    tell_loop.step(loop, *(_body(found, node) for node in sides), term)
    x, rate, drift = term.motion
    last, row = plan.last_common(*sides), np.zeros(plan.nv)
    for node, wrench in zip(sides, (term.w_child, term.w_parent), strict=True):
        own, along = _to_base(plan, found, node, last, wrench)
        row, drift = row + own, drift + along
    return row, drift, x, rate


def _body(found: dict[str, np.ndarray], node: int) -> SimpleNamespace:
    """Return how a body stands and moves, the ground too."""
    if node == 0:
        return SimpleNamespace(pose=Transform.identity(), v=Motion.zero())
    pose, v = (list(found[name][node]) for name in ("pose", "v"))
    return SimpleNamespace(pose=Transform.from_entries(pose), v=Motion(array(v)))


def _to_base(
    plan: Plan, found: dict[str, np.ndarray], node: int, last: int, f: Force
) -> tuple[np.ndarray, Any]:
    """Return the joint forces (nv,) that a wrench on a node makes on the way to the node `last`, and the power of it
    against the accelerations that joints have without vdot."""
    row = np.zeros(plan.nv, dtype=object)
    along: Any = 0.0
    while node != last:
        where = plan.v_of(node)
        row[where] = row[where] + MotionSpace(found["S"][:, plan.rows(node)]).T * f
        along = along + Motion(array(list(found["c"][node]))).dot(f)
        f = Transform.from_entries(list(found["X"][node])).pull(f)
        node = int(plan.parent[node])
    return array(list(row)), along


def _put(x: np.ndarray, k: int, value: Any) -> np.ndarray:
    """Return the array with entry k replaced, of objects where it must be."""
    result = x.astype(object)
    result[k] = value
    return result
