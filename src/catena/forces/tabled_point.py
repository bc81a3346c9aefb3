"""A spring and a damper between two points whose laws are tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.errors import ModelError
from catena.forces.line import LineForce, LineOfAction
from catena.forces.table import Table, require_tables


@dataclass(frozen=True)
class TabledPointSpring(LineForce):
    """A spring and a damper between the origins of two frames, which it pulls together with the tension
    spring(length) + damper(d(length)/dt), both tables. The energy is the integral of the spring's table, zero at its
    first point."""

    spring: Table | None = None
    damper: Table | None = None

    drawn_as = "spring"

    def __post_init__(self) -> None:
        require_tables("TabledPointSpring", spring=self.spring, damper=self.damper)
        if self.spring is None and self.damper is None:
            raise ModelError("TabledPointSpring: it has neither a spring nor a damper: give one of them")

    @property
    def spends(self) -> bool:
        return self.damper is not None

    def stored(self, line: LineOfAction) -> Any:
        return 0.0 if self.spring is None else self.spring.integral(line.length)

    def tension(self, line: LineOfAction) -> Any:
        spring = 0.0 if self.spring is None else self.spring.value(line.length)
        return spring if self.damper is None else spring + self.damper.value(line.rate)
