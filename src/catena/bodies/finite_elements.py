"""A body from the mass and stiffness matrices of a finite-element program, reduced by Craig and Bampton.

Nodes have three displacements, as those of solids, or three rotations besides, as those of shells and beams.
Interfaces are sets of nodes that move as rigid frames. The first one carries the floating frame. The shapes are what
the body does when one of the others moves by itself (static, three or six for each), and the lowest modes with all
interfaces held. Of both together the modes of the reduced body are taken, so that stiffness is diagonal.

Stiffening is a displacement B of second order, as in beams. Finite-element programs give geometric stiffness matrices
K_G(f) for loads f instead. Both do the same where f . B_ab = -phi_a^T K_G(f) phi_b. The loads that bodies have are
unit forces at interfaces, which give B there, and the forces of inertia, which are mass times 1 or times a coordinate
along some direction. So of B elsewhere only the mass integrals with 1 and with the coordinates matter, and a B that is
linear in the coordinates has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from catena.bodies.contract import Floats, Points, Shapes, count_of_modes, one_ratio
from catena.bodies.points import points_of_products
from catena.bodies.reduction import ReducedBody, reduced
from catena.bodies.weighed_nodes import check_rigid, products_of_nodes, rigid_fields
from catena.errors import ModelError
from catena.spatial.vectors import skew
from catena.thresholds import PLACE_TOLERANCE
from catena.validation import entries, is_count, real_array, shown

SYMMETRIC = 1e-8


class SparseMatrix(Protocol):
    """A matrix as SciPy's sparse formats have it."""

    shape: tuple[int, ...]

    def toarray(self) -> np.ndarray:
        """Return all entries, zeros included."""
        ...


MatrixSource = ArrayLike | SparseMatrix | str | Path
"""A matrix, or the path of a file that has one."""


