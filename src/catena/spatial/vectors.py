"""Spatial vectors: motions and forces, spaces spanned by several of them, and their cross products.

A motion stacks [angular; linear], a force [moment; force]. They live in dual spaces: a motion and a force
multiply to a power, two motions or two forces do not multiply at all. Entries are numbers or symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from catena.spatial import blocks
from catena.spatial.scalars import NUMBERS, array


class _Vector:
    """What motions and forces share: six entries, sums and multiples."""

    __slots__ = ("array",)
    size = 6

    def __init__(self, entries: Any) -> None:
        self.array: np.ndarray = entries if isinstance(entries, np.ndarray) else array(entries)

    @classmethod
    def zero(cls) -> Self:
        """Return the zero vector."""
        return cls(np.zeros(6))

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> Self:
        """Return the vector with these six entries."""
        return cls(array(entries))

    def entries(self) -> list[Any]:
        """Return the six entries as a list."""
        return self.array.tolist()

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(self.array + other.array)

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(self.array - other.array)

    def __neg__(self) -> Self:
        return type(self)(-self.array)

    def __mul__(self, scale: Any) -> Self:
        if isinstance(scale, (_Vector, _Space, np.ndarray)):
            return NotImplemented
        if isinstance(scale, NUMBERS):
            return type(self)(self.array * scale)
        return type(self)(array([entry * scale for entry in self.array]))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array.tolist()})"


class Motion(_Vector):
    """A velocity, an acceleration or an infinitesimal displacement: [angular; linear], six entries."""

    __slots__ = ()

    @property
    def angular(self) -> np.ndarray:
        """The angular part, (3,)."""
        return self.array[:3]

    @property
    def linear(self) -> np.ndarray:
        """The linear part, (3,)."""
        return self.array[3:]

    def dot(self, force: Force) -> Any:
        """Return the power of `force` along this motion."""
        return self.array @ force.array


class Force(_Vector):
    """A wrench, a momentum or an impulse: [moment; force], six entries."""

    __slots__ = ()

    @property
    def angular(self) -> np.ndarray:
        """The moment, (3,)."""
        return self.array[:3]

    @property
    def linear(self) -> np.ndarray:
        """The force, (3,)."""
        return self.array[3:]

    def dot(self, motion: Motion) -> Any:
        """Return the power of this force along `motion`."""
        return self.array @ motion.array


class _Space:
    """What motion and force spaces share: a 6 x n array whose columns span them."""

    __slots__ = ("array",)

    def __init__(self, columns: Any) -> None:
        self.array: np.ndarray = columns if isinstance(columns, np.ndarray) else array(columns)

    @staticmethod
    def size(n: int) -> int:
        """Return the number of entries of a space with `n` columns."""
        return 6 * n

    @classmethod
    def zero(cls, n: int) -> Self:
        """Return `n` zero columns."""
        return cls(np.zeros((6, n)))

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> Self:
        """Return the space with these entries, given column by column."""
        n = len(entries) // 6
        return cls(np.ascontiguousarray(array(entries).reshape(n, 6).T))

    @classmethod
    def from_columns(cls, columns: Sequence[Any]) -> Self:
        """Return the space spanned by these vectors, one column each."""
        return cls.from_entries([entry for column in columns for entry in column.entries()])

    def entries(self) -> list[Any]:
        """Return all entries, column by column."""
        return self.array.T.ravel().tolist()

    @property
    def n(self) -> int:
        """The number of columns."""
        return self.array.shape[1]

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(self.array + other.array)

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return type(self)(self.array - other.array)

    def __neg__(self) -> Self:
        return type(self)(-self.array)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.array.tolist()})"


class MotionSpace(_Space):
    """Motions spanned by the n columns of a 6 x n array, such as the motions a joint allows."""

    __slots__ = ()

    def columns(self) -> list[Motion]:
        """Return the columns as motions."""
        return [Motion(column) for column in self.array.T]

    @property
    def T(self) -> MotionSpaceTransposed:
        """The transpose, which takes forces to n numbers."""
        return MotionSpaceTransposed(self)

    def __mul__(self, x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return NotImplemented
        return (Motion if x.ndim == 1 else MotionSpace)(self.array @ x)


class ForceSpace(_Space):
    """Forces spanned by the n columns of a 6 x n array, such as the forces a joint's constraints exert."""

    __slots__ = ()

    def columns(self) -> list[Force]:
        """Return the columns as forces."""
        return [Force(column) for column in self.array.T]

    @property
    def T(self) -> ForceSpaceTransposed:
        """The transpose, which takes motions to n numbers."""
        return ForceSpaceTransposed(self)

    def __mul__(self, x: Any) -> Any:
        if isinstance(x, ForceSpaceTransposed):
            from catena.spatial.inertia import ArticulatedInertia

            return ArticulatedInertia.from_product(self, x.space)
        if not isinstance(x, np.ndarray):
            return NotImplemented
        return (Force if x.ndim == 1 else ForceSpace)(self.array @ x)


class MotionSpaceTransposed:
    """The transpose of a motion space: takes a force to (n,) and a force space to (n, m)."""

    __slots__ = ("space",)

    def __init__(self, space: MotionSpace) -> None:
        self.space = space

    def __mul__(self, force: Force | ForceSpace) -> np.ndarray:
        if not isinstance(force, (Force, ForceSpace)):
            return NotImplemented
        return self.space.array.T @ force.array


class ForceSpaceTransposed:
    """The transpose of a force space: takes a motion to (n,) and a motion space to (n, m)."""

    __slots__ = ("space",)

    def __init__(self, space: ForceSpace) -> None:
        self.space = space

    def __mul__(self, motion: Motion | MotionSpace) -> np.ndarray:
        if not isinstance(motion, (Motion, MotionSpace)):
            return NotImplemented
        return self.space.array.T @ motion.array


def cross(v: Motion, x: Any) -> Any:
    """Return the rate of `x` (a motion, a motion space or a force) that moves along with velocity `v`."""
    if isinstance(x, MotionSpace):
        return MotionSpace.from_columns([cross(v, column) for column in x.columns()])
    entries, other = v.array.tolist(), x.array.tolist()
    w, u, a, b = entries[:3], entries[3:], other[:3], other[3:]
    if isinstance(x, Force):
        return Force(array(blocks.add(blocks.cross(w, a), blocks.cross(u, b)) + blocks.cross(w, b)))
    return Motion(array(blocks.cross(w, a) + blocks.add(blocks.cross(w, b), blocks.cross(u, a))))


def cross3(a: Any, b: Any) -> np.ndarray:
    """Return the vector product of two 3-vectors."""
    return array(blocks.cross(list(a), list(b)))


def skew(v: Any) -> np.ndarray:
    """Return the 3x3 matrix that multiplies as v x."""
    x, y, z = v
    return array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
