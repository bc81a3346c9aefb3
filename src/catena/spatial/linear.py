"""Small symmetric linear systems of numbers or symbols, without pivoting and without square roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.spatial.scalars import TINY, array, less, reciprocal, sqrt, where


def spd_inverse(D: np.ndarray) -> np.ndarray:
    """Return the inverse of a symmetric positive definite n x n matrix, of which the upper triangle is read.

    Closed forms up to n = 3, an L D L^T factorisation beyond. A singular matrix gives infinities and NaN, not
    an error.
    """
    n = D.shape[0]
    if n == 0:
        return np.zeros((0, 0))
    d = D.tolist()
    if n == 1:
        return array([[reciprocal(d[0][0])]])
    if n == 2:
        a, b, c = d[0][0], d[0][1], d[1][1]
        scale = reciprocal(a * c - b * b)
        off = -b * scale
        return array([[c * scale, off], [off, a * scale]])
    if n == 3:
        return _inverse_3(d)
    return _inverse_ldl(d, n)


def _inverse_3(d: list[list[Any]]) -> np.ndarray:
    """Return the inverse by elimination of the first unknown, and a closed form for the other two. It loses as many
    digits as the condition has; cofactors lose twice as many where two of three eigenvalues are small."""
    (a, b, c), (_, e, f), (_, _, i) = d
    first = reciprocal(a)
    g, h = b * first, c * first
    e, f, i = e - b * g, f - b * h, i - c * h
    scale = reciprocal(e * i - f * f)
    u, v, w = i * scale, -f * scale, e * scale
    y, z = -(g * u + h * v), -(g * v + h * w)
    return array([[first - g * y - h * z, y, z], [y, u, v], [z, v, w]])


def ldl_factor(D: np.ndarray) -> tuple[list[list[Any]], list[Any]]:
    """Return the strictly lower part of L (rows) and the reciprocals of the diagonal, with L diag L^T = D."""
    d = D.tolist()
    n = len(d)
    L: list[list[Any]] = [[] for _ in range(n)]
    diagonal: list[Any] = []
    inverse: list[Any] = []
    for i in range(n):
        scaled: list[Any] = []
        for j in range(i):
            total = d[j][i]
            for k in range(j):
                total = total - L[j][k] * scaled[k]
            scaled.append(total)
            L[i].append(total * inverse[j])
        pivot = d[i][i]
        for j in range(i):
            pivot = pivot - L[i][j] * scaled[j]
        diagonal.append(pivot)
        inverse.append(reciprocal(pivot))
    return L, inverse


def _inverse_ldl(d: list[list[Any]], n: int) -> np.ndarray:
    """Return L^-T diag^-1 L^-1."""
    L, inverse = ldl_factor(array(d))
    # K = L^-1, row by row; the unit diagonal is left out.
    K: list[list[Any]] = []
    for i in range(n):
        row = []
        for j in range(i):
            total = L[i][j]
            for k in range(j + 1, i):
                total = total + L[i][k] * K[k][j]
            row.append(-total)
        K.append(row)
    scaled = [[K[i][j] * inverse[i] for j in range(i)] for i in range(n)]
    result: list[list[Any]] = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            total = inverse[i] if i == j else scaled[j][i]
            for k in range(j + 1, n):
                total = total + K[k][i] * scaled[k][j]
            result[i][j] = result[j][i] = total
    return array(result)


def ldl_solve(D: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return x with D x = b for a symmetric positive definite D (n, n) and b of shape (n,) or (n, m)."""
    n = D.shape[0]
    if n == 0:
        return np.array(b)
    if b.ndim == 2:
        return np.column_stack([ldl_solve(D, column) for column in b.T])
    L, inverse = ldl_factor(D)
    x = b.tolist()
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - L[i][j] * x[j]
    x = [x[i] * inverse[i] for i in range(n)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k][i] * x[k]
    return array(x)


def orthogonal_complement(A: np.ndarray) -> np.ndarray:
    """Return m - n orthonormal columns that are orthogonal to the n columns of `A` (m, n), n <= m.

    Householder reflections take the columns of A one by one to the coordinate axes; nothing is pivoted, so
    symbols may enter, and a dependent column does no harm: the result is orthogonal to A and of full rank all
    the same.
    """
    m, n = A.shape
    columns = A.T.tolist()
    reflections: list[tuple[list[Any], Any]] = []
    for k in range(n):
        x = columns[k]
        for v, scale in reflections:
            x = _reflect(v, scale, x)
        tail = x[k:]
        square = TINY
        for entry in tail:
            square = square + entry * entry
        length = sqrt(square)
        # The sign keeps the first entry of v from cancelling.
        first = tail[0] + where(less(tail[0], 0.0), -length, length)
        v = [0.0] * k + [first, *tail[1:]]
        # |v|^2 = 2 length |first|, and the reflection is 1 - 2 v v^T / |v|^2.
        reflections.append((v, reciprocal(length * where(less(first, 0.0), -first, first))))
    result = []
    for j in range(n, m):
        x = [1.0 if i == j else 0.0 for i in range(m)]
        for v, scale in reversed(reflections):
            x = _reflect(v, scale, x)
        result.append(x)
    return array(result).T if result else np.zeros((m, 0))


def _reflect(v: list[Any], scale: Any, x: list[Any]) -> list[Any]:
    """Return x - scale (v . x) v."""
    along = 0.0
    for a, b in zip(v, x, strict=True):
        along = along + a * b
    along = along * scale
    return [b - along * a for a, b in zip(v, x, strict=True)]
