"""The mass of the space that a surface of triangles encloses, and whether it encloses one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from catena.errors import ModelError
from catena.mechanism.mass_properties import MassProperties

SAME = 1e-7
"""How near two corners are that count as one, over the size of the surface: files keep seven digits."""


def enclosed(
    vertices: NDArray[np.float64], triangles: NDArray[np.int64], density: float, who: str
) -> MassProperties:
    """Return the mass properties at a density [kg/m^3] of the space inside a closed surface, in the axes of its
    vertices (n, 3) [m]; `triangles` (m, 3) count vertices from 0.

    Each triangle adds the tetrahedron between it and the middle of the surface, with a sign; what lies outside cancels.
    An inner surface that is turned inside out is a hole. A surface that is not closed raises a `ModelError` that begins
    with `who` and says what was found.
    """
    least, most = vertices[triangles].min(axis=(0, 1)), vertices[triangles].max(axis=(0, 1))
    middle, size = 0.5 * (least + most), float((most - least).max())
    fault = why_open(vertices, triangles, SAME * size)
    if fault:
        raise ModelError(
            f"{who}: {fault}, so it encloses no space that a density could fill: repair the mesh in the program that "
            "made it, or give mass, com and inertia"
        )
    corners = vertices[triangles] - middle
    volumes = np.einsum("ni,ni->n", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    volume = float(volumes.sum())
    if not abs(volume) > 1e-12 * float(np.abs(volumes).sum()):
        raise ModelError(f"{who}: the mesh is flat and encloses no space: give mass, com and inertia")
    sums = corners.sum(axis=1)
    com = volumes @ sums / (4.0 * volume)
    # The second moments of a tetrahedron with one corner in the origin.
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum(
        "n,ni,nj->ij", volumes, sums, sums
    )
    about_com = second / (20.0 * volume) - np.outer(com, com)
    # A surface whose triangles all look inwards encloses the same space.
    mass = density * abs(volume)
    inertia = mass * (np.trace(about_com) * np.eye(3) - about_com)
    return MassProperties(mass, com + middle, inertia)


def why_open(vertices: NDArray[np.float64], triangles: NDArray[np.int64], same: float) -> str:
    """Say why a surface is not closed, or return "": every edge must be passed as often one way as the other. Corners
    nearer than `same` [m] are one, because files tell the corners of each triangle anew."""
    if not same > 0.0:
        return "the mesh has no extent"
    grid = np.round(vertices / same)
    faces = np.unique(grid, axis=0, return_inverse=True)[1].reshape(-1)[triangles]
    # A triangle with two corners in one place has no area, and its edges cancel or are missing in others.
    distinct = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    faces = faces[distinct]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward = np.where(edges[:, 0] < edges[:, 1], 1, -1)
    _, which = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    passed, balance = np.bincount(which), np.bincount(which, weights=forward)
    open_edges = int(np.count_nonzero(passed % 2))
    if open_edges:
        return f"the mesh is not closed: {open_edges} of its {len(passed)} edges have a triangle on one side only"
    turned = int(np.count_nonzero(balance))
    if turned:
        return (
            f"the triangles of the mesh do not agree about which side is outside, at {turned} of its "
            f"{len(passed)} edges"
        )
    return ""
