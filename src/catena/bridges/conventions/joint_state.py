"""Positions, velocities and efforts of joints by name, in an order of choice: what ROS calls a joint state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.bridges.conventions.coordinates import states
from catena.bridges.conventions.joint_maps import Array
from catena.errors import StateError
from catena.mechanism.validation import known
from catena.system import System
from catena.validation import listed, shown


@dataclass(frozen=True, eq=False)
class JointState:
    """Joints of one freedom by `name`, with `position`, `velocity` and `effort` (..., joints) in that order, as the
    fields of a `sensor_msgs/JointState` are called; what was not given is empty, (..., 0), as it is there."""

    name: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


def joint_state(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> JointState:
    """Return the state of joints of one freedom, those of loops too, by name and in the order of `names`, or of the
    mechanism. Efforts belong to joints of the tree. What comes back by name is read by `s.assemble(dict(zip(names,
    position)))` and `s.velocity(q, dict(zip(names, velocity)))`, in any order."""
    at = states("q", q, system.nq)
    joints = system.mechanism.joints
    single = [
        name
        for name, joint in joints.items()
        if name in (*system.joints, *system.loops) and joint.kind.nq == joint.kind.nv == 1
    ]
    chosen = single if names is None else _chosen(names, single, repr(system.mechanism.name))
    position = _columns([system.joint_position(at, name) for name in chosen], at)
    velocity = effort = np.zeros((*at.shape[:-1], 0))
    if v is not None:
        rates = states("v", v, system.nv)
        velocity = _columns([system.joint_velocity(at, rates, name) for name in chosen], at)
    if tau is not None:
        forces = states("tau", tau, system.nv)
        nothing = np.zeros((*forces.shape[:-1], 1))
        parts = [forces[..., system.slice_v(x)] if x in system.joints else nothing for x in chosen]
        effort = _columns(parts, at)
    return JointState(tuple(chosen), position, velocity, effort)


def _chosen(names: Any, single: Sequence[str], mechanism: str) -> list[str]:
    try:
        asked = listed(names) if not isinstance(names, str) else None
    except (TypeError, ValueError):
        asked = None
    if asked is None:
        raise StateError(f"names are {shown(names)}; give a list of joints.")
    return [known("joint of one freedom", name, single, mechanism) for name in asked]


def _columns(parts: Sequence[Array], q: Array) -> Array:
    if not parts:
        return np.zeros((*q.shape[:-1], 0))
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(part, (*batch, 1)) for part in parts], axis=-1)
