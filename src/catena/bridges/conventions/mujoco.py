"""Coordinates of MuJoCo. Its model is only read; nothing of it is imported.

MuJoCo counts hinges and slides from `qpos0`, has the pose of a free body in the world, and its velocity as [v; omega]
with v in the axes of the world and omega in the body's. Its `qacc` are the derivatives of that, so that the linear
acceleration of a free body has no term of its turning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena.bridges.conventions.coordinates import Coordinates, JointCoordinates, states
from catena.bridges.conventions.joint_maps import Array, FreeInWorldAxes, Same, own_name
from catena.errors import StateError
from catena.formats.mjcf.names import BALL, FREE, joint_name, merged_name
from catena.system import System

if TYPE_CHECKING:
    from mujoco import MjModel


def mujoco_coordinates(system: System, model: MjModel, names: Mapping[str, str] | None = None) -> Coordinates:
    """Return the translation between a system and a `mujoco.MjModel` of the same mechanism: `qpos`, `qvel`, `qacc` and
    joint forces such as `qfrc_applied`. Joints are found by name; `names` has Catena's for those that are called
    otherwise there. Several joints of a body there may be one joint here."""
    blocks = tuple(_blocks(system, model, names))
    return Coordinates(system.neutral(), system.nv, np.array(model.qpos0), int(model.nv), blocks)


def _blocks(system: System, model: MjModel, names: Mapping[str, str] | None) -> Iterator[JointCoordinates]:
    joints = system.mechanism.joints
    for body in range(1, int(model.nbody)):
        first = int(model.body_jntadr[body])
        indices = range(first, first + int(model.body_jntnum[body]))
        own_names = [joint_name(model, k) for k in indices]
        whole = merged_name(own_names)
        for component, k in enumerate(indices):
            there, at = (whole, component) if whole in joints else (own_names[component], 0)
            name = own_name(system, there, names)
            q, v = system.slice_q(name), system.slice_v(name)
            q_there, v_there = int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
            if model.jnt_type[k] == FREE:
                joint = joints.get(name)
                poses = (joint.in_parent.matrix(), joint.in_child.matrix()) if joint else ()
                yield JointCoordinates(
                    q, v, slice(q_there, q_there + 7), slice(v_there, v_there + 6), FreeInWorldAxes(*poses)
                )
            elif model.jnt_type[k] == BALL:
                yield JointCoordinates(q, v, slice(q_there, q_there + 4), slice(v_there, v_there + 3), Same())
            else:
                yield JointCoordinates(
                    slice(q.start + at, q.start + at + 1),
                    slice(v.start + at, v.start + at + 1),
                    slice(q_there, q_there + 1),
                    slice(v_there, v_there + 1),
                    Same(float(model.qpos0[q_there])),
                )


def from_mujoco_qpos(system: System, qpos: ArrayLike, model: MjModel) -> Array:
    """Return Catena's positions (..., nq) from the `qpos` (..., model.nq) of a `mujoco.MjModel`; quaternions of any
    length are rotations there."""
    copied = states("qpos", qpos, int(model.nq)).copy()
    for k in range(int(model.njnt)):
        if model.jnt_type[k] in (FREE, BALL):
            start = int(model.jnt_qposadr[k]) + (3 if model.jnt_type[k] == FREE else 0)
            copied[..., start : start + 4] = _unit(copied[..., start : start + 4])
    return mujoco_coordinates(system, model).catena_configuration(copied)


def to_mujoco_qpos(system: System, q: ArrayLike, model: MjModel) -> Array:
    """Return the `qpos` (..., model.nq) of a `mujoco.MjModel` from Catena's positions (..., nq)."""
    return mujoco_coordinates(system, model).configuration(q)


def from_mujoco_qvel(system: System, qpos: ArrayLike, qvel: ArrayLike, model: MjModel) -> Array:
    """Return Catena's velocities (..., nv) from the `qpos` and `qvel` of a `mujoco.MjModel`."""
    return mujoco_coordinates(system, model).catena_velocity(from_mujoco_qpos(system, qpos, model), qvel)


def to_mujoco_qvel(system: System, q: ArrayLike, v: ArrayLike, model: MjModel) -> Array:
    """Return the `qvel` (..., model.nv) of a `mujoco.MjModel` from Catena's positions and velocities."""
    return mujoco_coordinates(system, model).velocity(q, v)


def _unit(quaternions: Array) -> Array:
    length = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    if not (length > 0.0).all():
        raise StateError("qpos has a quaternion of zero length: give one that is a rotation")
    return quaternions / length
