"""The words for motions that cannot go on."""

from __future__ import annotations

import numpy as np

from catena.system import System


def joint_of(system: System, component: int) -> str:
    """Return the joint that a velocity component belongs to."""
    return next(j for j in system.joints if component in range(system.nv)[system.slice_v(j)])


def runaway_message(system: System, state: int, t: np.ndarray, v: np.ndarray) -> str:
    """Say which joint runs away."""
    component = int(np.argmax(np.abs(v[state])))
    return (
        f"The motion runs away: joint {joint_of(system, component)!r} moves at {v[state, component]:.3g} at "
        f"t = {t[state]:.9g} s in state {state}. A controller that is too stiff for its rate, or for the step, does "
        f"that; the trajectory so far is in the attribute `trajectory` of this error."
    )


def collapse_message(system: System, state: int, t: float, q: np.ndarray, v: np.ndarray) -> str:
    """Say where and why steps do not get through."""
    vdot = system.forward_dynamics(q, v, np.zeros(system.nv))
    fastest = joint_of(system, int(np.argmax(np.abs(vdot))))
    reason = "Something jumps there (a stop, a controller, a wrench)"
    if system.constrained and system.diagnose(q).singular:
        reason = "It is a singular configuration, where the loops leave more motions open (s.diagnose tells)"
    return (
        f"The step size collapsed at t = {t:.9g} s in state {state}: the error does not shrink with the step. "
        f"{reason}, most of all at joint {fastest!r}; the trajectory so far is in the attribute `trajectory` of "
        f"this error."
    )


def crawling_message(state: int, t: float, pace: float, left: float) -> str:
    """Say that a run would take for ever."""
    return (
        f"The motion hardly gets on: near t = {t:.9g} s in state {state} steps are {pace:.3g} s long on average, so "
        f"that the {left:.3g} s left would take {left / max(pace, 1e-300):.1e} of them. Something oscillates or "
        f"jumps that fast (a stiff spring, a controller, a stop), or the tolerance cannot be met; a stiff integrator "
        f"such as radau, a larger rtol, or a fixed step may help. The trajectory so far is in the attribute "
        f"`trajectory` of this error."
    )


def too_long_message(method: str, t: float, state: int, h: float) -> str:
    """Say that a fixed step cannot be taken."""
    return (
        f"The step from t = {t:.9g} s in state {state} leads to a state that is not finite or whose "
        f"loops do not close: {h:g} s is too long for {method}. Take smaller steps, or an adaptive "
        f"method. The trajectory so far is in the attribute `trajectory` of this error."
    )
