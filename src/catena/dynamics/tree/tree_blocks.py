"""Division by the joint-space inertia of a tree, branch by branch, as products of dense blocks.

The components between two branchings make a *block*. Of the components above a block, all of its components see the
same, so eliminating a block s from the tips on needs, with P_s the inverse of its own inertia and H_sa what couples it
to the components a above it,

    F_s = P_s H_sa,      H_aa <- H_aa - H_sa^T F_s,      B_a <- B_a - F_s^T B_s,

and from the ground on X_s = P_s B_s - F_s X_a. Columns that have nothing to do with a block, because they belong to
other branches, take part in the last product only. With P_s = K_s K_s^T, H^-1 = G G^T where rows s of G y are
K_s y_s - F_s (G y)_a. Long chains are cut into blocks of a few components, whose inverses
stay in registers.
"""

from itertools import pairwise
from typing import Any

from catena.dynamics.tree.inverse_derivatives import BY_Q, MASS, DerivativeTable
from catena.kernels.machine_code.matrix_kernels import LARGEST_INVERSE
from catena.kernels.matrices import MatrixPanel


class TreeBlocks:
    """P and F of all blocks of the matrix in a table, whose masses are used up, as work on matrices. With `roots` there
    is also K of each block, P = K K^T."""

    def __init__(self, work: Any, table: DerivativeTable, roots: bool = False) -> None:
        self.work, self.n = work, table.n
        self.blocks = _blocks(work)
        self.above = [runs(work.above[block.start][:-1]) for block in self.blocks]
        """The components above each block, as ranges."""
        self.related = self._related(table)
        """The components that have entries in the rows of each block, as ranges."""
        self.B = table.matrix(BY_Q, pairs=True)
        H = table.matrix(MASS)
        self.P = [work.matrix(len(block), len(block)) for block in self.blocks]
        self.K = [work.matrix(len(block), len(block)) for block in self.blocks if roots]
        self._F = [work.matrix(len(b), max(1, len(work.above[b.start]) - 1)) for b in self.blocks]
        for s in reversed(range(len(self.blocks))):
            block = self.blocks[s]
            if roots:
                work.roots(self.P[s], self.K[s], H.part(block, block))
            else:
                work.inverse(self.P[s], H.part(block, block))
            for a, F in self.F(s):
                work.product(F, self.P[s], H.part(block, a))
            for a, F in self.F(s):
                for b in (b for b in self.above[s] if b.start <= a.start):
                    here = H.part(a, b)
                    work.product(here, F.T, H.part(block, b), start=here, minus=True)

    def _related(self, table: DerivativeTable) -> list[list[range]]:
        found = [{c for c in range(self.n) if any(table.related[i][c] for i in b)} for b in self.blocks]
        for s in reversed(range(len(self.blocks))):
            for a, block in enumerate(self.blocks[:s]):
                if block.start in self.work.above[self.blocks[s].start]:
                    found[a] |= found[s]
        for block, columns in zip(self.blocks, found, strict=True):
            for run in runs(sorted(columns)):
                table.relate(block, run)
        return [runs(sorted(columns)) for columns in found]

    def F(self, s: int) -> list[tuple[range, MatrixPanel]]:
        """Return the parts of F of a block that belong to runs of components above it."""
        parts, first = [], 0
        for a in self.above[s]:
            parts.append((a, self._F[s].part(range(len(self.blocks[s])), range(first, first + len(a)))))
            first += len(a)
        return parts

    def divided(self) -> MatrixPanel:
        """-H^-1 B (n, 2 n), of which nothing is left in the table."""
        work, B, n = self.work, self.B, self.n
        for s in reversed(range(len(self.blocks))):
            for a, F in self.F(s):
                for columns in map(_pairs, self.related[s]):
                    here = B.part(a, columns)
                    work.product(here, F.T, B.part(self.blocks[s], columns), start=here, minus=True)
        X = work.two_matrices(n, n)
        for s, block in enumerate(self.blocks):
            for columns in map(_pairs, self.related[s]):
                work.product(X.part(block, columns), self.P[s], B.part(block, columns), minus=True)
            for number, (a, F) in enumerate(self.F(s)):
                begun = self.related[s] if number == 0 else [range(n)]
                for group in (begun, _others(begun, n)):
                    for columns in map(_pairs, group):
                        here = X.part(block, columns)
                        start = here if group is begun else None
                        work.product(here, F, X.part(a, columns), start=start, minus=True)
        return X

    def inverse(self) -> MatrixPanel:
        """H^-1 (n, n)."""
        work, n = self.work, self.n
        X = work.matrix(n, n)
        for s, block in enumerate(self.blocks):
            before, own, start = range(block.start), X.part(block, block), self.P[s]
            for number, (a, F) in enumerate(self.F(s)):
                here = X.part(block, before)
                work.product(here, F, X.part(a, before), start=here if number else None, minus=True)
            for a, F in self.F(s):
                work.product(own, F, X.part(block, a).T, start=start, minus=True)
                start = own
            if self.above[s]:
                work.copy(X.part(before, block), X.part(block, before).T)
            else:
                work.copy(own, start)
        return X

    def rooted(self, Q: MatrixPanel) -> MatrixPanel:
        """G Q, for Q (n, m): H^-1 = G G^T."""
        work, columns = self.work, range(Q.columns)
        Z = work.matrix(self.n, Q.columns)
        for s, block in enumerate(self.blocks):
            here = Z.part(block, columns)
            work.product(here, self.K[s], Q.part(block, columns))
            for a, F in self.F(s):
                work.product(here, F, Z.part(a, columns), start=here, minus=True)
        return Z


def _blocks(work: Any) -> list[range]:
    """Return runs of components that are followed by the next one only."""
    above, n = work.above, len(work.above)
    children = [0] * n
    for path in above:
        for c in path[-2:-1]:
            children[c] += 1
    starts = [c for c in range(n) if c == 0 or above[c][:-1] != above[c - 1] or children[c - 1] > 1]
    blocks = []
    for first, end in pairwise([*starts, n]):
        parts = -(-(end - first) // LARGEST_INVERSE)
        cuts = [first + (end - first) * k // parts for k in range(parts + 1)]
        blocks += [range(a, b) for a, b in pairwise(cuts)]
    return blocks


def runs(components: list[int]) -> list[range]:
    """Return sorted components as ranges."""
    found: list[range] = []
    for c in components:
        if found and found[-1].stop == c:
            found[-1] = range(found[-1].start, c + 1)
        else:
            found.append(range(c, c + 1))
    return found


def _others(ranges: list[range], n: int) -> list[range]:
    """Return the components that are in none of the ranges."""
    return runs([c for c in range(n) if not any(c in r for r in ranges)])


def _pairs(components: range) -> range:
    """Return the columns of components that have two each."""
    return range(2 * components.start, 2 * components.stop)
