"""What a joint looks like: the shape that its kind says it is `drawn_as`.

Turning is a short cylinder along the axis, sliding a sleeve along it, a ball a ball; a kind that is made of
several motions, or that a user has defined, shows one cylinder or sleeve for each column of its motion space. A force
between frames is strokes between its two points, or an arrow along its load, by the hint that its kind gives.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from catena.forces import FrameForce, Relative
from catena.mechanism import ForceElement
from catena.spatial import Motion, Pose, Transform
from catena.view.sites import Site
from catena.view.solids import Solid, ball, box, cylinder, frame_along

Floats = NDArray[np.float64]


def joint_glyph(site: Site, r: float, rank: int = 0, flat: Floats | None = None) -> list[Solid]:
    """Return the solids of a joint, sized for bars of radius `r`; one whose body roams has none but the plane it stays
    in.

    `rank` counts the joints drawn before at the same point: later ones are wider, hinges shorter as well, so
    that all of them can be seen. A slide that is `flat` along a direction (3,) lets a hinge be seen before it.
    """
    r *= 1.0 + 0.22 * rank
    form, p = site.form, site.point
    if form in _ALONG_AXIS:
        return _ALONG_AXIS[form](p, site.axis, r, rank, flat)
    if form == "none" or (site.roams and not site.is_loop):
        return []
    if form == "block":
        return [box(p, site.on_child[:3, :3], (2.5 * r, 2.5 * r, 2.5 * r))]
    if form == "cross":
        second = site.on_child[:3, :3] @ site.joint.kind.drawn_along[1]
        return [_arm(p, site.axis, r), _arm(p, second, r), ball(p, 0.9 * r)]
    return [ball(p, 1.7 * r)] if form == "ball" else _by_motions(site, r)


def _hinge(p: Floats, axis: Floats, r: float, rank: int, flat: Floats | None) -> list[Solid]:
    return [cylinder(p, axis, 1.5 * r, 3.0 * r * 0.5**rank)]


def _slide(p: Floats, axis: Floats, r: float, rank: int, flat: Floats | None) -> list[Solid]:
    if flat is None:
        return [box(p, frame_along(axis), (2.7 * r, 2.7 * r, 4.4 * r))]
    return [box(p, np.column_stack([np.cross(flat, axis), flat, axis]), (2.7 * r, 0.8 * r, 4.4 * r))]


def _sleeve(p: Floats, axis: Floats, r: float, rank: int, flat: Floats | None) -> list[Solid]:
    return [cylinder(p, axis, 1.45 * r, 5.0 * r)]


def _screw(p: Floats, axis: Floats, r: float, rank: int, flat: Floats | None) -> list[Solid]:
    threads = [cylinder(p + k * r * axis, axis, 1.6 * r, 0.6 * r) for k in (-1.6, -0.8, 0.0, 0.8, 1.6)]
    return [*threads, cylinder(p, axis, 1.2 * r, 4.4 * r)]


def _plate(p: Floats, axis: Floats, r: float, rank: int, flat: Floats | None) -> list[Solid]:
    return [box(p, frame_along(axis), (6.0 * r, 6.0 * r, 0.5 * r))]


_ALONG_AXIS = {"hinge": _hinge, "slide": _slide, "sleeve": _sleeve, "screw": _screw, "plate": _plate}


def _turn(p: Floats, axis: Floats, r: float) -> Solid:
    return cylinder(p, axis, 1.5 * r, 3.0 * r)


def _arm(p: Floats, axis: Floats, r: float) -> Solid:
    return cylinder(p, axis, 0.65 * r, 5.0 * r)


def _by_motions(site: Site, r: float) -> list[Solid]:
    """One cylinder or sleeve for each motion, along the columns of the motion space as they are now."""
    solids: list[Solid] = []
    turns = 0
    for angular, linear in zip(*(part.T for part in site.motions), strict=True):
        if np.linalg.norm(angular) > 1e-9:
            solids.append(_turn(site.point, angular, r) if turns == 0 else _arm(site.point, angular, 1.2 * r))
            turns += 1
        elif np.linalg.norm(linear) > 1e-9:
            solids.append(box(site.point, frame_along(linear), (2.2 * r, 2.2 * r, 5.0 * r)))
    return solids


COILS = 7
ARROW = 14.0
"""The length of an arrow, in radii of bars."""


def arrow_strokes(element: ForceElement, poses: Mapping[str, Floats], r: float) -> list[Floats]:
    """Return the strokes (n, 3) in ground of a force that is drawn as an arrow; none for others."""
    if element.frames is None or element.kind.drawn_as != "arrow":
        return []
    a, b = (poses[name] for name in element.frames)
    return _arrow(element.kind, a, b, r)


def span_strokes(form: str, start: Floats, end: Floats, r: float) -> list[Floats]:
    """Return the strokes (n, 3) of a spring, damper or cable between two points, beside bars of radius `r`."""
    length = float(np.linalg.norm(end - start))
    if length < r:
        return []
    along = (end - start) / length
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    shape = {"coils": _coils, "damper": _piston}.get(form)
    if shape is None:
        return [np.array([start, end])]
    return [start + x[:, :1] * along + x[:, 1:] * side / np.linalg.norm(side) for x in shape(length, r)]


def _coils(length: float, r: float) -> list[Floats]:
    """Return a zigzag between two straight ends: along and across, (n, 2)."""
    x = np.concatenate([[0.0], np.linspace(0.2, 0.8, 2 * COILS + 1), [1.0]]) * length
    y = np.concatenate([[0.0, 0.0], np.where(np.arange(2 * COILS - 1) % 2, -1.2, 1.2) * r, [0.0, 0.0]])
    return [np.stack([x, y], axis=1)]


def _piston(length: float, r: float) -> list[Floats]:
    """Return a cylinder with an open end, and a rod with a piston in it."""
    cup = np.array([[0.7, 1.2], [0.3, 1.2], [0.3, -1.2], [0.7, -1.2]])
    strokes = [
        np.array([[0.0, 0.0], [0.3, 0.0]]),
        cup,
        np.array([[0.5, 1.0], [0.5, -1.0]]),
        np.array([[0.5, 0], [1.0, 0]]),
    ]
    return [stroke * (length, r) for stroke in strokes]


def _arrow(kind: object, a: Floats, b: Floats, r: float) -> list[Floats]:
    """Return an arrow that ends at b, along the force on b at rest."""
    if not isinstance(kind, FrameForce) or kind.inputs:
        return []
    relative = np.linalg.inv(a) @ b
    X = Transform.from_pose(Pose.unchecked(relative[:3, 3], relative[:3, :3]))
    force = b[:3, :3] @ np.asarray(kind.load(Relative(X, Motion.zero())).linear, dtype=np.float64)
    size = float(np.linalg.norm(force))
    if size == 0.0:
        return []
    along = force / size
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    head = [b[:3, 3] - 3.0 * r * along + s * 1.2 * r * side / np.linalg.norm(side) for s in (1.0, -1.0)]
    return [np.array([b[:3, 3] - ARROW * r * along, b[:3, 3]]), np.array([head[0], b[:3, 3], head[1]])]
