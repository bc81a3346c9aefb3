"""The stops at the limits of joints, elastic as described or nearly rigid.

A rigid stop is a stiff one: k = I / T^2 and c = 2 I / T with T = 2 ms and the inertia I that the joint feels with
everything else free to move, so that the joint meets a critically damped stop of that time constant. It gives way by
about v T / e at an impact with velocity v, and a step of 1 ms can still follow it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from catena.forces import JointStop
from catena.forces.joint_stop import FAR
from catena.mechanism import Mechanism

STOP_TIME = 2e-3
"""The time constant [s] of a rigid stop."""


@dataclass(frozen=True, eq=False)
class Stops:
    """The stops of one joint, each (nv,): lowest and highest position, stiffness and damping. A component without
    limits has no stiffness and no damping."""

    low: np.ndarray
    high: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray

    @property
    def kind(self) -> JointStop:
        """The kind of force that they are."""
        return JointStop(tuple(self.low), tuple(self.high), tuple(self.stiffness), tuple(self.damping))


def joint_stops(mechanism: Mechanism, felt_inertia: Callable[[str], np.ndarray]) -> dict[str, Stops]:
    """Return the stops of all joints that move and have limits. `felt_inertia` tells the inertia (nv,) that a joint
    feels; it is asked for those with rigid stops only."""
    result = {}
    for name, joint in mechanism.joints.items():
        if joint.limits is None or not joint.dof or not np.isfinite(joint.limits).any():
            continue
        bounded = np.isfinite(joint.limits).any(axis=1)
        if joint.limit_stiffness is None:
            inertia = felt_inertia(name)
            stiffness, damping = inertia / STOP_TIME**2, 2.0 * inertia / STOP_TIME
        else:
            stiffness = joint.limit_stiffness
            damping = np.zeros_like(stiffness) if joint.limit_damping is None else joint.limit_damping
        low, high = np.clip(joint.limits, -FAR, FAR).T
        result[name] = Stops(low, high, bounded * stiffness, bounded * damping)
    return result
