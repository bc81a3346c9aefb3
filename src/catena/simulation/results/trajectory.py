"""What a simulation leaves behind: a motion of one or more segments, each with one structure, asked by names.

The samples of all segments share one time axis, on which the time of a change comes twice: just before it and just
behind it. What has a name is read across segments. Where a segment does not have it (a joint that was not there yet, or
is locked, a frame of a body that is gone) the numbers are NaN; where nothing acted in a segment, forces are zero.
Arrays over coordinates, as q, are there while these stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError, UnknownNameError
from catena.joints import JointKind
from catena.simulation.results.dense import SLACK
from catena.simulation.results.energies import Energies
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.joining import (
    GAP,
    Before,
    before_each,
    filled,
    require_one_behind_the_other,
    structure_of,
)
from catena.simulation.results.presentable import PathLike, Presentable
from catena.simulation.results.segment import Segment
from catena.simulation.results.states import StatesAt
from catena.simulation.results.times import asked_times, increasing_times, start_offset
from catena.simulation.results.transition import Transition
from catena.system import System
from catena.validation import is_finite, is_one_of, real_array, shown

if TYPE_CHECKING:
    from catena.simulation.contacts.contact import Contact
    from catena.simulation.results.contact_channel import ContactChannel
    from catena.simulation.sensors import Sensor

Ask = Callable[[Segment], np.ndarray]
# So many changes are listed when a run is printed.
LISTED = 8


class Trajectory(Energies, Presentable):
    """A motion, or a batch of motions, over time: `segments` in the order of their times, each with one structure and
    beginning where the one before it ends; `transitions` tell what happened between them, and `note` why the motion
    stopped early, if the last segment does not say.

    `run["A"]`, `run.pose("tool")`, `run.reaction("A")` and all else that is asked by a name work across segments; so
    do energies, powers, works, `audit`, `plot`, `view`, tables and files. `run.q`, `run.v`, `run.tau` and
    `run.acceleration` are there while q has the same joints, which contacts that open and close do not change. Of a
    batch, `run.state(k)` is one motion. `failed` maps indices of the batch that was asked for to words, where states of
    it could not be simulated and are left out.
    """

    def __init__(
        self,
        segments: Sequence[Segment | Trajectory],
        transitions: Sequence[Transition] = (),
        note: str = "",
        failed: Mapping[tuple[int, ...], str] = MappingProxyType({}),
        before: Sequence[Before] | None = None,
    ) -> None:
        """Put segments, or runs that follow each other, together; `before` says what happened before each of them
        where samples do not tell, because there is none at the end of the one before."""
        if isinstance(segments, System):
            raise StateError(
                "A trajectory is made of segments; of states from elsewhere make it with Trajectory.of(system, t, q, "
                "v, tau)."
            )
        if isinstance(segments, Segment | Trajectory) or not isinstance(segments, Sequence):
            raise StateError(f"A trajectory is made of a list of segments or runs; found {shown(segments)}.")
        parts: list[Segment] = []
        changes = list(transitions)
        for given in segments:
            if isinstance(given, Trajectory):
                parts += given.segments
                changes += given.transitions
                note = note or given.note
            elif isinstance(given, Segment):
                parts.append(given)
            else:
                raise StateError(
                    f"A trajectory is made of segments or runs, at least one; found {shown(given)}."
                )
        if not parts:
            raise StateError("A trajectory is made of segments or runs, at least one; found none.")
        if before is None:
            require_one_behind_the_other(parts)
        self._segments = tuple(parts)
        self.transitions: tuple[Transition, ...] = tuple(changes)
        self.note: str = note
        self.failed = failed
        self.given_before = None if before is None else tuple(before)
        self.told_of: tuple[int, ...] = ()
        """The state of a batch that this part of a run tells of, where states move one after the other; else ()."""

    @classmethod
    def of(
        cls,
        system: System,
        t: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        steps: int = 0,
        **acted: Any,
    ) -> Trajectory:
        """Return a trajectory of states from elsewhere: at times t (samples,), q (..., samples, nq), v (..., samples,
        nv) and control forces tau (..., samples, nv), zero unless given. `acted` are further fields of a segment, such
        as `wrenches` and `work`."""
        if not isinstance(system, System):
            raise StateError(f"Trajectory.of: {shown(system)} is no system; give what m.system() returns.")
        given = {"t": t, "q": q, "v": v, "tau": tau if tau is not None else np.zeros(np.shape(v))}
        rows: dict[str, np.ndarray] = {}
        for name, x in given.items():
            try:
                rows[name] = np.array(real_array(x), dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise StateError(f"Trajectory.of: {name} is {shown(x)} ({error}); give numbers.") from None
        over = rows["q"].shape[:-1]
        shapes = {"t": over[-1:], "q": (*over, system.nq), "v": (*over, system.nv), "tau": (*over, system.nv)}
        for name, x in rows.items():
            if not over or x.shape != shapes[name] or not len(rows["t"]):
                raise StateError(
                    f"Trajectory.of: {name} has shape {x.shape}; give t (samples,), q (..., samples, {system.nq}), v "
                    f"and tau (..., samples, {system.nv}), with one sample or more."
                )
        if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
            raise StateError(f"Trajectory.of: steps is {shown(steps)}; give a whole number, 0 or more.")
        _require_fields("Trajectory.of", acted)
        return cls((Segment(system, rows["t"], rows["q"], rows["v"], rows["tau"], int(steps), **acted),))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy or a pickle is made of; what was found from it is found again."""
        made = self._segments, self.transitions, self.note, dict(self.failed), self.given_before
        return type(self), made, {"told_of": self.told_of}

    def __repr__(self) -> str:
        name, parts = repr(self.segments[0].system.mechanism.name), len(self.segments)
        if parts == 1:
            return f"Trajectory({name}, {self.segments[0].told})"
        batch = f"{self.batch} states, " if self.batch else ""
        return (
            f"Trajectory({name}, {batch}{parts} segments, {len(self.t)} samples from {self.t[0]:g} s to "
            f"{self.t[-1]:g} s, {self.steps} steps)"
        )

    def __str__(self) -> str:
        lines = [
            repr(self),
            *(f"  {line}" for x in self.transitions[:LISTED] for line in str(x).splitlines()),
        ]
        more = len(self.transitions) - LISTED
        lines += [f"  and {more} more changes: run.transitions tells each"] if more > 0 else []
        return "\n".join(lines + ([f"  ended: {self.ended}"] if self.ended else []))

    # What it is made of.

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
        from catena.simulation.contacts.stuck_reactions import without_contacts

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

    def state(self, *index: int) -> Trajectory:
        """Return the motion of one state of a batch, given by its index, with a system of its own where parameters
        differ from state to state."""
        parts = [part.state(*index) for part in self.segments]
        return Trajectory(parts, self.transitions, self.note, self.failed, self._alone(index))

    def _alone(self, index: tuple[int, ...]) -> list[Before] | None:
        if self.given_before is None:
            return None
        return [
            Before(np.broadcast_to(x.energy, self.batch)[index],
                   {name: np.broadcast_to(w, self.batch)[index] for name, w in x.work.items()})
            for x in self.given_before
        ]  # fmt: skip

    def with_(self, **changes: Any) -> Trajectory:
        """Return a run of one segment with other fields of that segment, as run.with_(q=q, ended="by hand")."""
        if len(self.all_segments) > 1:
            raise StateError(
                "with_ changes a run of one segment; change `segments` and make a Trajectory of them."
            )
        _require_fields("with_", changes)
        return Trajectory([replace(self.segments[0], **changes)], self.transitions, self.note, self.failed)

    def shifted(self, start: float) -> Trajectory:
        """Return this run with its times moved so that it begins at `start` [s]."""
        offset = start_offset(self.t, start)
        parts = [part.later(offset) for part in self.segments]
        changes = [replace(change, t=change.t + offset) for change in self.transitions]
        return Trajectory(parts, changes, self.note, self.failed, self.given_before)

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

    def contact(self, name: str) -> ContactChannel:
        """Return what a contact did along the run: force, gap, slip and mode at all samples, and its impacts."""
        from catena.simulation.results.contact_channel import contact_channel

        return contact_channel(self, name)

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

    # Values between samples.

    def at(self, times: ArrayLike) -> StatesAt:
        """Return q and v at any time of the run: (..., nq) and (..., nv) for one number, (..., times, nq) and (...,
        times, nv) for times (times,), with the `system` that they belong to. At the time of a change they are those
        behind it; several times must be of one structure.

        Between samples the motion is a quintic polynomial on the manifold of q, from positions, velocities and
        accelerations at both; its error falls with the sixth power of their distance in q and the fifth in v, and by
        one power less where control forces jump, and wrenches may with them. Loops are closed again where the samples
        are closed.
        """
        asked = asked_times(self.t, times)
        places = self._places(asked)
        parts = [self.segments[k] for k in dict.fromkeys(places.tolist())]
        if len({structure_of(part.system) for part in parts}) > 1:
            raise StateError(
                f"The structure changes between t = {asked.min():.9g} s and {asked.max():.9g} s, and q with it; ask "
                'for one time after the other, or by names: run.resample(times)["A"].'
            )
        if len(parts) == 1:
            q, v = parts[0].at(self._inside(parts[0], asked))
        else:
            found = [
                (part.at(self._inside(part, asked[places == k])), places == k)
                for k, part in enumerate(self.segments)
                if (places == k).any()
            ]
            system = parts[0].system
            q, v = (
                np.empty((*self.batch, len(asked), system.nq)),
                np.empty((*self.batch, len(asked), system.nv)),
            )
            for (q_there, v_there), here in found:
                q[..., here, :], v[..., here, :] = q_there, v_there
        if not np.ndim(times):
            q, v = q[..., 0, :], v[..., 0, :]
        return StatesAt(q, v, parts[0].system)

    def resample(self, times: int | ArrayLike) -> Trajectory:
        """Return this run at other times: increasing ones within it, or a whole number of them from first to last.
        States are those of `at`, works are cubic between samples, and control forces held, or, as those of drives
        always, cubic without overshoot. At the time of a change the state is the one behind it; segments within which
        none of the times lies are left out."""
        asked = increasing_times(self.t, times)
        if len(self.segments) == 1:
            return Trajectory(
                [self.segments[0].resample(asked)],
                self.transitions,
                self.note,
                self.failed,
                self.given_before,
            )
        places = self._places(asked)
        kept = [
            (part.resample(self._inside(part, asked[places == k])), before)
            for k, (part, before) in enumerate(zip(self.segments, self._before, strict=True))
            if (places == k).any()
        ]
        parts, before = zip(*kept, strict=True)
        return Trajectory(parts, self.transitions, self.note, self.failed, before)

    def _places(self, asked: np.ndarray) -> np.ndarray:
        """Return the numbers (times,) of the segments at times within the run."""
        slack = SLACK * max(abs(float(self.t[0])), abs(float(self.t[-1])))
        return np.searchsorted(self.changes - slack, asked, side="right")

    def _inside(self, part: Segment, asked: np.ndarray) -> np.ndarray:
        """Return times within a segment; those between its last sample and the next segment are refused."""
        slack = GAP * max(abs(float(self.t[0])), abs(float(self.t[-1])))
        late = asked[asked > part.t[-1] + slack]
        if len(late):
            raise StateError(
                f"Something changes between t = {part.t[-1]:.9g} s, the last sample before t = {late[0]:.9g} s, and "
                "the next: samples do not tell when. Ask the run that was not resampled."
            )
        return np.clip(asked, part.t[0], part.t[-1])

    @staticmethod
    def load(
        path: PathLike, system: System | None = None, kinds: Iterable[type[Any] | str] = ()
    ) -> Trajectory:
        """Read a run from a .nc or .h5 file; its mechanism comes from the file unless a system is given. `kinds` are
        those of your own that it may use."""
        from catena.simulation.results.recording import load_run

        return load_run(path, system, kinds)

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

        def told(part: Segment, name: str) -> np.ndarray:
            there = found.get(id(part), {})
            if name not in there:
                raise UnknownNameError(name)
            return there[name]

        names = self.names(lambda part: found.get(id(part), ()))
        return {name: self._joined(lambda part, name=name: told(part, name), axes) for name in names}  # type: ignore[misc]

    def _acting(self, what: str, otherwise: Callable[[Segment, str], np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return what acted by names, and `otherwise` where a segment tells nothing of a name."""
        if len(self.all_segments) == 1:
            only: Mapping[str, np.ndarray] = getattr(self.all_segments[0], what)
            return only

        def told(part: Segment, name: str) -> np.ndarray:
            own: Mapping[str, np.ndarray] = getattr(part, what)
            x = own[name] if name in own else otherwise(part, name)
            return np.broadcast_to(x, (*part.q.shape[:-1], x.shape[-1]))

        return {
            name: self._joined(lambda part, name=name: told(part, name), 1)  # type: ignore[misc]
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


def _require_fields(who: str, given: Mapping[str, Any]) -> None:
    """Raise unless all names are those of fields of a segment."""
    known = [each.name for each in fields(Segment)]
    for name in given:
        if name not in known:
            raise StateError(f"{who}: a segment has no {name!r}; it has {', '.join(known)}.")


def _kind(part: Segment, joint: str) -> JointKind:
    joints = part.system.mechanism.joints
    if joint not in joints:
        raise UnknownNameError(f"no joint is named {joint!r}")
    return joints[joint].kind
