"""What joints and tools should follow: positions over time with their exact velocities and accelerations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.system import System
from catena.validation import real_array, shown


class ReferenceMotion(NamedTuple):
    """A position (..., nq), velocity (..., nv) and acceleration (..., nv), for each time asked for."""

    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray


@runtime_checkable
class Reference(Protocol):
    """Something that has a position at every time."""

    def at(self, t: Any) -> ReferenceMotion:
        """Return (q, v, vdot) at the time t, or at times (T,) with one more dimension in front, (T, nq)."""


Prescribed = Reference | Callable[[float], Sequence[ArrayLike]]
"""The motion of a joint: a reference, or a function of t that gives position, velocity and acceleration."""


def as_times(t: Any, who: str) -> np.ndarray:
    """Return times as an array of finite numbers."""
    try:
        times = real_array(t)
    except ValueError as error:
        raise StateError(f"{who}: t is {shown(t)} ({error}); give a time in seconds, or many.") from error
    if not np.isfinite(times).all():
        raise StateError(f"{who}: a time is {times[~np.isfinite(times)].flat[0]}; times must be finite.")
    return times


def is_reference(value: Any) -> TypeGuard[Reference]:
    """Return whether something can be asked where it is at a time; a class cannot, only its instances."""
    return callable(getattr(value, "at", None)) and not isinstance(value, type)


def as_reference(value: Any, who: str, what: str) -> Reference:
    """Return a reference, or the complaint that it is none."""
    if not is_reference(value):
        raise StateError(
            f"{who}: the {what} is {shown(value)}; give a reference, such as cubic(times, points)."
        )
    return value


def as_configuration(system: System, value: Any, who: str, what: str) -> np.ndarray:
    """Return one configuration (nq,) of a system."""
    try:
        q = np.array(real_array(value))
    except ValueError as error:
        raise StateError(
            f"{who}: {what} is {shown(value)} ({error}); give ({system.nq},) numbers."
        ) from error
    if q.ndim != 1:
        raise StateError(f"{who}: {what} has shape {q.shape}; give one configuration ({system.nq},).")
    system.potential_energy(q)  # complains about shapes, NaN and quaternions
    return q


def as_knots(times: Any, points: Any, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Return increasing times (n,), at least two, and as many points (n, k); (n,) is one coordinate."""
    t = as_times(times, who)
    if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0.0).all():
        raise StateError(f"{who}: times are {t.tolist()}; give at least two, each later than the one before.")
    x = as_points(points, who, "points", len(t))
    return t, x


def as_points(points: Any, who: str, what: str, count: int, width: int | None = None) -> np.ndarray:
    """Return finite numbers (count, width) from (count, width), or from (count,) for one coordinate."""
    try:
        x = np.array(real_array(points))
    except ValueError as error:
        raise StateError(f"{who}: {what} are not numbers, one row for each time: {error}.") from error
    if x.ndim == 1 and (width in (None, 1)):
        x = x[:, None]
    if x.ndim != 2 or len(x) != count or (width is not None and x.shape[1] != width):
        wanted = f"({count}, {'coordinates' if width is None else width})"
        raise StateError(f"{who}: {what} have shape {x.shape}; give {wanted}, one row for each time.")
    if not np.isfinite(x).all():
        row = int(np.argwhere(~np.isfinite(x))[0][0])
        raise StateError(f"{who}: {what}[{row}] is {x[row].tolist()}; every entry must be a finite number.")
    return x
