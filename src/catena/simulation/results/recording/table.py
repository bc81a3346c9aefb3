"""A run as a table: what other programs get of it, as columns with names, units and meanings.

A run of one structure and one of several have the same table, in which a column has NaN where its joint, frame or force
is not there. A batch has a first column `state`, which counts its states in the order of a flattened array; the rows of
each state follow those of the one before, whether or not they have the same times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from catena.errors import FormatError
from catena.mechanism.validation import known
from catena.simulation.results.batch import StateByState
from catena.simulation.results.labels import Quantity, joint_labels
from catena.simulation.results.quaternions import continued, quaternions
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.validation import listed, shown

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
class RunTable:
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
    run: Trajectory,
    reactions: Choice = False,
    frames: Choice = (),
    power: bool = False,
    acceleration: bool = False,
) -> RunTable:
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
    all_joints = run.names(lambda part: part.system.mechanism.joints)
    all_frames = run.names(lambda part: part.system.mechanism.frames)
    bodies = run.names(lambda part: part.system.plan.body_pose)
    mechanism = repr(run.all_segments[0].system.mechanism.name)
    jointed = _chosen("reactions", "joint", reactions, all_joints, all_joints, mechanism)
    framed = _chosen("frames", "frame or body", frames, all_frames, [*all_frames, *bodies], mechanism)
    if isinstance(run, StateByState):
        return RunTable(
            tuple(_below_each_other([_columns(x, jointed, framed, power, acceleration) for x in run.states]))
        )
    return RunTable(tuple(_columns(run, jointed, framed, power, acceleration)))


def _columns(
    run: Trajectory, jointed: Sequence[str], framed: Sequence[str], power: bool, acceleration: bool
) -> list[Column]:
    """Return the columns of a run, with the reactions and frames of these names that it knows."""
    columns = [*_time(run), *_joints(run, acceleration), *_whole(run)]
    if power:
        columns += _powers(run)
    joints = run.names(lambda part: part.system.mechanism.joints)
    for joint in (name for name in jointed if name in joints):
        meaning = f"wrench that joint {joint} passes to its child, in its child-side frame"
        columns += _parts(f"reaction.{joint}", "reactions", meaning, _WRENCH, run.reaction(joint))
    frames = run.names(lambda part: part.system.plan.body_pose)
    for frame in (name for name in framed if name in frames):
        columns += _frame(run, frame, acceleration)
    return columns


def _below_each_other(states: Sequence[Sequence[Column]]) -> Iterator[Column]:
    """Return the columns of several runs, the rows of one behind those of another, with the number of the state; NaN
    where one does not have the column."""
    rows = [len(columns[0].values) for columns in states]
    numbers = np.repeat(np.arange(len(states)), rows)
    yield Column("state", "", "time", "number of the state in the flattened batch", numbers)
    named = [{column.name: column for column in columns} for columns in states]
    first = {name: column for own in reversed(named) for name, column in own.items()}
    for name in dict.fromkeys(name for own in named for name in own):
        values = [
            own[name].values if name in own else np.full(count, np.nan)
            for own, count in zip(named, rows, strict=True)
        ]
        yield replace(first[name], values=np.concatenate(values))


def _chosen(
    option: str, what: str, asked: Choice, everything: Sequence[str], possible: Sequence[str], mechanism: str
) -> list[str]:
    if isinstance(asked, bool):
        return list(everything) if asked else []
    try:
        if isinstance(asked, str):
            raise ValueError("one name is no list")
        names = listed(asked)
        if not all(isinstance(name, str) for name in names):
            raise ValueError("no names")
    except (TypeError, ValueError):
        raise FormatError(
            f"{option} is {shown(asked)}: give True for all, or a list of names such as ['{next(iter(possible), 'A')}']"
        ) from None
    return [known(what, name, possible, mechanism) for name in dict.fromkeys(names)]


def _time(run: Trajectory) -> Iterator[Column]:
    states, samples = prod(run.batch), len(run.t)
    if run.batch:
        numbers = np.repeat(np.arange(states), samples)
        yield Column("state", "", "time", "number of the state in the flattened batch", numbers)
    yield Column("t", "s", "time", "time", np.tile(run.t, states))
    if len(run.segments) > 1:
        counts = [len(part.t) for part in run.segments]
        numbers = np.tile(np.repeat(np.arange(len(counts)), counts), states)
        yield Column("segment", "", "time", "number of the structure", numbers)


def _joints(run: Trajectory, acceleration: bool) -> Iterator[Column]:
    """Return positions, velocities, forces and, where asked for, accelerations of the joints."""
    kinds: list[tuple[str, str, Quantity, str]] = [
        ("q", "positions", "position", "position of joint"),
        ("v", "velocities", "velocity", "velocity of joint"),
        ("tau", "forces", "force", "control force at joint"),
    ]
    if acceleration:
        kinds.append(("vdot", "accelerations", "velocity", "acceleration of joint"))
    for prefix, group, quantity, meaning in kinds:
        for joint in run.joints:
            labels = joint_labels(run.system_of(joint), joint, quantity)
            parts = [_of_joint(part, joint, prefix, len(labels)) for part in run.segments]
            values = np.concatenate(parts, axis=-2)
            for k, label in enumerate(labels):
                unit = f"{label.unit}^2" if prefix == "vdot" else label.unit
                yield Column(
                    f"{prefix}.{label.key}", unit, group, f"{meaning} {label.text}", _flat(values[..., k])
                )


def _of_joint(part: Segment, joint: str, prefix: str, size: int) -> np.ndarray:
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


def _whole(run: Trajectory) -> Iterator[Column]:
    yield Column("kinetic_energy", "J", "energy", "kinetic energy", _flat(run.kinetic_energy))
    meaning = "potential energy of gravity, springs and stops"
    yield Column("potential_energy", "J", "energy", meaning, _flat(run.potential_energy))
    if any(part.system.mechanics.constrained for part in run.segments):
        yield Column("closure", "m or rad", "energy", "largest position error of a loop", _flat(run.closure))
    for name, work in run.work.items():
        yield Column(f"work.{name}", "J", "energy", f"work of {name} since the start", _flat(work))


def _powers(run: Trajectory) -> Iterator[Column]:
    for name, values in run.power.items():
        meaning = "all powers together" if name == "total" else f"power of {name}"
        yield Column(f"power.{name}", "W", "power", meaning, _flat(values))
    loops = run.names(lambda part: part.loop_forces)
    for joint in (joint for joint in dict.fromkeys((*run.joints, *loops)) if _is_driven(run, joint)):
        meaning = f"power of the control force at joint {joint}"
        yield Column(f"power.joint.{joint}", "W", "power", meaning, _flat(run.joint_power(joint)))


def _is_driven(run: Trajectory, joint: str) -> bool:
    """Return whether a joint that was described got a control force in some structure."""
    return any(
        np.any(part.force(joint))
        for part in run.segments
        if joint in part.system.mechanism.joints and joint in (*part.system.joints, *part.system.loops)
    )


def _frame(run: Trajectory, frame: str, acceleration: bool) -> Iterator[Column]:
    pose = run.pose(frame)
    quats = continued(quaternions(pose[..., :3, :3]))
    posed = np.concatenate([pose[..., :3, 3], quats], axis=-1)
    group = f"frame {frame}"
    yield from _parts(f"frame.{frame}", group, f"pose of {frame} in ground", _POSE, posed)
    meaning = f"angular velocity of {frame} and velocity of its origin, in ground's axes"
    yield from _parts(f"frame.{frame}", group, meaning, _RATES, _aligned(pose, run.twist(frame)))
    if acceleration:
        meaning = f"angular acceleration of {frame} and acceleration of its origin, in ground's axes"
        rates = run.frame_acceleration(frame, axes="aligned")
        yield from _parts(f"frame.{frame}", group, meaning, _CHANGES, rates)


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
