"""A linear spring with a damper along the line between two points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catena.errors import ModelError
from catena.forces.contract import FrameForce, Relative
from catena.forces.line import Line
from catena.forces.parameters import number
from catena.spatial import Force


@dataclass(frozen=True)
class PointSpring(FrameForce):
    """A spring and a damper between the origins of two frames, which it pulls together with the tension
    stiffness (length - rest_length) + damping d(length)/dt. Where they coincide it does nothing."""

    stiffness: float = 0.0
    rest_length: float = 0.0
    damping: float = 0.0

    stores = True
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

    def load(self, at: Relative) -> Force:
        line = Line.between(at)
        return line.pull(self._tension(line))

    def energy(self, at: Relative) -> Any:
        stretched = Line.between(at).length - self.rest_length
        return 0.5 * self.stiffness * stretched * stretched

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        line = Line.between(at)
        return {"length": line.length, "rate": line.rate, "tension": self._tension(line)}

    def _tension(self, line: Line) -> Any:
        return self.stiffness * (line.length - self.rest_length) + self.damping * line.rate
