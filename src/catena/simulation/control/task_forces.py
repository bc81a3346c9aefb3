"""Which forces make a mechanism accelerate as wanted, as a formula: what `forces` finds by decompositions, without
branches, for the compiled step.

In the units of `JointMobility`, y = a + M x with a = drift - M load, and rows J of what is asked for read A x = b with
A = (J / w) M, each divided by its size. Rotations of pairs of rows, or of columns where these are fewer (one-sided
Jacobi), are a singular value decomposition: a direction of length s has the part b s of x over s^2, or over the square
of the least length that is not damped. What is left free is the null space, in which M x comes near to what is left of
`rest`. In a tree whose joints are all driven M = h^-1, and

    min | h^-1 x2 - l |  with  V^T x2 = 0    has the solution    x2 = h (l - P mu),   P = h V

with mu that is best for P mu = l: all that it takes is l less what the columns of P span, by Gram and Schmidt's method.
Where only some joints of a tree have actuators, G, their columns of h^-1, is no square matrix. With G = Q U, U upper
triangular, U x2 = y is what the columns of U^-T V leave of Q^T l. With loops columns may depend on each other, and
another decomposition by rotations tells which do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.simulation.control.forces import NO_ROW, affine
from catena.simulation.control.mechanism_law import is_formula
from catena.simulation.control.mobility import JointMobility
from catena.simulation.control.straight_algebra import (
    TINY,
    Row,
    Singular,
    among,
    beyond,
    dot,
    largest,
    less_along,
)
from catena.spatial.scalars import array, less, reciprocal, sqrt, where
from catena.system import System
from catena.thresholds import RANK_ACTUATED

# It grows with the square of the velocity components and of the rows, or of the actuators if these are fewer; beyond so
# many it takes long to compile. Through loops Python takes longer, so that more motors are worth it.
MOST_COMPONENTS, MOST_ROWS, MOST_MOTORS_IN_LOOPS = 12, 6, 12
# In so many places besides the first, so far from it [rad or lengths], it is looked whether something is left free.
LOOKS, LOOK = 3, 0.05


def is_moderate(system: System, rows: int) -> bool:
    """Return whether forces for so many rows of a system are a formula of moderate length."""
    if not is_formula(system):
        return False
    acting = int(np.count_nonzero(system.plan.actuated))
    if system.plan.total_constraints:
        return 0 < acting <= MOST_MOTORS_IN_LOOPS
    return acting > 0 and system.nv <= MOST_COMPONENTS and min(acting, rows) <= MOST_ROWS


def leaves_nothing(system: System, rows: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Return whether rows (..., k, nv) at q (..., nq) determine all that the actuators of a mechanism with loops can
    do, wherever it is looked at, so that nothing is left free."""
    try:
        first = system.assemble()
        ways = np.random.default_rng(0).normal(size=(LOOKS, system.nv))
        ways = system.project(np.tile(first, (LOOKS, 1)), ways)[1]
        ways *= LOOK / np.maximum(np.abs(ways).max(axis=-1, keepdims=True), 1e-300)
        q = np.stack([first, *(system.mechanics.moved(first, way) for way in ways)])
    except CatenaError:
        return False
    weight, _, B, _ = affine(system, q, np.zeros(system.nv))
    T = rows(q) / weight[..., None, :]
    size = np.linalg.norm(T, axis=-1, keepdims=True)
    A = (
        np.where(size > NO_ROW * size.max(axis=-2, keepdims=True), T / np.where(size > 0.0, size, 1.0), 0.0)
        @ B
    )
    reach = np.maximum(np.linalg.norm(B, axis=(-1, -2)), 1.0)[..., None]
    rank, all_of_it = (
        np.count_nonzero(np.linalg.svd(x, compute_uv=False) > RANK_ACTUATED * reach, axis=-1) for x in (A, B)
    )
    return bool(np.all(rank == all_of_it))


