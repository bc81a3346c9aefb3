"""Reading a mechanism from MJCF: MuJoCo's `MjSpec` reads and compiles the text, and the compiled model tells all.

Bodies, joints, sites and shapes are those of the model. Joint positions are counted from the configuration of the file,
so that of a hinge is `qpos - qpos0`; a free joint has the pose in the world. Equality constraints `connect` and `weld`
become joints, `joint` becomes a coupling.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.formats.findings import Severity
from catena.formats.mjcf.actuators import add_actuators
from catena.formats.mjcf.equalities import add_equalities, coupled_joints, held_bodies
from catena.formats.mjcf.merging import Elementary, Merged, merge
from catena.formats.mjcf.names import FREE, body_name, joint_name, merged_name
from catena.formats.mjcf.preparing import Prepared
from catena.formats.mjcf.shapes import shapes_of
from catena.formats.source import Source
from catena.joints import Fixed, Free
from catena.mechanism import GROUND, Mechanism
from catena.spatial import Pose

NO_GRAVITY = 1 << 7
"""The bit of `opt.disableflags` that takes gravity away."""


def read(text: str, source: Source) -> Mechanism:
    """Return the mechanism that an MJCF text describes; needs the package mujoco or mujoco-core."""
    try:
        import mujoco
    except ImportError:
        raise FormatError(
            f"{source.name}: MJCF files are read with MuJoCo, which is not installed: pip install catena[mjcf]"
        ) from None
    prepared = Prepared(text, source)
    try:
        model = mujoco.MjSpec.from_string(prepared.text, assets=prepared.assets).compile()
    except (ValueError, RuntimeError, TypeError) as error:
        raise FormatError(f"{source.name}: MuJoCo refuses it: {_first_line(error)}") from None
    try:
        return _build(model, prepared, source)
    except FormatError:
        raise
    except CatenaError as error:
        raise FormatError(f"{source.name}: {error}") from error


def _build(model: Any, prepared: Prepared, source: Source) -> Mechanism:
    weightless = int(model.opt.disableflags) & NO_GRAVITY
    gravity = np.zeros(3) if weightless else np.array(model.opt.gravity)
    mechanism = Mechanism(prepared.name.strip() or "model", gravity)
    for index in range(model.nbody):
        _add_body(mechanism, model, index, prepared, source)
    driven = {int(model.actuator_trnid[k, 0]) for k in range(model.nu) if model.actuator_trntype[k] in (0, 1)}
    initial: dict[str, Any] = {}
    coupled = coupled_joints(model)
    for index in range(1, model.nbody):
        _add_joints(mechanism, model, index, coupled, driven if model.nu else None, initial, source)
    for index in range(model.nsite):
        body = body_name(model, int(model.site_bodyid[index]))
        name = model.site(index).name or f"site {index}"
        taken = name in mechanism.bodies or name in mechanism.frames
        mechanism.add_frame(
            f"{name} site" if taken else name, body, pose_of(model.site_pos[index], model.site_quat[index])
        )
    add_equalities(mechanism, model, source)
    add_actuators(mechanism, model, source)
    roots = {int(model.body_rootid[body]) for body in held_bodies(model)}
    held = {joint_name(model, int(model.body_jntadr[root])) for root in roots if model.body_jntnum[root]}
    loose = {name: q for name, q in initial.items() if name not in held}
    if loose:
        # Where a body that floats is held by a constraint follows from that.
        mechanism.set_initial(q=loose)
    if model.ntendon:
        source.note(
            Severity.WARNING, "", f"there are {model.ntendon} tendons, which are not read", what="unread"
        )
    if model.ngravcomp:
        source.note(Severity.WARNING, "", "gravity compensation of bodies is not read", what="unread")
    if model.nmocap:
        source.note(Severity.NOTE, "", "bodies with mocap are fixed to ground", what="mocap")
    return mechanism


def pose_of(p: Any, quat: Any) -> Pose:
    """The pose of a position (3,) and a quaternion (4,) of the model."""
    unit = np.array(quat, dtype=np.float64)
    if np.array_equal(unit, (1.0, 0.0, 0.0, 0.0)):
        return Pose(p=np.array(p))
    return Pose(p=np.array(p), quat=unit / np.linalg.norm(unit))


def _add_body(mechanism: Mechanism, model: Any, index: int, prepared: Prepared, source: Source) -> None:
    visuals, collisions = shapes_of(model, index, prepared, source)
    if index == 0:
        mechanism.add_visual(GROUND, *visuals)
        mechanism.add_collision(GROUND, *collisions)
        return
    axes = pose_of(model.body_ipos[index], model.body_iquat[index])
    inertia = axes.R @ np.diag(model.body_inertia[index]) @ axes.R.T
    mechanism.add_body(
        body_name(model, index), float(model.body_mass[index]), axes.p, 0.5 * (inertia + inertia.T),
        visuals=visuals, collisions=collisions, physical=False,
    )  # fmt: skip


def _add_joints(mechanism: Mechanism, model: Any, index: int, coupled: frozenset[int], driven: set[int] | None,
                initial: dict[str, Any], source: Source) -> None:  # fmt: skip
    """Add what connects a body to its parent: one joint, or several with massless bodies between them."""
    body, parent = body_name(model, index), body_name(model, int(model.body_parentid[index]))
    place = pose_of(model.body_pos[index], model.body_quat[index])
    first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
    if count == 0:
        mechanism.add_joint(_fixed_name(mechanism, body), parent, body, Fixed(), in_parent=place)
        return
    if model.jnt_type[first] == FREE:
        name = joint_name(model, first)
        damping, friction, armature = _dof_values(
            model, slice(int(model.jnt_dofadr[first]), None), FREE_ORDER
        )
        if armature.any():
            message = (
                f"it is free, and its armature of {armature.max():g}, a mass without weight in MuJoCo, is not read: "
                f"leave it out of the file, or add it to the body"
            )
            source.note(Severity.WARNING, f"joint {name!r}", message, what="unread")
        mechanism.add_joint(name, parent, body, Free(), damping=damping, friction=friction, actuated=False)
        initial[name] = np.concatenate([place.p, place.quat])
        return
    parts = [
        Elementary(k, int(model.jnt_type[k]), _direction(model.jnt_axis[k]), np.array(model.jnt_pos[k]))
        for k in range(first, first + count)
    ]
    joints = merge(parts, coupled)
    for k, joint in enumerate(joints):
        is_last = k == len(joints) - 1
        child = body if is_last else f"{body} after {joint_name(model, joint.parts[-1].index)}"
        if not is_last:
            mechanism.add_body(child)
        _add_joint(mechanism, model, joint, parent, child, place, driven)
        parent, place = child, Pose()


FREE_ORDER = (3, 4, 5, 0, 1, 2)
"""Where the rates of Catena's free joint [omega; v] stand in MuJoCo's."""


def _add_joint(mechanism: Mechanism, model: Any, joint: Merged, parent: str, child: str, place: Pose,
               driven: set[int] | None) -> None:  # fmt: skip
    names = [joint_name(model, part.index) for part in joint.parts]
    name = merged_name(names)
    rows = [
        _dof_values(model, slice(int(model.jnt_dofadr[part.index]), None), range(_dofs(part)))
        for part in joint.parts
    ]
    damping, friction, armature = (np.concatenate([row[k] for row in rows]) for k in range(3))
    limits = np.concatenate([_limits(model, part) for part in joint.parts])
    mechanism.add_joint(
        name, parent, child, joint.kind, in_parent=place * joint.frame, in_child=joint.frame,
        damping=damping, friction=friction, armature=armature,
        limits=limits if np.isfinite(limits).any() else None,
        actuated=driven is None or any(part.index in driven for part in joint.parts),
    )  # fmt: skip
    stiffness = np.concatenate(
        [np.full(_dofs(part), model.jnt_stiffness[part.index].flat[0]) for part in joint.parts]
    )
    if stiffness.any():
        rest = np.concatenate([_rest(model, part) for part in joint.parts])
        mechanism.add_spring(f"{name} spring", name, stiffness, rest)


def _dofs(part: Elementary) -> int:
    return 3 if part.type == 1 else 1


def _dof_values(model: Any, dofs: slice, order: Any) -> tuple[Any, Any, Any]:
    """The damping, friction and armature of a joint's velocity coordinates."""
    chosen = list(order)
    found = []
    for array in (model.dof_damping, model.dof_frictionloss, model.dof_armature):
        values = np.array(array[dofs], dtype=np.float64)
        # Newer versions have polynomials of the velocity, whose first coefficient is the linear one.
        values = values.reshape(len(values), -1)[:, 0]
        found.append(values[chosen])
    return found[0], found[1], found[2]


def _limits(model: Any, part: Elementary) -> Any:
    """The lowest and highest positions, seen from the configuration of the file."""
    if not model.jnt_limited[part.index] or _dofs(part) == 3:
        return np.tile((-np.inf, np.inf), (_dofs(part), 1))
    start = model.qpos0[model.jnt_qposadr[part.index]]
    return np.array(model.jnt_range[part.index])[None, :] - start


def _rest(model: Any, part: Elementary) -> Any:
    at = int(model.jnt_qposadr[part.index])
    if _dofs(part) == 3:
        return np.array(model.qpos_spring[at : at + 4])
    return np.array([model.qpos_spring[at] - model.qpos0[at]])


def _direction(axis: Any) -> Any:
    """A unit vector without the rounding of one that was given along an axis."""
    found = np.array(axis, dtype=np.float64)
    near = np.round(found)
    return near if np.abs(found - near).max() < 1e-15 else found


def _fixed_name(mechanism: Mechanism, body: str) -> str:
    name = f"{body} mount"
    while name in mechanism.joints:
        name += "'"
    return name


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
