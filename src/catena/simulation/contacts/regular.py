"""Forces that make given motions of contacts: the only ones where contacts are regular, and the least ones where they
are redundant; and which contacts feel each other at all."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from catena.thresholds import RANK_TOUCHING

# Forces and roots of mobility beyond this part of the largest are there beyond doubt.
WELL = 1e-4
# Contacts that move each other by less than this part of what they move themselves are apart.
APART = 1e-13


def is_regular(W: np.ndarray) -> bool:
    """Return whether a mobility W (n, n) is so beyond doubt: no force does as little as one that does nothing."""
    from scipy.linalg.lapack import dpotrf

    if not len(W):
        return True
    lower, failed = dpotrf(W, 1)
    spread = lower.diagonal().tolist()
    return not failed and bool(min(spread) > WELL * max(spread))


def definite(W: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return x with W x = b for a mobility W (n, n) that is regular beyond doubt; None for another one."""
    from scipy.linalg.lapack import dposv

    if not len(b):
        return b
    root, x, failed = dposv(W, b)
    spread = root.diagonal().tolist()
    return None if failed or min(spread) <= WELL * max(spread) else np.asarray(x)


def least(W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the least forces x (n,) with W x = b, or nearly so, for a mobility W (n, n)."""
    x = definite(W, b)
    return np.linalg.lstsq(W, b, rcond=RANK_TOUCHING)[0] if x is None else x


def within_reach(W: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the part of motions u (contacts, 3) that forces can make, for a mobility W (contacts, 3, contacts, 3): all
    of them unless contacts are redundant."""
    flat = W.reshape(u.size, -1)
    if is_regular(flat):
        return u
    x = np.linalg.lstsq(flat, u.reshape(-1), rcond=RANK_TOUCHING)[0]
    return np.asarray(flat @ x).reshape(u.shape)


def straight(
    W: np.ndarray, P: np.ndarray | None, rows: Sequence[int] | np.ndarray | None, c: np.ndarray
) -> np.ndarray | None:
    """Return y with (W P y + c) = 0 in some rows (None: P is one, and all rows), where contacts are not redundant
    beyond doubt; None otherwise."""
    if P is None or rows is None:
        return definite(W, -c)
    own = W[rows]
    return _solution(own @ P, -c[rows]) if is_regular(own[:, rows]) else None


def _solution(M: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return x with M x = b; None where there is none, or more than one. (NumPy takes three times as long.)"""
    from scipy.linalg.lapack import dgesv

    if not len(b):
        return b
    _, _, x, failed = dgesv(M, b)
    return None if failed or not isfinite(float(x.sum())) else np.asarray(x)


def independent(W: np.ndarray) -> list[list[int]]:
    """Return the groups of contacts, by number, that do not move each other by their forces; at least one."""
    if not len(W):
        return [[]]
    feels = np.abs(W).max(axis=3).max(axis=1)
    size = np.sqrt(feels.diagonal())
    feels = feels > APART * size[:, None] * size
    if feels.all():
        return [list(range(len(W)))]
    groups: list[list[int]] = []
    left = list(range(len(W)))
    while left:
        group = [left.pop(0)]
        for k in group:
            near = [i for i in left if feels[k, i]]
            group += near
            left = [i for i in left if i not in near]
        groups.append(sorted(group))
    return groups


def nearly_solved(M: np.ndarray, b: np.ndarray, regular: bool) -> np.ndarray:
    """Return the least x with M x = b, or nearly so; `regular` says that there is no other one."""
    x = _solution(M, b) if regular else None
    return np.linalg.lstsq(M, b, rcond=RANK_TOUCHING)[0] if x is None else x
