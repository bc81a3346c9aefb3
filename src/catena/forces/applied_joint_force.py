"""A force at a joint that is told from outside at every instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.contract import AtJoint, JointForce
from catena.joints import JointKind
from catena.spatial.scalars import array


@dataclass(frozen=True)
class AppliedJointForce(JointForce):
    """A joint force of `size` components that is told from outside at every instant, as that of a motor is."""

    size: int = 1

    looks = False
    source = "actuators"
    drawn_as = "none"

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """One number for each component."""
        return self.size

    def check(self, joint: JointKind, who: str) -> None:
        if joint.nv != self.size:
            raise ModelError(f"{who}: it has {self.size} components: give {joint.nv} for this joint")

    def load(self, at: AtJoint) -> np.ndarray:
        return array(at.inputs)

    def outputs(self, at: AtJoint) -> Mapping[str, Any]:
        return {f"force_{k}": x for k, x in enumerate(at.inputs)}
