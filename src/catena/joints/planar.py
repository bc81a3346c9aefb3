"""The planar joint."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.axes import AxisField, Direction, Z, canonical_frame, perpendicular
from catena.joints.contract import HINGE, IDENTITY, SLIDE, JointKind, SimpleMotion, in_order
from catena.joints.nearest import angle_about
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array
from catena.spatial.scalars import cos, sin


@dataclass(frozen=True)
class Planar(JointKind):
    """Motion in the plane across `normal`. q = (x, y, angle), v = dq/dt.

    The child moves by x and y along two directions e1, e2 that are fixed to the parent, then turns about the
    normal. For the normal z these are the x and y axes; `catena.joints.axes.perpendicular` has the rule for
    the others.
    """

    normal: AxisField = AxisField("z")
    nq = 3
    nv = 3
    drawn_as = "plate"
    letters = "E"
    words = "planar"
    velocity_names = ("x", "y", "angle")

    finds_coordinates_of_symbols = True
    wraps = (2,)

    @property
    def drawn_along(self) -> tuple[Direction, ...]:
        return (self.normal,)

    @property
    def plane_normal(self) -> Direction:
        return self.normal

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...]:
        first, second = perpendicular(self.normal)
        return in_order((SLIDE, first), (SLIDE, second), (HINGE, self.normal))

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Planar",) if self.normal == Z else ("Planar", self.normal)

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        return (IDENTITY, self) if self.normal == Z else (canonical_frame(self.normal), CANONICAL)

    def transform(self, q: np.ndarray) -> Transform:
        e1, e2 = perpendicular(self.normal)
        p = array([q[0] * a + q[1] * b for a, b in zip(e1, e2, strict=True)])
        return Transform(Transform.rotation(self.normal, q[2]).R, p)

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        along1, along2 = self._turned(q[2])
        o = (0.0, 0.0, 0.0)
        return MotionSpace.from_entries([*o, *along1, *o, *along2, *self.normal, *o])

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        # The child turns with v[2], so the directions fixed to the parent turn back in its coordinates.
        along1, along2 = self._turned(q[2])
        a, b = v[1] * v[2], -v[0] * v[2]
        linear = [a * x + b * y for x, y in zip(along1, along2, strict=True)]
        return Motion([0.0, 0.0, 0.0, *linear])

    def _turned(self, angle: Any) -> tuple[list[Any], list[Any]]:
        """Return e1 and e2 in child-side coordinates."""
        c, s = cos(angle), sin(angle)
        e1, e2 = perpendicular(self.normal)
        pairs = list(zip(e1, e2, strict=True))
        return [c * a - s * b for a, b in pairs], [s * a + c * b for a, b in pairs]

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        e1, e2 = perpendicular(self.normal)
        o = (0.0, 0.0, 0.0)
        return ForceSpace.from_entries([*e1, *o, *e2, *o, *o, *self.normal])

    def coordinates(self, X: Transform) -> np.ndarray:
        e1, e2 = perpendicular(self.normal)
        return array([X.p @ np.array(e1), X.p @ np.array(e2), angle_about(self.normal, X)])


CANONICAL = Planar()
