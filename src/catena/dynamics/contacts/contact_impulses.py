"""One of Moreau's steps of a tree with contacts, in compiled lanes: sweeps of the dynamics in the middle of the step,
impulses of contacts by sweeps from contact to contact, and two corrections of positions.

With A and b = A' v in the middle of the step, v+ = v + h M^-1 (forces) + M^-1 A^T p, and impulses p that obey Coulomb's
law with u+ = A v+ + h/2 b (for a gap g, with u_n + g / h). Each contact is solved by itself while the others have
their impulses, again and again (Gauss and Seidel), beginning with those of the step before. How much the last of these
sweeps changed is told: who needs better asks `simulation.contacts.coulomb`. Contacts that were pushed are then brought
back to where they touch, and none is left in the other side.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from catena.dynamics.contacts import contact_forces
from catena.dynamics.contacts.contact_forces import SIZE, Felt, Pair, runs, three, threes, yielded
from catena.dynamics.elements.force_sweeps import GIVEN, SHARED, force_sweeps
from catena.dynamics.tree.articulated_body import articulated_body
from catena.dynamics.tree.hybrid_dynamics import hybrid_dynamics
from catena.kernels import (
    POSITION,
    VELOCITY,
    Algorithm,
    OnMatrices,
    Scalars,
    base_to_tip,
    on_call,
    with_ground,
)
from catena.kernels.matrices import MatrixPanel
from catena.spatial import Motion
from catena.spatial.scalars import absolute, array, reciprocal, sqrt, where

# Contacts nearer than this many times the way of a step [m] are looked at.
REACH = 2.0
# Sweeps from contact to contact, and projections of one contact on its cone.
SWEEPS, PROJECTIONS = 24, 6
TOLD = 11
"""What is told of a contact: impulse (3), velocity at the end (3), normal velocity without impulses, work, the last
change of the impulse, how it yields along its plane, and the gap at the end."""

MORE: dict[str, dict[str, Any]] = {
    "before": {"p": Scalars(3), "gap": Scalars(1)},
    "moment": {"h": Scalars(1), "none": Scalars(1)},
    "coming": {
        "c": Scalars(3),
        "u": Scalars(3),
        "start": Scalars(3),
        "near": Scalars(1),
        "yields": Scalars(1),
    },
    "law": {"W": Scalars(9), "inverse": Scalars(9), "step": Scalars(1), "friction": Scalars(1)},
    "share": {"f": Scalars(3), "moved": Scalars(3)},
    "told": {"numbers": Scalars(TOLD)},
}


@on_call
def come(pushed: Any, before: Any, moment: Any, coming: Any) -> None:
    """How a contact would move at the end of the step without impulses, and whether it is near."""
    h, none, gap = moment.h[0], moment.none[0], before.gap[0]
    u = [pushed.motion[k] + h * pushed.driven[k] + 0.5 * h * pushed.bias[k] for k in range(3)]
    comes = where(u[2] < 0.0, u[2], 0.0)
    coming.near = array([where(gap + REACH * h * comes <= none, 1.0, 0.0)])
    apart = where(gap > none, gap, 0.0) * reciprocal(h)
    coming.u, coming.c = array(u), array([u[0], u[1], u[2] + apart])
    coming.start = array([x - 0.5 * h * b for x, b in zip(pushed.motion[:3], pushed.bias, strict=True)])


@on_call
def begin_law(contact: Any, block: Any, law: Any, coming: Any) -> None:
    """What a contact does by itself."""
    m = block.numbers.reshape(3, 3).tolist()
    law.W = block.numbers
    first, beside, second = contact_forces.unyielding_rest(m)
    law.inverse = contact_forces.inverse_of(contact_forces.with_rest(m, (first, second, 0.0, beside)))[0]
    law.step = array([reciprocal(sqrt(sum(x * x for x in block.numbers)))])
    law.friction, coming.yields = contact.friction, array([0.5 * (m[0][0] + m[1][1])])


@on_call
def begin_force(before: Any, coming: Any, share: Any, three: Any) -> None:
    """A contact begins with the impulse that it had."""
    share.f = array([coming.near[0] * x for x in before.p])
    share.moved, three.numbers = share.f, coming.c


@on_call
def rub(law: Any, coming: Any, share: Any, three: Any) -> None:
    """The impulse of one contact while the others have theirs."""
    mu, f, r = law.friction[0], share.f, three.numbers
    W, inverse, step = law.W.reshape(3, 3), law.inverse.reshape(3, 3), law.step[0]
    holds = [f[k] - sum(inverse[k][j] * r[j] for j in range(3)) for k in range(3)]
    within = mu * mu * holds[2] * holds[2] - holds[0] * holds[0] - holds[1] * holds[1]
    sticks = where(holds[2] >= 0.0, where(within >= 0.0, 1.0, 0.0), 0.0) > 0.5
    free = [r[k] - sum(W[k][j] * f[j] for j in range(3)) for k in range(3)]
    x = list(f)
    for _ in range(PROJECTIONS):
        rest = [free[k] + sum(W[k][j] * x[j] for j in range(3)) for k in range(3)]
        away = sqrt(rest[0] * rest[0] + rest[1] * rest[1])
        x = _onto_cone([x[k] - step * rest[k] for k in range(3)], mu, step * mu * away)
    near = coming.near[0]
    new = [where(near > 0.5, where(sticks, a, b), 0.0) for a, b in zip(holds, x, strict=True)]
    share.moved = array([a - b for a, b in zip(new, f, strict=True)])
    share.f = array(new)


def _onto_cone(z: list[Any], mu: Any, shift: Any) -> list[Any]:
    """The point of the cone nearest to z less a shift of its normal part (De Saxce)."""
    n, t = z[2] - shift, sqrt(z[0] * z[0] + z[1] * z[1])
    height = (n + mu * t) * reciprocal(1.0 + mu * mu)
    scale = mu * height * reciprocal(where(t > 1e-300, t, 1e-300))
    inside = t <= mu * n
    height = where(height > 0.0, height, 0.0)
    scale = where(scale > 0.0, scale, 0.0)
    return [
        where(inside, a, b)
        for a, b in zip((z[0], z[1], n), (scale * z[0], scale * z[1], height), strict=True)
    ]


@on_call
def leave(share: Any, coming: Any, three: Any, told: Any) -> None:
    """What is told of a contact after all sweeps."""
    p, u, c = share.f, coming.u, coming.c
    after = [three.numbers[k] - c[k] + u[k] for k in range(3)]
    change = sum(absolute(x) for x in share.moved)
    work = 0.5 * sum(x * (y + z) for x, y, z in zip(p, after, coming.start, strict=True))
    told.numbers = array([*p, *after, u[2], work, change, coming.yields[0], 0.0])


@on_call
def amend(pushed: Any, told: Any) -> None:
    """Ask for the way that a contact must go to touch, if it was pushed, or to be outside."""
    gap = pushed.motion[3]
    wrong = where(told.numbers[2] > 0.0, gap, where(gap < 0.0, gap, 0.0))
    counts = where(told.numbers[2] > 0.0, 1.0, where(gap < 0.0, 1.0, 0.0))
    pushed.P_T = array([0.0] * 8 + [counts])
    pushed.rest = array([1.0, 1.0, 1.0 - counts])
    pushed.wanted = array([0.0, 0.0, -wrong])


@on_call
def settle_gap(pushed: Any, told: Any) -> None:
    """Tell the gap at the end."""
    told.numbers = array([*told.numbers[:10], pushed.motion[3]])


class Impulses(Felt):
    """The impulses of contacts."""

    def __call__(self, work: Any) -> None:
        """Write the work."""
        self.begin(work)
        slot, count = work.slot, len(self.nodes)
        contacts, before, moment, told = (work.ground(n) for n in ("contacts", "before", "moment", "told"))
        coming, laws, forces = ([work.reserve(n) for _ in range(count)] for n in (11, 20, 6))
        r = work.matrix(3 * count, 1)

        def column(place: int, at: int) -> MatrixPanel:
            return MatrixPanel(place + at * slot, 3, 1, slot, slot, slot)

        def motion(i: int) -> int:
            return r.part(three(i), range(1)).place

        # How each contact moves those that feel it: their rows, and the columns (3 contacts, 3).
        moves: list[list[tuple[MatrixPanel, MatrixPanel]]] = [[] for _ in range(count)]
        for members in self.apart():
            W = work.matrix(3 * len(members), 3 * len(members))
            self.couple(W, members)
            for at, i in enumerate(members):
                moves[i] = [
                    (r.part(threes(run), range(1)), W.part(threes(range(a, a + len(run))), three(at)))
                    for a, run in runs(members)
                ]
                own = work.matrix(3, 3)
                work.copy(own, W.part(three(at), three(at)))
                work.step(come, self.pushed[i], before + 4 * i * slot, moment, coming[i])
                work.step(begin_law, contacts + i * SIZE * slot, own.place, laws[i], coming[i])
                work.step(begin_force, before + 4 * i * slot, coming[i], forces[i], motion(i))

        def spread(i: int) -> None:
            for rows, W in moves[i]:
                work.product(rows, W, column(forces[i], 3), start=rows)

        for i in range(count):
            spread(i)
        for _ in range(SWEEPS):
            for i in range(count):
                work.step(rub, laws[i], coming[i], forces[i], motion(i))
                spread(i)
        for i in range(count):
            work.step(leave, forces[i], coming[i], motion(i), told + TOLD * i * slot)
        given = work.matrix(3 * count, 1)
        for i, force in enumerate(forces):
            work.copy(given.part(three(i), range(1)), column(force, 0))
        self.press(given)

    def mend(self, work: Any) -> None:
        """Write the work of a correction of positions."""
        self.work = work
        self.pushed = self.touched()
        for i, place in enumerate(self.pushed):
            work.step(amend, place, work.ground("told") + TOLD * i * work.slot)
        self.solve()
        self.let_feel()

    def tell(self, work: Any) -> None:
        """Write the work that tells gaps."""
        self.work = work
        for i, place in enumerate(self.touched()):
            work.step(settle_gap, place, work.ground("told") + TOLD * i * work.slot)


def _half(body: Any, ground: Any) -> None:
    h = ground.moment[0]
    body.q_start = body.q
    body.q = body.joint.integrate(body.q, array([0.5 * h * x for x in body.qd]))


def _end(body: Any, ground: Any) -> None:
    h = ground.moment[0]
    after = [v + h * a + d for v, a, d in zip(body.qd, body.qdd, body.gained, strict=True)]
    mean = array([0.5 * h * (v + x) for v, x in zip(body.qd, after, strict=True)])
    body.q_next, body.v_next = body.joint.integrate(body.q_start, mean), array(after)


@base_to_tip
def gain(body: Any, parent: Any) -> None:
    """Joints gain speed as contacts have it."""
    body.gained = yielded(body, parent)


@base_to_tip
def shift(body: Any, parent: Any) -> None:
    """Joints go a little way as contacts have it."""
    body.q_next = body.joint.integrate(body.q_next, yielded(body, parent))


@base_to_tip
def stand_there(body: Any, parent: Any) -> None:
    """Where a body stands at the end of the step."""
    stands = body.joint.transform(body.q_next) * body.placement * parent.seen_stands
    still = [0.0] * 6
    body.seen = array([*stands.entries(), *still, *still, *still])
    body.pulls = np.zeros((body.joint.nv, 1))
    body.seen_stands = stands


@base_to_tip
def rest_there(body: Any, parent: Any) -> None:
    """Where the components of a joint are at the end of the step, for its stops."""
    rows = body.q_next if body.joint.nq == body.joint.nv else [0.0] * body.joint.nv
    body.moving = array([x for q in rows for x in (q, 0.0, 0.0)]).reshape(body.joint.nv, 3)


@lru_cache(maxsize=64)
def impulse_step(nodes: tuple[Pair, ...], forces: bool, driven: bool = False) -> Algorithm:
    """One step of a tree with contacts between nodes, and with `forces` of the mechanism, of which some joints may be
    `driven`."""
    count, impulses, dynamics = len(nodes), Impulses(nodes), hybrid_dynamics if driven else articulated_body
    numbers: dict[str, Any] = {
        **contact_forces.contact_inputs(nodes), "before": Scalars(4 * count), "moment": Scalars(2),
    }  # fmt: skip

    mend, stands = OnMatrices(impulses.mend), [stand_there]
    if contact_forces.have_stops(nodes):
        stands.append(rest_there)
    called = [
        *contact_forces.meeting(nodes),
        *contact_forces.solving(count),
        come,
        begin_law,
        begin_force,
        rub,
        leave,
        amend,
        settle_gap,
    ]
    sweeps = [
        contact_forces.holding(numbers, TOLD * count), *called,
        with_ground(_half), *(force_sweeps() if forces else ()), *dynamics.sweeps, *contact_forces.seeing(nodes),
        OnMatrices(impulses), gain, with_ground(_end), *stands, mend, shift, *stands, mend, shift, *stands,
        OnMatrices(impulses.tell),
    ]  # fmt: skip
    inputs = {n: e for n, e in dynamics.inputs.items() if not (forces and n in ("tau", "f_ext"))}
    ground = contact_forces.begun_with_contacts(dynamics.ground)
    name = (
        f"impulse_step_{contact_forces.code(nodes)}{'_driven' if driven else ''}{'_forces' if forces else ''}"
    )
    fields = contact_forces.fields(nodes)
    return Algorithm(
        f"{name}_{nodes}", ground, tuple(sweeps),
        inputs=inputs | (dict(GIVEN) if forces else {}), outputs={"q_next": POSITION, "v_next": VELOCITY},
        ground_inputs={"a_base": Motion, **numbers}, ground_outputs=("told",),
        optional=dynamics.optional | GIVEN.keys(), views={**contact_forces.views(count), **MORE},
        rewritten=dynamics.rewritten | {*fields, "q", "q_next"}, shared=SHARED if forces else {},
        component_fields=fields, code=name, replayed=True,
    )  # fmt: skip
