"""A servo at a joint: a motor whose effort is an affine law of a signal, the position and the velocity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import AtJoint, JointForce
from catena.forces.deflection import is_vector
from catena.forces.parameters import number, numbers
from catena.joints import JointKind
from catena.spatial.scalars import array, less, where


@dataclass(frozen=True)
class Servo(JointForce):
    """A servo at one component of a joint: tau = `gear` times the effort of its motor, which is

        (g0 + g1 x + g2 x') signal + b0 + b1 x + b2 x'

    at the motor's position x = gear q, and never beyond `limits` (lowest, highest), none where there are none. `gain`
    are g0, g1, g2 and `bias` are b0, b1, b2; what is left out at their ends is zero. A position servo of stiffness kp
    and damping kv has gain (kp,), bias (0, -kp, -kv) and the wanted position as its `signal`; a velocity servo has gain
    (kv,), bias (0, 0, -kv) and the wanted velocity.
    """

    gain: tuple[float, ...] = (0.0, 0.0, 0.0)
    bias: tuple[float, ...] = (0.0, 0.0, 0.0)
    signal: float = 0.0
    gear: float = 1.0
    limits: tuple[float, ...] = ()
    component: int = 0

    source = "wrenches"
    drawn_as = "none"

    def __post_init__(self) -> None:
        for name in ("gain", "bias"):
            numbers(self, name)
            coefficients = getattr(self, name)
            if len(coefficients) > 3:
                raise ModelError(f"Servo: {name} has {len(coefficients)} numbers: give at most three")
            object.__setattr__(self, name, (*coefficients, *(0.0,) * (3 - len(coefficients))))
        number(self, "signal")
        number(self, "gear")
        numbers(self, "limits")
        if len(self.limits) not in (0, 2) or (self.limits and self.limits[0] > self.limits[1]):
            raise ModelError(f"Servo: limits are {self.limits}: give the lowest and the highest effort")

    @property
    def as_servo(self) -> Servo:
        return self

    def check(self, joint: JointKind, who: str) -> None:
        if not 0 <= self.component < joint.nv:
            raise ModelError(
                f"{who}: component is {self.component}: this joint has {joint.nv}, counted from 0"
            )
        if not is_vector(joint):
            raise ModelError(f"{who}: this joint has a quaternion, which a servo does not follow")

    def load(self, at: AtJoint) -> np.ndarray:
        effort = self._effort(at)
        return array([self.gear * effort if k == self.component else 0.0 for k in range(at.joint.nv)])

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        return {"effort": self._effort(at)}

    def _effort(self, at: AtJoint) -> Any:
        effort = self.law(at.q[self.component], at.v[self.component], self.signal)
        if self.limits:
            low, high = self.limits
            effort = where(less(effort, low), low, where(less(high, effort), high, effort))
        return effort

    def law(self, q: Any, v: Any, signal: Any) -> Any:
        """Return the effort of the motor at a position and velocity of the joint under a signal, without limits."""
        x, rate = self.gear * q, self.gear * v
        (g0, g1, g2), (b0, b1, b2) = self.gain, self.bias
        return (g0 + g1 * x + g2 * rate) * signal + b0 + b1 * x + b2 * rate
