"""The blocks that an elimination is made of, for loops of up to so many constraints.

Every loop gets the same number of columns, and those that it does not need are zero: so there are only three sorts of
compiled elimination (3, 5 and 6 columns), whatever the mechanism, and as many that know couplings, besides one for
trees with couplings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.kernels import JointRows
from catena.spatial import Force, ForceSpace
from catena.spatial.scalars import array
from catena.structure import Plan


@dataclass(frozen=True)
class Sort:
    """A sort of compiled elimination: for loops of up to so many constraints, which are the columns of their blocks,
    and with couplings or without."""

    columns: int
    coupled: bool = False

    def __str__(self) -> str:
        return f"{self.columns}_coupled" if self.coupled else str(self.columns)


SORTS = (Sort(3), Sort(5), Sort(6), Sort(1, True), Sort(3, True), Sort(5, True), Sort(6, True))


def sort_for(plan: Plan) -> Sort:
    """The sort with the fewest columns that serves all loops of a plan, and its couplings."""
    most = max((loop.constraints for loop in plan.loop_joints), default=0)
    coupled = bool(plan.couplings)
    return next(sort for sort in SORTS if sort.columns >= most and sort.coupled is coupled)


@dataclass(frozen=True)
class Numbers:
    """An array."""

    shape: tuple[int, ...]

    def zero(self) -> np.ndarray:
        """An array of zeros."""
        return np.zeros(self.shape)


@dataclass(frozen=True)
class Columns:
    """Forces, one for each constraint of a loop."""

    n: int

    def zero(self) -> ForceSpace:
        """Forces of nothing."""
        return ForceSpace.zero(self.n)


class Symmetric:
    """A symmetric n x n matrix, kept as its upper triangle by rows."""

    __slots__ = ("upper",)

    def __init__(self, upper: Sequence[Any]) -> None:
        self.upper = list(upper)

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> Symmetric:
        """The matrix with these entries."""
        return cls(entries)

    @classmethod
    def from_matrix(cls, matrix: np.ndarray) -> Symmetric:
        """The matrix of which only the upper triangle is read."""
        n = len(matrix)
        return cls([matrix[i, j] for i in range(n) for j in range(i, n)])

    def entries(self) -> list[Any]:
        """The upper triangle."""
        return self.upper

    def matrix(self) -> np.ndarray:
        """The whole matrix."""
        n = int((8 * len(self.upper) + 1) ** 0.5) // 2
        rows: list[list[Any]] = [[0.0] * n for _ in range(n)]
        pairs = [(i, j) for i in range(n) for j in range(i, n)]
        for (i, j), x in zip(pairs, self.upper, strict=True):
            rows[i][j] = rows[j][i] = x
        return array(rows)

    def __add__(self, other: Symmetric) -> Symmetric:
        return Symmetric([x + y for x, y in zip(self.upper, other.upper, strict=True)])

    def __sub__(self, other: Symmetric) -> Symmetric:
        return Symmetric([x - y for x, y in zip(self.upper, other.upper, strict=True)])


@dataclass(frozen=True)
class Triangle:
    """A symmetric matrix of n rows."""

    n: int

    def zero(self) -> Symmetric:
        """A matrix of zeros."""
        return Symmetric([0.0] * (self.n * (self.n + 1) // 2))


def views(sort: Sort) -> dict[str, dict[str, Any]]:
    """The records of loops, of their links to bodies, of their effects on each other, and of joints that are
    coupled."""
    columns = sort.columns
    block, vector, triangle = Columns(columns), Numbers((columns,)), Triangle(columns)
    term = {
        "K_child": block, "E_child": block, "K_parent": block, "E_parent": block, "w_child": Force, "w_parent": Force,
        "motion": Numbers((3,)),
    }  # fmt: skip
    return {
        **({"term": term} if sort.coupled else {}),
        "multiplier": {
            "K_child": block, "E_child": block, "K_parent": block, "E_parent": block, "gamma": vector, "l": vector,
            "L": triangle, "M": vector, "W": triangle, "w": vector, "lam": vector, "total": vector,
            "drag_child": Force, "drag_parent": Force, "on_child": Force, "position": vector, "velocity": vector,
        },
        "link": {"K": block, "E": JointRows(columns)},
        "pair": {"K": Numbers((columns, columns))},
    }  # fmt: skip
