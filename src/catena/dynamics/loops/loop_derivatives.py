"""Derivatives of forward dynamics with loops, in lanes, from the accelerations and the wrenches of the loop joints.

The equations H vdot + bias = tau + J^T lambda and c = J vdot + gamma = 0 are differentiated. In ground axes the
wrench W of a loop joint is carried along by its child; the other body feels its opposite, so a relative step x turns
the latter by x x W. The relative acceleration of the two sides, a_b - a_a - v_b x (v_b - v_a), changes along a
component on the way to one of them by

    e + d x (v_a + v_b) - a_a x s + v_b x (v_a x s)   for a step,      e_v + s x (v_a + v_b)   for its velocity,

with e, d, e_v and s of `inverse_derivatives`, and components below both sides take no part. Constraint spaces must be
the same wherever the joint stands, and loop joints must not rub; other loops have `equations/residual.py`.

With H^-1 = G G^T, G = U^-1 K of `tree_blocks`, the rows of A = J G are made orthonormal one after the other, twice
each. A row of which nothing is left depends on those before it and drops out, so redundant constraints do no harm; how
near the others came to that is told as `doubt`. With the orthonormal rows Q, A = R Q, Z = G Q^T, and vdot by x without
the loops, X = -H^-1 (tau by x),

    vdot by tau = H^-1 - Z Z^T,      vdot by x = X - Z R^-1 (c by x + J X).
"""

from functools import lru_cache
from typing import Any

from catena.dynamics.tree.inverse_derivatives import (
    BY_Q,
    BY_V,
    FIELDS,
    INPUTS,
    OPTIONAL,
    VIEWS,
    DerivativeTable,
    change,
    gather,
    ground,
    keep,
    meet,
)
from catena.dynamics.tree.tree_blocks import TreeBlocks, runs
from catena.joints import JointKind
from catena.kernels import (
    Algorithm,
    OnMatrices,
    Scalars,
    at_ground,
    base_to_tip,
    each_force,
    on_call,
    tip_to_base,
)
from catena.kernels.matrices import MatrixPanel
from catena.spatial import Force, ForceSpace, Motion, Transform, cross
from catena.spatial.scalars import array

SHARED = {"where": Transform, "twist": Motion, "acceleration": Motion, "load": Force}
"""Where bodies stand and how they move, in ground axes, and what loops do to them."""


@at_ground
def stand(ground: Any, below: Any) -> None:
    """The ground stands, and accelerates against gravity as it does for all bodies."""
    ground.bounds = ground.ground_bounds
    below.where, below.twist, below.acceleration, below.load = (
        Transform.identity(), ground.v, ground.a, Force.zero()
    )  # fmt: skip


@base_to_tip
def changes_about_ground(body: Any, parent: Any) -> None:
    """As in `inverse_derivatives`, but about the ground's origin for all bodies."""
    change(body, parent, (body.joint.transform(body.q) * body.placement) * parent.stance)
    body.is_body = 1.0
    body.where, body.twist, body.acceleration, body.load = body.own_stance, body.v, body.a, Force.zero()


@each_force
def hold_bodies(force: Any, a: Any, b: Any, ground: Any) -> None:
    """The wrench of a loop on its bodies, and what it holds."""
    W = b.where.pull(Force(force.inputs))
    a.load, b.load = a.load - W, b.load + W
    Phi = force.joint.constraint_space(force.neutral)
    held = b.where.pull(force.on_b.pull(ForceSpace(Phi.array)))
    rows = []
    for local, column in zip(Phi.columns(), held.columns(), strict=True):
        usual = ground.bounds[1] * (local.angular @ local.angular) + ground.bounds[2] * (
            local.linear @ local.linear
        )
        rows += [*column.entries(), usual]
    force.holds = array(rows).reshape(Phi.n, 7)
    entries = [*W.entries(), *a.twist.entries(), *b.twist.entries(), *a.acceleration.entries()]
    force.turning = array(entries).reshape(1, 24)


