"""How flexible bodies are seen: points that move with the modes, and a skin between them.

A *station* is a point of a flexible body with axes of its own. It rests at s in the axes of the body and is then at
x = s + S eta + eta^T B eta / 2, turned by psi = R eta as Cayley has it, exactly as joints and frames at that point are.
Stations carry whatever sits on a flexible body, as bodies carry parts; corners of a skin hang on the nearest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.bodies import FlexibleBody
from catena.bodies.contract import fourth_powers
from catena.errors import CatenaError, StateError
from catena.kinematics import stacks
from catena.mechanism import MODES, Mechanism
from catena.system import System
from catena.validation import is_positive, shown
from catena.view import theme
from catena.view.solids import Polygons, Triangles

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ALONG, CLOUD = 25, 400
"""Stations along a beam, and the most of a body that is a cloud of nodes."""
NEAR = 1e-9
"""Points of a body that are nearer to each other than this part of its length are one station."""


@dataclass(frozen=True, eq=False)
class Flexing:
    """The stations of one flexible body: places at rest `s` (m, 3), shapes `S` (m, 3, k) and `R` (m, 3, k), `B` (m, 3,
    k, k) or None where it is zero, and where the amplitudes of its modes are in q, or the amplitudes (k,) that they are
    locked at."""

    body: str
    kind: FlexibleBody
    at: slice | Floats
    s: Floats
    S: Floats
    R: Floats
    B: Floats | None
    F: Floats | None

    @property
    def stations(self) -> tuple[str, ...]:
        """The names of its stations."""
        return tuple(f"station {k} of {self.body}" for k in range(len(self.s)))

    @property
    def modes(self) -> int:
        """The number of its modes."""
        return self.S.shape[-1]

    def amplitudes(self, q: Floats) -> Floats:
        """Return the amplitudes (..., k) of its modes at q (..., nq)."""
        if isinstance(self.at, slice):
            return q[..., self.at]
        return np.broadcast_to(self.at, (*q.shape[:-1], self.modes))

    def poses(self, pose: Floats, eta: Floats) -> Floats:
        """Return the poses (..., m, 4, 4) of its stations in ground, for the pose (..., 4, 4) of the body."""
        x = self.s + np.einsum("mik,...k->...mi", self.S, eta)
        if self.B is not None:
            x = x + 0.5 * np.einsum("mikl,...k,...l->...mi", self.B, eta, eta)
        if self.F is not None:
            x = x + np.einsum("mip,...p->...mi", self.F, fourth_powers(eta, self.kind.products))
        local = np.zeros((*x.shape[:-1], 4, 4))
        local[..., :3, :3] = stacks.cayley(0.5 * np.einsum("mik,...k->...mi", self.R, eta))
        local[..., :3, 3], local[..., 3, 3] = x, 1.0
        return pose[..., None, :, :] @ local

    def nearest(self, p: Floats) -> tuple[str, Floats]:
        """Return the station next to a point p (3,) of the body at rest, and the point in its axes."""
        k = int(np.argmin(np.linalg.norm(self.s - p, axis=1)))
        return self.stations[k], p - self.s[k]


@dataclass(frozen=True, eq=False)
class Skin:
    """The surface of a flexible body: corners (n, 3) and normals (n, 3) in the axes of the stations `on` (n,), as
    numbers of `stations`, and faces (m, 4), counter-clockwise from outside; triangles repeat a corner."""

    name: str
    role: str
    colour: theme.Colour
    body: str
    stations: tuple[str, ...]
    on: Integers
    corners: Floats
    normals: Floats
    faces: Integers

    def surface(self, poses: Mapping[str, Floats]) -> Triangles:
        """Return the surface in ground with the stations at these poses (4, 4)."""
        some = np.stack([poses[name] for name in self.stations])[self.on]
        corners = np.einsum("nij,nj->ni", some[:, :3, :3], self.corners) + some[:, :3, 3]
        normals = np.einsum("nij,nj->ni", some[:, :3, :3], self.normals)
        return Triangles(corners, self.triangles, normals)

    @property
    def triangles(self) -> Integers:
        """The faces as triangles (t, 3)."""
        first, second = self.faces[:, [0, 1, 2]], self.faces[:, [0, 2, 3]]
        return np.concatenate([first, second[self.faces[:, 2] != self.faces[:, 3]]])


def flexings(system: System) -> tuple[Flexing, ...]:
    """Return the stations of all flexible bodies: along their outlines, and where joints and frames are."""
    mechanism = system.mechanism
    found = []
    for name, body in mechanism.bodies.items():
        kind = body.flexible
        if kind is None:
            continue
        modes = f"{name}{MODES}"
        at = system.slice_q(modes) if modes in system.joints else np.asarray(body.locked_at, dtype=np.float64)
        places = _distinct([*attached(mechanism, name), *np.concatenate(_lines(kind))], NEAR * kind.reach())
        shapes = [kind.shapes(tuple(p)) for p in places]
        B, none = np.stack([each.B for each in shapes]), np.zeros((3, len(kind.products)))
        found.append(
            Flexing(
                name, kind, at, places, np.stack([x.S for x in shapes]), np.stack([x.R for x in shapes]),
                B if np.any(B) else None, np.stack([x.F if x.F is not None else none for x in shapes])
                if len(kind.products) else None,
            )
        )  # fmt: skip
    return tuple(found)


def attached(mechanism: Mechanism, body: str) -> list[Floats]:
    """Return the points (3,) of a body at rest at which joints and frames sit."""
    points = [joint.in_parent.p for joint in mechanism.joints.values() if joint.parent == body]
    points += [joint.in_child.p for joint in mechanism.joints.values() if joint.child == body]
    points += [frame.pose.p for frame in mechanism.frames.values() if frame.body == body]
    return [np.asarray(p, dtype=np.float64) for p in points]


def exaggerated(system: System, q: Floats, factor: float) -> Floats:
    """Configurations q (..., nq) in which all modes have `factor` times their amplitudes; loops are closed again by the
    joints, where they close."""
    modes = [name for name in system.joints if name.endswith(MODES)]
    if factor == 1.0 or not modes:
        return q
    larger = np.array(q)
    for name in modes:
        larger[..., system.slice_q(name)] *= factor
    if not system.mechanics.constrained:
        return larger
    try:
        return np.asarray(system.project(larger, held=modes))
    except CatenaError:
        return larger


def body_skin(flexing: Flexing, colour: theme.Colour, r: float) -> Skin:
    """Return the skin of a body that nobody gave a shape: a bar along its axis with sections as wide as they are, a
    plate or a block around its nodes. What is thinner than a bar of radius r is drawn as thick as that."""
    corners, normals, faces, on = [], [], [], []
    count = 0
    for line in _lines(flexing.kind):
        numbers = np.array([int(np.argmin(np.linalg.norm(flexing.s - p, axis=1))) for p in line])
        made = _bar(flexing.kind, line, numbers, r) if _is_line(line) else _around(line, numbers, r)
        corners.append(made[0])
        normals.append(made[1])
        on.append(made[2])
        faces.append(made[3] + count)
        count += len(made[0])
    return Skin(
        flexing.body, "body", colour, flexing.body, flexing.stations, np.concatenate(on),
        np.concatenate(corners), np.concatenate(normals), np.concatenate(faces),
    )  # fmt: skip


def given_skin(flexing: Flexing, colour: theme.Colour, polygons: Polygons) -> Skin:
    """Return the skin of a body whose shape is given by polygons (k, 3) in its axes: each corner goes with the station
    next to it."""
    corners: list[Floats] = []
    on, normals, faces = [], [], []
    for polygon in polygons:
        normal = np.cross(polygon[1] - polygon[0], polygon[2] - polygon[0])
        normal = normal / max(float(np.linalg.norm(normal)), 1e-300)
        for k in range(1, len(polygon) - 1):
            faces.append([len(corners), len(corners) + k, len(corners) + k + 1, len(corners) + k + 1])
        for p in polygon:
            nearest = int(np.argmin(np.linalg.norm(flexing.s - p, axis=1)))
            corners.append(p - flexing.s[nearest])
            on.append(nearest)
            normals.append(normal)
    return Skin(
        flexing.body, "body", colour, flexing.body, flexing.stations, np.array(on), np.array(corners),
        np.array(normals), np.array(faces, dtype=np.int64),
    )  # fmt: skip


def _lines(kind: FlexibleBody) -> list[Floats]:
    """Return the lines of points (n, 3) by which a body is drawn, as fine as is of use."""
    lines = kind.outline(ALONG)
    return lines if all(_is_line(line) for line in lines) else kind.outline(CLOUD)


def _is_line(points: Floats) -> bool:
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(len(spread) < 2 or spread[1] <= 1e-9 * spread[0])


def _bar(
    kind: FlexibleBody, line: Floats, numbers: Integers, r: float
) -> tuple[Floats, Floats, Integers, Integers]:
    """Return a closed bar along points (n, 3) on a line: corners, normals, stations and faces."""
    x = line[-1] - line[0]
    x = x / np.linalg.norm(x)
    y, z = (np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])) if abs(x[0]) > 0.9 else _across(x)
    rings = []
    for p in line:
        wide = kind.breadths(tuple(p)) or (0.0, 0.0)
        ring = _section(max(wide[0], 1.5 * r), max(wide[1], 1.5 * r))
        rings.append((ring[0] @ np.stack([y, z]), ring[1] @ np.stack([y, z])))
    around = len(rings[0][0])
    corners = np.concatenate([ring for ring, _ in rings])
    normals = np.concatenate([normal for _, normal in rings])
    on = np.repeat(numbers, around)
    k = np.arange(around)
    n = (k + 1) % around
    sides = [
        np.stack([i * around + k, i * around + n, (i + 1) * around + n, (i + 1) * around + k], axis=1)
        for i in range(len(line) - 1)
    ]
    first, last = len(corners), len(corners) + around
    caps = [np.stack([np.full(around - 2, start), b, c, c], axis=1) for start, b, c in (
        (first, first + k[2:], first + k[1:-1]), (last, last + k[1:-1], last + k[2:])
    )]  # fmt: skip
    corners = np.concatenate([corners, rings[0][0], rings[-1][0]])
    normals = np.concatenate([normals, np.tile(-x, (around, 1)), np.tile(x, (around, 1))])
    on = np.concatenate([on, np.repeat(numbers[[0, -1]], around)])
    return corners, normals, on, np.concatenate([*sides, *caps])


def _section(wide: float, high: float) -> tuple[Floats, Floats]:
    """Return the rim (n, 2) of a section and its normals: round where both breadths are alike, else a rectangle."""
    if 0.8 < wide / high < 1.25:
        angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
        rim = np.column_stack([np.cos(angle), np.sin(angle)])
        return 0.58 * rim * (wide, high), rim
    signs = np.array(
        [[1, -1], [1, 1], [1, 1], [-1, 1], [-1, 1], [-1, -1], [-1, -1], [1, -1]], dtype=np.float64
    )
    sides = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [-1, 0], [-1, 0], [0, -1], [0, -1]], dtype=np.float64)
    return 0.5 * signs * (wide, high), sides


def _across(x: Floats) -> tuple[Floats, Floats]:
    y = np.cross(np.eye(3)[int(np.argmin(np.abs(x)))], x)
    y = y / np.linalg.norm(y)
    return y, np.cross(x, y)


def _around(points: Floats, numbers: Integers, r: float) -> tuple[Floats, Floats, Integers, Integers]:
    """Return the surface around nodes (n, 3) of a plate or a block: corners, normals, stations and faces."""
    from scipy.spatial import Delaunay

    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle, full_matrices=False)
    spacing = _spacing(points)
    if sizes[2] <= 1e-6 * sizes[0]:
        flat = Delaunay((points - middle) @ axes[:2].T)
        cells = flat.simplices[_longest(points, flat.simplices) < 2.6 * spacing]
        up = np.cross(axes[0], axes[1])
        count, half = len(points), 0.35 * r
        corners = np.tile(np.zeros(3), (2 * count, 1))
        corners[:count], corners[count:] = half * up, -half * up
        normals = np.concatenate([np.tile(up, (count, 1)), np.tile(-up, (count, 1))])
        ways = np.cross(points[cells[:, 1]] - points[cells[:, 0]], points[cells[:, 2]] - points[cells[:, 0]])
        cells = np.where((ways @ up > 0.0)[:, None], cells, cells[:, ::-1])
        triangles = np.concatenate([cells, cells[:, ::-1] + count])
        return corners, normals, np.tile(numbers, 2), _as_quads(triangles)
    solid = Delaunay(points)
    cells = solid.simplices[_longest(points, solid.simplices) < 2.6 * spacing]
    triangles = _boundary(points, cells)
    normals = np.zeros_like(points)
    ways = np.cross(
        points[triangles[:, 1]] - points[triangles[:, 0]], points[triangles[:, 2]] - points[triangles[:, 0]]
    )
    for k in range(3):
        np.add.at(normals, triangles[:, k], ways)
    normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return np.zeros_like(points), normals, numbers, _as_quads(triangles)


def _boundary(points: Floats, cells: Integers) -> Integers:
    """Return the triangles (m, 3) that belong to one tetrahedron (n, 4) only, seen from outside."""
    faces, opposite = [], []
    for k in range(4):
        faces.append(np.delete(cells, k, axis=1))
        opposite.append(cells[:, k])
    triangles, inner = np.concatenate(faces), np.concatenate(opposite)
    _, index, count = np.unique(np.sort(triangles, axis=1), axis=0, return_index=True, return_counts=True)
    kept = index[count == 1]
    triangles, inner = triangles[kept], inner[kept]
    a, b, c = (points[triangles[:, k]] for k in range(3))
    outwards = np.einsum("ni,ni->n", np.cross(b - a, c - a), a - points[inner]) > 0.0
    return np.where(outwards[:, None], triangles, triangles[:, ::-1])


def _spacing(points: Floats) -> float:
    """Return how far nodes are from their neighbours, at most of them."""
    from scipy.spatial import cKDTree

    found, _ = cKDTree(points).query(points, k=2)
    return float(np.quantile(found[:, 1], 0.95))


def _longest(points: Floats, cells: Integers) -> Floats:
    """Return the longest edge (n,) of each cell."""
    edges = [
        np.linalg.norm(points[cells[:, i]] - points[cells[:, j]], axis=1)
        for i in range(cells.shape[1])
        for j in range(i)
    ]
    return np.max(edges, axis=0)


def _as_quads(triangles: Integers) -> Integers:
    return np.column_stack([triangles, triangles[:, 2]])


def _distinct(points: Sequence[Floats], closest: float) -> Floats:
    """Return the points (n, 3) without those nearer than `closest` to an earlier one."""
    from scipy.spatial import cKDTree

    some = np.array(points)
    doubled = {j for i, j in cKDTree(some).query_pairs(closest) if j > i}
    return some[[k for k in range(len(some)) if k not in doubled]]


def deflections(all_of: Iterable[Flexing], q: Floats) -> float:
    """Return the largest deflection at q (..., nq) in lengths of the bodies."""
    found = [np.max(each.kind.deflection(each.amplitudes(q)), initial=0.0) for each in all_of]
    return float(max(found, default=0.0))


def checked_factor(exaggerate: object) -> float:
    """Return how many times as far as they do flexible bodies are to deform, as a number."""
    if not is_positive(exaggerate) or float(exaggerate) > 1e9:  # type: ignore[arg-type]
        raise StateError(f"exaggerate is {shown(exaggerate)}; give a positive number, 1 for what is.")
    return float(exaggerate)  # type: ignore[arg-type]
