"""A linear spring with a damper at a joint."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import AtJoint, JointForce
from catena.forces.parameters import numbers
from catena.joints import JointKind
from catena.spatial.scalars import Scalar, array


@dataclass(frozen=True)
class JointSpring(JointForce):
    """A spring and a damper at a joint: tau = -A^T (stiffness d) - damping v.

    d = difference(rest, q) of the joint's kind is the deflection (nv,) from the position `rest` (nq,), and d' = A v.
    The energy is sum(stiffness d^2) / 2. `stiffness` and `damping` have nv numbers each, or none where there is no
    spring or no damper; `rest` may be left out where there is no spring, or for the neutral position.
    """

    stiffness: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()
    rest: tuple[float, ...] = ()

    stores = True
    drawn_as = "spring"

    def __post_init__(self) -> None:
        numbers(self, "stiffness", least=0.0)
        numbers(self, "damping", least=0.0)
        numbers(self, "rest")
        if not self.stiffness and not self.damping:
            raise ModelError(
                "JointSpring: it has neither stiffness nor damping, so it does nothing: give one"
            )

    @property
    def dampers(self) -> tuple[Scalar, ...]:
        return self.damping

    def with_rows(
        self, stiffness: tuple[float, ...], damping: tuple[float, ...], rest: tuple[float, ...]
    ) -> JointSpring:
        """Return a spring with these numbers, which may all be zero."""
        changed = copy(self)
        for name, row in (("stiffness", stiffness), ("damping", damping), ("rest", rest)):
            object.__setattr__(changed, name, row)
        return changed

    def check(self, joint: JointKind, who: str) -> None:
        for name, size in (("stiffness", joint.nv), ("damping", joint.nv), ("rest", joint.nq)):
            numbers = getattr(self, name)
            if numbers and len(numbers) != size:
                raise ModelError(f"{who}: {name} has {len(numbers)} numbers: give {size} for this joint")
        if self.rest:
            joint.check(np.array(self.rest))

    @property
    def spends(self) -> bool:
        return any(self.damping)

    def load(self, at: AtJoint) -> np.ndarray:
        force = np.zeros(at.joint.nv)
        if self.stiffness:
            d, A = self._deflection(at)
            y = array([k * x for k, x in zip(self.stiffness, d, strict=True)])
            force = -y if A is None else -(A.T @ y)
        if self.damping:
            force = force - array([c * x for c, x in zip(self.damping, at.v, strict=True)])
        return force

    def energy(self, at: AtJoint) -> Any:
        if not self.stiffness:
            return 0.0
        d, _ = self._deflection(at)
        return 0.5 * sum([k * x * x for k, x in zip(self.stiffness, d, strict=True)], 0.0)

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        return joint_outputs(self._deflection(at)[0], self.load(at))

    def _deflection(self, at: AtJoint) -> tuple[Any, np.ndarray | None]:
        return at.deflection(array(self.rest) if self.rest else None)


def joint_outputs(deflection: Any, force: Any) -> dict[str, Any]:
    """Return the deflection and the force of a joint, numbered where there is more than one component."""
    words = [("deflection", deflection), ("force", force)]
    if len(force) == 1:
        return {word: values[0] for word, values in words}
    return {f"{word}_{k}": x for word, values in words for k, x in enumerate(values)}
