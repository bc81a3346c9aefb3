"""What the segments of a run tell together: what they are, and everything that is asked by a name.

What has a name is read across segments. Where a segment does not have it (a joint that was not there yet, or is locked,
a frame of a body that is gone) the numbers are NaN; where nothing acted in a segment, forces are zero. Arrays over
coordinates, as q, are there while these stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError, UnknownNameError
from catena.joints import JointKind
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.joining import Before, before_each, filled, structure_of
from catena.simulation.results.segment import Segment
from catena.simulation.results.times import asked_times
from catena.system import System
from catena.validation import is_finite, is_one_of, shown

if TYPE_CHECKING:
    from catena.simulation.contacts.contact import Contact
    from catena.simulation.control.sensors import Sensor

Ask = Callable[[Segment], np.ndarray]


class AcrossSegments:
    """A motion of one or more segments, of which `given_before` says what happened before each where samples do not
    tell, and `note` why it stopped early."""

    note: str
    given_before: tuple[Before, ...] | None
    _segments: tuple[Segment, ...]

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Return the parts of the motion that have one structure each."""
        return self._segments

    @property
    def all_segments(self) -> tuple[Segment, ...]:
        """Return the segments of all states."""
        return self._segments

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the batch dimensions, () for a single motion."""
        return self._segments[0].batch

    @cached_property
    def t(self) -> np.ndarray:
        """Return the times (samples,) of all segments; those of changes come twice."""
        parts = self._segments
        return parts[0].t if len(parts) == 1 else np.concatenate([part.t for part in parts])

    @property
    def kept(self) -> Mapping[str, np.ndarray]:
        """Return the signals that the run was asked to keep by `keep`, {name: (...)} for those that tell one number of
        all of it, {name: (..., samples)} for those at samples."""
        return self.segments[0].kept

    @property
    def steps(self) -> int:
        """Return how many steps were taken in all, rejected ones included."""
        return sum(part.steps for part in self.all_segments)

    @property
    def changes(self) -> np.ndarray:
        """Return the times (segments - 1,) at which segments begin behind the first."""
        return np.array([part.t[0] for part in self.segments[1:]])

    @property
    def events(self) -> Sequence[EventHit]:
        """Return the events that were met."""
        return tuple(event for part in self.segments for event in part.events)

    @property
    def ended(self) -> str:
        """Return why the motion stopped early."""
        return self.note or self.segments[-1].ended

    @property
    def settings(self) -> Mapping[str, str]:
        """Return how the run was made; where segments differ, as the first was."""
        return self.all_segments[0].settings

    @property
    def held(self) -> bool:
        """Return whether control forces stay the same between samples, as those of a sampled controller do."""
        return all(part.held for part in self.all_segments)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Return the contacts that were made and broken."""
        return tuple(dict.fromkeys(contact for part in self.all_segments for contact in part.contacts))

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Return the joints that have coordinates along q in some segment."""
        return self.names(lambda part: part.system.joints)

    @property
    def is_one_structure(self) -> bool:
        """Return whether q has the same joints throughout, so that `q`, `v` and `tau` are there."""
        return len({structure_of(part.system) for part in self.all_segments}) == 1

    @cached_property
    def system(self) -> System:
        """Return the system that moves, while q has the same joints; without the joints as which contacts stick."""
        self._require_one_structure("system")
        sticking = [contact.joint for contact in self.contacts]
        for part in self.all_segments:
            if not any(joint in part.system.loops for joint in sticking):
                return part.system
        from catena.simulation.contacts.stuck import without_contacts

        system = self.all_segments[0].system
        return without_contacts(system, [joint for joint in sticking if joint in system.loops])

    def system_of(self, joint: str) -> System:
        """Return the first system that has a joint among those that move."""
        for part in self.all_segments:
            if joint in part.system.joints:
                return part.system
        for part in self.all_segments:
            if joint in part.system.loops:
                return part.system
        raise UnknownNameError(f"no segment of this run has a moving joint {joint!r}")

    def names(self, of: Callable[[Segment], Iterable[str]]) -> tuple[str, ...]:
        """Return the names that segments know, each once."""
        return tuple(dict.fromkeys(name for part in self.all_segments for name in of(part)))

    def segment_at(self, t: float) -> Segment:
        """Return the segment at a time; at the time of a change the one behind it."""
        if not is_finite(t):
            raise StateError(f"t is {shown(t)}; give one number of seconds.")
        (one,) = asked_times(self.t, t)
        return self.segments[int(np.searchsorted(self.changes, one, side="right"))]

    def has(self, name: str) -> np.ndarray:
        """Return at which samples, (..., samples), there is a joint, body or frame of this name that moves: elsewhere
        what is asked about it is NaN."""
        if not isinstance(name, str):
            raise StateError(f"has: {shown(name)} is no name; give that of a joint, body or frame.")

        def there(part: Segment) -> np.ndarray:
            system = part.system
            known = is_one_of(name, (*system.joints, *system.loops, *system.plan.body_pose))
            return np.full(part.q.shape[:-1], known)

        return self._joined(there, 0)

    # Arrays over coordinates.

    @cached_property
    def q(self) -> np.ndarray:
        """Return the positions (..., samples, nq), while q has the same joints."""
        return self._coordinates("q", lambda part: part.q)

    @cached_property
    def v(self) -> np.ndarray:
        """Return the velocities (..., samples, nv), while q has the same joints."""
        return self._coordinates("v", lambda part: part.v)

    @cached_property
    def tau(self) -> np.ndarray:
        """Return the control forces (..., samples, nv) after the limits of actuators, which acted from each time on,
        while q has the same joints."""
        return self._coordinates("tau", lambda part: part.tau)

    @cached_property
    def acceleration(self) -> np.ndarray:
        """Return vdot at the samples, (..., samples, nv), with the forces that act from then on, while q has the same
        joints."""
        return self._coordinates("acceleration", lambda part: part.acceleration)

    # Named access.

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the coordinates of a joint, tree or loop, (..., samples, nq_joint); "boom.mode1" is the amplitude
        (..., samples) of the first mode of the flexible body "boom", "boom.modes" are all. Angles keep counting turns;
        where a joint closes a loop and nothing looked at it during the run, they do so from sample to sample, by its
        velocities there."""
        if isinstance(joint, int):
            raise StateError(
                f"run[...] takes the name of a joint, found {shown(joint)}; one motion of a batch is "
                f"run.state({shown(joint)})."
            )
        return self._joined(lambda part: part[joint], 1)

    def velocity(self, joint: str) -> np.ndarray:
        """Return the velocities of a joint, tree or loop, (..., samples, nv_joint)."""
        return self._joined(lambda part: part.velocity(joint), 1)

    def force(self, joint: str) -> np.ndarray:
        """Return the control forces at a joint, tree or loop, (..., samples, nv_joint)."""
        return self._joined(lambda part: part.force(joint), 1)

    def pose(self, frame: str) -> np.ndarray:
        """Return the poses of a frame or body in ground, (..., samples, 4, 4)."""
        return self._joined(lambda part: part.pose(frame), 2)

    def position(self, frame: str) -> np.ndarray:
        """Return the origin of a frame or body in ground, (..., samples, 3)."""
        return self.pose(frame)[..., :3, 3]

    def twist(self, frame: str) -> np.ndarray:
        """Return the twist [angular; linear] of a frame or body in its own axes at its origin, (..., samples, 6)."""
        return self._joined(lambda part: part.twist(frame), 1)

    def frame_acceleration(self, frame: str, axes: str = "frame") -> np.ndarray:
        """Return the angular acceleration of a frame and the acceleration of its origin, (..., samples, 6), in its own
        axes, or in ground's with axes="aligned"."""
        return self._joined(lambda part: part.frame_acceleration(frame, axes), 1)

    def joint_acceleration(self, joint: str) -> np.ndarray:
        """Return the accelerations of a joint of the tree, (..., samples, nv_joint)."""
        return self._joined(lambda part: part.joint_acceleration(joint), 1)

    def joint_power(self, joint: str) -> np.ndarray:
        """Return the power of the control forces at a joint, tree or loop, tau . v, (..., samples)."""
        return self._joined(lambda part: part.joint_power(joint), 0)

    def read(self, sensor: Sensor) -> dict[str, np.ndarray]:
        """Return what a sensor tells along the run, {name: (..., samples, n)}, with the forces that act from each
        sample on."""
        return self._joined_by_name(lambda part: part.read(sensor), 1)

    def reactions(self) -> dict[str, np.ndarray]:
        """Return the whole wrench [moment; force] that each joint passes to its child, {joint: (..., samples, 6)}, at
        the child-side joint frame's origin in its axes."""
        found = self._joined_by_name(lambda part: part.reactions(), 1)
        for contact in self.contacts:
            found.pop(contact.joint, None)
        return found

    def reaction(self, joint: str) -> np.ndarray:
        """Return the wrench [moment; force] that a joint passes to its child, (..., samples, 6), in its child-side
        frame. Where contacts hold more than can move, it is the one that keeps bodies in balance with the contact
        forces that are told."""
        return self._joined(lambda part: part.reaction(joint), 1)

    def resultants(self, body: str, x: ArrayLike) -> dict[str, np.ndarray]:
        """Return the stress resultants of a beam at places x (n,) [m] along it and at all samples, each (..., samples,
        n), as `System.resultants` tells them."""
        return self._joined_by_name(lambda part: part.resultants(body, x), 1)

    def coupling_forces(self) -> dict[str, np.ndarray]:
        """Return the force that each coupling carries, {coupling: (..., samples)}, as `System.coupling_forces` tells
        it."""
        return self._joined_by_name(lambda part: part.coupling_forces(), 0)

    # What acted.

    @cached_property
    def wrenches(self) -> Mapping[str, np.ndarray]:
        """Return the given wrenches (..., samples, 6) on bodies or frames."""
        return self._acting("wrenches", lambda part, name: np.zeros(6))

    @cached_property
    def contact_forces(self) -> Mapping[str, np.ndarray]:
        """Return the forces (..., samples, 3) on the frames of contacts in the axes of their planes, zero where they do
        not touch, by the names of contacts and rigid stops."""
        return self._acting("contact_forces", lambda part, name: np.zeros(3))

    @cached_property
    def tip_forces(self) -> Mapping[str, np.ndarray]:
        """Return the wrenches [moment; force] (..., samples, 6) that tips exert on their supports at the tip, in the
        axes of their contacts, by the names of these (`ct.TipContact`)."""
        return self._acting("tip_forces", lambda part, name: np.zeros(6))

    @cached_property
    def driven(self) -> Mapping[str, np.ndarray]:
        """Return the accelerations (..., samples, nv of the joint) of joints whose motion was prescribed."""
        return self._acting("driven", lambda part, name: np.full(_kind(part, name).nv, np.nan))

    @cached_property
    def loop_forces(self) -> Mapping[str, np.ndarray]:
        """Return the control forces (..., samples, nv of the joint) of joints that close loops and got some."""
        return self._acting("loop_forces", Segment.force)

    @cached_property
    def stop_forces(self) -> Mapping[str, np.ndarray]:
        """Return the forces (..., samples, nv of the joint) that hold joints of the tree: of rigid stops, and of
        friction that sticks, beyond the one that goes smoothly through rest."""
        return self._acting("stop_forces", lambda part, name: np.zeros(_kind(part, name).nv))

    @cached_property
    def loop_positions(self) -> Mapping[str, np.ndarray]:
        """Return the positions (..., samples, nq of the joint), with all turns, of joints that close loops and that
        something looked at."""
        return self._acting("loop_positions", Segment.__getitem__)

    # Energy, momentum, work.

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """Return the kinetic energy, (..., samples)."""
        return self._joined(lambda part: part.kinetic_energy, 0)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """Return the potential energy of gravity, springs and stops, (..., samples). What a structure holds still keeps
        the energy that it had: only forces that come or go with a change make a difference."""
        if len(self.segments) == 1 and self.given_before is None:
            return self.segments[0].potential_energy
        parts = zip(self.segments, self._before, strict=True)
        return np.concatenate(
            [part.potential_energy + np.asarray(x.energy)[..., None] for part, x in parts], -1
        )

    @cached_property
    def momentum(self) -> np.ndarray:
        """Return the total momentum [angular; linear] about the ground's origin in ground axes, (..., samples, 6)."""
        return self._joined(lambda part: part.momentum, 1)

    @cached_property
    def power(self) -> dict[str, np.ndarray]:
        """Return the powers (..., samples) of "actuators", "friction" (with dampers), "wrenches" and prescribed
        "motion", and their sum "total", at which the energy changes."""
        return self._joined_by_name(lambda part: part.power, 0)

    @cached_property
    def work(self) -> Mapping[str, np.ndarray]:
        """Return the works (..., samples) since the start of "actuators", "friction", "wrenches" and "motion", where
        all segments kept count of them."""
        if len(self.segments) == 1 and self.given_before is None:
            return self.segments[0].work
        return {
            name: np.concatenate(
                [part.work[name] + np.asarray(x.work.get(name, 0.0))[..., None]
                 for part, x in zip(self.segments, self._before, strict=True)], -1
            )
            for name in self.names(lambda part: part.work)
            if all(name in part.work for part in self.segments)
        }  # fmt: skip

    # Loops.

    @cached_property
    def closure(self) -> np.ndarray:
        """Return the largest position error of a loop at each sample, (..., samples) [rad or m]."""
        return self._joined(lambda part: part.closure, 0)

    @cached_property
    def closure_rate(self) -> np.ndarray:
        """Return the largest velocity at which a loop moves apart at each sample, (..., samples) [rad/s or m/s]."""
        return self._joined(lambda part: part.closure_rate, 0)

    @property
    def closure_error(self) -> float:
        """Return the largest position error of a loop [rad or m]."""
        return max(part.closure_error for part in self.all_segments)

    # Behind the scenes.

    def _joined(self, ask: Ask, axes: int) -> np.ndarray:
        """Return what each segment tells, (..., samples) and so many further axes, one behind the other; NaN where one
        does not know the name that it is asked for. At least one must know it."""
        if len(self._segments) == 1:
            return ask(self._segments[0])
        parts = filled(self._segments, ask, axes, lambda part: part.q.shape[:-1])
        return np.concatenate(parts, axis=-axes - 1)

    def _joined_by_name(
        self, ask: Callable[[Segment], Mapping[str, np.ndarray]], axes: int
    ) -> dict[str, np.ndarray]:
        """Return what segments tell by names, each as `_joined`."""
        found: dict[int, Mapping[str, np.ndarray]] = {}
        fault: UnknownNameError | None = None
        for part in self.all_segments:
            try:
                found[id(part)] = ask(part)
            except UnknownNameError as error:
                fault = fault or error
        if not found and fault is not None:
            raise fault

        def value_of(part: Segment, name: str) -> np.ndarray:
            there = found.get(id(part), {})
            if name not in there:
                raise UnknownNameError(name)
            return there[name]

        names = self.names(lambda part: found.get(id(part), ()))
        return {name: self._joined(lambda part, name=name: value_of(part, name), axes) for name in names}  # type: ignore[misc]

    def _acting(self, what: str, otherwise: Callable[[Segment, str], np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return what acted by names, and `otherwise` where a segment tells nothing of a name."""
        if len(self.all_segments) == 1:
            only: Mapping[str, np.ndarray] = getattr(self.all_segments[0], what)
            return only

        def value_of(part: Segment, name: str) -> np.ndarray:
            own: Mapping[str, np.ndarray] = getattr(part, what)
            x = own[name] if name in own else otherwise(part, name)
            return np.broadcast_to(x, (*part.q.shape[:-1], x.shape[-1]))

        return {
            name: self._joined(lambda part, name=name: value_of(part, name), 1)  # type: ignore[misc]
            for name in self.names(lambda part: getattr(part, what))
        }

    def _coordinates(self, name: str, ask: Ask) -> np.ndarray:
        if len(self.all_segments) > 1:
            self._require_one_structure(name)
        return self._joined(ask, 1)

    def _require_one_structure(self, name: str) -> None:
        """Raise unless q has the same joints throughout."""
        first = structure_of(self.all_segments[0].system)
        other = next((part for part in self.all_segments if structure_of(part.system) != first), None)
        if other is None:
            return
        who, joint = self.all_segments[0].system.mechanism.name, self.joints[0] if self.joints else "A"
        raise StateError(
            f"run.{name} belongs to one structure, and that of {who!r} changes at t = {other.t[0]:.6g} s, where q gets "
            f"other joints. Ask by names, run[{joint!r}], run.velocity({joint!r}), run.force({joint!r}), "
            f"run.joint_acceleration({joint!r}), or one structure at a time, {self._one_segment}.{name}."
        )

    @property
    def _one_segment(self) -> str:
        """Return how somebody asks for a segment."""
        return "run.segments[0]"

    @cached_property
    def _before(self) -> tuple[Before, ...]:
        """Return what happened before each segment."""
        if self.given_before is not None:
            return self.given_before
        return before_each(self.segments)


def _kind(part: Segment, joint: str) -> JointKind:
    joints = part.system.mechanism.joints
    if joint not in joints:
        raise UnknownNameError(f"no joint is named {joint!r}")
    return joints[joint].kind
