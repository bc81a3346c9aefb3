"""Independent velocity components of a mechanism with loops and couplings, and how all others follow them.

With J = [J_G J_D] over independent (G) and dependent (D) components, J v = 0 gives v = E v_G, where E has the unit
matrix in the rows of G and -J_D^-1 J_G in those of D (Lampariello, Abiko and Hirzinger, eq. 4 and the matrix Pi of eq.
5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from catena.dynamics.loops.independent import component_names, independent_components
from catena.errors import StateError
from catena.kinematics.stacks import transposed
from catena.system import System
from catena.thresholds import RANK_MOVING

# A component follows others if loops hold at least this part of it, so that motors are independent before others.
HELD = 0.05
# Dependent components that others determine with a condition beyond this are not determined.
CONDITION = 1e8


@dataclass(frozen=True, eq=False)
class Independent:
    """Velocity components: the independent ones (d,) and those that follow from them (r,)."""

    components: np.ndarray
    dependent: np.ndarray


def choose_independent(
    system: System,
    q: np.ndarray,
    names: str | Iterable[str] | None = None,
    among: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> Independent:
    """Return independent components at a closed configuration q (nq,): those of the joints `names` ("hip[1]"
    is one component of a joint), or as many as possible of floating bases, then of actuated joints. `among` (nv,) tells
    which components count, all unless given."""
    counts = np.ones(system.nv, dtype=bool) if among is None else among
    J = system.closure_jacobian(q).reshape(-1, system.nv)[:, counts]
    if rows is not None:
        J = np.concatenate([J, rows[:, counts]])
    inertia = np.diagonal(system.mass_matrix(q))[counts]
    # Components count in units of their own inertia, so that metres and radians compare.
    A = J / np.sqrt(np.maximum(inertia, 1e-12 * max(1e-300, inertia.max(initial=0.0))))
    places = np.flatnonzero(counts)
    if names is None:
        dependent = places[_dependent(A, _ranks(system)[counts])]
    else:
        dependent = _others(system, A, places, names)
    return Independent(
        np.array([k for k in places if k not in set(dependent.tolist())], dtype=np.int64), dependent
    )


def follow_independent(J: np.ndarray, chosen: Independent, who: str) -> np.ndarray:
    """Return E (..., nv, d) of v = E v_G for rows J (..., m, nv), of which as many must be independent as components
    follow."""
    G, D = chosen.components, chosen.dependent
    E = np.zeros((*J.shape[:-2], J.shape[-1], len(G)))
    E[..., G, np.arange(len(G))] = 1.0
    if len(D):
        J_D = J[..., D]
        U, s, Vt = np.linalg.svd(J_D, full_matrices=False)
        if np.any(s[..., -1] * CONDITION <= s[..., 0]):
            worst = int(np.argmin(np.ravel(s[..., -1] / np.maximum(s[..., 0], 1e-300))))
            raise StateError(
                f"{who}: in state {worst} the independent joints do not tell how others move, because the mechanism "
                "is singular there; name other ones, independent=[...]."
            )
        E[..., D, :] = -transposed(Vt) @ ((transposed(U) @ J[..., G]) / s[..., None])
    return E


def _ranks(system: System) -> np.ndarray:
    """Return for each velocity component how soon it may depend on others: 0 first, floating bases last."""
    plan = system.plan
    ranks = np.where(plan.actuated, 1, 0)
    for i in plan.floating:
        ranks[plan.v_of(i)] = 2
    return ranks


def _dependent(A: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return as many columns of A (m, n) as its rank is, of low rank first if rows hold them well, by elimination."""
    rank = int(np.linalg.matrix_rank(A, tol=RANK_MOVING * np.linalg.norm(A))) if A.size else 0
    left, size = A.copy(), np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    chosen: list[int] = []
    for stage, least in ((0, HELD), (1, HELD), (2, HELD), (2, 0.0)):
        while len(chosen) < rank:
            part = np.where(ranks <= stage, np.linalg.norm(left, axis=0), 0.0)
            part[chosen] = 0.0
            k = int(np.argmax(part))
            if part[k] <= max(least, RANK_MOVING) * size[k]:
                break
            along = left[:, k] / np.linalg.norm(left[:, k])
            left = left - np.outer(along, along @ left)
            chosen.append(k)
    return np.array(sorted(chosen), dtype=np.int64)


def _others(system: System, A: np.ndarray, places: np.ndarray, names: str | Iterable[str]) -> np.ndarray:
    """Return the components that are not of the joints named, if these determine them."""
    chosen = independent_components(system.plan, names)
    dependent = np.array([k for k in places if k not in set(chosen.tolist())], dtype=np.int64)
    rank = int(np.linalg.matrix_rank(A, tol=RANK_MOVING * np.linalg.norm(A))) if A.size else 0
    held = A[:, np.searchsorted(places, dependent)]
    s = np.linalg.svd(held, compute_uv=False) if held.size else np.ones(1)
    if len(dependent) != rank or s.min() * CONDITION <= s.max():
        raise StateError(
            f"independent = {component_names(system.plan, chosen)} are {len(places) - len(dependent)} velocity "
            f"components of {system.mechanism.name!r}, which has {len(places) - rank} degrees of freedom with its "
            "loops closed; name joints that have as many together and determine all others."
        )
    return dependent
