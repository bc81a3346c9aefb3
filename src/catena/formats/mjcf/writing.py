"""Writing a mechanism as MJCF: bodies in bodies, joints of several freedoms as several joints, loops as equalities.

MuJoCo holds equality constraints by forces that give way, so a loop that is exact here is nearly closed there. Loops
may be spherical, fixed or revolute, the last by two points on the axis; other kinds of joints go into the tree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import FormatError, warn
from catena.formats.markup import quoted
from catena.formats.shape_files import path_from
from catena.formats.trees import FREE, HINGE, SLIDE, Branch, Motion, grow, motion_name
from catena.joints import Fixed, Free, Revolute, Spherical
from catena.mechanism import (
    GROUND,
    Body,
    Joint,
    JointSpring,
    LinearCoupling,
    Mechanism,
    PolynomialCoupling,
    Shape,
)
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere
from catena.spatial import Pose

APART = 0.1
"""Metres between the two points that hold an axis."""
ORDER = (Fixed, Revolute, Spherical, Free)
"""Kinds that may close a loop, those that are better in the tree first."""


def write(mechanism: Mechanism, path: Path) -> dict[str, str]:
    """Return the MJCF text."""
    branches, loops = grow(mechanism, str(path), _rank)
    writer = _Writer(mechanism, path, branches, loops)
    text = writer.text()
    if writer.lost:
        warn(f"{path}: MJCF gets no {', '.join(sorted(writer.lost))}: save a .toml file to keep that")
    return {"": text}


def _rank(joint: Joint) -> int:
    """Joints that cannot close a loop in MuJoCo go into the tree first."""
    if joint.dof == 0:
        return 1
    return next((k + 1 for k, kind in enumerate(ORDER) if type(joint.kind) is kind), 0)


class _Writer:
    """Collects the parts of the file."""

    def __init__(self, mechanism: Mechanism, path: Path, branches: list[Branch], loops: list[Joint]) -> None:
        self.mechanism, self.path, self.loops = mechanism, path, loops
        self.lost: set[str] = set()
        self.branches: dict[str, list[Branch]] = {name: [] for name in mechanism.bodies}
        for branch in branches:
            self.branches[branch.parent].append(branch)
        self.by_joint = {branch.joint.name: branch for branch in branches}
        self.sites: dict[str, list[str]] = {name: [] for name in mechanism.bodies}
        self.meshes: dict[tuple[str, Any], str] = {}
        self.springs = {s.joint: s for s in mechanism.springs.values() if isinstance(s, JointSpring)}

    def text(self) -> str:
        for frame in self.mechanism.frames.values():
            self._site(frame.body, frame.name, frame.pose)
        equalities = self._equalities()
        world = self._body_content(self.mechanism.bodies[GROUND], 2)
        world += self._children(GROUND, 2)
        assets = [
            f'    <mesh name="{name}" file={quoted(file)} scale="{_numbers(scale)}"/>'
            for (file, scale), name in self.meshes.items()
        ]
        actuators = self._actuators()
        self._note_lost()
        name = quoted(self.mechanism.name)
        lines = [
            f"<mujoco model={name}>",
            '  <compiler angle="radian" autolimits="true" inertiafromgeom="false"/>',
        ]
        lines.append(f'  <option gravity="{_numbers(self.mechanism.gravity)}"/>')
        for tag, content in (
            ("asset", assets),
            ("worldbody", world),
            ("equality", equalities),
            ("actuator", actuators),
        ):
            if content or tag == "worldbody":
                lines += [f"  <{tag}>", *content, f"  </{tag}>"]
        return "\n".join([*lines, "</mujoco>\n"])

    def _children(self, parent: str, depth: int) -> list[str]:
        lines: list[str] = []
        # A list of what is open, because chains may be longer than Python can nest calls.
        open_: list[Any] = [(branch, depth) for branch in reversed(self.branches[parent])]
        while open_:
            item = open_.pop()
            if isinstance(item, str):
                lines.append(item)
                continue
            branch, level = item
            indent = "  " * level
            place = branch.in_parent * branch.in_child.inverse()
            lines.append(f"{indent}<body name={quoted(branch.child)}{_placed(place)}>")
            lines += self._joints(branch, indent + "  ")
            lines += self._body_content(self.mechanism.bodies[branch.child], level + 1)
            open_.append(f"{indent}</body>")
            open_ += [(inner, level + 1) for inner in reversed(self.branches[branch.child])]
        return lines

    def _joints(self, branch: Branch, indent: str) -> list[str]:
        joint = branch.joint
        if branch.motions is None:
            kind = type(joint.kind).__name__
            raise FormatError(
                f"{self.path}: joint {joint.name!r} is {kind}, which MuJoCo has not: save a .toml file"
            )
        if joint.locked_at is not None:
            self.lost.add("locks of joints, which are written as fixed")
        lines = []
        for motion in branch.motions:
            name = quoted(motion_name(branch, motion))
            if motion.type == FREE and branch.parent == GROUND:
                lines.append(f"{indent}<freejoint name={name}/>")
                continue
            if motion.type == FREE:
                raise FormatError(
                    f"{self.path}: joint {joint.name!r} is free between two moving bodies, which MuJoCo has not: "
                    "tie one of them to ground"
                )
            lines.append(f"{indent}<joint name={name}{self._joint_options(branch, motion)}/>")
        return lines

    def _joint_options(self, branch: Branch, motion: Motion) -> str:
        joint, k = branch.joint, motion.component
        frame = branch.in_child
        options = {"type": motion.type, "pos": _numbers(frame.p)}
        if motion.type in (HINGE, SLIDE):
            options["axis"] = _numbers(frame.R @ motion.axis)
            if joint.limits is not None and np.isfinite(joint.limits[k]).any():
                options["range"] = _numbers(np.nan_to_num(joint.limits[k], posinf=1e9, neginf=-1e9))
            spring = self.springs.get(joint.name)
            if spring is not None and spring.stiffness[k]:
                options |= {"stiffness": _number(spring.stiffness[k]), "springref": _number(spring.rest[k])}
        for key, values in (
            ("damping", joint.damping),
            ("frictionloss", joint.friction),
            ("armature", joint.armature),
        ):
            if values is not None and values[k]:
                options[key] = _number(values[k])
        return "".join(f' {key}="{value}"' for key, value in options.items())

    def _body_content(self, body: Body, level: int) -> list[str]:
        indent = "  " * level
        lines = []
        if body.flexible is not None:
            self.lost.add("modes of flexible bodies, which are written as rigid ones")
        if body.mass or body.inertia.any():
            (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia
            full = _numbers((xx, yy, zz, xy, xz, yz))
            lines.append(
                f'{indent}<inertial pos="{_numbers(body.com)}" mass="{_number(body.mass)}" fullinertia="{full}"/>'
            )
        for shape in body.visuals:
            touches = shape in body.collisions
            lines.append(indent + self._geom(shape, "" if touches else ' contype="0" conaffinity="0"'))
        hidden = [shape for shape in body.collisions if shape not in body.visuals]
        lines += [indent + self._geom(shape, ' group="3"') for shape in hidden]
        return lines + [indent + site for site in self.sites[body.name]]

    def _geom(self, shape: Shape, more: str) -> str:
        if isinstance(shape, Box):
            form = f'type="box" size="{_numbers(np.array(shape.size) / 2)}"'
        elif isinstance(shape, Sphere):
            form = f'type="sphere" size="{_number(shape.radius)}"'
        elif isinstance(shape, Ellipsoid):
            form = f'type="ellipsoid" size="{_numbers(shape.radii)}"'
        elif isinstance(shape, Cylinder | Capsule):
            word = "cylinder" if isinstance(shape, Cylinder) else "capsule"
            form = f'type="{word}" size="{_numbers((shape.radius, shape.length / 2))}"'
        elif isinstance(shape, Mesh):
            key = (path_from(shape, self.path.absolute().parent), shape.scale)
            form = f'type="mesh" mesh="{self.meshes.setdefault(key, f"mesh {len(self.meshes)}")}"'
        name = f" name={quoted(shape.name)}" if shape.name and self._is_only(shape) else ""
        colour = "" if shape.colour is None else f' rgba="{_numbers(shape.colour)}"'
        return f"<geom{name} {form}{_placed(shape.pose)}{colour}{more}/>"

    def _is_only(self, shape: Shape) -> bool:
        """Whether no other shape has its name, which MuJoCo does not allow."""
        bodies = self.mechanism.bodies.values()
        found = [s for b in bodies for s in {*b.visuals, *b.collisions} if s.name == shape.name]
        return len(found) == 1

    def _site(self, body: str, name: str, pose: Pose) -> None:
        self.sites[body].append(f"<site name={quoted(name)}{_placed(pose)}/>")

    def _equalities(self) -> list[str]:
        lines: list[str] = []
        for joint in self.loops:
            lines += self._loop(joint)
        for coupling in self.mechanism.couplings.values():
            lines += self._coupling(coupling)
        return lines

    def _loop(self, joint: Joint) -> list[str]:
        if isinstance(joint.kind, Free):
            return []
        offsets: list[Any] = [np.zeros(3)]
        tag = "connect"
        if joint.dof == 0 and isinstance(joint.kind, Fixed):
            tag = "weld"
        elif joint.locked_at is None and isinstance(joint.kind, Revolute):
            offsets = [np.zeros(3), APART * np.array(joint.kind.axis)]
        elif joint.locked_at is not None or not isinstance(joint.kind, Spherical):
            raise FormatError(
                f"{self.path}: joint {joint.name!r} closes a loop and is {type(joint.kind).__name__}, which MuJoCo has "
                "not: save a .toml file"
            )
        lines = []
        for k, offset in enumerate(offsets):
            names = [f"{joint.name} {side} {k + 1}" for side in ("parent", "child")]
            self._site(joint.parent, names[0], joint.in_parent * Pose(p=offset))
            self._site(joint.child, names[1], joint.in_child * Pose(p=offset))
            called = joint.name if len(offsets) == 1 else f"{joint.name} {k + 1}"
            ends = " ".join(f"site{j + 1}={quoted(name)}" for j, name in enumerate(names))
            lines.append(f"    <{tag} name={quoted(called)} {ends}/>")
        return lines

    def _coupling(self, coupling: Any) -> list[str]:
        joints = coupling.joints
        if isinstance(coupling, PolynomialCoupling) and len(coupling.polynomial) <= 5:
            numbers = list(coupling.polynomial)
        elif isinstance(coupling, LinearCoupling) and len(joints) <= 2:
            own, *others = coupling.coefficients.values()
            numbers = [coupling.offset / own, *(-other / own for other in others)]
        else:
            self.lost.add("couplings of more than two joints or of high degree")
            return []
        if any(joint not in self.by_joint for joint in joints):
            self.lost.add("couplings of joints that close loops")
            return []
        names = [motion_name(self.by_joint[joint], self.by_joint[joint].motions[0]) for joint in joints]  # type: ignore[index]
        ends = " ".join(f"joint{k + 1}={quoted(name)}" for k, name in enumerate(names))
        padded = numbers + [0.0] * (5 - len(numbers))
        return [f'    <joint name={quoted(coupling.name)} {ends} polycoef="{_numbers(padded)}"/>']

    def _actuators(self) -> list[str]:
        lines = []
        for actuator in self.mechanism.actuators.values():
            branch = self.by_joint.get(actuator.joint)
            motions = () if branch is None else branch.motions or ()
            driven = {one.component: one for one in motions if one.type in (HINGE, SLIDE)}
            for k, component in enumerate(actuator.components):
                if branch is None or component not in driven:
                    self.lost.add("actuators of joints that close loops or have a quaternion")
                    continue
                name = actuator.name if len(actuator.components) == 1 else f"{actuator.name} {k + 1}"
                joint = quoted(motion_name(branch, driven[component]))
                limits = actuator.limits[k]
                bound = f' ctrlrange="{_numbers(limits)}"' if np.isfinite(limits).all() else ""
                gear = _number(actuator.gear[k])
                lines.append(f'    <motor name={quoted(name)} joint={joint} gear="{gear}"{bound}/>')
        return lines

    def _note_lost(self) -> None:
        m = self.mechanism
        if m.wrenches or m.forces or len(self.springs) < len(m.springs):
            self.lost.add("wrenches, forces, and springs between frames or several at a joint")
        if m.initial.q or m.initial.v:
            self.lost.add("initial states")
        if any(j.velocity_limit is not None or j.limit_stiffness is not None for j in m.joints.values()):
            self.lost.add("limits of speed and elastic stops")


def _placed(pose: Pose) -> str:
    where = f' pos="{_numbers(pose.p)}"' if pose.p.any() else ""
    return where if np.array_equal(pose.R, np.eye(3)) else f'{where} quat="{_numbers(pose.quat)}"'


def _numbers(values: Any) -> str:
    return " ".join(map(_number, values))


def _number(value: Any) -> str:
    return repr(float(value) + 0.0)
