"""Whether contacts and stops fit a mechanism, and where they begin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catena.errors import StateError
from catena.mechanism.validation import known
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.deciding import CLOSED
from catena.simulation.contacts.stop import StopSide
from catena.system import System


def require_contacts(system: System, contacts: Sequence[Contact | StopSide]) -> None:
    """Raise an error unless contacts are between frames of a system that move against each other, and stops at joints
    that carry coordinates or are locked."""
    frames = system.plan.body_pose
    for contact in contacts:
        if isinstance(contact, StopSide):
            if contact.of not in system.mechanism.joints or contact.of in system.loops:
                raise StateError(
                    f"Stop {contact.label!r}: the joint {contact.of!r} is gone, or closes a loop now; keep it in the "
                    f"tree, m.system(keep=[{contact.of!r}])."
                )
            continue
        for frame in (contact.frame, contact.on):
            known("body or frame", frame, frames, f"contact {contact.label!r}")
        if frames[contact.frame][0] == frames[contact.on][0]:
            raise StateError(
                f"Contact {contact.label!r}: {contact.frame!r} and {contact.on!r} move together, so they never "
                "come to touch; give frames of two bodies."
            )
    laws = {
        contact.restitution_law: contact.label
        for contact in contacts
        if isinstance(contact, Contact) and contact.restitution > 0.0
    }
    if len(laws) > 1:
        found = ", ".join(f"{label!r} by {law!r}" for law, label in laws.items())
        raise StateError(f"Contacts of one run give back by one law of restitution, not {found}; choose one.")
    labels = [contact.label for contact in contacts]
    if len(set(labels)) < len(labels):
        raise StateError(f"Two contacts are called {max(labels, key=labels.count)!r}; give each a name.")


def require_outside(contacts: Sequence[Contact | StopSide], gaps: np.ndarray, length: float) -> None:
    """Raise an error if a contact begins inside the other side, by gaps (contacts,) [m], or a joint beyond a stop, of a
    mechanism of a size `length` [m]."""
    for contact, gap in zip(contacts, gaps, strict=True):
        if gap < -CLOSED * length and isinstance(contact, StopSide):
            raise StateError(
                f"Stop {contact.label!r}: the joint begins {-gap:.3g} rad or m beyond {contact.limit:g}; begin "
                "within its limits."
            )
        if gap < -CLOSED * length and isinstance(contact, Contact):
            under = "below the floor" if contact.floor is not None else "beyond the plane"
            what = under if contact.on_radius is None else "inside the ball"
            raise StateError(
                f"Contact {contact.label!r}: {contact.frame!r} begins {-gap:.3g} m {what} of {contact.on!r}; begin "
                f"{'above' if contact.on_radius is None else 'outside'} it."
            )
