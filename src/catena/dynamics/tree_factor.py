"""The joint-space inertia of a tree as H = L^T D L, with L as sparse as the tree is branched, and its inverse.

Row k of L has entries for the components on the way from the ground to k only, and they stay the only ones
(Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees", 2005). Rows are
kept from the ground outwards, so that the row of a component begins like those of all components beyond it.
"""

from collections.abc import Callable
from typing import Any

from catena.dynamics.inverse_derivatives import MASS, Table


class TreeFactor:
    """L, D^-1 and D^-1/2 of the matrix in a table, as work on matrices."""

    def __init__(self, work: Any, table: Table) -> None:
        self.work, self.table, self.n = work, table, table.n
        self.depth = [len(path) for path in work.above]
        self.beyond: list[list[int]] = [[] for _ in range(self.n)]
        for m, path in enumerate(work.above):
            for k in path[:-1]:
                self.beyond[k].append(m)
        whole = [work.reserve(d) for d in self.depth]
        self._L = [work.reserve(d) for d in self.depth]
        self.D_inv = [work.reserve(1) for _ in range(self.n)]
        self.D_root = [work.reserve(1) for _ in range(self.n)]
        slot = work.slot
        for k in reversed(range(self.n)):
            at = self.depth[k] - 1
            for t, i in enumerate(work.above[k]):
                terms = [(self.L(m, at), whole[m] + t * slot) for m in self.beyond[k]]
                work.combine(whole[k] + t * slot, terms, start=table.at(k, i) + MASS * slot, minus=True)
            work.invert(self.D_inv[k], whole[k] + at * slot, self.D_root[k])
            work.combine(self._L[k], [(self.D_inv[k], whole[k])], at)

    def L(self, k: int, position: int) -> int:
        """The place of an entry of row k, counted from the ground."""
        return self._L[k] + position * self.work.slot

    def row(self, k: int) -> list[tuple[int, int]]:
        """The entries of row k without the last, which is 1: components, and places."""
        return [(i, self.L(k, t)) for t, i in enumerate(self.work.above[k][:-1])]

    def inverse(self) -> "Inverse":
        """H^-1."""
        return Inverse(self)


class Inverse:
    """H^-1 = L^-1 D^-1 L^-T, of which the entries above the diagonal are kept."""

    def __init__(self, factor: TreeFactor) -> None:
        work, n, slot = factor.work, factor.n, factor.work.slot
        self._work, self._n = work, n
        self._start, spread = work.reserve(n * n), work.reserve(n * n)

        def opposite(k: int, c: int) -> int:
            """-L^-T between a component and one beyond it."""
            return spread + (k * n + c) * slot

        for k in reversed(range(n)):
            at = factor.depth[k] - 1
            for c in factor.beyond[k]:
                between = work.above[c][at + 1 : -1]
                terms = [(factor.L(m, at), opposite(m, c)) for m in between]
                work.combine(opposite(k, c), terms, start=factor.L(c, at), minus=True)
        for tile in tiles(n):
            for k in range(tile[-1] + 1):
                self._row(factor, k, [c for c in tile if c >= k], opposite)

    def _row(
        self, factor: TreeFactor, k: int, columns: list[int], opposite: Callable[[int, int], int]
    ) -> None:
        """Find the entries of row k in some columns, none of them below the diagonal."""
        work, terms, own = self._work, factor.row(k), set(factor.beyond[k])
        if columns[0] == k:
            summed = [(place, self.at(i, k)) for i, place in terms]
            work.combine(self.at(k, k), summed, start=factor.D_inv[k], minus=True)
            columns = columns[1:]
        for group, related in (
            ([c for c in columns if c in own], True),
            ([c for c in columns if c not in own], False),
        ):
            for first, count in runs(group):
                c = group[first]
                summed = [(place, self.at(i, c)) for i, place in terms]
                if related:
                    summed.append((factor.D_inv[k], opposite(k, c)))
                work.combine(self.at(k, c), summed, count, minus=True)

    def at(self, row: int, column: int) -> int:
        """The place of an entry."""
        row, column = min(row, column), max(row, column)
        return self._start + (row * self._n + column) * self._work.slot


def tiles(n: int, width: int = 4) -> list[range]:
    """n columns, a few at a time."""
    return [range(first, min(first + width, n)) for first in range(0, n, width)]


def runs(indices: list[int]) -> list[tuple[int, int]]:
    """Where runs of consecutive numbers begin in a list, and how long they are."""
    found: list[tuple[int, int]] = []
    for position, index in enumerate(indices):
        if found and index == indices[position - 1] + 1:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((position, 1))
    return found
