"""A mechanism and its plan as plain data, ready for JSON: what `catena info` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from catena.joints import JointKind
from catena.joints.axes import NAMED
from catena.mechanism import GROUND, Joint, KindElement
from catena.questions.diagnosis import Diagnosis
from catena.system import System


def describe(system: System) -> dict[str, Any]:
    """Return bodies, joints, forces and the plan of a system as data for JSON."""
    mechanism = system.mechanism
    bodies = [body for body in mechanism.bodies.values() if body.name != GROUND]
    return {
        "name": mechanism.name,
        "gravity": plain(mechanism.gravity),
        "mass": float(sum(body.mass for body in bodies)),
        "nq": system.nq,
        "nv": system.nv,
        "bodies": [
            {"name": b.name, "mass": b.mass, "com": plain(b.com), "inertia": plain(b.inertia)} for b in bodies
        ],
        "joints": [_joint(joint, system) for joint in mechanism.joints.values()],
        "frames": [{"name": frame.name, "body": frame.body} for frame in mechanism.frames.values()],
        "actuators": [plain(vars(part)) for part in mechanism.actuators.values()],
        "springs": [plain(vars(part)) for part in mechanism.springs.values()],
        "wrenches": [plain(vars(part)) for part in mechanism.wrenches.values()],
        "forces": [_force(part) for part in mechanism.forces.values()],
        "couplings": [
            {"name": c.name, "joints": list(c.joints), "equation": c.equation}
            for c in mechanism.couplings.values()
        ],
        "sensors": [plain(vars(sensor)) for sensor in mechanism.sensors.values()],
        "initial": {"q": plain(mechanism.initial.q), "v": plain(mechanism.initial.v)},
        "states": list(mechanism.states),
    }


def _force(part: KindElement) -> dict[str, Any]:
    place = {"joint": part.at_joint} if part.frames is None else {"between": list(part.frames)}
    parameters: dict[str, Any] = plain(asdict(part.kind)) if is_dataclass(part.kind) else {}
    return {"name": part.name, "kind": type(part.kind).__name__, **place, "parameters": parameters}


def describe_state(system: System, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
    """Return the positions of all joints and the velocities of those of the tree, by name."""
    moving = [name for name in system.mechanism.joints if name in system.joints or name in system.loops]
    return {
        "q": {name: plain(system.joint_position(q, name)) for name in moving},
        "v": {name: plain(v[system.slice_v(name)]) for name in system.joints},
    }


def describe_loops(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return mobility, rank, redundancy and singularity of loops as data for JSON."""
    return {
        "mobility": diagnosis.mobility,
        "generic_mobility": diagnosis.generic_mobility,
        "constraints": diagnosis.constraints,
        "rank": diagnosis.rank,
        "redundancy": diagnosis.redundancy,
        "redundant": [{"loop": r.loop, "motion": r.words} for r in diagnosis.redundant],
        "nearly_redundant": [{"loop": r.loop, "motion": r.words} for r in diagnosis.nearly_redundant],
        "singular": bool(diagnosis.singular),
        "shaky": bool(diagnosis.shaky),
        "near_singular": bool(diagnosis.near_singular),
        "closure_error": diagnosis.closure_error,
    }


def kind_in_words(kind: JointKind) -> str:
    """Return a kind of joint with its arguments: `revolute z`, `helical x 0.2`."""
    words = [type(kind).__name__.lower()]
    if is_dataclass(kind):
        words += [_argument(getattr(kind, field.name)) for field in fields(kind)]
    return " ".join(words)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: lists for arrays, null for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def _joint(joint: Joint, system: System) -> dict[str, Any]:
    return {
        "name": joint.name,
        "kind": kind_in_words(joint.kind),
        "parent": joint.parent,
        "child": joint.child,
        "dof": joint.dof,
        "role": _role(joint, system),
        "actuated": joint.actuated if joint.powered.all() or not joint.actuated else joint.powered.tolist(),
        "damping": plain(joint.damping),
        "friction": plain(joint.friction),
        "armature": plain(joint.armature),
        "limits": plain(joint.limits),
        "locked_at": plain(joint.locked_at),
    }


def _role(joint: Joint, system: System) -> str:
    if joint.name in system.joints:
        return "tree"
    if joint.name in system.loops:
        return "loop"
    return "locked" if joint.locked else "weld"


def _argument(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        for name, axis in NAMED.items():
            if value == tuple(axis):
                return name
        inside = [entry if isinstance(entry, str) else f"{entry:.4g}" for entry in value]
        return (
            " ".join(inside) if all(isinstance(entry, str) for entry in value) else f"({', '.join(inside)})"
        )
    return str(value)
