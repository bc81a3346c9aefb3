"""A spring and a damper at a joint whose laws are polynomials."""

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
from catena.spatial.scalars import absolute, array


@dataclass(frozen=True)
class PolynomialJointSpring(JointForce):
    """A spring and a damper at one component of a joint: tau = -(k0 + k1 d + k2 d^2 + ...) d - (c0 + c1 |v| + c2 v^2 +
    ...) v in that component, with the deflection d = q - `rest`.

    `stiffness` are k0, k1, ..., `damping` are c0, c1, ..., none of them where there is no spring or no damper. A spring
    needs a joint whose positions are plain numbers; a damper does not.
    """

    stiffness: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()
    rest: float = 0.0
    component: int = 0

    stores = True
    drawn_as = "spring"

    def __post_init__(self) -> None:
        numbers(self, "stiffness")
        numbers(self, "damping", least=0.0)
        number(self, "rest")
        if not self.stiffness and not self.damping:
            raise ModelError(
                "PolynomialJointSpring: it has neither stiffness nor damping, so it does nothing: give one"
            )

    def check(self, joint: JointKind, who: str) -> None:
        if not 0 <= self.component < joint.nv:
            raise ModelError(
                f"{who}: component is {self.component}: this joint has {joint.nv}, counted from 0"
            )
        if self.stiffness and not is_vector(joint):
            raise ModelError(
                f"{who}: its stiffness is a polynomial of a position, and this joint has a quaternion: "
                "give a JointSpring"
            )

    @property
    def spends(self) -> bool:
        return any(self.damping)

    def load(self, at: AtJoint) -> np.ndarray:
        force = [0.0] * at.joint.nv
        if self.stiffness:
            d = self._deflection(at)
            force[self.component] = force[self.component] - _value(self.stiffness, d) * d
        if self.damping:
            v = at.v[self.component]
            force[self.component] = force[self.component] - _value(self.damping, absolute(v)) * v
        return array(force)

    def energy(self, at: AtJoint) -> Any:
        if not self.stiffness:
            return 0.0
        d = self._deflection(at)
        return _value([k / (n + 2) for n, k in enumerate(self.stiffness)], d) * d * d

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        force = {"force": self.load(at)[self.component]}
        return {"deflection": self._deflection(at), **force} if self.stiffness else force

    def _deflection(self, at: AtJoint) -> Any:
        return at.q[self.component] - self.rest


def _value(coefficients: Any, x: Any) -> Any:
    """Return the polynomial c0 + c1 x + c2 x^2 + ... by Horner's scheme."""
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total
