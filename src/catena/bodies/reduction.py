"""Craig and Bampton's reduction: shapes that interfaces impose, and the lowest modes with all interfaces held."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from catena.bodies.contract import FlexibleBody, Floats
from catena.errors import ModelError


class ReducedBody(FlexibleBody):
    """A flexible body whose modes are those of a reduction: `_reduced` are their shapes, frequencies (k,) and modal
    masses (k,), and `damping_ratio` is one for all of them."""

    damping_ratio: float

    @property
    @abstractmethod
    def _reduced(self) -> tuple[Floats, Floats, Floats]: ...

    @property
    def frequencies(self) -> Floats:
        return self._reduced[1]

    @property
    def stiffness(self) -> Floats:
        return self._reduced[2] * self._reduced[1] ** 2

    @property
    def damping(self) -> Floats:
        return 2.0 * self.damping_ratio * self._reduced[1] * self._reduced[2]


def largest_motion(moved: Floats, turned: Floats, reach: float) -> Floats:
    """Return how far modes (k,) move nodes most, by displacements `moved` (n, 3, k) or, where next to nothing but
    torsion moves, by rotations `turned` (n, 3 or 0, k): shapes over it have a largest displacement of 1 m or a largest
    rotation of 1 rad."""
    displaced = np.linalg.norm(moved, axis=1).max(axis=0)
    found: Floats = np.maximum(displaced, 0.02 * reach * np.linalg.norm(turned, axis=1).max(axis=0))
    return found


def reduced(who: str, M: Any, K: Any, held: Any, imposed: Floats, count: int) -> tuple[Floats, Floats]:
    """Return shapes (n, k) of modal mass 1 and their frequencies (k,), the lowest first.

    `M` and `K` are sparse (n, n), `held` are the indices of all displacements of interfaces, `imposed` (n, m) what
    these are when an interface that is not the first moves by itself, and `count` is how many modes with held
    interfaces there are. Of both together the modes of the reduced body are taken, so that its stiffness is diagonal.
    """
    from scipy.linalg import eigh
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import eigsh, splu

    n = M.shape[0]
    inner = np.setdiff1d(np.arange(n), held)
    shapes = [np.array(imposed, dtype=np.float64)]
    if len(inner):
        try:
            factor = splu(csc_array(K[np.ix_(inner, inner)]))
            pivots = np.abs(factor.U.diagonal())
        except RuntimeError:  # which is how SuperLU says that a matrix is singular
            pivots = np.zeros(1)
        if pivots.min() <= 1e-13 * pivots.max():
            raise ModelError(
                f"{who}: the stiffness with all interfaces held is singular: some nodes hang on nothing."
            )
        if imposed.shape[1]:
            shapes[0][inner] = -factor.solve((K[inner][:, held] @ imposed[held]).reshape(len(inner), -1))
    if count > len(inner):
        raise ModelError(
            f"{who}: {count} modes are asked for, but {len(inner)} displacements are free: give fewer modes."
        )
    if count:
        k, m = csc_array(K[np.ix_(inner, inner)]), csc_array(M[np.ix_(inner, inner)])
        if count < len(inner) - 1 and len(inner) > 200:
            # Always from the same vector, so that modes that are equally fast come out alike.
            _, vectors = eigsh(k, count, m, sigma=0.0, v0=np.ones(len(inner)))
        else:
            _, vectors = eigh(m.toarray(), k.toarray())
            vectors = vectors[:, ::-1][:, :count]
        moved = np.zeros((n, count))
        moved[inner] = vectors
        shapes.append(moved)
    basis = np.hstack(shapes)
    basis /= np.sqrt(np.sum(basis * (M @ basis), axis=0))
    k, m = basis.T @ (K @ basis), basis.T @ (M @ basis)
    try:
        inverse, vectors = eigh(0.5 * (m + m.T), 0.5 * (k + k.T))
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{who}: the stiffness is not positive where the body is held: check its rows, and that the first "
            f"interface holds the body."
        ) from None
    if inverse[0] <= 1e-15 * inverse[-1]:
        raise ModelError(
            f"{who}: the mass matrix is not positive on the reduced shapes: check its rows, and that the first "
            f"interface holds the body."
        )
    order = np.arange(len(inverse))[::-1]
    frequencies = 1.0 / np.sqrt(inverse[order])
    return basis @ vectors[:, order] * frequencies, frequencies
