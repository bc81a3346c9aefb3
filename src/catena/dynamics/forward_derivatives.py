"""Derivatives of forward dynamics of a tree: from those of inverse dynamics at the accelerations vdot,

    vdot by q = -H^-1 (tau by q),    vdot by v = -H^-1 (tau by v),    vdot by tau = H^-1.

H^-1 is known by itself, but the products are found with the sparse factors of H, and (tau by q) has entries only where
one component is beyond the other. Cost O(N^2 d), d the depth of the tree. vdot is an input, so that any formulation may
have found it.
"""

from typing import Any

from catena.dynamics.inverse_derivatives import (
    BY_Q,
    BY_V,
    FIELDS,
    INPUTS,
    OPTIONAL,
    VIEWS,
    Table,
    changes,
    forces,
    ground,
    keep,
    meet,
)
from catena.dynamics.tree_factor import TreeFactor, runs, tiles
from catena.kernels import Algorithm, OnMatrices
from catena.kernels.matrix_kernels import PAIRS
from catena.spatial import Motion


def _solve(work: Any) -> None:
    table = Table(work)
    table.fill()
    factor = TreeFactor(work, table)
    H_inv = factor.inverse()
    solved = divided(factor, table)
    n, at = table.n, work.coordinate
    pairs = sorted((at[r] * n + at[c], r, c) for r in range(n) for c in range(n))
    for number, name in ((BY_Q, "by_q"), (BY_V, "by_v")):
        places = [(index, solved + (2 * (r * n + c) + number) * work.slot) for index, r, c in pairs]
        work.output(name, (n, n), places)
    work.output("by_tau", (n, n), [(index, H_inv.at(r, c)) for index, r, c in pairs])


def divided(factor: TreeFactor, table: Table) -> int:
    """The place of -H^-1 B (n, n), in pairs for B by q and by v, of which nothing is left in the table.

    B becomes L^-T B, which has entries where B has; then rows of L^-1 D^-1 of that are found from the ground outwards.
    """
    work, n = factor.work, table.n
    result = work.reserve(2 * n * n)
    # Columns do not depend on each other: a few at a time, over all rows, stay in the nearest cache.
    for tile in tiles(n):
        _lower(factor, table, tile)
        _upper(factor, table, tile, result)
    return result


def _lower(factor: TreeFactor, table: Table, tile: range) -> None:
    """Let the columns of a tile become L^-T B."""
    for k in reversed(range(table.n)):
        related = [c for c in tile if table.related[k][c]]
        for first, count in runs(related):
            columns = related[first : first + count]
            beyond = [m for m in factor.beyond[k] if any(table.related[m][c] for c in columns)]
            terms = [(factor.L(m, factor.depth[k] - 1), table.at(m, columns[0])) for m in beyond]
            if terms:
                place = table.at(k, columns[0])
                factor.work.combine(
                    place,
                    terms,
                    2 * count,
                    PAIRS,
                    start=place,
                    out_spread=PAIRS,
                    start_spread=PAIRS,
                    minus=True,
                )


def _upper(factor: TreeFactor, table: Table, tile: range, result: int) -> None:
    """Find the columns of a tile of -L^-1 D^-1 B."""
    work, n, slot = factor.work, table.n, factor.work.slot
    for k in range(n):
        row, related = result + 2 * k * n * slot, [c for c in tile if table.related[k][c]]
        others = [c for c in tile if not table.related[k][c]]
        for first, count in runs(related):
            c = related[first]
            own = [(factor.D_inv[k], table.at(k, c))]
            work.combine(row + 2 * c * slot, own, 2 * count, PAIRS, minus=True)
        terms = [(place, result + 2 * i * n * slot) for i, place in factor.row(k)]
        # Without terms the others keep the zeros that they begin with.
        for group in (related, others) if terms else ():
            for first, count in runs(group):
                skip = 2 * group[first] * slot
                start = row + skip if group is related else None
                work.combine(
                    row + skip, [(f, x + skip) for f, x in terms], 2 * count, start=start, minus=True
                )


forward_derivatives = Algorithm(
    "forward_derivatives", ground, (changes, forces, meet, keep, OnMatrices(_solve)), INPUTS,
    ground_inputs={"a_base": Motion}, optional=OPTIONAL, views=VIEWS, component_fields=FIELDS,
    matrix_outputs=("by_q", "by_v", "by_tau"), code="inverse_derivatives",
)  # fmt: skip
