"""A frame of beams, assembled from elements and reduced by Craig and Bampton.

The shapes are what the frame does when an interface that is not the first moves by itself (six for each), and the
lowest modes with all interfaces held. Stiffening comes by the displacement of second order, as in a beam: a member that
bends becomes shorter, by the initial strain (v'^2 + w'^2) / 2, and the frame gives way to that as it does to loads. So
its axial forces do no work along it but those that weight, motion and joints cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.bodies.beam_element import GAUSS, BeamElement, Section
from catena.bodies.contract import (
    Floats,
    Particles,
    Points,
    Shapes,
    check_second_moments,
    count_of_modes,
    one_ratio,
    positive,
)
from catena.bodies.points import few_points
from catena.bodies.reduction import ReducedBody, reduced
from catena.errors import ModelError
from catena.thresholds import PLACE_TOLERANCE
from catena.validation import entries, real_array, shown

STEEL = 0.3
"""Poisson's ratio that the torsional stiffness is taken with where none is given."""


@dataclass(frozen=True)
class Member:
    """A straight beam of a frame, from the node `a` to the node `b`.

    `area` [m^2], `inertia` [m^4] (one second moment of area, or those about the member's y and z), `density` [kg/m^3]
    and `young` [N/m^2] are those of its section. With `shear`, the shear stiffness k G A [N] for both planes or for y
    and z, it is Timoshenko's beam. `torsion` is the torsional stiffness G J [N m^2], by default that of a round section
    of Poisson's ratio 0.3. The member's x is along it and its z lies in the plane of x and `up` (3,), by default the z
    of the body frame, or y for members along z. `elements` is how many elements it is made of.
    """

    a: str
    b: str
    area: float
    inertia: float | Sequence[float]
    density: float
    young: float
    shear: float | Sequence[float] | None = None
    torsion: float | None = None
    up: Sequence[float] | None = None
    elements: int = 8

    @property
    def name(self) -> str:
        """Return the names of its two nodes, which tell it in messages and to `resultants`."""
        return f"{self.a}-{self.b}"


@dataclass(frozen=True, eq=False)
class _Placed:
    """An element where it lies: the member, the place (3,) of its first end, its axes (3, 3) in columns, the indices
    (12,) of its displacements, and where it begins along the member [m]."""

    member: Member
    element: BeamElement
    origin: Floats
    axes: Floats
    index: Any
    begins: float

    @property
    def turn(self) -> Floats:
        """Return the matrix (12, 12) to the axes of the element."""
        found: Floats = np.asarray(np.kron(np.eye(4), self.axes.T), dtype=np.float64)
        return found


