"""How contacts move and accelerate without their forces, what these do to each other, which forces or
impulses obey Coulomb's law, and what impulses do to the mechanism: the parts of `contact_forces` and `coulomb_newton`
by themselves, with pauses in which somebody asks for the law, as often as needed, and chooses impulses."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from catena.dynamics.contacts import contact_elimination, contact_forces
from catena.dynamics.contacts.contact_elimination import (
    ThroughElimination,
    leave_over,
    leave_over_at_joint,
    part,
)
from catena.dynamics.contacts.contact_forces import VIEWS, Felt, Pair, runs, threes
from catena.dynamics.contacts.contact_impulses import gain
from catena.dynamics.contacts.coulomb_newton import ASKED, FOUND, NEWTON_STEPS, NEWTON_VIEWS, CoulombNewton
from catena.dynamics.elements.force_sweeps import GIVEN, SHARED, force_sweeps
from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.schedule import REFINEMENTS, Passes
from catena.dynamics.tree.articulated_body import articulated_body
from catena.kernels import (
    VELOCITY,
    Algorithm,
    Entry,
    OnCall,
    OnMatrices,
    Pause,
    Scalars,
    Schedule,
    Sweep,
    at_ground,
    each_body,
    on_call,
)
from catena.kernels.matrices import MatrixPanel
from catena.spatial import Motion
from catena.spatial.scalars import array, reciprocal, sqrt, where

WISHES = ("closed", "dead", "still", "rests", "parts")
"""What is wished for of a contact: the gap up to which it touches, the speed up to which it does not part, the slip
that is none, whether it shall not slip, and whether it shall part."""
DECIDING_VIEWS: dict[str, Any] = {
    "wish": {name: Scalars(1) for name in WISHES}, "other_found": "found", "other_asked": "asked",
}  # fmt: skip
# What is found again behind an impact.
AGAIN = frozenset({"qd", "qdd", "gained", "tau", "c", "p0", "X", "S", "d_inv", "U", "pulls", "f_ext"})
TOLD = 10
"""What is told of a contact: its velocity (3), its gap, and its acceleration by motion (3) and by joints (3)."""


class ContactMobility(Felt):
    """What contacts do to each other."""

    def __call__(self, work: Any) -> None:
        """Write the work."""
        self.begin(work)
        n = 3 * len(self.nodes)
        self.W = W = work.matrix(n, n)
        if len(self.apart()) > 1:
            work.clear(W)
        for members in self.apart():
            own = work.matrix(3 * len(members), 3 * len(members))
            self.couple(own, members)
            for a, rows in runs(members):
                for b, columns in runs(members):
                    part = own.part(threes(range(a, a + len(rows))), threes(range(b, b + len(columns))))
                    work.copy(W.part(threes(rows), threes(columns)), part)
        _tell(self)

    def find(self, work: Any) -> None:
        """Write the work of the law."""
        CoulombNewton(len(self.nodes))(work, self.W, work.ground("asked"))

    def strike(self, work: Any) -> None:
        """Write the work of an impact of all contacts that touch, and of what brings those to rest that part or slip
        next to nothing."""
        self.work, slot, count = work, work.slot, len(self.nodes)
        self.asked, asked_rest = (work.reserve(len(ASKED) * count) for _ in range(2))
        hit, rest = CoulombNewton(count, "hit"), CoulombNewton(count, "rested")
        for i in range(count):
            own = self.asked + len(ASKED) * i * slot
            work.step(ask_impact, self._contact(i), self.pushed[i], self._wish(i), own)
        hit(work, self.W, self.asked)
        for i in range(count):
            own, first = len(ASKED) * i * slot, FOUND * i * slot
            work.step(ask_rest, self._wish(i), hit.found + first, self.asked + own, asked_rest + own)
        rest(work, self.W, asked_rest)
        struck = work.matrix(3 * count, 1)
        for i in range(count):
            first = FOUND * i * slot
            work.step(add_up, hit.found + first, rest.found + first, struck.at(3 * i, 0))
        work.output("struck", (3 * count,), [(k, struck.at(k, 0)) for k in range(3 * count)])
        self.press(struck)

    def bear(self, work: Any) -> None:
        """Write the work of the forces behind an impact."""
        self.work, slot = work, work.slot
        asked = work.reserve(len(ASKED) * len(self.nodes))
        for i, place in enumerate(self.pushed):
            own = len(ASKED) * i * slot
            work.step(ask_forces, place, self._wish(i), self.asked + own, asked + own)
        CoulombNewton(len(self.nodes), "borne")(work, self.W, asked)

    def _wish(self, i: int) -> int:
        return int(self.work.ground("wishes")) + len(WISHES) * i * int(self.work.slot)

    def push(self, work: Any) -> None:
        """Write the work of impulses."""
        self.work, slot = work, work.slot
        self.press(MatrixPanel(work.ground("impulses"), self.count, 1, slot, slot, slot))

    def behind(self, dynamics: Algorithm, nodes: tuple[Pair, ...], acting: Sequence[Sweep]) -> list[Sweep]:
        """The sweeps of what is `acting`, of the dynamics and of contacts."""
        situation = [*acting, *dynamics.sweeps, *contact_forces.seeing(nodes), OnMatrices(self)]
        return [
            *situation, Pause("law"), OnMatrices(self.find), Pause("impulses"), OnMatrices(self.push), gain,
            Pause("decision"), OnMatrices(self.strike), gain, speed_up, Pause("behind"),
            at_ground(contact_forces.begun_with_contacts(dynamics.ground)), *situation, OnMatrices(self.bear),
        ]  # fmt: skip


class MobilityThroughElimination(ThroughElimination):
    """The same within an elimination."""

    def __call__(self, work: Any) -> None:
        """Write the work."""
        self.weigh(work)
        _tell(self)

    def find(self, work: Any) -> None:
        """Write the work of the law."""
        CoulombNewton(len(self.nodes))(work, self.W, work.ground("asked"))

    def without(self, passes: Passes) -> list[Entry]:
        """The accelerations without contacts, refined once more, so that the last two changes tell how exact they
        are."""
        at = passes.at
        kept = [Entry(keep_free, i, (at.body(i), at.flows(i), at.flows(0))) for i in range(1, at.plan.n)]
        return [*super().without(replace(passes, often=passes.often + 1)), *kept]

    def pushed_by(self, work: Any) -> None:
        """Write the work of impulses."""
        self.work = work
        self.push(_impulses(self))

    def gained(self, passes: Passes) -> list[Entry]:
        """What impulses change."""
        left_over = self.acts(passes.at, leave_over, leave_over_at_joint)
        return (passes.often - REFINEMENTS + 2) * [*left_over, *passes.refinement]

    def behind(self, dynamics: Algorithm, nodes: tuple[Pair, ...], acting: Sequence[Sweep]) -> list[Sweep]:
        """The sweeps of what is `acting`, of the dynamics and of contacts."""
        (eliminating,) = (sweep for sweep in dynamics.sweeps if isinstance(sweep, Schedule))
        order = eliminating.order
        answers = [part(order, partial(self.answers, i)) for i, pair in enumerate(self.nodes) if any(pair)]
        return [
            *(sweep for sweep in dynamics.sweeps if isinstance(sweep, OnCall)), keep_free, *acting,
            part(order, self.without),
            OnMatrices(self.meet), *answers, OnMatrices(self), Pause("law"), OnMatrices(self.find),
            Pause("impulses"), OnMatrices(self.pushed_by), part(order, self.gained), gain_beside_free,
        ]  # fmt: skip


def _tell(felt: Any) -> None:
    """Tell how contacts move, and what they do to each other."""
    work, slot, n = felt.work, felt.work.slot, 3 * len(felt.nodes)
    told, W = work.ground("told"), felt.W
    for i in range(len(felt.nodes)):
        row = MatrixPanel(told + TOLD * i * slot, 1, TOLD, TOLD * slot, slot, 2 * slot)
        work.copy(row, felt.of(i, "motion", 1, TOLD))
    work.output("W", (n, n), [(r * n + c, W.at(r, c)) for r in range(n) for c in range(n)])


def _impulses(felt: Any) -> list[int]:
    """Where the impulses of contacts are given."""
    first = felt.work.ground("impulses")
    return [first + 3 * i * felt.work.slot for i in range(len(felt.nodes))]


@on_call
def ask_impact(contact: Any, pushed: Any, wish: Any, asked: Any) -> None:
    """What contacts that touch do is what they do without impulses."""
    near = where(pushed.motion[3] <= wish.closed[0], 1.0, 0.0)
    _ask(asked, contact.friction[0], near, 0.0, (1.0, 0.0), pushed.motion[:3], 0.0)


@on_call
def ask_rest(wish: Any, found: Any, asked: Any, other_asked: Any) -> None:
    """What does not part stays, and what slips next to nothing does not slip."""
    r = found.numbers[3:]
    stays = asked.near[0] * where(r[2] <= wish.dead[0], 1.0, 0.0)
    slow = where(r[0] * r[0] + r[1] * r[1] <= wish.still[0] * wish.still[0], 1.0, wish.rests[0])
    holds = where(asked.mu[0] * slow > 0.0, 1.0, 2.0)
    _ask(other_asked, 0.0, stays, 0.0, (1.0, 0.0), r, holds)


@on_call
def add_up(found: Any, other_found: Any, three: Any) -> None:
    """Both impulses of a contact."""
    three.numbers = array([x + y for x, y in zip(found.numbers[:3], other_found.numbers[:3], strict=True)])


@on_call
def ask_forces(pushed: Any, wish: Any, asked: Any, other_asked: Any) -> None:
    """How a contact accelerates without forces, if it stays, and the direction in which it slides."""
    u = pushed.motion
    stays = asked.near[0] * where(u[2] <= wish.dead[0], 1.0 - wish.parts[0], 0.0)
    speed = sqrt(u[0] * u[0] + u[1] * u[1])
    slides = where(speed > wish.still[0], 1.0, 0.0)
    over = -1.0 * reciprocal(where(speed > wish.still[0], speed, 1.0))
    along = where(slides > 0.5, over * u[0], 1.0), slides * over * u[1]
    c = [x + y for x, y in zip(pushed.bias, pushed.driven, strict=True)]
    _ask(other_asked, asked.mu[0], stays, slides, along, c, 0.0)


def _ask(asked: Any, mu: Any, near: Any, fixed: Any, along: Any, c: Any, holds: Any) -> None:
    for name, x in zip(ASKED, (mu, near, fixed, *along, *c, holds), strict=True):
        setattr(asked, name, array([x]))


DECIDING_STEPS = (ask_impact, ask_rest, add_up, ask_forces)


@each_body
@but_particles
def speed_up(body: Any) -> None:
    """Impulses change how joints move."""
    body.qd = array([x + y for x, y in zip(body.qd, body.gained, strict=True)])


@on_call
@but_particles
def keep_free(body: Any, parent: Any) -> None:
    """Keep the accelerations without contacts, and let the ground, which is given as the parent, sum up by how much
    refinements still changed them."""
    body.qdd_free = body.qdd
    parent.change += body.last_change
    parent.before += body.change_before
    parent.size += body.pace.angular + body.pace.linear


@each_body
@but_particles
def gain_beside_free(body: Any) -> None:
    """What impulses changed."""
    body.gained = array([x - y for x, y in zip(body.qdd, body.qdd_free, strict=True)])


@lru_cache(maxsize=64)
def contact_mobility(
    nodes: tuple[Pair, ...], forces: bool, dynamics: Algorithm = articulated_body
) -> Algorithm:
    """The mobility of contacts between nodes, with `forces` of the mechanism and its `dynamics`: those of a tree, or an
    elimination."""
    count, eliminates = len(nodes), dynamics.is_scheduled
    mobility = (MobilityThroughElimination if eliminates else ContactMobility)(nodes)
    numbers: dict[str, Any] = {
        **contact_forces.contact_inputs(nodes), "impulses": Scalars(3 * count), "asked": Scalars(len(ASKED) * count),
    }  # fmt: skip
    numbers |= {} if eliminates else {"wishes": Scalars(len(WISHES) * count)}
    own = contact_elimination if eliminates else contact_forces
    called = contact_elimination.called(nodes) if eliminates else contact_forces.meeting(nodes)
    sweeps = mobility.behind(dynamics, nodes, force_sweeps() if forces else ())
    steps = [sweep for sweep in sweeps if isinstance(sweep, OnCall)]
    played = [sweep for sweep in sweeps if not isinstance(sweep, OnCall)]
    inputs = {n: e for n, e in dynamics.inputs.items() if not (forces and n in ("tau", "f_ext"))}
    name = f"contact_mobility_{contact_forces.code(nodes)}_{dynamics.name}{'_forces' if forces else ''}"
    outputs = ("W", "found", *(() if eliminates else ("hit", "rested", "struck", "borne")))
    ground = dynamics.ground if eliminates else contact_forces.begun_with_contacts(dynamics.ground)
    fields, settled = own.fields(nodes), ("change", "before", "size") if eliminates else ()
    return Algorithm(
        f"{name}_{nodes}", ground,
        (contact_forces.holding(numbers, TOLD * count), *steps, *called, *NEWTON_STEPS,
         *(() if eliminates else DECIDING_STEPS), *played),
        inputs=inputs | (dict(GIVEN) if forces else {}),
        outputs={"gained": VELOCITY}, ground_inputs={**dynamics.ground_inputs, "a_base": Motion, **numbers},
        ground_outputs=("told", *settled), optional=dynamics.optional | GIVEN.keys(),
        views={**dynamics.views, **contact_elimination.ELIMINATION_VIEWS, **VIEWS, **NEWTON_VIEWS, **DECIDING_VIEWS},
        rewritten=dynamics.rewritten | fields.keys() | ({"p0", "effort", "p_own"} if eliminates else AGAIN),
        shared=SHARED if forces else {}, component_fields=fields, matrix_outputs=outputs, code=name,
        replayed=True, columns=dynamics.columns, link_rows=dynamics.link_rows,
    )  # fmt: skip
