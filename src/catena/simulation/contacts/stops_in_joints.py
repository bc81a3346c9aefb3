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


def forces_in_joints(places: ContactPlaces, forces: np.ndarray) -> dict[str, np.ndarray]:
    """Return the forces {joint: (samples, nv of the joint)} inside joints of rigid stops that push and of components
    with dry friction, given the forces (samples, contacts, 3) of all contacts at these places."""
    found: dict[str, np.ndarray] = {}
    for k, stop, row, sign in _held(places, forces):
        kind = places.system.mechanism.joints[stop.of].kind
        own = found.setdefault(stop.of, np.zeros((len(forces), kind.nv)))
        own[:, stop.index] += sign * forces[:, k, row]
    return found


def _held(places: ContactPlaces, forces: np.ndarray) -> list[tuple[int, StopSide | DryComponent, int, float]]:
    """Return the contacts that push inside joints: which, what it is, and the row and the sense of its force."""
    joints = places.system.joints
    stops = [(k, x, 2, x.sign) for k, x in places.stops if x.of in joints and forces[:, k].any()]
    return [*stops, *((k, x, 0, 1.0) for k, x in places.dry)]


def with_stops_in_joints(run: Segment, places: ContactPlaces, forces: np.ndarray) -> Segment:
    """Return a run whose rigid stops, and what dry friction does beyond the smooth one, are forces in their joints,
    given the forces (samples, contacts, 3) of all contacts at these places: among the wrenches on bodies they are left
    out, unless the run knows them as forces in joints already."""
    held = _held(places, forces)
    if not held:
        return run
    stopped = forces_in_joints(places, forces)
    if run.stop_forces:
        return replace(run, stop_forces=stopped)
    alone = np.zeros_like(forces)
    for k, *_ in held:
        alone[:, k] = forces[:, k]
    pairs = places.wrenches(places.at(run.q, run.v), alone)
    wrenches = {}
    for name, wrench in run.wrenches.items():
        left = wrench - pairs[name] if name in pairs else wrench
        if name not in pairs or np.abs(left).max() > NOTHING * np.abs(pairs[name]).max():
            wrenches[name] = left
    return replace(run, wrenches=wrenches, stop_forces=stopped)
