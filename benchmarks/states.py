"""Random states to compute on: seeded, and valid for every joint kind."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from catena.kinematics.loops.closure import loop_kinematics

Array = NDArray[np.float64]


class States(NamedTuple):
    """Positions (batch, nq) and, each (batch, nv), velocities, efforts and accelerations."""

    q: Array
    v: Array
    tau: Array
    vdot: Array

    def first(self) -> "States":
        """One state, with arrays of shape (nq,) and (nv,)."""
        return States(*(np.ascontiguousarray(array[0]) for array in self))


def random_states(system: Any, batch: int, seed: int = 0) -> States:
    """States around the neutral configuration; positions are reached by moving, so quaternions stay unit."""
    random = np.random.default_rng(seed)
    step, v, tau, vdot = random.standard_normal((4, batch, system.nv))
    neutral = np.broadcast_to(system.neutral(), (batch, system.nq))
    return States(system.integrate(neutral, step, 1.0), v, tau, vdot)


def closed_states(system: Any, batch: int, seed: int = 0, spread: float = 0.3, distinct: int = 64) -> States:
    """States of a mechanism with loops that are closed in position and velocity, around the neutral configuration.

    Random positions come back to the closed ones by damped Newton steps, all at once, and random velocities lose
    what would open a loop. At most `distinct` states are made; a larger batch repeats them.
    """
    count = min(batch, distinct)
    random = np.random.default_rng(seed)
    step, v, tau, vdot = random.standard_normal((4, count, system.nv))
    neutral = np.broadcast_to(system.neutral(), (count, system.nq))
    q = system.integrate(neutral, spread * _allowed(_jacobian(system, neutral), step), 1.0)
    for _ in range(STEPS):
        J, error = _jacobian(system, q), system.closure(q)[0]
        largest = np.max(np.abs(error), axis=-1, initial=0.0)
        if np.max(largest) < CLOSED:
            break
        # Damping by the square of the error keeps the last steps quadratic whatever the rank of J.
        normal = J @ np.swapaxes(J, -1, -2) + (largest**2 + 1e-14)[:, None, None] * np.eye(J.shape[-2])
        back = np.linalg.solve(normal, error[..., None])
        q = system.integrate(q, -(np.swapaxes(J, -1, -2) @ back)[..., 0], 1.0)
    else:
        raise ValueError(f"Random states of {system.mechanism.name!r} do not close: give a smaller spread.")
    states = (q, _allowed(_jacobian(system, q), v), tau, vdot)
    return States(*(np.ascontiguousarray(np.resize(x, (batch, x.shape[-1]))) for x in states))


STEPS = 60
CLOSED = 1e-13


def _jacobian(system: Any, q: Array) -> Array:
    """The Jacobians (batch, m, nv) of the loops."""
    loops = loop_kinematics(system.mechanics.evaluator, q)
    empty = np.zeros((len(q), 0, system.nv))
    return np.concatenate([empty, *(loop.J for loop in loops)], axis=-2)


def _allowed(J: Array, v: Array) -> Array:
    """What is left of v when everything that opens a loop is taken away."""
    opening = J @ v[..., None]
    return v - (np.linalg.pinv(J, rcond=1e-9) @ opening)[..., 0]


def pushed_states(system: Any, count: int, seed: int, spreads: Sequence[float]) -> tuple[Array, Array, Array]:
    """Positions, velocities and efforts of closed states, with the first of the spreads that leads to any; the efforts
    accelerate joints by about their own size."""
    for spread in spreads:
        try:
            q, v, tau, _ = closed_states(system, count, seed, spread, count)
            break
        except ValueError:
            if spread == spreads[-1]:
                raise
    inertia = np.diagonal(system.mass_matrix(q), axis1=-2, axis2=-1)
    return q, v, 3.0 * tau * np.sqrt(inertia)
