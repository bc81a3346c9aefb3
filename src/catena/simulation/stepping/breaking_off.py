"""How a motion is broken off on purpose."""

from __future__ import annotations


class BrokenOff(Exception):
    """Raised where a motion is broken off on purpose, behind the last step that was taken."""
