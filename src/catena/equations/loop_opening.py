"""How far loops and couplings are open, and where loop joints stand, as expressions that are smooth where all is
closed.

For a loop joint with frames P and C, X takes motions from P to C, and E = X transform(x)^-1 is what is left of it
beside the joint's own position x. Its rotation counts by the axial vector instead of by its angle: the same to first
order, zero in the same places, and without the branches that a logarithm has, so that second derivatives are those of
a polynomial in sines and cosines. The derivative along v is J v of `loop_rows` where loops are closed, row by row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.loops.elimination import shape_for
from catena.equations.derivation import Derivation
from catena.equations.loop_rows import loop_constraints, require_formulas
from catena.errors import EquationsError
from catena.spatial import Transform
from catena.spatial.scalars import array
from catena.structure import Plan
from catena.structure.plan import Loop


@dataclass(frozen=True, eq=False)
class LoopOpening:
    """The position errors (constraints,) of all loops and couplings in the order of their rows, and the positions
    {joint: (nq of the joint,)} of loop joints whose positions are plain numbers."""

    errors: np.ndarray
    positions: Mapping[str, np.ndarray]


def counted_positions(plan: Plan) -> tuple[Loop, ...]:
    """Return the loop joints whose positions are plain numbers that formulas find."""
    return tuple(
        loop
        for loop in plan.loop_joints
        if loop.kind.nv and loop.kind.nq == loop.kind.nv and loop.kind.finds_coordinates_of_symbols
    )


def loop_opening(derivation: Derivation, near: Mapping[str, Any]) -> LoopOpening:
    """Return the errors and positions of a plan; angles of loop joints are counted on from the positions `near`."""
    plan = derivation.plan
    require_formulas(plan)
    closing = [loop for loop in plan.loop_joints if loop.constraints]
    silent = [loop.name for loop in closing if not loop.kind.finds_coordinates_of_symbols]
    if silent:
        raise EquationsError(
            f"The loop joints {silent} of {plan.name!r} find their coordinates by an iteration, so there is no "
            f"expression of how far they are open: give their kind a `coordinates` that takes symbols, or cut others."
        )
    found = derivation.play(loop_constraints(shape_for(plan)), ("q",))
    positions, errors = {}, []
    counted = {loop.name for loop in counted_positions(plan)}
    for loop in plan.loop_joints:
        if not loop.constraints and loop.name not in counted:
            continue
        X = _between(plan, found["X"], loop)
        x = loop.kind.coordinates(X)
        if loop.name in counted:
            positions[loop.name] = loop.kind.coordinates_near(X, near[loop.name]) if loop.name in near else x
        if loop.constraints:
            E = X * loop.kind.transform(x).inverse()
            axial = [0.5 * (E.R[i][j] - E.R[j][i]) for i, j in ((1, 2), (2, 0), (0, 1))]
            across = loop.kind.constraint_space(x).array
            left = [*axial, *E.p]
            errors += [sum(across[i, c] * left[i] for i in range(6)) for c in range(loop.constraints)]
    q = derivation.arguments["q"]
    for coupling in plan.couplings:
        if coupling.constraints:
            total: Any = -coupling.offset
            for term in coupling.terms:
                if term.loop >= 0:
                    at = positions[plan.loop_joints[term.loop].name][0]
                else:
                    at = q[int(plan.q_start[term.node])]
                total = total + term.sign * term.profile.value(at)
            errors.append(total)
    return LoopOpening(array(errors), positions)


def _between(plan: Plan, X: np.ndarray, loop: Loop) -> Transform:
    """Return the transform from the frame of a loop joint on its parent's side to that on its child's side."""
    last = plan.last_common(loop.parent_node, loop.child_node)
    sides = []
    for node, pose in ((loop.child_node, loop.child_pose), (loop.parent_node, loop.parent_pose)):
        way = Transform.from_pose(pose)
        while node != last:
            way = way * Transform.from_entries(list(X[node]))
            node = int(plan.parent[node])
        sides.append(way)
    return sides[0] * sides[1].inverse()
