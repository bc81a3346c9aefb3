"""The inertial numbers of the bodies of a system, in which its dynamics are linear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from catena.questions import inertial_parameters as of_bodies
from catena.system.of_system import of_system

if TYPE_CHECKING:
    from catena.system.system import System


@of_system
def inertial_parameters(system: System) -> np.ndarray:
    """Return the inertial numbers, shape (10 b,), of the b rigid bodies that are not welded to ground, in the order
    in which they were added: mass, mass times mass centre (3), and the inertia xx, xy, xz, yy, yz, zz about the
    body's origin."""
    states = system._states
    if states is not None:
        own = [inertial_parameters(states.alone(k)) for k in range(states.count)]
        return np.array(own).reshape(*states.batch, -1)
    return of_bodies.inertial_parameters(system.mechanism, system.plan)
