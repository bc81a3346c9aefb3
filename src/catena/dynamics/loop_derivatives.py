"""Derivatives of forward dynamics with loops, in lanes, from the accelerations and the wrenches of the loop joints.

The equations H vdot + bias = tau + J^T lambda and c = J vdot + gamma = 0 are differentiated. In ground axes the
wrench W of a loop joint is carried along by its child; the other body feels its opposite, so a relative step x turns
the latter by x x W. The relative acceleration of the two sides, a_b - a_a - v_b x (v_b - v_a), changes along a
component on the way to one of them by

    e + d x (v_a + v_b) - a_a x s + v_b x (v_a x s)   for a step,      e_v + s x (v_a + v_b)   for its velocity,

with e, d, e_v and s of `inverse_derivatives`, and components below both sides take no part. Constraint spaces must be
the same wherever the joint stands, and loop joints must not rub; other loops have `equations/residual.py`.

With H = G^T G, G = D^1/2 L, the rows of A = J G^-1 are made orthonormal one after the other, twice each. A row of which
nothing is left depends on those before it and drops out, so redundant constraints do no harm; how near the others came
to that is told as `doubt`. With the orthonormal rows Q, A = R Q, and Z = G^-1 Q^T

    vdot by tau = H^-1 - Z Z^T,      vdot by x = -(vdot by tau) (tau by x) - Z R^-1 (c by x).
"""

from functools import lru_cache
from typing import Any

from catena.dynamics.inverse_derivatives import (
    FIELDS,
    INPUTS,
    OPTIONAL,
    VIEWS,
    Table,
    change,
    gather,
    ground,
    keep,
    meet,
)
from catena.dynamics.tree_factor import TreeFactor, runs
from catena.joints import JointKind
from catena.kernels import (
    Algorithm,
    Numbers,
    OnMatrices,
    at_ground,
    base_to_tip,
    each_force,
    on_call,
    tip_to_base,
)
from catena.kernels.matrix_kernels import PAIRS
from catena.spatial import Force, ForceSpace, Motion, Transform, cross
from catena.spatial.scalars import array

SHARED = {"where": Transform, "twist": Motion, "acceleration": Motion, "load": Force}
"""Where bodies stand and how they move, in ground axes, and what loops do to them."""


@at_ground
def stand(ground: Any, below: Any) -> None:
    """The ground stands, and accelerates against gravity as it does for all bodies."""
    ground.bounds = ground.told
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
def grip(force: Any, a: Any, b: Any, ground: Any) -> None:
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
    """The relative twist along a component, and how the relative acceleration changes by a step and by its velocity."""
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


@on_call
def resist(hold: Any, opening: Any, pair: Any, entry: Any) -> None:
    """The entries of one constraint: of c by q and by v, and of J."""
    pair.numbers = array([hold.K.dot(opening.by_q), hold.K.dot(opening.by_v)])
    entry.number = array([hold.K.dot(opening.s)])


@on_call
def turn(component: Any, opening: Any, element: Any) -> None:
    """What a component below the parent feels when the wrench on the parent turns."""
    q, v, mass = element.numbers
    element.numbers = array([q + component.S.dot(opening.turned), v, mass])


def constraints_of(kind: JointKind) -> int:
    """Return how many motions a joint holds: those that it does not let go, or fewer if it leaves some to others."""
    return kind.constraint_space(kind.neutral()).n


