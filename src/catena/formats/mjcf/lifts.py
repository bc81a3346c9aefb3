"""Forces that bear the weight of bodies, as far as MJCF can say them: those in a body's mass centre."""

from __future__ import annotations

import numpy as np

from catena.forces import Buoyancy
from catena.mechanism import Mechanism


def lifts_at_mass_centres(mechanism: Mechanism) -> dict[str, str]:
    """Return the forces that bear weight in the mass centre of a body, with the names of the bodies."""
    found = {}
    for force in mechanism.forces.values():
        if isinstance(force.kind, Buoyancy) and force.frames is not None:
            name = force.frames[1]
            frame = mechanism.frames.get(name)
            body, place = (name, np.zeros(3)) if frame is None else (frame.body, frame.pose.p)
            if mechanism.bodies[body].mass and np.array_equal(place, mechanism.bodies[body].com):
                found[force.name] = body
    return found
