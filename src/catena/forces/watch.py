"""A joint that is only looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.forces.contract import AtJoint, JointForce


@dataclass(frozen=True)
class Watch(JointForce):
    """No force at all, at a joint whose turns are counted because somebody looks at its angles."""

    drawn_as = "none"

    @property
    def spends(self) -> bool:
        return False

    def load(self, at: AtJoint) -> np.ndarray:
        return np.zeros(at.joint.nv)
