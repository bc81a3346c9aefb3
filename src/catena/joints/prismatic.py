"""The prismatic joint."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from catena.joints.axes import AxisField, Direction, Z, canonical_frame, perpendicular
from catena.joints.contract import IDENTITY, SLIDE, JointKind, SimpleMotion, in_order
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array


@dataclass(frozen=True)
class Prismatic(JointKind):
    """Translation along one axis. q = (displacement,) in metres, v = dq/dt."""

    axis: AxisField = AxisField("z")
    nq = 1
    nv = 1
    drawn_as = "slide"
    letters = "P"
    words = "prismatic"
    finds_coordinates_of_symbols = True

    @property
    def drawn_along(self) -> tuple[Direction, ...]:
        return (self.axis,)

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...]:
        return in_order((SLIDE, self.axis))

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Prismatic",) if self.axis == Z else ("Prismatic", self.axis)

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        return (IDENTITY, self) if self.axis == Z else (canonical_frame(self.axis), CANONICAL)

    def transform(self, q: np.ndarray) -> Transform:
        return Transform.translation(array([q[0] * x for x in self.axis]))

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace(np.array([[0.0, 0.0, 0.0, *self.axis]]).T)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        e1, e2 = perpendicular(self.axis)
        result = np.zeros((6, 5))
        result[:3, :3], result[3:, 3], result[3:, 4] = IDENTITY, e1, e2
        return ForceSpace(result)

    def coordinates(self, X: Transform) -> np.ndarray:
        return array([X.p @ np.array(self.axis)])

    def flip(self) -> Prismatic:
        x, y, z = self.axis
        return Prismatic((0.0 - x, 0.0 - y, 0.0 - z))


CANONICAL = Prismatic()
