"""The revolute joint."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from catena.joints.axes import AxisField, Direction, Z, canonical_frame, perpendicular
from catena.joints.contract import HINGE, IDENTITY, JointKind, SimpleMotion, in_order
from catena.joints.nearest import angle_about
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array


@dataclass(frozen=True)
class Revolute(JointKind):
    """Rotation about one axis through the joint frame's origin. q = (angle,) in radians, v = dq/dt."""

    axis: AxisField = AxisField("z")
    nq = 1
    nv = 1
    drawn_as = "hinge"
    letters = "R"
    words = "revolute"
    finds_coordinates_of_symbols = True
    wraps = (0,)

    @property
    def drawn_along(self) -> tuple[Direction, ...]:
        return (self.axis,)

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...]:
        return in_order((HINGE, self.axis))

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Revolute",) if self.axis == Z else ("Revolute", self.axis)

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        return (IDENTITY, self) if self.axis == Z else (canonical_frame(self.axis), CANONICAL)

    def transform(self, q: np.ndarray) -> Transform:
        return Transform.rotation(self.axis, q[0])

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace(np.array([[*self.axis, 0.0, 0.0, 0.0]]).T)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        e1, e2 = perpendicular(self.axis)
        result = np.zeros((6, 5))
        result[:3, 0], result[:3, 1], result[3:, 2:] = e1, e2, IDENTITY
        return ForceSpace(result)

    def coordinates(self, X: Transform) -> np.ndarray:
        return array([angle_about(self.axis, X)])

    def flip(self) -> Revolute:
        x, y, z = self.axis
        return Revolute((0.0 - x, 0.0 - y, 0.0 - z))


CANONICAL = Revolute()
