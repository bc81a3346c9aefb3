"""What goes into an FMU by name: forces and motions of joints, wrenches on bodies and frames, and numbers of the
mechanism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from catena.bridges.fmu.loop_joints import MOTOR
from catena.bridges.fmu.naming import (
    RATE,
    FmuSignal,
    coordinate_parts,
    entry_parts,
    entry_unit,
    listed_names,
    structured,
)
from catena.equations.parameters import Parameter, find_parameters
from catena.errors import EquationsError
from catena.mechanism.validation import known
from catena.simulation.results.labels import joint_labels
from catena.spatial.scalars import array
from catena.system import System

TAU, MOTION, WRENCH = "tau", "motion", ("wrench", "moment", "force")
_AXES = ("x", "y", "z")


@dataclass
class Inputs:
    """The inputs of an FMU in their order, and where each of them acts: at components of the velocity, at components
    of wrenches [moment; force] by frame, or in the place of entries of numbers of the mechanism. `motors` are the loop
    joints that are pushed, `motions` the velocity components that are driven, each with the places of its position,
    velocity and acceleration."""

    signals: list[FmuSignal] = field(default_factory=list)
    at_joints: dict[int, int] = field(default_factory=dict)
    at_frames: dict[str, dict[int, int]] = field(default_factory=dict)
    in_numbers: dict[str, list[int]] = field(default_factory=dict)
    motors: list[str] = field(default_factory=list)
    motions: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, signal: FmuSignal) -> int:
        """Add an input and return its place."""
        self.signals.append(signal)
        return len(self.signals) - 1

    def joint_forces(self, u: np.ndarray, nv: int) -> np.ndarray:
        """Return the forces (nv,) of the tree's joints."""
        return array([u[self.at_joints[k]] if k in self.at_joints else 0.0 for k in range(nv)])

    def wrenches(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Return the wrenches (6,) by body or frame, in its own axes."""
        return {
            frame: array([u[places[k]] if k in places else 0.0 for k in range(6)])
            for frame, places in self.at_frames.items()
        }

    def numbers(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Return what stands for numbers of the mechanism, by name."""
        return {name: array([u[k] for k in places]) for name, places in self.in_numbers.items()}


def default_inputs(system: System) -> list[str]:
    """Return the forces of the joints that have actuators; where there are none, of all joints of the tree that are
    actuated."""
    m = system.mechanism
    moving = [*system.joints, *system.loops]
    driven = [actuator.joint for actuator in m.actuators.values() if actuator.joint in moving]
    listed = driven or [n for n in system.joints if n in m.joints and m.joints[n].actuated]
    return [f"{joint}.{TAU}" for joint in dict.fromkeys(listed)]


def find_inputs(system: System, names: Iterable[str] | None, q: np.ndarray, v: np.ndarray) -> Inputs:
    """Return the inputs that are asked for: "elbow.tau", "elbow.motion", "tool.wrench", "tool.force", "tool.moment", or
    any number of the mechanism, such as "servo.signal". Motions begin at the state q (nq,), v (nv,)."""
    inputs = Inputs()
    for name in default_inputs(system) if names is None else listed_names("inputs", names):
        owner, _, what = name.rpartition(".")
        if what == TAU and owner in (*system.joints, *system.loops):
            _at_joint(inputs, system, owner)
        elif what == MOTION and owner in (*system.joints, *system.loops):
            _as_motion(inputs, system, owner, q, v)
        elif what in WRENCH and owner in system.plan.body_pose:
            _at_frame(inputs, owner, what)
        else:
            if what in (TAU, MOTION):
                known("joint that moves", owner, (*system.joints, *system.loops), "inputs of the FMU")
            (parameter,) = find_parameters(system.mechanism, [name])
            _in_number(inputs, system, parameter)
    twice = [k for k in inputs.motions if k in inputs.at_joints]
    if twice:
        name = next(n for n in system.joints if twice[0] in range(*system.slice_v(n).indices(system.nv)))
        raise EquationsError(
            f"Joint {name!r} of {system.mechanism.name!r} is given a motion and a force: a joint that is driven takes "
            f"the force that it needs, so leave out '{name}.{TAU}'."
        )
    return inputs


def _as_motion(inputs: Inputs, system: System, joint: str, q: np.ndarray, v: np.ndarray) -> None:
    """Add the position, velocity and acceleration of each component of a joint that is driven."""
    if joint in system.loops:
        raise EquationsError(
            f"Joint {joint!r} of {system.mechanism.name!r} closes a loop, and an FMU drives joints of the tree: keep "
            f"it there, m.system(keep=[{joint!r}])."
        )
    at_q, at_v = system.slice_q(joint), system.slice_v(joint)
    if at_q.stop - at_q.start != at_v.stop - at_v.start:
        raise EquationsError(
            f"Joint {joint!r} of {system.mechanism.name!r} has a quaternion, which an FMU cannot drive: "
            f"drive joints whose positions are vectors."
        )
    labels = joint_labels(system, joint, "position")
    for k, label in enumerate(labels):
        parts = coordinate_parts(label.coordinate)
        units = label.unit, RATE[label.unit], RATE[RATE[label.unit]]
        starts = (float(q[at_q.start + k]), float(v[at_v.start + k]), 0.0)
        places = []
        for word, unit, start in zip(("position", "velocity", "acceleration"), units, starts, strict=True):
            about = f"{word} that joint {label.text} is driven at"
            places.append(inputs.add(FmuSignal(structured(joint, MOTION, *parts, word), unit, about, start)))
        inputs.motions[at_v.start + k] = places[0], places[1], places[2]


def _at_joint(inputs: Inputs, system: System, joint: str) -> None:
    labels = joint_labels(system, joint, "force")
    places = []
    for label in labels:
        signal = FmuSignal(
            structured(joint, TAU, *coordinate_parts(label.coordinate)),
            label.unit.replace(" ", "."),
            f"force of joint {label.text}",
        )
        places.append(inputs.add(signal))
    if joint in system.loops:
        inputs.motors.append(joint)
        inputs.in_numbers[f"{joint}{MOTOR}.value"] = places
    else:
        inputs.at_joints |= dict(zip(range(*system.slice_v(joint).indices(system.nv)), places, strict=True))


def _at_frame(inputs: Inputs, frame: str, what: str) -> None:
    places = inputs.at_frames.setdefault(frame, {})
    for k, (kind, axis) in enumerate((kind, axis) for kind in ("moment", "force") for axis in _AXES):
        if what in ("wrench", kind):
            unit = "N.m" if kind == "moment" else "N"
            about = f"{kind} on {frame}, {axis} in its own axes at its origin"
            places[k] = inputs.add(FmuSignal(structured(frame, kind, axis), unit, about))


def _in_number(inputs: Inputs, system: System, parameter: Parameter) -> None:
    inputs.in_numbers[parameter.name] = [
        inputs.add(
            FmuSignal(
                structured(*entry_parts(system.mechanism, entry)),
                entry_unit(system, entry),
                f"{entry} of the mechanism",
                float(value),
            )
        )
        for entry, value in zip(parameter.entries, parameter.value, strict=True)
    ]
