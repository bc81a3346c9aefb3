"""Shapes that a mechanism gives its bodies, as solids in the frames of the bodies."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError, warn
from catena.mechanism import Mechanism, shapes
from catena.view import theme
from catena.view.solids import BallSolid, BarSolid, BoxSolid, CylinderSolid, MeshSolid, Solid, Triangles

if TYPE_CHECKING:
    from catena.formats.meshes import MeshFile

Floats = NDArray[np.float64]


def body_solids(mechanism: Mechanism, body: str) -> list[tuple[theme.Colour | None, list[Solid]]]:
    """Return the solids of the shapes that are given on a body to draw it with, each with its colour.

    Shapes to touch with serve where there are none to look at. A mesh whose file is missing or cannot be read is left
    out with a warning; where nothing remains, the body is drawn as one without shapes.
    """
    shapes = mechanism.bodies[body].visuals or mechanism.bodies[body].collisions
    found: list[tuple[theme.Colour | None, list[Solid]]] = []
    for shape in shapes:
        place = shape.pose.matrix()
        for colour, solid in _solids(shape, f"{mechanism.name!r}: body {body!r}"):
            found.append((_colour(colour), [solid.moved(place)]))
    return found


def _colour(rgba: tuple[float, ...] | None) -> theme.Colour | None:
    if rgba is None:
        return None
    # What is seen through has two more digits.
    shown = rgba[:3] if rgba[3] >= 1.0 else rgba
    return "#" + "".join(f"{round(255 * min(max(x, 0.0), 1.0)):02x}" for x in shown)


def _solids(shape: shapes.Shape, who: str) -> list[tuple[shapes.Colour | None, Solid]]:
    """Return the solids of a shape in the shape's own frame with their colours: one, but for meshes of several
    parts."""
    if isinstance(shape, shapes.Mesh):
        return _from_file(shape, who)
    solid = _solid(shape)
    return [] if solid is None else [(shape.colour, solid)]


def _solid(shape: shapes.Shape) -> Solid | None:
    """Return the solid of a shape that is no mesh."""
    if isinstance(shape, shapes.Box):
        return BoxSolid(size=np.asarray(shape.size, dtype=np.float64))
    if isinstance(shape, shapes.Sphere):
        return BallSolid(radius=shape.radius)
    if isinstance(shape, shapes.Cylinder):
        return CylinderSolid(radius=shape.radius, length=shape.length)
    if isinstance(shape, shapes.Capsule):
        start = np.array([0.0, 0.0, -0.5 * shape.length])
        return BarSolid(p=start, length=shape.length, radius=shape.radius, end_radius=shape.radius)
    if isinstance(shape, shapes.Ellipsoid):
        return MeshSolid(surface=_ellipsoid(np.asarray(shape.radii, dtype=np.float64)))
    return None


def _ellipsoid(radii: Floats) -> Triangles:
    ball = BallSolid(radius=1.0).own_triangles()
    normals = ball.corners / radii
    return Triangles(
        ball.corners * radii, ball.faces, normals / np.linalg.norm(normals, axis=1, keepdims=True)
    )


def _from_file(shape: shapes.Mesh, who: str) -> list[tuple[shapes.Colour | None, Solid]]:
    """Return the parts of a mesh. The colour that the model gives it stands above those of its file."""
    if shape.file is None or not shape.file.is_file():
        warn(f"{who}: the mesh {shape.path!r} is not there; its shape is left out of the picture")
        return []
    try:
        read = _read(shape.file, shape.file.stat().st_mtime_ns)
    except (CatenaError, OSError) as error:
        reason = str(error).removeprefix(f"{shape.file}: ")
        warn(f"{who}: the mesh {shape.path!r} cannot be shown: {reason}")
        return []
    scale = np.asarray(shape.scale)
    # What a scale mirrors keeps its outside outside.
    order = slice(None, None, -1 if np.prod(scale) < 0.0 else 1)
    return [
        (
            shape.colour or part.colour,
            MeshSolid(surface=Triangles(part.vertices * scale, part.triangles[:, order])),
        )
        for part in read.parts
    ]


@lru_cache(maxsize=64)
def _read(file: Path, changed: int) -> MeshFile:
    from catena.formats.meshes import read_mesh

    return read_mesh(file)
