"""The fixed joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.joints.contract import JointKind
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform


@dataclass(frozen=True)
class Fixed(JointKind):
    """No motion at all: the child is welded to the parent."""

    nq = 0
    nv = 0
    drawn_as = "block"
    letters = "weld"
    words = "fixed together"
    finds_coordinates_of_symbols = True
    signature = ("Fixed",)
    simple_motions = ()

    def transform(self, q: np.ndarray) -> Transform:
        return Transform.identity()

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace.zero(0)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        return ForceSpace(np.eye(6))

    def coordinates(self, X: Transform) -> np.ndarray:
        return np.zeros(0)

    def flip(self) -> JointKind:
        return self
