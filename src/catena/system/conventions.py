"""Coordinates of other programs: the same state of a mechanism as Pinocchio and MuJoCo write it, and back.

Where the conventions differ: Pinocchio has quaternions as (x, y, z, w), the cosine and sine of joints without limits
instead of their angle, the velocity of a free joint as [v; omega] and that of a planar joint in its child's axes.
MuJoCo counts hinges and slides from `qpos0`, has the pose of a free body in the world, and its velocity as [v; omega]
with v in the axes of the world. The order of joints is that of the other program's model, which need not be Catena's.

Nothing of the other programs is imported: their models are only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from catena.errors import StateError
from catena.formats.mjcf.names import BALL, FREE, joint_name, merged_name
from catena.given import real_array, shown
from catena.joints import Free, Planar, Spherical
from catena.spatial import Pose
from catena.spatial.quaternion import rotation
from catena.system.system import System

Array = NDArray[np.float64]
LINEAR, ANGULAR = slice(3, 6), slice(0, 3)


def from_pinocchio_q(system: System, q: ArrayLike, model: Any) -> Array:
    """Return Catena's positions (..., nq) from those (..., model.nq) of a `pinocchio.Model`."""
    given = _states("q", q, int(model.nq))
    result = _neutral(system, given)
    for name, at, size, _, _ in _pinocchio_joints(system, model):
        own, theirs = system.slice_q(name), given[..., at : at + size]
        kind = system.mechanism.joints[name].kind
        if isinstance(kind, Free):
            theirs = theirs[..., [0, 1, 2, 6, 3, 4, 5]]
        elif isinstance(kind, Spherical):
            theirs = theirs[..., [3, 0, 1, 2]]
        elif size == kind.nq + 1:
            # Planar and unlimited joints have the cosine and sine of their last coordinate.
            angle = np.arctan2(theirs[..., -1], theirs[..., -2])
            theirs = np.concatenate([theirs[..., :-2], angle[..., None]], axis=-1)
        result[..., own] = theirs
    return result


def to_pinocchio_q(system: System, q: ArrayLike, model: Any) -> Array:
    """Return the positions (..., model.nq) of a `pinocchio.Model` from Catena's (..., nq)."""
    given = _states("q", q, system.nq)
    result = np.zeros((*given.shape[:-1], int(model.nq)))
    for name, at, size, _, _ in _pinocchio_joints(system, model):
        own = given[..., system.slice_q(name)]
        kind = system.mechanism.joints[name].kind
        if isinstance(kind, Free):
            own = own[..., [0, 1, 2, 4, 5, 6, 3]]
        elif isinstance(kind, Spherical):
            own = own[..., [1, 2, 3, 0]]
        elif size == kind.nq + 1:
            turned = own[..., -1:]
            own = np.concatenate([own[..., :-1], np.cos(turned), np.sin(turned)], axis=-1)
        result[..., at : at + size] = own
    return result


def from_pinocchio_v(system: System, q: ArrayLike, v: ArrayLike, model: Any) -> Array:
    """Return Catena's velocities (..., nv) from the positions and velocities (..., model.nv) of a `pinocchio.Model`."""
    at, given = _states("q", q, int(model.nq)), _states("v", v, int(model.nv))
    result = np.zeros((*np.broadcast_shapes(at.shape[:-1], given.shape[:-1]), system.nv))
    for name, start, _, order in _pinocchio_rates(system, model):
        rates = given[..., order]
        if isinstance(system.mechanism.joints[name].kind, Planar):
            rates = _turned(rates, at[..., start + 2], at[..., start + 3])
        result[..., system.slice_v(name)] = rates
    return result


def to_pinocchio_v(system: System, q: ArrayLike, v: ArrayLike, model: Any) -> Array:
    """Return the velocities (..., model.nv) of a `pinocchio.Model` from Catena's positions and velocities."""
    at, given = _states("q", q, system.nq), _states("v", v, system.nv)
    result = np.zeros((*np.broadcast_shapes(at.shape[:-1], given.shape[:-1]), int(model.nv)))
    for name, _, _, order in _pinocchio_rates(system, model):
        rates = given[..., system.slice_v(name)]
        if isinstance(system.mechanism.joints[name].kind, Planar):
            angle = at[..., system.slice_q(name)][..., 2]
            rates = _turned(rates, np.cos(angle), -np.sin(angle))
        result[..., order] = rates
    return result


