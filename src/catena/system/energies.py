"""The energies of a system: what bodies and rotors have, and what gravity, springs and flexible bodies store;
and how they change with the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.tree.rotors import has_rotors
from catena.kernels import arrays
from catena.questions.derivatives import of_energies
from catena.system.by_state import ask_each
from catena.system.dynamics_calls import posed
from catena.system.of_system import of_system

if TYPE_CHECKING:
    from catena.system.system import System


def energies(
    system: System, q: ArrayLike, v: ArrayLike, near: Mapping[str, ArrayLike] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic and the potential energy, each of shape (...), as `kinetic_energy` and `potential_energy` of
    the system tell them, in one pass over the bodies."""
    mechanics = system.mechanics
    found = mechanics.evaluator.evaluate(dynamics.energies, {"q": q, "qd": v})
    T, V = found["T"][..., 0], found["V"][..., 0]
    if system.plan.owner is not None:
        V = V + mechanics.strain_energy(q)
    return with_loop_rotors(system, T, q, v), with_stored(system, V, q, near)


def with_loop_rotors(system: System, T: np.ndarray, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Return kinetic energies (...) with those of the rotors at joints that close loops."""
    if not has_rotors(system.plan) or not any(loop.armature.any() for loop in system.plan.loop_joints):
        return T
    if system._states is not None:
        return np.asarray(ask_each(system, "kinetic_energy", q, v))
    problem = posed(system, q, v, None, None, None, look=False)
    rotors = [0.5 * inertia * (row * problem.v).sum(axis=-1) ** 2 for row, inertia, _ in problem.loop_rotors]
    return np.asarray(T + sum(rotors).reshape(problem.batch))


def with_stored(
    system: System, V: np.ndarray, q: ArrayLike, near: Mapping[str, ArrayLike] | None
) -> np.ndarray:
    """Return potential energies (...) with what springs, stops and other forces of the mechanism store."""
    if not system.mechanics.acts or system.mechanics.elements.is_empty:
        return V
    return V + system.forces.energy(q, near)


@of_system
def energy_derivatives(
    system: System, q: ArrayLike, v: ArrayLike, elements: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the kinetic energy by q and by v, and the potential energy by q, each of shape (..., nv): entry k is
    the derivative by a step q (+) e_k, or by v[k]. The energies are those of `kinetic_energy` and
    `potential_energy`; by v it is the momentum of the joints. `elements` is that of `potential_energy`."""
    if not arrays.as_switch("elements", elements):
        return energy_derivatives(system.variants.bare, q, v)
    system.mechanics.evaluator.check_current()
    return of_energies(system.mechanics, system.mechanics.gravity, q, v)
