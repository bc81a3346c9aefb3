"""Impulses of contacts, stops and dry friction over one step in time, in lanes: Coulomb's law on the velocities at the
end of the step.

With the mobility W of all rows and c what they would do without impulses, r = W p + c is what they do. Each unit obeys

    contact    p_n >= 0,  r_n >= 0,  p_n r_n = 0;   |p_t| <= mu p_n,  and r_t opposite to p_t where |p_t| = mu p_n
    row        lo <= p <= hi,  and r = 0 in between, r >= 0 at lo, r <= 0 at hi  (a stop, dry friction)

which is p = P(p - rho r) with the projection P onto what is allowed (Alart and Curnier). Where P moves nothing, or onto
which side it moves, tells what each unit does: open, stick, slide; at lo, at hi, or in between. Linearised there, with
how the direction of a slip turns, the law is equations that are solved, and chooses again (Newton's method): until what
is left, p - P(p - rho r), is as a velocity the part `LEFT` of what there is without impulses. Lanes that are done keep
what they have, so that none depends on its neighbours, and when all are done the rest is left out. What is not found is
told, and is no step.

Contacts that are redundant have many solutions. A small part `GIVES` of what each unit yields is added to it, which
chooses one of them. Where so little is added, what points of one body would do against each other, and were it next to
nothing, takes forces beyond all cones, and choices come again and again: there contacts give more, `SOFTER`, and ten
times as much where that does not end either. Some sweeps from unit to unit (Gauss and Seidel) come nearer before.
"""

from functools import partial
from typing import Any

from catena.dynamics.contacts.contact_forces import (
    Nodes,
    Pair,
    UnitForces,
    carry_one,
    push_dry,
    stand_still,
    touch,
    touch_field,
    touch_floor,
    touch_rim,
)
from catena.kernels import OnCall, Scalars, on_call
from catena.kernels.matrices import MatrixPanel
from catena.spatial import Force, cross
from catena.spatial.scalars import absolute, array, reciprocal, sqrt, where

# What is added to the mobility of each unit, as a part of it.
GIVES = 1e-10
# What contacts give more where choices do not end, and how often ten times as much.
SOFTER, TENFOLD = 1e-6, 3
# What may be left of the law, as a part of the velocities without impulses.
LEFT = 1e-10
# How often a choice is made; sweeps from unit to unit before this is done again, and projections in each of them.
CHOICES, SWEEPS, PROJECTIONS = 8, 10, 3
# The part of a gap [1] by which a step brings a contact back to where it touches.
BACK = 0.2
# Contacts and stops that land slower than what they gain in so many steps do so at once, and what would bounce with
# less than they gain in so many does not bounce.
SLOWLY, BOUNCES = 0.25, 1.0
# A contact that lands within the last part of a step does so in the next one; those that land within a part of a step
# from each other do so together.
LATE, TOGETHER = 1e-3, 1e-6
BIG = 1e300

MOMENT = (
    "dt", "h", "hits", "going", "rushed", "left", "gives", "cut", "size", "worst", "goes", "work", "rubbed", "closed",
)  # fmt: skip
"""What the ground tells units, and what it is told: the step, the one that is asked for, whether this one is an impact
of no duration, whether the state goes on, whether too much landed in the last one, what may be left of the law, how
much contacts give more, when the first contact lands, the largest velocity without impulses, what is left of the law,
whether impulses are not found yet, the works of contacts and of rows at joints, and how many units may have an impulse
but those that rub."""
FLOOR, LANDING = 1.0, 2.0
"""What is known of a unit from step to step: it is closed, or about to land."""

