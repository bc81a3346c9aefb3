"""A cable, which pulls and never pushes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.errors import ModelError
from catena.forces.line import LineForce, LineOfAction
from catena.forces.parameters import number
from catena.forces.smooth import positive, push_back


@dataclass(frozen=True)
class Cable(LineForce):
    """A cable between the origins of two frames: slack up to its `rest_length`, beyond it elastic with the tension
    stiffness (length - rest_length) + damping d(length)/dt, which is never negative."""

    stiffness: float
    rest_length: float = 0.0
    damping: float = 0.0

    drawn_as = "cable"

    def __post_init__(self) -> None:
        for name in ("stiffness", "rest_length", "damping"):
            number(self, name, least=0.0)
        if self.stiffness == 0.0:
            raise ModelError("Cable: stiffness is zero, so it holds nothing: give more than zero")

    @property
    def spends(self) -> bool:
        return self.damping != 0.0

    def stored(self, line: LineOfAction) -> Any:
        stretched = positive(line.length - self.rest_length)
        return 0.5 * self.stiffness * stretched * stretched

    def tension(self, line: LineOfAction) -> Any:
        return push_back(line.length - self.rest_length, line.rate, self.stiffness, self.damping)
