"""The universal joint."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from catena.errors import ModelError
from catena.joints.axes import AxisField, Direction, Z
from catena.joints.contract import HINGE, IDENTITY, JointKind, SimpleMotion, in_order
from catena.joints.nearest import angle_about
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array, cross3, is_symbolic
from catena.spatial.scalars import Scalar, atan2


@dataclass(frozen=True)
class Universal(JointKind):
    """Rotation about `axis1`, then about `axis2` as the first rotation has left it.

    The axes intersect and need not be perpendicular. q = (angle1, angle2), v = dq/dt. The parameters are the
    sine and the cosine of the angle between the axes.
    """

    axis1: AxisField = AxisField("z", " (first axis)")
    axis2: AxisField = AxisField("x", " (second axis)")
    nq = 2
    nv = 2
    drawn_as = "cross"
    letters = "U"
    words = "universal"
    velocity_names = ("angle1", "angle2")
    finds_coordinates_of_symbols = True
    wraps = (0, 1)

    def __post_init__(self) -> None:
        if not is_symbolic([*self.axis1, *self.axis2]) and self.params()[0] < 1e-6:
            raise ModelError(
                f"Universal: the axes {self.axis1} and {self.axis2} are parallel; give two different "
                "directions, or use Revolute."
            )

    @property
    def drawn_along(self) -> tuple[Direction, ...]:
        return (self.axis1, self.axis2)

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...]:
        return in_order((HINGE, self.axis1), (HINGE, self.axis2))

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Universal",) if self._is_canonical() else ("Universal", self.axis1, self.axis2)

    def _is_canonical(self) -> bool:
        """Return whether the first axis is z and the second lies in the xz plane, on the side of x."""
        if self.axis1 != Z or is_symbolic(self.axis2):
            return False
        return self.axis2[0] > 0.0 and self.axis2[1] == 0.0

    def params(self) -> tuple[float, ...]:
        a, b = self.axis1, self.axis2
        cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
        normal = cross3(a, b).tolist()
        return (math.sqrt(sum(x * x for x in normal)), cosine)

    def with_params(self, params: Sequence[Scalar]) -> Universal:
        sine, cosine = params
        across = self._frame()[:, 0].tolist()
        second = [sine * e + cosine * a for e, a in zip(across, self.axis1, strict=True)]
        return Universal(self.axis1, second)

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        if self._is_canonical():
            return IDENTITY, self
        sine, cosine = self.params()
        return self._frame(), Universal("z", (sine, 0.0, cosine))

    def _frame(self) -> np.ndarray:
        """Return the frame whose z is the first axis and whose xz plane holds the second, x towards it."""
        if self._is_canonical():
            return IDENTITY
        normal = cross3(self.axis1, self.axis2)
        y = normal / np.sqrt(normal @ normal)
        return np.array([cross3(y, self.axis1), y, self.axis1]).T

    def transform(self, q: np.ndarray) -> Transform:
        return Transform.rotation(self.axis2, q[1]) * Transform.rotation(self.axis1, q[0])

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        first = Transform.rotation(self.axis2, q[1]).R @ array(self.axis1)
        return MotionSpace.from_entries([*first, 0.0, 0.0, 0.0, *self.axis2, 0.0, 0.0, 0.0])

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        first = Transform.rotation(self.axis2, q[1]).R @ array(self.axis1)
        rate = v[0] * v[1]
        return Motion([*(rate * x for x in cross3(first, self.axis2)), 0.0, 0.0, 0.0])

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        first = Transform.rotation(self.axis2, q[1]).R @ array(self.axis1)
        normal = cross3(first, self.axis2)
        return ForceSpace.from_entries([*normal, *[0.0] * 6, *_FORCES])

    def coordinates(self, X: Transform) -> np.ndarray:
        a, b = array(self.axis1), array(self.axis2)
        # The second axis is only turned by the first angle.
        c = X.R.T @ b
        q1 = atan2(a @ cross3(b, c), b @ c - (a @ b) * (a @ c))
        return array([q1, angle_about(self.axis2, X * Transform.rotation(self.axis1, q1).inverse())])


_FORCES = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