def task_forces(
    mobility: JointMobility,
    J: Any,
    wanted: Sequence[Any],
    rest: Sequence[Any] | None,
    units: Sequence[float],
    singular: float,
    acting: Sequence[int],
    has_loops: bool = False,
) -> Any:
    """Return tau (nv,) for rows J (k, nv), their accelerations `wanted` (k,) without bias, and accelerations `rest`
    (nv,) that what is left free comes near to; None where nothing is. Rows that are rounding beside the longest, in
    `units` (k,), are none. Components that are not among those `acting` get nothing."""
    n, per, load = len(mobility.load), mobility.per, mobility.load
    T = [[a * b for a, b in zip(row, per, strict=True)] for row in J]
    per_size = _per_size(T, units)
    A, goals = [], []
    for row, scale, goal in zip(T, per_size, wanted, strict=True):
        line = [scale * x for x in row]
        moved = mobility.moved(line)
        A.append([moved[i] for i in acting])
        met = dot(moved, load)
        goals.append(scale * goal + (met - dot(line, mobility.drift) if has_loops else met))
    found = Singular(A, goals)
    whole = len(acting) == n and not has_loops
    B = [] if whole else [mobility.moved(among(n, [i], [1.0])) for i in acting]
    # How far actuators reach at all, by which directions that they reach are told from rounding.
    most = largest(found.squares)
    reach = most if whole else largest([1.0, sum((dot(g, g) for g in B), 0.0)])
    most, reach = largest([most, RANK_ACTUATED**2 * reach]), largest([most, reach])
    kept = [less(RANK_ACTUATED**2 * reach, square) for square in found.squares]
    x, left_out = found.smallest(kept, singular**2 * most)
    effort = among(n, acting, x)
    if rest is not None:
        free = mobility.moved([a - b for a, b in zip(load, effort, strict=True)])
        left = [a * b + c for a, b, c in zip(mobility.weights, rest, free, strict=True)]
        if has_loops:
            left = [a - b for a, b in zip(left, mobility.drift, strict=True)]
            more = among(n, acting, _nearest_of_any(B, left, left_out, reach))
        elif whole:
            left = beyond(left, [[dot(line, v) for line in mobility.h] for v in left_out])
            more = [dot(line, left) for line in mobility.h]
        else:
            more = among(n, acting, _nearest(B, left, left_out))
        effort = [a + b for a, b in zip(effort, more, strict=True)]
    return array([scale * a for scale, a in zip(mobility.weights, effort, strict=True)])


def _per_size(T: list[Row], units: Sequence[float]) -> Row:
    """Return one over the length of each row; zero for one that is rounding."""
    sizes = [sqrt(dot(row, row) + TINY) for row in T]
    longest = largest([size / unit for size, unit in zip(sizes, units, strict=True)])
    return [
        where(less(NO_ROW * longest, size / unit), reciprocal(size), 0.0)
        for size, unit in zip(sizes, units, strict=True)
    ]


def _nearest_of_any(columns: list[Row], left: Row, left_out: list[Row], reach: Any) -> Row:
    """Return the smallest x (m,) with which columns (m of n entries) come nearest to a vector (n,), orthogonal to
    vectors (m,) that are left out; what is rounding beside their `reach` does not count."""
    m, n = len(columns), len(left)
    for direction in left_out:
        along = [dot([column[i] for column in columns], direction) for i in range(n)]
        columns = [less_along(column, part, along) for column, part in zip(columns, direction, strict=True)]
    found = Singular([[column[i] for column in columns] for i in range(n)], left)
    kept = [less(RANK_ACTUATED**2 * reach, square) for square in found.squares]
    x, _ = found.smallest(kept, 0.0)
    for direction in left_out:
        x = less_along(x, dot(direction, x), direction)
    assert len(x) == m
    return x


def _nearest(columns: list[Row], left: Row, left_out: list[Row]) -> Row:
    """Return x (m,) with which independent columns (m of n entries) come nearest to a vector (n,), orthogonal to
    vectors (m,) that are left out."""
    m = len(columns)
    U = [[0.0] * m for _ in range(m)]
    Q: list[Row] = []
    for j, column in enumerate(columns):
        for i, other in enumerate(Q):
            U[i][j] = dot(other, column)
            column = less_along(column, U[i][j], other)
        U[j][j] = sqrt(dot(column, column))
        per = reciprocal(U[j][j])
        Q.append([per * a for a in column])

    def transposed_solve(r: Row) -> Row:
        y: Row = []
        for j in range(m):
            y.append((r[j] - sum((U[i][j] * y[i] for i in range(j)), 0.0)) / U[j][j])
        return y

    y = beyond([dot(column, left) for column in Q], [transposed_solve(v) for v in left_out])
    x: Row = [0.0] * m
    for j in reversed(range(m)):
        x[j] = (y[j] - dot(U[j][j + 1 :], x[j + 1 :])) / U[j][j]
    return x