LAW_VIEWS: dict[str, dict[str, Any]] = {
    "moment": {name: Scalars(1) for name in MOMENT},
    "held": {"flag": Scalars(1), "f": Scalars(3)},
    "held_row": {"flag": Scalars(1), "f": Scalars(1)},
    "bounce": {"e": Scalars(1)},
    "span": {"lower": Scalars(1), "upper": Scalars(1), "e": Scalars(1)},
    "landing": {
        "u": Scalars(3), "free": Scalars(3), "turns": Scalars(3), "shift": Scalars(1), "gap": Scalars(1),
        "mid": Scalars(1), "gains": Scalars(1), "near": Scalars(1), "at": Scalars(1), "sinks": Scalars(1),
    },
    "landing_row": {
        "u": Scalars(1), "free": Scalars(1), "shift": Scalars(1), "gap": Scalars(1), "mid": Scalars(1),
        "gains": Scalars(1), "near": Scalars(1), "at": Scalars(1), "sinks": Scalars(1), "sign": Scalars(1),
        "limit": Scalars(1),
    },
    "law": {
        "mu": Scalars(1), "rho": Scalars(2), "near": Scalars(1), "goes": Scalars(1), "c": Scalars(3), "W": Scalars(9),
    },
    "law_row": {"rho": Scalars(1), "lo": Scalars(1), "hi": Scalars(1), "goes": Scalars(1), "c": Scalars(1)},
    "share": {"numbers": Scalars(6)},
    "share_row": {"numbers": Scalars(2)},
    "choice": {"numbers": Scalars(12)},
    "choice_row": {"numbers": Scalars(4)},
    "cut": {"moment": Scalars(3), "force": Scalars(3), "limits": Scalars(4)},
    "joint_state": {"q": Scalars(1), "v": Scalars(1), "a": Scalars(1), "limit": Scalars(1)},
    "block": {"numbers": Scalars(9)},
    "row_value": {"numbers": Scalars(1)},
    "three": {"numbers": Scalars(3)},
}  # fmt: skip
"""`shares` are pairs p, r of each row; a choice is what `solve` is told of each row. A joint that is `cut` has a unit
wrench fixed to its child, and dry friction: that of a slip, by how much more holds at rest, how much of this fades with
the slip and how fast."""
CUT_SIZE = 10
# Joints slower than this [rad/s or m/s] rub as those at rest do.
REST = 1e-9
LAW_FIELDS = {"joint_rows": "joint_state"}


def _size(view: str) -> int:
    return sum(extent.size for extent in LAW_VIEWS[view].values())


def held_size(units: Nodes) -> int:
    """Return how many numbers are known of units from step to step: a flag and a force along each row."""
    return sum(1 + rows_of(unit) for unit in units)


def called(units: Nodes) -> tuple[OnCall, ...]:
    """Return the steps by which units are felt, and by which their impulses are found."""
    bent = (touch_field,) if any(unit.is_bent for unit in units) else ()
    in_joints = (push_dry,) if any(unit.is_inside for unit in units) else ()
    return (stand_still, touch, touch_floor, touch_rim, *bent, *in_joints, carry_one, *LAW_STEPS)


def rows_of(unit: Pair) -> int:
    """Return along how many rows a unit has impulses."""
    return 3 if unit.touches else 1


# How units come.


@on_call
def come(pushed: Any, held: Any, moment: Any, landing: Any) -> None:
    """How a contact would move without impulses, and whether it has one: it is closed, or lands slowly."""
    dt = moment.dt[0]
    u = pushed.motion[:3]
    landing.u = u
    landing.turns = array([0.5 * dt * x for x in pushed.bias])
    landing.free = array([u[k] + dt * pushed.driven[k] + landing.turns[k] for k in range(3)])
    landing.gains, landing.mid = array([pushed.driven[2] + pushed.bias[2]]), array([pushed.motion[3]])
    _come(landing, u[2], landing.free[2], held.flag[0], moment)


def _come(landing: Any, u: Any, free: Any, flag: Any, moment: Any) -> None:
    dt, mid = moment.dt[0], landing.mid[0]
    gap = mid - 0.5 * dt * u
    slow = SLOWLY * _falls(landing, moment)
    speed = _landing_speed(u, free, gap, dt)
    lands = where(mid + 0.5 * dt * free < 0.0, where(speed <= slow, 1.0, moment.rushed[0]), 0.0)
    closed = where(flag > 0.5, 1.0, 0.0)
    near = where(moment.hits[0] > 0.5, closed, where(closed > 0.5, 1.0, lands))
    landing.near, landing.gap = array([near * moment.going[0]]), array([gap])
    moment.closed = moment.closed + landing.near


def _falls(landing: Any, moment: Any) -> Any:
    """The speed with which a unit falls after a step from rest."""
    return where(landing.gains[0] < 0.0, -landing.gains[0], 0.0) * moment.h[0]


