"""A body from the mass and stiffness matrices of a finite-element program, reduced by Craig and Bampton.

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
from typing import Any
from zipfile import BadZipFile

import numpy as np

from catena.bodies.contract import Floats, Points, Shapes, count_of_modes, one_ratio
from catena.bodies.points import points_of_products
from catena.bodies.reduction import ReducedBody, reduced
from catena.errors import ModelError
from catena.spatial.vectors import skew
from catena.validation import entries, is_count, real_array, shown

SYMMETRIC = 1e-8
NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class FiniteElements(ReducedBody):
    """A flexible body from mass and stiffness matrices with three displacements x, y, z for each node.

    `mass` [kg] and `stiffness_matrix` [N/m] are (3 n, 3 n): arrays, SciPy's sparse matrices, or paths of Matrix Market
    files or of SciPy's .npz files; `nodes` (n, 3) [m] are the places of the nodes in the body frame. `interfaces` maps
    names to the numbers of the nodes that move as one rigid frame there, at the mean of their places; the first one
    carries the floating frame. `modes` is how many modes with held interfaces there are besides the static shapes.
    `damping` is a damping ratio.

    `stiffening` maps loads to the geometric stiffness matrices (3 n, 3 n) [N/m] that the stresses under them make, as
    finite-element programs find them by a static solution with the first interface held: "x" for a load of 1 m/s^2
    along x on all mass, "xy" for a load along x of the y coordinate times 1 / s^2, and "tip.x" for a force of 1 N along
    x on the interface "tip". A body that spins about z with speed w has w^2 times "xx" and "yy". Loads that are not
    named stiffen nothing; without any, a slender body that turns fast is too soft.
    """

    mass: Any
    stiffness_matrix: Any
    nodes: Any
    interfaces: Mapping[str, Sequence[int]]
    inner_modes: int = 4
    damping_ratio: float = 0.0
    stiffening: Mapping[str, Any] | None = None

    def __init__(
        self, mass: Any, stiffness: Any, nodes: Any, interfaces: Mapping[str, Sequence[int]], modes: int = 4,
        damping: float = 0.0, stiffening: Mapping[str, Any] | None = None,
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
        K = _matrix("stiffness", stiffness, len(places))
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
        if np.linalg.matrix_rank(places[list(chosen[first])] - places[list(chosen[first])].mean(axis=0)) < 2:
            raise ModelError(
                f"FiniteElements: the nodes of interface {first!r} lie on one line, so they cannot carry the floating "
                f"frame: give three or more that do not."
            )
        values = {
            "mass": M, "stiffness_matrix": K, "nodes": places, "interfaces": chosen,
            "inner_modes": count_of_modes("FiniteElements", modes),
            "damping_ratio": one_ratio("FiniteElements", damping),
            "stiffening": _stiffening({} if stiffening is None else stiffening, len(places), chosen),
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if modes == 0 and len(chosen) == 1:
            raise ModelError(
                f"FiniteElements: {modes} modes and {len(chosen)} interface let nothing deform: give more modes."
            )

    @cached_property
    def _reduced(self) -> tuple[Floats, Floats, Floats]:
        """Return the shapes (3 n, k) scaled to a largest displacement of 1, frequencies (k,) and modal masses (k,)."""
        held = np.array([3 * k + c for some in self.interfaces.values() for k in some for c in range(3)])
        motions = [self.rigid_motions(some) for some in list(self.interfaces.values())[1:]]
        imposed = np.hstack([np.zeros((3 * len(self.nodes), 0)), *motions])
        found, frequencies = reduced(
            "FiniteElements", self.mass, self.stiffness_matrix, held, imposed, self.inner_modes
        )
        scale = 1.0 / np.linalg.norm(found.reshape(-1, 3, len(frequencies)), axis=1).max(axis=0)
        return found * scale, frequencies, scale**2

    def rigid_motions(self, some: Sequence[int]) -> Floats:
        """Return displacements (3 n, 3 or 6) of the nodes of an interface that moves as a rigid frame."""
        centre = self.nodes[list(some)].mean(axis=0)
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
        n, k = len(self.nodes), self.modes
        S = self._reduced[0].reshape(n, 3, k)
        values = np.concatenate([np.ones((n, 1)), self.nodes, S.reshape(n, 3 * k)], axis=1)
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
        S = self._reduced[0].reshape(-1, 3, k)
        none = np.zeros((3, k, k))
        for name, some in self.interfaces.items():
            centre = self.nodes[list(some)].mean(axis=0)
            if np.linalg.norm(centre - place) <= NEAR * self.reach():
                B = np.stack([self._second(f"{name}.{c}") for c in "xyz"]) if self.stiffening else none
                return Shapes(S[list(some)].mean(axis=0), _rotation(self.nodes[list(some)], S[list(some)]), B)
        distance = np.linalg.norm(self.nodes - place, axis=1)
        nearest = int(np.argmin(distance))
        if distance[nearest] > NEAR * self.reach():
            names = ", ".join(
                f"{name!r} at {np.round(self.nodes[list(some)].mean(axis=0), 6).tolist()}"
                for name, some in self.interfaces.items()
            )
            raise ModelError(
                f"FiniteElements: there is no interface and no node at {place.tolist()}; interfaces are {names}."
            )
        around = np.argsort(distance)[:9]
        return Shapes(S[nearest], _rotation(self.nodes[around], S[around]), none)

    def reach(self) -> float:
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    def outline(self, count: int = 33) -> list[Floats]:
        return [self.nodes[:: max(1, len(self.nodes) // count)]]


def _rotation(places: Floats, S: Floats) -> Floats:
    """Return the rotation (3, k) that fits the displacements S (n, 3, k) of nodes best; zero about a line of nodes."""
    r = places - places.mean(axis=0)
    u = S - S.mean(axis=0)
    A = np.concatenate([-skew(x) for x in r])
    found: Floats = np.linalg.pinv(A, rcond=1e-9) @ u.reshape(-1, S.shape[2])
    return found


def _stiffening(given: Any, nodes: int, interfaces: Mapping[str, Any]) -> dict[str, Any]:
    """Return the geometric stiffness matrices by loads, checked."""
    known = [c + s for c in "xyz" for s in ("", "x", "y", "z")]
    known += [f"{name}.{c}" for name in interfaces for c in "xyz"]
    found = {}
    if not isinstance(given, Mapping):
        raise ModelError(
            f"FiniteElements: stiffening is {shown(given)}; give a mapping from loads to matrices."
        )
    for load, matrix in given.items():
        if load not in known:
            raise ModelError(
                f"FiniteElements: stiffening under {load!r} is not known; loads are {', '.join(known)}."
            )
        found[load] = _matrix("geometric stiffness", matrix, nodes)
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


def _matrix(name: str, given: Any, nodes: int) -> Any:
    """Return a symmetric sparse matrix (3 n, 3 n) of numbers, read from a Matrix Market file where a path is given."""
    from scipy.sparse import csr_array, issparse

    if isinstance(given, (str, Path)):
        given = read_matrix(name, Path(given))
    try:
        if issparse(given) and given.dtype.kind not in "biuf":
            raise ValueError(f"its entries are of type {given.dtype}")
        matrix = csr_array(given if issparse(given) else np.atleast_2d(real_array(given)), dtype=np.float64)
    except ValueError as error:
        raise ModelError(f"FiniteElements: the {name} matrix is {shown(given)}: {error}.") from error
    if matrix.shape != (3 * nodes, 3 * nodes):
        raise ModelError(
            f"FiniteElements: the {name} matrix has shape {matrix.shape}, but {nodes} nodes have three displacements "
            f"each: give ({3 * nodes}, {3 * nodes})."
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
    if matrix.diagonal().min() < 0.0 or (name == "mass" and matrix.diagonal().min() <= 0.0):
        raise ModelError(
            f"FiniteElements: the {name} matrix is not positive: entry {int(matrix.diagonal().argmin())} of its "
            f"diagonal is {matrix.diagonal().min():.3g}."
        )
    return matrix
