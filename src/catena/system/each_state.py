"""A call that is passed on to the system of each state, and what all of them say as one answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import CatenaError, raise_for_states
from catena.given import real_array

if TYPE_CHECKING:
    from catena.system.varied import VariedSystem


def ask_each(
    system: VariedSystem, name: str, given: tuple[Any, ...], named: dict[str, Any], only: np.ndarray | None
) -> Any:
    """Return what the systems of the states say to a call of `name`, put together. Arrays have batch dimensions before
    their last one; with `only` (...) the other states are left out and get zeros."""
    spread = [_spread(x) for x in (*given, *named.values())]
    batch = np.broadcast_shapes(system.variation.batch, *(s for shapes in spread for s in shapes))
    which = np.broadcast_to(np.arange(system.count).reshape(system.variation.batch), batch)
    wanted = np.ones(batch, dtype=bool) if only is None else only
    numbers = np.unique(which[wanted]).tolist()
    if not numbers:
        # No state is asked for, so that anybody can say what shape nothing has.
        systems = [(system.state(0) if system.count else system.base, wanted)]
    else:
        systems = [(system.state(k), (which == k) & wanted) for k in numbers]
    parts, places = [], []
    errors: dict[tuple[int, ...], CatenaError] = {}
    for own, mine in systems:
        arguments = [_taken(x, batch, mine) for x in given]
        options = {n: _taken(x, batch, mine) for n, x in named.items()}
        try:
            parts.append(getattr(own, name)(*arguments, **options))
        except CatenaError as error:
            # The others are told to whoever asks for them.
            errors |= {tuple(int(i) for i in index): error for index in np.argwhere(mine)}
            continue
        places.append(mine)
    found = _joined(parts, places, batch, math.nan if errors else 0.0) if parts else None
    raise_for_states(errors, found)
    return found


def _spread(x: Any) -> list[tuple[int, ...]]:
    """Return the batch dimensions of an argument that is an array, or of those in a mapping."""
    if isinstance(x, Mapping):
        return [s for value in x.values() for s in _spread(value)]
    rows = _numbers(x)
    return [] if rows is None or rows.ndim == 0 else [rows.shape[:-1]]


def _numbers(x: Any) -> np.ndarray | None:
    """Return an argument as an array, None for one that is none."""
    if x is None or isinstance(x, str | bool | int | float):
        return None
    try:
        return real_array(x)
    except ValueError:
        return None


def _taken(x: Any, batch: tuple[int, ...], mine: np.ndarray) -> Any:
    """Return an argument for some states of the batch, (states, n)."""
    if isinstance(x, Mapping):
        return {name: _taken(value, batch, mine) for name, value in x.items()}
    rows = _numbers(x)
    if rows is None or rows.ndim == 0:
        return x
    return np.broadcast_to(rows, (*batch, rows.shape[-1]))[mine]


def _joined(parts: list[Any], places: list[np.ndarray], batch: tuple[int, ...], rest: float = 0.0) -> Any:
    """Return results (states, ...) of portions of a batch as one of the whole batch, with the number `rest` for all
    others."""
    first = parts[0]
    if isinstance(first, dict):
        return {name: _joined([part[name] for part in parts], places, batch, rest) for name in first}
    if isinstance(first, tuple):
        return tuple(_joined([part[k] for part in parts], places, batch, rest) for k in range(len(first)))
    found = np.full((*batch, *np.shape(first)[1:]), rest)
    for part, mine in zip(parts, places, strict=True):
        found[mine] = part
    return found
