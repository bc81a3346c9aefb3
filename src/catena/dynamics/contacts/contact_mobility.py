"""How contacts move and accelerate without their forces, what these do to each other, which forces or
impulses obey Coulomb's law, and what impulses do to the mechanism: the parts of `contact_forces` and `coulomb_newton`
by themselves, with pauses in which somebody asks for the law, as often as needed, and chooses impulses."""

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
from catena.dynamics.contacts.contact_forces import SIZE, VIEWS, Felt, Pair, runs, threes
from catena.dynamics.contacts.contact_impulses import gain
from catena.dynamics.contacts.coulomb_newton import ASKED, NEWTON_STEPS, NEWTON_VIEWS, CoulombNewton
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
    each_body,
    on_call,
)
from catena.kernels.matrices import MatrixPanel
from catena.spatial import Motion
from catena.spatial.scalars import array

TOLD = 10
"""What is told of a contact: its velocity (3), its gap, and its acceleration by motion (3) and by joints (3)."""


class Mobility(Felt):
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
        CoulombNewton(len(self.nodes))(work, self.W)

    def push(self, work: Any) -> None:
        """Write the work of impulses."""
        self.work, slot = work, work.slot
        self.press([MatrixPanel(place, 3, 1, slot, slot, slot) for place in _impulses(self)])

    def behind(self, dynamics: Algorithm, nodes: tuple[Pair, ...]) -> list[Sweep]:
        """The sweeps of the dynamics and of contacts, behind what acts."""
        return [
            *dynamics.sweeps, *contact_forces.seeing(nodes), OnMatrices(self), Pause("law"),
            OnMatrices(self.find), Pause("impulses"), OnMatrices(self.push), gain,
        ]  # fmt: skip


class MobilityThroughElimination(ThroughElimination):
    """The same within an elimination."""

    def __call__(self, work: Any) -> None:
        """Write the work."""
        self.weigh(work)
        _tell(self)

    def find(self, work: Any) -> None:
        """Write the work of the law."""
        CoulombNewton(len(self.nodes))(work, self.W)

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

    def behind(self, dynamics: Algorithm, nodes: tuple[Pair, ...]) -> list[Sweep]:
        """The sweeps of the dynamics and of contacts, behind what acts."""
        (eliminating,) = (sweep for sweep in dynamics.sweeps if isinstance(sweep, Schedule))
        order = eliminating.order
        answers = [part(order, partial(self.answers, i)) for i, pair in enumerate(self.nodes) if any(pair)]
        return [
            *(sweep for sweep in dynamics.sweeps if isinstance(sweep, OnCall)), keep_free, part(order, self.without),
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
    mobility = (MobilityThroughElimination if eliminates else Mobility)(nodes)
    numbers: dict[str, Any] = {
        "contacts": Scalars(SIZE * count), "impulses": Scalars(3 * count), "asked": Scalars(len(ASKED) * count),
    }  # fmt: skip
    own = contact_elimination if eliminates else contact_forces
    called = contact_elimination.called(nodes) if eliminates else contact_forces.meeting(nodes)
    sweeps = mobility.behind(dynamics, nodes)
    steps = [sweep for sweep in sweeps if isinstance(sweep, OnCall)]
    played = [sweep for sweep in sweeps if not isinstance(sweep, OnCall)]
    inputs = {n: e for n, e in dynamics.inputs.items() if not (forces and n in ("tau", "f_ext"))}
    name = f"contact_mobility_{contact_forces.code(nodes)}_{dynamics.name}{'_forces' if forces else ''}"
    ground = dynamics.ground if eliminates else contact_forces.begun_with_contacts(dynamics.ground)
    fields, settled = own.fields(nodes), ("change", "before", "size") if eliminates else ()
    return Algorithm(
        f"{name}_{nodes}", ground,
        (contact_forces.holding(numbers, TOLD * count), *steps, *called, *NEWTON_STEPS,
         *(force_sweeps() if forces else ()), *played),
        inputs=inputs | (dict(GIVEN) if forces else {}),
        outputs={"gained": VELOCITY}, ground_inputs={**dynamics.ground_inputs, "a_base": Motion, **numbers},
        ground_outputs=("told", *settled), optional=dynamics.optional | GIVEN.keys(),
        views={**dynamics.views, **contact_elimination.ELIMINATION_VIEWS, **VIEWS, **NEWTON_VIEWS},
        rewritten=dynamics.rewritten | fields.keys() | ({"p0", "effort", "p_own"} if eliminates else set()),
        shared=SHARED if forces else {}, component_fields=fields, matrix_outputs=("W", "found"), code=name,
        replayed=True, columns=dynamics.columns, link_rows=dynamics.link_rows,
    )  # fmt: skip
