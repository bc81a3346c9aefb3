"""Forces of a fluid on a body that is taken as a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import FrameForce, Relative
from catena.forces.parameters import number, numbers
from catena.spatial import Force
from catena.spatial.scalars import absolute, array, sqrt


@dataclass(frozen=True)
class BoxInFluid(FrameForce):
    """Drag on a box with its centre and edges in frame b, in a fluid that moves with frame a (the ground for one at
    rest) and flows there with the velocity `flow` (3,) [m/s].

    This is MuJoCo's model of a fluid for bodies without a shape of their own. With the edges `size` (3,) = (x, y, z)
    [m], their mean s, the velocity v and angular velocity w of the box in the fluid, the force and moment along its
    first axis are

        -3 pi viscosity s v_x - density y z |v_x| v_x / 2
        -pi viscosity s^3 w_x - density x (y^4 + z^4) |w_x| w_x / 64

    and likewise along the others, for a `density` [kg/m^3] and a `viscosity` [Pa s].
    """

    size: tuple[float, ...] = (1.0, 1.0, 1.0)
    density: float = 0.0
    viscosity: float = 0.0
    flow: tuple[float, ...] = (0.0, 0.0, 0.0)

    source = "wrenches"
    drawn_as = "arrow"

    def __post_init__(self) -> None:
        numbers(self, "size", 3, least=0.0)
        number(self, "density", least=0.0)
        number(self, "viscosity", least=0.0)
        numbers(self, "flow", 3)
        if self.density == self.viscosity == 0.0:
            raise ModelError("BoxInFluid: the fluid has neither density nor viscosity: give one of them")

    def load(self, at: Relative) -> Force:
        w, v = at.v.angular, self._velocity(at)
        mean = sum(self.size, 0.0) / 3.0
        moment, force = [], []
        for k in range(3):
            own, one, other = (self.size[(k + n) % 3] for n in range(3))
            turning = own * (one * one * one * one + other * other * other * other) / 64.0
            moment.append(
                -(pi * mean * mean * mean * self.viscosity + self.density * turning * absolute(w[k])) * w[k]
            )
            moving = 3.0 * pi * mean * self.viscosity + 0.5 * self.density * one * other * absolute(v[k])
            force.append(-moving * v[k])
        return Force(array([*moment, *force]))

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        x, y, z = self._velocity(at)
        return {"speed": sqrt(x * x + y * y + z * z)}

    def _velocity(self, at: Relative) -> np.ndarray:
        return at.v.linear - at.in_b(array(self.flow))
