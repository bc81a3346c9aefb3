"""Few points in place of many particles, with the same inertia in all deformed states.

Inertia needs the mass integrals of all products of the functions 1, s and S: mass, first moment, inertia, their changes
with the modes, and what couples modes to the motion of the frame, the usual invariants. They are the entries of F F^T
for the matrix F whose columns are these functions at the particles times sqrt(mass). A matrix F Q with orthonormal rows
Q has the same products, so its columns are as good as particles if all belong to one mass: Q is made such that the
function 1 has equal entries. As many points are left as there are independent functions. The displacement B goes
through the same Q, so its products with 1, s and S are kept too; that with itself, of fourth order, is not.
"""

from __future__ import annotations

import numpy as np

from catena.bodies.contract import Floats, Particles, Points

INDEPENDENT = 1e-10
"""Functions whose part of the largest singular value is below this are combinations of the others."""


def few_points(some: Particles) -> Points:
    """Return as few points as have the invariants of the particles."""
    root = np.sqrt(some.mass)
    n, k = len(root), some.S.shape[2]
    length = max(float(np.abs(some.s).max()), 1e-300)
    functions = np.concatenate([np.ones((1, n)), some.s.T / length, some.S.reshape(n, 3 * k).T]) * root
    size = np.linalg.norm(functions, axis=1)
    scaled = functions / np.where(size > 0.0, size, 1.0)[:, None]
    _, values, rows = np.linalg.svd(scaled, full_matrices=False)
    Q = rows[values > INDEPENDENT * values[0]]
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

    return Points(each, taken(some.s), taken(some.S), taken(some.B))


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
