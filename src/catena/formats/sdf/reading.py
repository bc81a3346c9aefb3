"""Reading a mechanism from SDF: the first model of the file, a graph of links and joints with loops.

A model that no joint ties to the world floats: its first link gets a `Free` joint to ground, with the pose of the file
as its initial position. A static model is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.formats.ball_constraints import BALL, add_ball_constraint
from catena.formats.findings import Severity
from catena.formats.markup import Element, parse
from catena.formats.sdf.joints import add_gearbox, add_mimics, add_sdf_joint
from catena.formats.sdf.link_writing import FLOATS
from catena.formats.sdf.links import add_link
from catena.formats.sdf.poses import Frames, own_pose
from catena.formats.source import Source
from catena.joints import Fixed, Free
from catena.mechanism import GROUND, Mechanism
from catena.spatial import Pose

ROOT_JOINT = "root_joint"
WORLD = "world"
READ = {"link", "joint", "frame", "pose", "static", "self_collide", "plugin", "allow_auto_disable", BALL}


def read(text: str, source: Source) -> Mechanism:
    """Return the mechanism that an SDF text describes."""
    root = parse(text, source.name, source.budget)
    if root.tag not in ("sdf", "gazebo"):
        root.fail(f"the outermost element is <{root.tag}>: an SDF file has <sdf>", "file")
    world = root.first("world")
    models = [*root.all("model"), *(world.all("model") if world is not None else ())]
    if not models:
        root.fail("there is no <model> in it: only models are read", "file")
    if len(models) > 1:
        message = f"there are {len(models)} models: only the first, {models[0].get('name')!r}, is read"
        source.note(Severity.WARNING, "", message, models[1].line, "unread")
    gravity = [0.0, 0.0, -9.81] if world is None else world.values("gravity", 3, (0.0, 0.0, -9.81))
    return _build(models[0], gravity, source)


def _build(model: Element, gravity: list[float], source: Source) -> Mechanism:
    try:
        mechanism = Mechanism(model.get("name").strip() or "model", gravity)
    except CatenaError as error:
        model.refuse(error)
    for tag in ("model", "include"):
        nested = model.first(tag)
        if nested is not None:
            nested.fail(
                f"a <{tag}> inside a model is not supported: write its links and joints into the model"
            )
    links: dict[str, Element] = {}
    for link in model.all("link"):
        name = link.needed("name")
        if name == WORLD and not any(link.first(tag) for tag in ("inertial", "visual", "collision")):
            message = "it is empty and has the name of the world, so it is taken for the world"
            source.note(Severity.NOTE, link.who, message, link.line, WORLD)
            continue
        if name in links or name == WORLD:
            taken = "is that of the world" if name == WORLD else "is taken"
            link.fail(f"the name {taken}: choose a different name")
        links[name] = link
    if not links:
        model.fail("there is no <link> in it: a model has at least one")
    frames = Frames(model, links)
    poses = {name: frames.of(name, link) for name, link in links.items()} | {WORLD: Pose()}
    bodies = {name: f"{GROUND} link" if name == GROUND else name for name in links} | {WORLD: GROUND}
    for name, link in links.items():
        add_link(mechanism, link, bodies[name], source)
    _add_joints(mechanism, model, frames, bodies, poses, source)
    _add_roots(mechanism, model, links, bodies, poses)
    _add_frames(mechanism, model, frames, bodies, poses)
    for child in {child.tag: child for child in model.children if child.tag not in READ}.values():
        source.note(Severity.NOTE, model.who, f"<{child.tag}> is not read", child.line, "unread")
    return mechanism


def _add_joints(mechanism: Mechanism, model: Element, frames: Frames, bodies: Mapping[str, str],
                poses: Mapping[str, Pose], source: Source) -> None:  # fmt: skip
    gearboxes = []
    for joint in model.all("joint"):
        if joint.get("type") == "gearbox":
            gearboxes.append(joint)
            continue
        add_sdf_joint(mechanism, joint, bodies, poses, source, frames.of_joint(joint))
    for joint in gearboxes if source.mimic else ():
        add_gearbox(mechanism, joint, bodies, poses, source)
    for joint in model.all("joint") if source.mimic else ():
        add_mimics(mechanism, joint, source)
    for ball in model.all(BALL):
        add_ball_constraint(mechanism, ball, bodies, source)


def _add_roots(
    mechanism: Mechanism,
    model: Element,
    links: dict[str, Element],
    bodies: Mapping[str, str],
    poses: Mapping[str, Pose],
) -> None:
    """Tie every part of the model that hangs on nothing to ground: free, or fixed in a static model."""
    neighbours: dict[str, list[str]] = {body: [] for body in bodies.values()}
    for joint in mechanism.joints.values():
        neighbours[joint.parent].append(joint.child)
        neighbours[joint.child].append(joint.parent)
    reached: set[str] = set()
    initial: dict[str, Any] = {}
    base = own_pose(model)
    static = model.first("static")
    is_static = static is not None and static.text.strip().lower() in ("1", "true")
    for body, link in ((GROUND, WORLD), *((bodies[name], name) for name in links)):
        if body in reached:
            continue
        open_bodies = [body]
        while open_bodies:
            one = open_bodies.pop()
            if one not in reached:
                reached.add(one)
                open_bodies += neighbours[one]
        if body == GROUND:
            continue
        name = links[link].get(FLOATS).strip() or ROOT_JOINT
        name = name if name not in mechanism.joints else f"{ROOT_JOINT} {body}"
        place = base * poses[link]
        if is_static:
            mechanism.add_joint(name, GROUND, body, Fixed(), in_parent=place)
        else:
            mechanism.add_joint(name, GROUND, body, Free(), actuated=False)
            initial[name] = np.concatenate([place.p, place.quat])
    if initial:
        mechanism.set_initial(q=initial)


def _add_frames(mechanism: Mechanism, model: Element, frames: Frames, bodies: Mapping[str, str],
                poses: Mapping[str, Pose]) -> None:  # fmt: skip
    for frame in model.all("frame"):
        name = frame.needed("name")
        pose = frames.of(name, frame)
        link = frames.body_of(name, frame, bodies)
        if link is None:
            continue
        try:
            mechanism.add_frame(name, bodies[link], poses[link].inverse() * pose)
        except CatenaError as error:
            frame.refuse(error)
