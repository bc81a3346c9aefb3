"""The stops at the limits of joints, elastic as described or nearly rigid.

A rigid stop is a stiff one: k = I / T^2 and c = 2 I / T with T = 2 ms and the inertia I that the joint feels with
everything else free to move, so that the joint meets a critically damped stop of that time constant. It gives way by
about v T / e at an impact with velocity v, and a step of 1 ms can still follow it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.forces.deflection import deflection
from catena.dynamics.friction import smooth_sign
from catena.joints import JointKind
from catena.mechanism import Mechanism
from catena.spatial.scalars import array, less, where

STOP_TIME = 2e-3
"""The time constant [s] of a rigid stop."""
GRIP = 1e-5
"""The depth [rad or m] at which the damper of a stop has got hold, so that its force begins without a jump."""
FAR = 1e300
"""Where a limit is that is not there; infinity would not pass for a finite input."""


@dataclass(frozen=True, eq=False)
class Stops:
    """The stops of one joint, each (nv,): lowest and highest position, stiffness and damping. A component without
    limits has no stiffness and no damping."""

    low: np.ndarray
    high: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


def joint_stops(mechanism: Mechanism, felt_inertia: Callable[[str], np.ndarray]) -> dict[str, Stops]:
    """The stops of all joints that move and have limits. `felt_inertia` tells the inertia (nv,) that a joint feels;
    it is asked for those with rigid stops only."""
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


def stop_force(kind: JointKind, stops: Any, q: Any, v: Any) -> Any:
    """The joint force (nv,) of stops at a position q (nq,) and velocity v (nv,), numbers or symbols.

    Beyond a limit by d a stop pushes back with k d + c d', the damper getting hold over the first `GRIP`, and never
    pulls.
    """
    d, A = deflection(kind, kind.neutral(), q)
    rate = v if A is None else A @ v
    push = array(
        [
            _push(low - x, -dx, k, c) - _push(x - high, dx, k, c)
            for x, dx, low, high, k, c in zip(
                d, rate, stops.low, stops.high, stops.stiffness, stops.damping, strict=True
            )
        ]
    )
    return push if A is None else A.T @ push


def stop_energy(kind: JointKind, stops: Any, q: Any) -> Any:
    """The energy that stops store, k d^2 / 2 for each."""
    d, _ = deflection(kind, kind.neutral(), q)
    depths = [
        (_positive(low - x), _positive(x - high))
        for x, low, high in zip(d, stops.low, stops.high, strict=True)
    ]
    return sum([0.5 * k * (a * a + b * b) for k, (a, b) in zip(stops.stiffness, depths, strict=True)], 0.0)


def _push(beyond: Any, rate: Any, stiffness: Any, damping: Any) -> Any:
    depth = _positive(beyond)
    return _positive(stiffness * depth + damping * smooth_sign(depth, GRIP) * rate)


def _positive(x: Any) -> Any:
    return where(less(0.0, x), x, 0.0)
