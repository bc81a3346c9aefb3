"""A joint that closes a loop and resists less than it could, because other joints resist the rest already."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.around import SameMotion
from catena.joints.contract import JointKind
from catena.spatial import ForceSpace
from catena.spatial.scalars import array


@dataclass(frozen=True)
class Reduced(SameMotion, JointKind):  # type: ignore[override]
    """The joint `kind`, of whose constraint space Phi (6 x m) only Phi `kept` (m rows, k columns) counts.

    It moves as `kind` does, but leaves m - k directions to others. `kept` is data to the compiled code, `k` is not.
    """

    kept: tuple[tuple[Any, ...], ...]
    k: int

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Reduced", self.k, *self.kind.signature)

    def params(self) -> tuple[float, ...]:
        return (*self.kind.params(), *(x for row in self.kept for x in row))

    def with_params(self, params: Sequence[Any]) -> Reduced:
        own = len(self.kind.params())
        kind = self.kind.with_params(params[:own]) if own else self.kind
        rows = [tuple(params[own + self.k * i : own + self.k * (i + 1)]) for i in range(len(self.kept))]
        return Reduced(kind, tuple(rows), self.k)

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        if not self.k:
            return ForceSpace(np.zeros((6, 0)))
        return ForceSpace(self.kind.constraint_space(q).array @ array([list(row) for row in self.kept]))
