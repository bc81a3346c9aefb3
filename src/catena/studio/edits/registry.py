"""All edits by name."""

from __future__ import annotations

from collections.abc import Callable

Edit = Callable[..., None]

EDITS: dict[str, Edit] = {}
"""All edits by name."""


def edit(function: Edit) -> Edit:
    """Make a function known as the edit of its name, with spaces."""
    EDITS[function.__name__.replace("_", " ")] = function
    return function
