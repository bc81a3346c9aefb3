"""Access to matplotlib, which is an optional dependency."""

from __future__ import annotations

from typing import Any

from catena.errors import CatenaError


def require_matplotlib() -> Any:
    """Return `matplotlib.pyplot`, or raise an error that says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise CatenaError(
            'Drawing needs matplotlib, which is not installed: pip install "catena-dynamics[plot]".'
        ) from error
    return pyplot
