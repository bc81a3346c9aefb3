"""Few points in place of many particles, with the same inertia in all deformed states.

Inertia needs the mass integrals of all products of the functions 1, s and S: mass, first moment, inertia, their changes
with the modes, and what couples modes to the motion of the frame, the usual invariants. They are the entries of F F^T
for the matrix F whose columns are these functions at the particles times sqrt(mass). A matrix F Q with orthonormal rows
Q has the same products, so its columns are as good as particles if all belong to one mass: Q is made such that the
function 1 has equal entries. As many points are left as there are independent functions. The displacement B goes
through the same Q, so its products with 1, s and S are kept too. Those with itself, the inertia of shortening, are kept
by a point more for each function of them that counts and is not among the others. The displacement F of fourth order
needs its products with 1 and s only, so as few points have it as s has independent functions.
"""

from __future__ import annotations

import numpy as np

from catena.bodies.contract import Floats, Particles, Points

INDEPENDENT = 1e-10
"""Functions whose part of the largest singular value is below this are combinations of the others."""


SHORTENING = 0.02
"""Functions of the shortening that are a smaller part of it than this are left out of its own inertia."""


def few_points(some: Particles, amplitudes: Floats | None = None) -> Points:
    """Return as few points as have the invariants of the particles. `amplitudes` (k,) are those of modes of equal
    energy, by which it is told what counts in the inertia of shortening; without them that inertia is left out."""
    root = np.sqrt(some.mass)
    n, k = len(root), some.S.shape[2]
    length = max(float(np.abs(some.s).max()), 1e-300)
    functions = np.concatenate([np.ones((1, n)), some.s.T / length, some.S.reshape(n, 3 * k).T]) * root
    size = np.linalg.norm(functions, axis=1)
    scaled = functions / np.where(size > 0.0, size, 1.0)[:, None]
    _, values, rows = np.linalg.svd(scaled, full_matrices=False)
    Q = rows[values > INDEPENDENT * values[0]]
    if amplitudes is not None:
        B = _weighted(some.B, amplitudes) * root
        own = B - (B @ Q.T) @ Q
        least = SHORTENING * max(_largest(B), 1e-300)
        if _largest(own) > least:
            _, sizes, more = np.linalg.svd(own, full_matrices=False)
            Q = np.concatenate([Q, more[sizes > least]])
    count = len(Q)
    # sqrt(mass) lies in the span of the rows; a reflection spreads it evenly over the points.
    total = float(some.mass.sum())
    here, there = Q @ root, np.full(count, np.sqrt(total / count))
    axis = here - there
    if axis @ axis > 1e-28 * total:
        Q = Q - np.outer(axis, (axis @ Q) * (2.0 / (axis @ axis)))
    each = total / count
    spread = Q * root / np.sqrt(each)

    def taken(values: Floats) -> Floats:
        found: Floats = np.tensordot(spread, values, axes=1)
        return found

    s = taken(some.s)
    return Points(each, s, taken(some.S), taken(some.B), _concentrated(some, each, s))


def _largest(A: Floats) -> float:
    """Return the largest singular value of a matrix, found by iteration to some digits."""
    if not A.any():
        return 0.0
    x = A[np.argmax(np.linalg.norm(A, axis=1))]
    for _ in range(30):
        x = A.T @ (A @ (x / np.linalg.norm(x)))
    return float(np.sqrt(np.linalg.norm(x)))


def _weighted(B: Floats, amplitudes: Floats) -> Floats:
    """Return the functions (m, n) that the displacement B (n, 3, k, k) of n particles is made of, for modes of these
    amplitudes (k,). Each pair of modes is there once, with the weight of both of its orders; zeros are left out."""
    r, c = np.triu_indices(len(amplitudes))
    factor = amplitudes[r] * amplitudes[c] * np.where(r == c, 1.0, np.sqrt(2.0))
    found: Floats = (B[:, :, r, c] * factor).reshape(len(B), -1).T
    return found[found.any(axis=1)]


def _concentrated(some: Particles, each: float, s: Floats) -> Floats | None:
    """Return F (n, 3, products) of points of equal mass at s (n, 3), zero at most of them, whose mass integrals with 1
    and s are those of the particles."""
    if some.F is None or not np.any(some.F):
        return None
    from scipy.linalg import qr

    length = float(np.abs(s).max())
    there, here = (np.column_stack([np.ones(len(x)), x / length]) for x in (some.s, s))
    _, R, order = qr(here.T, mode="economic", pivoting=True)
    chosen = order[: int(np.sum(np.abs(np.diag(R)) > 1e-6 * np.abs(R[0, 0])))]
    sums = np.tensordot(there.T * some.mass, some.F, axes=1)
    found = np.zeros((len(s), *some.F.shape[1:]))
    found[chosen] = np.linalg.lstsq(each * here[chosen].T, sums.reshape(len(sums), -1), rcond=None)[
        0
    ].reshape(len(chosen), *some.F.shape[1:])
    return found


def points_of_products(products: Floats, modes: int) -> Points:
    """Return points whose mass integrals of the products of 1, s (3) and S (3 k, by directions) are these, (4 + 3 k, 4
    + 3 k), as finite elements have them; there is no displacement of second order."""
    size = np.sqrt(np.diag(products))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(products / np.outer(size, size))
    kept = values > 1e-13 * values[-1]
    columns = size[:, None] * vectors[:, kept] * np.sqrt(values[kept])
    count, total = columns.shape[1], float(products[0, 0])
    here, there = columns[0], np.full(count, np.sqrt(total / count))
    axis = here - there
    if axis @ axis > 1e-28 * total:
        columns = columns - np.outer(columns @ axis, axis) * (2.0 / (axis @ axis))
    each = total / count
    at = (columns / np.sqrt(each)).T
    return Points(each, at[:, 1:4], at[:, 4:].reshape(count, 3, modes), np.zeros((count, 3, modes, modes)))