def _landing_speed(u: Any, free: Any, gap: Any, dt: Any) -> Any:
    """The speed with which a gap closes that goes from u to free in a step; that of the start where it is closed."""
    gains = (free - u) * reciprocal(where(dt > 0.0, dt, 1.0))
    square = u * u - 2.0 * gains * where(gap > 0.0, gap, 0.0)
    return sqrt(where(square > 0.0, square, 0.0))


@on_call
def come_row(joint_state: Any, moment: Any, landing_row: Any) -> None:
    """How a component of a joint would move without impulses."""
    dt, u = moment.dt[0], joint_state.v[0]
    landing_row.u, landing_row.mid = array([u]), array([joint_state.q[0]])
    landing_row.free, landing_row.gains = array([u + dt * joint_state.a[0]]), array([joint_state.a[0]])
    landing_row.limit = joint_state.limit


@on_call
def touch_cut(cut: Any, node: Any, other_node: Any, pushed: Any) -> None:
    """How a component of a joint that closes a loop moves, and its unit force."""
    w = node.stands.pull(Force(array([*cut.moment, *cut.force])))
    pushed.T = array([*w.entries(), *[0.0] * 12])
    pushed.back = array([-x for x in pushed.T])
    turns = node.a - other_node.a + cross(node.v, other_node.v)
    pushed.motion = array([(node.v - other_node.v).dot(w), 0.0, 0.0, 0.0])
    pushed.bias = array([turns.dot(w), 0.0, 0.0])
    pushed.driven = array([(node.d - other_node.d).dot(w), 0.0, 0.0])


@on_call
def come_cut(cut: Any, pushed: Any, moment: Any, landing_row: Any) -> None:
    """How that component would move without impulses."""
    dt, bias, driven = moment.dt[0], pushed.bias[0], pushed.driven[0]
    u = pushed.motion[0] - 0.5 * dt * bias
    landing_row.u, landing_row.mid = array([u]), array([0.0])
    landing_row.free, landing_row.gains = array([u + dt * (driven + bias)]), array([driven + bias])
    landing_row.limit = array([most_friction(cut.limits, u)])


def most_friction(limits: Any, v: Any) -> Any:
    """Return with how much a component rubs at most that moves at v."""
    friction, excess, fading, fall = limits
    return where(absolute(v) > REST, friction + fading / (1.0 + fall * v * v), friction + excess)


@on_call
def meet_stop(span: Any, held_row: Any, moment: Any, landing_row: Any) -> None:
    """Which side of a stop is nearer, and whether it holds."""
    q = landing_row.mid[0]
    below = q - span.lower[0] < span.upper[0] - q
    sign = where(below, 1.0, -1.0)
    landing_row.sign = array([sign])
    landing_row.mid = array([where(below, q - span.lower[0], span.upper[0] - q)])
    landing_row.gains = array([sign * landing_row.gains[0]])
    _come(landing_row, sign * landing_row.u[0], sign * landing_row.free[0], held_row.flag[0], moment)


@on_call
def weigh_unit(contact: Any, block: Any, law: Any) -> None:
    """What a contact does by itself."""
    m = block.numbers.reshape(3, 3)
    yields = m[0][0] + m[1][1] + m[2][2]
    # A contact that nothing can move does not move, whatever its force.
    more = where(yields > 0.0, GIVES * yields, 1.0)
    block.numbers = array([m[i][j] + (more if i == j else 0.0) for i in range(3) for j in range(3)])
    along = m[0][0] + m[1][1] + 2.0 * more
    law.rho = array([2.0 * reciprocal(along), reciprocal(m[2][2] + more)])
    law.mu = contact.friction


@on_call
def weigh_row(row_value: Any, law_row: Any) -> None:
    """What a row does by itself."""
    w = (1.0 + GIVES) * row_value.numbers[0]
    # A row of a joint that is driven yields to nothing, and has no force.
    row_value.numbers = array([where(w > 0.0, w, 1.0)])
    law_row.rho = array([reciprocal(row_value.numbers[0])])


@on_call
def aim(landing: Any, bounce: Any, moment: Any, law: Any) -> None:
    """What a contact does without impulses, with what it must do more: come back to where it touches, or bounce."""
    hits = moment.hits[0] > 0.5
    shift = _shift(landing, landing.u[2], bounce.e[0], moment)
    x, y = (where(hits, landing.u[k], landing.free[k]) for k in range(2))
    law.c = array([x, y, where(hits, landing.u[2], landing.free[2]) + shift])
    law.near, landing.shift = landing.near, array([shift])
    size = absolute(law.c[0]) + absolute(law.c[1]) + absolute(law.c[2])
    moment.size = array([_larger(moment.size[0], size * landing.near[0])])