@tip_to_base
def forces_with_loops(body: Any, parent: Any) -> None:
    """As in `inverse_derivatives`, less what loops do."""
    gather(body, parent, body.own_f - body.load)


def _opened(component: Any, turning: Any) -> tuple[Motion, Motion, Motion]:
    """Return the relative twist along a component, and how the relative acceleration changes by a step and by its
    velocity."""
    s, v_a, v_b = component.S, turning.v_a, turning.v_b
    both = v_a + v_b
    by_q = component.e_q + cross(component.d, both) - cross(turning.a_a, s) + cross(v_b, cross(v_a, s))
    return s, by_q, component.e_v + cross(s, both)


@on_call
def open_child(component: Any, turning: Any, opening: Any) -> None:
    """A component on the way to the child."""
    opening.s, opening.by_q, opening.by_v = _opened(component, turning)
    opening.turned = cross(opening.s, turning.W)


@on_call
def open_parent(component: Any, turning: Any, opening: Any) -> None:
    """A component on the way to the parent."""
    opening.s, opening.by_q, opening.by_v = (-x for x in _opened(component, turning))
    opening.turned = cross(opening.s, turning.W)


def constraints_of(kind: JointKind) -> int:
    """Return how many motions a joint holds: those that it does not let go, or fewer if it leaves some to others."""
    return kind.constraint_space(kind.neutral()).n


class Constraints:
    """J (m, n), and c by q and v (m, 2 n), of all loops, as work on matrices. Entries that no loop has are zero."""

    def __init__(self, work: Any, table: DerivativeTable) -> None:
        self.work, self.n = work, table.n
        self.rows = [
            (f, r) for f, force in enumerate(work.forces) for r in range(constraints_of(force.joint))
        ]
        self.m = len(self.rows)
        self.J, self.changes = work.matrix(self.m, self.n), work.matrix(self.m, 2 * self.n)
        self._table, self._S = table, work.matrix(self.n, 6)
        self._copied: set[int] = set()
        self.loops: list[tuple[range, list[range]]] = []
        """The rows of each loop and the components that it touches, as ranges."""
        first = 0
        for f, force in enumerate(work.forces):
            to_a, to_b = work.reach(force.a), work.reach(force.b)
            sides = ((open_child, set(to_b) - set(to_a)), (open_parent, set(to_a) - set(to_b)))
            rows = range(first, first + constraints_of(force.joint))
            for step, side in sides:
                for run in runs(sorted(side)):
                    self._open(f, rows, step, run, to_a)
            self.loops.append((rows, runs(sorted(sides[0][1] | sides[1][1]))))
            first = rows.stop

    def _open(self, f: int, rows: range, step: Any, run: range, to_a: list[int]) -> None:
        """What a run of components does to a loop, and what the loop's wrench, carried along, does to others."""
        work, slot, table = self.work, self.work.slot, self._table
        openings = work.reserve(24 * len(run))
        for number, c in enumerate(run):
            component = work.component("components", *work.components[c])
            work.step(step, component, work.force_row("turning", f, 0), openings + 24 * number * slot)

        def input_panel(number: int) -> MatrixPanel:
            """Return the vectors (6, components) of this number in the openings."""
            return MatrixPanel(openings + 6 * number * slot, 6, len(run), slot, 24 * slot, 48 * slot)

        n, C = self.n, self.changes
        by = [MatrixPanel(C.place + k * slot, self.m, n, C.row, 2 * slot, 4 * slot) for k in (BY_Q, BY_V)]
        holds = MatrixPanel(work.force_row("holds", f, 0), len(rows), 6, 7 * slot, slot, 2 * slot)
        for out, number in ((self.J, 0), (by[0], 1), (by[1], 2)):
            work.product(out.part(rows, run), holds, input_panel(number))
        forces = table.matrix(BY_Q)
        for below in runs(to_a):
            for i in below:
                self._copy_S(i)
            table.relate(below, run)
            here = forces.part(below, run)
            work.product(here, self._S.part(below, range(6)), input_panel(3), start=here)

    def _copy_S(self, i: int) -> None:
        if i not in self._copied:
            self._copied.add(i)
            work, slot = self.work, self.work.slot
            S = MatrixPanel(work.component("components", *work.components[i]), 1, 6, 6 * slot, slot, 2 * slot)
            work.copy(self._S.part(range(i, i + 1), range(6)), S)

    def usual(self, row: int) -> int:
        """Return the place of the square of a usual row."""
        return int(self.work.force_row("holds", *self.rows[row]) + 6 * self.work.slot)


