"""Forward dynamics of mechanisms with loops by elimination on the graph, in lanes. Cost linear while loops do not interlock deeply.

A body i on the way to the base obeys f = A a + p + sum_l K_l lambda_l, and a loop l obeys sum_i K_li^T a_i + sum_k L_lk lambda_k + l_l = 0: articulated
bodies, with the six-columned K carrying what the loops hold (Lilly and Orin's Omega and Lambda^-1 in other clothes; Popov and
Vereshchagin). `structure.elimination` says in which order bodies and multipliers go. For a star of chains on one member the
multipliers go when their chain is done, and what they leave on the member is Lilly and Orin's eq. 46.

L is negative semidefinite and singular wherever a chain blocks a direction or a constraint is redundant. So a small M is put under the multipliers,
which makes every elimination possible, and the solution is refined against the true equations of motion and constraints (proximal iterations):
what can be satisfied is satisfied, and multipliers of redundant constraints stay near the least ones. The last residuals are results, so that a caller
can tell the states where this was not enough.
"""

from typing import Any

import numpy as np

from catena.dynamics.friction import friction_force
from catena.kernels import (
    ASSIGN,
    POSITION,
    ROWS,
    VELOCITY,
    Algorithm,
    Entry,
    OnCall,
    Schedule,
    on_call,
)
from catena.spatial import ArticulatedInertia, Force, ForceSpace, Motion, Transform, cross, spd_inverse
from catena.spatial.scalars import array
from catena.structure import BodyGoes, LoopGoes, elimination_order

REGULARISATION = 1e-11
REFINEMENTS = 2


class Vector6:
    """Six numbers, one for each column of a loop's constraint space; columns that a joint does not need are zero."""

    size = 6

    @staticmethod
    def zero() -> np.ndarray:
        """Six zeros."""
        return np.zeros(6)


class Block6:
    """A 6 x 6 block between the columns of two loops or of a loop and a body."""

    size = 36

    @staticmethod
    def zero() -> ForceSpace:
        """A block of zeros."""
        return ForceSpace.zero(6)


def ground(ground: Any) -> None:
    """The ground accelerates against gravity, besides whatever it is made to do; corrections leave it alone."""
    ground.pose = Transform.identity()
    ground.v = Motion.zero()
    ground.a = ground.a_base + Motion(array([0.0, 0.0, 0.0, *(-ground.gravity)]))
    ground.da = Motion.zero()
    ground.A = ArticulatedInertia.zero()
    ground.p = Force.zero()
    ground.f = Force.zero()


# The mechanism as it stands and moves.


@on_call
def velocities(body: Any, parent: Any) -> None:
    """Poses and twists, and each body as if nothing hung on it."""
    body.X = body.joint.transform(body.q) * body.placement
    body.S = body.joint.motion_space(body.q)
    v_joint = body.S * body.qd
    body.pose = body.X * parent.pose
    body.v = body.X * parent.v + v_joint
    body.c = cross(body.v, v_joint) + body.joint.bias(body.q, body.qd)
    body.p0 = cross(body.v, body.inertia * body.v) - body.f_ext
    body.effort = body.tau - friction_force(body)
    body.A = ArticulatedInertia.from_rigid(body.inertia)
    body.p = body.p0
    body.e = np.zeros(body.joint.nv)


@on_call
def start(loop: Any, child: Any, parent: Any) -> None:
    """How the loop holds its two bodies, and the acceleration gamma that its joint has by itself."""
    X = (loop.on_child * child.pose) * (loop.on_parent * parent.pose).inverse()
    Phi = _padded(loop.joint.constraint_space(loop.joint.neutral()))
    v_child = loop.on_child * child.v
    v_joint = v_child - X * (loop.on_parent * parent.v)
    loop.K_child = loop.on_child.pull(Phi)
    loop.K_parent = -loop.on_parent.pull(X.pull(Phi))
    loop.gamma = loop.l = -(Phi.T * cross(v_child, v_joint))
    loop.L = ArticulatedInertia.zero()
    weights = [loop.scale[0] * (c[:3] @ c[:3]) + loop.scale[1] * (c[3:] @ c[3:]) for c in Phi.array.T]
    loop.M = array([REGULARISATION * (w if np.any(c) else loop.scale[1]) for w, c in zip(weights, Phi.array.T, strict=True)])
    loop.total = np.zeros(6)


