"""Access to matplotlib, which is an optional dependency."""

from __future__ import annotations

from typing import Any

from catena.errors import CatenaError
from catena.validation import printable


def require_matplotlib() -> Any:
    """Return `matplotlib.pyplot`, or raise an error that says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise CatenaError(
            'Drawing needs matplotlib, which is not installed: pip install "catena-dynamics[plot]".'
        ) from error
    return pyplot


def literal(name: str) -> str:
    """Return a name of the user's as matplotlib takes it: as it stands, not as a formula where it has dollars in it."""
    return printable(name).replace("$", r"\$")
