"""How contacts of a tree move and accelerate without their forces, what these do to each other, which forces or
impulses obey Coulomb's law, and what impulses do to the mechanism: the parts of `contact_forces` and `coulomb_newton`
by themselves, with pauses in which somebody asks for the law, as often as needed, and chooses impulses."""

from functools import lru_cache
from typing import Any

from catena.dynamics.contacts import contact_forces
from catena.dynamics.contacts.contact_forces import SIZE, VIEWS, Felt, Pair, runs, threes
from catena.dynamics.contacts.contact_impulses import gain
from catena.dynamics.contacts.coulomb_newton import ASKED, NEWTON_STEPS, NEWTON_VIEWS, CoulombNewton
from catena.dynamics.elements.force_sweeps import GIVEN, SHARED, force_sweeps
from catena.dynamics.tree.articulated_body import articulated_body
from catena.dynamics.tree.hybrid_dynamics import hybrid_dynamics
from catena.kernels import VELOCITY, Algorithm, OnMatrices, Pause, Scalars
from catena.kernels.matrices import MatrixPanel
from catena.spatial import Motion

TOLD = 10
"""What is told of a contact: its velocity (3), its gap, and its acceleration by motion (3) and by joints (3)."""


class Mobility(Felt):
    """What contacts do to each other."""

    def __call__(self, work: Any) -> None:
        """Write the work."""
        self.begin(work)
        slot, n, told = work.slot, 3 * len(self.nodes), work.ground("told")
        W = work.matrix(n, n)
        if len(self.apart()) > 1:
            work.clear(W)
        for i in range(len(self.nodes)):
            row = MatrixPanel(told + TOLD * i * slot, 1, TOLD, TOLD * slot, slot, 2 * slot)
            work.copy(row, self.of(i, "motion", 1, TOLD))
        for members in self.apart():
            own = work.matrix(3 * len(members), 3 * len(members))
            self.couple(own, members)
            for a, rows in runs(members):
                for b, columns in runs(members):
                    part = own.part(threes(range(a, a + len(rows))), threes(range(b, b + len(columns))))
                    work.copy(W.part(threes(rows), threes(columns)), part)
        work.output("W", (n, n), [(r * n + c, W.at(r, c)) for r in range(n) for c in range(n)])
        self.W = W

    def find(self, work: Any) -> None:
        """Write the work of the law."""
        CoulombNewton(len(self.nodes))(work, self.W)

    def push(self, work: Any) -> None:
        """Write the work of impulses."""
        self.work, slot, first = work, work.slot, work.ground("impulses")
        self.press(
            [MatrixPanel(first + 3 * i * slot, 3, 1, slot, slot, slot) for i in range(len(self.nodes))]
        )


@lru_cache(maxsize=64)
def contact_mobility(nodes: tuple[Pair, ...], forces: bool, driven: bool = False) -> Algorithm:
    """The mobility of contacts between nodes of a tree, with `forces` of the mechanism, of which some joints may be
    `driven`."""
    count, mobility, dynamics = len(nodes), Mobility(nodes), hybrid_dynamics if driven else articulated_body
    numbers: dict[str, Any] = {
        "contacts": Scalars(SIZE * count), "impulses": Scalars(3 * count), "asked": Scalars(len(ASKED) * count),
    }  # fmt: skip

    sweeps = [
        contact_forces.holding(numbers, TOLD * count), *contact_forces.meeting(nodes), *NEWTON_STEPS,
        *(force_sweeps() if forces else ()), *dynamics.sweeps, *contact_forces.seeing(nodes),
        OnMatrices(mobility), Pause("law"), OnMatrices(mobility.find), Pause("impulses"), OnMatrices(mobility.push),
        gain,
    ]  # fmt: skip
    inputs = {n: e for n, e in dynamics.inputs.items() if not (forces and n in ("tau", "f_ext"))}
    name = f"contact_mobility_{contact_forces.code(nodes)}{'_driven' if driven else ''}{'_forces' if forces else ''}"
    ground = contact_forces.begun_with_contacts(dynamics.ground)
    return Algorithm(
        f"{name}_{nodes}", ground, tuple(sweeps), inputs=inputs | (dict(GIVEN) if forces else {}),
        outputs={"gained": VELOCITY}, ground_inputs={"a_base": Motion, **numbers}, ground_outputs=("told",),
        optional=dynamics.optional | GIVEN.keys(), views={**VIEWS, **NEWTON_VIEWS},
        rewritten=dynamics.rewritten | contact_forces.fields(nodes).keys(), shared=SHARED if forces else {},
        component_fields=contact_forces.fields(nodes), matrix_outputs=("W", "found"), code=name, replayed=True,
    )  # fmt: skip
