"""Gains of a controller that holds any mechanism: they follow from its inertia."""

from __future__ import annotations

import numpy as np

from catena.system import System

# How quickly it answers at most [rad/s], and how much of its speed a sampling period may take away at once.
BANDWIDTH, PER_SAMPLE = 40.0, 0.6
# Modes that answer less than this part of the quickest are none: loops leave fewer motions than joints.
NO_MODE = 1e-9


def suitable_gains(system: System, q: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """kp, ki, kd (nv,) of PID control at q (nq,), sampled at `rate` [Hz].

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
    vdot = system.forward_dynamics(q, rest, forces)[:, actuated]
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