class Constraints:
    """J (m, n), and c by q and v, of all loops, as work on matrices."""

    def __init__(self, work: Any, table: Table) -> None:
        self.work, self.n = work, table.n
        slot = work.slot
        self.rows = [
            (f, r) for f, force in enumerate(work.forces) for r in range(constraints_of(force.joint))
        ]
        self.m = len(self.rows)
        self.J = [work.reserve(self.n) for _ in self.rows]
        self.changes = [work.reserve(2 * self.n) for _ in self.rows]
        self.touched: list[list[int]] = []
        # What an earlier block of states left is not part of any sum.
        for row, pair in zip(self.J, self.changes, strict=True):
            work.combine(row, [], self.n)
            work.combine(pair, [], 2 * self.n)
        first = 0
        for f, force in enumerate(work.forces):
            to_a, to_b = work.reach(force.a), work.reach(force.b)
            sides = ((open_child, set(to_b) - set(to_a)), (open_parent, set(to_a) - set(to_b)))
            count = constraints_of(force.joint)
            for step, side in sides:
                for c in sorted(side):
                    opening = work.reserve(24)
                    component = work.component("components", *work.components[c])
                    work.step(step, component, work.force_row("turning", f, 0), opening)
                    for r in range(count):
                        hold, row = work.force_row("holds", f, r), first + r
                        pair, entry = self.changes[row] + 2 * c * slot, self.J[row] + c * slot
                        work.step(resist, hold, opening, pair, entry)
                    for i in to_a:
                        if not table.related[i][c]:
                            table.related[i][c] = True
                            work.combine(table.at(i, c), [], 2)
                        above = work.component("components", *work.components[i])
                        work.step(turn, above, opening, table.at(i, c))
            self.touched += [sorted(sides[0][1] | sides[1][1])] * count
            first += count

    def usual(self, row: int) -> int:
        """The place of the square of a usual row."""
        return int(self.work.force_row("holds", *self.rows[row]) + 6 * self.work.slot)


class Orthonormal:
    """Q, R and the doubt of the constraints in square-root form, and Z = G^-1 Q^T kept by components."""

    def __init__(self, constraints: Constraints, factor: TreeFactor) -> None:
        work, n, m, slot = constraints.work, constraints.n, constraints.m, constraints.work.slot
        self.m = m
        self.inverse = [work.reserve(1) for _ in range(m)]
        self.R = [work.reserve(m) for _ in range(m)]
        self.doubt = work.reserve(1)
        work.combine(self.doubt, [])
        self._Z = work.reserve(n * m)
        self._work = work
        tolerance, one = work.ground("bounds"), work.reserve(m)
        rows = constraints.J
        supports: list[Any] = []
        for r in range(m):
            support = sorted({k for c in constraints.touched[r] for k in work.above[c]})
            self._divide(factor, rows[r], support)
            squares = work.reserve(3)
            work.combine(squares + slot, [(rows[r] + k * slot, rows[r] + k * slot) for k in support])
            work.combine(squares + 2 * slot, [], start=constraints.usual(r))
            filled = set(support)
            for again in (False, True):
                met = [j for j in range(r) if filled & supports[j]]
                for j in met:
                    shared = sorted(filled & supports[j])
                    place = (one if again else self.R[r]) + j * slot
                    work.combine(place, [(rows[j] + k * slot, rows[r] + k * slot) for k in shared])
                factors = [((one if again else self.R[r]) + j * slot, j) for j in met]
                filled |= {k for j in met for k in supports[j]}
                for begin, count in runs(sorted(filled)):
                    k = sorted(filled)[begin]
                    terms = [(place, rows[j] + k * slot) for place, j in factors]
                    work.combine(rows[r] + k * slot, terms, count, start=rows[r] + k * slot, minus=True)
            if met:
                work.combine(self.R[r], [(self._unit(), one)], r, start=self.R[r])
            work.combine(squares, [(rows[r] + k * slot, rows[r] + k * slot) for k in sorted(filled)])
            work.judge(self.inverse[r], squares, tolerance, self.doubt)
            work.combine(rows[r], [(self.inverse[r], rows[r])], n)
            supports.append(filled)
        self.supports = supports
        for k in range(n):
            for r in range(m):
                work.combine(self.Z(k, r), [(factor.D_root[k], rows[r] + k * slot)])
            terms = [(place, self.Z(i, 0)) for i, place in factor.row(k)]
            if terms:
                work.combine(self.Z(k, 0), terms, m, start=self.Z(k, 0), minus=True)

    def _unit(self) -> int:
        """One: sums are sums of products."""
        return int(self._work.ground("bounds") + 3 * self._work.slot)

    def _divide(self, factor: TreeFactor, row: int, support: list[int]) -> None:
        """A row of J becomes that of A = J G^-1: tips first."""
        slot = self._work.slot
        for k in reversed(support):
            beyond = [m for m in factor.beyond[k] if m in set(support)]
            if beyond:
                terms = [(factor.L(m, factor.depth[k] - 1), row + m * slot) for m in beyond]
                self._work.combine(row + k * slot, terms, start=row + k * slot, minus=True)
        for k in support:
            self._work.combine(row + k * slot, [(factor.D_root[k], row + k * slot)])

    def Z(self, component: int, row: int) -> int:
        """The place of an entry of Z."""
        return self._Z + (component * self.m + row) * self._work.slot


