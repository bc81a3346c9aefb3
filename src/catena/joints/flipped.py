"""Any joint seen from its other side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.around import Around
from catena.joints.contract import JointKind, SimpleMotion, reversed_motions
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform
from catena.spatial.scalars import Scalar


@dataclass(frozen=True)
class Flipped(Around, JointKind):
    """The joint `kind` with parent and child exchanged; q and v keep their meaning.

    With X the transform of `kind`, the twist of the parent relative to the child is -S v, seen from the
    parent it is -X^-1 S v. Its rate is -X^-1 (Sdot v + S v x S v), and the cross product of a twist with
    itself is zero.
    """

    def params(self) -> tuple[float, ...]:
        return self.kind.params()

    def with_params(self, params: Sequence[Scalar]) -> Flipped:
        return Flipped(self.kind.with_params(params))

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        R, kind = self.kind.canonical()
        flipped = kind.flip()
        if isinstance(flipped, Flipped):
            return R, flipped
        further, kind = flipped.canonical()
        return R @ further, kind

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...] | None:
        return reversed_motions(self.kind.simple_motions)

    def transform(self, q: np.ndarray) -> Transform:
        return self.kind.transform(q).inverse()

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return -self.kind.transform(q).pull_motion(self.kind.motion_space(q))

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return -self.kind.transform(q).pull_motion(self.kind.bias(q, v))

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        return self.kind.transform(q).pull(self.kind.constraint_space(q))

    @property
    def follows(self) -> bool:
        return self.kind.follows

    def restoring(self, q: np.ndarray) -> Any:
        return self.kind.restoring(q)

    def energy(self, q: Any) -> Any:
        return self.kind.energy(q)

    def tangent(self, q: Any) -> Any:
        return self.kind.tangent(q)  # type: ignore[attr-defined]

    def coordinates(self, X: Transform) -> np.ndarray:
        return self.kind.coordinates(X.inverse())

    def coordinates_near(self, X: Transform, near: np.ndarray) -> np.ndarray:
        return self.kind.coordinates_near(X.inverse(), near)

    def flip(self) -> JointKind:
        return self.kind
