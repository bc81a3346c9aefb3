"""Control that holds a mechanism where it begins, with gains that suit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.control.gravity_compensation import GravityCompensation
from catena.simulation.control.pid import PID
from catena.simulation.control.protocol import checked_rate
from catena.system import System
from catena.system.of_system import as_system
from catena.validation import is_finite, listed, shown

# How often it is asked unless a rate is given [Hz].
RATE = 1000.0
# How quickly it answers at most [rad/s], and how much of its speed a sampling period may take away at once.
BANDWIDTH, PER_SAMPLE = 40.0, 0.6
# Modes that answer less than this part of the quickest are none: loops leave fewer motions than joints.
NO_MODE = 1e-9


def hold(
    system: System,
    gain: Sequence[float] | None = None,
    rate: float | None = None,
    *,
    initial: Mapping[str, Any] | None = None,
) -> PID:
    """Return PID control of all actuated joints at the positions `initial`, {joint: (nq of the joint)}, those of the
    mechanism's own initial state unless given.

    `gain` are kp, ki and kd, or the first of them, the same for all joints. Without it they follow from the inertia of
    the mechanism (`suitable_gains`), and the integral begins with the forces that carry its weight.
    """
    as_system(system, "hold")
    rate = RATE if rate is None else checked_rate(rate, "hold")
    assert rate is not None
    there = system.mechanism.initial.q if initial is None else initial
    q = system.assemble({joint: x for joint, x in there.items() if joint in system.joints})
    for joint in system.joints:
        # What was given stands to the last digit, as assembling does not promise.
        if joint in there:
            q[system.slice_q(joint)] = there[joint]
    positions = {joint: q[system.slice_q(joint)] for joint in system.joints}
    if gain is None:
        weight = GravityCompensation(system, partial=True)(0.0, q, np.zeros(system.nv))
        return PID(system, positions, *suitable_gains(system, q, rate), bias=weight, rate=rate)
    try:
        gains = listed(gain)
    except ValueError:
        gains = (gain,)
    if not 1 <= len(gains) <= 3 or not all(is_finite(x) for x in gains):
        raise StateError(f"hold: gain is {shown(gain)}; give up to three numbers, P, I and D.")
    return PID(system, positions, *gains, rate=rate)


def suitable_gains(system: System, q: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kp, ki, kd (nv,) of PID control at q (nq,), sampled at `rate` [Hz].

    With B (actuated x actuated) the accelerations by unit forces, loops respected, h = 1 / diag(B) is what each joint
    feels like if it moves alone. Gains w^2 h, c w^3 h and 2 w h give every mode of the whole, an eigenvalue x of
    B diag(h), the equation s^3 + 2 w x s^2 + w^2 x s + c w^3 x = 0. Sampling allows 2 w x up to a part of the rate,
    which bounds w by the largest x; c below 2 x is stable, so half of the smallest x keeps well away from that.
    """
    actuated = np.flatnonzero(system.plan.actuated)
    if not len(actuated):
        return (np.zeros(system.nv),) * 3
    rest = np.zeros(system.nv)
    forces = np.vstack([rest, np.eye(system.nv)[actuated]])
    vdot = system.forward_dynamics(q, rest, forces, elements=False)[:, actuated]
    B = (vdot[1:] - vdot[0]).T
    # A joint that its loops block does not move at all.
    diagonal = np.diagonal(B)
    h = np.where(diagonal > NO_MODE * diagonal.max(), 1.0 / np.maximum(diagonal, 1e-300), 0.0)
    root = np.sqrt(h)
    modes = np.linalg.eigvalsh(root[:, None] * B * root)
    quickest = float(modes[-1])
    slowest = float(modes[modes > NO_MODE * quickest][0])
    w = min(BANDWIDTH, PER_SAMPLE * rate / (2.0 * quickest))
    inertia = np.zeros(system.nv)
    inertia[actuated] = h
    return w**2 * inertia, min(0.5 * slowest, 0.2) * w**3 * inertia, 2.0 * w * inertia
