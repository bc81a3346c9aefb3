"""The stretches that a motion with contacts has passed, what pushed in each of them, and how they are told.

What nobody needs while the motion goes on is found when stretches are told, for many of them at once: the forces of
what drives prescribed joints, forces of contacts at samples, and which of these are forces inside joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from catena.simulation.acting import loads
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.stop import StopSide
from catena.simulation.contacts.stops_in_joints import with_stops_in_joints
from catena.simulation.following import Following
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.segment import Segment
from catena.simulation.results.transition import Transition
from catena.simulation.structure_changes import resampled
from catena.system import System


@dataclass(eq=False)
class Passed:
    """A stretch: its `run`, what acts in it, what gives the forces (samples, contacts, 3) of contacts at the samples of
    the run or of another one within it, and the `pushes` (samples, contacts, 3) of all contacts by which the forces of
    drives are found, None where they are known or there are none."""

    run: Segment
    free_motion: FreeMotion
    forces: Callable[[Segment], np.ndarray]
    pushes: np.ndarray | None = None


class Stretches:
    """What a motion has passed, under the contacts and stops that were `given`; `described` maps systems that move to
    those with all that was described."""

    def __init__(self, given: Sequence[Contact | StopSide], described: Mapping[System, System]) -> None:
        self.labels, self.described = [contact.label for contact in given], described
        self.touching = tuple(contact for contact in given if isinstance(contact, Contact))
        self.passed = list[Passed]()
        self.finished = list[Segment]()
        """Stretches as they are told and returned."""
        self.known = 0
        """How many stretches were taken."""
        self.seen = 0
        """How many changes whoever follows the run has been told of."""

    @property
    def last(self) -> Segment | None:
        """Return the last stretch, None if there is none."""
        return self.passed[-1].run if self.passed else None

    def mend(self, run: Segment) -> None:
        """Put another run in the place of the last one."""
        self.passed[-1].run = run

    def taken(self) -> tuple[EventHit, ...]:
        """Return the events since stretches were taken last, and forget all stretches but the last."""
        events = tuple(hit for part in self.passed[self.known :] for hit in part.run.events)
        self.passed = self.passed[-1:]
        self.known = len(self.passed)
        return events

    def tell(
        self, times: np.ndarray | None, count: int, transitions: Sequence[Transition], following: Following,
        note: str = "",
    ) -> None:  # fmt: skip
        """Finish so many stretches at some times, or at all steps if these are None, and tell whoever follows those
        that are new, and the transitions within them."""
        known = len(self.finished)
        some = self.passed[known:count]
        _find_drives(some)
        for part in some:
            run = resampled(part.run, times)
            f = part.forces(run)
            if not np.isin(run.t, part.run.t).all():
                run = _with_wrenches(run, part.free_motion, f)
            self.finished.append(
                replace(
                    with_stops_in_joints(run, part.free_motion.places, f),
                    system=self.described.get(run.system, run.system),
                    contacts=self.touching,
                    contact_forces={label: f[:, i] for i, label in enumerate(self.labels)},
                )
            )
        if count > known:
            until, is_whole = self.finished[-1].t[-1], count == len(self.passed)
            new = [x for x in transitions[self.seen :] if x.t <= until or is_whole]
            self.seen += len(new)
            following.tell([(x, False) for x in self.finished[known:]], new, note)


def _with_wrenches(run: Segment, free_motion: FreeMotion, f: np.ndarray) -> Segment:
    """Return a run with what pushes at its samples, those of contacts with the forces f (samples, contacts, 3) that are
    told of them, where they were taken between steps."""
    places, names = free_motion.places, tuple(run.wrenches)

    def wrenches() -> dict[str, np.ndarray]:
        pushes = places.at(run.q, run.v).in_own_axes(f)
        if run.stop_forces:
            pushes[:, [k for k, *_ in places.in_joints]] = 0.0
        given = free_motion.outside(run.t, run.q, run.v)[0]
        found = free_motion.with_contacts(given, run.q, run.v, pushes)
        return {name: found[name] for name in names}

    return replace(run, wrenches=OnDemand(names, wrenches))


def _find_drives(some: Sequence[Passed]) -> None:
    """Add the forces of drives to the control forces of stretches in which there are some."""
    driven = [part for part in some if part.pushes is not None]
    for free_motion in {id(part.free_motion): part.free_motion for part in driven}.values():
        own = [part for part in driven if part.free_motion is free_motion]
        t, q, v, tau = (
            np.concatenate([getattr(part.run, name) for part in own]) for name in ("t", "q", "v", "tau")
        )
        given, accelerations = free_motion.outside(t, q, v)
        pushes = np.concatenate([part.pushes for part in own if part.pushes is not None])
        wrenches = free_motion.with_contacts(given, q, v, pushes)
        besides = replace(
            free_motion.besides(t, q, v), motors=_motors(free_motion, [part.run for part in own])
        )
        tau = loads.with_drives(free_motion.system, q, v, tau, wrenches, accelerations, besides)
        ends = np.cumsum([len(part.run.t) for part in own])[:-1]
        for part, forces in zip(own, np.split(tau, ends), strict=True):
            part.run, part.pushes = replace(part.run, tau=forces), None


def _motors(free_motion: FreeMotion, runs: Sequence[Segment]) -> dict[str, np.ndarray]:
    """Return the control forces (samples, n) at joints that close loops by joint, of some runs one behind the other."""
    columns = free_motion.acting.loop_columns
    sizes = {name: columns[name].stop - columns[name].start for run in runs for name in run.loop_forces}
    return {
        name: np.concatenate([run.loop_forces.get(name, np.zeros((len(run.t), size))) for run in runs])
        for name, size in sizes.items()
    }
