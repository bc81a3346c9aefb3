"""How a motion is broken off on purpose."""

from __future__ import annotations


class BrokenOff(Exception):
    """Raised where a motion is broken off on purpose, behind the last step that was taken."""


class ContactChanged(BrokenOff):
    """Raised where a contact does not go on as it did."""
