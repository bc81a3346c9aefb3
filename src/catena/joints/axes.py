"""Directions that joints are described with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, overload

import numpy as np

from catena.errors import ModelError
from catena.spatial import is_symbolic
from catena.validation import real_array, shown

AxisSpec = str | Sequence[float] | np.ndarray
Direction = tuple[Any, Any, Any]

NAMED: dict[str, Direction] = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}

Z: Direction = NAMED["z"]


def direction(spec: Any, owner: str = "joint") -> Direction:
    """Return the unit vector of an axis given as "x", "-y", ... or as a 3-vector, as a tuple.

    Symbols are taken as they are. `owner` names the fault in the error message.
    """
    if isinstance(spec, str):
        if spec not in NAMED:
            known = ", ".join(NAMED)
            raise ModelError(f"{owner}: axis {spec!r} is not known; use one of {known}, or a 3-vector.")
        return NAMED[spec]
    if is_symbolic(spec) and np.shape(spec)[:1] in ((), (3,)):
        x, y, z = spec
        return (x, y, z)
    try:
        vector = real_array(spec)
    except ValueError as error:
        raise ModelError(
            f"{owner}: axis {shown(spec)} is not made of real numbers ({error}); give a 3-vector."
        ) from error
    if vector.shape != (3,):
        raise ModelError(f"{owner}: axis {shown(spec)} has shape {vector.shape}; a direction has shape (3,).")
    x, y, z = vector.tolist()
    if not all(map(math.isfinite, (x, y, z))):
        raise ModelError(f"{owner}: axis {(x, y, z)} has an entry that is not finite; all must be finite.")
    # Scaled first, so that very short and very long vectors neither vanish nor overflow when squared.
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        raise ModelError(f"{owner}: axis (0, 0, 0) has no direction; give a vector that is not zero.")
    x, y, z = x / largest, y / largest, z / largest
    length = math.sqrt(x * x + y * y + z * z)
    # Dividing a unit vector again would change its last digit, and equal joints would compare different.
    if abs(length * largest - 1.0) < 4e-16:
        return tuple(vector.tolist())
    return (x / length, y / length, z / length)


class AxisField:
    """A field of a joint kind that is told as an axis of any form and read as its unit vector, a tuple. `which` says in
    messages which axis of the kind it is."""

    def __init__(self, default: str, which: str = "") -> None:
        self.default, self.which = default, which

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, kind: None, owner: type) -> str: ...
    @overload
    def __get__(self, kind: object, owner: type) -> Direction: ...
    def __get__(self, kind: object | None, owner: type) -> str | Direction:
        return self.default if kind is None else vars(kind)[self.name]

    def __set__(self, kind: object, spec: AxisSpec) -> None:
        vars(kind)[self.name] = direction(spec, type(kind).__name__ + self.which)


def axis(spec: AxisSpec) -> np.ndarray:
    """Return the unit vector (3,) of an axis given as "x", "-y", ... or as a 3-vector of any length."""
    return np.array(direction(spec, "axis"))


@lru_cache(maxsize=4096)
def perpendicular(n: Direction) -> tuple[Direction, Direction]:
    """Return e1 and e2 = n x e1, which make a right-handed frame (e1, e2, n) with the unit vector `n`.

    e1 is the projection of the coordinate axis that follows the largest entry of n, so that (x, y) belong to
    n = z.
    """
    i = max(range(3), key=lambda k: (abs(n[k]), -k))
    j = (i + 1) % 3
    e1 = [-n[j] * n[k] + (1.0 if k == j else 0.0) for k in range(3)]
    length = math.sqrt(sum(x * x for x in e1))
    a, b, c = (x / length + 0.0 for x in e1)
    x, y, z = n
    return (a, b, c), (y * c - z * b + 0.0, z * a - x * c + 0.0, x * b - y * a + 0.0)


@lru_cache(maxsize=4096)
def canonical_frame(n: Direction) -> np.ndarray:
    """Return the rotation whose columns are (e1, e2, n): it takes the canonical axis z to `n`. Read-only."""
    e1, e2 = perpendicular(n)
    R = np.array([e1, e2, n]).T
    R.flags.writeable = False
    return R
