"""Contacts inside the compiled step: whether they can be there, and what the step is told of them."""

from __future__ import annotations

import numpy as np

from catena.dynamics.contact_forces import SIZE
from catena.kernels import is_plain
from catena.simulation.contacts.geometry import Places, turned_from
from catena.simulation.contacts.holding import SLOW, Holding
from catena.simulation.methods import SOLVERS
from catena.simulation.problem import Problem, Touching


def can_be_inside(problem: Problem, holding: Holding) -> bool:
    """Return whether the compiled step finds the forces of contacts: those of a tree of rigid bodies without prescribed
    joints, whose closed contacts are no stops and do not say the same twice. What acts besides must compile too."""
    system, places = problem.system, holding.acting.places
    if is_plain() or problem.integrator in SOLVERS or problem.integrator == "abm4" or problem.motion:
        return False
    if system.plan.owner is not None or system.constrained or system.loops or system.origin is not system:
        return False
    if not system.elements.is_compiled or problem.forces or problem.control is not None:
        return False
    return not any(k in holding.closed for k, _ in places.stops)


def touching(holding: Holding, deep: np.ndarray) -> Touching:
    """Return what the step is told of all contacts; open ones may be in the other side by `deep` (contacts,) [m]."""
    places, closed = holding.acting.places, set(holding.closed)
    numbers = np.zeros((len(places.contacts), SIZE))
    for k, row in enumerate(fixed_numbers(places)):
        sticks = k in closed and bool(holding.sticks[holding.closed.index(k)])
        mode = [float(sticks), float(k in closed and not sticks)]
        far = [holding.along[k, 0], holding.along[k, 1], SLOW * holding.length, deep[k], holding.least[k]]
        numbers[k] = [*row, *mode, *far]
    return Touching(tuple(zip(places.a.tolist(), places.b.tolist(), strict=True)), numbers.reshape(-1))


def fixed_numbers(places: Places) -> np.ndarray:
    """Return what contacts are, (contacts, numbers), whatever they do."""
    k = len(places.contacts)
    p = places.p_both[:, 0]
    radii = np.stack([places.r, places.R, 1.0 * places.round, places.friction], axis=1)
    parts = (p[:k], p[k:], places.back_b.reshape(k, 9), places.reference, turned_from(places.reference), radii)
    return np.concatenate(parts, axis=1)
