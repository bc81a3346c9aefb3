"""Contacts inside the compiled step: whether they can be there, and what the step is told of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.dynamics.contacts.contact_forces import PLACES, SIZE, Pair
from catena.kernels import is_plain
from catena.simulation.contacts.coulomb import SLIDE, STICK
from catena.simulation.contacts.geometry import ContactPlaces, turned_from
from catena.simulation.contacts.holding import Holding
from catena.simulation.problem import Problem
from catena.simulation.stepping.integrators import SOLVERS


def can_be_inside(problem: Problem) -> bool:
    """Return whether the compiled step can find the forces of contacts: those of a tree of rigid bodies, moved by a
    method of ours that has no past."""
    system = problem.system
    if is_plain() or problem.integrator in SOLVERS or problem.integrator in ("abm4", "implicit_leapfrog"):
        return False
    return (
        system.plan.owner is None
        and not system.mechanics.constrained
        and not system.loops
        and system.variants.origin is system
    )


@dataclass(frozen=True, eq=False)
class Inside:
    """Contacts at `places` as the compiled step is told of them."""

    places: ContactPlaces

    @cached_property
    def nodes(self) -> tuple[Pair, ...]:
        """Return who meets in each contact; stops of joints that are locked now are open contacts of ground."""
        p = self.places
        found = [Pair(*row) for row in zip(p.a.tolist(), p.b.tolist(), p.round.tolist(), strict=True)]
        for k, stop in p.stops:
            found[k] = Pair(found[k].node, 0, False, stop.index) if found[k].node else Pair(0, 0)
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
        return numbers

    def told(self, holding: Holding, deep: np.ndarray) -> np.ndarray:
        """Return what contacts are and do, (contacts, numbers); open ones may be in the other side by `deep`
        (contacts,) [m]."""
        modes, numbers = holding.standing.modes, self.numbers.copy()
        for name, value in {
            "sticks": [mode == STICK for mode in modes], "slides": [mode == SLIDE for mode in modes],
            "slow": holding.slow, "deep": deep, "least": holding.least,
        }.items():  # fmt: skip
            numbers[:, PLACES[name].start] = value
        numbers[:, PLACES["along"]] = holding.along
        return numbers
