"""Writing a mechanism as SDF: a graph of links and joints with loops, and a side file for what SDF cannot say.

SDF tells a joint by one frame in its child, and the parent has that frame where it is with all links at the poses of
the file. So a joint that closes a loop is one of the file if the loop is closed with all joints at zero; a ball that is
open there becomes a ball constraint of Drake. Joints of several freedoms that SDF has not are several joints with links
without mass between them. Other joints, and forces, couplings and states, go to the side file, which `load` reads with
the other. A free joint is a link that no joint carries, with the name of the joint as an attribute.
"""

from __future__ import annotations

from math import pi
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import FormatError, warn
from catena.formats.ball_constraints import BALL as CONSTRAINT
from catena.formats.findings import NamedParts
from catena.formats.markup import quoted
from catena.formats.sdf.joints import ACTUATED, ROTOR, ROTORS
from catena.formats.sdf.link_writing import link_lines, massless_link, pose_text
from catena.formats.side_files import (
    EARTH,
    SIDE,
    is_mimic,
    is_plain_limit,
    mimics_of,
    referred_joints,
    with_friction_apart,
)
from catena.formats.toml.writing import write_rest
from catena.formats.trees import Branch, grow, motion_name
from catena.formats.urdf.numbers import number, numbers
from catena.joints import Fixed, Helical, JointKind, Prismatic, Revolute, Spherical, Universal
from catena.joints.contract import BALL, FREE, HINGE, SLIDE
from catena.mechanism import GROUND, Joint, JointSpringElement, Mechanism
from catena.mechanism.locking import fixed_where_locked
from catena.spatial import Pose

WORLD = "world"
CLOSED = 1e-12
"""How far apart, in metres and as part of a turn, the two frames of a joint may be that is closed."""
_IDENTITY = Pose()


def write(mechanism: Mechanism, path: Path) -> dict[str, str]:
    """Return the SDF text, and under its ending the text of the side file if there has to be one."""
    lost = NamedParts()
    locked = [joint.name for joint in mechanism.joints.values() if joint.locked]
    mechanism, untold = fixed_where_locked(mechanism)
    if locked:
        lost.add("locks, which are written as fixed joints, of the joints", *locked)
    if untold:
        lost.add("couplings by curves to joints that are locked", *untold)
    writer = _SdfWriter(with_friction_apart(mechanism, lost, (FREE, BALL)), path, lost)
    texts = {"": writer.text()}
    rest = writer.rest()
    if lost:
        warn(f"{path}: SDF has no place for {lost}: save a .toml file to keep that")
    return texts | ({SIDE: rest} if rest else {})


