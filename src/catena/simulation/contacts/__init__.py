"""Unilateral contacts of points, balls and rims with planes, height fields, points and balls: they close on touch,
stick, slide or roll, and open when they would have to pull."""

from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.contact_lists import contact_list, tips_apart
from catena.simulation.contacts.height_field import HeightField
from catena.simulation.contacts.of_shapes import contacts_of
from catena.simulation.contacts.run import ContactRun
from catena.simulation.contacts.stop import Stop

__all__ = ["Contact", "ContactRun", "HeightField", "Stop", "contact_list", "contacts_of", "tips_apart"]
