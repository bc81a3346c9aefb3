"""Which joints move loops, and which only turn along because a gear ties them to others.

The search for closed configurations walks in steps that are short enough for the curvature of loops. A joint that is on
no loop and in linear couplings only has none: whatever it does is proportional to its coordinate, however far it goes.
So it sets no bound on a step, and it is measured by what it is geared to: behind a gear of ratio 100 a unit of it is a
hundred radians, and rows of couplings are as well conditioned as those of loops.
"""

from __future__ import annotations

import numpy as np

from catena.mechanism.profiles import Line
from catena.structure import Plan, PlannedCoupling, Term


def moving_loops(plan: Plan) -> np.ndarray:
    """Return whether the joint of each node (n,) moves the two sides of some loop against each other, or is coupled."""
    moves = _on_loops(plan)
    for term in (term for coupling in plan.couplings for term in coupling.terms):
        moves[_moving(plan, term)] = True
    return moves


def only_geared(plan: Plan) -> np.ndarray:
    """Return which velocity components (nv,) are those of joints that move no loop and are in linear couplings only."""
    found = np.zeros(plan.n, dtype=bool)
    for coupling in plan.couplings:
        found[[term.node for term in coupling.terms if term.node >= 0]] = True
    found &= ~_on_loops(plan)
    for coupling in plan.couplings:
        for term in coupling.terms:
            if term.loop >= 0 or not _is_linear(coupling):
                found[_moving(plan, term)] = False
    return np.isin(np.arange(plan.nv), plan.v_start[found])


def geared_units(plan: Plan, units: np.ndarray, length: float) -> np.ndarray:
    """Return what is about a radian or a `length` [m] of each velocity component (nv,), given `units` (nv,) of that
    size: for joints that are only geared, what they move by when those that they are geared to move by theirs."""
    if not plan.couplings:
        return units
    unknown = only_geared(plan)
    found = units.copy()
    rows = [
        ({_column(plan, t): abs(_slope(t)) for t in coupling.terms if t.node >= 0 and _slope(t)},
         max((abs(_slope(t)) * (1.0 if t.turns else length) for t in coupling.terms if t.loop >= 0), default=0.0))
        for coupling in plan.couplings if coupling.constraints and _is_linear(coupling)
    ]  # fmt: skip
    while unknown.any():
        left = [(row, loops) for row, loops in rows if any(unknown[k] for k in row)]
        if not left:
            break
        row, loops = next(((r, x) for r, x in left if x or not all(unknown[k] for k in r)), left[0])
        moved = max([loops, *(c * found[k] for k, c in row.items() if not unknown[k])])
        if not moved:
            # Gears without any loop: the first of them is what the others are measured by.
            unknown[next(k for k in row if unknown[k])] = False
            continue
        for k, c in row.items():
            if unknown[k]:
                found[k], unknown[k] = moved / c, False
    return found


def gear_response(plan: Plan, held: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Return how far linear couplings alone take all velocity components along when those that are `held` (nv,) move by
    ways (states, nv): the smallest such motions (states, nv), zero for what is held."""
    moved = np.zeros_like(ways)
    rows = _linear_rows(plan)
    if not rows or not held.any():
        return moved
    C = np.zeros((len(rows), plan.nv))
    for r, row in enumerate(rows):
        for k, c in row.items():
            C[r, k] = c
    moved[:, ~held] = -(ways[:, held] @ C[:, held].T) @ np.linalg.pinv(C[:, ~held]).T
    return moved


def _linear_rows(plan: Plan) -> list[dict[int, float]]:
    """Return the coefficients of linear couplings among joints of the tree, {velocity component: coefficient}."""
    return [
        {_column(plan, term): _slope(term) for term in coupling.terms}
        for coupling in plan.couplings
        if coupling.constraints and _is_linear(coupling) and all(term.node >= 0 for term in coupling.terms)
    ]


def _column(plan: Plan, term: Term) -> int:
    return int(plan.v_start[term.node])


def _slope(term: Term) -> float:
    return float(term.sign * term.profile.slope(0.0))


def _is_linear(coupling: PlannedCoupling) -> bool:
    return all(isinstance(term.profile, Line) for term in coupling.terms)


def _on_loops(plan: Plan) -> np.ndarray:
    """Return whether the joint of each node (n,) moves the two sides of some loop against each other."""
    moves = np.zeros(plan.n, dtype=bool)
    for loop in plan.loop_joints:
        if loop.constraints:
            moves[_between(plan, loop.parent_node, loop.child_node)] = True
    return moves


def _moving(plan: Plan, term: Term) -> list[int]:
    """Return the nodes whose joints move a joint that is coupled."""
    if term.node >= 0:
        return [term.node]
    loop = plan.loop_joints[term.loop]
    return _between(plan, loop.parent_node, loop.child_node)


def _between(plan: Plan, a: int, b: int) -> list[int]:
    """Return the nodes whose joints move two nodes against each other."""
    last = plan.last_common(a, b)
    path = []
    for node in (a, b):
        while node != last:
            path.append(node)
            node = int(plan.parent[node])
    return path
