"""The cylindrical joint."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from catena.joints.axes import AxisField, Direction, Z, canonical_frame, perpendicular
from catena.joints.contract import HINGE, IDENTITY, SLIDE, JointKind, SimpleMotion, in_order
from catena.joints.nearest import angle_about
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array


@dataclass(frozen=True)
class Cylindrical(JointKind):
    """Rotation about an axis and independent translation along it. q = (angle, displacement), v = dq/dt."""

    axis: AxisField = AxisField("z")
    nq = 2
    nv = 2
    drawn_as = "sleeve"
    letters = "C"
    words = "cylindrical"
    velocity_names = ("angle", "slide")
    finds_coordinates_of_symbols = True
    wraps = (0,)

    @property
    def drawn_along(self) -> tuple[Direction, ...]:
        return (self.axis,)

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...]:
        return in_order((HINGE, self.axis), (SLIDE, self.axis))

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Cylindrical",) if self.axis == Z else ("Cylindrical", self.axis)

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        return (IDENTITY, self) if self.axis == Z else (canonical_frame(self.axis), CANONICAL)

    def transform(self, q: np.ndarray) -> Transform:
        return Transform(Transform.rotation(self.axis, q[0]).R, array([q[1] * x for x in self.axis]))

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace.from_entries([*self.axis, *[0.0] * 6, *self.axis])

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        e1, e2 = perpendicular(self.axis)
        o = (0.0, 0.0, 0.0)
        return ForceSpace.from_entries([*e1, *o, *e2, *o, *o, *e1, *o, *e2])

    def coordinates(self, X: Transform) -> np.ndarray:
        return array([angle_about(self.axis, X), X.p @ np.array(self.axis)])

    def flip(self) -> Cylindrical:
        x, y, z = self.axis
        return Cylindrical((0.0 - x, 0.0 - y, 0.0 - z))


CANONICAL = Cylindrical()
