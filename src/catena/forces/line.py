"""The line between the origins of two frames: how long it is, how fast it grows, and forces that pull along it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import renamed
from catena.forces.contract import FrameForce, Relative
from catena.spatial import Force
from catena.spatial.scalars import array, less, sqrt, where


@dataclass(frozen=True, eq=False)
class LineOfAction:
    """The line from a's origin to b's: its `length`, its `rate` of growth, and its direction `along` (3,) in b's axes,
    zero where the points coincide and there is no line to pull along."""

    length: Any
    rate: Any
    along: np.ndarray

    @classmethod
    def between(cls, at: Relative) -> LineOfAction:
        """Return the line between the origins of the two frames."""
        x, y, z = span = at.in_b(at.span)
        square = x * x + y * y + z * z
        apart = less(0.0, square)
        length = sqrt(square)
        along = array([where(apart, s, 0.0) / where(apart, length, 1.0) for s in span])
        return cls(length, along @ at.v.linear, along)

    def pull(self, tension: Any) -> Force:
        """Return the wrench on b of a force that pulls the two points together."""
        return Force(array([0.0, 0.0, 0.0, *(-tension * x for x in self.along)]))


class LineForce(FrameForce):
    """A force along the line between the origins of two frames, given by its tension and the energy it stores."""

    stores = True

    @abstractmethod
    def tension(self, line: LineOfAction) -> Any:
        """Return the force that pulls the two points together [N]."""

    @abstractmethod
    def stored(self, line: LineOfAction) -> Any:
        """Return the energy stored at this length [J]."""

    def load(self, at: Relative) -> Force:
        line = LineOfAction.between(at)
        return line.pull(self.tension(line))

    def energy(self, at: Relative) -> Any:
        return self.stored(LineOfAction.between(at))

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        line = LineOfAction.between(at)
        return {"length": line.length, "rate": line.rate, "tension": self.tension(line)}


__getattr__ = renamed("catena.forces.line", {"Line": "LineOfAction"})
