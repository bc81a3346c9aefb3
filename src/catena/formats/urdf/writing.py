"""Writing a mechanism as URDF: a tree of links, and a side file for everything that URDF cannot say.

A link has its frame where its joint is, so a body whose joint is elsewhere gets a massless link in between. Joints of
several freedoms become several joints with massless links between them. Loops, frames, springs, forces, couplings that
are no mimic joints, and the initial state go to the side file, which `load` reads with the other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from catena.errors import warn
from catena.formats.findings import NamedParts
from catena.formats.markup import quoted
from catena.formats.shape_files import path_from
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
from catena.formats.urdf.companion import Companion
from catena.formats.urdf.joints import UNLIMITED
from catena.formats.urdf.loop_elements import WAYS, WORLD
from catena.formats.urdf.numbers import number, numbers, origin
from catena.joints.contract import BALL, FREE, HINGE, SimpleMotion
from catena.mechanism import GROUND, Body, Joint, Mechanism, Shape
from catena.mechanism.locking import fixed_where_locked
from catena.mechanism.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from catena.spatial import Pose


def write(mechanism: Mechanism, path: Path, loops: str = "beside") -> dict[str, str]:
    """Return the URDF text, and under its ending the text of the side file if there has to be one. `loops` is the way
    in which loops are said: a word of `WAYS`, "companion", or "beside" for the side file alone."""
    lost = NamedParts()
    locked = [joint.name for joint in mechanism.joints.values() if joint.locked]
    mechanism, untold = fixed_where_locked(mechanism)
    if locked:
        lost.add("locks, which are written as fixed joints, of the joints", *locked)
    if untold:
        lost.add("couplings by curves to joints that are locked", *untold)
    mechanism = with_friction_apart(mechanism, lost)
    branches, cut = grow(mechanism, str(path), _rank)
    companion = Companion(mechanism, str(path), lost) if loops == "companion" else None
    referred = referred_joints(mechanism)
    if companion is None:
        # A joint that URDF does not know floats in the tree, and the side file has what it really is.
        branches = [_tellable(branch, referred) for branch in branches]
    else:
        branches, cut = [*map(companion.as_written, branches), *companion.closed(cut)], []
    unsaid = [branch.joint for branch in branches if branch.motions is None]
    root = _bare_root(mechanism, branches)
    lines = ['<?xml version="1.0"?>', f"<robot name={quoted(mechanism.name)}>"]
    if root is None:
        lines += _link(mechanism.bodies[GROUND], WORLD, path, lost)
    for body in mechanism.bodies.values():
        if body.name != GROUND:
            lines += _link(body, body.name, path, lost)
    lines += [] if companion is None else companion.links
    said = {branch.joint.name for branch in branches if branch.motions}
    mimics = mimics_of(mechanism, said)
    for branch in branches:
        if branch.child != root:
            lines += _joints(mechanism, branch, mimics, lost)
    way = WAYS.get(loops)
    sayable = [joint for joint in cut if way is not None and way.says(joint) and joint.name not in referred]
    for joint in sayable:
        lines += [] if way is None else way.lines(joint)
    lines.append("</robot>\n")
    texts = {"": "\n".join(lines)}
    if companion is None:
        rest = _rest(
            mechanism, [*unsaid, *(joint for joint in cut if joint not in sayable)], branches, mimics
        )
        texts |= {SIDE: rest} if rest else {}
    else:
        _lose_the_rest(mechanism, branches, mimics, lost)
        texts[".yaml"] = companion.text(branches)
    if lost:
        warn(f"{path}: URDF has no place for {lost}: save a .toml file to keep that")
    return texts


def _lose_the_rest(
    mechanism: Mechanism, branches: list[Branch], mimics: dict[str, Any], lost: NamedParts
) -> None:
    """Name what a side file would have, which is not read where there is a companion."""
    if not np.array_equal(mechanism.gravity, EARTH):
        lost.add("gravity other than that of the Earth")
    said = {branch.joint.name for branch in branches}
    motors = [
        a for a in mechanism.actuators.values() if a.joint not in said or not is_plain_limit(mechanism, a)
    ]
    couplings = [c for c in mechanism.couplings.values() if not is_mimic(c, mimics)]
    forces = (*mechanism.springs, *mechanism.wrenches, *mechanism.forces)
    for words, names in (
        ("the frames", list(mechanism.frames)),
        ("the forces", list(forces)),
        ("the actuators", [one.name for one in motors]),
        ("the couplings", [one.name for one in couplings]),
        ("the initial state of the joints", [*{**mechanism.initial.q, **mechanism.initial.v}]),
    ):
        if names:
            lost.add(words, *names)


def _rank(joint: Joint) -> int:
    """Joints that URDF can say go into the tree before those that it cannot."""
    motions = joint.kind.simple_motions
    return 1 if motions is None or any(one.type in (BALL, FREE) for one in motions) else 0


def _tellable(branch: Branch, referred: set[str]) -> Branch:
    """Return a branch whose motions are None unless URDF can say them."""
    motions = branch.motions
    if motions is None or any(one.type == BALL for one in motions):
        return replace(branch, motions=None)
    joint = branch.joint
    is_split = len(motions) > 1
    # A free joint has other coordinates when it is seen from its child.
    is_turned = joint.parent != branch.parent and any(one.type == FREE for one in motions)
    return replace(branch, motions=None) if joint.name in referred and (is_split or is_turned) else branch


def _bare_root(mechanism: Mechanism, branches: list[Branch]) -> str | None:
    """Return the body that is the root link itself, because nothing but a plain fixed joint ties it to ground."""
    at_ground = [branch for branch in branches if branch.parent == GROUND]
    ground = mechanism.bodies[GROUND]
    used = any(frame.body == GROUND for frame in mechanism.frames.values())
    named = any(GROUND in (joint.parent, joint.child) for joint in mechanism.joints.values() if joint.dof)
    if len(at_ground) != 1 or ground.visuals or ground.collisions or used or named:
        return None
    (branch,) = at_ground
    plain = branch.motions == () and branch.in_parent == Pose() and branch.in_child == Pose()
    return branch.child if plain else None


def _link(body: Body, name: str, path: Path, lost: NamedParts) -> list[str]:
    lines = []
    if body.flexible is not None:
        lost.add("modes of flexible bodies, which are written as rigid ones,", body.name)
    if body.mass or body.inertia.any():
        words = ((0, 0, "ixx"), (0, 1, "ixy"), (0, 2, "ixz"), (1, 1, "iyy"), (1, 2, "iyz"), (2, 2, "izz"))
        entries = " ".join(f'{word}="{number(body.inertia[i, j])}"' for i, j, word in words)
        lines += ["    <inertial>", f"      {origin(Pose(p=body.com))}"]
        lines += [
            f'      <mass value="{number(body.mass)}"/>',
            f"      <inertia {entries}/>",
            "    </inertial>",
        ]
    for tag, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        for shape in shapes:
            lines += _shape(tag, shape, path, lost)
    if not lines:
        return [f"  <link name={quoted(name)}/>"]
    return [f"  <link name={quoted(name)}>", *lines, "  </link>"]


def _shape(tag: str, shape: Shape, path: Path, lost: NamedParts) -> list[str]:
    if isinstance(shape, Box):
        form = f'<box size="{numbers(shape.size)}"/>'
    elif isinstance(shape, Sphere):
        form = f'<sphere radius="{number(shape.radius)}"/>'
    elif isinstance(shape, Cylinder | Capsule):
        word = "cylinder" if isinstance(shape, Cylinder) else "capsule"
        form = f'<{word} radius="{number(shape.radius)}" length="{number(shape.length)}"/>'
    elif isinstance(shape, Mesh):
        name = quoted(path_from(shape, path.absolute().parent))
        form = f'<mesh filename={name} scale="{numbers(shape.scale)}"/>'
    else:
        lost.add("ellipsoids")
        return []
    name = f" name={quoted(shape.name)}" if shape.name else ""
    lines = [f"    <{tag}{name}>", f"      {origin(shape.pose)}", f"      <geometry>{form}</geometry>"]
    if shape.colour is not None and tag == "visual":
        lines.append(f'      <material name=""><color rgba="{numbers(shape.colour)}"/></material>')
    elif shape.colour is not None:
        lost.add("colours of collision shapes")
    return [*lines, f"    </{tag}>"]


def _joints(mechanism: Mechanism, branch: Branch, mimics: dict[str, Any], lost: NamedParts) -> list[str]:
    """Return the joints and massless links that take the place of one joint."""
    joint = branch.joint
    motions = branch.motions
    is_unknown = motions is None
    if motions is None:
        # The joint itself is in the side file under its own name.
        motions = (SimpleMotion(FREE, np.zeros(3), 0),)
    parent = WORLD if branch.parent == GROUND else branch.parent
    steps: list[SimpleMotion | None] = [*motions] or [None]
    lines: list[str] = []
    place = branch.in_parent
    plain = branch.in_child == Pose()
    for k, motion in enumerate(steps):
        is_last = k == len(steps) - 1
        name = joint.name if motion is None else motion_name(branch, motion)
        if is_unknown:
            name = f"{joint.name} floats"
        child = branch.child if is_last and plain else f"{name} frame"
        if not (is_last and plain):
            lines.append(f"  <link name={quoted(child)}/>")
        lines += _joint(mechanism, branch, motion, name, parent, child, place, mimics, lost)
        parent, place = child, Pose()
    if not plain:
        mount = [
            f'  <joint name={quoted(f"{branch.child} mount")} type="fixed">',
            f"    {origin(branch.in_child.inverse())}",
        ]
        lines += [*mount, *_ends(parent, branch.child), "  </joint>"]
    return lines


def _joint(mechanism: Mechanism, branch: Branch, motion: SimpleMotion | None, name: str, parent: str, child: str,
           place: Pose, mimics: dict[str, Any], lost: NamedParts) -> list[str]:  # fmt: skip
    joint = branch.joint
    types = {None: "fixed", FREE: "floating", HINGE: "continuous"}
    word = types.get(None if motion is None else motion.type, "prismatic")
    component = 0 if motion is None else motion.component
    range_ = None if motion is None or joint.limits is None else joint.limits[component]
    # Nobody expects a mimic joint or a floating one to be driven, and of all others everybody does.
    follows = joint.name in mimics
    is_expected = motion is None or motion.type == FREE or joint.actuated != follows
    if word == "continuous" and range_ is not None and np.isfinite(range_).any():
        word = "revolute"
    actuated = "" if is_expected else f' actuated="{str(joint.actuated).lower()}"'
    lines = [
        f'  <joint name={quoted(name)} type="{word}"{actuated}>',
        f"    {origin(place)}",
        *_ends(parent, child),
    ]
    if word not in ("fixed", "floating") and motion is not None:
        lines.append(f'    <axis xyz="{numbers(motion.axis)}"/>')
        lines += _limit(mechanism, joint, component, word, range_)
        damping, friction = joint.damping[component], joint.friction[component]
        armature = 0.0 if joint.armature is None else joint.armature[component]
        if damping or friction or armature:
            more = f' armature="{number(armature)}"' if armature else ""
            lines.append(f'    <dynamics damping="{number(damping)}" friction="{number(friction)}"{more}/>')
        if joint.load_friction is not None:
            lost.add("friction by load of the joints", joint.name)
        if joint.static_friction is not None:
            lost.add("friction at rest beyond that of slips of the joints", joint.name)
        if joint.limit_stiffness is not None:
            lost.add("elastic stops of the joints", joint.name)
    if joint.name in mimics:
        other, multiplier, offset = mimics[joint.name]
        attributes = f'multiplier="{number(multiplier)}" offset="{number(offset)}"'
        lines.append(f"    <mimic joint={quoted(other)} {attributes}/>")
    return [*lines, "  </joint>"]


def _limit(mechanism: Mechanism, joint: Joint, component: int, word: str, range_: Any) -> list[str]:
    """Return the limits of position, speed and effort; revolute and prismatic joints must have an element for them."""
    limits: dict[str, float] = {}
    if range_ is not None or word == "prismatic":
        low, high = (-np.inf, np.inf) if range_ is None else range_
        limits |= {"lower": max(low, -UNLIMITED), "upper": min(high, UNLIMITED)}
    motor = mechanism.actuators.get(joint.name)
    effort = motor.limits[0, 1] if motor is not None and is_plain_limit(mechanism, motor) else 0.0
    speed = np.inf if joint.velocity_limit is None else joint.velocity_limit[component]
    limits |= {"effort": effort, "velocity": speed if np.isfinite(speed) else 0.0}
    if word == "continuous" and not effort and not np.isfinite(speed):
        return []
    return ["    <limit " + " ".join(f'{key}="{number(x)}"' for key, x in limits.items()) + "/>"]


def _rest(mechanism: Mechanism, joints: list[Joint], branches: list[Branch], mimics: dict[str, Any]) -> str:
    """Return the text of the side file, empty if nothing has to be said there."""
    motors = mechanism.actuators.values()
    said = {branch.joint.name for branch in branches if branch.motions}
    return write_rest(
        mechanism,
        joints=joints,
        actuators=[a for a in motors if a.joint not in said or not is_plain_limit(mechanism, a)],
        couplings=[c for c in mechanism.couplings.values() if not is_mimic(c, mimics)],
        gravity=not np.array_equal(mechanism.gravity, EARTH),
    )


def _ends(parent: str, child: str) -> list[str]:
    return [f"    <parent link={quoted(parent)}/>", f"    <child link={quoted(child)}/>"]