def _turned(rates: Array, cosine: Array, sine: Array) -> Array:
    """Return the velocities (..., 3) of a planar joint with their first two turned: Pinocchio has them in the child's
    axes."""
    x, y, turning = np.moveaxis(rates, -1, 0)
    return np.stack(np.broadcast_arrays(cosine * x - sine * y, sine * x + cosine * y, turning), axis=-1)


def from_mujoco_qpos(system: System, qpos: ArrayLike, model: Any) -> Array:
    """Return Catena's positions (..., nq) from the `qpos` (..., model.nq) of a `mujoco.MjModel`."""
    given = _states("qpos", qpos, int(model.nq))
    result = _neutral(system, given)
    for part in _mujoco_parts(system, model):
        own = system.slice_q(part.name)
        if part.type == FREE:
            pose = np.array(given[..., part.q : part.q + 7])
            pose[..., 3:] = _unit(pose[..., 3:])
            result[..., own] = _through(pose, _outer(system, part.name), _inner(system, part.name))
        elif part.type == BALL:
            result[..., own] = _unit(given[..., part.q : part.q + 4])
        else:
            result[..., own.start + part.component] = given[..., part.q] - model.qpos0[part.q]
    return result


def to_mujoco_qpos(system: System, q: ArrayLike, model: Any) -> Array:
    """Return the `qpos` (..., model.nq) of a `mujoco.MjModel` from Catena's positions (..., nq)."""
    given = _states("q", q, system.nq)
    result = np.broadcast_to(np.array(model.qpos0), (*given.shape[:-1], int(model.nq))).copy()
    for part in _mujoco_parts(system, model):
        own = system.slice_q(part.name)
        if part.type == FREE:
            outer, inner = _outer(system, part.name).inverse(), _inner(system, part.name).inverse()
            result[..., part.q : part.q + 7] = _through(given[..., own], outer, inner)
        elif part.type == BALL:
            result[..., part.q : part.q + 4] = given[..., own]
        else:
            result[..., part.q] = given[..., own.start + part.component] + model.qpos0[part.q]
    return result


def from_mujoco_qvel(system: System, qpos: ArrayLike, qvel: ArrayLike, model: Any) -> Array:
    """Return Catena's velocities (..., nv) from the `qpos` and `qvel` of a `mujoco.MjModel`."""
    at, given = _states("qpos", qpos, int(model.nq)), _states("qvel", qvel, int(model.nv))
    result = np.zeros((*np.broadcast_shapes(at.shape[:-1], given.shape[:-1]), system.nv))
    for part in _mujoco_parts(system, model):
        own = system.slice_v(part.name)
        if part.type == FREE:
            _require_plain(system, part.name)
            turn = _rotations(_unit(at[..., part.q + 3 : part.q + 7]))
            result[..., own][..., ANGULAR] = given[..., part.v + 3 : part.v + 6]
            result[..., own][..., LINEAR] = np.einsum(
                "...ji,...j->...i", turn, given[..., part.v : part.v + 3]
            )
        elif part.type == BALL:
            result[..., own] = given[..., part.v : part.v + 3]
        else:
            result[..., own.start + part.component] = given[..., part.v]
    return result


def to_mujoco_qvel(system: System, q: ArrayLike, v: ArrayLike, model: Any) -> Array:
    """Return the `qvel` (..., model.nv) of a `mujoco.MjModel` from Catena's positions and velocities."""
    at, given = _states("q", q, system.nq), _states("v", v, system.nv)
    result = np.zeros((*np.broadcast_shapes(at.shape[:-1], given.shape[:-1]), int(model.nv)))
    for part in _mujoco_parts(system, model):
        own = given[..., system.slice_v(part.name)]
        if part.type == FREE:
            _require_plain(system, part.name)
            turn = _rotations(at[..., system.slice_q(part.name)][..., 3:])
            result[..., part.v + 3 : part.v + 6] = own[..., ANGULAR]
            result[..., part.v : part.v + 3] = np.einsum("...ij,...j->...i", turn, own[..., LINEAR])
        elif part.type == BALL:
            result[..., part.v : part.v + 3] = own
        else:
            result[..., part.v] = own[..., part.component]
    return result


