"""The shapes of a body of a MuJoCo model.

A geom that collides is a collision shape; one that is drawn by default (groups 0 to 2) is a visual one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.formats.findings import Severity
from catena.formats.mjcf.preparing import Prepared
from catena.formats.source import Source
from catena.mechanism import Shape
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere
from catena.spatial import Pose

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
DRAWN = 3


def shapes_of(model: Any, body: int, prepared: Prepared, source: Source) -> tuple[list[Shape], list[Shape]]:
    """Return the visual and the collision shapes of a body."""
    visuals, collisions = [], []
    first = int(model.body_geomadr[body])
    for k in range(first, first + int(model.body_geomnum[body])):
        shape = _shape(model, k, prepared, source)
        if shape is None:
            continue
        if model.geom_contype[k] or model.geom_conaffinity[k]:
            collisions.append(shape)
        if model.geom_group[k] < DRAWN:
            visuals.append(shape)
    return visuals, collisions


def _shape(model: Any, k: int, prepared: Prepared, source: Source) -> Shape | None:
    kind, size = int(model.geom_type[k]), [float(x) for x in model.geom_size[k]]
    quat = np.array(model.geom_quat[k], dtype=np.float64)
    pose = Pose(p=np.array(model.geom_pos[k]), quat=quat / np.linalg.norm(quat))
    common: dict[str, Any] = {"pose": pose, "colour": _colour(model, k), "name": str(model.geom(k).name)}
    if kind == BOX:
        return Box((2 * size[0], 2 * size[1], 2 * size[2]), **common)
    if kind == SPHERE:
        return Sphere(size[0], **common)
    if kind == ELLIPSOID:
        return Ellipsoid((size[0], size[1], size[2]), **common)
    if kind == CYLINDER:
        return Cylinder(size[0], 2 * size[1], **common)
    if kind == CAPSULE:
        return Capsule(size[0], 2 * size[1], **common)
    if kind == MESH:
        return _mesh(model, k, prepared, source, common)
    source.note(
        Severity.NOTE, f"geom {common['name']!r}", "planes and height fields are not read", what="unread"
    )
    return None


def _mesh(model: Any, k: int, prepared: Prepared, source: Source, common: dict[str, Any]) -> Shape | None:
    index = int(model.geom_dataid[k])
    name = str(model.mesh(index).name)
    if name not in prepared.paths:
        return None
    path = prepared.paths[name]
    # MuJoCo moves a mesh to its own mass centre and principal axes; the file has it as it was.
    moved = np.array(model.mesh_quat[index], dtype=np.float64)
    own = Pose(p=np.array(model.mesh_pos[index]), quat=moved / np.linalg.norm(moved))
    common["pose"] = common["pose"] * own.inverse()
    scale = tuple(float(x) for x in model.mesh_scale[index])
    return Mesh(path, scale, source.find(path, source.name, "mesh"), **common)  # type: ignore[arg-type]


def _colour(model: Any, k: int) -> Any:
    material = int(model.geom_matid[k])
    rgba = model.geom_rgba[k] if material < 0 else model.mat_rgba[material]
    return tuple(min(max(float(x), 0.0), 1.0) for x in rgba)
