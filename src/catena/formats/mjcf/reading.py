"""Reading a mechanism from MJCF: MuJoCo's `MjSpec` reads and compiles the text, and the compiled model tells all.

Bodies, joints, sites and shapes are those of the model. Joint positions are counted from the configuration of the file,
so that of a hinge is `qpos - qpos0`; a free joint has the pose in the world. Equality constraints `connect` and `weld`
become joints, `joint` becomes a coupling. What else acts in MuJoCo becomes forces, or is told in one warning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import CatenaError, FormatError
from catena.forces import PolynomialJointSpring
from catena.formats.findings import NamedParts, Severity
from catena.formats.mjcf.actuators import add_actuators, components_of
from catena.formats.mjcf.dofs import AtDofs, at_dofs, disabled
from catena.formats.mjcf.equalities import add_equalities, coupled_joints, held_bodies
from catena.formats.mjcf.keyframes import add_states, controls, default_keyframe, keyframes
from catena.formats.mjcf.merging import Elementary, Merged, merge
from catena.formats.mjcf.names import (
    BALL,
    FREE,
    SMALLEST,
    body_name,
    free_name,
    joint_name,
    merged_name,
    unbounded,
)
from catena.formats.mjcf.passive import add_free_spring, add_passive, yields
from catena.formats.mjcf.poses import pose_of
from catena.formats.mjcf.preparing import Prepared
from catena.formats.mjcf.sensors import SensorPlaces, add_sensors
from catena.formats.mjcf.shapes import shapes_of
from catena.formats.mjcf.tendons import add_tendons, tendons_as_joints
from catena.formats.source import Source
from catena.joints import Fixed, Free
from catena.mechanism import GROUND, Mechanism
from catena.spatial import Pose


def read(text: str, source: Source) -> Mechanism:
    """Return the mechanism that an MJCF text describes; needs the package mujoco or mujoco-core."""
    try:
        import mujoco
    except ImportError:
        raise FormatError(
            f"{source.name}: MJCF files are read with MuJoCo, which is not installed: "
            'pip install "catena-dynamics[mjcf]"'
        ) from None
    prepared = Prepared(text, source)
    try:
        model = mujoco.MjSpec.from_string(prepared.text, assets=prepared.assets).compile()
    except (ValueError, RuntimeError, TypeError) as error:
        raise FormatError(f"{source.name}: MuJoCo refuses it: {_first_line(error)}") from None
    try:
        return _MechanismBuilder(model, prepared, source, disabled(model, mujoco.mjtDisableBit)).build()
    except FormatError:
        raise
    except CatenaError as error:
        raise FormatError(f"{source.name}: {error}") from error


FREE_ORDER = (3, 4, 5, 0, 1, 2)
"""Where the rates of Catena's free joint [omega; v] stand in MuJoCo's."""


class _MechanismBuilder:
    """Makes the mechanism of a compiled model; `off` are the flags that the file switches off."""

    def __init__(self, model: Any, prepared: Prepared, source: Source, off: frozenset[str]) -> None:
        self.model, self.prepared, self.source, self.off = model, prepared, source, off
        gravity = np.zeros(3) if "GRAVITY" in off else np.array(model.opt.gravity)
        self.mechanism = Mechanism(prepared.name.strip() or "model", gravity)
        self.dofs: AtDofs = at_dofs(model, off)
        self.unread, self.idle = NamedParts(), NamedParts()
        trees = (
            int(k) for k, way in zip(model.actuator_trnid[:, 0], model.actuator_trntype) if way in (0, 1)
        )
        self.driven: set[int] | None = set(trees) if len(model.actuator_trntype) else None
        self.initial: dict[str, Any] = {}

    def build(self) -> Mechanism:
        mechanism, model, off = self.mechanism, self.model, self.off
        for index in range(model.nbody):
            _add_body(mechanism, model, index, self.prepared, self.source)
        holds = "EQUALITY" not in off
        coupled = coupled_joints(model) if holds else frozenset()
        coupled |= {joint for terms in tendons_as_joints(model, off).values() for joint in terms}
        for index in range(1, model.nbody):
            self._add_joints(index, coupled)
        sites = self._add_sites()
        if holds:
            add_equalities(mechanism, model, self.source, self.unread, self.idle)
        elif model.neq:
            self.source.note(
                Severity.NOTE, "", "equality constraints are switched off and left out", what="unread"
            )
        keys = keyframes(model, self.prepared.keys, self.unread)
        begin = default_keyframe(keys)
        start = (np.zeros(controls(model)), np.zeros(model.na)) if begin is None else (begin.ctrl, begin.act)
        slides = add_tendons(mechanism, model, off, sites, self.unread)
        self.source.lengths.update(slide.coupling for slide in slides.values())
        signals = add_actuators(mechanism, model, off, start, slides, self.source, self.unread)
        add_passive(mechanism, model, off)
        places = SensorPlaces(mechanism, model, sites, components_of(mechanism, model), slides)
        add_sensors(places, self.prepared.sensors, self.idle)
        add_states(mechanism, model, keys, signals, self.unread)
        if not mechanism.states:
            self._set_initial(held_bodies(model) if holds else set())
        if self.prepared.without:
            self.unread.add(f"the elements {', '.join(f'<{tag}>' for tag in sorted(self.prepared.without))}")
        self._tell_what_is_left_out()
        if model.nmocap:
            self.source.note(Severity.NOTE, "", "bodies with mocap are fixed to ground", what="mocap")
        return mechanism

    def _tell_what_is_left_out(self) -> None:
        """Tell in one list what the mechanism has not got, that first which acts in MuJoCo."""
        message = f"MuJoCo applies what is not read: {self.unread}" if self.unread else ""
        if self.idle:
            message += "; and besides, " if message else ""
            message += f"what moves nothing is not read: {self.idle}"
        if message:
            self.source.note(Severity.WARNING, "", message, what="unread")

    def _add_sites(self) -> list[str]:
        model, names = self.model, []
        for index in range(model.nsite):
            body = body_name(model, int(model.site_bodyid[index]))
            name = model.site(index).name or f"site {index}"
            taken = name in self.mechanism.bodies or name in self.mechanism.frames
            names.append(f"{name} site" if taken else name)
            self.mechanism.add_frame(names[-1], body, pose_of(model.site_pos[index], model.site_quat[index]))
        return names

    def _set_initial(self, held_bodies: set[int]) -> None:
        model = self.model
        roots = {int(model.body_rootid[body]) for body in held_bodies}
        held = {joint_name(model, int(model.body_jntadr[root])) for root in roots if model.body_jntnum[root]}
        loose = {name: q for name, q in self.initial.items() if name not in held}
        if loose:
            # Where a body that floats is held by a constraint follows from that.
            self.mechanism.set_initial(q=loose)

    def _add_joints(self, index: int, coupled: frozenset[int]) -> None:
        """Add what connects a body to its parent: one joint, or several with massless bodies between them."""
        mechanism, model = self.mechanism, self.model
        body, parent = body_name(model, index), body_name(model, int(model.body_parentid[index]))
        place = pose_of(model.body_pos[index], model.body_quat[index])
        first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
        if count == 0:
            mechanism.add_joint(_fixed_name(mechanism, body), parent, body, Fixed(), in_parent=place)
            return
        if model.jnt_type[first] == FREE:
            self._add_free(first, parent, body, place)
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
            self._add_joint(joint, parent, child, place)
            parent, place = child, Pose()

    def _add_free(self, index: int, parent: str, body: str, place: Pose) -> None:
        name, at = joint_name(self.model, index), int(self.model.jnt_dofadr[index])
        rows = [at + k for k in FREE_ORDER]
        damping, dofs = self.dofs.damping[rows], self.dofs
        if damping[:, 1:].any():
            self.unread.add("damping of higher order at the free joints", name)
        if dofs.armature[rows].any():
            self.unread.add("armature of the free joints, a mass without weight", name)
        self.mechanism.add_joint(
            name, parent, body, Free(), damping=damping[:, 0], friction=dofs.friction[rows], actuated=False
        )
        self.initial[name] = np.concatenate([place.p, place.quat])
        if self._has_plain_spring(index):
            add_free_spring(self.mechanism, self.model, index, float(dofs.stiffness[index, 0]))

    def _add_joint(self, joint: Merged, parent: str, child: str, place: Pose) -> None:
        model, dofs = self.model, self.dofs
        names = [joint_name(model, part.index) for part in joint.parts]
        name = merged_name(names)
        rows = [int(model.jnt_dofadr[part.index]) + k for part in joint.parts for k in range(_dofs(part))]
        bent = dofs.damping[rows, 1:].any(axis=1)
        limits = np.concatenate([self._limits(part) for part in joint.parts])
        self.mechanism.add_joint(
            name, parent, child, joint.kind, in_parent=place * joint.frame, in_child=joint.frame,
            damping=np.where(bent, 0.0, dofs.damping[rows, 0]), friction=dofs.friction[rows],
            armature=dofs.armature[rows], limits=limits if np.isfinite(limits).any() else None,
            actuated=self.driven is None or any(part.index in self.driven for part in joint.parts),
        )  # fmt: skip
        for component in np.flatnonzero(bent):
            kind = PolynomialJointSpring(damping=dofs.damping[rows[component]], component=int(component))
            self._add_force(f"{name} damper", kind, name)
        self._add_springs(joint, name)

    def _add_springs(self, joint: Merged, name: str) -> None:
        """Add the springs of a joint: linear ones together, polynomials each by itself."""
        component, linear, rests = 0, [], []
        for part in joint.parts:
            stiffness, rest = self.dofs.stiffness[part.index], _rest(self.model, part)
            is_plain = self._has_plain_spring(part.index, _dofs(part) == 1)
            if is_plain and stiffness[1:].any():
                kind = PolynomialJointSpring(stiffness, rest=float(rest[0]), component=component)
                self._add_force(f"{name} spring", kind, name)
                is_plain = False
            linear += [float(stiffness[0]) if is_plain else 0.0] * _dofs(part)
            rests.append(rest)
            component += _dofs(part)
        if any(linear):
            called = free_name(f"{name} spring", self.mechanism.force_elements)
            self.mechanism.add_spring(called, name, linear, np.concatenate(rests))

    def _has_plain_spring(self, joint: int, may_bend: bool = False) -> bool:
        """Return whether a joint has a spring that can be said; one that cannot is told."""
        stiffness = self.dofs.stiffness[joint]
        if not stiffness.any():
            return False
        bends = stiffness[1:].any() and not may_bend
        if bends or yields(self.model, joint):
            self.unread.add(
                "springs that yield or are of higher order at the joints", joint_name(self.model, joint)
            )
            return False
        return True

    def _add_force(self, name: str, kind: PolynomialJointSpring, joint: str) -> None:
        self.mechanism.add_force(free_name(name, self.mechanism.force_elements), kind, joint=joint)

    def _limits(self, part: Elementary) -> Any:
        """Return the lowest and highest positions, seen from the configuration of the file."""
        model = self.model
        if not model.jnt_limited[part.index] or "LIMIT" in self.off:
            return np.tile((-np.inf, np.inf), (_dofs(part), 1))
        if part.type == BALL:
            self.unread.add("limits of the balls", joint_name(model, part.index))
            return np.tile((-np.inf, np.inf), (3, 1))
        start = model.qpos0[model.jnt_qposadr[part.index]]
        return unbounded(model.jnt_range[part.index])[None, :] - start


def _add_body(mechanism: Mechanism, model: Any, index: int, prepared: Prepared, source: Source) -> None:
    visuals, collisions = shapes_of(model, index, prepared, source)
    if index == 0:
        mechanism.add_visual(GROUND, *visuals)
        mechanism.add_collision(GROUND, *collisions)
        return
    axes = pose_of(model.body_ipos[index], model.body_iquat[index])
    mass, moments = model.body_mass[index], np.array(model.body_inertia[index])
    # What was written for nothing is nothing.
    moments[moments <= SMALLEST] = 0.0
    inertia = axes.R @ np.diag(moments) @ axes.R.T
    mechanism.add_body(
        body_name(model, index), float(mass) if mass > SMALLEST else 0.0, axes.p, 0.5 * (inertia + inertia.T),
        visuals=visuals, collisions=collisions, physical=False,
    )  # fmt: skip


def _dofs(part: Elementary) -> int:
    return 3 if part.type == BALL else 1


def _rest(model: Any, part: Elementary) -> Any:
    at = int(model.jnt_qposadr[part.index])
    if _dofs(part) == 3:
        return np.array(model.qpos_spring[at : at + 4])
    return np.array([model.qpos_spring[at] - model.qpos0[at]])


def _direction(axis: Any) -> Any:
    """Return a unit vector without the rounding of one that was given along an axis."""
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
