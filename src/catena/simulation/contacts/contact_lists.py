"""Contacts and stops as users list them."""

from __future__ import annotations

from typing import Any

from catena.dynamics.contacts.tip_contact import TipContact
from catena.errors import StateError
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.stop import Stop
from catena.validation import entries, shown


def tips_apart(contacts: Any) -> tuple[tuple[Contact | Stop, ...], tuple[TipContact, ...]]:
    """Return contacts and stops that are made and broken, and contacts of tips that always hold, from one or many."""
    listed = _listed(contacts)
    if not listed:
        return (), ()
    tips = tuple(contact for contact in listed if isinstance(contact, TipContact))
    others = contact_list([contact for contact in listed if not isinstance(contact, TipContact)])
    if tips and others:
        raise StateError(
            f"contacts: {tips[0].label!r} always holds and {others[0]} may open: contacts of tips are not for runs "
            "with contacts that are made and broken, or rigid stops. Give what always holds as joints of the mechanism."
        )
    return others, tips


def _listed(contacts: Any) -> tuple[Any, ...]:
    if type(contacts) is tuple:
        return contacts
    try:
        return (contacts,) if isinstance(contacts, Contact | Stop | TipContact) else entries(contacts)
    except ValueError:
        return (contacts,)


def contact_list(contacts: Any) -> tuple[Contact | Stop, ...]:
    """Return contacts from one or many."""
    listed = _listed(contacts)
    for contact in listed:
        if not isinstance(contact, Contact | Stop):
            raise StateError(
                f"contacts: {shown(contact)} is no contact; give a list of ct.Contact and ct.Stop."
            )
    return listed
