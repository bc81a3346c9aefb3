"""Users' arrays at the edge: shapes, leading batch dimensions, and the words for what is wrong with them."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.validation import is_not_negative, listed, real_array, shown


def as_rows(name: str, value: Any, width: int, what: Callable[[], str]) -> np.ndarray:
    """Return `value` as float64 with last dimension `width`; `what()` says what the numbers are."""
    try:
        x = real_array(value)
    except ValueError as error:
        raise StateError(f"{name} is not an array of numbers: {error}.") from error
    if x.ndim == 0 or x.shape[-1] != width:
        raise StateError(
            f"{name} has shape {x.shape}, but its last dimension must be {width}: {what()}. "
            f"Leading dimensions are batch dimensions."
        )
    return x


def as_column(name: str, value: Any, why: str) -> np.ndarray:
    """Return finite numbers (..., 1), one for each state, from one number or from an array of the batch shape; `why`
    they must be finite."""
    try:
        x = real_array(value)[..., None]
    except ValueError as error:
        raise StateError(f"{name} is not a number, nor one for each state: {error}.") from error
    if not np.isfinite(x).all():
        raise StateError(f"{name} is {x[~np.isfinite(x)][0]}; {why}.")
    return x


def as_number(name: str, value: Any, meaning: str) -> float:
    """Return one number, zero or more; `meaning` says what it should be."""
    if not is_not_negative(value):
        raise StateError(f"{name} is {shown(value)}; give {meaning}, zero or more.")
    return float(value)


def as_switch(name: str, value: Any) -> bool:
    """Return a switch that a user gave, or raise a StateError if it is none."""
    if not isinstance(value, bool | np.bool_):
        raise StateError(f"{name} is {shown(value)}; give True or False.")
    return bool(value)


def as_list(name: str, value: Any, kind: type, meaning: str) -> list[Any]:
    """Return the entries of a list that are all of one kind; `meaning` says what they should be."""
    try:
        found = list(listed(value))
    except ValueError as error:
        raise StateError(f"{name} is {shown(value)} ({error}); give a list of {meaning}.") from error
    for entry in found:
        if not isinstance(entry, kind):
            raise StateError(f"{name} holds {shown(entry)}; give a list of {meaning}.")
    return found


def batch_shape(arrays: Mapping[str, np.ndarray], trailing: int = 1) -> tuple[int, ...]:
    """Return the common batch shape of all inputs."""
    shapes = {name: x.shape[: x.ndim - trailing] for name, x in arrays.items()}
    if len(set(shapes.values())) == 1:
        return next(iter(shapes.values()))
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise StateError(f"The batch dimensions do not fit together: {listed}.") from error


def rows(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """Return x (..., width) as (states, width), one row for each state of the batch, of which there may be none."""
    if x.shape[:-1] == batch:
        return x.reshape(prod(batch), x.shape[-1])
    return np.broadcast_to(x, (*batch, x.shape[-1])).reshape(prod(batch), x.shape[-1])


def flat(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """Return rows for the kernel: (columns,) where one row serves all states, else C-contiguous (states,
    columns)."""
    width = x.shape[-1]
    if x.ndim == 1 or x.size == width:
        return np.ascontiguousarray(x.reshape(width))
    if x.shape[:-1] != batch:
        x = np.broadcast_to(x, (*batch, width))
    return np.ascontiguousarray(x.reshape(-1, width))


def name_not_finite(arrays: Mapping[str, np.ndarray], owners: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence that names the first entry that is not finite; `owners` gives the joint or body of every
    column."""
    for name, x in arrays.items():
        bad = np.argwhere(~np.isfinite(x))
        if len(bad):
            *state, column = bad[0]
            where = f" in state {tuple(int(k) for k in state)}" if state else ""
            found = f"{name}[{column}] ({owners[name][column]}) is {x[tuple(bad[0])]}{where}"
            return f"{found}; every entry must be a finite number."
    return "an input is not finite."