@dataclass(frozen=True, eq=False)
class BeamFrame(ReducedBody):
    """A flexible body of beams that are rigidly joined at nodes.

    `nodes` maps names to places (3,) [m] in the body frame, `members` are the beams between them, and `masses` maps
    nodes to masses [kg] that they carry besides. `interfaces` are the nodes where joints attach; the first one carries
    the floating frame. `modes` is how many modes with held interfaces there are besides the six shapes of each further
    interface, and `damping` is a damping ratio. Frames and joints may be placed anywhere along members, but only
    interfaces hold their loads to the last digit.
    """

    nodes: Mapping[str, Any]
    members: tuple[Member, ...]
    interfaces: tuple[str, ...]
    inner_modes: int
    damping_ratio: float
    masses: Mapping[str, float]

    def __init__(
        self, nodes: Mapping[str, ArrayLike], members: Sequence[Member], interfaces: Sequence[str], modes: int = 4,
        damping: float = 0.0, masses: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        places = _places(nodes)
        try:
            ends, members = list(entries(interfaces)), list(entries(members))
        except ValueError as error:
            raise ModelError(f"BeamFrame: interfaces or members are no lists: {error}.") from error
        for member in members:
            if not isinstance(member, Member) or not all(isinstance(n, str) for n in (member.a, member.b)):
                raise ModelError(
                    f"BeamFrame: {shown(member)} is no Member between two named nodes: give beams between the nodes."
                )
        if masses is not None and not isinstance(masses, Mapping):
            raise ModelError(f"BeamFrame: masses is {shown(masses)}; give a mapping from nodes to masses.")
        unknown = [shown(n) for n in ends if not isinstance(n, str)]
        unknown += [n for n in (*ends, *(masses or {})) if n not in places] if not unknown else []
        unknown += [n for m in members for n in (m.a, m.b) if n not in places]
        if unknown:
            raise ModelError(f"BeamFrame: there is no node {unknown[0]!r}; nodes are {', '.join(places)}.")
        if not ends or len(set(ends)) != len(ends):
            raise ModelError(
                f"BeamFrame: interfaces are {ends}: name the nodes where joints attach, each once, and at least one."
            )
        if not members:
            raise ModelError("BeamFrame: it has no members: give the beams between the nodes.")
        ratio, modes = one_ratio("BeamFrame", damping), count_of_modes("BeamFrame", modes)
        if modes == 0 and len(ends) == 1:
            raise ModelError(
                "BeamFrame: no modes are too few for an interface that nothing else is held by: the frame would be "
                "rigid. Give at least one mode, or another interface."
            )
        carried = {
            n: positive("BeamFrame", f"masses[{n!r}]", m, "a mass in kg") for n, m in (masses or {}).items()
        }
        values = {
            "nodes": places, "members": tuple(members), "interfaces": tuple(ends), "inner_modes": modes,
            "damping_ratio": ratio, "masses": carried,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.elements  # noqa: B018  (members are checked when a frame is described)

    @cached_property
    def elements(self) -> list[_Placed]:
        """Return the elements of all members; named nodes have the first indices."""
        numbers = {name: k for k, name in enumerate(self.nodes)}
        count, found = len(numbers), []
        for member in self.members:
            section, axes, length = _checked(member, self.nodes)
            inner = [numbers[member.a], *range(count, count + member.elements - 1), numbers[member.b]]
            count += member.elements - 1
            h = length / member.elements
            for e, (i, j) in enumerate(zip(inner[:-1], inner[1:], strict=True)):
                index = np.concatenate([np.arange(6 * i, 6 * i + 6), np.arange(6 * j, 6 * j + 6)])
                origin = self.nodes[member.a] + e * h * axes[:, 0]
                found.append(_Placed(member, BeamElement(h, section), origin, axes, index, e * h))
        return found

    @property
    def _size(self) -> int:
        return 6 * (len(self.nodes) + sum(m.elements - 1 for m in self.members))

    @cached_property
    def matrices(self) -> tuple[Any, Any]:
        """Return mass and stiffness matrix (6 n, 6 n) of all nodes, those with names first, as sparse matrices."""
        from scipy.sparse import coo_array

        size = self._size
        rows, columns, masses, stiffnesses = [], [], [], []
        for placed in self.elements:
            turn = placed.turn
            m, _, _, S = placed.element.particles()
            rows.append(np.repeat(placed.index, 12))
            columns.append(np.tile(placed.index, 12))
            masses.append((turn.T @ np.einsum("n,nia,nib->ab", m, S, S) @ turn).ravel())
            stiffnesses.append((turn.T @ placed.element.stiffness() @ turn).ravel())
        at = (np.concatenate(rows), np.concatenate(columns))
        M = coo_array((np.concatenate(masses), at), (size, size)).tolil()
        for node, mass in self.masses.items():
            first = 6 * list(self.nodes).index(node)
            for c in range(first, first + 3):
                M[c, c] += mass
        return M.tocsr(), coo_array((np.concatenate(stiffnesses), at), (size, size)).tocsr()

    @cached_property
    def _reduced(self) -> tuple[Floats, Floats, Floats]:
        """Return the shapes (6 n, k), frequencies (k,) and modal masses (k,)."""
        M, K = self.matrices
        held = self._held(self.interfaces)
        imposed = np.zeros((self._size, 6 * (len(self.interfaces) - 1)))
        for column, row in enumerate(held[6:]):
            imposed[row, column] = 1.0
        return reduced("BeamFrame", M, K, held, imposed, self.inner_modes, 6, self.reach())

    def _held(self, nodes: Sequence[str]) -> Any:
        numbers = {name: k for k, name in enumerate(self.nodes)}
        return np.concatenate([np.arange(6 * numbers[n], 6 * numbers[n] + 6) for n in nodes])

    @cached_property
    def _second(self) -> Floats:
        """Return the displacements (6 n, k, k) of second order of all nodes: how the frame gives way to members that
        become shorter as they bend."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        _, K = self.matrices
        k = self.modes
        pairs = np.triu_indices(k)
        load = np.zeros((self._size, len(pairs[0])))
        for placed in self.elements:
            pull = placed.element.section.young * placed.element.section.area * self._shortening(placed)[0]
            along = np.kron(np.array([1.0, 0.0, -1.0, 0.0]), placed.axes[:, 0])
            load[placed.index] += np.outer(along, pull[pairs])
        free = np.setdiff1d(np.arange(self._size), self._held(self.interfaces[:1]))
        found = np.zeros((self._size, k, k))
        moved = splu(csc_array(K[np.ix_(free, free)])).solve(load[free])
        for number, (a, b) in enumerate(zip(*pairs, strict=True)):
            found[free, a, b] = found[free, b, a] = 2.0 * moved[:, number]
        return found

    def _slopes(self, placed: _Placed, xi: Floats) -> Floats:
        """Return v' and w' (n, 2, k) along an element."""
        S, _ = placed.element.fields(xi, 1)
        found: Floats = S[:, 1:] @ placed.turn @ self._reduced[0][placed.index]
        return found

    def _shortening(self, placed: _Placed, xi: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the mean over an element of (v_a' v_b' + w_a' w_b') / 2 (k, k), and its integral (n, k, k) up to parts
        xi (n,) of the length."""
        x, w = (1.0 + GAUSS[0]) / 2.0, GAUSS[1] / 2.0

        def strain(at: Floats) -> Floats:
            slopes = self._slopes(placed, at)
            return 0.5 * np.einsum("nca,ncb->nab", slopes, slopes)

        mean = np.einsum("n,nab->ab", w, strain(x))
        ends = np.zeros(0) if xi is None else xi
        parts = [e * placed.element.length * np.einsum("n,nab->ab", w, strain(e * x)) for e in ends]
        return mean, np.array(parts).reshape(len(ends), *mean.shape)

    def _fields(self, placed: _Placed, xi: Floats) -> tuple[Floats, Floats, Floats]:
        """Return S (n, 3, k), R (n, 3, k) and B (n, 3, k, k) on the axis of an element, in the body frame."""
        S, R = placed.element.fields(xi)
        shapes, second = self._reduced[0][placed.index], self._second[placed.index]
        moved, turned = (placed.axes @ x @ placed.turn for x in (S, R))
        B = np.einsum("nij,jab->niab", moved, second)
        mean, up_to = self._shortening(placed, xi)
        # Between nodes the axial force is constant, and extension and shortening add up to it.
        local = 2.0 * (xi[:, None, None] * placed.element.length * mean - up_to)
        return moved @ shapes, turned @ shapes, B + placed.axes[:, 0, None, None] * local[:, None]

    @property
    def modes(self) -> int:
        return 6 * (len(self.interfaces) - 1) + self.inner_modes

    def particles(self) -> Particles:
        """Return particles around the Gauss points of all elements, and those that nodes carry."""
        found = []
        for placed in self.elements:
            mass, xi, offset, moved = placed.element.particles()
            B = self._fields(placed, xi)[2]
            S = placed.axes @ moved @ placed.turn @ self._reduced[0][placed.index]
            s = placed.origin + (offset + xi[:, None] * [placed.element.length, 0.0, 0.0]) @ placed.axes.T
            found.append((mass, s, S, B))
        for node, m in self.masses.items():
            at = self._held([node])[:3]
            found.append(
                (np.array([m]), self.nodes[node][None], self._reduced[0][at][None], self._second[at][None])
            )
        return Particles(*(np.concatenate([f[i] for f in found]) for i in range(4)))

    def points(self) -> Points:
        return self._points

    @cached_property
    def _points(self) -> Points:
        return few_points(self.particles())

    def shapes(self, p: Sequence[float]) -> Shapes:
        place = np.asarray(p, dtype=np.float64)
        best, least, at = self.elements[0], np.inf, 0.0
        for placed in self.elements:
            along = float((place - placed.origin) @ placed.axes[:, 0]) / placed.element.length
            xi = min(max(along, 0.0), 1.0)
            axis = placed.origin + xi * placed.element.length * placed.axes[:, 0]
            distance = float(np.linalg.norm(place - axis))
            if distance < least:
                best, least, at = placed, distance, xi
        if least > PLACE_TOLERANCE * self.reach():
            names = ", ".join(f"{name!r} at {np.round(x, 6).tolist()}" for name, x in self.nodes.items())
            raise ModelError(
                f"BeamFrame: no member passes through {place.tolist()}: place joints and frames along members; nodes "
                f"are {names}."
            )
        S, R, B = self._fields(best, np.array([at]))
        return Shapes(S[0], R[0], B[0])

    def resultants(self, eta: ArrayLike, member: str, x: ArrayLike) -> dict[str, Floats]:
        """Return the stress resultants of a member, told as "a-b" by its nodes, at places x (n,) [m] along it for
        amplitudes eta (..., k): bending moments "My" and "Mz" [N m], shear forces "Qy" and "Qz", the axial force "N"
        [N] and the torque "T" [N m], each (..., n), in the axes of the member."""
        own = [placed for placed in self.elements if placed.member.name == member]
        if not own:
            known = ", ".join(m.name for m in self.members)
            raise ModelError(f"BeamFrame: there is no member {member!r}; members are {known}.")
        places, amplitudes = np.atleast_1d(np.asarray(x, dtype=np.float64)), np.asarray(eta, dtype=np.float64)
        names = ("N", "Qy", "Qz", "T", "My", "Mz")
        found = {name: np.zeros((*amplitudes.shape[:-1], len(places))) for name in names}
        h, s = own[0].element.length, own[0].element.section
        for n, place in enumerate(places):
            placed = own[min(max(int(place / h), 0), len(own) - 1)]
            xi = np.array([(place - placed.begins) / h])
            local = amplitudes @ (placed.turn @ self._reduced[0][placed.index]).T
            strained, bent = placed.element.fields(xi, 1)
            _, again = placed.element.fields(xi, 2)
            found["N"][..., n] = s.young * s.area * (local @ strained[0, 0])
            found["T"][..., n] = s.torsion * (local @ bent[0, 0])
            found["My"][..., n] = s.young * s.I_y * (local @ bent[0, 1])
            found["Mz"][..., n] = s.young * s.I_z * (local @ bent[0, 2])
            found["Qy"][..., n] = -s.young * s.I_z * (local @ again[0, 2])
            found["Qz"][..., n] = s.young * s.I_y * (local @ again[0, 1])
        return found

    def reach(self) -> float:
        return float(np.linalg.norm(np.ptp(np.array(list(self.nodes.values())), axis=0)))

    def outline(self, count: int = 33) -> list[Floats]:
        part = np.linspace(0.0, 1.0, max(2, count // max(1, len(self.members) // 2)))[:, None]
        return [self.nodes[m.a] + part * (self.nodes[m.b] - self.nodes[m.a]) for m in self.members]


def _places(nodes: Any) -> dict[str, Floats]:
    if not isinstance(nodes, Mapping) or not nodes:
        raise ModelError("BeamFrame: nodes must map names to places, such as {'foot': (0, 0, 0)}.")
    found = {}
    for name, place in nodes.items():
        try:
            found[str(name)] = real_array(place)
        except ValueError:
            found[str(name)] = np.zeros(0)
        if found[str(name)].shape != (3,) or not np.isfinite(found[str(name)]).all():
            raise ModelError(
                f"BeamFrame: node {shown(name)} is at {shown(place)}; give three finite coordinates in metres."
            )
    return found


def _checked(member: Member, nodes: Mapping[str, Floats]) -> tuple[Section, Floats, float]:
    """Return the section of a member, its axes (3, 3) and its length, or raise."""
    who = f"BeamFrame: member {member.name!r}"

    def pair(value: Any) -> tuple[Any, Any]:
        return (
            (value[0], value[1]) if isinstance(value, (tuple, list)) and len(value) == 2 else (value, value)
        )

    area = positive(who, "area", member.area, "the area of the section in m^2")
    I_y, I_z = (positive(who, "inertia", x, "the second moment of area in m^4") for x in pair(member.inertia))
    check_second_moments(who, area, I_y, I_z)
    density = positive(who, "density", member.density, "the density in kg/m^3")
    young = positive(who, "young", member.young, "Young's modulus in N/m^2")
    torsion = young / (2.0 + 2.0 * STEEL) * (I_y + I_z)
    if member.torsion is not None:
        torsion = positive(who, "torsion", member.torsion, "the torsional stiffness G J in N m^2")
    shear_y = shear_z = np.inf
    if member.shear is not None:
        shear_y, shear_z = (
            positive(who, "shear", x, "the shear stiffness k G A in N") for x in pair(member.shear)
        )
    count = member.elements
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= 200:
        raise ModelError(f"{who}: elements = {count!r}; give a whole number from 1 to 200.")
    along = nodes[member.b] - nodes[member.a]
    length = float(np.linalg.norm(along))
    if not length > 0.0:
        raise ModelError(f"{who} has no length: its nodes are at the same place.")
    x = along / length
    up = np.array([0.0, 1.0, 0.0] if abs(x[2]) > 0.99 else [0.0, 0.0, 1.0])
    if member.up is not None:
        try:
            up = real_array(member.up)
        except ValueError:
            up = np.zeros(0)
        is_direction = up.shape == (3,) and bool(np.isfinite(up).all())
        if not is_direction or not np.linalg.norm(np.cross(up, x)) > 1e-6 * np.linalg.norm(up):
            raise ModelError(
                f"{who}: up = {shown(member.up)} must be a direction that is not along the member."
            )
    y = np.cross(up, x)
    y /= np.linalg.norm(y)
    axes = np.stack([x, y, np.cross(x, y)], axis=1)
    return Section(area, I_y, I_z, density, young, torsion, shear_y, shear_z), axes, length
