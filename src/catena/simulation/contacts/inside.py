"""Contacts inside the compiled step: whether they can be there, and what the step is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.dynamics import articulated_body
from catena.dynamics.contacts.contact_forces import PLACES, SIZE, Pair
from catena.dynamics.loops.elimination import loop_elimination, shape_for
from catena.dynamics.loops.elimination.hybrid import hybrid_elimination
from catena.dynamics.tree.hybrid_dynamics import hybrid_dynamics
from catena.kernels import Algorithm
from catena.simulation.contacts.coulomb import SLIDE, STICK
from catena.simulation.contacts.geometry import HELD, ContactPlaces, turned_from
from catena.simulation.contacts.holding import Holding
from catena.simulation.problem import Problem
from catena.simulation.stepping.drift import loops_compile
from catena.simulation.stepping.integrators import SOLVERS
from catena.structure.stations import has_many_modes
from catena.system import System
from catena.system.dry_friction import bears

# Where it is told what a contact does: its mode, the direction of its slip, and how far it may go.
DOES = slice(PLACES["sticks"].start, PLACES["least"].stop)


def can_be_inside(problem: Problem, places: ContactPlaces) -> bool:
    """Return whether compiled code can find the forces of contacts: no loop is closed by a kind of joint that only
    Python knows, no friction comes from the load of a joint or is in one that closes a loop and whose motions turn
    (`Universal`), and no body has many modes, which would be long to compile."""
    system = problem.system
    closes = not system.mechanics.is_closed or loops_compile(system.plan)
    return closes and not (places.turning or has_many_modes(system.plan) or bears(system))


def steps_look_back(integrator: str) -> bool:
    """Return whether the steps of a method have a past, or are SciPy's: a change of a contact cannot end such a step,
    and a step of no other method goes on behind it."""
    return integrator in (*SOLVERS, "abm4", "implicit_leapfrog")


def is_rigid_tree(system: System) -> bool:
    """Return whether nothing but joints of its tree holds rigid bodies."""
    is_open = not system.mechanics.constrained and not system.loops
    return is_open and system.plan.owner is None


def dynamics_of(system: System, driven: bool) -> Algorithm:
    """Return the algorithm of a system whose contacts compiled code knows: articulated bodies, or an elimination with
    loops, couplings and flexible bodies; some joints may be `driven`."""
    if is_rigid_tree(system):
        return hybrid_dynamics if driven else articulated_body
    return (hybrid_elimination if driven else loop_elimination)(shape_for(system.mechanics.effective_plan))


@dataclass(frozen=True, eq=False)
class Inside:
    """Contacts at `places` as the compiled step is told of them."""

    places: ContactPlaces

    @cached_property
    def nodes(self) -> tuple[Pair, ...]:
        """Return who meets in each contact; stops of joints that are locked now are open contacts of ground."""
        p = self.places
        found = [
            Pair(a, b, is_round, is_rim=is_rim, is_bent=turns and not is_round)
            for a, b, is_round, is_rim, turns in zip(
                *(x.tolist() for x in (p.a, p.b, p.round, p.rims, p.turns)), strict=True
            )
        ]
        for k, stop in p.stops:
            found[k] = Pair(found[k].node, 0, False, stop.index) if found[k].node else Pair(0, 0)
        for k, dry in p.dry:
            found[k] = Pair(found[k].node, 0, False, dry.index, True)
        for k in p.cut:
            found[k] = Pair(int(p.a[k]), int(p.b[k]), rubs=True)
        return tuple(found)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Return what contacts are, (contacts, numbers), while all are open."""
        places, k = self.places, len(self.places.contacts)
        p, z = places.p_both[:, 0], places.reference
        fixed = (
            p[:k], p[k:], places.back_b.reshape(k, 9), z, turned_from(z),
            np.stack([places.r, places.R, 1.0 * places.round, places.friction], axis=1),
        )  # fmt: skip
        numbers = np.zeros((k, SIZE))
        numbers[:, : PLACES["sticks"].start] = np.concatenate(fixed, axis=1)
        for i, stop in places.stops:
            numbers[i, PLACES["on_a"]] = (stop.limit, stop.sign, 0.0) if places.a[i] else (0.0, 0.0, 1.0)
        for i, contact in places.bent:
            if contact.rim:
                numbers[i, PLACES["reference"]] = places.back_a[i, 2]
                numbers[i, PLACES["radii"].stop - 1] = contact.rim
        for i, dry in places.dry:
            numbers[i, PLACES["on_a"]] = dry.friction, dry.excess, dry.fading
            numbers[i, PLACES["on_b"]] = dry.fall, places.alone[i], 0.0
            numbers[i, PLACES["radii"]] = places.still[i], 0.0
            numbers[i, PLACES["held"]] = HELD
        for i in places.cut:
            numbers[i, PLACES["reference"]], numbers[i, PLACES["across"]] = places.unit[i].reshape(2, 3)
        return numbers

    @property
    def whole(self) -> np.ndarray:
        """Return the same where the dynamics are without the dry friction of components."""
        numbers = self.numbers.copy()
        numbers[self.places.is_dry, PLACES["on_b"].stop - 1] = 1.0
        return numbers

    def numbers_of(self, holding: Holding, deep: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return what contacts are and do, (contacts, numbers); open ones may be in the other side by `deep`
        (contacts,) [m]."""
        numbers = self.numbers.copy()
        rows = zip(holding.standing.modes, holding.along, holding.slow, deep, holding.least, strict=True)
        numbers[:, DOES] = [
            (mode == STICK, mode == SLIDE, along[0], along[1], slow, low, least)
            for mode, along, slow, low, least in rows
        ]
        return numbers
