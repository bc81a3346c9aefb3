"""What scenes are made of: rigid parts that ride on bodies, spans between two of them, and places of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from catena.view import theme
from catena.view.solids import Polygons, Solid

Floats = NDArray[np.float64]
Poses = Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class Part:
    """Something rigid: the body or joint it stands for, its role, its colour, the body that carries it, and solids and
    lines (n, 3) in that body's frame.

    Roles are "body", "joint", "loop", "locked", "coupling" and "ground" for solids; "hatching" for strokes behind
    ground pads.
    """

    name: str
    role: str
    colour: theme.Colour
    body: str
    solids: tuple[Solid, ...]
    lines: tuple[Floats, ...] = ()

    def moved(self, pose: Floats) -> Part:
        """Return the part seen from outside a frame that has this pose (4, 4)."""
        lines = tuple(line @ pose[:3, :3].T + pose[:3, 3] for line in self.lines)
        return replace(self, solids=tuple(solid.moved(pose) for solid in self.solids), lines=lines)

    @cached_property
    def polygons(self) -> Polygons:
        """The surfaces of all solids, as polygons to paint."""
        return [polygon for solid in self.solids for polygon in solid.polygons()]


@dataclass(frozen=True, eq=False)
class SpanningPart:
    """Something stretched between the point `a` (3,) of one body and `b` (3,) of another.

    Forms are "coils", "damper" and "cable" for forces between two frames, "rod" for what comes out of a slide, "float"
    for the dashed line from ground to a floating body, and "gap" for a loop that is open.
    """

    name: str
    form: str
    colour: theme.Colour
    body_a: str
    a: Floats
    body_b: str
    b: Floats
    radius: float

    def ends(self, poses: Poses) -> tuple[Floats, Floats]:
        """Both points in ground."""
        A, B = poses[self.body_a], poses[self.body_b]
        return A[:3, :3] @ self.a + A[:3, 3], B[:3, :3] @ self.b + B[:3, 3]


@dataclass(frozen=True, eq=False)
class Anchor:
    """The point (3,) of a body that a label belongs to."""

    body: str
    point: Floats
