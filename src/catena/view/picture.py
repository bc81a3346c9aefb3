"""A scene at one configuration: everything in ground, ready to be painted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from catena.view import theme
from catena.view.camera import Camera
from catena.view.glyphs import arrow_strokes, span_strokes
from catena.view.solids import MeshSolid, tapered_bar

if TYPE_CHECKING:
    from catena.view.parts import Part
    from catena.view.scene import Scene

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Picture:
    """All parts in ground coordinates, with the mass centres {body: (mass, centre)} and the points of labels.

    Besides the roles of a scene there are "float" for the dashed line from ground to a floating body, "gap" for a loop
    that is open, "rod" for what has come out of a slide, and "force" for springs, cables and arrows of wrenches.
    """

    parts: tuple[Part, ...]
    masses: Mapping[str, tuple[float, Floats]]
    body_anchors: Mapping[str, Floats]
    joint_anchors: Mapping[str, Floats]
    camera: Camera
    bar_radius: float
    has_gravity: bool

    def points(self) -> Floats:
        """Return all corners of all solids and forces, (n, 3)."""
        corners = [polygon for part in self.parts for polygon in part.polygons]
        corners += [line for part in self.parts if part.role == "force" for line in part.lines]
        return np.concatenate(corners) if corners else np.zeros((1, 3))


def picture_of(scene: Scene, poses: Mapping[str, Floats]) -> Picture:
    """Return the picture of a scene with its bodies and frames at these poses (4, 4)."""
    from catena.view.parts import Part

    r = scene.bar_radius
    parts = [part.moved(poses[part.body]) for part in scene.parts]
    for skin in scene.skins:
        solid = MeshSolid(surface=skin.surface(poses))
        parts.append(Part(skin.name, skin.role, skin.colour, skin.body, (solid,)))
    for span in scene.spans:
        a, b = span.ends(poses)
        length = float(np.linalg.norm(b - a))
        if span.form == "rod" and length > 0.5 * span.radius:
            rod = tapered_bar(a, b, span.radius, span.radius)
            parts.append(Part(span.name, "rod", span.colour, span.body_a, (rod,)))
        elif span.form == "float" and length > 3.0 * span.radius:
            parts.append(Part(span.name, "float", span.colour, span.body_a, (), (np.array([a, b]),)))
        elif span.form == "gap" and length > 0.05 * span.radius:
            parts.append(Part(span.name, "gap", span.colour, span.body_a, (), (np.array([a, b]),)))
        elif span.form in ("coils", "damper", "cable"):
            strokes = span_strokes(span.form, a, b, r)
            if strokes:
                parts.append(Part(span.name, "force", span.colour, span.body_a, (), tuple(strokes)))
    for name, element in scene.system.mechanism.force_elements.items():
        strokes = arrow_strokes(element, poses, r)
        if strokes:
            parts.append(Part(name, "force", theme.FORCE, "ground", (), tuple(strokes)))

    def place(body: str, point: Floats) -> Floats:
        return poses[body][:3, :3] @ point + poses[body][:3, 3]

    return Picture(
        tuple(parts),
        {name: (mass, place(name, centre)) for name, (mass, centre) in scene.masses.items()},
        {name: place(anchor.body, anchor.point) for name, anchor in scene.body_anchors.items()},
        {name: place(anchor.body, anchor.point) for name, anchor in scene.joint_anchors.items()},
        scene.camera, r, scene.has_gravity,
    )  # fmt: skip
