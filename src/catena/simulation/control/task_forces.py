"""Which forces make a frame of a tree accelerate as wanted, as a formula: what `forces` finds by decompositions,
without branches, for the compiled step.

With w the square roots of the diagonal of the joint-space inertia, h = H / (w w^T) has ones on its diagonal, and in
x = tau / w the rows J of the frame read A x = b with A = (J / w) h^-1, each divided by its size. Rotations of pairs of
rows (one-sided Jacobi) make them orthogonal, so that row r of length s is a direction of its own, whose part of x is
r b / s^2, or r b over the square of the least length that is not damped. What is left free is the null space, in which

    min | h^-1 x2 - l |  with  V^T x2 = 0    has the solution    x2 = h (l - P mu),   P = h V

with mu that is best for P mu = l: all that it takes is l less what the columns of P span, by Gram and Schmidt's method.
Where only some joints have actuators, G, their columns of h^-1, is no square matrix. With G = Q U, U upper triangular,
U x2 = y is what the columns of U^-T V leave of Q^T l.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.simulation.control.forces import NO_ROW
from catena.spatial.scalars import absolute, array, less, reciprocal, sqrt, where
from catena.thresholds import RANK_ACTUATED

Row = list[Any]
# It grows with the square of the velocity components and of the rows; beyond so many it takes long to compile.
MOST_COMPONENTS, MOST_ROWS = 12, 6
# How often all pairs of rows are turned: they are orthogonal to rounding after five or six, whatever they were.
SWEEPS = {1: 0, 2: 2, 3: 5}
MOST_SWEEPS = 7
# Added to squares whose root is divided by.
TINY = 1e-200


def task_forces(
    H: Any,
    bias: Sequence[Any],
    J: Any,
    wanted: Sequence[Any],
    rest: Sequence[Any],
    units: Sequence[float],
    singular: float,
    acting: Sequence[int],
) -> Any:
    """Return tau (nv,) for the inertia H (nv, nv), the bias forces (nv,), rows J (k, nv), their accelerations `wanted`
    (k,) without bias, and accelerations `rest` (nv,) that what is left free comes near to. Rows that are rounding
    beside the longest, in `units` (k,), are none. Components that are not among those `acting` get nothing."""
    n, k, whole = len(bias), len(wanted), len(acting) == len(bias)
    w = [sqrt(H[i, i]) for i in range(n)]
    per = [reciprocal(x) for x in w]
    h = [[H[i, j] * per[i] * per[j] if i != j else 1.0 for j in range(n)] for i in range(n)]
    solve = _factored(h)
    T = [[J[r, i] * per[i] for i in range(n)] for r in range(k)]
    sizes = [sqrt(_dot(row, row) + TINY) for row in T]
    longest = _largest([size / unit for size, unit in zip(sizes, units, strict=True)])
    per_size = [
        where(less(NO_ROW * longest, size / unit), reciprocal(size), 0.0)
        for size, unit in zip(sizes, units, strict=True)
    ]
    load = [c * x for c, x in zip(bias, per, strict=True)]
    rows = []
    for row, scale, goal in zip(T, per_size, wanted, strict=True):
        a = solve([scale * x for x in row])
        rows.append([*(a[i] for i in acting), scale * goal + _dot(a, load)])
    m = len(acting)
    rows = _orthogonal(rows, m)
    squares = [_dot(row[:m], row[:m]) for row in rows]
    most = _largest(squares)
    G = [] if whole else [solve([float(i == j) for j in range(n)]) for i in acting]
    # How far actuators reach at all, by which directions that they reach are told from rounding.
    reach = most if whole else sum((_dot(g, g) for g in G), 0.0)
    most, reach = _largest([most, RANK_ACTUATED**2 * reach]), _largest([most, reach])
    x, left_out = [0.0] * m, []
    for row, square in zip(rows, squares, strict=True):
        kept = less(RANK_ACTUATED**2 * reach, square)
        least = singular**2 * most
        part = where(kept, row[m] / where(less(square, least), least + TINY, square + TINY), 0.0)
        x = [a + part * b for a, b in zip(x, row)]
        unit = where(kept, reciprocal(sqrt(square + TINY)), 0.0)
        left_out.append([unit * b for b in row[:m]])
    given = _among(n, acting, x)
    free = solve([a - b for a, b in zip(load, given, strict=True)])
    left = [a * b + c for a, b, c in zip(w, rest, free, strict=True)]
    if whole:
        left = _beyond(left, [[_dot(line, v) for line in h] for v in left_out])
        more = [_dot(line, left) for line in h]
    else:
        more = _among(n, acting, _nearest(G, left, left_out))
    return array([scale * (a + b) for scale, a, b in zip(w, given, more, strict=True)])


def _among(n: int, acting: Sequence[int], x: Sequence[Any]) -> Row:
    """Return n entries, those of x at places `acting` and zeros elsewhere."""
    found: Row = [0.0] * n
    for i, value in zip(acting, x, strict=True):
        found[i] = value
    return found


def _nearest(columns: list[Row], left: Row, left_out: list[Row]) -> Row:
    """Return x (m,) with which independent columns (m of n entries) come nearest to a vector (n,), orthogonal to
    vectors (m,) that are left out."""
    m = len(columns)
    U = [[0.0] * m for _ in range(m)]
    Q: list[Row] = []
    for j, column in enumerate(columns):
        for i, other in enumerate(Q):
            U[i][j] = _dot(other, column)
            column = [a - U[i][j] * b for a, b in zip(column, other, strict=True)]
        U[j][j] = sqrt(_dot(column, column))
        per = reciprocal(U[j][j])
        Q.append([per * a for a in column])

    def transposed_solve(r: Row) -> Row:
        y: Row = []
        for j in range(m):
            y.append((r[j] - sum((U[i][j] * y[i] for i in range(j)), 0.0)) / U[j][j])
        return y

    y = _beyond([_dot(column, left) for column in Q], [transposed_solve(v) for v in left_out])
    x: Row = [0.0] * m
    for j in reversed(range(m)):
        x[j] = (y[j] - _dot(U[j][j + 1 :], x[j + 1 :])) / U[j][j]
    return x


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)


def _largest(entries: Sequence[Any]) -> Any:
    found = entries[0]
    for x in entries[1:]:
        found = where(less(found, x), x, found)
    return found


def _factored(h: list[Row]) -> Any:
    """Return what solves h x = r for a positive definite matrix, by its factors L D L^T."""
    n = len(h)
    L: list[Row] = [[] for _ in range(n)]
    d: Row = []
    per: Row = []
    for i in range(n):
        for j in range(i):
            scaled = [a * b for a, b in zip(L[j], d)]
            L[i].append((h[i][j] - _dot(L[i][:j], scaled[:j])) * per[j])
        d.append(h[i][i] - sum((a * a * b for a, b in zip(L[i], d)), 0.0))
        per.append(reciprocal(d[i]))

    def solve(r: Sequence[Any]) -> Row:
        y = list(r)
        for i in range(n):
            y[i] = y[i] - _dot(L[i], y[:i])
        y = [a * b for a, b in zip(y, per, strict=True)]
        for i in reversed(range(n)):
            y[i] = y[i] - _dot([L[j][i] for j in range(i + 1, n)], y[i + 1 :])
        return y

    return solve


def _orthogonal(rows: list[Row], n: int) -> list[Row]:
    """Return rows turned in pairs until their first n entries are orthogonal to each other."""
    rows = list(rows)
    for _ in range(SWEEPS.get(len(rows), MOST_SWEEPS)):
        for i in range(len(rows)):
            for j in range(i + 1, len(rows)):
                a, b = rows[i][:n], rows[j][:n]
                twice, more = 2.0 * _dot(a, b), _dot(b, b) - _dot(a, a)
                root = sqrt(more * more + twice * twice + TINY)
                tangent = twice * where(less(more, 0.0), -1.0, 1.0) / (absolute(more) + root)
                c = reciprocal(sqrt(1.0 + tangent * tangent))
                s = c * tangent
                pairs = list(zip(rows[i], rows[j], strict=True))
                rows[i], rows[j] = [c * x - s * y for x, y in pairs], [s * x + c * y for x, y in pairs]
    return rows


def _beyond(left: Row, columns: list[Row]) -> Row:
    """Return a vector less what columns span; those that are zero span nothing."""
    spanned: list[Row] = []
    for column in columns:
        for other in spanned:
            part = _dot(other, column)
            column = [a - part * b for a, b in zip(column, other, strict=True)]
        square = _dot(column, column)
        scale = where(less(TINY, square), reciprocal(sqrt(square + TINY)), 0.0)
        column = [scale * a for a in column]
        spanned.append(column)
        part = _dot(column, left)
        left = [a - part * b for a, b in zip(left, column, strict=True)]
    return left
