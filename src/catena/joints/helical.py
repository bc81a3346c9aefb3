"""The helical (screw) joint."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.axes import Z, canonical_frame, direction, perpendicular
from catena.joints.contract import IDENTITY, JointKind, number
from catena.joints.nearest import angle_about
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array, is_symbolic
from catena.spatial.scalars import floor


@dataclass(frozen=True)
class Helical(JointKind):
    """Rotation about an axis that moves along it by `pitch` metres per radian. q = (angle,), v = dq/dt."""

    axis: Any = "z"
    pitch: Any = 0.0
    nq = 1
    nv = 1
    finds_coordinates_of_symbols = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", direction(self.axis, "Helical"))
        object.__setattr__(self, "pitch", number("pitch", self.pitch, "Helical"))

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Helical",) if self.axis == Z else ("Helical", self.axis)

    def params(self) -> tuple[float, ...]:
        return (self.pitch,)

    def with_params(self, params: Sequence[Any]) -> Helical:
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
        if not is_symbolic(self.pitch) and self.pitch == 0.0:
            return array([angle])
        # The displacement tells how many whole turns there are.
        turns = floor((X.p @ np.array(self.axis) / self.pitch - angle) / math.tau + 0.5)
        return array([angle + math.tau * turns])

    def flip(self) -> Helical:
        x, y, z = self.axis
        return Helical((0.0 - x, 0.0 - y, 0.0 - z), self.pitch)
