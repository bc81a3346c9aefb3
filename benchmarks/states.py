"""Random states to compute on: seeded, and valid for every joint kind."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
