"""Rigid and articulated inertias: the two kinds of maps from motions to forces.

A rigid inertia has ten independent numbers, an articulated one twenty-one. Neither is ever multiplied out as
a dense 6x6 matrix. The Euler tensor is another view of a rigid inertia (van der Merwe, chapter 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.spatial import blocks
from catena.spatial.scalars import NUMBERS, array, reciprocal
from catena.spatial.vectors import Force, ForceSpace, Motion, MotionSpace, skew

_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def symmetric(six: Sequence[Any]) -> np.ndarray:
    """Return the symmetric 3x3 matrix with the upper entries 11, 12, 13, 22, 23, 33."""
    a, b, c, d, e, f = six
    return array([[a, b, c], [b, d, e], [c, e, f]])


def upper(S: np.ndarray) -> list[Any]:
    """Return the six upper entries 11, 12, 13, 22, 23, 33 of a symmetric 3x3 matrix."""
    (a, b, c), (_, d, e), (_, _, f) = S.tolist()
    return [a, b, c, d, e, f]


class RigidInertia:
    """The inertia of a rigid body about the origin of a frame.

    `mass`, `h` = mass times mass centre (3,), and `I`, the rotational inertia about the frame's ORIGIN, not
    about the mass centre (3x3, symmetric). Entries in order: mass, h1, h2, h3, I11, I12, I13, I22, I23, I33.
    """

    __slots__ = ("mass", "h", "I")
    size = 10

    def __init__(self, mass: Any, h: Any, I: Any) -> None:  # noqa: E741
        self.mass = mass
        self.h: np.ndarray = h if isinstance(h, np.ndarray) else array(h)
        self.I: np.ndarray = I if isinstance(I, np.ndarray) else array(I)

    @classmethod
    def zero(cls) -> RigidInertia:
        """Return the inertia of nothing."""
        return cls(0.0, np.zeros(3), np.zeros((3, 3)))

    @classmethod
    def from_com(cls, mass: Any, com: Any, I_com: Any) -> RigidInertia:
        """Return the inertia of a body whose rotational inertia about its mass centre is `I_com` (3.31)."""
        c = com if isinstance(com, np.ndarray) else array(com)
        h = c * mass if isinstance(mass, NUMBERS) else array([x * mass for x in c])
        x, y, z = c.tolist()
        hx, hy, hz = h.tolist()
        a, b, e, d, f, g = upper(I_com if isinstance(I_com, np.ndarray) else array(I_com))
        xx, yy, zz = x * hx, y * hy, z * hz
        shifted = [a + yy + zz, b - x * hy, e - x * hz, d + xx + zz, f - y * hz, g + xx + yy]
        return cls(mass, h, symmetric(shifted))

    @classmethod
    def from_euler_tensor(cls, mass: Any, h: Any, J: Any) -> RigidInertia:
        """Return the inertia with Euler tensor `J` about the origin: I = tr(J) 1 - J (3.30)."""
        a, b, c, d, e, f = upper(J if isinstance(J, np.ndarray) else array(J))
        return cls(mass, h, symmetric([d + f, -b, -c, a + f, -e, a + d]))

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> RigidInertia:
        """Return the inertia with these ten entries."""
        return cls(entries[0], array(entries[1:4]), symmetric(entries[4:10]))

    def entries(self) -> list[Any]:
        """Return the ten independent entries."""
        return [self.mass, *self.h.tolist(), *upper(self.I)]

    @property
    def com(self) -> np.ndarray:
        """The mass centre, (3,); the origin for a body without mass."""
        if isinstance(self.mass, NUMBERS) and self.mass == 0:
            return np.zeros(3)
        per_mass = reciprocal(self.mass)
        return array([x * per_mass for x in self.h.tolist()])

    def about_com(self) -> np.ndarray:
        """Return the rotational inertia about the mass centre, 3x3."""
        x, y, z = self.com.tolist()
        hx, hy, hz = self.h.tolist()
        a, b, e, d, f, g = upper(self.I)
        xx, yy, zz = x * hx, y * hy, z * hz
        return symmetric([a - yy - zz, b + x * hy, e + x * hz, d - xx - zz, f + y * hz, g - xx - yy])

    def euler_tensor(self) -> np.ndarray:
        """Return the Euler tensor about the origin, the mass integral of r r^T: J = tr(I)/2 1 - I (3.29)."""
        a, b, c, d, e, f = upper(self.I)
        half = 0.5 * (a + d + f)
        return symmetric([half - a, -b, -c, half - d, -e, half - f])

    def matrix(self) -> np.ndarray:
        """Return the 6x6 matrix that takes a motion to a force."""
        s = skew(self.h)
        m = self.mass
        diagonal = array([[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]])
        return np.vstack([np.hstack([self.I, s]), np.hstack([s.T, diagonal])])

    def __add__(self, other: RigidInertia) -> RigidInertia:
        if not isinstance(other, RigidInertia):
            return NotImplemented
        return RigidInertia(self.mass + other.mass, self.h + other.h, self.I + other.I)

    def __sub__(self, other: RigidInertia) -> RigidInertia:
        if not isinstance(other, RigidInertia):
            return NotImplemented
        return RigidInertia(self.mass - other.mass, self.h - other.h, self.I - other.I)

    def __mul__(self, x: Any) -> Any:
        if isinstance(x, MotionSpace):
            return ForceSpace.from_columns([self * column for column in x.columns()])
        if not isinstance(x, Motion):
            return NotImplemented
        m, h = self.mass, self.h.tolist()
        v = x.array.tolist()
        angular, linear = v[:3], v[3:]
        moment = blocks.add(blocks.symmetric_times(upper(self.I), angular), blocks.cross(h, linear))
        force = blocks.subtract([m * y for y in linear], blocks.cross(h, angular))
        return Force(array(moment + force))

    def velocity_product(self, v: Motion) -> Force:
        """Return v x I v, the force that a body takes to keep its twist v.

        The linear velocity times itself, which cancels, is left out: at 7500 m/s its rounding would turn a body.
        """
        m, h = self.mass, self.h.tolist()
        entries = v.array.tolist()
        angular, linear = entries[:3], entries[3:]
        turned = blocks.cross(angular, linear)
        spin = blocks.cross(angular, blocks.symmetric_times(upper(self.I), angular))
        moment = blocks.add(spin, blocks.cross(h, turned))
        pull = blocks.cross(angular, blocks.cross(angular, h))
        return Force(array(moment + blocks.add([m * y for y in turned], pull)))

    def __repr__(self) -> str:
        return f"RigidInertia(mass={self.mass}, h={self.h.tolist()}, I={self.I.tolist()})"


class ArticulatedInertia:
    """A symmetric map from motions to forces, [[J, H], [H^T, M]] with symmetric J and M.

    Entries in order: the upper triangle of J by rows (6), H by rows (9), the upper triangle of M by rows (6).
    """

    __slots__ = ("J", "H", "M")
    size = 21

    def __init__(self, J: Any, H: Any, M: Any) -> None:
        self.J: np.ndarray = J if isinstance(J, np.ndarray) else array(J)
        self.H: np.ndarray = H if isinstance(H, np.ndarray) else array(H)
        self.M: np.ndarray = M if isinstance(M, np.ndarray) else array(M)

    @classmethod
    def zero(cls) -> ArticulatedInertia:
        """Return the inertia of nothing."""
        return cls(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)))

    @classmethod
    def from_rigid(cls, inertia: RigidInertia) -> ArticulatedInertia:
        """Return a rigid inertia in the articulated form."""
        m = inertia.mass
        return cls(inertia.I, skew(inertia.h), symmetric([m, 0.0, 0.0, m, 0.0, m]))

    @classmethod
    def from_matrix(cls, matrix: np.ndarray) -> ArticulatedInertia:
        """Return the inertia of a symmetric 6x6 matrix, of which only the upper triangle is read."""
        J, H, M = matrix[:3, :3], matrix[:3, 3:], matrix[3:, 3:]
        return cls(symmetric([J[i] for i in _UPPER]), H, symmetric([M[i] for i in _UPPER]))

    @classmethod
    def from_product(cls, Y: ForceSpace, U: ForceSpace) -> ArticulatedInertia:
        """Return Y U^T, which the caller knows to be symmetric; only the upper triangle is computed."""
        y, u = Y.array.tolist(), U.array.tolist()

        def entry(i: int, j: int) -> Any:
            total = 0.0
            for a, b in zip(y[i], u[j], strict=True):
                total = total + a * b
            return total

        J = symmetric([entry(i, j) for i, j in _UPPER])
        H = array([[entry(i, j) for j in (3, 4, 5)] for i in range(3)])
        M = symmetric([entry(i + 3, j + 3) for i, j in _UPPER])
        return cls(J, H, M)

    @classmethod
    def from_outer(cls, U: ForceSpace, D_inv: np.ndarray) -> ArticulatedInertia:
        """Return U D_inv U^T for a symmetric n x n matrix `D_inv`."""
        return cls.from_product(U * D_inv, U)

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> ArticulatedInertia:
        """Return the inertia with these twenty-one entries."""
        return cls(symmetric(entries[:6]), array(entries[6:15]).reshape(3, 3), symmetric(entries[15:21]))

    def entries(self) -> list[Any]:
        """Return the twenty-one independent entries."""
        return [*upper(self.J), *self.H.ravel().tolist(), *upper(self.M)]

    def matrix(self) -> np.ndarray:
        """Return the 6x6 matrix that takes a motion to a force."""
        return np.vstack([np.hstack([self.J, self.H]), np.hstack([self.H.T, self.M])])

    def felt_through(self, S: MotionSpace, U: ForceSpace, D_inv: np.ndarray) -> ArticulatedInertia:
        """Return what is felt of this inertia through a joint that moves freely in `S`: I - U D_inv U^T.

        `U` = I S and `D_inv` = (S^T U)^-1. A motion in `S` meets no resistance, so wherever a column of `S`
        is a constant unit vector the corresponding row and column of the result are zero. They are written as
        exact zeros here: it removes rounding, and everything traced downstream of it loses those operations.
        """
        free = [i for i in range(6) if _has_unit_column(S, i)]
        difference = self - ArticulatedInertia.from_outer(U, D_inv)
        if not free:
            return difference
        matrix = difference.matrix()
        matrix[free, :] = 0.0
        matrix[:, free] = 0.0
        return ArticulatedInertia.from_matrix(matrix)

    def __add__(self, other: ArticulatedInertia | RigidInertia) -> ArticulatedInertia:
        if isinstance(other, RigidInertia):
            other = ArticulatedInertia.from_rigid(other)
        if not isinstance(other, ArticulatedInertia):
            return NotImplemented
        return ArticulatedInertia(self.J + other.J, self.H + other.H, self.M + other.M)

    def __sub__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        if not isinstance(other, ArticulatedInertia):
            return NotImplemented
        return ArticulatedInertia(self.J - other.J, self.H - other.H, self.M - other.M)

    def __mul__(self, x: Any) -> Any:
        if isinstance(x, (Motion, MotionSpace)):
            w, v = x.array[:3], x.array[3:]
            result = np.concatenate([self.J @ w + self.H @ v, self.H.T @ w + self.M @ v])
            return Force(result) if isinstance(x, Motion) else ForceSpace(result)
        return NotImplemented

    def __repr__(self) -> str:
        return f"ArticulatedInertia(J={self.J.tolist()}, H={self.H.tolist()}, M={self.M.tolist()})"


def _has_unit_column(S: MotionSpace, i: int) -> bool:
    """Return whether some column of `S` is a constant multiple of the i-th unit vector."""
    for column in S.array.T.tolist():
        if not all(isinstance(x, NUMBERS) for x in column):
            continue
        if column[i] != 0 and not any(column[:i] + column[i + 1 :]):
            return True
    return False
