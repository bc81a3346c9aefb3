"""What a body looks like: the shapes that a mechanism gives it, or a solid around the joints and frames it carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from catena.errors import CatenaError, warn
from catena.mechanism import Body, Mechanism, shapes
from catena.view import theme
from catena.view.sites import Site
from catena.view.solids import (
    BallSolid,
    BarSolid,
    BoxSolid,
    CylinderSolid,
    MeshSolid,
    Solid,
    Triangles,
    ball,
    box,
    cylinder,
    rounded_hull,
    tapered_bar,
)

if TYPE_CHECKING:
    from catena.formats.meshes import MeshFile

Floats = NDArray[np.float64]

# A body is flat below this part of its length. A block of this many times the size of what it carries is none.
FLAT, LARGE = 0.02, 1.9


NO_LARGER = 3.5
"""How far [radii of bars] the corners of a block are from its joints that these hide."""


def carried_points(
    mechanism: Mechanism, body: str, poses: Mapping[str, Floats], sites: Mapping[str, Site]
) -> list[Floats]:
    """Return the points (3,) a body reaches: its joints, the one that carries it first, then its frames.

    A `Free` joint touches nothing, so it does not count.
    """
    own = [site for site in sites.values() if body in (site.joint.parent, site.joint.child)]
    own.sort(key=lambda site: site.joint.child != body)
    points = []
    for site in own:
        if site.form == "none":
            continue
        is_open_here = site.gap > 0.0 and site.joint.child == body
        points.append(site.on_child[:3, 3] if is_open_here or site.is_pulled_out(body) else site.point)
        # A slide that is pulled out shows how far: the child reaches to its side of the joint as well.
        if site.joint.child == body and site.joint.kind.nv > 1:
            points.append(site.on_child[:3, 3])
    points += [poses[name][:3, 3] for name, frame in mechanism.frames.items() if frame.body == body]
    return points


def distinct(points: Sequence[Floats], closest: float) -> list[Floats]:
    """Return the points without those nearer than `closest` to an earlier one."""
    kept: list[Floats] = []
    for point in points:
        if all(np.linalg.norm(point - other) > closest for other in kept):
            kept.append(point)
    return kept


def body_outline(
    body: Body, pose: Floats, points: Sequence[Floats], sites: Sequence[Site], r: float, extent: float
) -> list[Solid]:
    """Return the solids of a body: a bar of radius `r` between two joints, else a block with bars to its joints.

    The block is the uniform box with the mass and inertia of the body, where that is of a likely size: so a
    rod has its full length, and a platform or torso its bulk. Otherwise it is the hull of what the body
    carries. A body on one hinge that spins about its own axis is a disc.
    """
    centre = pose[:3, :3] @ body.com + pose[:3, 3]
    ends = distinct(points, 0.8 * r)
    holding = [site for site in sites if site.form != "none"]
    if len(holding) == 1 and len(ends) < 2 and holding[0].joint.kind.drawn_as == "hinge":
        wheel = _wheel(body, pose, centre, holding[0].point, holding[0].axis, r)
        if wheel:
            return wheel
    slide = next((site for site in holding if site.is_pulled_out(body.name)), None)
    if slide and len(ends) == 1 and len(holding) > 1:
        others = [site for site in holding if site is not slide]
        return [_slider(body, pose, ends[0], slide, others, r)]
    if len(ends) == 2 and len(holding) > 1 and _distance_to_bars(np.array(ends), centre) < 2.0 * r:
        return [tapered_bar(ends[0], ends[1], 1.1 * r, 0.85 * r)]
    if body.mass > 0.0 and (len(ends) < 2 or _distance_to_bars(np.array(ends), centre) > 1.5 * r):
        ends = distinct([*ends, centre], 0.8 * r)
    block = _likely_box(body, pose, centre, ends, r, extent, len(holding))
    if (
        len(holding) > 1
        and len(ends) == 1
        and np.all(np.linalg.norm(block - ends[0], axis=1) < NO_LARGER * r)
    ):
        # What is about as large as the joints at its one place would come out of them here and there.
        return [ball(ends[0], 1.2 * r)]
    if len(block):
        solids = [rounded_hull(block, 0.7 * r)]
        for end in ends:
            nearest = _nearest_in_box(end, block)
            if np.linalg.norm(end - nearest) > 1.2 * r:
                solids.append(tapered_bar(nearest, end, r, 0.85 * r))
        return solids
    cloud = np.array(ends) if ends else np.array([centre])
    if len(cloud) == 1:
        return [ball(cloud[0], 2.2 * r)]
    spread = np.linalg.svd(cloud - cloud.mean(axis=0), compute_uv=False)
    if len(cloud) == 2 or spread[1] < 0.5 * r:
        far = int(np.argmax(np.linalg.norm(cloud - cloud[0], axis=1)))
        other = int(np.argmax(np.linalg.norm(cloud - cloud[far], axis=1)))
        return [tapered_bar(cloud[other], cloud[far], 1.1 * r, 0.85 * r)]
    return [rounded_hull(cloud, 0.7 * r)]


def _likely_box(
    body: Body, pose: Floats, centre: Floats, ends: Sequence[Floats], r: float, extent: float, joints: int
) -> Floats:
    """Return the corners (8, 3) of the uniform box with the mass and inertia of a body, drawn in by the rounding.

    Nothing (0, 3) for a body without mass, and where the box is much larger than what the body carries or hides all
    of it deep inside, which means that the inertia is not that of a solid of this size.
    """
    none = np.zeros((0, 3))
    if body.mass == 0.0:
        return none
    moments, axes = np.linalg.eigh(body.inertia)
    squared = 6.0 * (moments.sum() - 2.0 * moments) / body.mass
    size = np.sqrt(np.maximum(squared, 0.0))
    span = float(np.linalg.norm(np.ptp(np.array(ends), axis=0))) if len(ends) > 1 else 0.0
    # A body that carries nothing away from its mass centre has only the whole mechanism to be compared with.
    largest = 3.0 * span if span > 0.0 else 1.5 * extent
    if np.linalg.norm(size) > largest or not np.any(size > r):
        return none
    thin, middle, long = np.sort(size)
    # Where only the moment across the plane was given, as for plane mechanisms, the box is a square plate that says
    # nothing of the shape; between joints their hull says more.
    if joints > 1 and thin < 0.25 * long and middle > 0.8 * long:
        return none
    # Bars without thickness make a plate between their joints, not the box that has their inertia.
    if thin < FLAT * long and len(ends) > 2 and not _is_line(np.array(ends), r):
        return none
    # Inertias are often numbers for want of better ones. A block that is larger than all it carries would hide the
    # rest, and says less than a plate between its joints.
    if joints > 2 and np.linalg.norm(size) > LARGE * span:
        return none
    inside = 0.5 * size - np.abs((np.array(ends).reshape(-1, 3) - centre) @ (pose[:3, :3] @ axes))
    # The mass centre itself may be one of the points, and is always inside.
    away = np.linalg.norm(np.array(ends).reshape(-1, 3) - centre, axis=1) > r
    depth = inside.min(axis=1)[away] / r
    # What lies deep inside is not seen, and neither are joints that all lie a little inside.
    if np.sum(depth > 3.0) > 1 or (len(depth) > 2 and np.all(depth > 1.0)):
        return none
    half = np.maximum(0.5 * size - 0.7 * r, 0.0)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    return centre + (signs * half) @ (pose[:3, :3] @ axes).T


def _is_line(points: Floats, r: float) -> bool:
    """Return whether points (n, 3) lie on a line, up to the radius of a bar."""
    return bool(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] < r)


def _nearest_in_box(p: Floats, corners: Floats) -> Floats:
    """Return the point nearest to p (3,) in the box with these corners (8, 3)."""
    nearest = corners.mean(axis=0)
    middle = nearest
    for edge in (corners[4] - corners[0], corners[2] - corners[0], corners[1] - corners[0]):
        squared = float(edge @ edge)
        if squared > 0.0:
            nearest = nearest + edge * np.clip((p - middle) @ edge / squared, -0.5, 0.5)
    return nearest


def _distance_to_bars(points: Floats, p: Floats) -> float:
    """Return how far a point is from the nearest line between two of the points (n, 3)."""
    nearest = np.inf
    for i, a in enumerate(points):
        for b in points[i + 1 :]:
            along = float(np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0))
            nearest = min(nearest, float(np.linalg.norm(p - a - along * (b - a))))
    return nearest


def _slider(body: Body, pose: Floats, place: Floats, slide: Site, others: Sequence[Site], r: float) -> Solid:
    """Return a block along a slide, about as long and high as the box with the mass and inertia of the body, but
    thinner than the hinge that it carries is long, so that this is seen."""
    along = slide.axis
    axes = [site.axis for site in others if site.joint.kind.drawn_as == "hinge"]
    across = next((axis for axis in axes if abs(axis @ along) < 0.5), np.roll(along, 1))
    side = np.cross(across, along)
    side = side / np.linalg.norm(side)
    R = np.column_stack([np.cross(side, along), side, along])
    inertia = pose[:3, :3] @ body.inertia @ pose[:3, :3].T
    squared = [
        6.0 * (np.trace(inertia) - 2.0 * d @ inertia @ d) / max(body.mass, 1e-300) for d in (side, along)
    ]
    high, long = np.clip(np.sqrt(np.maximum(squared, 0.0)), (3.6 * r, 6.0 * r), (8.0 * r, 12.0 * r))
    return box(place, R, (2.0 * r, high, long))


def _wheel(body: Body, pose: Floats, centre: Floats, hinge: Floats, axis: Floats, r: float) -> list[Solid]:
    """Return a uniform disc with the mass and inertia of the body, if that is flat and spins about its own axis."""
    away = centre - hinge
    if body.mass == 0.0 or np.linalg.norm(away - axis * (away @ axis)) > 0.5 * r:
        return []
    inertia = pose[:3, :3] @ body.inertia @ pose[:3, :3].T
    along = float(axis @ inertia @ axis)
    radius = float(np.sqrt(2.0 * along / body.mass))
    across = 0.5 * (float(np.trace(inertia)) - along)
    thickness = float(np.sqrt(max(12.0 * (across - 0.5 * along) / body.mass, 0.0)))
    if radius < 2.0 * r or thickness > radius:
        return []
    return [cylinder(centre, axis, radius, max(thickness, 0.6 * r))]


def body_solids(mechanism: Mechanism, body: str) -> list[tuple[theme.Colour | None, list[Solid]]]:
    """Return the solids of the shapes that are given on a body to draw it with, each with its colour.

    Shapes to touch with serve where there are none to look at. A mesh whose file is missing or cannot be read is left
    out with a warning; where nothing remains, the body is drawn as one without shapes.
    """
    given = mechanism.bodies[body].visuals or mechanism.bodies[body].collisions
    found: list[tuple[theme.Colour | None, list[Solid]]] = []
    for shape in given:
        place = shape.pose.matrix()
        for colour, solid in _solids(shape, f"{mechanism.name!r}: body {body!r}"):
            found.append((_colour(colour), [solid.moved(place)]))
    return found


def _colour(rgba: tuple[float, ...] | None) -> theme.Colour | None:
    if rgba is None:
        return None
    # What is seen through has two more digits.
    shown = rgba[:3] if rgba[3] >= 1.0 else rgba
    return "#" + "".join(f"{round(255 * min(max(x, 0.0), 1.0)):02x}" for x in shown)


def _solids(shape: shapes.Shape, who: str) -> list[tuple[shapes.Colour | None, Solid]]:
    """Return the solids of a shape in the shape's own frame with their colours: one, but for meshes of several
    parts."""
    if isinstance(shape, shapes.Mesh):
        return _from_file(shape, who)
    solid = _solid(shape)
    return [] if solid is None else [(shape.colour, solid)]


def _solid(shape: shapes.Shape) -> Solid | None:
    """Return the solid of a shape that is no mesh."""
    if isinstance(shape, shapes.Box):
        return BoxSolid(size=np.asarray(shape.size, dtype=np.float64))
    if isinstance(shape, shapes.Sphere):
        return BallSolid(radius=shape.radius)
    if isinstance(shape, shapes.Cylinder):
        return CylinderSolid(radius=shape.radius, length=shape.length)
    if isinstance(shape, shapes.Capsule):
        start = np.array([0.0, 0.0, -0.5 * shape.length])
        return BarSolid(p=start, length=shape.length, radius=shape.radius, end_radius=shape.radius)
    if isinstance(shape, shapes.Ellipsoid):
        return MeshSolid(surface=_ellipsoid(np.asarray(shape.radii, dtype=np.float64)))
    return None


def _ellipsoid(radii: Floats) -> Triangles:
    ball = BallSolid(radius=1.0).own_triangles()
    normals = ball.corners / radii
    return Triangles(
        ball.corners * radii, ball.faces, normals / np.linalg.norm(normals, axis=1, keepdims=True)
    )


def _from_file(shape: shapes.Mesh, who: str) -> list[tuple[shapes.Colour | None, Solid]]:
    """Return the parts of a mesh. The colour that the model gives it stands above those of its file."""
    if shape.file is None or not shape.file.is_file():
        warn(f"{who}: the mesh {shape.path!r} is not there; its shape is left out of the picture")
        return []
    try:
        read = _read(shape.file, shape.file.stat().st_mtime_ns)
    except (CatenaError, OSError) as error:
        reason = str(error).removeprefix(f"{shape.file}: ")
        warn(f"{who}: the mesh {shape.path!r} cannot be shown: {reason}")
        return []
    scale = np.asarray(shape.scale)
    # What a scale mirrors keeps its outside outside.
    order = slice(None, None, -1 if np.prod(scale) < 0.0 else 1)
    return [
        (
            shape.colour or part.colour,
            MeshSolid(surface=Triangles(part.vertices * scale, part.triangles[:, order])),
        )
        for part in read.parts
    ]


@lru_cache(maxsize=64)
def _read(file: Path, changed: int) -> MeshFile:
    from catena.formats.meshes import read_mesh

    return read_mesh(file)
