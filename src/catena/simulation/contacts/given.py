"""Contacts and stops as users give them."""

from __future__ import annotations

from typing import Any

from catena.errors import StateError
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.stop import Stop
from catena.validation import entries, shown


def contact_list(given: Any) -> tuple[Contact | Stop, ...]:
    """Return contacts from one or many."""
    try:
        listed = (given,) if isinstance(given, Contact | Stop) else entries(given)
    except ValueError:
        listed = (given,)
    for contact in listed:
        if not isinstance(contact, Contact | Stop):
            raise StateError(
                f"contacts: {shown(contact)} is no contact; give a list of ct.Contact and ct.Stop."
            )
    return listed
