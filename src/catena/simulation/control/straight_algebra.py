"""Linear algebra without branches, on lists of numbers or symbols: what decompositions do, for the compiled step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.spatial.scalars import absolute, less, reciprocal, sqrt, where

Row = list[Any]
# How often all pairs of rows are turned: they are orthogonal to rounding after five or six, whatever they were.
SWEEPS = {1: 0, 2: 2, 3: 5}
MOST_SWEEPS = 7
# What is left of a column behind others, as a part of it, where it depends on them.
DEPENDENT = 1e-12
# Added to squares whose root is divided by.
TINY = 1e-200


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the sum of products of entries; numbers that are zero take no part."""
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        if not (_is_nothing(x) or _is_nothing(y)):
            total = x * y if _is_nothing(total) else total + x * y
    return total


def _is_nothing(x: Any) -> bool:
    return isinstance(x, (float, int)) and x == 0


def less_along(a: Sequence[Any], part: Any, direction: Sequence[Any]) -> Row:
    """Return a vector less a part of another one."""
    if _is_nothing(part):
        return list(a)
    return [x if _is_nothing(d) else x - part * d for x, d in zip(a, direction, strict=True)]


def largest(entries: Sequence[Any]) -> Any:
    """Return the largest entry."""
    found = entries[0]
    for x in entries[1:]:
        found = where(less(found, x), x, found)
    return found


def among(n: int, places: Sequence[int], x: Sequence[Any]) -> Row:
    """Return n entries, those of x at these places and zeros elsewhere."""
    found: Row = [0.0] * n
    for i, value in zip(places, x, strict=True):
        found[i] = value
    return found


class Root:
    """The root A of a positive definite matrix h = A A^T, lower triangular."""

    def __init__(self, h: Sequence[Sequence[Any]]) -> None:
        self._below: list[Row] = []
        """Below the diagonal, with columns divided by their diagonal entries."""
        self._per: Row = []
        """One over the diagonal."""
        d: Row = []
        per: Row = []
        for i, row in enumerate(h):
            line: Row = []
            for j in range(i):
                scaled = [0.0 if _is_nothing(a) else a * b for a, b in zip(self._below[j], d)]
                met = dot(line[:j], scaled[:j])
                line.append(0.0 if _is_nothing(row[j]) and _is_nothing(met) else (row[j] - met) * per[j])
            d.append(row[i] - dot([a * a for a in line], d[:i]))
            per.append(reciprocal(d[i]))
            self._below.append(line)
            self._per.append(sqrt(per[i]))

    def divided(self, r: Sequence[Any]) -> Row:
        """Return A^-1 r."""
        y: Row = []
        for i, line in enumerate(self._below):
            met = dot(line, y)
            y.append(r[i] if _is_nothing(met) else r[i] - met)
        return [0.0 if _is_nothing(a) else a * b for a, b in zip(y, self._per, strict=True)]

    def divided_transposed(self, r: Sequence[Any]) -> Row:
        """Return A^-T r."""
        y = [a * b for a, b in zip(r, self._per, strict=True)]
        n = len(y)
        for i in reversed(range(n)):
            y[i] = y[i] - dot([self._below[j][i] for j in range(i + 1, n)], y[i + 1 :])
        return y


def turned_orthogonal(rows: Sequence[Row], n: int) -> list[Row]:
    """Return rows turned in pairs until their first n entries are orthogonal to each other (one-sided Jacobi)."""
    rows = list(rows)
    for _ in range(SWEEPS.get(len(rows), MOST_SWEEPS)):
        for i in range(len(rows)):
            for j in range(i + 1, len(rows)):
                a, b = rows[i][:n], rows[j][:n]
                twice, more = 2.0 * dot(a, b), dot(b, b) - dot(a, a)
                root = sqrt(more * more + twice * twice + TINY)
                tangent = twice * where(less(more, 0.0), -1.0, 1.0) / (absolute(more) + root)
                c = reciprocal(sqrt(1.0 + tangent * tangent))
                s = c * tangent
                pairs = list(zip(rows[i], rows[j], strict=True))
                rows[i], rows[j] = [c * x - s * y for x, y in pairs], [s * x + c * y for x, y in pairs]
    return rows


