"""A motion during which the structure of the mechanism changes: runs one behind the other, each with its own system.

The samples of all segments share one time axis, on which the time of a change comes twice: just before it, with the old
structure, and just behind it, with the new one. What has a name in the mechanism is read by its name across segments;
where a segment does not know it (a joint that was not there, or was locked) the numbers are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.changing.transfer import told_energy
from catena.errors import StateError, UnknownNameError
from catena.given import real_array, shown
from catena.hooks import hook
from catena.simulation.contact_force_history import ContactForceHistory
from catena.simulation.results.audit import Audit, Line, SegmentedAudit
from catena.simulation.results.on_demand import NumberOnDemand
from catena.simulation.results.segment import EventHit, PathLike, Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from catena.changing import Transfer
    from catena.simulation.contacts.contact import Contact
    from catena.simulation.results.recording.table import Table
    from catena.simulation.results.sizing import Sizing, TriedMotor
    from catena.view.live.view import View

# Segments follow each other where their times differ by no more than this part of the whole time.
GAP = 1e-9
# A change of structure keeps the momentum of what touches nothing to this part of what is summed up in it.
MOMENTUM = 1e-9


@dataclass(frozen=True, eq=False)
class Transition:
    """A change of structure during a run: when it happened and why, the kinetic energy that was lost [J], the impulse
    of each joint (6,) on its child or of each contact (3,) in the axes of its plane, by how much the momentum of what
    touches nothing changed (as a part of what is summed up in it; NaN where nobody looked), and what became of joints
    or contacts in words. Print it to read that. `transfer` is how the state went over, where it did so by
    `catena.transfer`."""

    t: float
    name: str
    energy_loss: float
    impulse: Mapping[str, np.ndarray]
    momentum_error: NumberOnDemand = NumberOnDemand()
    told: tuple[str, ...] = ()
    transfer: Transfer | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_momentum_error": self.momentum_error}

    def __str__(self) -> str:
        head = f"t = {self.t:.6g} s, {self.name}: {told_energy(self.energy_loss, 6)}"
        return "\n".join([head, *(f"  {x}" for x in self.told)])


@dataclass(frozen=True, eq=False, repr=False)
class SegmentedTrajectory:
    """Runs with the structure that each of them has, in the order of their times, each beginning when the one before it
    ends; all of one batch shape. `transitions` tell what happened between them, where a simulation changed the
    structure, and `note` why it stopped early, if the last segment does not say. `contacts` are those that were made
    and broken, and `contact_forces` maps their names to the forces (samples, 3) on their frames in the axes of their
    planes, zero where they do not touch."""

    segments: tuple[Trajectory, ...]
    transitions: tuple[Transition, ...] = ()
    note: str = ""
    contacts: tuple[Contact, ...] = ()
    contact_forces: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.segments or not all(isinstance(run, Trajectory) for run in self.segments):
            raise StateError(f"A motion is made of trajectories, at least one; found {shown(self.segments)}.")
        for k, (before, after) in enumerate(zip(self.segments, self.segments[1:], strict=False)):
            if before.batch != after.batch:
                raise StateError(
                    f"Segment {k} has the batch shape {before.batch} and segment {k + 1} has {after.batch}; "
                    f"simulate all of them with the same states."
                )
            if abs(after.t[0] - before.t[-1]) > GAP * max(abs(after.t[-1]), abs(before.t[-1])):
                raise StateError(
                    f"Segment {k} ends at t = {before.t[-1]:.9g} s and segment {k + 1} begins at t = "
                    f"{after.t[0]:.9g} s; give segments that follow each other (`run.shifted(t)` moves one in time)."
                )

    def pressing(self, segment: int) -> tuple[ContactForceHistory, ...]:
        """Return what contacts are pushed with during one of the segments."""
        first = sum(len(run.t) for run in self.segments[:segment])
        here = slice(first, first + len(self.segments[segment].t))
        return tuple(
            ContactForceHistory(contact, self.t[here], self.contact_forces[contact.label][here])
            for contact in self.contacts
            if contact.label in self.contact_forces
        )

    def __repr__(self) -> str:
        return (
            f"SegmentedTrajectory({len(self.segments)} segments, {len(self.t)} samples from {self.t[0]:g} s to "
            f"{self.t[-1]:g} s, {self.steps} steps)"
        )

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the batch dimensions, () for a single motion."""
        return self.segments[0].batch

    @cached_property
    def t(self) -> np.ndarray:
        """Return the times (samples,) of all segments; those of changes come twice."""
        return np.concatenate([run.t for run in self.segments])

    @property
    def steps(self) -> int:
        """Return how many steps were taken in all."""
        return sum(run.steps for run in self.segments)

    @property
    def changes(self) -> np.ndarray:
        """Return the times (segments - 1,) at which the structure changes."""
        return np.array([run.t[0] for run in self.segments[1:]])

    @property
    def events(self) -> Sequence[EventHit]:
        """Return the events of all segments."""
        return tuple(event for run in self.segments for event in run.events)

    @property
    def ended(self) -> str:
        """Return why the motion stopped early."""
        return self.note or self.segments[-1].ended

    def segment_at(self, t: float) -> Trajectory:
        """Return the segment at a time; at the time of a change the one behind it."""
        if not self.t[0] <= t <= self.t[-1]:
            raise StateError(f"t = {t:.9g} s lies outside the run, {self.t[0]:g} s to {self.t[-1]:g} s.")
        return self.segments[int(np.searchsorted(self.changes, t, side="right"))]

    def at(self, t: float) -> tuple[Trajectory, np.ndarray, np.ndarray]:
        """Return the segment at the time t and the state q (..., nq), v (..., nv) of its system there."""
        try:
            one = float(real_array(t))
        except (TypeError, ValueError):
            raise StateError(f"t is {shown(t)}; give one number of seconds.") from None
        run = self.segment_at(one)
        return run, *run.at(one)

    # Named access.

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the coordinates of a joint, (..., samples, nq_joint), NaN where it is not there."""
        return self._named("joint", joint, lambda run: run[joint])

    def velocity(self, joint: str) -> np.ndarray:
        """Return the velocities of a joint, (..., samples, nv_joint), NaN where it is not there."""
        return self._named("joint", joint, lambda run: run.velocity(joint))

    def force(self, joint: str) -> np.ndarray:
        """Return the control forces at a joint, (..., samples, nv_joint), NaN where it is not there."""
        return self._named("joint", joint, lambda run: run.force(joint))

    def pose(self, frame: str) -> np.ndarray:
        """Return the poses of a frame or body in ground, (..., samples, 4, 4)."""
        return self._named("frame", frame, lambda run: run.pose(frame), axes=3)

    def position(self, frame: str) -> np.ndarray:
        """Return the origin of a frame or body in ground, (..., samples, 3)."""
        return self.pose(frame)[..., :3, 3]

    def twist(self, frame: str) -> np.ndarray:
        """Return the twist [angular; linear] of a frame or body in its own axes at its origin, (..., samples, 6)."""
        return self._named("frame", frame, lambda run: run.twist(frame))

    def reaction(self, joint: str) -> np.ndarray:
        """Return the wrench [moment; force] that a joint passes to its child, (..., samples, 6), NaN where it is not
        there. Where contacts hold more than can move, it is the one that keeps bodies in balance with the contact
        forces that are told."""
        return self._named("joint", joint, lambda run: self._reaction(run, joint))

    def _reaction(self, run: Trajectory, joint: str) -> np.ndarray:
        """Return what a joint passes to its child in a segment, (..., samples, 6)."""
        found = self._beside_contacts.get(id(run), {})
        return found[joint] if joint in found else run.reaction(joint)

    @cached_property
    def _beside_contacts(self) -> dict[int, dict[str, np.ndarray]]:
        """Return what all joints pass on, by segment, where contacts stick as joints."""
        if not self.contacts:
            return {}
        from catena.simulation.contacts.stuck_reactions import reactions_beside_contacts

        sticking = {
            k: self.pressing(k)
            for k, run in enumerate(self.segments)
            if any(contact.joint in run.system.loops for contact in self.contacts)
        }
        return {
            id(self.segments[k]): reactions_beside_contacts(self.segments[k], f) for k, f in sticking.items()
        }

    # What belongs to the whole mechanism.

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """Return the kinetic energy, (..., samples)."""
        return np.concatenate([run.kinetic_energy for run in self.segments], axis=-1)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """Return the potential energy of gravity, springs and stops, (..., samples). What a structure holds still keeps
        the energy that it had: only forces that come or go with a change make a difference."""
        parts = [self.segments[0].potential_energy]
        constant = np.zeros(parts[0].shape[:-1])
        for before, after in zip(self.segments, self.segments[1:], strict=False):
            found = after.potential_energy
            if after.system is not before.system:
                # A plan leaves out what does not move, so that its energy is known up to a constant.
                gone, new = _stored_alone(before, after, -1), _stored_alone(after, before, 0)
                constant = parts[-1][..., -1] - gone + new - found[..., 0]
            # Segments of one system, as between contacts, go on with its constant.
            parts.append(found + constant[..., None])
        return np.concatenate(parts, axis=-1)

    @cached_property
    def energy(self) -> np.ndarray:
        """Return the kinetic and potential energy, (..., samples)."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def momentum(self) -> np.ndarray:
        """Return the total momentum [angular; linear] about the ground's origin in ground axes, (..., samples, 6)."""
        return np.concatenate([run.momentum for run in self.segments], axis=-2)

    @property
    def closure_error(self) -> float:
        """Return the largest position error of a loop [rad or m]."""
        return max(run.closure_error for run in self.segments)

    def sizing(self, motors: Mapping[str, TriedMotor] | None = None) -> Sizing:
        """Return what the motion asks of each motor, see `Trajectory.sizing`; a joint that is not there asks for
        nothing."""
        from catena.simulation.results.sizing import sizing

        return sizing(self, motors)

    def audit(self) -> SegmentedAudit:
        """Check each segment (see `Trajectory.audit`), and the changes between them: energy lost, impulses, and the
        momentum of what touches nothing. Printed, it tells the worst of each kind."""
        found = [run.audit() for run in self.segments]
        if self.transitions or self.note:
            found.append(Audit(self.segments[0].system.mechanism.name, _change_lines(self)))
        return SegmentedAudit(found, len(self.segments))

    def plot(self, *, show: bool = False, path: PathLike | None = None) -> Figure:
        """Draw positions and energy over one time axis with matplotlib, with a line where the structure changes."""
        return hook("plot_segments")(self, show=show, path=path)

    def table(
        self,
        reactions: bool | Sequence[str] = False,
        frames: bool | Sequence[str] = (),
        power: bool = False,
        acceleration: bool = False,
    ) -> Table:
        """Return the motion as columns with names and units, see `Trajectory.table`; NaN where a joint is not there."""
        from catena.simulation.results.recording.table import table

        return table(self, reactions, frames, power, acceleration)

    def save(
        self,
        path: PathLike,
        reactions: bool | Sequence[str] = False,
        frames: bool | Sequence[str] = (),
        power: bool = False,
        acceleration: bool = False,
        units: bool = False,
    ) -> None:
        """Write the motion to a file with one time axis and joints by name, empty or NaN where a joint is not there;
        formats and options are those of `Trajectory.save`. `load_run` reads .nc and .h5 files back, with all
        structures."""
        from catena.simulation.results.recording import save_run

        save_run(
            self, path, units, reactions=reactions, frames=frames, power=power, acceleration=acceleration
        )

    def to_xarray(self) -> Dataset:
        """Return the motion as an `xarray.Dataset` over one time axis, joints by name, with the changes of structure;
        needs `pip install "catena-dynamics[record]"`."""
        from catena.simulation.results.recording.segmented import to_dataset

        return to_dataset(self)

    def report(self, path: PathLike | None = None, title: str | None = None) -> None:
        """Write one self-contained page, run.html unless a path is given: the motion to be played, what changed and
        when, plots, and the audit."""
        hook("report")(self, path, title)

    def view(self, **options: Any) -> View:
        """Play the motion in a browser or a notebook; see `Trajectory.view`."""
        return hook("view")(self, **options)

    def save_html(self, path: PathLike, **options: Any) -> None:
        """Write one self-contained page that plays the motion; see `Trajectory.save_html`."""
        hook("save_html")(self, path, **options)

    def save_video(self, path: PathLike, **options: Any) -> None:
        """Write the motion as a film; see `Trajectory.save_video`."""
        hook("save_video")(self, path, **options)

    def _named(
        self, what: str, name: str, read: Callable[[Trajectory], np.ndarray], axes: int = 2
    ) -> np.ndarray:
        """Return what each segment knows by a name, one behind the other along the samples; at least one must know
        it."""
        found: list[np.ndarray | None] = []
        fault: UnknownNameError | None = None
        for run in self.segments:
            try:
                found.append(read(run))
            except UnknownNameError as error:
                found.append(None)
                fault = fault or error
        rests = {x.shape[-axes + 1 :] for x in found if x is not None}
        if fault is not None and not rests:
            raise fault
        if len(rests) > 1:
            raise StateError(
                f"{what} {name!r} has the shapes {' and '.join(str(rest) for rest in sorted(rests))} in different "
                f"segments; read it from `segments` one by one."
            )
        rest = rests.pop()
        parts = [
            np.full((*self.batch, len(run.t), *rest), np.nan) if x is None else x
            for run, x in zip(self.segments, found, strict=True)
        ]
        return np.concatenate(parts, axis=-axes)


