"""Vectors and matrices of symbols, multiplied out entry by entry as a reader of the papers would."""

from collections.abc import Callable
from typing import Any

import numpy as np

from catena.equations.unrolling import new_symbols
from catena.spatial.scalars import array, is_symbolic


class Data:
    """Numbers that are inputs of a graph: symbols with values. What is known to be zero or one stays out, unless it is
    made opaque."""

    def __init__(self) -> None:
        self.symbols: list[Any] = []
        self.values: list[float] = []

    def of(self, numbers: Any) -> np.ndarray:
        """Return an array of symbols for an array of numbers."""
        flat = np.asarray(numbers, dtype=float).ravel().tolist()
        new = new_symbols(f"data{len(self.values)}", len(flat))
        self.symbols += list(new)
        self.values += flat
        return new.reshape(np.shape(numbers))

    def of_others(self, numbers: Any) -> np.ndarray:
        """Return an array of symbols for an array of numbers (n,), in which zeros stay zeros."""
        return array([self.of(x)[()] if x else 0.0 for x in np.asarray(numbers, dtype=float)])

    def opaque(self, entries: np.ndarray) -> np.ndarray:
        """Return the array with a symbol of its own for every entry that is known to be a number."""
        result = np.empty(entries.shape, dtype=object)
        for where, x in np.ndenumerate(entries):
            known = float(x) if not is_symbolic(x) or x.is_constant() else None
            result[where] = x if known is None else self.of(known)[()]
        return result


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b."""
    return array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B for a matrix A and a matrix or vector B, sums from left to right."""
    if B.ndim == 1:
        return array([dot(row, B) for row in A])
    return array([[dot(row, column) for column in B.T] for row in A])


def dot(a: Any, b: Any) -> Any:
    """Return the sum of the products of entries, from left to right."""
    return total([x * y for x, y in zip(a, b, strict=True)])


def scaled(a: np.ndarray, factor: Any) -> np.ndarray:
    """a times a scalar."""
    return array([x * factor for x in a])


def plus(*vectors: np.ndarray) -> np.ndarray:
    """Return the sum of vectors, from left to right."""
    return array([total(list(entries)) for entries in zip(*vectors, strict=True)])


def minus(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b."""
    return array([x - y for x, y in zip(a, b, strict=True)])


def total(terms: list[Any]) -> Any:
    """Return the sum of terms, from left to right; zero if there are none."""
    result: Any = terms[0] if terms else 0.0
    for term in terms[1:]:
        result = result + term
    return result


def symmetric(entry: Callable[[int, int], Any], n: int) -> np.ndarray:
    """Return the symmetric n x n matrix with these entries, of which one triangle is computed."""
    rows: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rows[i][j] = rows[j][i] = entry(i, j)
    return array(rows) if n else np.zeros((0, 0))


def solve_ldl(M: np.ndarray, f: np.ndarray) -> np.ndarray:
    """M^-1 f by an L D L^T factorisation with divisions, forward and back substitution."""
    n = len(f)
    L: list[list[Any]] = [[0.0] * n for _ in range(n)]
    d: list[Any] = []
    for i in range(n):
        w: list[Any] = []
        for j in range(i):
            w.append(total([M[i, j], *(-(L[j][k] * w[k]) for k in range(j))]))
            L[i][j] = w[j] / d[j]
        d.append(total([M[i, i], *(-(L[i][k] * w[k]) for k in range(i))]))
    y: list[Any] = []
    for i in range(n):
        y.append(total([f[i], *(-(L[i][k] * y[k]) for k in range(i))]))
    x: list[Any] = [0.0] * n
    for i in reversed(range(n)):
        # What is found last is added last, so that nothing waits longer than it must.
        x[i] = total([y[i] / d[i], *(-(L[k][i] * x[k]) for k in reversed(range(i + 1, n)))])
    return array(x)
