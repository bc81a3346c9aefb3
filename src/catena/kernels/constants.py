"""The numbers of a mechanism in the order in which steps read them: of nodes, loops, couplings, forces, the frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.forces import PlacedForce
from catena.spatial import Pose, Transform
from catena.structure import Plan
from catena.structure.plan import Loop

WORD = 8
"""The bytes of a number."""
# A body is very light if the usual one is so many times heavier, and counts as no lighter than this part of it.
VERY_HEAVY, HEAVIEST = 1e2, 1e4


@dataclass(frozen=True)
class Constants:
    """The constants of every node of a plan in one array, and where each node's begin (in bytes). Numbers of the plan
    may be symbols."""

    values: np.ndarray
    start: np.ndarray

    @staticmethod
    def of(plan: Plan, gravity: np.ndarray) -> "Constants":
        """Return the constants of a node. Ground: gravity. Body: placement (12), inertia (10), damping, friction,
        joint parameters."""
        plan = plan.spread
        n = len(plan.parent)
        params = np.array([len(p) for p in plan.params], dtype=np.int64)
        sizes = 22 + 2 * plan.v_size + params
        sizes[0] = 3
        start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        numbers = (gravity, plan.placement_p, plan.inertia, plan.damping, plan.friction)
        symbolic = any(np.asarray(x).dtype == object for x in (*numbers, *plan.params))
        values = np.zeros(int(sizes.sum()), dtype=object if symbolic else np.float64)
        values[:3] = gravity
        if n > 1:
            s = start[1:, None]
            values[s + np.arange(9)] = plan.placement_R[1:].reshape(-1, 9)
            values[s + np.arange(9, 12)] = plan.placement_p[1:]
            values[s + np.arange(12, 22)] = plan.inertia[1:]
            counts = plan.v_size[1:]
            into = np.repeat(start[1:] + 22 - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
            source = np.repeat(plan.v_start[1:] - (np.cumsum(counts) - counts), counts) + np.arange(
                counts.sum()
            )
            values[into] = plan.damping[source]
            values[into + np.repeat(counts, counts)] = plan.friction[source]
            for i in np.flatnonzero(params):
                at = start[i] + 22 + 2 * plan.v_size[i]
                values[at : at + params[i]] = plan.params[i]
        return Constants(values, start * WORD)


@dataclass(frozen=True)
class ConstantParts:
    """The constants of a tape as `rows` to be put one behind the other, of nodes, loops, joints of couplings, forces
    and the frame; and where those of each loop, of each joint of a coupling, of each force and of the frame begin (in
    bytes)."""

    rows: Sequence[Any]
    starts: tuple[np.ndarray, np.ndarray, np.ndarray, int]


def constant_parts(
    plan: Plan, of_nodes: Any, has_loops: bool, forces: Sequence[PlacedForce], frame: tuple[int, Pose] | None
) -> ConstantParts:
    """Return the constants of a tape: those of nodes that are given, of loops and couplings where the algorithm has
    any, of forces, and of the frame. Numbers of the plan may be symbols."""
    loops = loop_constants(plan) if has_loops else []
    of_terms = term_constants(plan) if has_loops else []
    of_forces = [force.constants() for force in forces]
    of_frame = [Transform.from_pose(frame[1]).entries()] if frame else []
    rows = [of_nodes, *loops, *of_terms, *of_forces, *of_frame]
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64) * WORD
    a, b, c = np.cumsum([len(loops), len(of_terms), len(of_forces)]).tolist()
    return ConstantParts(rows, (ends[:a], ends[a:b], ends[b:c], int(ends[c])))


def loop_constants(plan: Plan) -> list[list[Any]]:
    """Return the constants of every loop."""
    return [
        [*Transform.from_pose(loop.parent_pose).entries(), *Transform.from_pose(loop.child_pose).entries(),
         *loop.damping, *loop.friction, *mobility_scale(plan, loop), *loop.params]
        for loop in plan.loop_joints
    ]  # fmt: skip


def term_constants(plan: Plan) -> list[list[float]]:
    """Return the constants of every joint of every coupling: its sign, the offset of the coupling or the inertia of the
    rotor for the first of its joints, the usual angular and linear mobility (2), and the numbers of the profile."""
    scale = mobility_scale(plan)
    return [
        [term.sign, 0.0 if t else coupling.number, *scale, *term.profile.params()]
        for coupling in plan.couplings
        for t, term in enumerate(coupling.terms)
    ]


def mobility_scale(plan: Plan, loop: Loop | None = None) -> tuple[float, float]:
    """Return how much a usual body of this mechanism yields to a unit moment and to a unit force: 1 / (kg m^2) and 1
    / kg. A loop that holds a body beside which the usual one is very heavy gets the mobility of that body; instead of a
    massless body it holds what carries it. Where inertias are symbols, some of them are taken not to vanish."""
    mass = plan.inertia[1:, 0].mean() if plan.n > 1 else 1.0
    inertia = plan.inertia[1:, [4, 7, 9]].mean() if plan.n > 1 else 1.0
    if plan.inertia.dtype == object:
        return 1.0 / inertia, 1.0 / mass
    for node in () if loop is None else {_with_mass(plan, i) for i in (loop.parent_node, loop.child_node)}:
        own_mass, own_inertia = plan.inertia[node, 0], plan.inertia[node, [4, 7, 9]].mean()
        if own_mass > 0.0 and own_inertia > 0.0 and max(mass / own_mass, inertia / own_inertia) > VERY_HEAVY:
            mass = max(min(mass, own_mass), mass / HEAVIEST)
            inertia = max(min(inertia, own_inertia), inertia / HEAVIEST)
    return (1.0 / float(inertia) if inertia > 0 else 1.0), (1.0 / float(mass) if mass > 0 else 1.0)


def _with_mass(plan: Plan, node: int) -> int:
    """Return the node itself or the nearest one on its way to the ground that has mass; 0 if there is none."""
    while node and not plan.inertia[node, 0] > 0.0:
        node = int(plan.parent[node])
    return node
