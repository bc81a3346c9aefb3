"""Simple solids with a place of their own, free of any drawing library: as polygons to paint, as triangles to render.

A solid is data: its form, the rotation R (3, 3) and the place p (3,) it stands at, and its sizes in metres. Moving one
changes R and p only, so what a mechanism looks like is found once and carried along by its bodies.

Polygons are kept small: painters sort them from far to near by their mean depth, which is right only for faces that
are small against the distances between things. Triangles are as few as the form allows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Polygons = list[Floats]

AROUND = 18


def _eye() -> Floats:
    return np.eye(3)


def _zero() -> Floats:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class Triangles:
    """A surface: corners (n, 3), outward normals (n, 3) there, and triangles (m, 3) as indices of corners.

    Without normals every triangle is flat.
    """

    corners: Floats
    faces: Integers
    normals: Floats | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Solid(ABC):
    """Something with a surface, at the place `p` in the axes `R` of whatever carries it."""

    R: Floats = field(default_factory=_eye)
    p: Floats = field(default_factory=_zero)

    def moved(self, pose: Floats) -> Self:
        """Return the same solid seen from outside a frame that has this pose (4, 4)."""
        return replace(self, R=pose[:3, :3] @ self.R, p=pose[:3, :3] @ self.p + pose[:3, 3])

    def polygons(self) -> Polygons:
        """Return the surface as polygons, each an array (k, 3) of corners that run counter-clockwise seen from
        outside."""
        return [polygon @ self.R.T + self.p for polygon in self.own_polygons()]

    def triangles(self) -> Triangles:
        """Return the surface as triangles."""
        own = self.own_triangles()
        normals = None if own.normals is None else own.normals @ self.R.T
        return Triangles(own.corners @ self.R.T + self.p, own.faces, normals)

    def box(self) -> Floats:
        """Return the corners (8, 3) of a box around the solid, along its own axes."""
        low, high = self.own_box()
        corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        return np.asarray(np.where(corners, high, low) @ self.R.T + self.p)

    def own_box(self) -> tuple[Floats, Floats]:
        """Return how far the solid reaches along its own axes, down (3,) and up (3,)."""
        points = np.concatenate(self.own_polygons())
        return points.min(axis=0), points.max(axis=0)

    @abstractmethod
    def own_polygons(self) -> Polygons:
        """Return the polygons in the solid's own axes."""

    def own_triangles(self) -> Triangles:
        """Return the triangles in the solid's own axes; by default those of its polygons, each flat."""
        return _fans(self.own_polygons())


@dataclass(frozen=True, eq=False, kw_only=True)
class BarSolid(Solid):
    """A bar with round ends from p along the third axis, its radius changing evenly along the way.

    `is_hidden` tells of both ends whether a joint hides them, so that they need not be rendered.
    """

    length: float
    radius: float
    end_radius: float
    is_hidden: tuple[bool, bool] = (False, False)

    def own_box(self) -> tuple[Floats, Floats]:
        a, b = self.radius, self.end_radius
        wide = max(a, b)
        return np.array([-wide, -wide, -a]), np.array([wide, wide, self.length + b])

    def own_polygons(self) -> Polygons:
        quarter = np.linspace(0.0, np.pi / 2.0, 5)
        steps = int(np.clip(self.length / max(self.radius, self.end_radius), 2, 16))
        along = np.linspace(0.0, 1.0, steps + 1)
        heights = [*(-self.radius * np.cos(quarter[:-1])), *(self.length * along)]
        radii = [
            *(self.radius * np.sin(quarter[:-1])),
            *(self.radius + (self.end_radius - self.radius) * along),
        ]
        heights += [*(self.length + self.end_radius * np.sin(quarter[1:]))]
        radii += [*(self.end_radius * np.cos(quarter[1:]))]
        return _rings(heights, radii)


