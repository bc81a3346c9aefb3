"""What the loads of joints make of their dry friction beside contacts.

Friction is a force that accelerates bodies, and so do the forces of contacts that friction changes: a load is found for
given forces, and whoever finds forces repeats it until friction is what the load makes it (`settle`). What an impact
gives a bearing to carry makes no impulse of friction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from catena.dynamics.bearing_loads import settle
from catena.dynamics.loops.elimination.dry_loops import COMPONENTS
from catena.errors import SimulationError
from catena.simulation.acting import loads
from catena.simulation.contacts.geometry import ContactPlaces
from catena.system import System
from catena.system.dry_friction import bears, no_load_message
from catena.system.sticking import sense_search


class Bearing:
    """The friction by load of the joints of a system, at the places of its contacts. `load` (contacts,) is the friction
    of a slip that loads made last."""

    def __init__(self, system: System, places: ContactPlaces) -> None:
        self.system, self.places = system, places
        columns = dict(places.dry_columns)
        loops = [loop.name for loop in system.mechanics.evaluator.plan.loop_joints]
        columns |= {
            k: system.nv + COMPONENTS * loops.index(dry.of) + dry.index
            for k, dry in places.dry
            if k in places.cut
        }
        self.of, self.columns = (np.array(list(x), dtype=int) for x in (columns, columns.values()))
        """The components with dry friction, and which they are of those of joints, of the tree and then of loops."""
        self.load = np.zeros(len(places.contacts))

    def at(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Mapping[str, np.ndarray],
        driven: Mapping[str, np.ndarray], besides: loads.Besides,
    ) -> Callable[[np.ndarray], np.ndarray]:  # fmt: skip
        """Return what tells the friction of slips (states, contacts) that loads make under forces (states, contacts, 3)
        of all contacts, at states q (states, nq), v (states, nv) under joint forces tau (states, nv), and wrenches and
        accelerations of joints that are given."""
        places, nv = self.places, self.system.nv
        touches = places.at(q, v)
        acting = loads.in_place(self.system, q, tau, besides)
        search = sense_search(
            self.system, q, v, acting, wrenches or None, None, driven or None, besides.near or None
        )
        column_of = dict(zip(self.of.tolist(), self.columns.tolist(), strict=True))

        def bears(forces: np.ndarray) -> np.ndarray:
            touching, inside = forces.copy(), np.zeros(search.rates.shape)
            for k, row in places.in_joints:
                touching[:, k] = 0.0
                if k in places.cut:
                    inside[:, column_of[k]] += forces[:, k, row]
                else:
                    inside[:, :nv] += forces[:, k, row, None] * touches.A[:, k, row]
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
    return Bearing(system, places) if bears(system) else None
