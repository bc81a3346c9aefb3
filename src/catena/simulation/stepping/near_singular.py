"""Accelerations at and next to singular configurations, where constraints hardly count and equations lose their digits.

A motion that passes such a configuration with some speed is smooth on its branch, although the equations there are not
regular. So its acceleration is taken from the two sides: the state is moved along its own velocity by a little each
way, brought back on the loops, and the accelerations there, where everything is regular, are averaged. Two distances,
and Richardson's extrapolation, leave an error of the fourth power of the distance.
"""

from __future__ import annotations

import numpy as np

from catena.dynamics.loops.formulations.certified_elimination import elimination_of, is_for, is_trusted
from catena.errors import LoopError
from catena.kinematics.loops.scales import scales_of
from catena.simulation.acting.acting_forces import ActingForces
from catena.system import System
from catena.thresholds import RANK_MOVING

# How far the fastest joint moves to each side [rad or lengths]; the first distance at which all is regular is taken.
# Nearer by, rounding errors of positions along the direction that the constraints hardly see would be felt.
DISTANCES = (5e-3, 1.3e-2)
# Where a configuration is compared with those beside it, and how much smaller a singular value is next to a singular
# one.
BESIDE, SMALLER = 2e-2, 0.5
# A step that moves the fastest joint by less than this [rad or lengths] goes nowhere: its velocities are rounding.
STANDING = 1e-15


def are_near_singular(system: System, q: np.ndarray, v: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return whether constraints of states q (states, nq), v (states, nv) count for less there than on their ways
    before and behind, (states,). States that a step of size h (states,) does not move have no such ways."""
    scales = scales_of(system.plan)
    speed = np.max(np.abs(v / scales.units), axis=-1, initial=0.0)
    found, moving = np.zeros(len(q), dtype=bool), np.flatnonzero(speed * h > STANDING)
    if not len(moving):
        return found
    ways = np.array([0.0, -1.0, 1.0])[:, None, None] * (v[moving] * (BESIDE / speed[moving])[:, None])
    places = system.integrate(np.broadcast_to(q[moving], (3, len(moving), q.shape[-1])), ways)
    sigma = np.linalg.svd(scales.jacobian(system.closure_jacobian(places)), compute_uv=False)
    for state, (here, *sides) in zip(moving, np.moveaxis(sigma, 0, 1), strict=True):
        rank = max(int(np.sum(side > RANK_MOVING * side.max(initial=1.0))) for side in sides)
        found[state] = rank > 0 and here[rank - 1] < SMALLER * max(side[rank - 1] for side in sides)
    return found


def accelerations_near_singular(
    acting: ActingForces, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray, near: np.ndarray
) -> np.ndarray | None:
    """Return the accelerations (1, nv) of one state q (1, nq), v (1, nv) from both sides of it, where loop joints are
    next to the positions near (1, n); None if there is nothing regular beside it."""
    speed = float(np.max(np.abs(v / scales_of(acting.system.plan).units)))
    for distance in DISTANCES if speed else ():
        found = _from_sides(acting, t, q, v, tau, near, distance / speed)
        if found is not None:
            return found
    return None


def _from_sides(
    acting: ActingForces,
    t: float,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    near: np.ndarray,
    time: float,
) -> np.ndarray | None:
    """Return the mean of the accelerations so much time before and behind, extrapolated with those at twice the
    time."""
    system = acting.system
    sides = system.integrate(q[0], np.outer([-1.0, 1.0, -2.0, 2.0], v), time)
    try:
        sides, rates = system.project(sides, np.repeat(v, 4, axis=0))
    except LoopError:
        return None
    if not _is_regular(system, sides, rates).all():
        return None
    a = acting.accelerations(t, sides, rates, np.repeat(tau, 4, axis=0), np.repeat(near, 4, axis=0))
    close, far = a[:2].mean(axis=0, keepdims=True), a[2:].mean(axis=0, keepdims=True)
    return (4.0 * close - far) / 3.0


def _is_regular(system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return whether the accelerations of states q (states, nq), v (states, nv) can be vouched for, (states,)."""
    if not is_for(system.plan):
        return np.ones(len(q), dtype=bool)
    program = system.mechanics.program(
        elimination_of(system.mechanics.effective_plan), frozenset({"f_ext", "a_base", "tau"})
    )
    found = program.run({"q": np.ascontiguousarray(q), "qd": np.ascontiguousarray(v)}, len(q))[1]
    sure: np.ndarray = is_trusted(*(found[name][:, 0] for name in ("defect", "change", "before", "size")))
    return sure
