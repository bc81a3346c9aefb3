"""Rigid stops and dry friction as what they are to a joint: a force inside it, which it passes on, and no wrench from
outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from catena.simulation.contacts.dry_component import DryComponent
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.stop import StopSide
from catena.simulation.results.segment import Segment

# What is left of wrenches below this part of those of stops is rounding.
NOTHING = 1e-12


def with_stops_in_joints(run: Segment, places: ContactPlaces, forces: np.ndarray) -> Segment:
    """Return a run whose rigid stops, and what dry friction does beyond the smooth one, are forces in their joints,
    given the forces (samples, contacts, 3) of all contacts at these places: among the wrenches on bodies they are left
    out."""
    joints = run.system.joints
    held: list[tuple[int, StopSide | DryComponent, int, float]]
    held = [(k, x, 2, x.sign) for k, x in places.stops if x.of in joints and forces[:, k].any()]
    held += [(k, x, 0, 1.0) for k, x in places.dry]
    if not held:
        return run
    alone = np.zeros_like(forces)
    stopped: dict[str, np.ndarray] = {}
    for k, stop, row, sign in held:
        alone[:, k] = forces[:, k]
        size = run.system.mechanism.joints[stop.of].kind.nv
        own = stopped.setdefault(stop.of, np.zeros((len(run.t), size)))
        own[:, stop.index] += sign * forces[:, k, row]
    pairs = places.wrenches(places.at(run.q, run.v), alone)
    wrenches = {}
    for name, wrench in run.wrenches.items():
        left = wrench - pairs[name] if name in pairs else wrench
        if name not in pairs or np.abs(left).max() > NOTHING * np.abs(pairs[name]).max():
            wrenches[name] = left
    return replace(run, wrenches=wrenches, stop_forces=stopped)
