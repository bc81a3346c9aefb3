"""What a body looks like: a solid around the joints and frames it carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from catena.joints import Free, Revolute
from catena.mechanism import Body, Mechanism
from catena.view.sites import Site
from catena.view.solids import Polygons, ball, cylinder, rounded_hull, tapered_bar

Floats = NDArray[np.float64]


def carried_points(
    mechanism: Mechanism, body: str, poses: Mapping[str, Floats], sites: Mapping[str, Site]
) -> list[Floats]:
    """The points (3,) a body reaches: its joints, the one that carries it first, then its frames.

    A `Free` joint touches nothing, so it does not count.
    """
    own = [site for site in sites.values() if body in (site.joint.parent, site.joint.child)]
    own.sort(key=lambda site: site.joint.child != body)
    points = []
    for site in own:
        if isinstance(site.joint.kind, Free):
            continue
        points.append(site.point)
        # A slide that is pulled out shows how far: the child reaches to its side of the joint as well.
        if site.joint.child == body and site.joint.kind.nv > 1:
            points.append(site.on_child[:3, 3])
    points += [poses[name][:3, 3] for name, frame in mechanism.frames.items() if frame.body == body]
    return points


def distinct(points: Sequence[Floats], closest: float) -> list[Floats]:
    """The points without those nearer than `closest` to an earlier one."""
    kept: list[Floats] = []
    for point in points:
        if all(np.linalg.norm(point - other) > closest for other in kept):
            kept.append(point)
    return kept


def body_outline(
    body: Body, pose: Floats, points: Sequence[Floats], sites: Sequence[Site], r: float
) -> Polygons:
    """The polygons of a body: a bar between two points, a rounded block around more, a disc for a wheel.

    A body that only one joint holds reaches to its mass centre; `r` is the radius of its bars.
    """
    centre = pose[:3, :3] @ body.com + pose[:3, 3]
    ends = distinct(points, 0.8 * r)
    if len(ends) < 2:
        own = [site for site in sites if not isinstance(site.joint.kind, Free)]
        if len(own) == 1 and isinstance(own[0].joint.kind, Revolute) and body.mass > 0.0:
            axis = own[0].on_parent[:3, :3] @ own[0].joint.kind.axis
            away = centre - own[0].point
            if np.linalg.norm(away - axis * (away @ axis)) < 0.5 * r:
                wheel = _wheel(body, pose, centre, axis, r)
                if wheel:
                    return wheel
        ends = distinct([*ends, centre], 0.8 * r)
    if len(ends) < 2:
        return ball(ends[0] if ends else centre, 2.2 * r)
    cloud = np.array(ends)
    if body.mass > 0.0 and _distance_to_bars(cloud, centre) > 1.5 * r:
        cloud = np.vstack([cloud, centre])
    spread = np.linalg.svd(cloud - cloud.mean(axis=0), compute_uv=False)
    if len(cloud) == 2 or spread[1] < 0.5 * r:
        far = int(np.argmax(np.linalg.norm(cloud - cloud[0], axis=1)))
        other = int(np.argmax(np.linalg.norm(cloud - cloud[far], axis=1)))
        return tapered_bar(cloud[other], cloud[far], 1.1 * r, 0.8 * r)
    return rounded_hull(cloud, 0.8 * r)


def _distance_to_bars(points: Floats, p: Floats) -> float:
    """How far a point is from the nearest line between two of the points (n, 3)."""
    nearest = np.inf
    for i, a in enumerate(points):
        for b in points[i + 1 :]:
            along = float(np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0))
            nearest = min(nearest, float(np.linalg.norm(p - a - along * (b - a))))
    return nearest


def _wheel(body: Body, pose: Floats, centre: Floats, axis: Floats, r: float) -> Polygons:
    """A uniform disc with the inertia of the body, if it is one that spins about its own axis."""
    inertia = pose[:3, :3] @ body.inertia @ pose[:3, :3].T
    along = float(axis @ inertia @ axis)
    radius = float(np.sqrt(2.0 * along / body.mass))
    across = 0.5 * (float(np.trace(inertia)) - along)
    squared = 12.0 * (across - 0.5 * along) / body.mass
    thickness = float(np.sqrt(max(squared, 0.0)))
    if radius < 2.0 * r or thickness > radius:
        return []
    return cylinder(centre, axis, radius, max(thickness, 0.6 * r))