class _SdfWriter:
    """Sorts the joints of a mechanism by how SDF says them, and writes its parts."""

    def __init__(self, mechanism: Mechanism, path: Path, lost: NamedParts) -> None:
        self.mechanism, self.path, self.lost = mechanism, path, lost
        if WORLD in mechanism.bodies:
            raise FormatError(f"{path}: a body is called {WORLD!r}, which is the ground of SDF: rename it")
        branches, cut = grow(mechanism, str(path), _rank)
        self.poses = _poses(mechanism, branches)
        referred = referred_joints(mechanism)
        self.floats: dict[str, str] = {}
        self.plain: list[Joint] = []
        self.split: list[Branch] = []
        self.beside: list[Joint] = []
        for branch in branches:
            joint = branch.joint
            if _type_of(joint.kind):
                self.plain.append(joint)
            elif _floats(joint):
                self.floats[branch.child] = joint.name
            elif _can_split(branch) and joint.name not in referred:
                self.split.append(branch)
            else:
                self.beside.append(joint)
        self.balls: list[Joint] = []
        for joint in cut:
            if _type_of(joint.kind) and self._is_closed(joint):
                self.plain.append(joint)
            elif joint.kind.consists_of(BALL) and joint.name not in referred and _is_bare(joint):
                self.balls.append(joint)
            else:
                self.beside.append(joint)
        said = {joint.name for joint in self.plain if joint.kind.nv == 1}
        self.mimics = mimics_of(mechanism, said)
        self.springs = {
            spring.joint: spring
            for spring in mechanism.springs.values()
            if isinstance(spring, JointSpringElement) and self._says_spring(spring)
        }
        # The order of coordinates is that in which the file has the joints.
        order = {name: k for k, name in enumerate(mechanism.joints)}
        self.plain.sort(key=lambda joint: order[joint.name])

    def text(self) -> str:
        m = self.mechanism
        ground = m.bodies[GROUND]
        if ground.visuals or ground.collisions:
            self.lost.add("the shapes of ground")
        lines: list[str] = []
        for body in m.bodies.values():
            if body.name != GROUND:
                floats = self.floats.get(body.name, "")
                lines += link_lines(body, self.poses[body.name], self.path, self.lost, floats)
        for branch in self.split:
            lines += self._split_lines(branch)
        for joint in self.plain:
            lines += self._joint_lines(joint)
        for joint in self.balls:
            lines += _ball_lines(joint)
        for frame in m.frames.values():
            carrier = WORLD if frame.body == GROUND else frame.body
            head = f"    <frame name={quoted(frame.name)} attached_to={quoted(carrier)}>"
            lines += [head, f"      {pose_text(frame.pose, carrier)}", "    </frame>"]
        model = [f"  <model name={quoted(m.name)}>", *lines, "  </model>"]
        if not np.array_equal(m.gravity, EARTH):
            gravity = f"  <gravity>{numbers(m.gravity)}</gravity>"
            model = ['  <world name="default">', gravity, *model, "  </world>"]
        head = '<sdf version="1.11" xmlns:catena="catena" xmlns:drake="drake.mit.edu">'
        return "\n".join(['<?xml version="1.0"?>', head, *model, "</sdf>\n"])

    def rest(self) -> str:
        """Return the text of the side file, empty if nothing has to be said there."""
        m = self.mechanism
        said = {joint.name for joint in self.plain}
        others = m.without_force([spring.name for spring in self.springs.values()]) if self.springs else m
        free = set(self.floats.values())
        if others.initial.q and set(others.initial.q) <= free and not others.initial.v and not others.states:
            # The poses of the links say it.
            others = others.copy()
            others.set_initial()
        return write_rest(
            others,
            joints=self.beside,
            actuators=[a for a in m.actuators.values() if a.joint not in said or not is_plain_limit(m, a)],
            couplings=[c for c in m.couplings.values() if not is_mimic(c, self.mimics)],
            gravity=False,
            frames=(),
        )

    def _is_closed(self, joint: Joint) -> bool:
        """Return whether the two frames of a joint are one where all joints are at zero."""
        one, other = self.poses[joint.parent] * joint.in_parent, self.poses[joint.child] * joint.in_child
        return bool(np.abs(one.p - other.p).max() < CLOSED and np.abs(one.R - other.R).max() < CLOSED)

    def _says_spring(self, spring: JointSpringElement) -> bool:
        """Return whether a spring is one that an axis may have: linear, without a damper, under the name that it
        gets."""
        joint = self.mechanism.joints[spring.joint]
        is_said = any(one.name == joint.name for one in self.plain) and bool(_axes_of(joint.kind))
        return is_said and spring.name == f"{joint.name} spring" and not spring.damping.any()

    def _joint_lines(self, joint: Joint) -> list[str]:
        kind = joint.kind
        lines = []
        for k, axis in enumerate(_axes_of(kind)):
            lines += self._axis_lines(joint, "axis2" if k else "axis", axis, k)
        if isinstance(kind, Helical):
            lines.append(f"      <screw_thread_pitch>{number(2.0 * pi * kind.pitch)}</screw_thread_pitch>")
        lines += _rotor_lines(joint.armature)
        if kind.consists_of(BALL) and joint.limits is not None and np.isfinite(joint.limits).any():
            self.lost.add("limits of the balls", joint.name)
        return _joint_element(
            joint.name, _type_of(kind), joint.parent, joint.child, joint.in_child, lines, joint.actuated or not kind.nv
        )  # fmt: skip

    def _split_lines(self, branch: Branch) -> list[str]:
        """Return the joints and links without mass that take the place of one joint."""
        assert branch.motions is not None
        joint, lines, parent = branch.joint, [], branch.parent
        place = self.poses[branch.parent] * branch.in_parent
        for k, motion in enumerate(branch.motions):
            name, is_last = motion_name(branch, motion), k == len(branch.motions) - 1
            child = branch.child if is_last else f"{name} frame"
            if not is_last:
                lines += massless_link(child, place)
            word = "prismatic" if motion.type == SLIDE else "revolute"
            own = slice(motion.component, motion.component + 1)
            axis = self._axis_lines(joint, "axis", motion.axis, motion.component)
            axis += _rotor_lines(None if joint.armature is None else joint.armature[own])
            where = branch.in_child if is_last else _IDENTITY
            lines += _joint_element(name, word, parent, child, where, axis, joint.actuated)
            parent = child
        return lines

    def _axis_lines(self, joint: Joint, tag: str, axis: Any, k: int) -> list[str]:
        """Return an axis with its limits, its friction, its spring and the joint that it mimics."""
        m = self.mechanism
        lines = [f"      <{tag}>", f"        <xyz>{numbers(axis)}</xyz>"]
        limit: dict[str, float] = {}
        if joint.limits is not None:
            ends = zip(("lower", "upper"), joint.limits[k], strict=True)
            limit |= {word: x for word, x in ends if np.isfinite(x)}
        motor = m.actuators.get(joint.name)
        if motor is not None and motor.joint == joint.name and is_plain_limit(m, motor):
            limit["effort"] = motor.limits[0, 1]
        if joint.velocity_limit is not None and np.isfinite(joint.velocity_limit[k]):
            limit["velocity"] = joint.velocity_limit[k]
        if joint.load_friction is not None:
            self.lost.add("friction by load of the joints", joint.name)
        if joint.static_friction is not None:
            self.lost.add("friction at rest beyond that of slips of the joints", joint.name)
        if joint.limit_stiffness is not None:
            self.lost.add("elastic stops of the joints", joint.name)
        dynamics = {"damping": joint.damping[k], "friction": joint.friction[k]}
        spring = self.springs.get(joint.name)
        if spring is not None:
            dynamics |= {"spring_stiffness": spring.stiffness[k], "spring_reference": spring.rest[k]}
        for word, content in (("limit", limit), ("dynamics", {key: x for key, x in dynamics.items() if x})):
            if content:
                inner = "".join(f"<{key}>{number(x)}</{key}>" for key, x in content.items())
                lines.append(f"        <{word}>{inner}</{word}>")
        if joint.name in self.mimics and tag == "axis":
            other, multiplier, offset = self.mimics[joint.name]
            inner = f"<multiplier>{number(multiplier)}</multiplier><offset>{number(offset)}</offset>"
            lines.append(f"        <mimic joint={quoted(other)}>{inner}<reference>0</reference></mimic>")
        return [*lines, f"      </{tag}>"]