def _padded(Phi: ForceSpace) -> ForceSpace:
    """Six columns, of which those that the joint does not need are zero."""
    return ForceSpace(np.hstack([Phi.array, np.zeros((6, 6 - Phi.n))]))


# Elimination of a body, and of a multiplier.


@on_call
def articulate(body: Any, parent: Any) -> None:
    """What the parent feels of a body through a joint that yields."""
    U = body.A * body.S
    D_inv = spd_inverse(body.S.T * U)
    u = body.effort - body.S.T * body.p
    Aa = body.A.felt_through(body.S, U, D_inv)
    parent.A += body.X.pull(Aa)
    parent.p += body.X.pull(body.p + Aa * body.c + U * (D_inv @ u))
    body.U, body.D_inv, body.u = U, D_inv, u


@on_call
def carry(body: Any, link: Any, above: Any, multiplier: Any) -> None:
    """How a loop holds the parent when the body is gone, and how much the joint yields to it."""
    E = body.S.T * link.K
    DE = body.D_inv @ E
    K = link.K - body.U * DE
    above.K += body.X.pull(K)
    link.E = E
    multiplier.L -= _symmetric(E.T @ DE)
    multiplier.l = multiplier.l + K.T * body.c + DE.T @ body.u


@on_call
def carry_to_ground(body: Any, link: Any, ground: Any, multiplier: Any) -> None:
    """The same where the parent is the ground, whose acceleration is known."""
    E = body.S.T * link.K
    DE = body.D_inv @ E
    link.E = E
    multiplier.L -= _symmetric(E.T @ DE)
    K = link.K - body.U * DE
    multiplier.l = multiplier.l + K.T * (body.c + body.X * ground.a) + DE.T @ body.u


@on_call
def join(multiplier: Any, link: Any, above: Any) -> None:
    """A loop that comes down to a body that it held from the start."""
    above.K += link.K


@on_call
def cross_couple(body: Any, link: Any, other_link: Any, sum: Any) -> None:
    """How two loops act on each other through a joint that yields to both."""
    sum.K -= ForceSpace(link.E.T @ (body.D_inv @ other_link.E))


@on_call
def absorb_ground(multiplier: Any, link: Any, ground: Any) -> None:
    """The ground's acceleration is known."""
    multiplier.l = multiplier.l + link.K.T * ground.a


@on_call
def invert(multiplier: Any) -> None:
    """lambda = W (K^T a + ...) + w."""
    W = spd_inverse(np.diag(multiplier.M) - multiplier.L.matrix())
    multiplier.W = _symmetric(W)
    multiplier.w = W @ multiplier.l


