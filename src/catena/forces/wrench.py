"""Wrenches from outside: a constant one, and one that is told at every instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from catena.forces.contract import FrameForce, Relative
from catena.forces.parameters import numbers
from catena.spatial import Force
from catena.spatial.scalars import array

ENTRIES = ("mx", "my", "mz", "fx", "fy", "fz")


@dataclass(frozen=True)
class ConstantWrench(FrameForce):
    """A constant `moment` [N m] and `force` [N] on b, at b's origin, in the axes of frame a: of ground for a load of
    constant direction, of b itself for one that turns along."""

    moment: tuple[float, ...] = (0.0, 0.0, 0.0)
    force: tuple[float, ...] = (0.0, 0.0, 0.0)

    reacts = False
    source = "wrenches"
    drawn_as = "arrow"

    def __post_init__(self) -> None:
        numbers(self, "moment", 3)
        numbers(self, "force", 3)

    def load(self, at: Relative) -> Force:
        return turned(at, (*self.moment, *self.force))


@dataclass(frozen=True)
class AppliedWrench(FrameForce):
    """A wrench [moment; force] on b, at b's origin, in the axes of frame a, that is told from outside at every
    instant: by a function, a table or a law."""

    inputs: ClassVar[int] = 6
    reacts = False
    source = "wrenches"
    drawn_as = "arrow"

    def load(self, at: Relative) -> Force:
        return turned(at, at.inputs)

    def outputs(self, at: Relative) -> Mapping[str, Any]:
        return dict(zip(ENTRIES, at.inputs, strict=True))


def turned(at: Relative, wrench: Any) -> Force:
    """Return the wrench with these six entries in a's axes, in b's."""
    return Force(array([*at.in_b(array(wrench[:3])), *at.in_b(array(wrench[3:]))]))
