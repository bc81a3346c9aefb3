"""The points that have the mass of a flexible body, as its floating frame feels them.

A particle of mass m stands at x and moves by L eta' in the floating frame, whose twist is [w; v]. Its acceleration is
v' + w' x x + L eta'' + b with b = w x (v + w x x) + 2 w x L eta' + (dL/dt) eta'. So the force m (...) that it takes
adds a block of 6 + k rows to the equations of frame and modes, and particles need neither twists nor coordinates of
their own.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from catena.spatial import Force, RigidInertia
from catena.spatial.scalars import array
from catena.spatial.vectors import cross3 as cross


def but_particles(step: Callable[..., None]) -> Callable[..., None]:
    """Return the step, which all bodies do but particles."""

    @wraps(step)
    def act(body: Any, *others: Any) -> None:
        if not body.joint.is_particle:
            step(body, *others)

    return act


class Weight(NamedTuple):
    """What a particle adds: the `rigid` inertia of the frame, its coupling `E` (6, k) to the modes and the inertia `M`
    of the modes, the upper triangle by rows."""

    rigid: RigidInertia
    E: np.ndarray
    M: list[Any]


def place(body: Any, eta: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the place x (3,) of a particle in the floating frame, and how it moves with the modes, L (3, k)."""
    moved = body.joint.displacement(eta)
    return array([p + u for p, u in zip(body.placement.p, moved, strict=True)]), array(body.joint.slopes(eta))


def bias(body: Any, x: np.ndarray, L: np.ndarray, frame_twist: Any, eta: Any, rate: Any) -> np.ndarray:
    """Return the acceleration b (3,) that a particle has by the velocities."""
    w = frame_twist.angular
    moving = L @ rate
    carried = frame_twist.linear + cross(w, x) + moving + moving
    return cross(w, carried) + array(body.joint.curving(eta, rate))


def weight(m: Any, x: np.ndarray, L: np.ndarray) -> Weight:
    """Return what a particle of mass m adds to the inertia of frame and modes."""
    h = array([m * c for c in x])
    a, b, c = x
    ha, hb, hc = h
    rotational = [
        [hb * b + hc * c, -ha * b, -ha * c],
        [-ha * b, ha * a + hc * c, -hb * c],
        [-ha * c, -hb * c, ha * a + hb * b],
    ]
    k = L.shape[1]
    mL = array([[m * y for y in row] for row in L])
    E = np.vstack([np.stack([cross(x, mL[:, j]) for j in range(k)], axis=1), mL])
    M = [mL[:, i] @ L[:, j] for i in range(k) for j in range(i, k)]
    return Weight(RigidInertia(m, h, array(rotational)), E, M)


def load(body: Any, x: np.ndarray, b: np.ndarray) -> tuple[Force, np.ndarray]:
    """Return the force that a particle takes without any acceleration of frame and modes, at the frame and at itself
    (3,); what acts on it from outside is taken off."""
    outside = body.f_ext
    f = array([body.inertia.mass * y for y in b]) - outside.linear
    return Force(np.concatenate([cross(x, f) - outside.angular, f])), f
