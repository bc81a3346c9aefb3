"""Accelerations at and next to singular configurations, where constraints hardly count and equations lose their digits.

A motion that passes such a configuration with some speed is smooth on its branch, although the equations there are not
regular. So its acceleration is taken from the two sides: the state is moved along its own velocity by a little each
way, brought back on the loops, and the accelerations there, where everything is regular, are averaged. Two distances,
and Richardson's extrapolation, leave an error of the fourth power of the distance.
"""

from __future__ import annotations

import numpy as np

from catena.dynamics.closed.elimination import is_for, is_trusted
from catena.dynamics.loop_elimination import columns_for, loop_elimination
from catena.errors import LoopError
from catena.simulation.acting import Acting
from catena.system import System

# How far the fastest joint moves to each side [rad or m]; the first distance at which all is regular is taken. Nearer
# by, rounding errors of positions along the direction that the constraints hardly see would be felt.
DISTANCES = (5e-3, 2e-2)


def is_regular(system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Whether the accelerations of states q (states, nq), v (states, nv) can be vouched for, (states,)."""
    if not is_for(system.plan):
        return np.ones(len(q), dtype=bool)
    program = system.program(
        loop_elimination(columns_for(system.plan)), frozenset({"f_ext", "a_base", "tau"})
    )
    inputs = {"q": np.ascontiguousarray(q), "qd": np.ascontiguousarray(v)}
    found = program.run(inputs, len(q))[1]
    sure: np.ndarray = is_trusted(*(found[name][:, 0] for name in ("defect", "change", "before", "size")))
    return sure


def accelerations_beside(
    acting: Acting, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> np.ndarray | None:
    """The accelerations (1, nv) of one state q (1, nq), v (1, nv) from both sides of it; None for a state that does not
    move, or that has nothing regular beside it."""
    speed = float(np.max(np.abs(v)))
    if speed == 0.0:
        return None
    for distance in DISTANCES:
        near, far = (_mean(acting, t, q, v, tau, part * distance / speed) for part in (1.0, 2.0))
        if near is not None and far is not None:
            return (4.0 * near - far) / 3.0
    return None


def _mean(
    acting: Acting, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray, time: float
) -> np.ndarray | None:
    """The mean of the accelerations of the states that lie so much time before and behind."""
    system = acting.system
    sides = np.concatenate([system.integrate(q, v, sign * time) for sign in (-1.0, 1.0)])
    try:
        sides, rates = system.project(sides, np.repeat(v, 2, axis=0), held=())
    except LoopError:
        return None
    if not is_regular(system, sides, rates).all():
        return None
    return acting.accelerations(t, sides, rates, np.repeat(tau, 2, axis=0)).mean(axis=0, keepdims=True)
