"""Links of a URDF file: mass, and shapes with their colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.formats.findings import Severity
from catena.formats.markup import Element, ElementFault
from catena.formats.shape_files import make_mesh, make_shape, readable
from catena.formats.source import Source
from catena.mechanism import Mechanism, Shape
from catena.mechanism.shapes import Box, Capsule, Cylinder, Sphere
from catena.spatial import Pose

Colours = dict[str, Any]
IDENTITY = Pose()


def origin(element: Element | None) -> Pose:
    """Return the pose that the <origin> inside an element tells."""
    place = None if element is None else element.first("origin")
    return IDENTITY if place is None else pose_of(place)


def pose_of(element: Element) -> Pose:
    """Return the pose of the attributes xyz and rpy (or quat_xyzw) of an element."""
    p = element.numbers("xyz", 3, (0.0, 0.0, 0.0))
    try:
        if "quat_xyzw" in element.attributes:
            x, y, z, w = element.numbers("quat_xyzw", 4)
            return Pose(p=p, quat=(w, x, y, z))
        rpy = element.numbers("rpy", 3, (0.0, 0.0, 0.0))
        return Pose(p=p, rpy=rpy) if any(rpy) else Pose(p=p)
    except CatenaError as error:
        element.refuse(error)


def colours(robot: Element, source: Source) -> Colours:
    """Return the colours of the materials that stand outside of links, by name; what is no colour is told."""
    found = {}
    for material in robot.all("material"):
        colour = material.first("color")
        if colour is None:
            continue
        try:
            found[material.get("name")] = _rgba(colour)
        except ElementFault as fault:
            source.note(Severity.WARNING, material.who, f"{fault.message}: left out", fault.line, "shape")
    return found


def add_link(mechanism: Mechanism, link: Element, name: str, source: Source, palette: Colours) -> None:
    """Add the body of a link."""
    who = f"link {name!r}"
    options = mass_properties(link)
    options |= {
        "visuals": _shapes(link, "visual", who, source, palette),
        "collisions": _shapes(link, "collision", who, source, palette),
    }
    try:
        mechanism.add_body(name, physical=False, **options)
    except CatenaError as error:
        link.refuse(error, who if str(error).startswith(who) else f"body {name!r}")
    source.places["body", name] = link.line


def add_ground_shapes(mechanism: Mechanism, link: Element, source: Source, palette: Colours) -> None:
    """Give ground the shapes of the link that stands for it."""
    who = f"link {link.get('name')!r}"
    mechanism.add_visual("ground", *_shapes(link, "visual", who, source, palette))
    mechanism.add_collision("ground", *_shapes(link, "collision", who, source, palette))


def mass_properties(link: Element) -> dict[str, Any]:
    """Return the mass, mass centre and inertia of a link; nothing of a link without <inertial>."""
    inertial = link.first("inertial")
    if inertial is None:
        return {}
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    place = origin(inertial)
    found: dict[str, Any] = {
        "mass": 0.0 if mass is None else mass.number("value", 0.0),
        "com": place.p,
    }
    if inertia is not None:
        xx, xy, xz, yy, yz, zz = (
            inertia.number(f"i{axes}", 0.0) for axes in ("xx", "xy", "xz", "yy", "yz", "zz")
        )
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if place.R is not IDENTITY.R and not np.array_equal(place.R, IDENTITY.R):
            matrix = place.R @ matrix @ place.R.T
            matrix = 0.5 * (matrix + matrix.T)
        found["inertia"] = matrix
    return found


def _shapes(link: Element, tag: str, who: str, source: Source, palette: Colours) -> list[Shape]:
    called = f"{who}: {tag}"
    return readable(link.all(tag), lambda one: _shape(one, called, source, palette), called, source)


def _shape(element: Element, who: str, source: Source, palette: Colours) -> Shape | None:
    """Return the shape of a <visual> or <collision>, None if its geometry is not known."""
    geometry = element.first("geometry")
    if geometry is None or not geometry.children:
        element.fail("there is no <geometry> with a shape in it", who)
    common: dict[str, Any] = {"pose": origin(element), "colour": _colour(element, palette)}
    common["name"] = element.get("name")
    form = geometry.children[0]
    if form.tag == "box":
        return make_shape(form, who, Box, size=form.numbers("size", 3), **common)
    if form.tag == "sphere":
        return make_shape(form, who, Sphere, radius=form.number("radius"), **common)
    if form.tag in ("cylinder", "capsule"):
        made = Cylinder if form.tag == "cylinder" else Capsule
        return make_shape(
            form, who, made, radius=form.number("radius"), length=form.number("length"), **common
        )
    if form.tag == "mesh":
        scale = form.numbers("scale", 3, (1.0, 1.0, 1.0))
        return make_mesh(form, who, source, form.needed("filename"), scale=scale, **common)
    source.note(
        Severity.WARNING, who, f"the shape <{form.tag}> is not known and left out", form.line, "shape"
    )
    return None


def _colour(element: Element, palette: Colours) -> Any:
    material = element.first("material")
    if material is None:
        return None
    colour = material.first("color")
    if colour is None:
        return palette.get(material.get("name"))
    rgba = _rgba(colour)
    # A material with a name may be used again by that name.
    palette.setdefault(material.get("name"), rgba)
    return rgba


def _rgba(colour: Element) -> tuple[float, ...]:
    """Four numbers; what lies outside of 0 to 1 is moved there, because exporters write such things."""
    return tuple(min(max(x, 0.0), 1.0) for x in colour.numbers("rgba", 4))
