"""A linear spring with a damper along the line between two points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.errors import ModelError
from catena.forces.line import LineForce, LineOfAction
from catena.forces.parameters import number


@dataclass(frozen=True)
class PointSpring(LineForce):
    """A spring and a damper between the origins of two frames, which it pulls together with the tension
    stiffness (length - rest_length) + damping d(length)/dt. Where they coincide it does nothing."""

    stiffness: float = 0.0
    rest_length: float = 0.0
    damping: float = 0.0

    drawn_as = "spring"

    def __post_init__(self) -> None:
        for name in ("stiffness", "rest_length", "damping"):
            number(self, name, least=0.0)
        if self.stiffness == 0.0 and self.damping == 0.0:
            raise ModelError(
                "PointSpring: stiffness and damping are both zero, so it does nothing: give one of them"
            )

    @property
    def spends(self) -> bool:
        return self.damping != 0.0

    def stored(self, line: LineOfAction) -> Any:
        stretched = line.length - self.rest_length
        return 0.5 * self.stiffness * stretched * stretched

    def tension(self, line: LineOfAction) -> Any:
        return self.stiffness * (line.length - self.rest_length) + self.damping * line.rate
