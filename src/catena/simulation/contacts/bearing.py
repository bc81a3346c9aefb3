"""What the loads of joints make of their dry friction beside contacts.

Friction is a force that accelerates bodies, and so do the forces of contacts that friction changes: a load is found for
given forces, and whoever finds forces repeats it until friction is what the load makes it (`settle`). What an impact
gives a bearing to carry makes no impulse of friction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from catena.dynamics.bearing_loads import settle
from catena.errors import ModelError, SimulationError
from catena.simulation.acting import loads
from catena.simulation.contacts.geometry import ContactPlaces
from catena.system import System
from catena.system.sticking import bears, no_load_message, sense_search


class Bearing:
    """The friction by load of the joints of a system, at the places of its contacts. `load` (contacts,) is the friction
    of a slip that loads made last."""

    def __init__(self, system: System, places: ContactPlaces) -> None:
        self.system, self.places = system, places
        self.columns = np.array([column for _, column in places.dry_columns], dtype=int)
        self.of = np.array([k for k, _ in places.dry_columns], dtype=int)
        self.load = np.zeros(len(places.contacts))

    def at(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Mapping[str, np.ndarray],
        driven: Mapping[str, np.ndarray], besides: loads.Besides,
    ) -> Callable[[np.ndarray], np.ndarray]:  # fmt: skip
        """Return what tells the friction of slips (states, contacts) that loads make under forces (states, contacts, 3)
        of all contacts, at states q (states, nq), v (states, nv) under joint forces tau (states, nv), and wrenches and
        accelerations of joints that are given."""
        places = self.places
        touches = places.at(q, v)
        acting = loads.acting_forces(self.system, q, tau, besides)
        search = sense_search(
            self.system, q, v, acting, wrenches or None, None, driven or None, besides.near or None
        )

        def bears(forces: np.ndarray) -> np.ndarray:
            touching, inside = forces.copy(), np.zeros_like(acting)
            for k, row in places.in_joints:
                touching[:, k] = 0.0
                inside[:] += forces[:, k, row, None] * touches.A[:, k, row]
            pushed = places.wrenches(touches, touching) if touching.any() else {}
            found = np.zeros(forces.shape[:2])
            found[:, self.of] = search.smooth_loads(inside, pushed)[:, self.columns]
            return found

        return bears

    def agreed(
        self, bearing: Callable[[np.ndarray], np.ndarray], load: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """Return the load (..., n) with bearing(load) = load in the components that count (..., n), from a guess on."""
        found, settled = settle(bearing, load, counts)
        if not settled.all():
            raise SimulationError(no_load_message(self.system))
        return found


def bearing_of(system: System, places: ContactPlaces) -> Bearing | None:
    """Return the friction by load of a system, None where no joint has any."""
    if not bears(system):
        return None
    for loop in system.plan.loop_joints:
        if loop.bearing is not None:
            raise ModelError(
                f"Beside contacts and rigid stops, and by abm4 and SciPy's methods, loads of joints that close loops "
                f"make no friction, and {loop.name!r} of {system.mechanism.name!r} has load_friction: keep it in the "
                f"tree, m.system(keep=[{loop.name!r}]), or give it friction= instead."
            )
    return Bearing(system, places)
