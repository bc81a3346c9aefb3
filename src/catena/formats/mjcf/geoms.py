"""Shapes of bodies as MJCF writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from catena.formats.markup import quoted
from catena.formats.mjcf.texts import number_text, numbers_text, pose_text
from catena.formats.shape_files import path_from
from catena.mechanism import Mechanism, Shape
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere


class Geoms:
    """Writes the shapes of a mechanism for a file in a folder; `meshes` are those that it has to name, by path and
    scale."""

    def __init__(self, mechanism: Mechanism, folder: Path) -> None:
        self.mechanism, self.folder = mechanism, folder
        self.meshes: dict[tuple[str, Any], str] = {}

    def text(self, shape: Shape, more: str) -> str:
        """Return the element of a shape, with `more` attributes."""
        if isinstance(shape, Box):
            form = f'type="box" size="{numbers_text(np.array(shape.size) / 2)}"'
        elif isinstance(shape, Sphere):
            form = f'type="sphere" size="{number_text(shape.radius)}"'
        elif isinstance(shape, Ellipsoid):
            form = f'type="ellipsoid" size="{numbers_text(shape.radii)}"'
        elif isinstance(shape, Cylinder | Capsule):
            word = "cylinder" if isinstance(shape, Cylinder) else "capsule"
            form = f'type="{word}" size="{numbers_text((shape.radius, shape.length / 2))}"'
        elif isinstance(shape, Mesh):
            key = (path_from(shape, self.folder), shape.scale)
            form = f'type="mesh" mesh="{self.meshes.setdefault(key, f"mesh {len(self.meshes)}")}"'
        name = f" name={quoted(shape.name)}" if shape.name and self._is_only(shape) else ""
        colour = "" if shape.colour is None else f' rgba="{numbers_text(shape.colour)}"'
        return f"<geom{name} {form}{pose_text(shape.pose)}{colour}{more}/>"

    def _is_only(self, shape: Shape) -> bool:
        """Whether no other shape has its name, which MuJoCo does not allow."""
        bodies = self.mechanism.bodies.values()
        found = [s for b in bodies for s in {*b.visuals, *b.collisions} if s.name == shape.name]
        return len(found) == 1
