"""Users' arrays at the edge: shapes, leading batch dimensions, and the words for what is wrong with them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from catena.errors import StateError


def as_rows(name: str, value: Any, width: int, what: Callable[[], str]) -> np.ndarray:
    """`value` as float64 with last dimension `width`; `what()` says what the numbers are."""
    if np.iscomplexobj(value):
        raise StateError(f"{name} is complex; give real numbers.")
    try:
        x = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StateError(f"{name} is not an array of numbers: {error}.") from error
    if x.ndim == 0 or x.shape[-1] != width:
        raise StateError(
            f"{name} has shape {x.shape}, but its last dimension must be {width}: {what()}. "
            f"Leading dimensions are batch dimensions."
        )
    return x


def batch_shape(arrays: Mapping[str, np.ndarray], trailing: int = 1) -> tuple[int, ...]:
    """The common batch shape of all inputs."""
    shapes = {name: x.shape[: x.ndim - trailing] for name, x in arrays.items()}
    if len(set(shapes.values())) == 1:
        return next(iter(shapes.values()))
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise StateError(f"The batch dimensions do not fit together: {listed}.") from error


def flat(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """Rows for the kernel: (columns,) where one row serves all states, else C-contiguous (states,
    columns)."""
    width = x.shape[-1]
    if x.ndim == 1 or x.size == width:
        return np.ascontiguousarray(x.reshape(width))
    if x.shape[:-1] != batch:
        x = np.broadcast_to(x, (*batch, width))
    return np.ascontiguousarray(x.reshape(-1, width))


def name_not_finite(arrays: Mapping[str, np.ndarray], owners: Mapping[str, Sequence[str]]) -> str:
    """A sentence that names the first entry that is not finite; `owners` gives the joint or body of every
    column."""
    for name, x in arrays.items():
        bad = np.argwhere(~np.isfinite(x))
        if len(bad):
            *state, column = bad[0]
            where = f" in state {tuple(int(k) for k in state)}" if state else ""
            found = f"{name}[{column}] ({owners[name][column]}) is {x[tuple(bad[0])]}{where}"
            return f"{found}; every entry must be a finite number."
    return "an input is not finite."
