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


EQUAL = 1e-9
"""Modes are equally fast where their frequencies differ by a smaller part."""
TIED = 1e-6
"""Motions are equally large where they differ by a smaller part."""
SPARE = 3
"""Modes with held interfaces that are found besides those wanted, lest the first of equally fast ones be missed."""


def _settled(shapes: Floats, inverse: Floats, weights: Floats) -> Floats:
    """Return modes (n, k) of these inverse eigenvalues (k,), the largest first, with signs and combinations of equally
    fast ones that do not depend on rounding; `weights` (n,) say how much a motion counts."""
    found = shapes.copy()
    begins = np.flatnonzero(-np.diff(inverse, prepend=np.inf) > 2.0 * EQUAL * inverse + 1e-14 * inverse[:1])
    for first, last in zip(begins, [*begins[1:], len(inverse)], strict=True):
        rest = shapes[:, first:last] * weights[:, None]
        along = []
        for _ in range(first, last):
            size = np.linalg.norm(rest, axis=1)
            largest = int(np.argmax(size >= (1.0 - TIED) * size.max()))
            along.append(rest[largest] / size[largest])
            rest = rest - np.outer(rest @ along[-1], along[-1])
        found[:, first:last] = shapes[:, first:last] @ np.transpose(along)
    return found


def reduced(
    who: str, M: Any, K: Any, held: Any, imposed: Floats, count: int, freedoms: int, reach: float
) -> tuple[Floats, Floats, Floats]:
    """Return shapes (n, k), their frequencies (k,), the lowest first, and modal masses (k,).

    `M` and `K` are sparse (n, n), with so many freedoms for each node of which the first three are displacements and
    others rotations; `held` are the indices of all freedoms of interfaces, `imposed` (n, m) what these are when an
    interface that is not the first moves by itself, `count` is how many modes with held interfaces there are, and
    `reach` how long the body is. Of both together the modes of the reduced body are taken, so that its stiffness is
    diagonal.

    The largest displacement of a shape is 1 m or, where next to nothing but torsion moves, its largest rotation is
    1 rad. Rounding leaves the sign of a mode open, and of modes that are equally fast any combination is one. So each
    takes the sign that makes the first of its largest motions positive, and of equally fast ones the first is the one
    that moves somewhere most, the next does not move that place.
    """
    from scipy.linalg import eigh
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import eigsh, splu

    n = M.shape[0]
    weights = np.tile(np.where(np.arange(freedoms) < 3, 1.0, 0.02 * reach), n // freedoms)
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
        some = min(count + SPARE, len(inner))
        if some < len(inner) - 1 and len(inner) > 200:
            squares, vectors = eigsh(k, some, m, sigma=0.0, v0=np.ones(len(inner)))
            inverse = 1.0 / squares
        else:
            inverse, vectors = eigh(m.toarray(), k.toarray())
        order = np.argsort(-inverse)[:some]
        moved = np.zeros((n, count))
        moved[inner] = _settled(vectors[:, order], inverse[order], weights[inner])[:, :count]
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
    found = _settled(basis @ vectors[:, order] * frequencies, inverse[order], weights)
    moved = (found * weights[:, None]).reshape(-1, freedoms, len(frequencies))
    displaced, turned = (np.linalg.norm(some, axis=1).max(axis=0) for some in (moved[:, :3], moved[:, 3:]))
    scale = 1.0 / np.maximum(displaced, turned)
    return found * scale, frequencies, scale**2