def _shift(landing: Any, u: Any, e: Any, moment: Any) -> Any:
    """What is added to the velocity of a gap: a contact that has an impulse comes back to where it touches; one that
    hits bounces, unless it would be back within about a step."""
    back = landing.near[0] * BACK * landing.gap[0] * reciprocal(moment.h[0])
    falls = where(u < 0.0, u, 0.0)
    bounces = where(-e * falls > BOUNCES * _falls(landing, moment), e * falls, 0.0)
    return where(moment.hits[0] > 0.5, landing.near[0] * bounces, back)


@on_call
def aim_stop(span: Any, landing_row: Any, moment: Any, law_row: Any) -> None:
    """The same for a stop, which pushes one way."""
    sign, near = landing_row.sign[0], landing_row.near[0]
    shift = sign * _shift(landing_row, sign * landing_row.u[0], span.e[0], moment)
    c = where(moment.hits[0] > 0.5, landing_row.u[0], landing_row.free[0]) + shift
    law_row.c, landing_row.shift = array([c]), array([shift])
    law_row.lo = array([where(sign < 0.0, -BIG * near, 0.0)])
    law_row.hi = array([where(sign > 0.0, BIG * near, 0.0)])
    moment.size = array([_larger(moment.size[0], absolute(c) * near)])


@on_call
def aim_dry(landing_row: Any, moment: Any, law_row: Any) -> None:
    """The same for dry friction, which is no impulse where something hits."""
    c = where(moment.hits[0] > 0.5, landing_row.u[0], landing_row.free[0])
    most = landing_row.limit[0] * moment.dt[0] * moment.going[0]
    law_row.c, landing_row.shift, landing_row.near = array([c]), array([0.0]), array([1.0])
    law_row.lo, law_row.hi, landing_row.at = array([-most]), array([most]), array([BIG])
    landing_row.sinks = array([0.0])
    moment.size = array([_larger(moment.size[0], absolute(c))])


@on_call
def begin_share(held: Any, landing: Any, moment: Any, share: Any) -> None:
    """A contact begins with the force that it had."""
    f = [landing.near[0] * moment.dt[0] * x for x in held.f]
    share.numbers = array([f[0], 0.0, f[1], 0.0, f[2], 0.0])


@on_call
def begin_row(held_row: Any, law_row: Any, moment: Any, share_row: Any) -> None:
    """A row begins with the force that it had."""
    share_row.numbers = array([_within(moment.dt[0] * held_row.f[0], law_row.lo[0], law_row.hi[0]), 0.0])


# The law.


@on_call
def forget_verdict(moment: Any) -> None:
    """Nothing is left of the law so far."""
    moment.worst = array([0.0])


@on_call
def choose(law: Any, share: Any, choice: Any, moment: Any) -> None:
    """What a contact does, by the projection, and what is left of the law."""
    x = share.numbers
    p, r, (rho_t, rho_n) = (x[0], x[2], x[4]), (x[1], x[3], x[5]), law.rho
    mu, near = law.mu[0], law.near[0]
    z = [p[0] - rho_t * r[0], p[1] - rho_t * r[1], p[2] - rho_n * r[2]]
    pushes = where(near > 0.5, where(z[2] > 0.0, 1.0, 0.0), 0.0)
    onto, scale, is_out = _onto_disc(z, mu * pushes * z[2])
    left = _larger(
        absolute(p[2] - pushes * z[2]) / rho_n,
        _larger(absolute(p[0] - onto[0]), absolute(p[1] - onto[1])) / rho_t,
    )
    moment.worst = array([_larger(moment.worst[0], left)])
    sticks = pushes * (1.0 - is_out)
    slides, d = pushes * is_out, [scale * z[0], scale * z[1]]
    # What slides turns as the projection does, across its direction.
    part = where(mu * z[2] * scale < 1.0, mu * z[2] * scale, 1.0)
    weight = slides * part * rho_t * reciprocal(1.0 - part + part * rho_t)
    m = [sticks + weight * (1.0 - d[0] * d[0]), sticks + weight * (1.0 - d[1] * d[1])]
    o, (x, y, n) = -weight * d[0] * d[1], law.c
    choice.numbers = array([
        m[0], o, slides * mu * d[0], -m[0] * x - o * y, m[1], o, slides * mu * d[1], -m[1] * y - o * x,
        pushes, 0.0, 0.0, -pushes * n,
    ])  # fmt: skip


