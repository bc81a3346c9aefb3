"""A joint that closes a loop and resists less than it could, because other joints resist the rest already."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.around import Around
from catena.joints.contract import JointKind
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform
from catena.spatial.scalars import array


@dataclass(frozen=True)
class Reduced(Around, JointKind):
    """The joint `kind`, of whose constraint space Phi (6 x m) only Phi `kept` (m rows, k columns) counts.

    It moves as `kind` does, but leaves m - k directions to others. `kept` is data to the compiled code, `k` is not.
    """

    kept: tuple[tuple[Any, ...], ...]
    k: int

    @property
    def finds_coordinates_of_symbols(self) -> bool:  # type: ignore[override]
        return self.kind.finds_coordinates_of_symbols

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

    def transform(self, q: np.ndarray) -> Transform:
        return self.kind.transform(q)

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return self.kind.motion_space(q)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return self.kind.bias(q, v)

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        if not self.k:
            return ForceSpace(np.zeros((6, 0)))
        return ForceSpace(self.kind.constraint_space(q).array @ array([list(row) for row in self.kept]))

    @property
    def resists_alike(self) -> bool:
        return self.kind.resists_alike

    @property
    def moves_alike(self) -> bool:
        return self.kind.moves_alike

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.kind.rate(q, v)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.kind.integrate(q, v)

    def local_rate(self, xi: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.kind.local_rate(xi, v)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return self.kind.difference(q0, q1)

    def coordinates(self, X: Transform) -> np.ndarray:
        return self.kind.coordinates(X)

    def neutral(self) -> np.ndarray:
        return self.kind.neutral()

    def check(self, q: np.ndarray, joint: str = "") -> None:
        self.kind.check(q, joint)
