"""Triangles from mesh files (STL as text or binary, OBJ, COLLADA), and the mass that they enclose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catena.errors import FormatError
from catena.formats.collada import read_collada
from catena.formats.complete import reason
from catena.formats.regular import read_regular
from catena.mechanism.shapes import MassProperties, Mesh

LARGEST = 256 * 2**20
"""How many bytes a mesh may have."""
Triangles = tuple[NDArray[np.float64], NDArray[np.int64]]


def read_mesh(file: Path) -> Triangles:
    """Return the vertices (n, 3) and the triangles (m, 3), which count vertices from 0, of an STL, OBJ or
    COLLADA file."""
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise FormatError(f"{file}: meshes are read from {' and '.join(READERS)} files: convert it")
    try:
        content = read_regular(file, LARGEST, "a mesh")
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(f"{file}: the mesh cannot be read: {reason(error)}") from error
    try:
        vertices, triangles = reader(content, str(file))
    except (ValueError, IndexError, OverflowError) as error:
        raise FormatError(f"{file}: the mesh is damaged: {error}") from None
    inside = not triangles.size or (triangles.min() >= 0 and triangles.max() < len(vertices))
    if not inside or not np.isfinite(vertices).all():
        raise FormatError(f"{file}: the mesh is damaged: a vertex is not finite, or not there")
    return vertices, triangles


def mesh_mass_properties(mesh: Mesh, density: float) -> MassProperties:
    """Return the mass properties, in the frame of its body, of the space that a mesh encloses.

    Each triangle adds the tetrahedron between it and the origin, with a sign; what lies outside cancels.
    """
    if mesh.file is None:
        raise FormatError(f"{mesh.who}: the mesh {mesh.path!r} is not there: give mass, com and inertia")
    vertices, triangles = read_mesh(mesh.file)
    corners = (vertices * np.array(mesh.scale))[triangles]
    volumes = np.einsum("ni,ni->n", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    volume = float(volumes.sum())
    if not abs(volume) > 1e-12 * float(np.abs(volumes).sum()):
        raise FormatError(f"{mesh.file}: the mesh encloses no space: give mass, com and inertia")
    sums = corners.sum(axis=1)
    com = volumes @ sums / (4.0 * volume)
    # The second moments of a tetrahedron with one corner in the origin.
    second = np.einsum("n,nki,nkj->ij", volumes, corners, corners) + np.einsum(
        "n,ni,nj->ij", volumes, sums, sums
    )
    about_com = second / (20.0 * volume) - np.outer(com, com)
    mass = density * abs(volume)
    inertia = mass * (np.trace(about_com) * np.eye(3) - about_com)
    return MassProperties(mass, com, inertia).placed(mesh.pose)


def _stl(content: bytes, name: str) -> Triangles:
    count = int.from_bytes(content[80:84], "little") if len(content) >= 84 else -1
    if len(content) == 84 + 50 * count:
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
        corners = np.frombuffer(content, record, count, 84)["corners"].astype(np.float64)
    else:
        lines = (line.split() for line in content.decode("ascii", "replace").splitlines())
        numbers = [[float(x) for x in line[1:4]] for line in lines if len(line) == 4 and line[0] == "vertex"]
        if len(numbers) % 3 or not numbers:
            raise ValueError("it is neither a binary nor a text STL file")
        corners = np.array(numbers).reshape(-1, 3, 3)
    return corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)


def _obj(content: bytes, name: str) -> Triangles:
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in content.decode("utf-8", "replace").splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(x) for x in words[1:4]])
        elif words[0] == "f":
            corners = [int(word.split("/")[0]) for word in words[1:]]
            corners = [k - 1 if k > 0 else len(vertices) + k for k in corners]
            triangles += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
    if not triangles or any(len(vertex) != 3 for vertex in vertices):
        raise ValueError("there are no faces in it, or vertices of other than three numbers")
    return np.array(vertices), np.array(triangles, dtype=np.int64)


READERS: dict[str, Callable[[bytes, str], Triangles]] = {".stl": _stl, ".obj": _obj, ".dae": read_collada}
