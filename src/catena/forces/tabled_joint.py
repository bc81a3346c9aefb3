"""A spring and a damper at a joint whose laws are tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import AtJoint, JointForce
from catena.forces.parameters import numbers
from catena.forces.table import Table, require_tables
from catena.joints import JointKind
from catena.spatial.scalars import array


@dataclass(frozen=True)
class TabledJointSpring(JointForce):
    """A spring and a damper at one component of a joint, from tables of the force against the deflection d from `rest`
    (nq numbers, or none for the neutral position) and of the force against its rate: tau = -A^T (spring(d) +
    damper(d')) in that component. The energy is the integral of the spring's table, zero at its first point."""

    spring: Table | None = None
    damper: Table | None = None
    rest: tuple[float, ...] = ()
    component: int = 0

    stores = True
    drawn_as = "spring"

    def __post_init__(self) -> None:
        require_tables("TabledJointSpring", spring=self.spring, damper=self.damper)
        numbers(self, "rest")
        if self.spring is None and self.damper is None:
            raise ModelError("TabledJointSpring: it has neither a spring nor a damper: give one of them")

    def check(self, joint: JointKind, who: str) -> None:
        if not 0 <= self.component < joint.nv:
            raise ModelError(
                f"{who}: component is {self.component}: this joint has {joint.nv}, counted from 0"
            )
        if self.rest:
            joint.check(np.array(self.rest))

    @property
    def spends(self) -> bool:
        return self.damper is not None

    def load(self, at: AtJoint) -> np.ndarray:
        d, rate, A = self._state(at)
        force = 0.0
        if self.spring is not None:
            force = force - self.spring.value(d)
        if self.damper is not None:
            force = force - self.damper.value(rate)
        k = self.component
        if A is None:
            return array([force if i == k else 0.0 for i in range(at.joint.nv)])
        return array([A[k, i] * force for i in range(at.joint.nv)])

    def energy(self, at: AtJoint) -> Any:
        return 0.0 if self.spring is None else self.spring.integral(self._state(at)[0])

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        d, rate, _ = self._state(at)
        spring = 0.0 if self.spring is None else self.spring.value(d)
        damper = 0.0 if self.damper is None else self.damper.value(rate)
        return {"deflection": d, "rate": rate, "force": -(spring + damper)}

    def _state(self, at: AtJoint) -> tuple[Any, Any, np.ndarray | None]:
        d, A = at.deflection(array(self.rest) if self.rest else None)
        k = self.component
        return d[k], at.v[k] if A is None else (A @ at.v)[k], A
