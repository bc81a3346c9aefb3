"""Forces of a fluid on a body that is taken as an ellipsoid."""

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
from catena.spatial.scalars import array, less, sqrt, where

COEFFICIENTS = ("blunt", "slender", "angular", "kutta", "magnus")


@dataclass(frozen=True)
class EllipsoidInFluid(FrameForce):
    """Added mass, drag and lift of an ellipsoid with its centre and axes in frame b, in a fluid that moves with frame a
    (the ground for one at rest) and flows there with the velocity `flow` (3,) [m/s].

    This is MuJoCo's model of a fluid for shapes that ask for it. With the semi-axes `radii` (3,) [m], the `density`
    [kg/m^3] and `viscosity` [Pa s] of the fluid, the volume V, and the velocity v and angular velocity w of the
    ellipsoid in the fluid, the force and the moment about its centre are

        p x w + density V magnus w x v + density kutta c A (n x v) x v
              - (3 pi viscosity D + density |v| (blunt A + slender (A_max - A))) v
        p x v + h x w - (pi viscosity D^3 + density |m|) w

    with the momenta p = density `added_mass` v and h = density `added_inertia` w of the fluid that moves along, the
    diameter D of a sphere like it, the area A that it shows to the flow and the largest A_max that it has, the normal n
    of its surface there, c = cos(n, v), and m_i = w_i (angular I_i + slender (I_max - I_i)) with the moments I = 8 pi
    r_i r^4 / 15, r the larger of the other two radii. `added_mass` (3,) [m^3] and `added_inertia` (3,) [m^5] are
    volumes and their moments; all forces are multiplied by `share`.
    """

    radii: tuple[float, ...] = (1.0, 1.0, 1.0)
    density: float = 0.0
    viscosity: float = 0.0
    flow: tuple[float, ...] = (0.0, 0.0, 0.0)
    blunt: float = 0.5
    slender: float = 0.25
    angular: float = 1.5
    kutta: float = 1.0
    magnus: float = 1.0
    added_mass: tuple[float, ...] = (0.0, 0.0, 0.0)
    added_inertia: tuple[float, ...] = (0.0, 0.0, 0.0)
    share: float = 1.0

    source = "wrenches"
    drawn_as = "arrow"

    def __post_init__(self) -> None:
        numbers(self, "radii", 3, least=0.0)
        numbers(self, "flow", 3)
        for name in ("density", "viscosity", "share"):
            number(self, name, least=0.0)
        for name in COEFFICIENTS:
            number(self, name)
        for name in ("added_mass", "added_inertia"):
            numbers(self, name, 3)
        if self.density == self.viscosity == 0.0:
            raise ModelError(
                "EllipsoidInFluid: the fluid has neither density nor viscosity: give one of them"
            )
        if not all(self.radii):
            raise ModelError(f"EllipsoidInFluid: radii are {self.radii}: give more than zero")

    def load(self, at: Relative) -> Force:
        w, v = at.v.angular, self._velocity(at)
        a, b, c = self.radii
        speed = _length(v)
        p = [self.density * x * y for x, y in zip(self.added_mass, v, strict=True)]
        h = [self.density * x * y for x, y in zip(self.added_inertia, w, strict=True)]
        # The normal, not of length 1, and the area that is shown to the flow.
        n = [(b * c) * (b * c) * v[0], (c * a) * (c * a) * v[1], (a * b) * (a * b) * v[2]]
        along, square = _dot(n, v), _dot(n, n)
        moves = less(0.0, along)
        safe = where(moves, along, 1.0)
        area = where(moves, pi * sqrt(where(moves, square, 1.0) / safe), 0.0)
        largest, middle = _largest_two(a, b, c)
        cosine = where(moves, along / (where(moves, speed, 1.0) * where(moves, square, 1.0)), 0.0)
        volume = 4.0 / 3.0 * pi * a * b * c
        turn_lift = self.magnus * self.density * volume
        lift = self.kutta * self.density * cosine * area
        diameter = 2.0 / 3.0 * (a + b + c)
        drag = 3.0 * pi * self.viscosity * diameter + self.density * speed * (
            self.blunt * area + self.slender * (pi * largest * middle - area)
        )
        most = 8.0 / 15.0 * pi * middle * _fourth(largest)
        moments = [
            8.0 / 15.0 * pi * own * _fourth(where(less(one, other), other, one))
            for own, one, other in ((a, b, c), (b, c, a), (c, a, b))
        ]
        turning = [w[k] * (self.angular * moments[k] + self.slender * (most - moments[k])) for k in range(3)]
        brake = pi * self.viscosity * diameter * diameter * diameter + self.density * _length(turning)
        circling = _cross(_cross(n, v), v)
        magnus, dragged = _cross(w, v), _cross(p, w)
        force = [dragged[k] + turn_lift * magnus[k] + lift * circling[k] - drag * v[k] for k in range(3)]
        one, other = _cross(p, v), _cross(h, w)
        moment = [one[k] + other[k] - brake * w[k] for k in range(3)]
        return Force(array([self.share * x for x in (*moment, *force)]))

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        return {"speed": _length(self._velocity(at))}

    def _velocity(self, at: Relative) -> np.ndarray:
        return at.v.linear - at.in_b(array(self.flow))


def _dot(x: Any, y: Any) -> Any:
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


def _length(x: Any) -> Any:
    """Return the length of a vector, with a slope where it is zero."""
    square = _dot(x, x)
    moves = less(0.0, square)
    return where(moves, sqrt(where(moves, square, 1.0)), 0.0)


def _cross(x: Any, y: Any) -> list[Any]:
    return [
        x[1] * y[2] - x[2] * y[1],
        x[2] * y[0] - x[0] * y[2],
        x[0] * y[1] - x[1] * y[0],
    ]


def _fourth(x: Any) -> Any:
    return x * x * x * x


def _largest_two(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return the largest of three numbers, and the second of them."""
    high, low = where(less(a, b), b, a), where(less(a, b), a, b)
    return where(less(high, c), c, high), where(less(c, low), low, where(less(high, c), high, c))