def _solve(work: Any) -> None:
    table = Table(work)
    table.fill()
    constraints = Constraints(work, table)
    factor = TreeFactor(work, table)
    H_inv = factor.inverse()
    found = Orthonormal(constraints, factor)
    n, m, slot, at = table.n, constraints.m, work.slot, work.coordinate
    for r in range(m):
        row = constraints.changes[r]
        work.combine(
            row,
            [(found.R[r] + j * slot, constraints.changes[j]) for j in range(r)],
            2 * n,
            start=row,
            minus=True,
        )
        work.combine(row, [(found.inverse[r], row)], 2 * n)
    for k in range(n):
        for c in range(k, n):
            terms = [(found.Z(k, r), found.Z(c, r)) for r in range(m)]
            work.combine(H_inv.at(k, c), terms, start=H_inv.at(k, c), minus=True)
    result = work.reserve(2 * n * n)
    for k in range(n):
        row = result + 2 * k * n * slot
        for c in range(0, n, 4):
            tile = range(c, min(c + 4, n))
            touched = [i for i in range(n) if any(table.related[i][j] for j in tile)]
            terms = [(H_inv.at(k, i), table.at(i, c)) for i in touched]
            work.combine(row + 2 * c * slot, terms, 2 * len(tile), PAIRS, minus=True)
        work.combine(
            row, [(found.Z(k, r), constraints.changes[r]) for r in range(m)], 2 * n, start=row, minus=True
        )
    pairs = sorted((at[r] * n + at[c], r, c) for r in range(n) for c in range(n))
    for number, name in enumerate(("by_q", "by_v")):
        places = [(index, result + (2 * (r * n + c) + number) * slot) for index, r, c in pairs]
        work.output(name, (n, n), places)
    work.output("by_tau", (n, n), [(index, H_inv.at(r, c)) for index, r, c in pairs])
    work.output("doubt", (1,), [(0, found.doubt)])


TOLD = 4
"""What the ground is told: the tolerance, the usual angular and linear mobility, and one."""


@lru_cache(maxsize=1)
def loop_derivatives() -> Algorithm:
    """The derivatives by q, by v and by tau of a mechanism with loops, whose joints are given as forces."""
    return Algorithm(
        "loop_derivatives", ground,
        (stand, changes_about_ground, grip, forces_with_loops, meet, keep, open_child, open_parent, resist, turn,
         OnMatrices(_solve)),
        INPUTS, ground_inputs={"a_base": Motion, "told": Numbers(TOLD)}, optional=OPTIONAL, shared=SHARED,
        views={
            **VIEWS, "hold": {"K": Force, "usual": Numbers(1)}, "entry": {"number": Numbers(1)},
            "turning": {"W": Force, "v_a": Motion, "v_b": Motion, "a_a": Motion},
            "opening": {"s": Motion, "by_q": Motion, "by_v": Motion, "turned": Force},
            "pair": {"numbers": Numbers(2)},
        },
        component_fields={**FIELDS, "holds": "hold", "turning": "turning"},
        matrix_outputs=("by_q", "by_v", "by_tau", "doubt"),
    )  # fmt: skip
