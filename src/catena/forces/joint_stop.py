"""Elastic stops at the limits of a joint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import AtJoint, JointForce
from catena.forces.joint_spring import joint_outputs
from catena.forces.parameters import numbers
from catena.forces.smooth import positive, push_back
from catena.joints import JointKind
from catena.spatial.scalars import array
from catena.validation import real_array, shown

FAR = 1e300
"""Where a limit is that is not there; infinity would not pass for a finite parameter."""


@dataclass(frozen=True)
class JointStop(JointForce):
    """Stops at the lowest and highest positions of a joint, each with nv numbers: `low`, `high`, `stiffness` and
    `damping`. Beyond a limit by d a stop pushes back with stiffness d + damping d', the damper getting hold over the
    first hundredth of a millimetre, and never pulls.

    Positions are counted by difference(neutral, q), which is q for all kinds but those with quaternions. A component
    without limits has limits that are `FAR` away.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]

    stores = True
    drawn_as = "none"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            try:
                array = np.atleast_1d(real_array(getattr(self, name)))
            except ValueError:
                raise ModelError(
                    f"JointStop: {name} is {shown(getattr(self, name))}: give a number for each velocity component"
                ) from None
            object.__setattr__(self, name, tuple(np.clip(array, -FAR, FAR).tolist()))
        for name, least in (("low", -np.inf), ("high", -np.inf), ("stiffness", 0.0), ("damping", 0.0)):
            numbers(self, name, len(self.low), least=least)

    def check(self, joint: JointKind, who: str) -> None:
        if len(self.low) != joint.nv:
            raise ModelError(
                f"{who}: the stops have {len(self.low)} components: give {joint.nv} for this joint"
            )

    @property
    def spends(self) -> bool:
        return any(self.damping)

    def load(self, at: AtJoint) -> np.ndarray:
        d, A = at.deflection()
        rate = at.v if A is None else A @ at.v
        parts = zip(d, rate, self.low, self.high, self.stiffness, self.damping, strict=True)
        push = array(
            [push_back(lo - x, -dx, k, c) - push_back(x - hi, dx, k, c) for x, dx, lo, hi, k, c in parts]
        )
        return push if A is None else A.T @ push

    def energy(self, at: AtJoint) -> Any:
        d, _ = at.deflection()
        depths = [
            (positive(lo - x), positive(x - hi)) for x, lo, hi in zip(d, self.low, self.high, strict=True)
        ]
        return sum([0.5 * k * (a * a + b * b) for k, (a, b) in zip(self.stiffness, depths, strict=True)], 0.0)

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        d, _ = at.deflection()
        beyond = [
            positive(x - hi) - positive(lo - x) for x, lo, hi in zip(d, self.low, self.high, strict=True)
        ]
        return joint_outputs(beyond, self.load(at))
