"""What dynamics knows of a rigid body: mass, mass centre and inertia; placed in other frames, and added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from catena.spatial import Pose


@dataclass(frozen=True)
class MassProperties:
    """The mass [kg], the mass centre `com` (3,) [m] and the `inertia` (3, 3) [kg m^2] about it, in one frame's axes."""

    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]

    def placed(self, pose: Pose) -> MassProperties:
        """Return the same mass as seen from the frame in which its own frame has a pose."""
        return MassProperties(self.mass, pose * self.com, pose.R @ self.inertia @ pose.R.T)

    @classmethod
    def sum(cls, parts: Iterable[MassProperties]) -> MassProperties:
        """Return the mass properties of several parts in the same frame together."""
        listed = list(parts)
        mass = float(sum(part.mass for part in listed))
        if mass == 0.0:
            return cls(0.0, np.zeros(3), np.zeros((3, 3)))
        com = sum((part.mass * part.com for part in listed), np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for part in listed:
            arm = part.com - com
            inertia += part.inertia + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return cls(mass, com, inertia)
