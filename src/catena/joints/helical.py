"""The helical (screw) joint."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.axes import AxisField, Direction, Z, canonical_frame, perpendicular
from catena.joints.contract import IDENTITY, JointKind, counted_on, number
from catena.joints.nearest import angle_about
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array
from catena.spatial.scalars import Scalar, absolute, less, where


@dataclass(frozen=True)
class Helical(JointKind):
    """Rotation about an axis that moves along it by `pitch` metres per radian. q = (angle,), v = dq/dt."""

    axis: AxisField = AxisField("z")
    pitch: Scalar = 0.0
    nq = 1
    nv = 1
    drawn_as = "screw"
    letters = "H"
    words = "helical"
    finds_coordinates_of_symbols = True
    wraps = (0,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pitch", number("pitch", self.pitch, "Helical"))

    @property
    def drawn_along(self) -> tuple[Direction, ...]:
        return (self.axis,)

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Helical",) if self.axis == Z else ("Helical", self.axis)

    def params(self) -> tuple[float, ...]:
        return (self.pitch,)

    def with_params(self, params: Sequence[Scalar]) -> Helical:
        (pitch,) = params
        return Helical(self.axis, pitch)

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        return (IDENTITY, self) if self.axis == Z else (canonical_frame(self.axis), Helical("z", self.pitch))

    def transform(self, q: np.ndarray) -> Transform:
        displacement = self.pitch * q[0]
        return Transform(Transform.rotation(self.axis, q[0]).R, array([displacement * x for x in self.axis]))

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace.from_entries([*self.axis, *(self.pitch * x for x in self.axis)])

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        e1, e2 = perpendicular(self.axis)
        o = (0.0, 0.0, 0.0)
        thrust = [-self.pitch * x for x in self.axis]
        return ForceSpace.from_entries([*e1, *o, *e2, *o, *o, *e1, *o, *e2, *thrust, *self.axis])

    def coordinates(self, X: Transform) -> np.ndarray:
        angle = angle_about(self.axis, X)
        return self._turned(X, angle, angle)

    def coordinates_near(self, X: Transform, near: np.ndarray) -> np.ndarray:
        return self._turned(X, angle_about(self.axis, X), near[0])

    def _turned(self, X: Transform, angle: Any, near: Any) -> np.ndarray:
        """Return the angle with its whole turns: the displacement tells them, or where there is none the angle that it
        is near."""
        stays = less(absolute(self.pitch), 1e-300)
        shown = X.p @ np.array(self.axis) / where(stays, 1.0, self.pitch)
        return array([counted_on(angle, where(stays, near, shown))])

    def flip(self) -> Helical:
        x, y, z = self.axis
        return Helical((0.0 - x, 0.0 - y, 0.0 - z), self.pitch)
