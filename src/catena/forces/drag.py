"""Drag of a medium that moves with one frame on the body of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import FrameForce, Relative
from catena.forces.parameters import number
from catena.spatial import Force
from catena.spatial.scalars import array, sqrt


@dataclass(frozen=True)
class Drag(FrameForce):
    """Drag on b, at b's origin, in a medium that moves with frame a (the ground for air at rest).

    The force is -(linear + quadratic |v|) v [N] for the velocity v of b relative to a, the moment -(angular +
    angular_quadratic |w|) w [N m] for the angular velocity w.
    """

    linear: float = 0.0
    quadratic: float = 0.0
    angular: float = 0.0
    angular_quadratic: float = 0.0

    drawn_as = "arrow"

    def __post_init__(self) -> None:
        for name in ("linear", "quadratic", "angular", "angular_quadratic"):
            number(self, name, least=0.0)
        if self.linear == self.quadratic == self.angular == self.angular_quadratic == 0.0:
            raise ModelError("Drag: all coefficients are zero, so it does nothing: give one of them")

    def load(self, at: Relative) -> Force:
        moment = _against(at.v.angular, self.angular, self.angular_quadratic)
        return Force(array([*moment, *_against(at.v.linear, self.linear, self.quadratic)]))

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        x, y, z = at.v.linear
        return {"speed": sqrt(x * x + y * y + z * z)}


def _against(v: np.ndarray, linear: Any, quadratic: Any) -> list[Any]:
    x, y, z = v
    factor = linear + quadratic * sqrt(x * x + y * y + z * z)
    return [-factor * x, -factor * y, -factor * z]