def _stored_alone(one: Trajectory, other: Trajectory, sample: int) -> np.ndarray:
    """Return the energy (...) at a sample of one run that is in forces which the mechanism of the other does not
    have."""
    there, elsewhere = (run.system.mechanism.force_elements for run in (one, other))
    q, v = one.q[..., sample, :], one.v[..., sample, :]
    names = [name for name in there if name not in elsewhere]
    outputs = one.system.force_outputs(q, v) if names else {}
    stored = [outputs[name]["energy"] for name in names if "energy" in outputs.get(name, ())]
    return np.asarray(sum(stored, np.zeros(q.shape[:-1])))


def _change_lines(run: SegmentedTrajectory) -> tuple[Line, ...]:
    """Return what an audit tells of each change of structure."""
    lines = []
    for k, change in enumerate(run.transitions, 1):
        size = {name: float(np.linalg.norm(x[-3:])) for name, x in change.impulse.items()}
        hardest = max(size, key=lambda name: size[name], default="")
        impulse = (
            f", the largest impulse {size[hardest]:.4g} N s at {hardest!r}"
            if hardest and size[hardest]
            else ""
        )
        error = change.momentum_error
        momentum = f"; momentum of what touches nothing kept to {error:.1e}" if error == error else ""
        energy = told_energy(change.energy_loss, 4)
        text = f"{change.name} at t = {change.t:.6g} s: {energy}{impulse}{momentum}."
        level = "warn" if error > MOMENTUM else "ok"
        lines.append(Line(f"change {k}", change.energy_loss, np.inf, "J", level, text))  # type: ignore[arg-type]
    if run.note:
        lines.append(Line("end", float(run.t[-1]), np.inf, "s", "note", run.note))
    return tuple(lines)
