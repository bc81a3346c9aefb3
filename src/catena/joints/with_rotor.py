"""A joint with the inertia of rotors that are geared to it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.joints.around import SameMotion
from catena.joints.contract import JointKind
from catena.spatial.scalars import array


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

    def with_params(self, params: Sequence[Any]) -> WithRotor:
        own = len(self.kind.params())
        kind = self.kind.with_params(params[:own]) if own else self.kind
        return WithRotor(kind, tuple(params[own:]))

    def canonical(self) -> tuple[np.ndarray, JointKind]:
        R, kind = self.kind.canonical()
        return R, WithRotor(kind, self.armature)

    def flip(self) -> JointKind:
        return WithRotor(self.kind.flip(), self.armature)