def _rotor_lines(armature: Any) -> list[str]:
    """Return the inertia of the rotors of a joint, nothing where there are none."""
    if armature is None or not np.any(armature):
        return []
    tag = ROTOR if len(armature) == 1 else ROTORS
    return [f"      <{tag}>{numbers(armature)}</{tag}>"]


def _rank(joint: Joint) -> int:
    """Joints that SDF has go into the tree before those that it can be made to say, and these before the others."""
    if _type_of(joint.kind):
        return 0
    motions = joint.kind.simple_motions
    return 3 if motions is None else 2 if any(one.type == FREE for one in motions) else 1


def _type_of(kind: JointKind) -> str:
    """Return what SDF calls a kind of joint, empty if it has none such."""
    words: dict[type, str] = {
        Revolute: "revolute", Prismatic: "prismatic", Helical: "screw", Universal: "universal", Spherical: "ball",
        Fixed: "fixed",
    }  # fmt: skip
    return words.get(type(kind), "")


def _axes_of(kind: JointKind) -> list[Any]:
    """Return the axes of a kind that SDF has."""
    return list(kind.drawn_along) if _type_of(kind) else []


def _floats(joint: Joint) -> bool:
    """Return whether a joint is that of a link which no joint of the file carries."""
    is_plain = joint.in_parent == _IDENTITY and joint.in_child == _IDENTITY
    return joint.kind.is_floating and joint.parent == GROUND and is_plain and not joint.actuated


def _can_split(branch: Branch) -> bool:
    return bool(branch.motions) and all(one.type in (HINGE, SLIDE) for one in branch.motions or ())


def _is_bare(joint: Joint) -> bool:
    """Return whether a joint is no more than what it holds."""
    numbers_ = (joint.damping, joint.friction, joint.armature, joint.limits)
    return not joint.actuated and not any(x is not None and np.any(x) for x in numbers_)


def _poses(mechanism: Mechanism, branches: list[Branch]) -> dict[str, Pose]:
    """Return where bodies are with all joints at zero, and free ones where motions start."""
    found = {GROUND: _IDENTITY}
    for branch in branches:
        joint, motion = branch.joint, _IDENTITY
        if joint.kind.is_floating:
            start = mechanism.initial.q.get(joint.name, joint.kind.neutral())
            motion = joint.kind.transform(start).pose()
            motion = motion if joint.parent == branch.parent else motion.inverse()
        found[branch.child] = found[branch.parent] * branch.in_parent * motion * branch.in_child.inverse()
    return found


def _joint_element(
    name: str, word: str, parent: str, child: str, place: Pose, lines: list[str], is_driven: bool
) -> list[str]:
    """Return the element of a joint, whose place is told in its child."""
    ends = [WORLD if end == GROUND else end for end in (parent, child)]
    driven = "" if is_driven else f' {ACTUATED}="false"'
    return [
        f'    <joint name={quoted(name)} type="{word}"{driven}>',
        f"      {pose_text(place, ends[1])}",
        f"      <parent>{quoted(ends[0])[1:-1]}</parent>",
        f"      <child>{quoted(ends[1])[1:-1]}</child>",
        *lines,
        "    </joint>",
    ]


def _ball_lines(joint: Joint) -> list[str]:
    """Return the ball constraint of a loop that is open at zero."""
    lines = [f"    <{CONSTRAINT} name={quoted(joint.name)}>"]
    for end, body, point, place in (
        ("body_A", joint.parent, "p_AP", joint.in_parent),
        ("body_B", joint.child, "p_BQ", joint.in_child),
    ):
        link = quoted(WORLD if body == GROUND else body)[1:-1]
        lines.append(f"      <{CONSTRAINT}_{end}>{link}</{CONSTRAINT}_{end}>")
        lines.append(f"      <{CONSTRAINT}_{point}>{numbers(place.p)}</{CONSTRAINT}_{point}>")
    return [*lines, f"    </{CONSTRAINT}>"]
