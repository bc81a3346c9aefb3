"""What actuators give of what they are asked for: limits of their forces, which shrink with their speed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.mechanism import Mechanism
from catena.structure import Plan


@dataclass(frozen=True, eq=False)
class ActuatorLimits:
    """The least and largest joint forces `low` and `high` (nv,) at rest, infinite where there is no limit, and the
    `speed` (nv,) in their direction at which actuators give none, infinite where it does not matter."""

    low: np.ndarray
    high: np.ndarray
    speed: np.ndarray

    @staticmethod
    def of(mechanism: Mechanism, plan: Plan) -> ActuatorLimits:
        """Return the limits of the actuators at the joints of the tree."""
        low, high, speed = np.zeros(plan.nv), np.zeros(plan.nv), np.full(plan.nv, np.inf)
        driven = np.zeros(plan.nv, dtype=bool)
        for actuator in mechanism.actuators.values():
            if actuator.joint not in plan.joints:
                continue
            limits = zip(actuator.components, actuator.joint_limits, actuator.joint_speed, strict=True)
            for component, (least, most), fastest in limits:
                k = range(plan.nv)[plan.slice_v(actuator.joint)][component]
                low[k] += least
                high[k] += most
                speed[k] = fastest
                driven[k] = True
        return ActuatorLimits(np.where(driven, low, -np.inf), np.where(driven, high, np.inf), speed)

    @cached_property
    def slow_down(self) -> bool:
        """Return whether actuators give less with their speed."""
        return bool(np.isfinite(self.speed).any())

    @cached_property
    def are_there(self) -> bool:
        """Return whether anything is limited."""
        return bool(np.isfinite([self.low, self.high]).any())

    def limited(self, tau: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the forces (..., nv) that actuators give at velocities v (..., nv) when asked for tau (..., nv)."""
        low, high = self.at(v)
        return np.clip(tau, low, high)

    def at(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the limits (..., nv) at velocities v (..., nv): they shrink in proportion to the speed in their
        direction."""
        low, high, has_speed = self.low, self.high, np.isfinite(self.speed)
        if has_speed.any():
            part = np.where(has_speed, v / self.speed, 0.0)
            low = np.where(has_speed, np.where(has_speed, low, 0.0) * np.clip(1.0 + part, 0.0, 1.0), low)
            high = np.where(has_speed, np.where(has_speed, high, 0.0) * np.clip(1.0 - part, 0.0, 1.0), high)
        return low, high

    def slopes(self, tau: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives (..., nv) of what is given by what is asked for, and by the velocity: one and zero
        within the limits; beyond them zero, and by how much the limit shrinks."""
        low, high = self.at(v)
        above, below = tau > high, tau < low
        part = np.where(np.isfinite(self.speed), v / self.speed, 0.0)
        has_speed = np.isfinite(self.speed)
        size = np.where(has_speed, self.speed, 1.0)
        shrinks = has_speed & (part > 0.0) & (part < 1.0)
        grows = has_speed & (part < 0.0) & (part > -1.0)
        by_v = np.where(above & shrinks, -np.where(has_speed, self.high, 0.0) / size, 0.0)
        by_v = by_v + np.where(below & grows, np.where(has_speed, self.low, 0.0) / size, 0.0)
        return np.where(above | below, 0.0, 1.0), by_v
