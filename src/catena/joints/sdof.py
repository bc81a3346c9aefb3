"""The SDOF joint: an ordered choice of elementary motions (van der Merwe, chapter 2)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.given import is_one_of, shown
from catena.joints.axes import NAMED
from catena.joints.contract import JointKind, counted_on
from catena.joints.nearest import angle_about
from catena.spatial import Motion, MotionSpace, Transform, array, cross, spd_inverse
from catena.spatial.scalars import atan2, less, sqrt, where

ROTATIONS = ("rx", "ry", "rz")
MOTIONS = ("rx", "ry", "rz", "dx", "dy", "dz")


@dataclass(frozen=True, init=False)
class Sdof(JointKind):
    """Elementary motions one after the other, each along an axis of the frame the previous ones have reached.

    `Sdof("ry", "rz", "dx")` turns about y, then about the new z, then slides along the new x. Any ordered
    subset of rx, ry, rz, dx, dy, dz. q has one angle or displacement per motion, in their order, and v =
    dq/dt. Where two axes fall together (the middle one of three rotations at 90 degrees) S loses rank;
    nothing else fails there.
    """

    motions: tuple[str, ...]
    finds_coordinates_of_symbols = True

    def __init__(self, *motions: str) -> None:
        if not motions:
            raise ModelError(
                "Sdof: no motion was given; name one or more of rx ry rz dx dy dz, or use Fixed."
            )
        for k, motion in enumerate(motions):
            if not is_one_of(motion, MOTIONS):
                raise ModelError(f"Sdof: motion {shown(motion)} is not known; use rx, ry, rz, dx, dy or dz.")
            if motion in motions[:k]:
                raise ModelError(f"Sdof: motion {motion!r} is given twice; each motion may appear once.")
        object.__setattr__(self, "motions", tuple(motions))

    @property
    def nq(self) -> int:
        return len(self.motions)

    @property
    def nv(self) -> int:
        return len(self.motions)

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return ("Sdof", *self.motions)

    def transform(self, q: np.ndarray) -> Transform:
        X = _elementary(self.motions[0], q[0])
        for motion, x in zip(self.motions[1:], q[1:], strict=True):
            X = _elementary(motion, x) * X
        return X

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        """Return the axis of each motion, carried through the motions after it."""
        columns: list[Motion] = []
        for motion, x in zip(self.motions, q, strict=True):
            X = _elementary(motion, x)
            columns = [X * column for column in columns]
            columns.append(_axis(motion))
        return MotionSpace.from_columns(columns)

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        """Return the sum over the motions of (its twist) x (the twists of the motions after it)."""
        twists = [column * x for column, x in zip(self.motion_space(q).columns(), v, strict=True)]
        later, total = twists[-1], Motion.zero()
        for twist in reversed(twists[:-1]):
            total = total + cross(twist, later)
            later = later + twist
        return total

    @property
    def wraps(self) -> tuple[int, ...]:
        return tuple(k for k, motion in enumerate(self.motions) if motion in ROTATIONS)

    def coordinates(self, X: Transform) -> np.ndarray:
        """Return the angles from the rotation alone, then the displacements by linear least squares."""
        return self._turned(X, _angles(self._turns, X))

    def coordinates_near(self, X: Transform, near: np.ndarray) -> np.ndarray:
        """Return the angles counted on from those of `near`; three of them reach each place in two ways, of which the
        nearer one is taken."""
        angles, there = _angles(self._turns, X), [near[k] for k in self.wraps]
        own = [counted_on(x, y) for x, y in zip(angles, there, strict=True)]
        if len(angles) == 3:
            first, middle, last = angles
            ways = (first + math.pi, math.pi - middle, last + math.pi)
            other = [counted_on(x, y) for x, y in zip(ways, there, strict=True)]
            far, near_by = (
                sum((x - y) * (x - y) for x, y in zip(way, there, strict=True)) for way in (own, other)
            )
            own = [where(less(near_by, far), y, x) for x, y in zip(own, other, strict=True)]
        return self._turned(X, own)

    @property
    def _turns(self) -> list[str]:
        return [motion for motion in self.motions if motion in ROTATIONS]

    def _turned(self, X: Transform, turned: list[Any]) -> np.ndarray:
        """Return the coordinates with these angles: displacements are found by linear least squares."""
        angles = dict(zip(self._turns, turned, strict=True))
        R = np.eye(3)
        slides: list[str] = []
        directions: list[list[Any]] = []
        for motion in self.motions:
            if motion in ROTATIONS:
                R = R @ _elementary(motion, angles[motion]).R.T
            else:
                slides.append(motion)
                directions.append((R @ np.array(NAMED[motion[1]])).tolist())
        if slides:
            rows = array(directions)
            # Slides along axes that a rotation has brought together share what they move.
            gram = rows @ rows.T + 1e-14 * np.eye(len(slides))
            angles.update(zip(slides, (spd_inverse(gram) @ (rows @ X.p)).tolist(), strict=True))
        return array([angles[motion] for motion in self.motions])


def _elementary(motion: str, x: Any) -> Transform:
    """Return the transform of one rotation or displacement."""
    if motion in ROTATIONS:
        return Transform.rotation(NAMED[motion[1]], x)
    return Transform.translation(array([x if letter == motion[1] else 0.0 for letter in "xyz"]))


def _axis(motion: str) -> Motion:
    """Return the unit twist of one rotation or displacement."""
    return Motion(np.eye(6)[MOTIONS.index(motion)])


def _angles(turns: list[str], X: Transform) -> list[Any]:
    """Return the angles of up to three rotations about different axes nearest to the rotation of X."""
    if not turns:
        return []
    if len(turns) == 1:
        return [angle_about(NAMED[turns[0][1]], X)]
    i, j = ROTATIONS.index(turns[0]), ROTATIONS.index(turns[1])
    k = 3 - i - j
    R = X.R.T
    parity = 1.0 if j == (i + 1) % 3 else -1.0
    if len(turns) == 2:
        # The second axis is turned by the first angle only.
        first = atan2(parity * R[k, j], R[j, j])
        return [first, angle_about(NAMED[turns[1][1]], X * _elementary(turns[0], first).inverse())]
    cosine = sqrt(R[i, i] * R[i, i] + R[i, j] * R[i, j])
    middle = atan2(parity * R[i, k], cosine)
    # Where first and last axis coincide, only the sum of their angles is determined.
    locked = less(cosine, 1e-9)
    first = where(locked, atan2(parity * R[k, j], R[j, j]), atan2(-parity * R[j, k], R[k, k]))
    return [first, middle, where(locked, 0.0, atan2(-parity * R[i, j], R[i, i]))]
