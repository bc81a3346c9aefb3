"""A force against gravity, whatever gravity is."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

from catena.forces.contract import FrameForce, Relative
from catena.forces.parameters import number
from catena.spatial import Force
from catena.spatial.scalars import array

USUAL = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Buoyancy(FrameForce):
    """The lift -`mass` * gravity on b, at b's origin: of the fluid that a float displaces, or of whatever else bears
    the weight of so much mass [kg]. It follows the gravity of the mechanism, and a negative mass is more weight. Frame
    a is ground; the energy is zero with b at its origin."""

    mass: float
    gravity: tuple[float, ...] = field(default=USUAL, init=False, repr=False, compare=False)

    reacts = False
    stores = True
    weighs = True
    source = "wrenches"
    drawn_as = "none"

    def __post_init__(self) -> None:
        number(self, "mass")

    @property
    def spends(self) -> bool:
        return False

    def under(self, gravity: Any) -> Self:
        changed = copy(self)
        object.__setattr__(changed, "gravity", tuple(gravity))
        return changed

    def named_params(self) -> dict[str, float | tuple[float, ...]]:
        # Gravity is that of the mechanism, which has a name already.
        return {"mass": self.mass}

    def load(self, at: Relative) -> Force:
        lift = at.in_b(array([-self.mass * g for g in self.gravity]))
        return Force(array([0.0, 0.0, 0.0, *lift]))

    def energy(self, at: Relative) -> Any:
        return self.mass * sum(g * x for g, x in zip(self.gravity, at.span, strict=True))