class Orthonormal:
    """Q, R and the doubt of the constraints in square-root form, and Z = G Q^T (n, m)."""

    def __init__(self, constraints: Constraints, blocks: TreeBlocks) -> None:
        work, n, m, slot = constraints.work, constraints.n, constraints.m, constraints.work.slot
        self._work, self._constraints = work, constraints
        self._inverse = [work.reserve(1) for _ in range(m)]
        self._R, self.doubt = work.matrix(m, m), work.reserve(1)
        self._met: list[list[int]] = []
        work.combine(self.doubt, [])
        A, supports = self._rooted(constraints, blocks)
        # By components too, so that products with many rows are found at once.
        turned, found, squares = work.matrix(n, m), work.matrix(2, m), work.reserve(3)
        for r in range(m):
            filled = supports[r]
            met = [j for j in range(r) if filled & supports[j]]
            self._met.append(met)
            self._square(squares + slot, A, r, filled)
            work.combine(squares + 2 * slot, [], start=constraints.usual(r))
            for again in (0, 1) if met else ():
                for run in runs(met):
                    terms = [(A.at(r, k), turned.at(k, run.start)) for k in sorted(filled)]
                    work.combine(found.at(again, run.start), terms, len(run))
                more = {k for j in met for k in supports[j]} - filled
                # What an earlier block of states left where a row had no entries so far is not part of the sum.
                for columns, start in ((filled, True), (more, False)):
                    for run in runs(sorted(columns)):
                        place, terms = (
                            A.at(r, run.start),
                            [(found.at(again, j), A.at(j, run.start)) for j in met],
                        )
                        work.combine(place, terms, len(run), start=place if start else None, minus=True)
                filled = filled | more
            for run in runs(met):
                one = [(self._unit(), found.at(1, run.start))]
                work.combine(self._R.at(r, run.start), one, len(run), start=found.at(0, run.start))
            self._square(squares, A, r, filled)
            work.judge(self._inverse[r], squares, work.ground("bounds"), self.doubt)
            for run in runs(sorted(filled)):
                work.combine(A.at(r, run.start), [(self._inverse[r], A.at(r, run.start))], len(run))
                work.copy(turned.part(run, range(r, r + 1)), A.part(range(r, r + 1), run).T)
            supports[r] = filled
        self.Z = blocks.rooted(turned)

    def _rooted(self, constraints: Constraints, blocks: TreeBlocks) -> tuple[MatrixPanel, list[set[int]]]:
        """Return a = J G, and the components at which its rows have entries."""
        work, n, m = self._work, constraints.n, constraints.m
        left, A = work.matrix(m, n), work.matrix(m, n)
        supports: list[set[int]] = []
        for rows, touched in constraints.loops:
            reached = {k for run in touched for c in run for k in work.above[c]}
            numbers = [s for s, block in enumerate(blocks.blocks) if reached & set(block)]
            for s in numbers:
                work.copy(left.part(rows, blocks.blocks[s]), constraints.J.part(rows, blocks.blocks[s]))
            for s in reversed(numbers):
                block = blocks.blocks[s]
                for a, F in blocks.F(s):
                    here = left.part(rows, a)
                    work.product(here, left.part(rows, block), F, start=here, minus=True)
                work.product(A.part(rows, block), left.part(rows, block), blocks.K[s])
            supports += [{k for s in numbers for k in blocks.blocks[s]} for _ in rows]
        return A, supports

    def _square(self, place: int, A: MatrixPanel, r: int, filled: set[int]) -> None:
        self._work.combine(place, [(A.at(r, k), A.at(r, k)) for k in sorted(filled)])

    def _unit(self) -> int:
        """One: sums are sums of products."""
        return int(self._work.ground("bounds") + 3 * self._work.slot)

    def divide(self, E: MatrixPanel) -> None:
        """Let E (m, columns) become R^-1 E, with zeros in the rows that drop out."""
        work, columns = self._work, range(E.columns)
        for rows, _ in self._constraints.loops:
            here = E.part(rows, columns)
            for run in runs(sorted({j for r in rows for j in self._met[r] if j < rows.start})):
                work.product(here, self._R.part(rows, run), E.part(run, columns), start=here, minus=True)
            for r in rows:
                place = E.at(r, 0)
                terms = [(self._R.at(r, j), E.at(j, 0)) for j in self._met[r] if j >= rows.start]
                if terms:
                    work.combine(place, terms, len(columns), start=place, minus=True)
                work.combine(place, [(self._inverse[r], place)], len(columns))