@dataclass(frozen=True)
class _Part:
    """A joint of MuJoCo: the joint of the system that has it, which component it is, its type, and its addresses."""

    name: str
    component: int
    type: int
    q: int
    v: int


def _mujoco_parts(system: System, model: Any) -> Iterator[_Part]:
    joints = system.mechanism.joints
    for body in range(1, int(model.nbody)):
        first = int(model.body_jntadr[body])
        indices = range(first, first + int(model.body_jntnum[body]))
        names = [joint_name(model, k) for k in indices]
        whole = merged_name(names)
        for component, k in enumerate(indices):
            name, own = (whole, component) if whole in joints else (names[component], 0)
            _require_tree_joint(system, name)
            yield _Part(
                name, own, int(model.jnt_type[k]), int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
            )


def _pinocchio_joints(system: System, model: Any) -> Iterator[tuple[str, int, int, int, int]]:
    """Return the name, the address and number of positions and of velocities of each joint but the universe."""
    for k in range(1, len(model.names)):
        name = str(model.names[k])
        _require_tree_joint(system, name)
        yield name, int(model.idx_qs[k]), int(model.nqs[k]), int(model.idx_vs[k]), int(model.nvs[k])


def _pinocchio_rates(system: System, model: Any) -> Iterator[tuple[str, int, int, list[int]]]:
    """Return for each joint the address and number of its positions, and where its velocities stand, in Catena's
    order."""
    for name, start, count, at, size in _pinocchio_joints(system, model):
        order = list(range(at, at + size))
        is_free = isinstance(system.mechanism.joints[name].kind, Free)
        yield name, start, count, order[3:] + order[:3] if is_free else order


def _require_tree_joint(system: System, name: str) -> None:
    if name not in system.joints:
        raise StateError(
            f"the other model has the joint {name!r}, which carries no coordinates here: load both from the same file, "
            "or cut the loops so that they have the same tree, m.system(cut=[...])"
        )


def _require_plain(system: System, name: str) -> None:
    """Raise an error for a free joint whose frames are not the frames of its bodies: its velocities are not those of
    the body."""
    joint = system.mechanism.joints[name]
    if joint.in_parent != Pose() or joint.in_child != Pose():
        raise StateError(
            f"joint {name!r}: velocities of a free joint translate where its frames are those of its bodies: "
            "give it neither in_parent nor in_child"
        )


def _outer(system: System, name: str) -> Pose:
    return system.mechanism.joints[name].in_parent.inverse()


def _inner(system: System, name: str) -> Pose:
    return system.mechanism.joints[name].in_child


def _through(poses: Array, outer: Pose, inner: Pose) -> Array:
    """Return outer * pose * inner for poses (..., 7) of position and quaternion (w, x, y, z)."""
    if outer == Pose() and inner == Pose():
        return poses
    flat = poses.reshape(-1, 7)
    found = [outer * Pose(p=row[:3], quat=row[3:]) * inner for row in flat]
    return np.array([np.concatenate([pose.p, pose.quat]) for pose in found]).reshape(poses.shape)


def _rotations(quaternions: Array) -> Array:
    flat = quaternions.reshape(-1, 4)
    return np.array([rotation(one) for one in flat]).reshape(*quaternions.shape[:-1], 3, 3)


def _unit(quaternions: Array) -> Array:
    """Return quaternions of unit length, which MuJoCo makes of others by itself."""
    length = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    if not (length > 0.0).all():
        raise StateError("qpos has a quaternion of zero length: give one that is a rotation")
    return quaternions / length


def _neutral(system: System, given: Array) -> Array:
    return np.broadcast_to(system.neutral(), (*given.shape[:-1], system.nq)).copy()


def _states(what: str, value: ArrayLike, size: int) -> Array:
    try:
        array = real_array(value)
    except ValueError as error:
        raise StateError(f"{what} is {shown(value)}, which are not numbers ({error})") from None
    if array.ndim == 0 or array.shape[-1] != size:
        raise StateError(f"{what} has shape {array.shape}: give (..., {size})")
    return array
