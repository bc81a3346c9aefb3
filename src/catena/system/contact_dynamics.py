"""Accelerations while the tips of chains touch supports of known motion, asked of a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.contacts.tip_contact import TipContact, TipInstant
from catena.dynamics.contacts.tip_forces import ContactSolution, tip_contacts, tip_velocities
from catena.dynamics.loops.problem import LoopProblem
from catena.errors import StateError
from catena.kernels import arrays
from catena.kernels.teams.blas import by_one_blas_thread
from catena.system.by_state import one_by_one
from catena.system.dynamics_calls import posed
from catena.system.of_system import of_system
from catena.validation import is_finite, shown

if TYPE_CHECKING:
    from catena.system.system import System


@of_system
@one_by_one
@by_one_blas_thread
def contact_dynamics(
    system: System, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, contacts: Sequence[TipContact],
    f_ext: Mapping[str, ArrayLike] | None = None, base_acceleration: ArrayLike | None = None,
    elements: bool = True, t: float = 0.0,
) -> ContactSolution:  # fmt: skip
    """Return accelerations and contact forces with the tips of chains in contact with supports of known motion;
    the loops of the mechanism are respected. A contact holds in both directions: whether it should let go is for
    the caller to decide by its force. `t` is the time [s] at which functions of it are asked. The other arguments are
    those of `forward_dynamics`."""
    if not arrays.as_switch("elements", elements):
        return contact_dynamics(system.variants.bare, q, v, tau, contacts, f_ext, base_acceleration, True, t)
    return contact_solution(system, q, v, tau, _known(system, contacts), f_ext, base_acceleration, t)


def contact_solution(
    system: System, q: Any, v: Any, tau: Any, contacts: Sequence[TipContact], f_ext: Any = None,
    base_acceleration: Any = None, t: float = 0.0, driven: Mapping[int, np.ndarray] | None = None,
    near: Any = None, feedback: float = 0.0,
) -> ContactSolution:  # fmt: skip
    """Return what `contact_dynamics` does for contacts that are known to be good, where components of v accelerate as
    `driven` has it, loop joints are next to positions `near`, and errors of velocities are fed back (see there)."""
    problem = posed(system, q, v, system._with_own(q, v, tau, near), f_ext, base_acceleration)
    return tip_contacts(problem, _at(contacts, t, problem), driven, feedback)


@of_system
@one_by_one
@by_one_blas_thread
def contact_velocity(
    system: System, q: ArrayLike, v: ArrayLike, contacts: Sequence[TipContact], t: float = 0.0
) -> np.ndarray:
    """Return the velocities (..., nv) nearest to v, in the sense of kinetic energy, at which tips move against their
    supports as contacts prescribe at the time t [s], and loops stay closed: what a plastic impact leaves of v."""
    return fitting_velocity(system, q, v, _known(system, contacts), t)


def fitting_velocity(
    system: System, q: Any, v: Any, contacts: Sequence[TipContact], t: float, driven: Sequence[int] = ()
) -> np.ndarray:
    """Return what `contact_velocity` does for contacts that are known to be good, with components `driven` of v as they
    are."""
    problem = posed(system, q, v, None, None, None)
    return tip_velocities(problem, _at(contacts, t, problem), driven)


def _known(system: System, contacts: Any) -> list[TipContact]:
    listed: list[TipContact] = arrays.as_list("contacts", contacts, TipContact, "TipContact")
    for contact in listed:
        system._frame(contact.frame)
    return listed


def _at(contacts: Sequence[TipContact], t: Any, problem: LoopProblem) -> list[TipInstant]:
    """Return contacts at a time, at the states of a problem in the shape of their batch."""
    if not is_finite(t):
        raise StateError(f"t is {shown(t)}; give a time [s].")
    q, v = (x.reshape(*problem.batch, x.shape[-1]) for x in (problem.q, problem.v))
    return [contact.at(float(t), q, v) for contact in contacts]
