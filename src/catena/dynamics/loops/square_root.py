"""A motion that is as near as it can be to the free one and satisfies constraints of any rank.

Both the oracle and the formulations that end in a smaller system of the same form use it: find y and mu with
y = free + A^T mu and A y = b, and mu as small as it can be.
"""

import numpy as np

from catena.errors import SingularDynamicsError
from catena.kinematics.stacks import apply, transposed

# A pivot of a Cholesky factorisation below the first part of its diagonal entry has lost all its digits, and one
# below the second part of the largest entry, both against what is typical, is rounding itself.
LOST_PIVOT, ROUNDING = 1e-13, 1e-15
REFINEMENTS = 2


def constrained(
    A: np.ndarray,
    free: np.ndarray,
    b: np.ndarray,
    tolerance: np.ndarray,
    size: np.ndarray | float = 1.0,
    rank: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y (..., n), mu (..., m) and the rank (...) of A (..., m, n), given free (..., n) and b (..., m).

    Singular values below `tolerance` (...) times the largest, or times `size` (...) if that is more, count as zero.
    A is in square-root form, so that its singular values carry all digits; `size` is that of a row that constrains
    something, so that rows which are zero but for rounding are not taken for constraints when there are no others.
    Where the `rank` (...) has been decided elsewhere, it is taken instead.
    """
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    if rank is None:
        kept = effective(sigma, tolerance, size)
    else:
        kept = (np.arange(sigma.shape[-1]) < rank[..., None]) & (sigma > 0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)
    y, mu = np.zeros_like(free), np.zeros_like(b)
    # The decomposition is exact for the largest rows only. Beside a singular configuration there are rows that are
    # small as a whole, and what is left of the equations, solved for once more, satisfies them too.
    for _ in range(1 + REFINEMENTS):
        missing = free - y + apply(transposed(A), mu)
        along = inverse * apply(transposed(U), b - apply(A, y)) - kept * apply(Vt, missing)
        y, mu = y + missing + apply(transposed(Vt), along), mu + apply(U, inverse * along)
    return y, mu, kept.sum(axis=-1)


def effective(sigma: np.ndarray, tolerance: np.ndarray, size: np.ndarray | float = 1.0) -> np.ndarray:
    """Return which singular values (..., k) count, as in `constrained`."""
    largest = np.maximum(np.max(sigma, axis=-1, initial=0.0), size)
    kept: np.ndarray = sigma > (tolerance * largest)[..., None]
    return kept


def solve_lower(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L^-1 b for vectors b (..., n)."""
    return divide_lower(L, b[..., None])[..., 0]


def solve_upper(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """L^-T b for vectors b (..., n)."""
    return divide_upper(L, b[..., None])[..., 0]


def divide_lower(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """L^-1 B for lower triangular L (..., n, n) and B (..., n, k).

    A general solver exchanges rows of L, which costs all digits where coordinates carry inertias of different size.
    With both orders reversed the matrix is upper triangular, where there is nothing to exchange and nothing but
    substitution is left, whose errors do not depend on the sizes of rows and columns.
    """
    return np.linalg.solve(L[..., ::-1, ::-1], B[..., ::-1, :])[..., ::-1, :]


def divide_upper(L: np.ndarray, B: np.ndarray) -> np.ndarray:
    """L^-T B for lower triangular L (..., n, n) and B (..., n, k), by substitution."""
    return np.linalg.solve(transposed(L), B)


def positive_definite(
    M: np.ndarray,
    force: np.ndarray,
    C: np.ndarray,
    known: np.ndarray,
    weight: np.ndarray,
    who: str,
    typical: np.ndarray | float = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(L, M, force) with M = L L^T for the motion M x = force + C^T mu under C x + known = 0.

    Where M alone is singular, because some motion moves no inertia, the constraints may still block that
    motion: M + C^T w C and force - C^T w known have the same solution, and M becomes definite exactly when it is
    determined. `weight` (..., m) has the units of inertia for each row of C (..., m, n), `typical` (..., n) is a
    typical inertia of each coordinate, to tell little from nothing in any units, and `who` is named in the error.
    """
    L = _factor(M, typical)
    if L is not None:
        return L, M, force
    weighted = transposed(C) * weight[..., None, :]
    M, force = M + weighted @ C, force - apply(weighted, known)
    L = _factor(M, typical)
    if L is None:
        raise SingularDynamicsError(
            f"{who!r} has a motion that its joints allow and that moves no inertia, so its acceleration is not "
            f"determined. Give the bodies that take part mass and inertia, or lock a joint."
        )
    return L, M, force


def _factor(M: np.ndarray, typical: np.ndarray | float) -> np.ndarray | None:
    """Return the Cholesky factor of all matrices, or None if one of them is not definite."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diagonal(L, axis1=-2, axis2=-1) ** 2
    diagonal = np.diagonal(M, axis1=-2, axis2=-1)
    largest = np.max(diagonal / typical, axis=-1, initial=0.0, keepdims=True)
    sound = (pivots > LOST_PIVOT * diagonal) & (pivots > ROUNDING * largest * typical)
    return L if sound.all() else None
