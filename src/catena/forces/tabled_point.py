"""A spring and a damper between two points whose laws are tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catena.errors import ModelError
from catena.forces.contract import FrameForce, Relative
from catena.forces.line import Line
from catena.forces.table import Table, require_tables
from catena.spatial import Force


@dataclass(frozen=True)
class TabledPointSpring(FrameForce):
    """A spring and a damper between the origins of two frames, which it pulls together with the tension
    spring(length) + damper(d(length)/dt), both tables. The energy is the integral of the spring's table, zero at its
    first point."""

    spring: Table | None = None
    damper: Table | None = None

    stores = True
    drawn_as = "spring"

    def __post_init__(self) -> None:
        require_tables("TabledPointSpring", spring=self.spring, damper=self.damper)
        if self.spring is None and self.damper is None:
            raise ModelError("TabledPointSpring: it has neither a spring nor a damper: give one of them")

    @property
    def spends(self) -> bool:
        return self.damper is not None

    def load(self, at: Relative) -> Force:
        line = Line.between(at)
        return line.pull(self._tension(line))

    def energy(self, at: Relative) -> Any:
        return 0.0 if self.spring is None else self.spring.integral(Line.between(at).length)

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        line = Line.between(at)
        return {"length": line.length, "rate": line.rate, "tension": self._tension(line)}

    def _tension(self, line: Line) -> Any:
        spring = 0.0 if self.spring is None else self.spring.value(line.length)
        return spring if self.damper is None else spring + self.damper.value(line.rate)
