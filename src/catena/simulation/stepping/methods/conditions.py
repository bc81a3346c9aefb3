"""Conditions and comparisons that compile into lanes: numbers and symbols alike."""

from typing import Any

from catena.spatial.scalars import where


def both(a: Any, b: Any) -> Any:
    """Return whether both conditions hold, as a number."""
    return where(a, where(b, 1.0, 0.0), 0.0) > 0.5


def larger(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, NaN if one of them is NaN."""
    return where(a <= b, b, where(a > b, a, a + b))
