"""Simple solids as lists of polygons, each an array (k, 3) of corners in ground coordinates.

Faces are kept small: matplotlib paints polygons from far to near by their mean depth, which is right only for
faces that are small against the distances between things.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Polygons = list[Floats]

AROUND = 18


def frame_along(axis: ArrayLike) -> Floats:
    """A rotation (3, 3) whose third column is the direction of `axis`."""
    z = np.asarray(axis, dtype=np.float64)
    z = z / np.linalg.norm(z)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def revolved(start: ArrayLike, axis: ArrayLike, heights: ArrayLike, radii: ArrayLike) -> Polygons:
    """A surface of revolution about `axis` from `start`, through circles of the given heights and radii.

    Where the first or last radius is not zero, the end stays open.
    """
    R, p = frame_along(axis), np.asarray(start, dtype=np.float64)
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    rings = []
    for height, radius in zip(np.ravel(heights), np.ravel(radii), strict=True):
        local = np.column_stack([radius * circle, np.full(len(circle), height)])
        rings.append(p + local @ R.T)
    return [
        np.array([low[k], low[k + 1], high[k + 1], high[k]])
        for low, high in zip(rings[:-1], rings[1:], strict=True)
        for k in range(AROUND)
    ]


def tapered_bar(start: ArrayLike, end: ArrayLike, radius_start: float, radius_end: float) -> Polygons:
    """A bar with round ends from one point to another, its radius changing evenly along the way."""
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    length = float(np.linalg.norm(b - a))
    if length < 1e-12:
        return ball(a, max(radius_start, radius_end))
    quarter = np.linspace(0.0, np.pi / 2.0, 5)
    steps = int(np.clip(length / max(radius_start, radius_end), 2, 16))
    along = np.linspace(0.0, 1.0, steps + 1)
    heights = [*(-radius_start * np.cos(quarter[:-1])), *(length * along)]
    radii = [*(radius_start * np.sin(quarter[:-1])), *(radius_start + (radius_end - radius_start) * along)]
    heights += [*(length + radius_end * np.sin(quarter[1:]))]
    radii += [*(radius_end * np.cos(quarter[1:]))]
    return revolved(a, b - a, heights, radii)


def cylinder(centre: ArrayLike, axis: ArrayLike, radius: float, length: float) -> Polygons:
    """A closed cylinder about `axis` with its middle at `centre` and slightly bevelled edges."""
    direction = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    bevel = 0.12 * min(radius, length)
    half = 0.5 * length
    heights = [-half, -half, -half + bevel, 0.0, half - bevel, half, half]
    radii = [0.0, radius - bevel, radius, radius, radius, radius - bevel, 0.0]
    return revolved(np.asarray(centre), direction, heights, radii)


def ball(centre: ArrayLike, radius: float) -> Polygons:
    """A sphere."""
    angle = np.linspace(-np.pi / 2.0, np.pi / 2.0, 10)
    return revolved(np.asarray(centre), (0.0, 0.0, 1.0), radius * np.sin(angle), radius * np.cos(angle))


def box(centre: ArrayLike, R: Floats, size: ArrayLike) -> Polygons:
    """A box with edges of the given lengths (3,) along the columns of R (3, 3), its faces cut into tiles."""
    half = 0.5 * np.asarray(size, dtype=np.float64)
    c = np.asarray(centre, dtype=np.float64)
    count = np.clip(np.round(3.0 * half / np.min(half)), 2, 8).astype(int)
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
                    faces.append(c + corners[:: int(side)] @ R.T)
    return faces


def rounded_hull(points: Floats, radius: float) -> Polygons:
    """The convex hull of balls around the points (n, 3): a plate or block with round edges."""
    from scipy.spatial import ConvexHull

    z = np.linspace(-1.0, 1.0, 7)
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    sphere = np.array(
        [[np.sqrt(1 - h * h) * np.cos(a), np.sqrt(1 - h * h) * np.sin(a), h] for h in z for a in angle]
    )
    corners = np.unique(np.round(sphere, 12), axis=0) * radius
    cloud = (points[:, None, :] + corners).reshape(-1, 3)
    hull = ConvexHull(cloud)
    triangles = []
    for simplex, plane in zip(hull.simplices, hull.equations, strict=True):
        a, b, c = cloud[simplex]
        doubled_area = np.cross(b - a, c - a) @ plane[:3]
        # Slivers between points of one plane would show as scratches, because their normals are arbitrary.
        if abs(doubled_area) > 1e-3 * radius**2:
            triangles.append(np.array([a, b, c] if doubled_area > 0.0 else [a, c, b]))
    return _divided(triangles, 4.0 * radius)


def _divided(triangles: Polygons, longest: float) -> Polygons:
    """The triangles cut at the middle of their longest edges until no edge is longer than `longest`."""
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