def _onto_disc(z: Any, most: Any) -> tuple[list[Any], Any, Any]:
    """The point of a disc nearest to z, one over the size of z, and whether z is outside."""
    size = sqrt(z[0] * z[0] + z[1] * z[1])
    scale = reciprocal(where(size > 1e-300, size, 1e-300))
    is_out = where(size > most, 1.0, 0.0)
    factor = where(size > most, most * scale, 1.0)
    return [factor * z[0], factor * z[1]], scale, is_out


@on_call
def choose_row(law_row: Any, share_row: Any, choice_row: Any, moment: Any) -> None:
    """What a row does, by the projection, and what is left of the law."""
    p, r = share_row.numbers
    z, lo, hi = p - law_row.rho[0] * r, law_row.lo[0], law_row.hi[0]
    onto = _within(z, lo, hi)
    moment.worst = array([_larger(moment.worst[0], absolute(p - onto) / law_row.rho[0])])
    free = where(z > lo, where(z < hi, 1.0, 0.0), 0.0)
    choice_row.numbers = array([free, 0.0, 0.0, where(free > 0.5, -law_row.c[0], onto)])


@on_call
def conclude(moment: Any) -> None:
    """Whether something is left of the law. Scalars that are none leave all of it."""
    moment.goes = array([where(moment.worst[0] <= moment.left[0] * moment.size[0], 0.0, moment.going[0])])


@on_call
def soften(moment: Any) -> None:
    """Let contacts give more."""
    gives = moment.gives[0]
    moment.gives = array([where(gives > 0.0, 10.0 * gives, SOFTER)])


@on_call
def give(law: Any, block: Any, moment: Any) -> None:
    """Let a contact give more, if its state goes on."""
    m, goes = block.numbers.reshape(3, 3), moment.goes[0]
    more = where(goes > 0.5, moment.gives[0] * (m[0][0] + m[1][1] + m[2][2]), 0.0)
    block.numbers = array([m[i][j] + (more if i == j else 0.0) for i in range(3) for j in range(3)])
    law.W, law.goes = block.numbers, array([where(law.near[0] > 0.5, goes, 0.0)])


@on_call
def go_on(law_row: Any, moment: Any) -> None:
    """Let a row know whether its state goes on."""
    law_row.goes = moment.goes


@on_call
def sweep(law: Any, share: Any, three: Any) -> None:
    """Find the impulse of one contact while the others have theirs, and by how much it changes."""
    x = share.numbers
    p, r, W = [x[0], x[2], x[4]], [x[1], x[3], x[5]], law.W.reshape(3, 3)
    mu, (rho_t, rho_n) = law.mu[0], law.rho
    free = [r[k] - sum(W[k][j] * p[j] for j in range(3)) for k in range(3)]
    new = list(p)
    for _ in range(PROJECTIONS):
        n = new[2] - rho_n * (free[2] + sum(W[2][j] * new[j] for j in range(3)))
        new[2] = where(n > 0.0, n, 0.0)
        z = [new[k] - rho_t * (free[k] + sum(W[k][j] * new[j] for j in range(3))) for k in range(2)]
        new[:2] = _onto_disc(z, mu * new[2])[0]
    three.numbers = array([law.goes[0] * (a - b) for a, b in zip(new, p, strict=True)])
    p = [a + b for a, b in zip(p, three.numbers, strict=True)]
    share.numbers = array([p[0], r[0], p[1], r[1], p[2], r[2]])


@on_call
def sweep_row(law_row: Any, share_row: Any, row_value: Any) -> None:
    """Find the impulse of one row while the others have theirs, and by how much it changes."""
    p, r = share_row.numbers
    new = _within(p - law_row.rho[0] * r, law_row.lo[0], law_row.hi[0])
    row_value.numbers = array([law_row.goes[0] * (new - p)])
    share_row.numbers = array([p + row_value.numbers[0], r])


