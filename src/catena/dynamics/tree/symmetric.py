"""Symmetric matrices as fields of records: only their upper triangle is kept and summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.spatial.scalars import array


class Symmetric:
    """A symmetric n x n matrix, kept as its upper triangle by rows."""

    __slots__ = ("upper",)

    def __init__(self, upper: Sequence[Any]) -> None:
        self.upper = list(upper)

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> Symmetric:
        """Return the matrix with these entries."""
        return cls(entries)

    @classmethod
    def from_matrix(cls, matrix: np.ndarray) -> Symmetric:
        """Return the matrix of which only the upper triangle is read."""
        n = len(matrix)
        return cls([matrix[i, j] for i in range(n) for j in range(i, n)])

    def entries(self) -> list[Any]:
        """Return the upper triangle."""
        return self.upper

    def matrix(self) -> np.ndarray:
        """Return the whole matrix."""
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
        """Return a matrix of zeros."""
        return Symmetric([0.0] * (self.n * (self.n + 1) // 2))