@dataclass(frozen=True, eq=False)
class FiniteElements(ReducedBody):
    """A flexible body from mass and stiffness matrices with three freedoms x, y, z for each node, or six: x, y, z and
    the small rotations rx, ry, rz about the axes of the body.

    `mass` [kg] and `stiffness_matrix` [N/m] are (3 n, 3 n) or (6 n, 6 n): arrays, SciPy's sparse matrices, or paths of
    Matrix Market files or of SciPy's .npz files; `nodes` (n, 3) [m] are the places of the nodes in the body frame.
    `interfaces` maps names to the numbers of the nodes that move as one rigid frame there, at the mean of their places,
    one node where it has rotations; the first one carries the floating frame. `modes` is how many modes with held
    interfaces there are besides the static shapes. `damping` is a damping ratio.

    `stiffening` maps loads to the geometric stiffness matrices [N/m], of the same size, that the stresses under them
    make, as finite-element programs find them by a static solution with the first interface held: "x" for a load of
    1 m/s^2 along x on all mass, "xy" for a load along x of the y coordinate times 1 / s^2, and "tip.x" for a force of
    1 N along x on the interface "tip". A body that spins about z with speed w has w^2 times "xx" and "yy". Loads that
    are not named stiffen nothing; without any, a slender body that turns fast is too soft.
    """

    mass: Any
    stiffness_matrix: Any
    nodes: Any
    interfaces: Mapping[str, Sequence[int]]
    inner_modes: int = 4
    damping_ratio: float = 0.0
    stiffening: Mapping[str, Any] | None = None

    def __init__(
        self, mass: MatrixSource, stiffness: MatrixSource, nodes: ArrayLike, interfaces: Mapping[str, Sequence[int]],
        modes: int = 4, damping: float = 0.0, stiffening: Mapping[str, MatrixSource] | None = None,
    ) -> None:  # fmt: skip
        try:
            places = real_array(nodes)
        except ValueError:
            places = np.zeros(0)
        if not places.size or places.ndim != 2 or places.shape[1] != 3 or not np.isfinite(places).all():
            raise ModelError(
                f"FiniteElements: nodes have shape {places.shape}; give finite places (n, 3), a row for each node."
            )
        M = _matrix("mass", mass, len(places))
        freedoms = M.shape[0] // len(places)
        K = _matrix("stiffness", stiffness, len(places), freedoms)
        check_rigid(K, places)
        if not isinstance(interfaces, Mapping) or not interfaces:
            raise ModelError(
                "FiniteElements: it has no interface, so nothing can hold it: name the nodes where joints attach."
            )
        chosen = {}
        for name, numbers in interfaces.items():
            try:
                listed = entries(numbers)
            except ValueError:
                listed = ()
            if not listed or not all(is_count(number) and number < len(places) for number in listed):
                raise ModelError(
                    f"FiniteElements: interface {shown(name)} has nodes {shown(numbers)}; give numbers from 0 to "
                    f"{len(places) - 1}."
                )
            some = np.unique(np.array(listed, dtype=np.int64))
            chosen[name] = tuple(some.tolist())
        held = [k for some in chosen.values() for k in some]
        if len(held) != len(set(held)):
            raise ModelError("FiniteElements: two interfaces share a node: give each node to one of them.")
        first = next(iter(chosen))
        around = places[list(chosen[first])] - places[list(chosen[first])].mean(axis=0)
        if freedoms == 3 and np.linalg.matrix_rank(around) < 2:
            raise ModelError(
                f"FiniteElements: the nodes of interface {first!r} lie on one line, so they cannot carry the floating "
                f"frame: give three or more that do not."
            )
        values = {
            "mass": M, "stiffness_matrix": K, "nodes": places, "interfaces": chosen,
            "inner_modes": count_of_modes("FiniteElements", modes),
            "damping_ratio": one_ratio("FiniteElements", damping),
            "stiffening": _stiffening({} if stiffening is None else stiffening, len(places), freedoms, chosen),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if modes == 0 and len(chosen) == 1:
            raise ModelError(
                f"FiniteElements: {modes} modes and {len(chosen)} interface let nothing deform: give more modes."
            )

    @property
    def freedoms(self) -> int:
        """Return how many freedoms a node has, 3 or 6."""
        return int(self.mass.shape[0]) // len(self.nodes)

    @cached_property
    def _reduced(self) -> tuple[Floats, Floats, Floats]:
        """Return the shapes (freedoms n, k), frequencies (k,) and modal masses (k,)."""
        n = self.freedoms
        held = np.array([n * k + c for some in self.interfaces.values() for k in some for c in range(n)])
        motions = [self.rigid_motions(some) for some in list(self.interfaces.values())[1:]]
        imposed = np.hstack([np.zeros((n * len(self.nodes), 0)), *motions])
        M, K, who = self.mass, self.stiffness_matrix, "FiniteElements"
        return reduced(who, M, K, held, imposed, self.inner_modes, n, self.reach())

    @cached_property
    def _moved(self) -> Floats:
        """Return displacements, and rotations where nodes have them, (n, freedoms, k) of all nodes with the modes."""
        return self._reduced[0].reshape(len(self.nodes), self.freedoms, -1)

    def rigid_motions(self, some: Sequence[int]) -> Floats:
        """Return displacements (freedoms n, 3 or 6) of the nodes of an interface that moves as a rigid frame."""
        centre = self.nodes[list(some)].mean(axis=0)
        if self.freedoms == 6:
            moved = rigid_fields(self.nodes - centre).reshape(len(self.nodes), 6, 6)
            moved[np.setdiff1d(np.arange(len(self.nodes)), some)] = 0.0
            return moved.reshape(-1, 6)
        found = np.zeros((3 * len(self.nodes), 3 if len(some) == 1 else 6))
        for k in some:
            found[3 * k : 3 * k + 3, :3] = np.eye(3)
            if len(some) > 1:
                found[3 * k : 3 * k + 3, 3:] = -skew(self.nodes[k] - centre)
        if len(some) > 1:
            # Nodes on one line do not turn about it.
            u, size, _ = np.linalg.svd(found, full_matrices=False)
            found = u[:, size > 1e-9 * size[0]]
        return found

    def points(self) -> Points:
        return self._points

    @cached_property
    def _points(self) -> Points:
        k = self.modes
        if self.freedoms == 6:
            products = products_of_nodes(self.mass, self.nodes, self._reduced[0])
        else:
            values = np.concatenate(
                [np.ones((len(self.nodes), 1)), self.nodes, self._moved.reshape(-1, 3 * k)], axis=1
            )
            scalar = sum(self.mass[c::3][:, c::3] for c in range(3)) / 3.0
            products = values.T @ (scalar @ values)
        points = points_of_products(0.5 * (products + products.T), k)
        if not self.stiffening:
            return points
        linear = np.concatenate([np.ones((len(points.s), 1)), points.s], axis=1)
        return replace(
            points, B=np.einsum("nf,ficd->nicd", linear, self._linear_shortening(linear, points.mass))
        )

    def _linear_shortening(self, linear: Floats, mass: float) -> Floats:
        """Return the coefficients (4, 3, k, k) of B by 1, x, y and z, with which its mass integrals with these
        functions are those of the geometric stiffness matrices; `linear` (n, 4) are the functions at points of
        `mass`."""
        k = self.modes
        integrals = np.zeros((4, 3, k, k))
        for number, function in enumerate(("", "x", "y", "z")):
            for i, c in enumerate("xyz"):
                integrals[number, i] = self._second(c + function)
        gram = mass * linear.T @ linear
        size = np.sqrt(np.diag(gram))
        size = np.where(size > 0.0, size, 1.0)
        inverse = np.linalg.pinv(gram / np.outer(size, size), rcond=1e-12, hermitian=True) / np.outer(
            size, size
        )
        return np.einsum("fg,gicd->ficd", inverse, integrals)

    def _second(self, load: str) -> Floats:
        """Return -phi^T K_G phi (k, k) for a load, zero for one that is not named."""
        assert self.stiffening is not None
        if load not in self.stiffening:
            return np.zeros((self.modes, self.modes))
        phi = self._reduced[0]
        found: Floats = -(phi.T @ (self.stiffening[load] @ phi))
        return 0.5 * (found + found.T)

    def shapes(self, p: Sequence[float]) -> Shapes:
        place, k = np.asarray(p, dtype=np.float64), self.modes
        S = self._moved[:, :3]
        none = np.zeros((3, k, k))
        for name, some in self.interfaces.items():
            centre = self.nodes[list(some)].mean(axis=0)
            if np.linalg.norm(centre - place) <= PLACE_TOLERANCE * self.reach():
                B = np.stack([self._second(f"{name}.{c}") for c in "xyz"]) if self.stiffening else none
                return Shapes(S[list(some)].mean(axis=0), self._rotation(list(some)), B)
        distance = np.linalg.norm(self.nodes - place, axis=1)
        nearest = int(np.argmin(distance))
        if distance[nearest] > PLACE_TOLERANCE * self.reach():
            names = ", ".join(
                f"{name!r} at {np.round(self.nodes[list(some)].mean(axis=0), 6).tolist()}"
                for name, some in self.interfaces.items()
            )
            raise ModelError(
                f"FiniteElements: there is no interface and no node at {place.tolist()}; interfaces are {names}."
            )
        around = [nearest] if self.freedoms == 6 else np.argsort(distance)[:9]
        return Shapes(S[nearest], self._rotation(around), none)

    def _rotation(self, some: Any) -> Floats:
        """Return the rotation (3, k) of some nodes: their own, or what fits their displacements best, zero about a line
        of nodes."""
        moved = self._moved[some]
        if self.freedoms == 6:
            mean: Floats = moved[:, 3:].mean(axis=0)
            return mean
        r = self.nodes[some] - self.nodes[some].mean(axis=0)
        u = moved - moved.mean(axis=0)
        A = np.concatenate([-skew(x) for x in r])
        found: Floats = np.linalg.pinv(A, rcond=1e-9) @ u.reshape(-1, moved.shape[2])
        return found

    def reach(self) -> float:
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    def outline(self, count: int = 33) -> list[Floats]:
        return [self.nodes[:: max(1, len(self.nodes) // count)]]


def _stiffening(matrices: Any, nodes: int, freedoms: int, interfaces: Mapping[str, Any]) -> dict[str, Any]:
    """Return the geometric stiffness matrices by loads, checked."""
    known = [c + s for c in "xyz" for s in ("", "x", "y", "z")]
    known += [f"{name}.{c}" for name in interfaces for c in "xyz"]
    found = {}
    if not isinstance(matrices, Mapping):
        raise ModelError(
            f"FiniteElements: stiffening is {shown(matrices)}; give a mapping from loads to matrices."
        )
    for load, matrix in matrices.items():
        if load not in known:
            raise ModelError(
                f"FiniteElements: stiffening under {load!r} is not known; loads are {', '.join(known)}."
            )
        found[load] = _matrix("geometric stiffness", matrix, nodes, freedoms)
    return found


def read_matrix(name: str, file: Path) -> Any:
    """Return the matrix in a Matrix Market file, or in a .npz file of SciPy's sparse matrices."""
    from scipy.io import mmread
    from scipy.sparse import load_npz

    try:
        return load_npz(file) if file.suffix.lower() == ".npz" else mmread(file)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise ModelError(
            f"FiniteElements: the {name} matrix cannot be read from {str(file)!r}: {error}."
        ) from error


def _matrix(name: str, source: Any, nodes: int, freedoms: int | None = None) -> Any:
    """Return a symmetric sparse matrix of numbers with so many freedoms for each node, 3 or 6 where that is None, read
    from a file where a path is given."""
    from scipy.sparse import csr_array, issparse

    if isinstance(source, (str, Path)):
        source = read_matrix(name, Path(source))
    try:
        if issparse(source) and source.dtype.kind not in "biuf":
            raise ValueError(f"its entries are of type {source.dtype}")
        matrix = csr_array(
            source if issparse(source) else np.atleast_2d(real_array(source)), dtype=np.float64
        )
    except ValueError as error:
        raise ModelError(f"FiniteElements: the {name} matrix is {shown(source)}: {error}.") from error
    sizes = [n * nodes for n in ((3, 6) if freedoms is None else (freedoms,))]
    if matrix.shape not in [(size, size) for size in sizes]:
        raise ModelError(
            f"FiniteElements: the {name} matrix has shape {matrix.shape}; {nodes} nodes have "
            + " or ".join(f"{size // nodes} freedoms each: ({size}, {size})" for size in sizes)
            + "."
        )
    if not np.isfinite(matrix.data).all():
        raise ModelError(f"FiniteElements: the {name} matrix has an entry that is not finite.")
    size = np.abs(matrix.data).max(initial=0.0)
    apart = np.abs((matrix - matrix.T).data).max(initial=0.0)
    if (not size > 0.0 and name != "geometric stiffness") or apart > SYMMETRIC * size:
        raise ModelError(
            f"FiniteElements: the {name} matrix is not symmetric (entries differ by {apart:.3g} of {size:.3g}): "
            f"export the whole matrix, both triangles."
        )
    if name == "geometric stiffness":
        return matrix
    displaced = matrix.diagonal().reshape(nodes, -1)[:, :3]
    if matrix.diagonal().min() < 0.0 or (name == "mass" and displaced.min() <= 0.0):
        raise ModelError(
            f"FiniteElements: the {name} matrix is not positive: entry {int(matrix.diagonal().argmin())} of its "
            f"diagonal is {matrix.diagonal().min():.3g}."
        )
    return matrix