# What comes of it.


@on_call
def foresee(landing: Any, share: Any, moment: Any) -> None:
    """When an open contact lands within the step."""
    _foresee(landing, landing.u[2], share.numbers[5], moment)


@on_call
def foresee_row(landing_row: Any, share_row: Any, moment: Any) -> None:
    """When a joint comes to its stop within the step."""
    sign = landing_row.sign[0]
    _foresee(landing_row, sign * landing_row.u[0], sign * share_row.numbers[1], moment)


def _foresee(landing: Any, u: Any, end: Any, moment: Any) -> None:
    dt, gap = moment.dt[0], landing.gap[0]
    gains = (end - u) * reciprocal(where(dt > 0.0, dt, 1.0))
    square = u * u - 2.0 * gains * gap
    root = sqrt(where(square > 0.0, square, 0.0))
    below = root - u
    comes = where(gap > 0.0, 2.0 * gap * reciprocal(where(below > 1e-300, below, 1e-300)), 0.0)
    # One that goes away, perhaps out of the other side, comes back later, if it comes out at all.
    at = where(u > 0.0, (u + root) * reciprocal(where(gains < -1e-300, -gains, 1e-300)), comes)
    ends_inside = where(landing.mid[0] + 0.5 * dt * end < 0.0, where(moment.hits[0] < 0.5, 1.0, 0.0), 0.0)
    lands = where(landing.near[0] < 0.5, ends_inside, 0.0) * moment.going[0]
    stays = where(gap > 0.0, 0.0, where(u > 0.0, where(square > 0.0, 0.0, 1.0), 0.0))
    landing.sinks = array([lands * stays])
    lands = lands * (1.0 - stays) * (1.0 - moment.rushed[0])
    at = where(lands > 0.5, where(at < (1.0 - LATE) * dt, at, BIG), BIG)
    landing.at = array([at])
    moment.cut = array([where(at < moment.cut[0], at, moment.cut[0])])


@on_call
def leave(landing: Any, share: Any, moment: Any, held: Any) -> None:
    """What is known of a contact in the next step, and the work of its impulse."""
    x = share.numbers
    p, end = (x[0], x[2], x[4]), (x[1], x[3], x[5] - landing.shift[0])
    # StepImpulses work on velocities along rows as these are in the middle of the step.
    means = [0.5 * (a + b - c) for a, b, c in zip(landing.u, end, landing.turns, strict=True)]
    moment.work = moment.work + sum(a * b for a, b in zip(p, means, strict=True))
    held.flag = array([_flag(landing, p[2], moment)])
    held.f = array([_force(moment, a, b) for a, b in zip(p, held.f, strict=True)])


@on_call
def leave_row(landing_row: Any, share_row: Any, moment: Any, held_row: Any) -> None:
    """What is known of a row in the next step, and the work of its impulse."""
    p, end = share_row.numbers[0], share_row.numbers[1] - landing_row.shift[0]
    moment.rubbed = moment.rubbed + array([0.5 * p * (landing_row.u[0] + end)])
    held_row.flag = array([_flag(landing_row, absolute(p), moment)])
    held_row.f = array([_force(moment, p, held_row.f[0])])


def _flag(landing: Any, p: Any, moment: Any) -> Any:
    """Whether a unit is closed from now on, or lands where the step is cut."""
    stays = where(p > 0.0, landing.near[0], 0.0)
    bounces = where(moment.hits[0] > 0.5, where(landing.shift[0] * landing.shift[0] > 0.0, 1.0, 0.0), 0.0)
    lands = where(
        landing.at[0] <= moment.cut[0] + TOGETHER * moment.h[0], where(moment.cut[0] < BIG, 1.0, 0.0), 0.0
    )
    return where(lands > 0.5, LANDING, where(landing.sinks[0] > 0.5, FLOOR, stays * (1.0 - bounces) * FLOOR))


def _force(moment: Any, p: Any, before: Any) -> Any:
    """The force of an impulse over the step; that of the step before where there is an impact."""
    dt = moment.dt[0]
    return where(dt > 0.0, p * reciprocal(where(dt > 0.0, dt, 1.0)), before)


def _larger(a: Any, b: Any) -> Any:
    """The larger of two numbers, NaN if one of them is."""
    return where(a <= b, b, where(a > b, a, a + b))


