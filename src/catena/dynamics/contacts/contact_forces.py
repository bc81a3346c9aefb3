"""Forces of contacts whose modes are known, within the dynamics of a tree: two sweeps and small dense blocks, cost
O(N) + O(contacts depth) + O(contacts^3).

Articulated bodies have found the accelerations without contacts, and what each joint yields: its motions S, U = IA S
and D = S^T U, told here in ground axes at ground's origin, so that wrenches and motions go from body to body as they
are. The three unit forces T of a contact (moment and force as rows) go to the base as F <- F - z U, with e = F S^T and
z = e D^-1 at each joint on the way, so that the mobility of contacts i and j is W_ij = sum over the joints that
both feel of z_i e_j^T. With f = P x, where P has the direction of friction of a contact that slides as its only column
and is one for a contact that sticks, and with ones in Q for what the mode demands,

    sum_j W_ij P_j x_j + (1 - Q_i) x_i = -Q_i c_i,

which is eliminated contact by contact. Where nothing is demanded P has no column, so that x is of no use there: it is
told what the contact does. Joints then yield to the sum of e^T f from the base on. Contacts that are open have no
forces. A contact is a point or a ball over a plane or around another ball, as
`simulation.contacts.geometry` says; what it is and what it does are inputs, so that another mode is another number.
A rigid stop of a joint is a contact too, of which a unit force is one of that joint, and so is a velocity component
with dry friction: it is always closed, and its normal is a motion that nothing else takes part in, which its pressure
holds (`simulation.contacts.dry_component`). Joints whose motion is given do
not yield (D^-1 is zero there), and what drives them feels the contacts.

Where contacts are redundant (more points touch a body than hold it) the system H x = b of what is demanded is singular,
and the least x is taken: x = H^T y with (H H^T + Delta) y = b, and a small Delta that makes every elimination possible
and is taken back by refinement, x <- x + H^T (H H^T + Delta)^-1 (b - H x).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from catena.forces.dry import pressure
from catena.kernels import LeaveOut, OnCall, OnMatrices, Scalars, Sweep, at_ground, base_to_tip, on_call
from catena.kernels.matrices import MatrixPanel
from catena.spatial import Force, Motion, Transform, cross
from catena.spatial.scalars import absolute, array, reciprocal, sqrt, where
from catena.spatial.vectors import cross3

# Below this sine a rim lies flat, and touches all around.
FLAT = 1e-9
# How errors of contacts that get forces are led back to zero [1/s].
PULL = 20.0
# Forces that are none, as parts of the largest.
PULLS = 1e-7
# What is left of a block of contacts that are not redundant.
DETERMINED = 1e-11
# The part of what a contact yields along its plane that is nothing: in a planar mechanism it yields in one direction.
UNYIELDING = 1e-11
# The part of what contacts do that is added where they may be redundant, and how often that is taken back.
SOFT, REFINEMENTS = 1e-11, 3
# The part of the time in which friction of a light body stops a slip that a step takes at most.
NEARLY = 0.5
# A slip is no longer as slow as it began at so many times the speed that is slow.
BEGUN = 4.0
# Parts of the speed up to which the direction of a slip is eased: up to which, and how slow it counts at least.
SLOWER, LEAST = 0.999, 1e-3
# So many contacts, if they all feel each other, are eliminated in one step, written out for their number.
FEW = 4

CONTACT: dict[str, Any] = {
    "on_a": Scalars(3), "on_b": Scalars(3), "axes": Scalars(9), "reference": Scalars(3), "across": Scalars(3),
    "radii": Scalars(2), "is_round": Scalars(1), "friction": Scalars(1), "sticks": Scalars(1), "slides": Scalars(1),
    "along": Scalars(2), "slow": Scalars(1), "deep": Scalars(1), "least": Scalars(1), "light": Scalars(2),
    "held": Scalars(1), "soft": Scalars(2),
}  # fmt: skip
"""What a contact is and does: where it is on both bodies, the axes of the plane, the directions from which axes on
balls are turned (of a rim its axis, on its body), its radius and that of the other side or of a rim, whether the other
side is round, the coefficient of friction, its mode,
the direction in which it began to slide, the speed [m/s] below which that counts, how far it may go: into the other
side while it is open, and back while it slides; and the force [N] above which its friction stops a slip at once that
would end within a way [m]; and of a component with dry friction the part of what it can hold beyond which it gives
way, else zero."""


FIELD_SIZE = 16
"""How many numbers tell a floor near a place (`touch_field`)."""


class Pair(NamedTuple):
    """Who meets in a contact: the node that touches, the one that it is on, and whether that is round there; or, in a
    stop, a node, ground, and which component of the node's joint it holds; `rubs` says that friction
    does. If it holds none and `rubs`, it is friction of a joint between both nodes that closes a loop. What touches may
    be the edge of a rim, and the floor may be bent, which it is told of at each place (`touch_field`)."""

    node: int
    on: int
    is_round: bool = False
    stopped: int = -1
    rubs: bool = False
    is_rim: bool = False
    is_bent: bool = False

    @property
    def is_inside(self) -> bool:
        """Whether it is inside a joint of the tree: a stop, or friction."""
        return self.stopped >= 0

    @property
    def is_cut(self) -> bool:
        """Whether it is friction of a joint that closes a loop."""
        return self.rubs and not self.is_inside

    @property
    def touches(self) -> bool:
        """Whether it is a contact of two bodies."""
        return not (self.rubs or self.is_inside)


Nodes = Sequence[Pair]
SIZE = sum(extent.size for extent in CONTACT.values())
PLACES = {
    name: slice(first, first + CONTACT[name].size)
    for name, first in zip(
        CONTACT, np.cumsum([0, *(x.size for x in CONTACT.values())]).tolist(), strict=False
    )
}
"""Where each of these numbers is among those of a contact."""
TOLD = 9
"""What is told of a contact: its force (3), its velocity (3), both tangential then normal, its gap, how much is left of
its own block when it is eliminated, as a part of what was there: next to nothing where contacts are redundant; and how
much slower a slip becomes [m/s^2]."""

VIEWS: dict[str, Any] = {
    "contact": CONTACT,
    "node": {"stands": Transform, "v": Motion, "a": Motion, "d": Motion},
    "joint_row": {"S": Motion, "U": Force, "D": Scalars(1)},
    "pull": {"numbers": Scalars(1)},
    "coordinate": {"q": Scalars(1), "qd": Scalars(1), "qdd": Scalars(1)},
    "pushed": {
        "T": Scalars(18), "back": Scalars(18), "P_T": Scalars(9), "rest": Scalars(3),
        "wanted": Scalars(3), "motion": Scalars(4), "bias": Scalars(3), "driven": Scalars(3), "turned": Scalars(2),
    },
    "block": {"numbers": Scalars(9)},
    "left": {"part": Scalars(1), "rest": Scalars(4)},
    "wrench": {"F": Scalars(18)},
    "three": {"numbers": Scalars(3)},
    "single": {"number": Scalars(1)},
    "telling": {"numbers": Scalars(TOLD)},
    "other_node": "node", "other_block": "block", "other_three": "three",
}  # fmt: skip


def views(count: int) -> dict[str, Any]:
    """The views of so many contacts."""
    n = 3 * count
    sizes = {"equations": n * (n + 1), "rests": n, "unknowns": n, "lefts": 5 * count} if count <= FEW else {}
    return {**VIEWS, **{name: {"numbers": Scalars(size)} for name, size in sizes.items()}}


FIELDS = {"seen": "node", "ways": "joint_row", "pulls": "pull"}
PUSHED = sum(extent.size for extent in VIEWS["pushed"].values())
_PLACE = {
    name: sum(e.size for e in list(VIEWS["pushed"].values())[:k]) for k, name in enumerate(VIEWS["pushed"])
}


def start(ground: Any) -> None:
    """The ground stands and rests."""
    ground.seen_stands, ground.seen_v = Transform.identity(), Motion.zero()
    ground.seen_a, ground.seen_d, ground.gives_way = Motion.zero(), Motion.zero(), Motion.zero()


@base_to_tip
def see(body: Any, parent: Any) -> None:
    """How a body stands, moves and accelerates without contacts, by its motion (a) and by its joints (d), and how its
    joint yields, seen from ground."""
    stands = body.X_joint * body.placement * parent.seen_stands
    S = stands.pull_motion(body.S)
    v_joint = S * body.qd
    v = parent.seen_v + v_joint
    a = parent.seen_a + cross(v, v_joint) + stands.pull_motion(body.joint.bias(body.q, body.qd))
    d = parent.seen_d + S * body.qdd
    body.seen = array([*stands.entries(), *v.entries(), *a.entries(), *d.entries()])
    U = stands.pull(body.U)
    pairs = zip(S.array.T, U.array.T, strict=True)
    n = S.array.shape[1]
    gives = np.asarray(body.D_inv).reshape(n, n)
    rows = zip(pairs, gives, strict=True)
    body.ways = array([x for (s, u), d in rows for x in (*s, *u, *d)]).reshape(n, 12 + n)
    body.pulls = np.zeros((n, 1))
    body.seen_stands, body.seen_v, body.seen_a, body.seen_d = stands, v, a, d


@base_to_tip
def see_coordinates(body: Any, parent: Any) -> None:
    """Where the components of a joint are, how fast they move and how they accelerate without contacts; no positions of
    joints whose positions are no angles and distances, which have no stops."""
    positions = body.q if body.joint.nq == body.joint.nv else [0.0] * body.joint.nv
    found = [x for row in zip(positions, body.qd, body.qdd, strict=True) for x in row]
    body.moving = array(found).reshape(body.joint.nv, 3)


def have_stops(nodes: Nodes) -> bool:
    """Whether some of the contacts are stops of joints, or friction in them."""
    return any(pair.stopped >= 0 for pair in nodes)


def are_cut(nodes: Nodes) -> bool:
    """Whether some of the contacts are friction in joints that close loops."""
    return any(pair.rubs and pair.stopped < 0 for pair in nodes)


def fields(nodes: Nodes) -> dict[str, str]:
    """What bodies tell contacts, by component, and how each is seen."""
    return {**FIELDS, "moving": "coordinate"} if have_stops(nodes) else FIELDS


def seeing(nodes: Nodes) -> list[Sweep]:
    """The sweeps that see bodies and joints as contacts do."""
    return [see, see_coordinates] if have_stops(nodes) else [see]


def yielded(body: Any, parent: Any) -> np.ndarray:
    """What a joint yields to the forces of contacts."""
    n = body.joint.nv
    rows = [(Motion(array(row[:6])), Force(array(row[6:12]))) for row in body.ways]
    before = parent.gives_way
    u = [body.pulls[r, 0] - before.dot(U) for r, (_, U) in enumerate(rows)]
    more = [sum((body.ways[r, 12 + c] * u[c] for c in range(n)), 0.0) for r in range(n)]
    for (S, _), x in zip(rows, more, strict=True):
        before = before + S * x
    body.gives_way = before
    return array(more)


@base_to_tip
def give_way(body: Any, parent: Any) -> None:
    """Joints accelerate as contacts have it."""
    body.qdd = array([x + y for x, y in zip(body.qdd, yielded(body, parent), strict=True)])


@base_to_tip
def give_way_driven(body: Any, parent: Any) -> None:
    """The same, and what drives joints along a given motion holds against contacts."""
    give_way.step(body, parent)
    felt = [
        body.gives_way.dot(Force(array(row[6:12]))) - pull[0]
        for row, pull in zip(body.ways, body.pulls, strict=True)
    ]
    body.drive = array([x + d * y for x, d, y in zip(body.drive, body.driven, felt, strict=True)])


@on_call
def stand_still(node: Any) -> None:
    """The ground as a side of contacts."""
    node.stands, node.v, node.a, node.d = Transform.identity(), Motion.zero(), Motion.zero(), Motion.zero()


@on_call
def touch(contact: Any, node: Any, other_node: Any, pushed: Any) -> None:
    """How a contact stands and moves, its unit forces, and what its mode demands."""
    _touch(contact, node, other_node, pushed, _either)


@on_call
def touch_floor(contact: Any, node: Any, pushed: Any) -> None:
    """The same on a plane of ground."""
    still = Motion.zero()
    ground = SimpleNamespace(stands=Transform.identity(), v=still, a=still, d=still)
    _touch(contact, node, ground, pushed, _flat)


@on_call
def touch_rim(contact: Any, node: Any, other_node: Any, pushed: Any) -> None:
    """The same of a rim on a plane."""
    _touch(contact, node, other_node, pushed, _edge)


@on_call
def touch_field(contact: Any, node: Any, other_node: Any, pushed: Any) -> None:
    """The same of a point or ball over a floor that is bent, whose FIELD_SIZE numbers are where `back` is to be: a
    place in the axes of `on`, how far the floor is below it, its normal there, and how that turns with the place."""
    _touch(contact, node, other_node, pushed, partial(_bent, pushed.back))


@dataclass(frozen=True, eq=False)
class _Met:
    """How a contact stands: axes as rows, the normal, the gap, how the axes turn, and where the point that touches is
    from the origin of the frame, and how that changes."""

    E: list[np.ndarray]
    n: np.ndarray
    gap: Any
    turns: np.ndarray
    there: np.ndarray
    swings: np.ndarray


def _below(
    contact: Any, E: list[np.ndarray], n: np.ndarray, gap: Any, tilts: np.ndarray, turns: np.ndarray
) -> _Met:
    """A point or ball, which touches along a normal that tilts."""
    r = contact.radii[0]
    return _Met(E, n, gap, turns, -_times(r, n), -_times(r, tilts))


def _flat(
    contact: Any, axes: list[np.ndarray], apart: np.ndarray, moves: np.ndarray, node: Any, w: np.ndarray
) -> _Met:
    """A contact on a plane, whose frame is `apart` from that of a body that turns by w."""
    normal = axes[2]
    return _below(contact, axes, normal, _dot(normal, apart) - contact.radii[0], cross3(w, normal), w)


def _edge(
    contact: Any, axes: list[np.ndarray], apart: np.ndarray, moves: np.ndarray, node: Any, w: np.ndarray
) -> _Met:
    """A rim of a node on a plane, which touches where the plane falls away from its axis most."""
    n, axis, (r, rim) = axes[2], node.stands.R.T @ contact.reference, contact.radii
    upright, turns = _dot(axis, n), cross3(node.v.angular - w, axis)
    across = _times(upright, axis) - n
    size = sqrt(_dot(across, across))
    over = reciprocal(where(size > FLAT, size, FLAT))
    down = _times(over, across)
    changes = _times(_dot(turns, n), axis) + _times(upright, turns)
    changes = _times(over, changes - _times(_dot(changes, down), down))
    there = _times(rim, down) - _times(r, n)
    gap = _dot(n, apart) - r - rim * size
    return _Met(axes, n, gap, w, there, _times(rim, changes) + cross3(w, there))


def _bent(
    field: Any, contact: Any, axes: list[np.ndarray], apart: np.ndarray, moves: np.ndarray, node: Any, w: np.ndarray
) -> _Met:  # fmt: skip
    """A contact on a floor, up to the second order in how far it is from the place told."""
    place, below, normal, N = field[:3], field[3], field[4:7], field[7:FIELD_SIZE].reshape(3, 3)

    def seen(x: Any) -> np.ndarray:
        return array([_dot(e, x) for e in axes])

    def back(x: Any) -> np.ndarray:
        return _times(x[0], axes[0]) + _times(x[1], axes[1]) + _times(x[2], axes[2])

    away = seen(apart) - place
    tips = array([_dot(row, away) for row in N])
    n = normal + tips
    over = reciprocal(sqrt(_dot(n, n)))
    gap, normal = below + _dot(normal, away) + 0.5 * _dot(away, tips), back(_times(over, n))
    drifts = seen(moves - cross3(w, apart))
    tilts = back(array([_dot(row, drifts) for row in N])) + cross3(w, normal)
    turns = cross3(normal, tilts) + _times(_dot(w, normal), normal)
    return _below(contact, _turned(contact, axes, normal), normal, gap - contact.radii[0], tilts, turns)


def _either(
    contact: Any, axes: list[np.ndarray], apart: np.ndarray, moves: np.ndarray, node: Any, w: np.ndarray
) -> _Met:
    """A contact on a plane or on a ball, whose frames move against each other."""
    is_round, (r, reach) = contact.is_round[0] > 0.5, contact.radii
    normal = axes[2]

    def chosen(a: Any, b: Any) -> np.ndarray:
        return array([where(is_round, x, y) for x, y in zip(a, b, strict=True)])

    far = sqrt(_dot(apart, apart))
    over = reciprocal(where(far > 1e-300, far, 1e-300))
    n = chosen(_times(over, apart), normal)
    E = [chosen(x, y) for x, y in zip(_turned(contact, axes, n), axes, strict=True)]
    drifts = _times(over, moves)
    tilts = chosen(drifts - _times(_dot(drifts, n), n), cross3(w, normal))
    turns = chosen(cross3(n, tilts) + _times(_dot(w, n), n), w)
    return _below(contact, E, n, where(is_round, far - r - reach, _dot(normal, apart) - r), tilts, turns)


def _touch(contact: Any, node: Any, other_node: Any, pushed: Any, meet: Callable[..., _Met]) -> None:
    axes, p_a, apart, R_b = _placed(contact, node, other_node)
    p_b = p_a - apart
    w_a, w_b = node.v.angular, other_node.v.angular
    move_a, move_b = (n.v.linear + cross3(n.v.angular, p) for n, p in ((node, p_a), (other_node, p_b)))
    met = meet(contact, axes, apart, move_a - move_b, node, w_b)
    E, n, gap, turns = met.E, met.n, met.gap, met.turns
    # The material points that touch move against each other.
    x = p_a + met.there
    dw, dv = w_a - w_b, node.v.linear - other_node.v.linear
    slip = dv + cross3(dw, x)
    u = array([_dot(e, slip) for e in E])
    along = _times(u[0], E[0]) + _times(u[1], E[1]) + _times(u[2], E[2])
    # The axes of a contact that slides are turned to its slip.
    speed, (ahead, aside) = _slip(contact, u)
    slides = contact.slides[0] > 0.5
    ahead, aside = where(slides, ahead, 1.0), where(slides, aside, 0.0)
    E = [_times(ahead, E[0]) + _times(aside, E[1]), _times(ahead, E[1]) - _times(aside, E[0]), n]
    pushed.turned = array([ahead, aside])
    turning = cross3(dw, move_a + met.swings) - cross3(turns, along)
    da, dd = (
        a.linear - b.linear + cross3(a.angular - b.angular, x)
        for a, b in ((node.a, other_node.a), (node.d, other_node.d))
    )
    pushed.bias, pushed.driven = (array([_dot(e, y) for e in E]) for y in (da + turning, dd))
    free = [y + z for y, z in zip(pushed.bias, pushed.driven, strict=True)]
    c = [x + 2.0 * PULL * w for x, w in zip(free, u, strict=True)]
    c[2] = c[2] + PULL * PULL * gap
    c[1] = where(slides, free[1], c[1])
    pushed.T = array([y for e in E for y in (*cross3(x, e), *e)])
    if meet is not _flat:
        pushed.back = array([-y for y in pushed.T])
    _demand(contact, pushed, u, gap, c, (-contact.friction[0], 0.0), _eased(contact, speed))


@on_call
def touch_stop(contact: Any, coordinate: Any, pushed: Any) -> None:
    """How a joint stands and moves at a stop, whose place and sense are in `on_a`, and what its mode demands."""
    limit, sense = contact.on_a[0], contact.on_a[1]
    gap, rate, qdd = sense * (coordinate.q[0] - limit), sense * coordinate.qd[0], sense * coordinate.qdd[0]
    pushed.T, pushed.back = np.zeros(18), np.zeros(18)
    pushed.bias, pushed.driven = np.zeros(3), array([0.0, 0.0, qdd])
    u = array([0.0, 0.0, rate])
    pushed.turned = array([1.0, 0.0])
    c = [0.0, 0.0, qdd + 2.0 * PULL * rate + PULL * PULL * gap]
    _demand(contact, pushed, u, gap, c, (0.0, 0.0), (0.0, 1.0))


@on_call
def push_stop(contact: Any, single: Any) -> None:
    """The unit force of a stop, as its joint feels it."""
    single.number = array([contact.on_a[1]])


@on_call
def touch_dry(contact: Any, coordinate: Any, pushed: Any) -> None:
    """How a component with dry friction moves, whose numbers are in `on_a` and `on_b`, and what its mode demands. Where
    no mode is told, what is not at rest slips."""
    pushed.T, pushed.back = np.zeros(18), np.zeros(18)
    _rub(contact, coordinate.qd[0], coordinate.qdd[0], pushed)


@on_call
def touch_cut(contact: Any, node: Any, other_node: Any, pushed: Any) -> None:
    """The same of a joint that closes a loop: its child is `node`, to which the unit wrench in `reference` (moment) and
    `across` (force) is fixed."""
    w = node.stands.pull(Force(array([*contact.reference, *contact.across])))
    pushed.T = array([*w.entries(), *[0.0] * 12])
    pushed.back = array([-x for x in pushed.T])
    rises = node.a - other_node.a + cross(node.v, other_node.v) + node.d - other_node.d
    _rub(contact, (node.v - other_node.v).dot(w), rises.dot(w), pushed)


def _rub(contact: Any, v: Any, qdd: Any, pushed: Any) -> None:
    """Write what a component with dry friction does that moves by v and accelerates by qdd."""
    (friction, excess, fading), (fall, alone, whole), (rest, _) = contact.on_a, contact.on_b, contact.radii
    slides, along = contact.slides[0], contact.along[0]
    moves = where(absolute(v) > rest, 1.0 - contact.sticks[0], 0.0)
    slips = where(slides > 0.5, 1.0, moves)
    sense = where(slides > 0.5, along, where(v < 0.0, -1.0, 1.0))
    most = pressure(friction, excess, fading, fall, v, slips, sense, whole)
    pushed.bias, pushed.driven = np.zeros(3), array([qdd, 0.0, -alone * most])
    pushed.turned, u, mu = array([1.0, 0.0]), array([v, 0.0, 0.0]), contact.friction[0]
    push = -mu * _slip(contact, u)[1][0], 0.0
    _demand(contact, pushed, u, 0.0, [qdd + 2.0 * PULL * v, 0.0, -alone * most], push, (0.0, 1.0))


@on_call
def push_dry(single: Any) -> None:
    """The unit force of a component, as its joint feels it."""
    single.number = array([1.0])


@on_call
def stand_alone(contact: Any, single: Any) -> None:
    """How the motions of a component with dry friction yield that nothing else takes part in."""
    single.number = array([contact.on_b[1]])


def _demand(
    contact: Any, pushed: Any, u: np.ndarray, gap: Any, c: Sequence[Any], push: Sequence[Any], eased: Sequence[Any]
) -> None:  # fmt: skip
    """Write what the mode of a contact demands that moves by u and would accelerate by c, with the force of friction
    for one newton of pressure, and whether the direction of a slip is `eased`, and how much it yields then."""
    sticks, slides = contact.sticks[0], contact.slides[0]
    closed, eases = sticks + slides, slides * eased[0]
    turns = sticks + eases
    pushed.P_T = array([sticks, 0.0, 0.0, 0.0, turns, 0.0, slides * push[0], slides * push[1], closed])
    pushed.rest = array([1.0 - sticks, where(eases > 0.5, eased[1], 1.0 - sticks), 1.0 - closed])
    pushed.wanted = array([-sticks * c[0], -turns * c[1], -closed * c[2]])
    pushed.motion = array([*u, gap])


def _eased(contact: Any, speed: Any) -> tuple[Any, Any]:
    """Whether the direction of a slip is so slow that friction would turn it faster than in the time in which friction
    takes the speed `soft`, and how much it yields across then: friction across is as large as it would be where
    the slip has come to in a while, so that it turns no faster than that."""
    most, gives = contact.soft
    is_slow = where(speed < SLOWER * most, 1.0, 0.0)
    bounded = where(speed < LEAST * most, LEAST * most, where(speed < SLOWER * most, speed, SLOWER * most))
    return is_slow, gives * bounded * reciprocal(where(most > 0.0, most - bounded, 1.0))


def _placed(
    contact: Any, node: Any, other: Any
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """The axes of the side `on` as rows, where the frame is, how far from the other, and how that one is turned."""
    R_a, R_b = node.stands.R, other.stands.R
    p_a = node.stands.p + R_a.T @ contact.on_a
    p_b = other.stands.p + R_b.T @ contact.on_b
    axes = contact.axes.reshape(3, 3) @ R_b
    return [axes[k] for k in range(3)], p_a, p_a - p_b, R_b


def _turned(contact: Any, axes: list[np.ndarray], n: np.ndarray) -> list[np.ndarray]:
    """Axes whose last is n: those whose last is the reference, turned by the least angle."""
    z, x = contact.reference, contact.across
    m = array([_dot(e, n) for e in axes])
    c = 1.0 + _dot(m, z)
    first = x - _times(_dot(x, m) * reciprocal(where(c > 1e-12, c, 1e-12)), m + z)
    rows = (first, cross3(m, first), m)
    return [_times(a, axes[0]) + _times(b, axes[1]) + _times(c, axes[2]) for a, b, c in rows]


def _slip(contact: Any, u: np.ndarray) -> tuple[Any, tuple[Any, Any]]:
    """The speed of a slip and its direction, for friction: that in which it began, as long as it is slow. Beyond the
    end of a slip, which is found afterwards, it goes on as it was: forces must not jump within a step."""
    d, slow = contact.along, contact.slow[0]
    ahead = u[0] * d[0] + u[1] * d[1]
    begun = slow - sqrt(u[0] * u[0] + u[1] * u[1]) / BEGUN
    more = where(begun > 0.0, begun, 0.0) + 2.0 * where(ahead < 0.0, -ahead, 0.0)
    w = [u[k] + more * d[k] for k in range(2)]
    size = sqrt(w[0] * w[0] + w[1] * w[1])
    scale = reciprocal(where(size > 1e-300, size, 1.0))
    return size, (where(size > 1e-300, scale * w[0], 1.0), scale * w[1])


def _times(factor: Any, vector: np.ndarray) -> np.ndarray:
    return array([factor * x for x in vector])


def _dot(a: Any, b: Any) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@on_call
def weigh(pushed: Any, block: Any, left: Any) -> None:
    """What a block of three rows has before anything is eliminated, and what is added to it."""
    product, rest = _weighed(block.numbers.reshape(3, 3).tolist(), list(pushed.rest))
    left.part, left.rest = array([product]), array(rest)


def _weighed(m: list[list[Any]], rest: list[Any]) -> tuple[Any, list[Any]]:
    """The product of the diagonal of a block of three rows with all that is added to it, and that: to its diagonal one
    where nothing is demanded, which is given, and along the plane what `unyielding_rest` tells; last what is beside the
    diagonal."""
    along = unyielding_rest(m)
    holds = 1.0 - rest[0]
    added = [rest[0] + holds * along[0], rest[1] + holds * along[2], rest[2], holds * along[1]]
    whole = with_rest(m, added)
    return absolute(whole[0][0] * whole[1][1] * whole[2][2]), added


def unyielding_rest(m: list[list[Any]]) -> tuple[Any, Any, Any]:
    """What is added to the block of a contact along its plane, where it yields in one direction or in none: as much as
    it has, in the others, so that there is no force in these. The first, the one beside the diagonal, and the last."""
    a, b, d = m[0][0], m[0][1], m[1][1]
    trace, size = a + d, absolute(a) + absolute(d) + absolute(m[2][2])
    most = where(a * d - b * m[1][0] <= UNYIELDING * trace * trace, size, 0.0)
    over = where(trace > UNYIELDING * size, 1.0 / where(trace > UNYIELDING * size, trace, 1.0), 0.0)
    return most * (1.0 - a * over), -most * b * over, most * (1.0 - d * over)


def with_rest(m: list[list[Any]], rest: Sequence[Any]) -> list[list[Any]]:
    """A block of three rows with what is added to its diagonal, and beside it in the first two rows."""
    (a, b, c), (d, e, f), (g, h, i) = m
    return [[a + rest[0], b + rest[3], c], [d + rest[3], e + rest[1], f], [g, h, i + rest[2]]]


@on_call
def solve_few(equations: Any, rests: Any, unknowns: Any, lefts: Any) -> None:
    """The unknowns of a few contacts that all feel each other, and how much is left of their blocks, as `weigh`,
    `turn_round` and products find them contact by contact."""
    n, sizes = len(rests.numbers), []
    m = equations.numbers.reshape(n, n + 1).tolist()
    for k in range(0, n, 3):
        own = [row[k : k + 3] for row in m[k : k + 3]]
        product, rest = _weighed(own, list(rests.numbers[k : k + 3]))
        sizes.append(product)
        for row, new in zip(m[k : k + 3], with_rest(own, rest), strict=True):
            row[k : k + 3] = new
    over = []
    for k in range(n):
        over.append(reciprocal(m[k][k]))
        for i in range(k + 1, n):
            factor = m[i][k] * over[k]
            for j in range(k + 1, n + 1):
                m[i][j] = m[i][j] - factor * m[k][j]
    x: list[Any] = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (m[k][n] - sum((m[k][j] * x[j] for j in range(k + 1, n)), 0.0)) * over[k]
    unknowns.numbers = array(x)
    parts = [
        absolute(m[3 * i][3 * i] * m[3 * i + 1][3 * i + 1] * m[3 * i + 2][3 * i + 2]) / size
        for i, size in enumerate(sizes)
    ]
    lefts.numbers = array([x for part in parts for x in (part, 0.0, 0.0, 0.0, 0.0)])


@on_call
def turn_round(block: Any, other_block: Any, left: Any) -> None:
    """The inverse of a block of three rows, and how much of it is left."""
    m = with_rest(block.numbers.reshape(3, 3).tolist(), left.rest)
    other_block.numbers, determinant = inverse_of(m)
    left.part = array([absolute(determinant) / left.part[0]])


@on_call
def demand_only(pushed: Any, block: Any) -> None:
    """A block that leaves of three rows what is demanded."""
    demanded = [1.0 - x for x in pushed.rest]
    block.numbers = array([demanded[0], 0.0, 0.0, 0.0, demanded[1], 0.0, 0.0, 0.0, demanded[2]])


@on_call
def soften(block: Any, left: Any) -> None:
    """What is added to the diagonal of a block, so that it can be eliminated."""
    own = block.numbers
    left.rest = array([*(where(own[k] > 0.0, SOFT * own[k], 1.0) for k in (0, 4, 8)), 0.0])
    left.part = array([1.0])


@on_call
def tell_others(pushed: Any, three: Any, other_three: Any) -> None:
    """What is not demanded is told what the forces of all contacts do there, as elimination leaves it."""
    rows = zip(other_three.numbers, pushed.rest, three.numbers, strict=True)
    other_three.numbers = array([x - rest * y for x, rest, y in rows])


@on_call
def vouch(left: Any) -> None:
    """Nothing is lost where the least forces are taken."""
    left.part = array([1.0])


def inverse_of(m: Sequence[Sequence[Any]]) -> tuple[np.ndarray, Any]:
    """The inverse of a matrix of three rows, row after row, by elimination of the first unknown and a closed form for
    the other two, and its determinant."""
    (a, b, c), (d, e, f), (g, h, i) = m
    first = reciprocal(a)
    down, away = (d * first, g * first), (b * first, c * first)
    e, f, h, i = e - d * away[0], f - d * away[1], h - g * away[0], i - g * away[1]
    small = e * i - f * h
    scale = reciprocal(small)
    (p, q), (r, t) = (i * scale, -f * scale), (-h * scale, e * scale)
    x, y = -(away[0] * p + away[1] * r), -(away[0] * q + away[1] * t)
    u, v = -(p * down[0] + q * down[1]), -(r * down[0] + t * down[1])
    corner = first - away[0] * u - away[1] * v
    return array([corner, x, y, u, p, q, v, r, t]), a * small


@on_call
def carry_one(wrench: Any, joint_row: Any, three: Any, other_three: Any) -> None:
    """What a joint of one component feels of three wrenches (e), how it yields (z), and what it passes on of them."""
    F, D = wrench.F.reshape(3, 6), joint_row.D[0]
    S, U = joint_row.S.array, joint_row.U.array
    e = [sum(F[r][k] * S[k] for k in range(6)) for r in range(3)]
    z = [D * x for x in e]
    three.numbers, other_three.numbers = array(e), array(z)
    wrench.F = array([F[r][k] - z[r] * U[k] for r in range(3) for k in range(6)])


@on_call
def tell(pushed: Any, three: Any, left: Any, telling: Any) -> None:
    """What is told of a contact, from its unknowns."""
    P_T, x, (dx, dy) = pushed.P_T.reshape(3, 3), three.numbers, pushed.turned
    f = [sum(P_T[r][k] * x[r] for r in range(3)) for k in range(3)]
    # Friction of a slip that is eased is told in its direction, as large as the law has it.
    eases = where(P_T[1][1] > 0.5, 1.0 - P_T[0][0], 0.0)
    rubs = sqrt(f[0] * f[0] + f[1] * f[1])
    part = where(eases * rubs > 0.0, absolute(f[0]) * reciprocal(where(rubs > 0.0, rubs, 1.0)), 1.0)
    holds = P_T[2][2] > 0.5
    f = [where(holds, y, 0.0) for y in (part * (dx * f[0] - dy * f[1]), part * (dy * f[0] + dx * f[1]), f[2])]
    # What is not demanded is told what the forces of all contacts do there, with the opposite sign.
    u, a = pushed.motion, [pushed.bias[k] + pushed.driven[k] - x[k] for k in range(2)]
    a[1] = where(eases > 0.5, -pushed.rest[1] * x[1], a[1])
    speed = sqrt(u[0] * u[0] + u[1] * u[1])
    slower = -((u[0] * dx + u[1] * dy) * a[0] + (u[1] * dx - u[0] * dy) * a[1])
    slower = slower * reciprocal(where(speed > 1e-300, speed, 1e-300))
    telling.numbers = array([*f, *u, where(holds, left.part[0], 1.0), where(holds, slower, 0.0)])


class UnitForces:
    """What unit forces of contacts, and of components of joints, do to joints and to each other, as work on matrices.
    `nodes` say who meets in each unit, which has three rows unless `width_of` says otherwise. Joints that the same
    units move are taken together: with E what they feel and Z how they yield, (components, rows) each, the mobility is
    the sum of Z^T E."""

    def __init__(self, nodes: Nodes) -> None:
        self.units = tuple(nodes)
        self.widths = [self.width_of(pair) for pair in self.units]
        self.first = [sum(self.widths[:i]) for i in range(len(self.widths))]
        self.count = sum(self.widths)

    def width_of(self, pair: Pair) -> int:
        """How many rows a unit has."""
        return 3

    def rows(self, i: int) -> range:
        """The rows of a unit."""
        return range(self.first[i], self.first[i] + self.widths[i])

    def begin(self, work: Any) -> None:
        """Find all unit forces and carry them to the base."""
        self.work = work
        self.pushed = self.touched()
        feels: dict[int, list[int]] = {}
        for i, pair in enumerate(self.units):
            for node in sorted({n for side in pair[:2] for n in self._way(side)}):
                feels.setdefault(node, []).append(i)
        self.groups: dict[tuple[int, ...], list[int]] = {}
        for node in sorted(feels):
            self.groups.setdefault(tuple(feels[node]), []).append(node)
        self.felt: dict[tuple[int, ...], tuple[MatrixPanel, MatrixPanel]] = {}
        self.e: list[dict[int, MatrixPanel]] = [{} for _ in self.units]
        self.z: list[dict[int, MatrixPanel]] = [{} for _ in self.units]
        for members in self.groups:
            columns = self._spans(members)
            width = sum(len(span) for span in columns.values())
            both = self.felt[members] = tuple(work.matrix(self._rows(members), width) for _ in range(2))
            for i, span in columns.items():
                for node, rows in self._places(members):
                    self.e[i][node], self.z[i][node] = (x.part(rows, span) for x in both)
        for i in range(len(self.units)):
            with self._if_asked(i):
                self._carry(i)
        for members, (E, Z) in self.felt.items():
            for node, rows in self._places(members):
                if len(rows) > 1 and not work.plan.parent[node]:
                    every = range(E.columns)
                    work.product(Z.part(rows, every), self._yields(node), E.part(rows, every))

    def _if_asked(self, i: int) -> AbstractContextManager[None]:
        """What is only done if it is asked what the forces of a unit do: always."""
        return nullcontext()

    def _way(self, node: int) -> list[int]:
        """The nodes from one to the base, without the ground."""
        found = []
        while node:
            found.append(node)
            node = int(self.work.plan.parent[node])
        return found

    def _size(self, node: int) -> int:
        return int(self.work.plan.v_size[node])

    def _rows(self, members: tuple[int, ...]) -> int:
        """How many components the joints of a group have."""
        return max(1, sum(self._size(node) for node in self.groups[members]))

    def _places(self, members: tuple[int, ...]) -> list[tuple[int, range]]:
        """The joints of a group that have components, and the rows of these."""
        found, first = [], 0
        for node in self.groups[members]:
            if self._size(node):
                found.append((node, range(first, first + self._size(node))))
            first += self._size(node)
        return found

    def _spans(self, members: Sequence[int]) -> dict[int, range]:
        """Where the rows of each of some units are that follow each other."""
        found, first = dict[int, range](), 0
        for i in members:
            found[i] = range(first, first + self.widths[i])
            first += self.widths[i]
        return found

    def _runs(self, group: Sequence[int], among: Mapping[int, range]) -> list[tuple[range, range]]:
        """The columns of units of a group that follow each other, and their rows `among` others."""
        found: list[tuple[range, range]] = []
        for i, columns in self._spans(group).items():
            own = among[i]
            if found and found[-1][1].stop == own.start:
                found[-1] = range(found[-1][0].start, columns.stop), range(found[-1][1].start, own.stop)
            else:
                found.append((columns, own))
        return found

    def touched(self) -> list[int]:
        """The places of what contacts tell of how they stand and move."""
        work, slot = self.work, self.work.slot
        ground = work.reserve(30)
        work.step(stand_still, ground)
        self.unit = MatrixPanel(ground, 3, 3, 3 * slot, slot, 2 * slot)
        return [
            self._touch_joint(i) if pair.stopped >= 0 else self._touch(i, ground)
            for i, pair in enumerate(self.units)
        ]

    def _touch(self, i: int, ground: int) -> int:
        work, pair, pushed = self.work, self.units[i], self.work.reserve(PUSHED)
        sides = [work.component("seen", n, 0) if n else ground for n in pair[:2]]
        if pair.rubs:
            work.step(touch_cut, self._contact(i), *sides, pushed)
        elif pair.is_bent:
            size, number = FIELD_SIZE * work.slot, sum(other.is_bent for other in self.units[:i])
            row, back = (
                MatrixPanel(place, 1, FIELD_SIZE, size, work.slot, work.slot)
                for place in (work.ground("fields") + number * size, pushed + _PLACE["back"] * work.slot)
            )
            work.copy(back, row)
            work.step(touch_field, self._contact(i), *sides, pushed)
        elif pair.is_rim:
            work.step(touch_rim, self._contact(i), *sides, pushed)
        elif not pair.on and not pair.is_round:
            work.step(touch_floor, self._contact(i), sides[0], pushed)
        else:
            work.step(touch, self._contact(i), *sides, pushed)
        return int(pushed)

    def _touch_joint(self, i: int) -> int:
        """The place of what a stop or friction in a joint tells."""
        work, pair, pushed = self.work, self.units[i], self.work.reserve(PUSHED)
        step = touch_dry if pair.rubs else touch_stop
        work.step(step, self._contact(i), work.component("moving", pair.node, pair.stopped), pushed)
        return int(pushed)

    def _push_joint(self, i: int, e: MatrixPanel) -> None:
        """Write the unit forces of a stop or friction in a joint, as its joint feels them, e (components, 3)."""
        pair = self.units[i]
        if pair.rubs:
            self.work.step(push_dry, e.at(pair.stopped, 0))
        else:
            self.work.step(push_stop, self._contact(i), e.at(pair.stopped, 2))

    def _contact(self, i: int) -> int:
        """Where it is told what a contact is and does."""
        return int(self.work.ground("contacts")) + i * SIZE * int(self.work.slot)

    def of(self, i: int, name: str, rows: int, columns: int) -> MatrixPanel:
        """A matrix that a contact told."""
        slot = self.work.slot
        return MatrixPanel(
            self.pushed[i] + _PLACE[name] * slot, rows, columns, columns * slot, slot, 2 * slot
        )

    def _ways(self, node: int, at: int) -> MatrixPanel:
        """The motions, or from `at` = 6 on the forces, of the components of a joint as rows."""
        slot, n = self.work.slot, self._size(node)
        place = self.work.component("ways", node, 0) + at * slot
        return MatrixPanel(place, n, 6, (12 + n) * slot, slot, 2 * slot)

    def _yields(self, node: int) -> MatrixPanel:
        """How the components of a joint yield to its forces."""
        slot, n = self.work.slot, self._size(node)
        return MatrixPanel(
            self.work.component("ways", node, 0) + 12 * slot, n, n, (12 + n) * slot, slot, 2 * slot
        )

    def _carry(self, i: int) -> None:
        """Carry the unit forces of a contact, and the opposite ones on the other side, or those of a joint, to the
        base; they are used up."""
        work, pair = self.work, self.units[i]
        if pair.stopped < 0:
            sides = ((pair.node, "T"), (pair.on, "back"))
            here = {node: self.of(i, name, 3, 6) for node, name in sides if node}
        else:
            here = {pair.node: work.matrix(self.widths[i], 6)}
        while here:
            node = max(here)
            F = here.pop(node)
            n, parent = self._size(node), int(work.plan.parent[node])
            begins = pair.stopped >= 0 and node == pair.node
            if n == 1 and F.rows == 3 and not begins:
                ways, places = work.component("ways", node, 0), (self.e[i][node].place, self.z[i][node].place)
                work.step(carry_one, F.place, ways, *places)
            elif n:
                e, z = self.e[i][node], self.z[i][node]
                if begins:
                    work.clear(e)
                    self._push_joint(i, e)
                else:
                    work.product(e, self._ways(node, 0), F.T)
                if parent or n == 1:
                    # Joints to ground of several components yield to all units at once.
                    work.product(z, self._yields(node), e)
                if parent:
                    work.product(F, z.T, self._ways(node, 6), start=None if begins else F, minus=True)
            if parent and parent in here:
                work.product(F, self.unit, here[parent], start=F)
            if parent:
                here[parent] = F

    def couple(
        self, G: MatrixPanel, members: Sequence[int], felt: Mapping[tuple[int, ...], MatrixPanel] | None = None
    ) -> None:  # fmt: skip
        """Write what units that feel each other do to each other, by their unit forces, or by what joints of groups
        have `felt`, (components, rows) each."""
        work, among = self.work, self._spans(members)
        # Joints that all units move come first, and write all of the matrix.
        groups = sorted((g for g in self.groups if g[0] in among), key=len, reverse=True)
        adds = not groups or len(groups[0]) < len(members)
        if adds:
            work.clear(G)
        for group in groups:
            rows, (raw, Z) = range(self._rows(group)), self.felt[group]
            E, runs = raw if felt is None else felt[group], self._runs(group, among)
            for columns, own in runs:
                for others, other in runs:
                    block = G.part(own, other)
                    left, right = Z.part(rows, columns), E.part(rows, others)
                    work.product(block, left.T, right, start=block if adds else None)
            adds = True

    def press(
        self, f: MatrixPanel, felt: Mapping[tuple[int, ...], MatrixPanel] | None = None
    ) -> None:  # fmt: skip
        """Let joints feel the forces f (rows, 1) of all units by their unit forces, or by what joints of groups have
        `felt`."""
        work, slot, among = self.work, self.work.slot, self._spans(range(len(self.units)))
        for group, E in ({g: raw for g, (raw, _) in self.felt.items()} if felt is None else felt).items():
            for node, rows in self._places(group):
                pulls = MatrixPanel(work.component("pulls", node, 0), len(rows), 1, slot, slot, slot)
                start = None
                for columns, own in self._runs(group, among):
                    work.product(pulls, E.part(rows, columns), f.part(own, range(1)), start=start)
                    start = pulls


class Felt(UnitForces):
    """What contacts do to joints and to each other, three rows each, and what forces obey their modes; where contacts
    may be redundant, the `least` forces are found."""

    def __init__(self, nodes: Nodes, least: bool = False) -> None:
        super().__init__(nodes)
        self.least = least
        self.nodes = tuple((pair.node, pair.on) for pair in nodes)
        self.stopped = tuple(pair.stopped for pair in nodes)
        self.rubs = tuple(pair.rubs for pair in nodes)
        self.own: dict[tuple[int, ...], MatrixPanel] = {}

    def solve(self) -> None:
        """Find the unknowns (3, 1) of all contacts, contacts that do not feel each other by themselves."""
        work = self.work
        self.x = work.matrix(3 * len(self.nodes), 1)
        count, slot = len(self.nodes), work.slot
        lefts = work.reserve(5 * count)
        self.left = [lefts + 5 * i * slot for i in range(count)]
        for members in self.apart():
            G = work.matrix(3 * len(members), 3 * len(members) + 1)
            last = range(3 * len(members), 3 * len(members) + 1)
            self.set_up(G, members)
            for at, i in enumerate(members):
                work.copy(G.part(three(at), last), self.of(i, "wanted", 3, 1))
            if self.least:
                self._take_least(G, members)
            elif len(members) == count <= FEW:
                rests = work.matrix(3 * count, 1)
                for i in members:
                    work.copy(rests.part(three(i), range(1)), self.of(i, "rest", 3, 1))
                work.step(solve_few, G.place, rests.place, self.x.place, lefts)
            else:
                self._eliminate(G, members)

    def set_up(self, G: MatrixPanel, members: list[int]) -> None:
        """Write what the unknowns of contacts that feel each other do to each other."""
        own = {group: self._told(group) for group in self.groups if group[0] in members}
        self.couple(G, members, own)
        self.own |= own

    def let_feel(self) -> None:
        """Let joints feel the unknowns."""
        self.press(self.x, self.own)

    def apart(self) -> list[list[int]]:
        """Contacts that feel each other, together."""
        found: list[set[int]] = [{i} for i in range(len(self.nodes))]
        for group in self.groups:
            met = [x for x in found if x & set(group)]
            found = [x for x in found if not x & set(group)] + [set().union(*met)]
        return sorted(sorted(x) for x in found)

    def _told(self, group: tuple[int, ...]) -> MatrixPanel:
        """What the joints of a group feel of the unknowns, (rows, 3 contacts)."""
        work, rows, raw = self.work, range(self._rows(group)), self.felt[group][0]
        E = work.matrix(len(rows), 3 * len(group))
        for at, i in enumerate(group):
            with self._if_asked(i):
                work.product(E.part(rows, three(at)), raw.part(rows, three(at)), self.of(i, "P_T", 3, 3).T)
        return E

    def couple(
        self, G: MatrixPanel, members: Sequence[int], felt: Mapping[tuple[int, ...], MatrixPanel] | None = None
    ) -> None:  # fmt: skip
        """Do that, and let components with dry friction yield across."""
        super().couple(G, members, felt)
        work = self.work
        for at, i in enumerate(members):
            for across in (1, 2) if self.rubs[i] else ():
                work.step(stand_alone, self._contact(i), G.at(3 * at + across, 3 * at + across))

    def _eliminate(self, G: MatrixPanel, members: list[int]) -> None:
        """Solve G x = its last column, contact after contact; nothing is left of G."""
        work, count = self.work, len(members)
        inverse, own = ([work.matrix(3, 3) for _ in members] for _ in range(2))
        for at, i in enumerate(members):
            work.copy(own[at], G.part(three(at), three(at)))
            work.step(weigh, self.pushed[i], own[at].place, self.left[i])
        last = range(3 * count, 3 * count + 1)
        in_a_row = len(runs(members)) == 1
        x = self.x.part(threes(runs(members)[0][1]), range(1)) if in_a_row else work.matrix(3 * count, 1)
        for at, i in enumerate(members):
            below, beyond = range(3 * at + 3, 3 * count), range(3 * at + 3, 3 * count + 1)
            factor = work.matrix(len(below), 3)
            with self._if_asked(i):
                if at:
                    work.copy(own[at], G.part(three(at), three(at)))
                work.step(turn_round, own[at].place, inverse[at].place, self.left[i])
                if below:
                    work.product(factor, G.part(below, three(at)), inverse[at])
                    rest = G.part(below, beyond)
                    work.product(rest, factor, G.part(three(at), beyond), start=rest, minus=True)
        for at in reversed(range(count)):
            h, beyond = G.part(three(at), last), range(3 * at + 3, 3 * count)
            with self._if_asked(members[at]):
                if beyond:
                    work.product(h, G.part(three(at), beyond), x.part(beyond, range(1)), start=h, minus=True)
                work.product(x.part(three(at), range(1)), inverse[at], h)
        for at, i in enumerate(members if not in_a_row else ()):
            work.copy(self.x.part(three(i), range(1)), x.part(three(at), range(1)))

    def _take_least(self, G: MatrixPanel, members: list[int]) -> None:
        """Find the least x with H x = b, the rows of G x = its last column that are demanded."""
        work, n, every = self.work, 3 * len(members), range(3 * len(members))
        H, M, b = work.matrix(n, n), work.matrix(n, n), G.part(every, range(n, n + 1))
        for at, i in enumerate(members):
            demanded = work.matrix(3, 3)
            work.step(demand_only, self.pushed[i], demanded.place)
            work.product(H.part(three(at), every), demanded, G.part(three(at), every))
        work.product(M, H, H.T)
        inverse, factors = self._factors(M, members)
        x, y, r, h = (work.matrix(n, 1) for _ in range(4))
        for again in range(1 + REFINEMENTS):
            if again:
                work.product(r, H, x, start=b, minus=True)
            else:
                work.copy(r, b)
            for at, factor in enumerate(factors):
                below = range(3 * at + 3, n)
                rest = r.part(below, range(1))
                work.product(rest, factor, r.part(three(at), range(1)), start=rest, minus=True)
            for at in reversed(range(len(members))):
                beyond, own = range(3 * at + 3, n), r.part(three(at), range(1))
                if beyond:
                    work.product(
                        h.part(three(at), range(1)), M.part(three(at), beyond), y.part(beyond, range(1)), start=own,
                        minus=True,
                    )  # fmt: skip
                    own = h.part(three(at), range(1))
                work.product(y.part(three(at), range(1)), inverse[at], own)
            work.product(x, H.T, y, start=x if again else None)
        work.product(r, G.part(every, every), x)
        for at, i in enumerate(members):
            work.copy(self.x.part(three(i), range(1)), x.part(three(at), range(1)))
            own = self.x.part(three(i), range(1))
            work.step(tell_others, self.pushed[i], r.part(three(at), range(1)).place, own.place)
            work.step(vouch, self.left[i])

    def _factors(self, M: MatrixPanel, members: list[int]) -> tuple[list[MatrixPanel], list[MatrixPanel]]:
        """Eliminate contact after contact in a symmetric matrix, softened a little, and return the inverses of its
        blocks (3, 3) and by what each contact acts on those behind it; M keeps what is right of the diagonal."""
        work, n = self.work, 3 * len(members)
        inverse, own, factors = [work.matrix(3, 3) for _ in members], [work.matrix(3, 3) for _ in members], []
        for at, i in enumerate(members):
            work.copy(own[at], M.part(three(at), three(at)))
            work.step(soften, own[at].place, self.left[i])
        for at, i in enumerate(members):
            work.copy(own[at], M.part(three(at), three(at)))
            work.step(turn_round, own[at].place, inverse[at].place, self.left[i])
            below = range(3 * at + 3, n)
            if below:
                factors.append(work.matrix(len(below), 3))
                work.product(factors[-1], M.part(below, three(at)), inverse[at])
                rest = M.part(below, below)
                work.product(rest, factors[-1], M.part(three(at), below), start=rest, minus=True)
        return inverse, factors


def three(at: int) -> range:
    """The rows of a contact."""
    return range(3 * at, 3 * at + 3)


def threes(contacts: range) -> range:
    """The rows of contacts that follow each other."""
    return range(3 * contacts.start, 3 * contacts.stop)


def runs(contacts: Sequence[int]) -> list[tuple[int, range]]:
    """Runs of contacts that follow each other, and where each begins in the list."""
    found: list[tuple[int, range]] = []
    for at, i in enumerate(contacts):
        if found and found[-1][1].stop == i:
            found[-1] = found[-1][0], range(found[-1][1].start, i + 1)
        else:
            found.append((at, range(i, i + 1)))
    return found


class Pushing(Felt):
    """The forces of contacts with known modes. Open contacts have none: behind the first stage of a call, which finds
    zeros, they are told how they stand and move, and nothing else is done for them."""

    def __call__(self, work: Any) -> None:
        """Write the work."""
        self.begin(work)
        with work.unless_done(work.ground("holds")):
            self.solve()
            self.let_feel()
        self.tell_forces()

    def _if_asked(self, i: int) -> AbstractContextManager[None]:
        found: AbstractContextManager[None] = self.work.unless_done(
            self.work.ground("asks") + i * self.work.slot
        )
        return found

    def tell_forces(self) -> None:
        """Tell what contacts do."""
        slot, told = self.work.slot, self.work.ground("told_now")
        for i, place in enumerate(self.pushed):
            x = self.x.part(three(i), range(1)).place
            self.work.step(tell, place, x, self.left[i], told + TOLD * i * slot)


@at_ground
def forget_contacts(ground: Any) -> None:
    """Nothing is known of contacts when a step begins."""
    count = len(ground.contacts) // SIZE
    ground.told_now, ground.told = np.zeros(TOLD * count), np.zeros(TOLD * count)
    ground.asks, ground.holds = np.ones(count), 1.0


def count_contacts(nodes: Nodes) -> Sweep:
    """The step that adds the power of contacts to that of wrenches, and of dry friction to that of friction."""

    def count(ground: Any) -> None:
        told, power = ground.told_now, [0.0, 0.0]
        for i, pair in enumerate(nodes):
            k = TOLD * i
            power[pair.rubs] = power[pair.rubs] + sum((told[k + a] * told[k + 3 + a] for a in range(3)), 0.0)
        ground.power_wrenches = ground.power_wrenches + power[False]
        ground.power_friction = ground.power_friction + power[True]

    return at_ground(count)


def _each(ground: Any, told: Any) -> Iterator[tuple[dict[str, Any], Any, Any, Any]]:
    """The numbers of each contact, its force, its velocity, and all that is told of it."""
    for k in range(len(told) // TOLD):
        numbers, own = ground.contacts[SIZE * k : SIZE * (k + 1)], told[TOLD * k : TOLD * (k + 1)]
        yield {name: numbers[place] for name, place in PLACES.items()}, own[:3], own[3:6], own


def _changed(ground: Any, told: Any) -> Any:
    """How many contacts cannot go on as they do, by what is told: an open one is in the other side, a force pulls or
    leaves its cone, or a slip ends."""
    most: Any = 0.0
    for _, f, _, _ in _each(ground, told):
        for x in f:
            most = where(absolute(x) > most, absolute(x), most)
    nothing, changes = PULLS * most, 0.0
    for own, f, u, (*_, gap, _, _) in _each(ground, told):
        (sticks,), (slides,), (mu,) = own["sticks"], own["slides"], own["friction"]
        # A component with dry friction gives way beyond a part of what it can hold, however much others bear.
        dry = own["held"][0] > 0.0
        none = where(dry, own["held"][0] * absolute(f[2]), nothing)
        rubs = sqrt(f[0] * f[0] + f[1] * f[1])
        ends = u[0] * own["along"][0] + u[1] * own["along"][1] - own["least"][0]
        for margin, counts in (
            (gap + own["deep"][0], 1.0 - sticks - slides),
            (f[2] + none, where(dry, 0.0, sticks + slides)),
            (mu * f[2] - rubs + none, sticks),
            (ends, slides * where(mu > 0.0, 1.0, 0.0)),
        ):
            changes = changes + where(margin < 0.0, counts, 0.0)
    return changes


@at_ground
def heed_contacts(ground: Any) -> None:
    """Keep what contacts do where the step begins, and take no step if one of them changes there (`halt` is 1), or
    friction is stiff (2)."""
    told = ground.told_now
    changes, stiff, cap = _changed(ground, told), 0.0, ground.dt
    for own, f, u, (*_, slower) in _each(ground, told):
        slips = own["slides"][0] * where(own["friction"][0] > 0.0, 1.0, 0.0)
        square, (heavy, way) = u[0] * u[0] + u[1] * u[1], own["light"]
        begun = where(square > own["slow"][0] * own["slow"][0], slips, 0.0)
        slips = where(f[2] > heavy, where(slower > 0.0, begun, 0.0), 0.0)
        stiff = stiff + where(square < 2.0 * way * slower, slips, 0.0)
        left = NEARLY * sqrt(square) * reciprocal(where(slower > 0.0, slower, 1.0))
        cap = where(slips > 0.5, where(left < cap, left, cap), cap)
    ground.told = told
    closed = [own["sticks"][0] + own["slides"][0] for own, *_ in _each(ground, told)]
    ground.asks, ground.holds = array(closed), sum(closed, 0.0)
    ground.halt = where(changes > 0.5, 1.0, where(stiff > 0.5, 2.0, ground.halt))
    # Beyond the end of a slip friction turns round, and steps across it are rejected.
    ground.last = where(cap < ground.dt, 0.0, ground.last)
    ground.dt = where(changes + stiff > 0.5, 0.0, cap)


@at_ground
def look_at_contacts(ground: Any) -> None:
    """Tell whether somebody has to look at a step whose last stage stands at its end (`met` is not zero): a contact
    cannot go on there, an open one has come nearer and gone away again, or contacts are redundant."""
    met = _changed(ground, ground.told_now)
    for (own, _, before, (*_, left, _)), (_, _, after, _) in zip(
        _each(ground, ground.told), _each(ground, ground.told_now), strict=True
    ):
        is_open = 1.0 - own["sticks"][0] - own["slides"][0]
        met = met + where(before[2] < 0.0, where(after[2] > 0.0, is_open, 0.0), 0.0)
        met = met + where(left < DETERMINED, 1.0, 0.0)
    ground.met = met


@at_ground
def recall_contacts(ground: Any) -> None:
    """Leave what contacts do where the next step begins: at the last stage, or at the first one if the step is not
    accepted."""
    taken = ground.accepted > 0.5
    ground.told_now = array([where(taken, x, y) for x, y in zip(ground.told_now, ground.told, strict=True)])


def contact_sweeps(nodes: Nodes, driven: bool, least: bool) -> list[Sweep]:
    """The sweeps that come right after those of the dynamics, in which some joints may be `driven`; the `least` forces
    where contacts may be redundant."""
    return [*seeing(nodes), OnMatrices(Pushing(nodes, least)), give_way_driven if driven else give_way]


def where_some_hold(sweeps: list[Sweep]) -> list[Sweep]:
    """Some of these sweeps, left out where all contacts are open and nobody asks how they stand and move."""
    return [LeaveOut("holds", len(sweeps)), *sweeps]


def begun_with_contacts(begins: Callable[[Any], None]) -> Callable[[Any], None]:
    """The ground function of a dynamics that begins what contacts are seen by as well."""

    def begin_both(ground: Any) -> None:
        begins(ground)
        start(ground)

    return begin_both


def holding(inputs: Mapping[str, Scalars], told: int) -> Sweep:
    """Read all inputs of the ground, so that they keep their places, and make room for what is told."""

    @at_ground
    def hold(ground: Any) -> None:
        for name in inputs:
            getattr(ground, name)
        ground.told = np.zeros(told)

    return hold


def code(nodes: Nodes) -> str:
    """A name for what is compiled for contacts, which differs with their number, with whether some are stops or rims,
    with how many are dry friction, in joints of the tree and in others, and with how many floors are bent."""
    dry = sum(pair.rubs for pair in nodes)
    stops = "_with_stops" if any(pair.stopped >= 0 and not pair.rubs for pair in nodes) else ""
    cut = "_cut" if are_cut(nodes) else ""
    rims, bent = any(pair.is_rim for pair in nodes), bent_floors(nodes)
    shapes = f"{'_rims' if rims else ''}{f'_{bent}_bent' if bent else ''}"
    return f"{len(nodes)}{stops}{f'_{dry}_dry' if dry else ''}{cut}{shapes}"


def meeting(nodes: Nodes) -> tuple[OnCall, ...]:
    """The steps by which contacts are felt."""
    stops = (touch_stop, push_stop, touch_dry, push_dry, stand_alone) if have_stops(nodes) else ()
    return (stand_still, touch, touch_floor, *on_shapes(nodes), *stops, carry_one)


def on_shapes(nodes: Nodes) -> tuple[OnCall, ...]:
    """The steps by which rims, and contacts on floors that are bent, are felt."""
    rims = (touch_rim,) if any(pair.is_rim for pair in nodes) else ()
    return (*rims, touch_field) if bent_floors(nodes) else rims


def bent_floors(nodes: Nodes) -> int:
    """How many contacts are on floors that are bent, each of which is told of its own (`fields`)."""
    return sum(pair.is_bent for pair in nodes)


def contact_inputs(nodes: Nodes) -> dict[str, Any]:
    """What the ground is told of contacts: what each is and does, and what floors are like where they are bent."""
    fields = {"fields": Scalars(FIELD_SIZE * bent_floors(nodes))} if bent_floors(nodes) else {}
    return {"contacts": Scalars(SIZE * len(nodes)), **fields}


def solving(count: int, least: bool = False) -> tuple[OnCall, ...]:
    """The steps by which the forces of so many contacts are found, or the `least` ones."""
    if least:
        return (demand_only, soften, turn_round, tell_others, vouch, tell)
    return (*((solve_few,) if count <= FEW else ()), weigh, turn_round, tell)
