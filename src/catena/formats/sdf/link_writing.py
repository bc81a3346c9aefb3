"""Links of SDF as text: mass, shapes with their colours, and poses."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from catena.formats.findings import NamedParts
from catena.formats.markup import quoted
from catena.formats.shape_files import path_from
from catena.formats.urdf.numbers import number, numbers
from catena.mechanism import Body, Shape
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere
from catena.spatial import Pose

FLOATS = "catena:floats"
"""The attribute of a link that has the name of its free joint, for which SDF has no element."""


def link_lines(body: Body, pose: Pose, path: Path, lost: NamedParts, floats: str = "") -> list[str]:
    """Return the element of a body that stands at a pose in the model; `floats` is the name of the free joint that
    carries it. A body without mass says so, because SDF gives 1 kg to links that say nothing."""
    free = f" {FLOATS}={quoted(floats)}" if floats else ""
    lines = [f"    <link name={quoted(body.name)}{free}>", f"      {pose_text(pose)}", *_inertial(body)]
    if body.flexible is not None:
        lost.add("modes of flexible bodies, which are written as rigid ones,", body.name)
    for tag, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        taken: set[str] = set()
        for k, shape in enumerate(shapes):
            name = shape.name or f"{tag} {k + 1}"
            while name in taken:
                name += "'"
            taken.add(name)
            lines += _shape(tag, name, shape, path)
    return [*lines, "    </link>"]


def massless_link(name: str, pose: Pose) -> list[str]:
    """Return the element of a link that stands between two motions of one joint."""
    nothing = Body(name, 0.0, np.zeros(3), np.zeros((3, 3)))
    return [
        f"    <link name={quoted(name)}>",
        f"      {pose_text(pose)}",
        *_inertial(nothing),
        "    </link>",
    ]


def pose_text(pose: Pose, relative_to: str = "") -> str:
    """Return the element of a pose, to the last digit: with a quaternion unless nothing is turned."""
    frame = f" relative_to={quoted(relative_to)}" if relative_to else ""
    if np.array_equal(pose.R, np.eye(3)):
        return f"<pose{frame}>{numbers(pose.p)} 0 0 0</pose>"
    w, x, y, z = pose.quat
    return f'<pose{frame} rotation_format="quat_xyzw">{numbers((*pose.p, x, y, z, w))}</pose>'


def _inertial(body: Body) -> list[str]:
    words = ((0, 0, "ixx"), (0, 1, "ixy"), (0, 2, "ixz"), (1, 1, "iyy"), (1, 2, "iyz"), (2, 2, "izz"))
    entries = "".join(f"<{word}>{number(body.inertia[i, j])}</{word}>" for i, j, word in words)
    centre = [f"        {pose_text(Pose(p=body.com))}"] if body.com.any() else []
    return [
        "      <inertial>",
        *centre,
        f"        <mass>{number(body.mass)}</mass>",
        f"        <inertia>{entries}</inertia>",
        "      </inertial>",
    ]


def _shape(tag: str, name: str, shape: Shape, path: Path) -> list[str]:
    lines = [f"      <{tag} name={quoted(name)}>", f"        {pose_text(shape.pose)}"]
    lines.append(f"        <geometry>{_form(shape, path)}</geometry>")
    if shape.colour is not None:
        lines.append(f"        <material><diffuse>{numbers(shape.colour)}</diffuse></material>")
    return [*lines, f"      </{tag}>"]


def _form(shape: Shape, path: Path) -> str:
    if isinstance(shape, Box):
        return f"<box><size>{numbers(shape.size)}</size></box>"
    if isinstance(shape, Sphere):
        return f"<sphere><radius>{number(shape.radius)}</radius></sphere>"
    if isinstance(shape, Ellipsoid):
        return f"<ellipsoid><radii>{numbers(shape.radii)}</radii></ellipsoid>"
    if isinstance(shape, Cylinder | Capsule):
        word = "cylinder" if isinstance(shape, Cylinder) else "capsule"
        size = f"<radius>{number(shape.radius)}</radius><length>{number(shape.length)}</length>"
        return f"<{word}>{size}</{word}>"
    assert isinstance(shape, Mesh)
    file = quoted(path_from(shape, path.absolute().parent))[1:-1]
    return f"<mesh><uri>{file}</uri><scale>{numbers(shape.scale)}</scale></mesh>"