def _within(x: Any, lo: Any, hi: Any) -> Any:
    return where(x < lo, lo, where(x > hi, hi, x))


LAW_STEPS = (
    come, come_row, touch_cut, come_cut, meet_stop, weigh_unit, weigh_row, aim, aim_stop, aim_dry, begin_share,
    begin_row, forget_verdict, choose, choose_row, conclude, soften, give, go_on, sweep, sweep_row, foresee,
    foresee_row, leave, leave_row,
)  # fmt: skip


class StepImpulses(UnitForces):
    """The impulses of units over a step, as work on matrices: a ground field "moment" tells the step, "contacts" and
    "bounces" what contacts are, "spans" what stops are, and "held" is what is known of all units from step to step."""

    def width_of(self, pair: Pair) -> int:
        """Return along how many rows a unit has impulses."""
        return rows_of(pair)

    def _touch_joint(self, i: int) -> int:
        """Nothing: joints tell units themselves how they move."""
        return 0

    def _push_joint(self, i: int, e: MatrixPanel) -> None:
        """Write the unit force of a component, as its joint feels it."""
        self.work.step(push_dry, e.at(self.units[i].stopped, 0))

    def mobility(self) -> MatrixPanel:
        """Return what forces along rows do to each other, (rows, rows)."""
        W = self.work.matrix(self.count, self.count)
        self.couple(W, range(len(self.units)))
        return W

    def __call__(self, work: Any) -> None:
        """Write the work."""
        self.begin(work)
        self.come()
        self.find()
        self.press(self.p)

    def come(self) -> None:
        """Find how all units come."""
        work = self.work
        self.moment, held = work.ground("moment"), work.ground("held")
        self.landing, self.law, self.held = [], [], []
        for i, unit in enumerate(self.units):
            self.held.append(held)
            held += (1 + self.widths[i]) * work.slot
            views = ("landing", "law") if unit.touches else ("landing_row", "law_row")
            self.landing.append(work.reserve(_size(views[0])))
            self.law.append(work.reserve(_size(views[1])))
            if unit.touches:
                work.step(come, self.pushed[i], self.held[i], self.moment, self.landing[i])
                continue
            if unit.is_cut:
                work.step(come_cut, self._cut(i), self.pushed[i], self.moment, self.landing[i])
                continue
            state = work.component("joint_rows", unit.node, unit.stopped)
            work.step(come_row, state, self.moment, self.landing[i])
            if not unit.rubs:
                work.step(meet_stop, self._span(i), self.held[i], self.moment, self.landing[i])

    def find(self) -> None:
        """Find the impulses of all units that have come, and tell what comes of them."""
        self._begin_law()
        self._choose(CHOICES, partial(self._give, TENFOLD))
        self._end()

    def _begin_law(self) -> None:
        """Find the mobility and what units do without impulses, and begin with the forces that they had."""
        work, slot = self.work, self.work.slot
        self.W, self.c = self.mobility(), work.matrix(self.count, 1)
        shares, self.choices = work.reserve(2 * self.count), work.reserve(4 * self.count)
        self.p, self.r = (
            MatrixPanel(shares + k * slot, self.count, 1, 2 * slot, slot, slot) for k in range(2)
        )
        for i, unit in enumerate(self.units):
            if unit.touches:
                self._begin_contact(i)
            else:
                self._begin_joint(i, unit)

    def _begin_contact(self, i: int) -> None:
        work, rows, landing, law = self.work, self.rows(i), self.landing[i], self.law[i]
        # Contacts are the first of units.
        contact, bounce = self._contact(i), work.ground("bounces") + i * work.slot
        own, block = work.matrix(3, 3), self.W.part(rows, rows)
        work.copy(own, block)
        work.step(weigh_unit, contact, own.place, law)
        work.copy(block, own)
        work.step(aim, landing, bounce, self.moment, law)
        work.copy(self.c.part(rows, range(1)), self._of_law(i, "law", 3))
        work.step(begin_share, self.held[i], landing, self.moment, self._share(i))

    def _begin_joint(self, i: int, unit: Pair) -> None:
        work, rows, landing, law = self.work, self.rows(i), self.landing[i], self.law[i]
        work.step(weigh_row, self.W.part(rows, rows).place, law)
        if not unit.rubs:
            work.step(aim_stop, self._span(i), landing, self.moment, law)
        else:
            work.step(aim_dry, landing, self.moment, law)
        work.copy(self.c.part(rows, range(1)), self._of_law(i, "law_row", 1))
        work.step(begin_row, self.held[i], law, self.moment, self._share(i))

    def _cut(self, i: int) -> int:
        """Return the place of what a joint that closes a loop is."""
        before = sum(unit.is_cut for unit in self.units[:i])
        return int(self.work.ground("cut_joints")) + CUT_SIZE * before * int(self.work.slot)

    def _span(self, i: int) -> int:
        """Return the place of what a stop is."""
        before = sum(unit.is_inside and not unit.rubs for unit in self.units[:i])
        return int(self.work.ground("spans")) + 3 * before * int(self.work.slot)

    def _of_law(self, i: int, view: str, rows: int) -> MatrixPanel:
        """Return what a unit does without impulses, as its law has it."""
        slot = self.work.slot
        at = list(LAW_VIEWS[view]).index("c")
        first = sum(extent.size for extent in list(LAW_VIEWS[view].values())[:at])
        return MatrixPanel(self.law[i] + first * slot, rows, 1, slot, slot, slot)

    def _share(self, i: int) -> int:
        return self.p.part(self.rows(i), range(1)).place

    def _choose(self, times: int, then: Any) -> None:
        """Choose what units do and solve for that, so many times, until it goes on so; `then` do something else."""
        work = self.work
        work.product(self.r, self.W, self.p, start=self.c)
        work.step(forget_verdict, self.moment)
        for i, unit in enumerate(self.units):
            step = choose if unit.touches else choose_row
            work.step(
                step, self.law[i], self._share(i), self.choices + 4 * self.first[i] * work.slot, self.moment
            )
        work.step(conclude, self.moment)
        goes = self.moment + MOMENT.index("goes") * work.slot
        if not times:
            if then is not None:
                with work.unless_done(goes):
                    then()
            return
        with work.unless_done(goes):
            work.solve(self.p, self.W, self.choices, goes, self._normals, self._others)
            self._choose(times - 1, then)

    @property
    def _normals(self) -> list[int]:
        """Return the row along which a contact is pressed, for each row."""
        return [self.first[i] + width - 1 for i, width in enumerate(self.widths) for _ in range(width)]

    @property
    def _others(self) -> list[int]:
        """Return the other row along the plane of a contact, for each row along it, and each other row itself."""
        return [
            self.first[i] + ((1, 0, 2)[k] if width > 1 else 0)
            for i, width in enumerate(self.widths)
            for k in range(width)
        ]

    def _give(self, more: int) -> None:
        """Let contacts give more, come nearer by sweeps from unit to unit, and choose again; after this so many times
        with ten times as much."""
        work, slot, places = self.work, self.work.slot, list[int]()
        work.step(soften, self.moment)
        for i, unit in enumerate(self.units):
            places.append(work.reserve(self.widths[i]))
            if unit.touches:
                rows = self.rows(i)
                own, block = work.matrix(3, 3), self.W.part(rows, rows)
                work.copy(own, block)
                work.step(give, self.law[i], own.place, self.moment)
                work.copy(block, own)
            else:
                work.step(go_on, self.law[i], self.moment)
        work.product(self.r, self.W, self.p, start=self.c)
        for _ in range(SWEEPS):
            for i, unit in enumerate(self.units):
                step = sweep if unit.touches else sweep_row
                work.step(step, self.law[i], self._share(i), places[i])
                moved = MatrixPanel(places[i], self.widths[i], 1, slot, slot, slot)
                work.product(self.r, self.W.part(range(self.count), self.rows(i)), moved, start=self.r)
        self._choose(CHOICES, partial(self._give, more - 1) if more else None)

    def _end(self) -> None:
        """Tell what comes of it."""
        work = self.work
        ahead = [
            (i, foresee if unit.touches else foresee_row)
            for i, unit in enumerate(self.units)
            if not unit.rubs
        ]
        for i, step in ahead:
            work.step(step, self.landing[i], self._share(i), self.moment)
        for i, unit in enumerate(self.units):
            step = leave if unit.touches else leave_row
            work.step(step, self.landing[i], self._share(i), self.moment, self.held[i])
