"""What a force between frames looks like, from the hint that its kind gives: strokes between its two points, or an
arrow along its load."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from catena.forces import FrameForce, Relative
from catena.mechanism import ForceElement
from catena.spatial import Motion, Pose, Transform

Floats = NDArray[np.float64]

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
