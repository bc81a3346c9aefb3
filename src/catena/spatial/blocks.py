"""Products of the 3-vectors and 3x3 blocks of spatial quantities, with as few operations as are known.

Everything here works on plain lists of numbers or symbols: a rotation as three rows, a symmetric matrix as
its six upper entries (11, 12, 13, 22, 23, 33), a general matrix as nine entries by rows. These functions
decide how many operations the compiled kernels have, so they are written out entry by entry.
"""

from __future__ import annotations

from typing import Any

Scalars = list[Any]


def cross(a: Scalars, b: Scalars) -> Scalars:
    """Return a x b."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def add(a: Scalars, b: Scalars) -> Scalars:
    """Return a + b."""
    return [x + y for x, y in zip(a, b, strict=True)]


def subtract(a: Scalars, b: Scalars) -> Scalars:
    """Return a - b."""
    return [x - y for x, y in zip(a, b, strict=True)]


def rotate(R: list[Scalars], v: Scalars) -> Scalars:
    """Return R v."""
    return [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in R]


def rotate_back(R: list[Scalars], v: Scalars) -> Scalars:
    """Return R^T v."""
    return [R[0][i] * v[0] + R[1][i] * v[1] + R[2][i] * v[2] for i in range(3)]


def symmetric_times(S: Scalars, v: Scalars) -> Scalars:
    """Return S v for a symmetric S."""
    return [
        S[0] * v[0] + S[1] * v[1] + S[2] * v[2],
        S[1] * v[0] + S[3] * v[1] + S[4] * v[2],
        S[2] * v[0] + S[4] * v[1] + S[5] * v[2],
    ]


def rotate_back_symmetric(R: list[Scalars], S: Scalars) -> Scalars:
    """Return R^T S R for a symmetric S in 28 multiplications and 29 additions (Featherstone's decomposition).

    S = s33 1 + L + skew(u): L has only two columns, the identity and the skew part turn at almost no cost,
    and the last diagonal entry follows from the trace.
    """
    s11, s12, s13, s22, s23, s33 = S
    c1, c2, c3 = ([R[0][i], R[1][i], R[2][i]] for i in range(3))
    a, d, t13, t23 = s11 - s33, s22 - s33, s13 + s13, s23 + s23
    y1 = a * c1[0] + s12 * c1[1] + t13 * c1[2]
    z1 = s12 * c1[0] + d * c1[1] + t23 * c1[2]
    y2 = a * c2[0] + s12 * c2[1] + t13 * c2[2]
    z2 = s12 * c2[0] + d * c2[1] + t23 * c2[2]
    x11 = y1 * c1[0] + z1 * c1[1]
    x22 = y2 * c2[0] + z2 * c2[1]
    return [
        x11 + s33,
        y1 * c2[0] + z1 * c2[1] + (s23 * c3[0] - s13 * c3[1]),
        y1 * c3[0] + z1 * c3[1] + (s13 * c2[1] - s23 * c2[0]),
        x22 + s33,
        y2 * c3[0] + z2 * c3[1] + (s23 * c1[0] - s13 * c1[1]),
        (a + d) - x11 - x22 + s33,
    ]


def rotate_back_general(R: list[Scalars], H: Scalars) -> tuple[Scalars, Any, Any]:
    """Return R^T (H - h33 1) R without its last diagonal entry, the trace of H - h33 1, and h33.

    The caller adds h33 to the diagonal when it is done, because a multiple of the identity takes no part in a
    shift of the moment block, and finds the last diagonal entry from the trace, which a shift leaves alone.
    As for the symmetric case H - h33 1 = L + skew(u) with only two columns in L; the entries 31 and 32 differ
    from 13 and 23 by the turned axial vector of H.
    """
    h11, h12, h13, h21, h22, h23, h31, h32, h33 = H
    c1, c2, c3 = ([R[0][i], R[1][i], R[2][i]] for i in range(3))
    a, d, t31, t32, n3 = h11 - h33, h22 - h33, h31 + h13, h32 + h23, h21 - h12
    y1 = a * c1[0] + h21 * c1[1] + t31 * c1[2]
    z1 = h12 * c1[0] + d * c1[1] + t32 * c1[2]
    y2 = a * c2[0] + h21 * c2[1] + t31 * c2[2]
    z2 = h12 * c2[0] + d * c2[1] + t32 * c2[2]
    u1 = h13 * c1[1] - h23 * c1[0]
    u2 = h13 * c2[1] - h23 * c2[0]
    u3 = h13 * c3[1] - h23 * c3[0]
    w1 = h32 * c1[0] - h31 * c1[1] + n3 * c1[2]
    w2 = h32 * c2[0] - h31 * c2[1] + n3 * c2[2]
    x13 = y1 * c3[0] + z1 * c3[1]
    x23 = y2 * c3[0] + z2 * c3[1]
    rotated = [
        y1 * c1[0] + z1 * c1[1],
        y1 * c2[0] + z1 * c2[1] - u3,
        x13 + u2,
        y2 * c1[0] + z2 * c1[1] + u3,
        y2 * c2[0] + z2 * c2[1],
        x23 - u1,
        x13 - w2,
        x23 + w1,
    ]
    return rotated, a + d, h33
