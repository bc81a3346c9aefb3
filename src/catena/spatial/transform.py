"""Coordinate transforms between frames, and how every spatial quantity goes through them.

`Transform(R, p)` takes quantities from frame A to frame B: R (3x3) turns A coordinates into B coordinates, p
is the origin of B in A coordinates (Featherstone's E and r; van der Merwe, eq. 2.6). Quantities are moved
block by block, never as dense 6x6 products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.spatial import blocks
from catena.spatial.inertia import ArticulatedInertia, RigidInertia, symmetric, upper
from catena.spatial.pose import Pose
from catena.spatial.scalars import array, cos, is_symbolic, sin
from catena.spatial.vectors import Force, ForceSpace, Motion, MotionSpace, skew

_COORDINATE_AXES = {
    tuple(sign if i == k else 0.0 for i in range(3)): (k, sign) for k in range(3) for sign in (1.0, -1.0)
}


class Transform:
    """The coordinate transform from frame A to frame B. Entries in order: R by rows (9), p (3)."""

    __slots__ = ("R", "p")
    size = 12

    def __init__(self, R: Any, p: Any) -> None:
        self.R: np.ndarray = R if isinstance(R, np.ndarray) else array(R)
        self.p: np.ndarray = p if isinstance(p, np.ndarray) else array(p)

    @classmethod
    def identity(cls) -> Transform:
        """Return the transform from a frame to itself."""
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def rotation_x(cls, angle: Any) -> Transform:
        """Return the transform to a frame turned by `angle` about x."""
        c, s = cos(angle), sin(angle)
        return cls(array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]]), np.zeros(3))

    @classmethod
    def rotation_y(cls, angle: Any) -> Transform:
        """Return the transform to a frame turned by `angle` about y."""
        c, s = cos(angle), sin(angle)
        return cls(array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]]), np.zeros(3))

    @classmethod
    def rotation_z(cls, angle: Any) -> Transform:
        """Return the transform to a frame turned by `angle` about z."""
        c, s = cos(angle), sin(angle)
        return cls(array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]), np.zeros(3))

    @classmethod
    def rotation(cls, axis: Sequence[Any], angle: Any) -> Transform:
        """Return the transform to a frame turned by `angle` about the unit vector `axis` (Rodrigues)."""
        x, y, z = axis
        along = _COORDINATE_AXES.get((x, y, z)) if not is_symbolic([x, y, z]) else None
        if along is not None:
            # Exact zeros and ones, and a third of the operations.
            return (cls.rotation_x, cls.rotation_y, cls.rotation_z)[along[0]](along[1] * angle)
        c, s = cos(angle), sin(angle)
        u = 1.0 - c
        R = [
            [c + u * x * x, u * x * y + s * z, u * x * z - s * y],
            [u * x * y - s * z, c + u * y * y, u * y * z + s * x],
            [u * x * z + s * y, u * y * z - s * x, c + u * z * z],
        ]
        return cls(array(R), np.zeros(3))

    @classmethod
    def translation(cls, p: Any) -> Transform:
        """Return the transform to a frame moved by `p`."""
        return cls(np.eye(3), p)

    @classmethod
    def from_pose(cls, pose: Pose) -> Transform:
        """Return the transform from the reference frame to the frame placed there by `pose`."""
        return cls(pose.R.T, pose.p)

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> Transform:
        """Return the transform with these twelve entries."""
        return cls(array(entries[:9]).reshape(3, 3), array(entries[9:12]))

    def entries(self) -> list[Any]:
        """Return the twelve entries."""
        return [*self.R.ravel().tolist(), *self.p.tolist()]

    def pose(self) -> Pose:
        """Return the placement of frame B in frame A (numbers only)."""
        return Pose.unchecked(np.array(self.p, dtype=float), np.array(self.R.T, dtype=float))

    def inverse(self) -> Transform:
        """Return the transform from B to A."""
        return Transform(self.R.T, -(self.R @ self.p))

    def motion_matrix(self) -> np.ndarray:
        """Return the 6x6 matrix that takes motions from A to B."""
        lower = -(self.R @ skew(self.p))
        return np.vstack([np.hstack([self.R, np.zeros((3, 3))]), np.hstack([lower, self.R])])

    def force_matrix(self) -> np.ndarray:
        """Return the 6x6 matrix that takes forces from A to B."""
        corner = -(self.R @ skew(self.p))
        return np.vstack([np.hstack([self.R, corner]), np.hstack([np.zeros((3, 3)), self.R])])

    def __mul__(self, x: Any) -> Any:
        """Take a motion, a force or a space of them from A to B, or compose with a transform to A."""
        if isinstance(x, Transform):
            return Transform(self.R @ x.R, x.p + x.R.T @ self.p)
        if isinstance(x, Motion):
            R, p, v = self.R.tolist(), self.p.tolist(), x.array.tolist()
            linear = blocks.subtract(v[3:], blocks.cross(p, v[:3]))
            return Motion(array(blocks.rotate(R, v[:3]) + blocks.rotate(R, linear)))
        if isinstance(x, Force):
            R, p, f = self.R.tolist(), self.p.tolist(), x.array.tolist()
            moment = blocks.subtract(f[:3], blocks.cross(p, f[3:]))
            return Force(array(blocks.rotate(R, moment) + blocks.rotate(R, f[3:])))
        if isinstance(x, (MotionSpace, ForceSpace)):
            return type(x).from_columns([self * column for column in x.columns()])
        return NotImplemented

    def pull(self, x: Any) -> Any:
        """Take a force, a force space, a rigid inertia or an articulated inertia from B back to A."""
        if isinstance(x, Force):
            R, f = self.R.tolist(), x.array.tolist()
            force = blocks.rotate_back(R, f[3:])
            moment = blocks.add(blocks.rotate_back(R, f[:3]), blocks.cross(self.p.tolist(), force))
            return Force(array(moment + force))
        if isinstance(x, ArticulatedInertia):
            return _pull_articulated(self.R.tolist(), self.p.tolist(), x)
        if isinstance(x, RigidInertia):
            return _pull_rigid(self.R.tolist(), self.p.tolist(), x)
        if isinstance(x, ForceSpace):
            return ForceSpace.from_columns([self.pull(column) for column in x.columns()])
        raise TypeError(f"Transform.pull takes a force, a force space or an inertia, not {type(x).__name__}.")

    def push(self, inertia: Any) -> Any:
        """Take an inertia from A to B."""
        return self.inverse().pull(inertia)

    def pull_motion(self, x: Any) -> Any:
        """Take a motion or a motion space from B back to A."""
        if isinstance(x, MotionSpace):
            return MotionSpace.from_columns([self.pull_motion(column) for column in x.columns()])
        R, v = self.R.tolist(), x.array.tolist()
        angular = blocks.rotate_back(R, v[:3])
        linear = blocks.add(blocks.rotate_back(R, v[3:]), blocks.cross(self.p.tolist(), angular))
        return Motion(array(angular + linear))

    def __repr__(self) -> str:
        return f"Transform(R={self.R.tolist()}, p={self.p.tolist()})"


def _pull_rigid(R: list[list[Any]], p: list[Any], x: RigidInertia) -> RigidInertia:
    """Return X^T I X: turn, then move the origin by -p (parallel axes through the first moment)."""
    h = blocks.rotate_back(R, x.h.tolist())
    a, b, c, d, e, f = blocks.rotate_back_symmetric(R, upper(x.I))
    k = [hi + x.mass * pi for hi, pi in zip(h, p, strict=True)]
    g1, g2, g3 = (pi * (hi + ki) for pi, hi, ki in zip(p, h, k, strict=True))
    moved = [
        a + (g2 + g3),
        b - p[0] * k[1] - h[0] * p[1],
        c - p[0] * k[2] - h[0] * p[2],
        d + (g1 + g3),
        e - p[1] * k[2] - h[1] * p[2],
        f + (g1 + g2),
    ]
    return RigidInertia(x.mass, array(k), symmetric(moved))


def _pull_articulated(R: list[list[Any]], p: list[Any], x: ArticulatedInertia) -> ArticulatedInertia:
    """Return X^T I X: turn the three blocks, then H' = H + p~ M and J' = J + p~ H^T - H' p~.

    The trace of H does not change, because p~ M has none, and J' does not see a multiple of the identity in
    H.
    """
    p1, p2, p3 = p
    M = blocks.rotate_back_symmetric(R, upper(x.M))
    J = blocks.rotate_back_symmetric(R, upper(x.J))
    (h11, h12, h13, h21, h22, h23, h31, h32), trace, h = blocks.rotate_back_general(R, x.H.ravel().tolist())
    m11, m12, m13, m22, m23, m33 = M
    k11 = h11 + (p2 * m13 - p3 * m12)
    k12 = h12 + (p2 * m23 - p3 * m22)
    k13 = h13 + (p2 * m33 - p3 * m23)
    k21 = h21 + (p3 * m11 - p1 * m13)
    k22 = h22 + (p3 * m12 - p1 * m23)
    k23 = h23 + (p3 * m13 - p1 * m33)
    k31 = h31 + (p1 * m12 - p2 * m11)
    k32 = h32 + (p1 * m22 - p2 * m12)
    k33 = trace - k11 - k22
    moved = [
        J[0] + ((h13 + k13) * p2 - (h12 + k12) * p3),
        J[1] + ((h11 - k22) * p3 - h13 * p1 + k23 * p2),
        J[2] + ((k33 - h11) * p2 + h12 * p1 - k32 * p3),
        J[3] + ((h21 + k21) * p3 - (h23 + k23) * p1),
        J[4] + ((h22 - k33) * p1 - h21 * p2 + k31 * p3),
        J[5] + ((h32 + k32) * p1 - (h31 + k31) * p2),
    ]
    H = array([[k11 + h, k12, k13], [k21, k22 + h, k23], [k31, k32, k33 + h]])
    return ArticulatedInertia(symmetric(moved), H, symmetric(M))
