"""A gas spring: the force of an enclosed gas between two points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from catena.errors import ModelError
from catena.forces.line import LineForce, LineOfAction
from catena.forces.parameters import number
from catena.spatial.scalars import less, logarithm, power, where

SHORTEST = 1e-3
"""The gas column is never shorter than this part of `column`: there the force stays what it is."""


@dataclass(frozen=True)
class GasSpring(LineForce):
    """A gas enclosed between a cylinder and a piston, which pushes the origins of two frames apart.

    At the distance `length` [m] it pushes with `force` [N] and the gas column is `column` [m] long. Elsewhere the
    pressure changes as (column / current column)^exponent: 1.4 for quick motions of air, 1 where the temperature stays.
    `outside` [N] is what the pressure around it pushes back. `damping` is that of the piston.
    """

    force: float
    length: float
    column: float
    exponent: float = 1.4
    outside: float = 0.0
    damping: float = 0.0
    is_isothermal: bool = field(init=False)

    drawn_as = "damper"

    def __post_init__(self) -> None:
        for name in ("force", "length", "column", "exponent", "outside", "damping"):
            number(self, name, least=0.0)
        if self.column == 0.0:
            raise ModelError("GasSpring: column is zero: give the length of the gas column in metres")
        object.__setattr__(self, "is_isothermal", self.exponent == 1.0)

    @property
    def spends(self) -> bool:
        return self.damping != 0.0

    def stored(self, line: LineOfAction) -> Any:
        part, beyond = self._part(line)
        if self.is_isothermal:
            work = self.force * self.column * logarithm(part)
        else:
            work = self.force * self.column * (power(part, 1.0 - self.exponent) - 1.0) / (1.0 - self.exponent)
        return -work - self._push(part) * beyond + self.outside * (line.length - self.length)

    def tension(self, line: LineOfAction) -> Any:
        return self.outside - self._push(self._part(line)[0]) + self.damping * line.rate

    def _push(self, part: Any) -> Any:
        return self.force / (part if self.is_isothermal else power(part, self.exponent))

    def _part(self, line: LineOfAction) -> tuple[Any, Any]:
        """Return the gas column as a part of `column`, no shorter than the shortest, and how much is missing to that
        [m]."""
        part = 1.0 + (line.length - self.length) / self.column
        kept = where(less(part, SHORTEST), SHORTEST, part)
        return kept, (part - kept) * self.column
