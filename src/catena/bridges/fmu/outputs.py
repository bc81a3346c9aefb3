"""What comes out of an FMU by name: how joints and frames stand and move, what forces record, energies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from catena.bridges.fmu.formulas import FmuEquations
from catena.bridges.fmu.loop_joints import GAUGE
from catena.bridges.fmu.naming import RATE, FmuSignal, coordinate_parts, listed_names, structured
from catena.bridges.fmu.reactions import reaction
from catena.errors import UnknownNameError
from catena.kinematics.loops.scales import scales_of
from catena.simulation.results.labels import joint_labels
from catena.spatial.scalars import array
from catena.system import System

Outputs = list[tuple[FmuSignal, Any]]
"""Signals with their expressions."""

ENERGIES = ("kinetic_energy", "potential_energy", "energy")
GAP, REACTION = "closure_error", "reaction"
OF_JOINT, OF_FRAME = (
    ("q", "v", "a"),
    ("position", "rotation", "velocity", "angular_velocity", "acceleration", "angular_acceleration"),
)


def default_outputs(system: System) -> list[str]:
    """Return positions and velocities of all joints of the tree."""
    return [f"{joint}.{what}" for joint in system.joints for what in ("q", "v")]


def chosen_outputs(system: System, names: Iterable[str] | None) -> tuple[list[str], list[str], list[str]]:
    """Return the names of outputs that are asked for: those of states, those that are computed, and the loop joints
    among them."""
    of_state, computed, gauges = [], [], []
    for name in default_outputs(system) if names is None else listed_names("outputs", names):
        owner, _, what = name.rpartition(".")
        if owner in system.joints and what in ("q", "v"):
            of_state.append(name)
            continue
        if owner in system.loops and what in ("q", "v") and owner not in gauges:
            gauges.append(owner)
        computed.append(name)
    return of_state, computed, gauges


def output_equations(formulas: FmuEquations, names: Sequence[str]) -> Outputs:
    """Return the outputs that are computed, with their expressions."""
    return [one for name in names for one in _outputs_of(formulas, name)]


def _outputs_of(formulas: FmuEquations, name: str) -> Outputs:
    system = formulas.system
    if name in ENERGIES:
        return [(FmuSignal(name, "J", name.replace("_", " ")), _energy(formulas, name))]
    if name == GAP:
        return [(FmuSignal(GAP, "1", "how far loops are open, in radians and lengths"), _gap(formulas))]
    owner, _, what = name.rpartition(".")
    if owner in system.joints and what == "a":
        return _accelerations(formulas, owner)
    if owner in system.joints and what == REACTION:
        return _reaction(formulas, owner)
    if owner in system.joints and what == "tau" and system.slice_v(owner).start in formulas.inputs.motions:
        return _driving_forces(formulas, owner)
    if owner in system.loops and what in ("q", "v"):
        return _of_loop_joint(formulas, owner, what)
    if owner in system.plan.body_pose and what in OF_FRAME:
        return _FRAMES[what](formulas, owner)
    by_force = _of_force(formulas, owner, what)
    if by_force is not None:
        return by_force
    there = _names(system)
    near = get_close_matches(name, there, n=1, cutoff=0.6)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    raise UnknownNameError(
        f"{system.mechanism.name!r} has no output {name!r}.{meant} Joints have q, v, a and reaction (those that close "
        f"loops q and v), those whose motion is an input tau, bodies and frames {', '.join(OF_FRAME)}, forces what "
        f"they record; and there are {', '.join(ENERGIES)} and {GAP}."
    )


def _names(system: System) -> list[str]:
    joints = [f"{j}.{what}" for j in (*system.joints, *system.loops) for what in OF_JOINT]
    frames = [f"{f}.{what}" for f in system.plan.body_pose for what in OF_FRAME]
    whole = [f for f in system.mechanics.elements.placed if f.name == f.whole]
    forces = [f"{f.name}.{what}" for f in whole for what in _recorded(system, f)]
    return [*joints, *frames, *forces, *ENERGIES, GAP]


def _accelerations(formulas: FmuEquations, joint: str) -> Outputs:
    system = formulas.system
    a = formulas.symbols["a"][system.slice_v(joint)]
    return [
        (
            FmuSignal(
                structured(joint, "a", *coordinate_parts(label.coordinate)),
                RATE[label.unit],
                f"acceleration of joint {label.text}",
            ),
            x,
        )
        for label, x in zip(joint_labels(system, joint, "velocity"), a, strict=True)
    ]


def _reaction(formulas: FmuEquations, joint: str) -> Outputs:
    """Return what a joint passes to its child, in the child-side joint frame."""
    parts = [(kind, axis) for kind in ("moment", "force") for axis in "xyz"]
    return [
        (
            FmuSignal(
                structured(joint, REACTION, kind, axis),
                "N.m" if kind == "moment" else "N",
                f"{kind} that joint {joint} passes to its child, {axis} in its frame there",
            ),
            x,
        )
        for (kind, axis), x in zip(parts, reaction(formulas, joint), strict=True)
    ]


def _driving_forces(formulas: FmuEquations, joint: str) -> Outputs:
    """Return the forces that keep a joint on its motion."""
    system = formulas.system
    components = range(*system.slice_v(joint).indices(system.nv))
    return [
        (
            FmuSignal(
                structured(joint, "tau", *coordinate_parts(label.coordinate)),
                label.unit.replace(" ", "."),
                f"force that drives joint {label.text}",
            ),
            formulas.driven_dynamics[1][k],
        )
        for k, label in zip(components, joint_labels(system, joint, "force"), strict=True)
    ]


def _of_loop_joint(formulas: FmuEquations, joint: str, what: str) -> Outputs:
    system = formulas.system
    labels = joint_labels(system, joint, "position" if what == "q" else "velocity")
    word = "position" if what == "q" else "velocity"
    own = dict(_recorded_values(formulas, joint + GAUGE))
    return [
        (
            FmuSignal(
                structured(joint, what, *coordinate_parts(label.coordinate)),
                label.unit,
                f"{word} of joint {label.text}, which closes a loop",
            ),
            own[f"{what}.{k}"],
        )
        for k, label in enumerate(labels)
    ]


def _energy(formulas: FmuEquations, name: str) -> Any:
    wanted = {"kinetic_energy": "T", "potential_energy": "V"}
    parts = wanted if name == "energy" else {name: wanted[name]}
    return sum(formulas.of(one)[symbol].item() for one, symbol in parts.items())


def _gap(formulas: FmuEquations) -> Any:
    import casadi

    if not formulas.system.mechanics.effective_plan.total_constraints:
        return 0.0
    e = formulas.of("closure")["position"] / scales_of(formulas.system.mechanics.effective_plan).rows
    return casadi.sqrt(sum(x * x for x in e))


def _recorded(system: System, force: Any) -> list[str]:
    """Return what is recorded of a force, in the order of `force_outputs`."""
    stored = ["energy"] if force.kind.stores else []
    return [*system.mechanics.elements.output_names(force), *stored, "power"]


def _recorded_values(formulas: FmuEquations, name: str) -> list[tuple[str, Any]]:
    system, found, at = formulas.system, formulas.of("force_outputs"), 0
    for k, force in enumerate(system.mechanics.elements.placed):
        names = system.mechanics.elements.output_names(force)
        if force.name == name:
            own = list(zip(names, found["outputs"][at : at + len(names)], strict=True))
            stored = [("energy", found["energy"][k])] if force.kind.stores else []
            stretches = [n for n, one in enumerate(system.mechanics.elements.placed) if one.whole == name]
            return [*own, *stored, ("power", sum(found["power"][n] for n in stretches))]
        at += len(names)
    return []


def _of_force(formulas: FmuEquations, owner: str, what: str) -> Outputs | None:
    placed = {
        force.name: force for force in formulas.system.mechanics.elements.placed if force.name == force.whole
    }
    if owner not in placed or what not in _recorded(formulas.system, placed[owner]):
        return None
    unit = {"energy": "J", "power": "W"}.get(what, "")
    return [
        (FmuSignal(structured(owner, what), unit, f"{what} of {owner}"), x)
        for name, x in _recorded_values(formulas, owner)
        if name == what
    ]


def _vector(frame: str, what: str, unit: str, about: str, x: np.ndarray) -> Outputs:
    return [
        (FmuSignal(structured(frame, what, axis), unit, f"{about} of {frame}, {axis} in ground axes"), x[k])
        for k, axis in enumerate("xyz")
    ]


def _position(formulas: FmuEquations, frame: str) -> Outputs:
    return _vector(frame, "position", "m", "position", formulas.of("pose", frame)["pose"][:3, 3])


def _rotation(formulas: FmuEquations, frame: str) -> Outputs:
    R = formulas.of("pose", frame)["pose"][:3, :3]
    return [
        (
            FmuSignal(
                f"{structured(frame, 'rotation')}[{i + 1},{j + 1}]",
                "1",
                f"rotation matrix of {frame} in ground axes",
            ),
            R[i, j],
        )
        for i in range(3)
        for j in range(3)
    ]


def _in_ground(formulas: FmuEquations, frame: str, rows: slice) -> np.ndarray:
    R, own = formulas.of("pose", frame)["pose"][:3, :3], formulas.of("twist", frame)["twist"][rows]
    return array([sum(R[i, j] * own[j] for j in range(3)) for i in range(3)])


def _velocity(formulas: FmuEquations, frame: str) -> Outputs:
    return _vector(frame, "velocity", "m/s", "velocity", _in_ground(formulas, frame, slice(3, 6)))


def _angular_velocity(formulas: FmuEquations, frame: str) -> Outputs:
    x = _in_ground(formulas, frame, slice(0, 3))
    return _vector(frame, "angular_velocity", "rad/s", "angular velocity", x)


def _acceleration(formulas: FmuEquations, frame: str) -> Outputs:
    x = formulas.along(_in_ground(formulas, frame, slice(3, 6)))
    return _vector(frame, "acceleration", "m/s2", "acceleration", x)


def _angular_acceleration(formulas: FmuEquations, frame: str) -> Outputs:
    x = formulas.along(_in_ground(formulas, frame, slice(0, 3)))
    return _vector(frame, "angular_acceleration", "rad/s2", "angular acceleration", x)


_FRAMES: dict[str, Callable[[FmuEquations, str], Outputs]] = dict(
    zip(
        OF_FRAME,
        (_position, _rotation, _velocity, _angular_velocity, _acceleration, _angular_acceleration),
        strict=True,
    )
)
