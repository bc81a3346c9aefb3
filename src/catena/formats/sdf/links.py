"""Links of an SDF model: mass, and shapes with their colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import CatenaError
from catena.formats.findings import Severity
from catena.formats.markup import Element
from catena.formats.sdf.poses import own_pose
from catena.formats.shape_files import make_mesh, make_shape, readable
from catena.formats.source import Source
from catena.mechanism import Mechanism, Shape
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere


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
    """The shape of a <visual> or <collision>, None if its geometry is not known."""
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
