"""Joint kinds that stand around another one: what they have in common, one that resists less because other joints
resist the rest already (`Reduced`), and one with the inertia of rotors (`WithRotor`)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.contract import JointKind, SimpleMotion
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform
from catena.spatial.scalars import Scalar, array


@dataclass(frozen=True)
class Around:
    """The part of a kind that stands around `kind`: it has its coordinates, and its code is that of both."""

    kind: JointKind

    @property
    def nq(self) -> int:
        return self.kind.nq

    @property
    def nv(self) -> int:
        return self.kind.nv

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return (type(self).__name__, *self.kind.signature)

    @property
    def is_floating(self) -> bool:
        return self.kind.is_floating

    @property
    def quaternion_start(self) -> int | None:
        return self.kind.quaternion_start

    @property
    def is_modal(self) -> bool:
        return self.kind.is_modal

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.kind.rate(q, v)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.kind.integrate(q, v)

    def local_rate(self, xi: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.kind.local_rate(xi, v)

    @property
    def turning(self) -> tuple[int, ...]:
        return self.kind.turning

    @property
    def wraps(self) -> tuple[int, ...]:
        return self.kind.wraps

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return self.kind.difference(q0, q1)

    def neutral(self) -> np.ndarray:
        return self.kind.neutral()

    def check(self, q: np.ndarray, joint: str = "") -> None:
        self.kind.check(q, joint)

    def rotor_fault(self, armature: np.ndarray) -> str | None:
        return self.kind.rotor_fault(armature)


def described(kind: JointKind | None) -> JointKind | None:
    """Return a kind as its joint was described, whichever side a plan sees it from and whatever is geared to it."""
    while isinstance(kind, Around):
        kind = kind.kind
    return kind


@dataclass(frozen=True)
class SameMotion(Around):
    """The part of a kind that moves as `kind` does."""

    @property
    def finds_coordinates_of_symbols(self) -> bool:
        return self.kind.finds_coordinates_of_symbols

    @property
    def simple_motions(self) -> tuple[SimpleMotion, ...] | None:
        return self.kind.simple_motions

    def transform(self, q: np.ndarray) -> Transform:
        return self.kind.transform(q)

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return self.kind.motion_space(q)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return self.kind.bias(q, v)

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        return self.kind.constraint_space(q)

    @property
    def has_constant_constraint_space(self) -> bool:
        return self.kind.has_constant_constraint_space

    @property
    def has_constant_motion_space(self) -> bool:
        return self.kind.has_constant_motion_space

    def coordinates(self, X: Transform) -> np.ndarray:
        return self.kind.coordinates(X)

    def coordinates_near(self, X: Transform, near: np.ndarray) -> np.ndarray:
        return self.kind.coordinates_near(X, near)


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

    def with_params(self, params: Sequence[Scalar]) -> Reduced:
        own = len(self.kind.params())
        kind = self.kind.with_params(params[:own]) if own else self.kind
        rows = [tuple(params[own + self.k * i : own + self.k * (i + 1)]) for i in range(len(self.kept))]
        return Reduced(kind, tuple(rows), self.k)

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        if not self.k:
            return ForceSpace(np.zeros((6, 0)))
        return ForceSpace(self.kind.constraint_space(q).array @ array([list(row) for row in self.kept]))


@dataclass(frozen=True)
class WithRotor(SameMotion, JointKind):  # type: ignore[override]
    """The joint `kind` whose velocity components have the inertias `armature` (nv of them) of their own, besides those
    of the bodies that they move. They are data to the compiled code; joints without rotors have no code for them."""

    armature: tuple[Any, ...]

    @property
    def rotor(self) -> np.ndarray:
        return array(self.armature)

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("WithRotor", *self.kind.signature)

    def params(self) -> tuple[float, ...]:
        return (*self.kind.params(), *self.armature)

    def with_params(self, params: Sequence[Scalar]) -> WithRotor:
        own = len(self.kind.params())
        kind = self.kind.with_params(params[:own]) if own else self.kind
        return WithRotor(kind, tuple(params[own:]))

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        R, kind = self.kind.canonical()
        return R, WithRotor(kind, self.armature)

    def flip(self) -> JointKind:
        return WithRotor(self.kind.flip(), self.armature)
