"""Accelerations while the tips of chains touch supports of known motion, asked of a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from catena.dynamics.contacts.tip_contact import ContactSolution, TipContact, tip_contacts
from catena.kernels import arrays
from catena.kernels.blas import by_one_blas_thread
from catena.system.by_state import one_by_one
from catena.system.dynamics_calls import posed
from catena.system.of_system import of_system

if TYPE_CHECKING:
    from catena.system.system import System


@of_system
@one_by_one
@by_one_blas_thread
def contact_dynamics(
    system: System, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, contacts: Sequence[TipContact],
    f_ext: Mapping[str, ArrayLike] | None = None, base_acceleration: ArrayLike | None = None,
    elements: bool = True,
) -> ContactSolution:  # fmt: skip
    """Return accelerations and contact forces with the tips of chains in contact with supports of known motion;
    the loops of the mechanism are respected. A contact holds in both directions: whether it should let go is for
    the caller to decide by its force. The other arguments are those of `forward_dynamics`."""
    if not arrays.as_switch("elements", elements):
        return contact_dynamics(system.variants.bare, q, v, tau, contacts, f_ext, base_acceleration)
    contacts = arrays.as_list("contacts", contacts, TipContact, "TipContact")
    for contact in contacts:
        system._frame(contact.frame)
    tau = system._with_own(q, v, tau)
    return tip_contacts(posed(system, q, v, tau, f_ext, base_acceleration), contacts)