@dataclass(frozen=True, eq=False, kw_only=True)
class CylinderSolid(Solid):
    """A closed cylinder about the third axis with its middle at p and slightly bevelled edges."""

    radius: float
    length: float

    def own_box(self) -> tuple[Floats, Floats]:
        half = np.array([self.radius, self.radius, 0.5 * self.length])
        return -half, half

    def own_polygons(self) -> Polygons:
        bevel = 0.12 * min(self.radius, self.length)
        half = 0.5 * self.length
        heights = [-half, -half, -half + bevel, 0.0, half - bevel, half, half]
        inner = self.radius - bevel
        return _rings(heights, [0.0, inner, self.radius, self.radius, self.radius, inner, 0.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class BallSolid(Solid):
    """A sphere about p."""

    radius: float

    def own_box(self) -> tuple[Floats, Floats]:
        return np.full(3, -self.radius), np.full(3, self.radius)

    def own_polygons(self) -> Polygons:
        angle = np.linspace(-np.pi / 2.0, np.pi / 2.0, 10)
        return _rings(self.radius * np.sin(angle), self.radius * np.cos(angle))


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxSolid(Solid):
    """A box about p with edges of the given lengths (3,); as polygons its faces are cut into tiles."""

    size: Floats

    def own_box(self) -> tuple[Floats, Floats]:
        return -0.5 * self.size, 0.5 * self.size

    def own_polygons(self) -> Polygons:
        half = 0.5 * self.size
        count = np.clip(np.round(3.0 * half / max(float(np.min(half)), 1e-12)), 2, 8).astype(int)
        faces = []
        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            us, vs = (np.linspace(-half[k], half[k], count[k] + 1) for k in (u, v))
            for side in (-1.0, 1.0):
                for i in range(count[u]):
                    for j in range(count[v]):
                        corners = np.zeros((4, 3))
                        corners[:, axis] = side * half[axis]
                        corners[:, u] = [us[i], us[i + 1], us[i + 1], us[i]]
                        corners[:, v] = [vs[j], vs[j], vs[j + 1], vs[j + 1]]
                        faces.append(corners[:: int(side)])
        return faces


@dataclass(frozen=True, eq=False, kw_only=True)
class RevolvedSolid(Solid):
    """A surface of revolution about the third axis, through circles of the given heights and radii.

    Where the first or last radius is not zero, the end stays open.
    """

    heights: tuple[float, ...]
    radii: tuple[float, ...]

    def own_polygons(self) -> Polygons:
        return _rings(self.heights, self.radii)


@dataclass(frozen=True, eq=False, kw_only=True)
class ToothedWheel(Solid):
    """A wheel about the third axis with its middle at p, of the given pitch radius and thickness; without teeth its rim
    has a groove for a belt."""

    radius: float
    thickness: float
    teeth: int

    def own_polygons(self) -> Polygons:
        half = 0.5 * self.thickness
        if not self.teeth:
            groove, hub = 0.92 * self.radius, 0.25 * self.radius
            heights = [-half, -half, -half, -0.5 * half, 0.5 * half, half, half, half]
            return _rings(heights, [0.0, hub, self.radius, groove, groove, self.radius, hub, 0.0])
        rim, inner = _teeth(self.radius, self.teeth, 1.0, 0.6 * self.radius)
        faces: Polygons = []
        for k in range(len(rim)):
            n = (k + 1) % len(rim)
            low, high = ([*rim[k], -half], [*rim[n], -half]), ([*rim[k], half], [*rim[n], half])
            faces.append(np.array([low[0], low[1], high[1], high[0]]))
            for side in (half, -half):
                ring = np.array([[*inner[k], side], [*rim[k], side], [*rim[n], side], [*inner[n], side]])
                middle = np.array([[0.0, 0.0, side], [*inner[k], side], [*inner[n], side]])
                faces += [ring, middle] if side > 0.0 else [ring[::-1], middle[::-1]]
        return faces


@dataclass(frozen=True, eq=False, kw_only=True)
class ToothedRing(Solid):
    """A ring about the third axis with its middle at p and teeth inside, of the given pitch radius, outer radius and
    thickness."""

    radius: float
    outer: float
    thickness: float
    teeth: int

    def own_polygons(self) -> Polygons:
        half = 0.5 * self.thickness
        rim, outside = _teeth(self.radius, self.teeth, -1.0, self.outer)
        faces: Polygons = []
        for k in range(len(rim)):
            n = (k + 1) % len(rim)
            for line, turn in ((rim, -1), (outside, 1)):
                low, high = ([*line[k], -half], [*line[n], -half]), ([*line[k], half], [*line[n], half])
                faces.append(np.array([low[0], low[1], high[1], high[0]])[::turn])
            for side in (half, -half):
                ring = np.array([[*rim[k], side], [*outside[k], side], [*outside[n], side], [*rim[n], side]])
                faces.append(ring if side > 0.0 else ring[::-1])
        return faces


def _teeth(radius: float, teeth: int, outwards: float, other: float) -> tuple[Floats, Floats]:
    """Return the outline (4 teeth, 2) of teeth on a pitch circle, which point outwards (1) or inwards (-1), and a
    circle of the radius `other` with as many corners."""
    depth = min(0.5 * np.pi * radius / teeth, 0.2 * radius)
    # Root, flank, tip, tip, flank: four corners of the outline for each tooth.
    pitch = 2.0 * np.pi / teeth
    parts, reach = np.array([-0.32, -0.16, 0.16, 0.32]), np.array([-1.0, 0.8, 0.8, -1.0]) * depth
    angle = (pitch * (np.arange(teeth)[:, None] + parts)).ravel()
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.tile(radius + outwards * reach, teeth)[:, None] * circle, other * circle


@dataclass(frozen=True, eq=False, kw_only=True)
class HullSolid(Solid):
    """The convex hull of balls around the points (n, 3): a plate or block with round edges."""

    points: Floats
    radius: float

    def own_box(self) -> tuple[Floats, Floats]:
        return self.points.min(axis=0) - self.radius, self.points.max(axis=0) + self.radius

    def own_polygons(self) -> Polygons:
        found = self.hull(_directions())
        return _divided([found.corners[face] for face in found.faces], 4.0 * self.radius)

    def own_triangles(self) -> Triangles:
        return self.hull(_few_directions())

    def hull(self, directions: Floats) -> Triangles:
        """Return the hull of points in these directions (k, 3) on balls around the points."""
        from scipy.spatial import ConvexHull

        cloud = (self.points[:, None, :] + directions * self.radius).reshape(-1, 3)
        normals = np.tile(directions, (len(self.points), 1))
        hull = ConvexHull(cloud)
        a, b, c = (cloud[hull.simplices[:, k]] for k in range(3))
        doubled_area = np.sum(np.cross(b - a, c - a) * hull.equations[:, :3], axis=1)
        # Slivers between points of one plane would show as scratches, because their normals are arbitrary.
        kept = np.abs(doubled_area) > 1e-3 * self.radius**2
        outwards = np.where((doubled_area > 0.0)[:, None], hull.simplices, hull.simplices[:, ::-1])
        used, faces = np.unique(outwards[kept], return_inverse=True)
        return Triangles(cloud[used], faces.reshape(-1, 3), normals[used])


@dataclass(frozen=True, eq=False, kw_only=True)
class MeshSolid(Solid):
    """A surface of triangles that somebody else made."""

    surface: Triangles

    def own_polygons(self) -> Polygons:
        return [self.surface.corners[face] for face in self.surface.faces]

    def own_triangles(self) -> Triangles:
        return self.surface


def frame_along(axis: ArrayLike) -> Floats:
    """Return a rotation (3, 3) whose third column is the direction of `axis`."""
    z = np.asarray(axis, dtype=np.float64)
    z = z / np.linalg.norm(z)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def tapered_bar(start: ArrayLike, end: ArrayLike, radius_start: float, radius_end: float) -> Solid:
    """Return a bar with round ends from one point to another; a ball where the two coincide."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    length = float(np.linalg.norm(b - a))
    if length < 1e-12:
        return ball(a, max(radius_start, radius_end))
    return BarSolid(R=frame_along(b - a), p=a, length=length, radius=radius_start, end_radius=radius_end)


def cylinder(centre: ArrayLike, axis: ArrayLike, radius: float, length: float) -> Solid:
    """Return a closed cylinder about `axis` with its middle at `centre`."""
    return CylinderSolid(
        R=frame_along(axis), p=np.asarray(centre, dtype=np.float64), radius=radius, length=length
    )


def ball(centre: ArrayLike, radius: float) -> Solid:
    """Return a sphere."""
    return BallSolid(p=np.asarray(centre, dtype=np.float64), radius=radius)


def box(centre: ArrayLike, R: Floats, size: ArrayLike) -> Solid:
    """Return a box with edges of the given lengths (3,) along the columns of R (3, 3)."""
    return BoxSolid(R=R, p=np.asarray(centre, dtype=np.float64), size=np.asarray(size, dtype=np.float64))


def revolved(start: ArrayLike, axis: ArrayLike, heights: ArrayLike, radii: ArrayLike) -> Solid:
    """Return a surface of revolution about `axis` from `start`."""
    p = np.asarray(start, dtype=np.float64)
    return RevolvedSolid(R=frame_along(axis), p=p, heights=_numbers(heights), radii=_numbers(radii))


def toothed_wheel(
    centre: ArrayLike, R: Floats, radius: float, thickness: float, teeth: int, turned: float
) -> Solid:
    """Return a wheel about the third column of R (3, 3), turned about it by an angle from where a tooth points along
    the first."""
    c, s = np.cos(turned), np.sin(turned)
    about = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    p = np.asarray(centre, dtype=np.float64)
    return ToothedWheel(R=R @ about, p=p, radius=radius, thickness=thickness, teeth=teeth)


def toothed_ring(
    centre: ArrayLike, R: Floats, radius: float, thickness: float, teeth: int, turned: float
) -> Solid:
    """Return a ring with teeth inside about the third column of R (3, 3), turned about it by an angle from where a
    tooth stands on the first."""
    c, s = np.cos(turned), np.sin(turned)
    about = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    p, outer = np.asarray(centre, dtype=np.float64), radius + 4.0 * radius / teeth
    return ToothedRing(R=R @ about, p=p, radius=radius, outer=outer, thickness=thickness, teeth=teeth)


def rounded_hull(points: Floats, radius: float) -> Solid:
    """Return the convex hull of balls around the points (n, 3)."""
    return HullSolid(points=points, radius=radius)


def _numbers(values: ArrayLike) -> tuple[float, ...]:
    return tuple(float(x) for x in np.ravel(values))


def _rings(heights: ArrayLike, radii: ArrayLike) -> Polygons:
    """Return the faces between circles about the third axis."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    rings = [
        np.column_stack([radius * circle, np.full(len(circle), height)])
        for height, radius in zip(np.ravel(heights), np.ravel(radii), strict=True)
    ]
    return [
        np.array([low[k], low[k + 1], high[k + 1], high[k]])
        for low, high in zip(rings[:-1], rings[1:], strict=True)
        for k in range(AROUND)
    ]


def _directions() -> Floats:
    """Unit vectors (n, 3) all around."""
    z = np.linspace(-1.0, 1.0, 7)
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    sphere = [[np.sqrt(1 - h * h) * np.cos(a), np.sqrt(1 - h * h) * np.sin(a), h] for h in z for a in angle]
    return np.unique(np.round(np.array(sphere), 12), axis=0)


def _few_directions() -> Floats:
    """Unit vectors (26, 3) to the faces, edges and corners of a cube; with normals to match they pass for round."""
    steps = (-1.0, 0.0, 1.0)
    cube = np.array([[x, y, z] for x in steps for y in steps for z in steps if x or y or z])
    return cube / np.linalg.norm(cube, axis=1, keepdims=True)


def _fans(polygons: Polygons) -> Triangles:
    """Polygons as triangles around their first corners, without those that have no area."""
    corners, faces = [], []
    count = 0
    for polygon in polygons:
        for k in range(1, len(polygon) - 1):
            a, b, c = polygon[0], polygon[k], polygon[k + 1]
            if np.linalg.norm(np.cross(b - a, c - a)) > 0.0:
                corners += [a, b, c]
                faces.append([count, count + 1, count + 2])
                count += 3
    return Triangles(np.array(corners).reshape(-1, 3), np.array(faces, dtype=np.int64).reshape(-1, 3))


def _divided(triangles: Polygons, longest: float) -> Polygons:
    """Return the triangles cut at the middle of their longest edges until no edge is longer than `longest`."""
    done: Polygons = []
    waiting = list(triangles)
    while waiting:
        corners = waiting.pop()
        lengths = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
        k = int(np.argmax(lengths))
        if lengths[k] <= longest:
            done.append(corners)
            continue
        a, b, c = corners[k], corners[(k + 1) % 3], corners[(k + 2) % 3]
        middle = 0.5 * (a + b)
        waiting += [np.array([a, middle, c]), np.array([middle, b, c])]
    return done
