"""A part of a run that has one structure: states over time, values between them, and what follows from them.

A `Trajectory` is made of segments and asks them one by one. Whatever depends on coordinates is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError, UnknownNameError
from catena.mechanism import MODES
from catena.mechanism.validation import known
from catena.simulation import turns
from catena.simulation.acting import loads
from catena.simulation.results import dense
from catena.simulation.results.across_sticking import follow_across
from catena.simulation.results.between_samples import BetweenSamples, between
from catena.simulation.results.contact_force_history import ContactForceHistory
from catena.simulation.results.energies import Energies
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.times import asked_times, increasing_times, start_offset
from catena.system import System, tree_forces
from catena.system.energies import energies
from catena.system.reaction_forces import beam_resultants
from catena.validation import is_one_of, shown

if TYPE_CHECKING:
    from catena.simulation.contacts.contact import Contact
    from catena.simulation.control.sensors import Sensor

# States whose loops are open by more than this were not kept closed, so nothing between them is closed either.
OPEN = 1e-6


_NOTHING: Mapping[str, Any] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    return _NOTHING


@dataclass(frozen=True, eq=False, repr=False)
class Segment(Energies):
    """A motion of one structure: states at the times t (samples,), q (..., samples, nq), v (..., samples, nv), and the
    control forces tau (..., samples, nv) after the limits of actuators, which acted from each time on.

    `steps` is how many steps were taken, rejected ones included. `work` maps "actuators", "friction", "wrenches" and
    "motion" to the work (..., samples) since the start, where the simulation kept count of it. `wrenches` are the given
    wrenches (..., samples, 6) on bodies or frames, `driven` the joints whose motion was prescribed with their
    accelerations (..., samples, nv of the joint); tau has the forces of their drives. `events` are what was met on the
    way. `ended` says why a run stopped early, and `settings` how it was made. `held` says that tau stayed the same
    between samples, as that of a sampled controller does; otherwise it is taken to vary smoothly.

    Of joints that close loops, `loop_forces` are the control forces (..., samples, nv of the joint) of those that got
    some, and `loop_positions` the positions (..., samples, nq of the joint), with all their turns, of those that
    something looked at. `stop_forces` are forces (..., samples, nv of the joint) that hold joints of the tree: those of
    rigid stops, and those by which dry friction that sticks differs from the one that goes smoothly through rest.
    `contacts` are those that may touch, and `contact_forces` maps their names, and those of rigid stops, to the
    forces (..., samples, 3) on their frames in the axes of their planes, zero where they do not touch. `kept` are the
    signals that a run was asked to keep, {name: (...)} or, at its samples, {name: (..., samples)}. `tip_forces` are
    the wrenches (..., samples, 6) that tips exert on their supports, by the names of their contacts.
    """

    system: System
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    steps: int
    work: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    wrenches: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    driven: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    events: Sequence[EventHit] = ()
    ended: str = ""
    settings: Mapping[str, str] = field(default_factory=_nothing)
    held: bool = False
    loop_forces: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    stop_forces: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    loop_positions: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    contacts: tuple[Contact, ...] = ()
    contact_forces: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    kept: Mapping[str, np.ndarray] = field(default_factory=_nothing)
    tip_forces: Mapping[str, np.ndarray] = field(default_factory=_nothing)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy or a pickle is made of; what was found from it is found again."""
        values = (getattr(self, each.name) for each in fields(self))
        return type(self), tuple(dict(x) if isinstance(x, Mapping) else x for x in values)

    def __repr__(self) -> str:
        return f"Segment({self.system.mechanism.name!r}, {self.summary})"

    @property
    def summary(self) -> str:
        """Return how many motions, samples and steps it has, in words."""
        batch = f"{self.batch} states, " if self.batch else ""
        return f"{batch}{len(self.t)} samples from {self.t[0]:g} s to {self.t[-1]:g} s, {self.steps} steps"

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the batch dimensions, () for a single motion."""
        return self.q.shape[:-2]

    @property
    def lands(self) -> bool:
        """Return whether contacts land within its steps, so that velocities jump between samples."""
        return self.settings.get("integrator", "").startswith("time_stepping")

    def state(self, *index: int) -> Segment:
        """Return the motion of one state of a batch, given by its index, with a system of its own where parameters
        differ from state to state."""
        try:
            number = int(np.ravel_multi_index(index, self.batch))
        except (ValueError, TypeError):
            raise StateError(
                f"There is no state {shown(index)}; the batch has shape {self.batch}: give an index for each dimension."
            ) from None
        over = self.q.shape[:-1]
        rows: dict[str, Any] = {
            what: {name: np.broadcast_to(x, (*over, x.shape[-1]))[index] for name, x in by_name.items()}
            for what, by_name in self._rows.items()
        }
        events = tuple(replace(event, state=()) for event in self.events if event.state == tuple(index))
        return replace(
            self, system=self.system.variants.state(number), q=self.q[index], v=self.v[index], tau=self.tau[index],
            work={name: x[index] for name, x in self.work.items()}, events=events,
            kept={name: x[index] for name, x in self.kept.items()}, **rows,
        )  # fmt: skip

    def chosen(self, states: np.ndarray) -> Segment:
        """Return the motions of some states (n,) of a batch, counted through it, one behind the other."""
        batch, over, count = self.batch, self.q.shape[:-1], (len(states), len(self.t))
        numbers = {tuple(int(i) for i in np.unravel_index(k, batch)): (new,) for new, k in enumerate(states)}

        def taken(x: np.ndarray, axes: int) -> np.ndarray:
            own = x.shape[x.ndim - axes :]
            return np.broadcast_to(x, (*over, *own)).reshape(-1, over[-1], *own)[states].reshape(*count, *own)

        rows: dict[str, Any] = {
            what: {name: taken(x, 1) for name, x in by_name.items()} for what, by_name in self._rows.items()
        }
        events = tuple(
            replace(event, state=numbers[event.state]) for event in self.events if event.state in numbers
        )
        kept = {name: x.reshape(-1, *x.shape[len(batch) :])[states] for name, x in self.kept.items()}
        return replace(
            self, system=self.system.variants.chosen(states, (len(states), 1)), q=taken(self.q, 1), v=taken(self.v, 1),
            tau=taken(self.tau, 1), work={name: taken(x, 0) for name, x in self.work.items()}, events=events,
            kept=kept, **rows,
        )  # fmt: skip

    def shifted(self, start: float) -> Segment:
        """Return this run with its times moved so that it begins at `start` [s]."""
        return self.later(start_offset(self.t, start))

    def later(self, offset: float) -> Segment:
        """Return this segment with its times moved by so many seconds."""
        events = tuple(replace(event, t=event.t + offset) for event in self.events)
        by_event = bool(self.events) and self.ended == self.events[-1].ended
        ended = events[-1].ended if by_event else self.ended
        return replace(self, t=self.t + offset, events=events, ended=ended)

    @property
    def contact_force_histories(self) -> tuple[ContactForceHistory, ...]:
        """Return what contacts are pushed with."""
        forces = self.contact_forces
        return tuple(
            ContactForceHistory(x, self.t, forces[x.label]) for x in self.contacts if x.label in forces
        )

    # Named access.

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the coordinates of a joint, tree or loop, (..., samples, nq_joint); "boom.mode1" is the amplitude
        (..., samples) of the first mode of the flexible body "boom", "boom.modes" are all. Angles keep counting turns;
        where a joint closes a loop and nothing looked at it during the run, they do so from sample to sample, by its
        velocities there."""
        mode = self._mode(joint)
        if mode is not None:
            return self.q[..., mode].copy()
        if self._joint(joint) in self.system.loops:
            if joint in self.loop_positions:
                return np.array(self.loop_positions[joint])
            return turns.counted(self.system, self.t, self.q, self.v, joint)
        return self.system.joint_position(self.q, joint)

    def velocity(self, joint: str) -> np.ndarray:
        """Return the velocities of a joint, tree or loop, (..., samples, nv_joint)."""
        return self.system.joint_velocity(self.q, self.v, self._joint(joint))

    def force(self, joint: str) -> np.ndarray:
        """Return the control forces at a joint, tree or loop, (..., samples, nv_joint)."""
        if self._joint(joint) in self.system.loops:
            found = self.loop_forces.get(joint)
            size = self.system.mechanism.joints[joint].kind.nv
            return np.zeros((*self.v.shape[:-1], size)) if found is None else np.array(found)
        return self.tau[..., self.system.slice_v(joint)].copy()

    def pose(self, frame: str) -> np.ndarray:
        """Return the poses of a frame or body in ground, (..., samples, 4, 4)."""
        return np.asarray(self.system.pose(self.q, frame))

    def position(self, frame: str) -> np.ndarray:
        """Return the origin of a frame or body in ground, (..., samples, 3)."""
        return self.pose(frame)[..., :3, 3]

    def twist(self, frame: str) -> np.ndarray:
        """Return the twist [angular; linear] of a frame or body in its own axes at its origin, (..., samples, 6)."""
        return self.system.twist(self.q, self.v, frame)

    # Values between samples.

    def at(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return q and v at any time of the run: (..., nq) and (..., nv) for one number, (..., times, nq) and (...,
        times, nv) for times (times,).

        Between samples the motion is a quintic polynomial on the manifold of q, from positions, velocities and
        accelerations at both; its error falls with the sixth power of their distance in q and the fifth in v, and by
        one power less where control forces jump, and wrenches may with them. Loops are closed again where the samples
        are closed. Where dry friction begins to stick between two samples, the motion is followed from the first.
        """
        asked = asked_times(self.t, times)
        if len(self.t) == 1:
            q, v = (np.repeat(x, len(asked), axis=-2) for x in (self.q, self.v))
        else:
            start, end = self.between.end_accelerations
            is_closed = self.closure_error < OPEN
            q, v = dense.interpolate(
                self.system,
                self.t,
                self.q,
                self.v,
                start,
                end,
                asked,
                project=is_closed,
                known=~self.between.jumps,
            )
            if self.stop_forces and not (self.contact_forces or self.driven or self.loop_forces):
                follow_across(self, asked, q, v)
        return (q, v) if np.ndim(times) else (q[..., 0, :], v[..., 0, :])

    def resample(self, times: int | ArrayLike) -> Segment:
        """Return this run at other times: increasing ones within it, or a whole number of them from first to last.
        States are those of `at`, works are cubic between samples, and control forces held, or, as those of drives
        always, cubic without overshoot."""
        asked = increasing_times(self.t, times)
        k = np.searchsorted(self.t, asked)
        if np.array_equal(self.t[k], asked):
            return self.picked(k)
        q, v = self.at(asked)
        besides = self.between.besides_at(asked, q)
        return replace(
            self, t=asked, q=q, v=v, tau=self.between.forces_at(asked),
            work=OnDemand(tuple(self.work), lambda: self.between.works_at(asked)),
            wrenches=OnDemand(tuple(self.wrenches), lambda: self.between.wrenches_at(asked)),
            driven=self.between.driven_at(asked), loop_forces=besides.motors,
            stop_forces=besides.stops, loop_positions=besides.near,
            contact_forces={name: between(self.t, f, asked) for name, f in self.contact_forces.items()},
            tip_forces={name: between(self.t, f, asked) for name, f in self.tip_forces.items()},
            held=self.held and bool(np.isin(self.t, asked).all()),
        )  # fmt: skip

    def picked(self, k: np.ndarray) -> Segment:
        """Return this run at some of its samples, given by number in order."""

        def rows(by_name: Mapping[str, np.ndarray], axis: int) -> Mapping[str, np.ndarray]:
            # What nobody has looked at yet stays so.
            return OnDemand(tuple(by_name), lambda: {n: np.take(x, k, axis=axis) for n, x in by_name.items()})

        found: dict[str, Any] = {
            what: rows(by_name, -2) for what, by_name in self._rows.items() if len(by_name)
        }
        return replace(
            self, t=self.t[k], q=self.q[..., k, :], v=self.v[..., k, :], tau=self.tau[..., k, :],
            work=rows(self.work, -1), **found, held=self.held and len(k) == len(self.t),
        )  # fmt: skip

    @property
    def _rows(self) -> dict[str, Any]:
        """Return what has a row of numbers (..., samples, n) for each sample, by name."""
        return {
            "wrenches": self.wrenches, "driven": self.driven, "loop_forces": self.loop_forces,
            "stop_forces": self.stop_forces, "loop_positions": self.loop_positions,
            "contact_forces": self.contact_forces, "tip_forces": self.tip_forces,
        }  # fmt: skip

    # Energy, momentum, forces.

    @property
    def kinetic_energy(self) -> np.ndarray:
        """Return the kinetic energy, (..., samples)."""
        return self.energies[0]

    @property
    def potential_energy(self) -> np.ndarray:
        """Return the potential energy of gravity, springs and stops, (..., samples)."""
        return self.energies[1]

    @cached_property
    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the kinetic and the potential energy, each (..., samples)."""
        return energies(self.system, self.q, self.v, self.loop_positions)

    @cached_property
    def momentum(self) -> np.ndarray:
        """Return the total momentum [angular; linear] about the ground's origin in ground axes, (..., samples, 6)."""
        return self.system.momentum(self.q, self.v)

    @cached_property
    def acceleration(self) -> np.ndarray:
        """Return vdot at the samples, (..., samples, nv), with the forces that act from then on."""
        return loads.accelerations(
            self.system, self.q, self.v, self.tau, self.wrenches, self.driven, self.besides
        )

    @property
    def tree_forces(self) -> np.ndarray:
        """Return the forces (..., samples, nv) of joints of the tree that do what all control forces do."""
        if not self.loop_forces:
            return self.tau
        return self.tau + tree_forces(self.system, self.q, self.loop_forces)

    @property
    def besides(self) -> loads.Besides:
        """Return what is known of joints besides the control forces of the tree."""
        return loads.Besides(self.loop_forces, self.stop_forces, self.loop_positions)

    def frame_acceleration(self, frame: str, axes: str = "frame") -> np.ndarray:
        """Return the angular acceleration of a frame and the acceleration of its origin, (..., samples, 6), in its own
        axes, or in ground's with axes="aligned"."""
        return self.system.acceleration(self.q, self.v, self.acceleration, frame, axes=axes)

    def read(self, sensor: Sensor) -> dict[str, np.ndarray]:
        """Return what a sensor tells along the run, {name: (..., samples, n)}, with the forces that act from each
        sample on."""
        from catena.simulation.control.sensors import Encoder, Sensor, SituationInRun

        if not isinstance(sensor, Sensor):
            raise StateError(
                f"{shown(sensor)} is no sensor; give one such as ct.IMU('head') or ct.Encoder('elbow')."
            )
        sensor.check(self.system)
        at = SituationInRun(self)
        if isinstance(sensor, Encoder) and sensor.joint in self.system.loops:
            near = {sensor.joint: self[sensor.joint]}
            at.besides = replace(self.besides, near={**self.loop_positions, **near})
        return sensor.read(at)

    def reactions(self) -> dict[str, np.ndarray]:
        """Return the whole wrench [moment; force] that each joint passes to its child, {joint: (..., samples, 6)}, at
        the child-side joint frame's origin in its axes."""
        return dict(self._reactions)

    def reaction(self, joint: str) -> np.ndarray:
        """Return the wrench [moment; force] that a joint passes to its child, (..., samples, 6), in its child-side
        frame."""
        joints = self.system.mechanism.joints
        return self._reactions[known("joint", joint, joints, repr(self.system.mechanism.name))]

    def resultants(self, body: str, x: ArrayLike) -> dict[str, np.ndarray]:
        """Return the stress resultants of a beam at places x (n,) [m] along it and at all samples, each (..., samples,
        n), as `System.resultants` tells them."""
        if self.system.variants.parameters:
            raise StateError(
                "resultants belong to one mechanism, and its parameters differ from state to state; ask the run of one "
                "state, run.state(k).resultants(...)."
            )
        return beam_resultants(
            self.system, body, x, self.q, self.v, self.acceleration, self._reactions, self.wrenches
        )

    def coupling_forces(self) -> dict[str, np.ndarray]:
        """Return the force that each coupling carries, {coupling: (..., samples)}, as `System.coupling_forces` tells
        it."""
        return loads.coupling_forces(self.system, self.q, self.v, self.tau, self.wrenches, self.besides)

    @cached_property
    def power(self) -> dict[str, np.ndarray]:
        """Return the powers (..., samples) of "actuators", "friction" (with dampers), "wrenches" and prescribed
        "motion", and their sum "total", at which the energy changes."""
        found = loads.powers(self.system, self.q, self.v, self.tau, self.wrenches, self.driven, self.besides)
        return {**found, "total": sum(found.values(), np.zeros(self.q.shape[:-1]))}

    def joint_acceleration(self, joint: str) -> np.ndarray:
        """Return the accelerations of a joint of the tree, (..., samples, nv_joint)."""
        if self._joint(joint) in self.system.loops:
            raise StateError(
                f"Joint {joint!r} closes a loop and has no acceleration among the coordinates; plan it into the tree, "
                f"m.system(keep=[{joint!r}])."
            )
        return self.acceleration[..., self.system.slice_v(joint)].copy()

    def joint_power(self, joint: str) -> np.ndarray:
        """Return the power of the control forces at a joint, tree or loop, tau . v, (..., samples)."""
        return np.einsum("...i,...i->...", self.force(joint), self.velocity(joint))

    # Loops.

    @cached_property
    def closure(self) -> np.ndarray:
        """Return the largest position error of a loop at each sample, (..., samples) [rad or m]."""
        return np.max(np.abs(self.system.closure(self.q)[0]), axis=-1, initial=0.0)

    @cached_property
    def closure_rate(self) -> np.ndarray:
        """Return the largest velocity at which a loop moves apart at each sample, (..., samples) [rad/s or m/s]."""
        return np.max(np.abs(self.system.closure(self.q, self.v)[1]), axis=-1, initial=0.0)

    @property
    def closure_error(self) -> float:
        """Return the largest position error of a loop [rad or m]."""
        return float(np.max(self.closure, initial=0.0))

    # Behind the scenes.

    @cached_property
    def between(self) -> BetweenSamples:
        """Return what is known between samples."""
        return BetweenSamples(self)

    def _mode(self, name: str) -> int | None:
        """Return the place in q of the mode of a flexible body called "<body>.mode<number>", None for other names."""
        body, _, number = name.rpartition(".mode") if isinstance(name, str) else ("", "", "")
        if not number.isdecimal() or body + MODES not in self.system.joints:
            return None
        own = self.system.slice_q(body + MODES)
        if not 1 <= int(number) <= own.stop - own.start:
            raise UnknownNameError(
                f"{self.system.mechanism.name!r}: body {body!r} has {own.stop - own.start} modes, and no mode {number}"
            )
        return own.start + int(number) - 1

    def _joint(self, name: str) -> str:
        who = repr(self.system.mechanism.name)
        moving = (*self.system.joints, *self.system.loops)
        if is_one_of(name, self.system.mechanism.joints) and name not in moving:
            raise UnknownNameError(f"{who}: joint {name!r} is fixed or locked and has no coordinates")
        return known("joint", name, moving, who)

    @cached_property
    def _reactions(self) -> dict[str, np.ndarray]:
        if any(each.contact.joint in self.system.loops for each in self.contact_force_histories):
            from catena.simulation.contacts.stuck import reactions_beside_contacts

            return reactions_beside_contacts(self)
        known_motion = self.acceleration if self.driven else None
        return loads.reactions(
            self.system, self.q, self.v, self.tau, self.wrenches, known_motion, self.besides
        )
