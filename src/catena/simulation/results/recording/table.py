"""A run as a table: what other programs get of it, as columns with names, units and meanings.

A run of one structure and one of several have the same table, in which a column has NaN where its joint, frame or force
is not there. A batch has a first column `state`, which counts its states in the order of a flattened array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from catena.errors import FormatError
from catena.given import listed, shown
from catena.mechanism.validation import known
from catena.simulation.results.labels import Quantity, joint_labels
from catena.simulation.results.quaternions import continued, quaternions
from catena.simulation.results.segment import Trajectory
from catena.simulation.results.trajectory import SegmentedTrajectory
from catena.system import System

Run = Trajectory | SegmentedTrajectory
Choice = bool | Sequence[str]

_WRENCH = (("mx", "N m"), ("my", "N m"), ("mz", "N m"), ("fx", "N"), ("fy", "N"), ("fz", "N"))
_POSE = (*((axis, "m") for axis in "xyz"), *((f"q{axis}", "") for axis in "wxyz"))
_RATES = (*((f"w{axis}", "rad/s") for axis in "xyz"), *((f"v{axis}", "m/s") for axis in "xyz"))
_CHANGES = (*((f"alpha{axis}", "rad/s^2") for axis in "xyz"), *((f"a{axis}", "m/s^2") for axis in "xyz"))


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its `name`, its `unit` ("" for counts and quaternions), the `group` it belongs to, what it means in
    words, and its `values` (rows,)."""

    name: str
    unit: str
    group: str
    meaning: str
    values: np.ndarray

    @property
    def title(self) -> str:
        """Return the name with its unit: "q.elbow [rad]"."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a run. `table["q.elbow"]` are the values (rows,) of one, `dict(table)` is what data frames are
    made of: pandas.DataFrame(dict(table))."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def units(self) -> dict[str, str]:
        """Return the units of the columns by name."""
        return {column.name: column.unit for column in self.columns}

    @property
    def rows(self) -> int:
        """Return how many rows there are: states times samples."""
        return len(self.columns[0].values)

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return self.names

    def __getitem__(self, name: str) -> np.ndarray:
        found = {column.name: column.values for column in self.columns}
        return found[known("column", name, found, "the table")]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"Table({len(self.columns)} columns, {self.rows} rows)"


def table(
    run: Run,
    reactions: Choice = False,
    frames: Choice = (),
    power: bool = False,
    acceleration: bool = False,
) -> Table:
    """Return the table of a run: the time t, positions q.joint, velocities v.joint, control forces tau.joint, energies,
    the error of the loops and the works that were counted, in SI units.

    `reactions` adds the wrenches reaction.joint of all joints, or of those named, `frames` poses, velocities and, where
    asked for, accelerations of the frames or bodies named (True: all frames), in ground's axes; `power` the powers
    power.actuators and so on, and power.joint of each joint with a control force; `acceleration` those vdot.joint of
    the joints.
    """
    for what, asked in (("power", power), ("acceleration", acceleration)):
        if not isinstance(asked, bool):
            raise FormatError(f"{what} is {shown(asked)}: give True or False")
    systems = [part.system for part in run.segments]
    joints = list(dict.fromkeys(joint for system in systems for joint in system.joints))
    all_joints = list(dict.fromkeys(name for system in systems for name in system.mechanism.joints))
    all_frames = list(dict.fromkeys(name for system in systems for name in system.mechanism.frames))
    bodies = list(dict.fromkeys(name for system in systems for name in system.plan.body_pose))
    mechanism = repr(systems[0].mechanism.name)
    jointed = _chosen("reactions", "joint", reactions, all_joints, all_joints, mechanism)
    framed = _chosen("frames", "frame or body", frames, all_frames, [*all_frames, *bodies], mechanism)

    columns = [*_time(run), *_joints(run, systems, joints, acceleration)]
    columns += _whole(run)
    if power:
        columns += _powers(run, joints)
    for joint in jointed:
        meaning = f"wrench that joint {joint} passes to its child, in its child-side frame"
        columns += _parts(f"reaction.{joint}", "reactions", meaning, _WRENCH, run.reaction(joint))
    for frame in framed:
        columns += _frame(run, frame, acceleration)
    return Table(tuple(columns))


def _chosen(
    option: str, what: str, asked: Choice, everything: Sequence[str], possible: Sequence[str], mechanism: str
) -> list[str]:
    if isinstance(asked, bool):
        return list(everything) if asked else []
    try:
        if isinstance(asked, str):
            raise ValueError("one name is no list")
        names = listed(asked)
    except (TypeError, ValueError):
        raise FormatError(
            f"{option} is {shown(asked)}: give True for all, or a list of names such as ['{next(iter(possible), 'A')}']"
        ) from None
    return [known(what, name, possible, mechanism) for name in dict.fromkeys(names)]


def _time(run: Run) -> Iterator[Column]:
    states, samples = prod(run.batch), len(run.t)
    if run.batch:
        numbers = np.repeat(np.arange(states), samples)
        yield Column("state", "", "time", "number of the state in the flattened batch", numbers)
    yield Column("t", "s", "time", "time", np.tile(run.t, states))
    if isinstance(run, SegmentedTrajectory):
        counts = [len(part.t) for part in run.segments]
        numbers = np.tile(np.repeat(np.arange(len(counts)), counts), states)
        yield Column("segment", "", "time", "number of the structure", numbers)


def _joints(
    run: Run, systems: Sequence[System], joints: Sequence[str], acceleration: bool
) -> Iterator[Column]:
    """Return positions, velocities, forces and, where asked for, accelerations of the joints."""
    owner = {joint: next(system for system in systems if joint in system.joints) for joint in joints}
    kinds: list[tuple[str, str, Quantity, str]] = [
        ("q", "positions", "position", "position of joint"),
        ("v", "velocities", "velocity", "velocity of joint"),
        ("tau", "forces", "force", "control force at joint"),
    ]
    if acceleration:
        kinds.append(("vdot", "accelerations", "velocity", "acceleration of joint"))
    for prefix, group, quantity, meaning in kinds:
        for joint in joints:
            labels = joint_labels(owner[joint], joint, quantity)
            parts = [_of_joint(part, joint, prefix, len(labels)) for part in run.segments]
            values = np.concatenate(parts, axis=-2)
            for k, label in enumerate(labels):
                unit = f"{label.unit}^2" if prefix == "vdot" else label.unit
                yield Column(
                    f"{prefix}.{label.key}", unit, group, f"{meaning} {label.text}", _flat(values[..., k])
                )


def _of_joint(part: Trajectory, joint: str, prefix: str, size: int) -> np.ndarray:
    """Return the positions, velocities, forces or accelerations (..., samples, size) of a joint in one structure, NaN
    where it is not there, or closes a loop and has no acceleration of its own."""
    system = part.system
    if joint in system.joints:
        name = "acceleration" if prefix == "vdot" else prefix
        found: np.ndarray = getattr(part, name)
        return found[..., system.slice_q(joint) if prefix == "q" else system.slice_v(joint)]
    if joint in system.loops and prefix != "vdot":
        return {"q": part.__getitem__, "v": part.velocity, "tau": part.force}[prefix](joint)
    return np.full((*part.q.shape[:-1], size), np.nan)


def _whole(run: Run) -> Iterator[Column]:
    yield Column("kinetic_energy", "J", "energy", "kinetic energy", _flat(run.kinetic_energy))
    meaning = "potential energy of gravity, springs and stops"
    yield Column("potential_energy", "J", "energy", meaning, _flat(run.potential_energy))
    if any(part.system.constrained for part in run.segments):
        closure = np.concatenate([part.closure for part in run.segments], axis=-1)
        yield Column("closure", "m or rad", "energy", "largest position error of a loop", _flat(closure))
    if isinstance(run, Trajectory):
        for name, work in run.work.items():
            yield Column(f"work.{name}", "J", "energy", f"work of {name} since the start", _flat(work))


def _powers(run: Run, joints: Sequence[str]) -> Iterator[Column]:
    names = dict.fromkeys(name for part in run.segments for name in part.power)
    for name in names:
        values = [part.power.get(name, np.zeros((*run.batch, len(part.t)))) for part in run.segments]
        meaning = "all powers together" if name == "total" else f"power of {name}"
        yield Column(f"power.{name}", "W", "power", meaning, _flat(np.concatenate(values, axis=-1)))
    loops = dict.fromkeys(name for part in run.segments for name in part.loop_forces)
    driven = [joint for joint in (*joints, *loops) if _is_driven(run, joint)]
    for joint in driven:
        power = np.sum(run.force(joint) * run.velocity(joint), axis=-1)
        yield Column(
            f"power.joint.{joint}", "W", "power", f"power of the control force at joint {joint}", _flat(power)
        )


def _is_driven(run: Run, joint: str) -> bool:
    """Return whether a joint that was described got a control force in some structure."""
    return any(
        np.any(part.force(joint))
        for part in run.segments
        if joint in part.system.mechanism.joints and joint in (*part.system.joints, *part.system.loops)
    )


def _frame(run: Run, frame: str, acceleration: bool) -> Iterator[Column]:
    pose = run.pose(frame)
    quats = continued(quaternions(pose[..., :3, :3]))
    posed = np.concatenate([pose[..., :3, 3], quats], axis=-1)
    group = f"frame {frame}"
    yield from _parts(f"frame.{frame}", group, f"pose of {frame} in ground", _POSE, posed)
    meaning = f"angular velocity of {frame} and velocity of its origin, in ground's axes"
    yield from _parts(f"frame.{frame}", group, meaning, _RATES, _aligned(pose, run.twist(frame)))
    if acceleration:
        meaning = f"angular acceleration of {frame} and acceleration of its origin, in ground's axes"
        rates = [_frame_acceleration(part, frame) for part in run.segments]
        yield from _parts(f"frame.{frame}", group, meaning, _CHANGES, np.concatenate(rates, axis=-2))


def _frame_acceleration(part: Trajectory, frame: str) -> np.ndarray:
    if frame not in part.system.plan.body_pose and frame not in part.system.mechanism.frames:
        return np.full((*part.q.shape[:-1], 6), np.nan)
    return part.frame_acceleration(frame, axes="aligned")


def _aligned(pose: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return twists (..., 6) of frames, which are in their own axes, in ground's."""
    both = twist.reshape(*twist.shape[:-1], 2, 3)
    return np.einsum("...ij,...kj->...ki", pose[..., :3, :3], both).reshape(twist.shape)


def _parts(
    prefix: str, group: str, meaning: str, entries: Sequence[tuple[str, str]], values: np.ndarray
) -> Iterator[Column]:
    for k, (entry, unit) in enumerate(entries):
        yield Column(f"{prefix}.{entry}", unit, group, f"{meaning}: {entry}", _flat(values[..., k]))


def _flat(values: np.ndarray) -> np.ndarray:
    return np.asarray(values).reshape(-1)
