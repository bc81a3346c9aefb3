"""Several joints of one body as one joint, where that is the same.

MuJoCo moves a body by its joints one after the other, each in the axes that those before it have left. Slides and
hinges whose axes are pairwise parallel or perpendicular, whose hinges meet in one point, and of which none occurs
twice, are an `Sdof` joint; two hinges through one point are a `Universal` joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.formats.mjcf.names import BALL, HINGE, SLIDE
from catena.joints import JointKind, Prismatic, Revolute, Sdof, Spherical, Universal
from catena.spatial import Pose

EXACT = 1e-12


@dataclass(frozen=True)
class Elementary:
    """One joint of MuJoCo: its index, type, axis (3,) and anchor (3,) in the frame of its body."""

    index: int
    type: int
    axis: NDArray[np.float64]
    anchor: NDArray[np.float64]


@dataclass(frozen=True)
class Merged:
    """A joint of a mechanism: which of MuJoCo's joints it stands for, its kind, and its frame in the body."""

    parts: tuple[Elementary, ...]
    kind: JointKind
    frame: Pose


def merge(parts: list[Elementary], apart: frozenset[int]) -> list[Merged]:
    """Return the joints that stand for those of a body; those in `apart` stay on their own."""
    if len(parts) > 1 and not any(part.index in apart for part in parts):
        whole = _universal(parts) or _sdof(parts)
        if whole is not None:
            return [whole]
    return [_alone(part) for part in parts]


def _alone(part: Elementary) -> Merged:
    if part.type == BALL:
        return Merged((part,), Spherical(), Pose(p=part.anchor))
    if part.type == SLIDE:
        return Merged((part,), Prismatic(part.axis), Pose())
    return Merged((part,), Revolute(part.axis), Pose(p=part.anchor))


def _universal(parts: list[Elementary]) -> Merged | None:
    if [part.type for part in parts] != [HINGE, HINGE] or not _meet(parts):
        return None
    first, second = parts
    if float(np.linalg.norm(np.cross(first.axis, second.axis))) < 1e-6:
        return None
    return Merged(tuple(parts), Universal(first.axis, second.axis), Pose(p=first.anchor))


def _sdof(parts: list[Elementary]) -> Merged | None:
    if any(part.type not in (SLIDE, HINGE) for part in parts) or not _meet(parts):
        return None
    frame = _common_frame([part.axis for part in parts])
    if frame is None:
        return None
    motions = []
    for part in parts:
        along = frame.T @ part.axis
        letter = "xyz"[int(np.argmax(along))]
        motions.append(("r" if part.type == HINGE else "d") + letter)
    if len(set(motions)) < len(motions):
        return None
    anchor: Any = next((part.anchor for part in parts if part.type == HINGE), np.zeros(3))
    return Merged(tuple(parts), Sdof(*motions), Pose(p=anchor, R=frame))


def _meet(parts: list[Elementary]) -> bool:
    """Return whether all hinges have the same anchor."""
    anchors = [part.anchor for part in parts if part.type == HINGE]
    return all(bool(np.array_equal(anchor, anchors[0])) for anchor in anchors)


def _common_frame(axes: list[NDArray[np.float64]]) -> NDArray[np.float64] | None:
    """Return a right-handed frame, as columns, among whose axes are all the given ones, or None."""
    columns: list[NDArray[np.float64]] = []
    for axis in axes:
        along = [float(column @ axis) for column in columns]
        if any(x > 1.0 - EXACT for x in along):
            continue
        if any(abs(x) > EXACT for x in along):
            return None
        columns.append(axis)
    named = {0: (1.0, 0.0, 0.0), 1: (0.0, 1.0, 0.0), 2: (0.0, 0.0, 1.0)}
    order = [int(np.argmax(column)) for column in columns]
    if all(np.array_equal(column, named[k]) for column, k in zip(columns, order)):
        return np.eye(3)
    if len(columns) == 1:
        helper = np.eye(3)[int(np.argmin(np.abs(columns[0])))]
        second = np.cross(columns[0], helper)
        columns.append(second / np.linalg.norm(second))
    if len(columns) == 2:
        columns.append(np.cross(columns[0], columns[1]))
    frame = np.column_stack(columns)
    return frame if np.linalg.det(frame) > 0.0 else None
