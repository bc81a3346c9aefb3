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
from catena.formats.sdf.poses import Frames, own_pose
from catena.formats.shape_files import make_mesh, make_shape, readable
from catena.formats.source import Source
from catena.joints import Fixed, Free
from catena.mechanism import GROUND, Mechanism, Shape
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
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


def add_link(mechanism: Mechanism, link: Element, name: str, source: Source) -> None:
    """Add the body of a link. SDF gives a link without <inertial> the mass 1; that is not taken over, but told."""
    who = f"link {link.get('name')!r}"
    options = {
        "visuals": _shapes(link, "visual", who, source),
        "collisions": _shapes(link, "collision", who, source),
        **_mass_properties(link, who, source),
    }
    try:
        mechanism.add_body(name, physical=False, **options)
    except CatenaError as error:
        link.refuse(error, f"body {name!r}")
    source.places["body", name] = link.line


def _mass_properties(link: Element, who: str, source: Source) -> dict[str, Any]:
    inertial = link.first("inertial")
    if inertial is None:
        message = "there is no <inertial>, for which SDF means a mass of 1 kg and an inertia of 1 kg m^2"
        source.note(Severity.WARNING, who, message, link.line, "mass")
        return {"mass": 1.0, "inertia": 1.0}
    place = own_pose(inertial)
    found: dict[str, Any] = {"mass": inertial.value("mass", 1.0), "com": place.p}
    inertia = inertial.first("inertia")
    entries = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    if inertia is not None:
        words = ("xx", "xy", "xz", "yy", "yz", "zz")
        entries = [inertia.value(f"i{axes}", default) for axes, default in zip(words, entries)]
    xx, xy, xz, yy, yz, zz = entries
    matrix = place.R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ place.R.T
    found["inertia"] = 0.5 * (matrix + matrix.T)
    return found


def _shapes(link: Element, tag: str, who: str, source: Source) -> list[Shape]:
    def read(element: Element) -> Shape | None:
        return _shape(element, f"{who}: {tag} {element.get('name')!r}", source)

    return readable(link.all(tag), read, f"{who}: {tag}", source)


def _shape(element: Element, who: str, source: Source) -> Shape | None:
    """Return the shape of a <visual> or <collision>, None if its geometry is not known."""
    geometry = element.first("geometry")
    if geometry is None or not geometry.children:
        source.note(Severity.NOTE, who, "there is no shape in it", element.line, "shape")
        return None
    common: dict[str, Any] = {
        "pose": own_pose(element),
        "name": element.get("name"),
        "colour": _colour(element),
    }
    form = geometry.children[0]
    if form.tag == "box":
        return make_shape(form, who, Box, size=form.values("size", 3), **common)
    if form.tag == "sphere":
        return make_shape(form, who, Sphere, radius=form.value("radius"), **common)
    if form.tag == "ellipsoid":
        return make_shape(form, who, Ellipsoid, radii=form.values("radii", 3), **common)
    if form.tag in ("cylinder", "capsule"):
        made = Cylinder if form.tag == "cylinder" else Capsule
        return make_shape(form, who, made, radius=form.value("radius"), length=form.value("length"), **common)
    if form.tag == "mesh":
        uri = form.first("uri")
        if uri is None:
            form.fail("there is no <uri> in it", who)
        return make_mesh(
            form, who, source, uri.content(), scale=form.values("scale", 3, (1.0,) * 3), **common
        )
    source.note(
        Severity.WARNING, who, f"the shape <{form.tag}> is not known and left out", form.line, "shape"
    )
    return None


def _colour(element: Element) -> Any:
    material = element.first("material")
    if material is None:
        return None
    for tag in ("diffuse", "ambient"):
        child = material.first(tag)
        numbers = [] if child is None else child.text.split()
        if child is not None and len(numbers) in (3, 4):
            return tuple(min(max(x, 0.0), 1.0) for x in material.values(tag, len(numbers)))
    return None