def _solve(work: Any) -> None:
    table = DerivativeTable(work)
    table.fill()
    constraints = Constraints(work, table)
    blocks = TreeBlocks(work, table, roots=True)
    found = Orthonormal(constraints, blocks)
    free_by_tau, free = blocks.inverse(), blocks.divided()
    n, m, at = table.n, constraints.m, work.coordinate
    opened, both = work.matrix(m, 2 * n), range(2 * n)
    for rows, touched in constraints.loops:
        start = constraints.changes.part(rows, both)
        for run in touched:
            here = opened.part(rows, both)
            work.product(here, constraints.J.part(rows, run), free.part(run, both), start=start)
            start = here
    found.divide(opened)
    result, by_tau = work.two_matrices(n, n), work.matrix(n, n)
    work.product(result, found.Z, opened, start=free, minus=True)
    for first in range(0, n, STRIP):
        rows, columns = range(first, min(first + STRIP, n)), range(min(first + STRIP, n))
        held = found.Z.part(columns, range(m)).T
        out, start = by_tau.part(rows, columns), free_by_tau.part(rows, columns)
        work.product(out, found.Z.part(rows, range(m)), held, start=start, minus=True)
    pairs = sorted((at[r] * n + at[c], r, c) for r in range(n) for c in range(n))
    for number, name in enumerate(("by_q", "by_v")):
        work.output(name, (n, n), [(index, result.at(r, 2 * c + number)) for index, r, c in pairs])
    work.output("by_tau", (n, n), [(index, by_tau.at(max(r, c), min(r, c))) for index, r, c in pairs])
    work.output("doubt", (1,), [(0, found.doubt)])


STRIP = 6
"""So many rows of a symmetric matrix are found at a time, up to its diagonal."""
GROUND_BOUNDS = 4
"""What the ground is given: the tolerance, the usual angular and linear mobility, and one."""


@lru_cache(maxsize=1)
def loop_derivatives() -> Algorithm:
    """Return the derivatives by q, by v and by tau of a mechanism with loops, whose joints are given as forces."""
    return Algorithm(
        "loop_derivatives", ground,
        (stand, changes_about_ground, hold_bodies, forces_with_loops, meet, keep, open_child, open_parent,
         OnMatrices(_solve)),
        INPUTS, ground_inputs={"a_base": Motion, "ground_bounds": Scalars(GROUND_BOUNDS)}, optional=OPTIONAL,
        shared=SHARED,
        views={
            **VIEWS, "hold": {"K": Force, "usual": Scalars(1)},
            "turning": {"W": Force, "v_a": Motion, "v_b": Motion, "a_a": Motion},
            "opening": {"s": Motion, "by_q": Motion, "by_v": Motion, "turned": Force},
        },
        component_fields={**FIELDS, "holds": "hold", "turning": "turning"},
        matrix_outputs=("by_q", "by_v", "by_tau", "doubt"),
    )  # fmt: skip
