"""What a joint looks like: one shape for every kind.

Turning is a short cylinder along the axis, sliding a sleeve along it, a ball a ball; a kind that is made of
several motions, or that a user has defined, shows one cylinder or sleeve for each column of its motion space.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from catena.joints import Cylindrical, Fixed, Free, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from catena.spatial import Pose, Transform
from catena.view.sites import Site
from catena.view.solids import Solid, ball, box, cylinder, frame_along

Floats = NDArray[np.float64]


def joint_glyph(site: Site, r: float, rank: int = 0, flat: Floats | None = None) -> list[Solid]:
    """The solids of a joint, sized for bars of radius `r`; a `Free` joint has none.

    `rank` counts the joints drawn before at the same point: later ones are wider, hinges shorter as well, so
    that all of them can be seen. A slide that is `flat` along a direction (3,) lets a hinge be seen before it.
    """
    r *= 1.0 + 0.22 * rank
    kind, p, R = site.joint.kind, site.point, site.on_parent[:3, :3]
    if isinstance(kind, Free):
        return []
    if isinstance(kind, Fixed) or site.joint.locked:
        return [box(p, site.on_child[:3, :3], (2.5 * r, 2.5 * r, 2.5 * r))]
    if isinstance(kind, Revolute):
        return [cylinder(p, R @ kind.axis, 1.5 * r, 3.0 * r * 0.5**rank)]
    if isinstance(kind, Prismatic):
        axis = R @ np.asarray(kind.axis)
        if flat is None:
            return [_slide(p, axis, r)]
        return [box(p, np.column_stack([np.cross(flat, axis), flat, axis]), (2.7 * r, 0.8 * r, 4.4 * r))]
    if isinstance(kind, Cylindrical):
        return [cylinder(p, R @ kind.axis, 1.45 * r, 5.0 * r)]
    if isinstance(kind, Helical):
        axis = R @ np.asarray(kind.axis)
        threads = [cylinder(p + k * r * axis, axis, 1.6 * r, 0.6 * r) for k in (-1.6, -0.8, 0.0, 0.8, 1.6)]
        return [*threads, cylinder(p, axis, 1.2 * r, 4.4 * r)]
    if isinstance(kind, Universal):
        second = site.on_child[:3, :3] @ kind.axis2
        return [_arm(p, R @ kind.axis1, r), _arm(p, second, r), ball(p, 0.9 * r)]
    if isinstance(kind, Spherical):
        return [ball(p, 1.7 * r)]
    if isinstance(kind, Planar):
        return [box(p, frame_along(R @ kind.normal), (6.0 * r, 6.0 * r, 0.5 * r))]
    return _by_motions(site, r)


def _turn(p: Floats, axis: Floats, r: float) -> Solid:
    return cylinder(p, axis, 1.5 * r, 3.0 * r)


def _slide(p: Floats, axis: Floats, r: float) -> Solid:
    return box(p, frame_along(axis), (2.7 * r, 2.7 * r, 4.4 * r))


def _arm(p: Floats, axis: Floats, r: float) -> Solid:
    return cylinder(p, axis, 0.65 * r, 5.0 * r)


def _by_motions(site: Site, r: float) -> list[Solid]:
    """One cylinder or sleeve for each motion, along the columns of the motion space as they are now."""
    kind = site.joint.kind
    relative = np.linalg.inv(site.on_parent) @ site.on_child
    q = kind.coordinates(Transform.from_pose(Pose.unchecked(relative[:3, 3], relative[:3, :3])))
    solids: list[Solid] = []
    turns = 0
    for column in kind.motion_space(q).array.T:
        angular, linear = site.on_child[:3, :3] @ column[:3], site.on_child[:3, :3] @ column[3:]
        if np.linalg.norm(angular) > 1e-9:
            solids.append(_turn(site.point, angular, r) if turns == 0 else _arm(site.point, angular, 1.2 * r))
            turns += 1
        elif np.linalg.norm(linear) > 1e-9:
            solids.append(box(site.point, frame_along(linear), (2.2 * r, 2.2 * r, 5.0 * r)))
    return solids