def beyond(left: Row, columns: Sequence[Row]) -> Row:
    """Return a vector less what columns span; those that are zero span nothing."""
    spanned: list[Row] = []
    for column in columns:
        for other in spanned:
            column = less_along(column, dot(other, column), other)
        square = dot(column, column)
        scale = where(less(TINY, square), reciprocal(sqrt(square + TINY)), 0.0)
        column = [scale * a for a in column]
        spanned.append(column)
        left = less_along(left, dot(column, left), column)
    return left


def compressed(columns: Sequence[Row], wanted: Row) -> tuple[list[Row], Row]:
    """Return m columns (k,) and what is wanted of their sums (k,) along as many orthogonal directions as there are
    columns (Gram and Schmidt); what is dependent but for rounding has no direction of its own."""
    if len(wanted) <= len(columns) + 1:
        return list(columns), wanted
    found: list[Row] = [[] for _ in columns]
    left = [list(column) for column in columns]
    along: Row = []
    for j, column in enumerate(columns):
        square = dot(left[j], left[j])
        per = where(less(DEPENDENT**2 * dot(column, column), square), reciprocal(sqrt(square + TINY)), 0.0)
        direction = [per * x for x in left[j]]
        for i in range(len(columns)):
            part = dot(direction, left[i]) if i >= j else 0.0
            found[i].append(part)
            left[i] = less_along(left[i], part, direction) if i > j else left[i]
        part = dot(direction, wanted)
        along.append(part)
        wanted = less_along(wanted, part, direction)
    return found, along


class Singular:
    """The singular values of a matrix A (k, m), the smaller of both at most some six, as `squares`, and of each the
    direction (m,) in which it is met, of this length. Rows are carried along with what is `wanted` (k,) of them."""

    def __init__(self, A: Sequence[Row], wanted: Sequence[Any]) -> None:
        k, m = len(A), len(A[0])
        if k <= m:
            rows = turned_orthogonal([[*row, b] for row, b in zip(A, wanted, strict=True)], m)
            self.squares = [dot(row[:m], row[:m]) for row in rows]
            # Row r of length s is s v^T, and what is wanted of it u . b.
            self._found = [(row[:m], row[m], square) for row, square in zip(rows, self.squares, strict=True)]
            return
        columns, wanted = compressed([[row[j] for row in A] for j in range(m)], list(wanted))
        k = len(wanted)
        units = [[float(i == j) for j in range(m)] for i in range(m)]
        columns = turned_orthogonal(
            [[*column, *unit] for column, unit in zip(columns, units, strict=True)], k
        )
        self.squares = [dot(column[:k], column[:k]) for column in columns]
        # Column c of length s is s u, and goes with v.
        self._found = [(column[k:], dot(column[:k], wanted), None) for column in columns]

    def smallest(self, kept: Sequence[Any], least: Any) -> tuple[Row, list[Row]]:
        """Return the smallest x (m,) with A x nearest to what is wanted, among the directions that are `kept`; squares
        below `least` are damped. And the directions that are kept, of length 1."""
        m = len(self._found[0][0])
        x: Row = [0.0] * m
        directions = []
        for (direction, met, own), square, is_kept in zip(self._found, self.squares, kept, strict=True):
            part = where(is_kept, met / where(less(square, least), least + TINY, square + TINY), 0.0)
            x = [a + part * b for a, b in zip(x, direction)]
            per = 1.0 if own is None else reciprocal(sqrt(own + TINY))
            unit = where(is_kept, per, 0.0)
            directions.append([unit * b for b in direction])
        return x, directions