@on_call
def press(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop's chain adds to the inertia of the body that it still holds (Lilly and Orin, eq. 46)."""
    body.A += ArticulatedInertia.from_product(link.K * multiplier.W.matrix(), link.K)
    body.p += link.K * multiplier.w


@on_call
def mix_link(multiplier: Any, link: Any, pair: Any, above: Any) -> None:
    """What another loop, coupled to this one, holds of the body."""
    above.K += link.K * (multiplier.W.matrix() @ pair.K.array)


@on_call
def mix_own(multiplier: Any, pair: Any, other: Any) -> None:
    """How much more a coupled loop yields."""
    WL = multiplier.W.matrix() @ pair.K.array
    other.L += _symmetric(pair.K.array.T @ WL)
    other.l = other.l + pair.K.array.T @ multiplier.w


@on_call
def mix_pair(multiplier: Any, pair: Any, other_pair: Any, sum: Any) -> None:
    """How two coupled loops act on each other."""
    sum.K += ForceSpace(pair.K.array.T @ (multiplier.W.matrix() @ other_pair.K.array))


# The way back.


@on_call
def begin(multiplier: Any) -> None:
    """The part of the multiplier that depends on nothing later."""
    multiplier.lam = multiplier.w


@on_call
def feel(multiplier: Any, link: Any, body: Any) -> None:
    """The part that depends on the body that the loop held last."""
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ (link.K.T * body.a)


@on_call
def feel_pair(multiplier: Any, pair: Any, other: Any) -> None:
    """The part that depends on another loop."""
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ (pair.K.array @ other.lam)


@on_call
def settle(multiplier: Any) -> None:
    """The multiplier found so far."""
    multiplier.total = multiplier.total + multiplier.lam


@on_call
def release(body: Any, link: Any, multiplier: Any) -> None:
    """The joint force that the loop takes up."""
    body.e = body.e + link.E @ multiplier.lam


@on_call
def accelerate(body: Any, parent: Any) -> None:
    """Each joint accelerates as its force, its parent and the loops have it."""
    a = body.X * parent.a + body.c
    body.qdd = body.D_inv @ (body.u - body.U.T * a - body.e)
    body.a = a + body.S * body.qdd
    _demand(body)


def _demand(body: Any) -> None:
    """The force that the body's motion takes; what it lacks is found on the next way to the base."""
    body.f = body.inertia * body.a + body.p0
    body.p = Force.zero()
    body.e = np.zeros(body.joint.nv)


# Refinement: the same with only the right-hand sides, which are what is left of the true equations.


@on_call
def hold(multiplier: Any, child: Any, parent: Any) -> None:
    """The loop's forces on its two bodies, and the acceleration by which it is not closed."""
    child.f += multiplier.K_child * multiplier.total
    parent.f += multiplier.K_parent * multiplier.total
    multiplier.l = multiplier.gamma + multiplier.K_child.T * child.a + multiplier.K_parent.T * parent.a


@on_call
def balance(body: Any, parent: Any) -> None:
    """The joint force that is missing, and what the parent feels of it."""
    body.u = body.effort - body.S.T * (body.f + body.p)
    parent.f += body.X.pull(body.f)
    parent.p += body.X.pull(body.p + body.U * (body.D_inv @ body.u))


@on_call
def balance_only(body: Any, parent: Any) -> None:
    """The joint force that is still missing in the end."""
    body.u = body.effort - body.S.T * body.f
    parent.f += body.X.pull(body.f)


@on_call
def carry_again(body: Any, link: Any, multiplier: Any) -> None:
    """What the loop feels of them."""
    multiplier.l = multiplier.l + link.E.T @ (body.D_inv @ body.u)


@on_call
def invert_again(multiplier: Any) -> None:
    """The correction of the multiplier that depends on nothing later."""
    multiplier.w = multiplier.W.matrix() @ multiplier.l


@on_call
def press_again(multiplier: Any, link: Any, body: Any) -> None:
    """What the loop passes on to the body that it still holds."""
    body.p += link.K * multiplier.w


@on_call
def mix_again(multiplier: Any, pair: Any, other: Any) -> None:
    """What the loop passes on to a coupled one."""
    other.l = other.l + pair.K.array.T @ multiplier.w


@on_call
def feel_again(multiplier: Any, link: Any, body: Any) -> None:
    """The part of the correction that depends on the body that the loop held last."""
    multiplier.lam = multiplier.lam + multiplier.W.matrix() @ (link.K.T * body.da)


@on_call
def accelerate_again(body: Any, parent: Any) -> None:
    """The corrections of all accelerations."""
    da = body.X * parent.da
    dq = body.D_inv @ (body.u - body.U.T * da - body.e)
    body.da = da + body.S * dq
    body.a += body.da
    body.qdd = body.qdd + dq
    _demand(body)


def _symmetric(matrix: np.ndarray) -> ArticulatedInertia:
    """A symmetric 6 x 6 matrix as its 21 entries."""
    return ArticulatedInertia.from_matrix(matrix)


def _schedule(at: Any) -> list[Entry]:
    """Elimination, the way back, refinements, and the last residuals."""
    order = elimination_order(at.plan)
    entries = _eliminate(at, order) + _way_back(at, order, feel, accelerate)
    for _ in range(REFINEMENTS):
        entries += _eliminate_again(at, order) + _way_back(at, order, feel_again, accelerate_again)
    return entries + [
        Entry(balance_only, s.node, _with_parent(at, s.node, s.parent)) for s in order if isinstance(s, BodyGoes)
    ]


def _eliminate(at: Any, order: list[BodyGoes | LoopGoes]) -> list[Entry]:
    """Bodies and multipliers go. Bodies begin to move, and loops to hold, just before that is needed, so that memory is walked through once."""
    entries: list[Entry] = []
    moving = {0}
    held: set[int] = set()
    closing = _closing(at.plan)
    loops_at: dict[int, list[int]] = {}
    for k, j in closing.items():
        for i in (j.parent_node, j.child_node):
            loops_at.setdefault(i, []).append(k)

    def move(i: int) -> None:
        path = []
        while i not in moving:
            path.append(i)
            moving.add(i)
            i = int(at.plan.parent[i])
        for j in reversed(path):
            entries.append(Entry(velocities, j, _with_parent(at, j, int(at.plan.parent[j]))))

    for step in order:
        if isinstance(step, LoopGoes):
            entries += _loop_goes(at, step)
            continue
        i = step.node
        move(i)
        for k in loops_at.get(i, []):
            if k not in held:
                held.add(k)
                ends = closing[k].child_node, closing[k].parent_node
                move(ends[0])
                move(ends[1])
                entries.append(Entry(start, k, (at.multiplier(k), at.flows(ends[0]), at.flows(ends[1]))))
        entries += _body_goes(at, step)
    return entries


def _body_goes(at: Any, step: BodyGoes) -> list[Entry]:
    i = step.node
    entries = [Entry(articulate, i, _with_parent(at, i, step.parent))]
    for k, new in step.carried:
        held, me = at.link(k, i), at.multiplier(k)
        if step.parent == 0:
            entries.append(Entry(carry_to_ground, i, (at.body(i), held, at.flows(0), me)))
            continue
        end = None if new else at.end(k, step.parent)
        above = at.link(k, step.parent)
        entries.append(Entry(carry, i, (at.body(i), held, above, me), ASSIGN * (new or end is not None)))
        if end is not None:
            entries.append(Entry(join, k, (me, end, above)))
    for k, other, new in step.crossed:
        places = (at.body(i), at.link(k, i), at.link(other, i), at.pair(k, other))
        entries.append(Entry(cross_couple, i, places, ASSIGN * new))
    return entries


def _loop_goes(at: Any, step: LoopGoes) -> list[Entry]:
    k, me = step.loop, at.multiplier(step.loop)
    entries = []
    if step.ground:
        entries.append(Entry(absorb_ground, k, (me, at.link(k, 0), at.flows(0))))
    entries.append(Entry(invert, k, (me,)))
    if step.node is not None:
        entries.append(Entry(press, k, (me, at.link(k, step.node), at.flows(step.node))))
    for other, new in step.others:
        pair = at.pair(k, other)
        if step.node is not None:
            held = at.link(k, step.node)
            end = None if new else at.end(other, step.node)
            above = at.link(other, step.node)
            entries.append(Entry(mix_link, k, (me, held, pair, above), ASSIGN * (new or end is not None)))
            if end is not None:
                entries.append(Entry(join, other, (at.multiplier(other), end, above)))
        entries.append(Entry(mix_own, k, (me, pair, at.multiplier(other))))
    for one, two, new in step.pairs:
        entries.append(Entry(mix_pair, k, (me, at.pair(k, one), at.pair(k, two), at.pair(one, two)), ASSIGN * new))
    return entries


def _eliminate_again(at: Any, order: list[BodyGoes | LoopGoes]) -> list[Entry]:
    """The same with only the right-hand sides."""
    entries: list[Entry] = []
    for step in order:
        if isinstance(step, BodyGoes):
            i = step.node
            entries.append(Entry(balance, i, _with_parent(at, i, step.parent)))
            for k, _ in step.carried:
                entries.append(Entry(carry_again, i, (at.body(i), at.link(k, i), at.multiplier(k))))
            continue
        k, me = step.loop, at.multiplier(step.loop)
        entries.append(Entry(invert_again, k, (me,)))
        if step.node is not None:
            entries.append(Entry(press_again, k, (me, at.link(k, step.node), at.flows(step.node))))
        for other, _ in step.others:
            entries.append(Entry(mix_again, k, (me, at.pair(k, other), at.multiplier(other))))
    return entries


def _way_back(at: Any, order: list[BodyGoes | LoopGoes], feel: OnCall, accelerate: OnCall) -> list[Entry]:
    """Multipliers and accelerations, the last eliminated first; a loop holds as soon as both its bodies have accelerated."""
    entries: list[Entry] = []
    waiting = {k: {j.child_node, j.parent_node} - {0} for k, j in _closing(at.plan).items()}
    loops_at: dict[int, list[int]] = {}
    for k, nodes in waiting.items():
        for i in nodes:
            loops_at.setdefault(i, []).append(k)
    for step in reversed(order):
        if isinstance(step, LoopGoes):
            k, me = step.loop, at.multiplier(step.loop)
            entries.append(Entry(begin, k, (me,)))
            if step.node is not None:
                entries.append(Entry(feel, k, (me, at.link(k, step.node), at.flows(step.node))))
            for other, _ in step.others:
                entries.append(Entry(feel_pair, k, (me, at.pair(k, other), at.multiplier(other))))
            entries.append(Entry(settle, k, (me,)))
            continue
        i = step.node
        for k, _ in step.carried:
            entries.append(Entry(release, i, (at.body(i), at.link(k, i), at.multiplier(k))))
        entries.append(Entry(accelerate, i, _with_parent(at, i, step.parent)))
        for k in loops_at.get(i, []):
            waiting[k].discard(i)
            if not waiting[k]:
                j = at.plan.loop_joints[k]
                entries.append(Entry(hold, k, (at.multiplier(k), at.flows(j.child_node), at.flows(j.parent_node))))
    return entries


def _with_parent(at: Any, i: int, parent: int) -> tuple[Any, ...]:
    return at.body(i), at.flows(i), at.flows(parent)


def _closing(plan: Any) -> dict[int, Any]:
    """The loops that constrain something."""
    return {k: j for k, j in enumerate(plan.loop_joints) if j.constraints and j.parent_node != j.child_node}


_steps: tuple[OnCall, ...] = (
    velocities, start, articulate, carry, carry_to_ground, join, cross_couple, absorb_ground, invert, press, mix_link, mix_own, mix_pair, begin, feel, feel_pair,
    settle, release, accelerate, hold, balance, balance_only, carry_again, invert_again, press_again, mix_again,
    feel_again, accelerate_again,
)  # fmt: skip

loop_elimination = Algorithm(
    "loop_elimination", ground, (*_steps, Schedule(_schedule)),
    inputs={"q": POSITION, "qd": VELOCITY, "tau": VELOCITY, "f_ext": Force},
    outputs={"qdd": VELOCITY, "u": VELOCITY}, multiplier_outputs=("total", "l"),
    ground_inputs={"a_base": Motion}, optional=frozenset({"tau", "f_ext", "a_base"}),
    rewritten=frozenset({"e", "u", "qdd"}),
    views={
        "multiplier": {
            "K_child": Block6, "E_child": Block6, "K_parent": Block6, "E_parent": Block6, "gamma": Vector6, "l": Vector6, "L": ArticulatedInertia, "M": Vector6,
            "W": ArticulatedInertia, "w": Vector6, "lam": Vector6, "total": Vector6,
        },
        "link": {"K": Block6, "E": ROWS},
        "pair": {"K": Block6},
    },
)  # fmt: skip
