"""Values of the fields of a record as flat lists of scalars, and back.

A field may hold any spatial type (it knows its independent `entries`), a NumPy array or a single scalar.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catena.spatial.scalars import array, is_symbolic

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(value: Any) -> tuple[list[Any], Rebuild]:
    """Return the scalars of a value, and the function that builds a like value from as many scalars."""
    if hasattr(value, "entries"):
        return list(value.entries()), type(value).from_entries
    if isinstance(value, np.ndarray):
        shape = value.shape
        return list(value.ravel()), lambda entries: array(list(entries)).reshape(shape)
    return [value], lambda entries: entries[0]


def as_number(entry: Any) -> float | None:
    """Return the number an entry is known to be while tracing, or None if it depends on a symbol."""
    if is_symbolic(entry):
        return float(entry) if entry.is_constant() else None
    return float(entry)
