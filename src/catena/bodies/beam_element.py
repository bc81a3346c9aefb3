"""A beam element in space with six displacements at each end, Euler's and Bernoulli's or Timoshenko's.

Displacements are told in the axes of the element, x along it: (u, v, w) and the rotations about x, y, z of the first
end, then those of the second. Extension and torsion are linear along it; deflection v and rotation of the sections are
the exact ones under end loads, so that stiffness is exact and shear does not lock (Przemieniecki's functions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.bodies.contract import Floats

GAUSS = np.polynomial.legendre.leggauss(5)
"""Products of two shapes are integrated exactly."""


@dataclass(frozen=True, eq=False)
class Section:
    """The section and material of an element: `area`, second moments `I_y` and `I_z`, `density`, `young`, the
    `torsion` stiffness G J, and the shear stiffnesses k G A along y and z, infinite for slender beams."""

    area: float
    I_y: float
    I_z: float
    density: float
    young: float
    torsion: float
    shear_y: float = np.inf
    shear_z: float = np.inf


@dataclass(frozen=True, eq=False)
class BeamElement:
    """An element of a length [m] with a section."""

    length: float
    section: Section

    def bending(self, xi: Floats, direction: str, derivative: int = 0) -> tuple[Floats, Floats]:
        """Return deflections and rotations of sections (n, 4), or their derivatives by x, at parts xi (n,) of the
        length, for the deflection and the slope at the first and at the second end."""
        L, s = self.length, self.section
        bends, sheared = (s.I_z, s.shear_y) if direction == "y" else (s.I_y, s.shear_z)
        P = 12.0 * s.young * bends / (sheared * L**2)
        mu = 1.0 / (1.0 + P)
        deflection = [
            [1.0 + P, -P, -3.0, 2.0],
            [0.0, L * (1.0 + P / 2), -L * (2.0 + P / 2), L],
            [0.0, P, 3.0, -2.0],
            [0.0, -L * P / 2, -L * (1.0 - P / 2), L],
        ]
        rotation = [
            [0.0, -6.0 / L, 6.0 / L],
            [1.0 + P, -4.0 - P, 3.0],
            [0.0, 6.0 / L, -6.0 / L],
            [0.0, -2.0 + P, 3.0],
        ]
        found = []
        for rows in (deflection, rotation):
            values = [np.polynomial.Polynomial(row).deriv(derivative)(xi) for row in rows]
            found.append(mu * np.stack(np.broadcast_arrays(*values), axis=1) / L**derivative)
        return found[0], found[1]

    def fields(self, xi: Floats, derivative: int = 0) -> tuple[Floats, Floats]:
        """Return displacement and rotation (n, 3, 12) of sections at parts xi (n,) of the length, or their
        derivatives by x."""
        n, L = len(xi), self.length
        S, R = np.zeros((n, 3, 12)), np.zeros((n, 3, 12))
        ends = (1.0 - xi, xi) if derivative == 0 else (np.full(n, -1.0 / L), np.full(n, 1.0 / L))
        if derivative > 1:
            ends = (np.zeros(n), np.zeros(n))
        for first, along in zip((0, 6), ends, strict=True):
            S[:, 0, first], R[:, 0, first + 3] = along, along
        moved, turned = self.bending(xi, "y", derivative)
        S[:, 1, [1, 5, 7, 11]], R[:, 2, [1, 5, 7, 11]] = moved, turned
        # A deflection along z turns sections about -y.
        moved, turned = self.bending(xi, "z", derivative)
        sign = np.array([1.0, -1.0, 1.0, -1.0])
        S[:, 2, [2, 4, 8, 10]], R[:, 1, [2, 4, 8, 10]] = moved * sign, -turned * sign
        return S, R

    def stiffness(self) -> Floats:
        """Return the stiffness matrix (12, 12)."""
        xi, w = (1.0 + GAUSS[0]) / 2.0, GAUSS[1] / 2.0 * self.length
        s = self.section
        _, turned = self.fields(xi)
        strained, bent = self.fields(xi, 1)
        K = np.zeros((12, 12))
        rows = [
            (strained[:, 0], s.young * s.area),
            (bent[:, 0], s.torsion),
            (bent[:, 1], s.young * s.I_y),
            (bent[:, 2], s.young * s.I_z),
        ]
        if np.isfinite(s.shear_y):
            rows.append((strained[:, 1] - turned[:, 2], s.shear_y))
        if np.isfinite(s.shear_z):
            rows.append((strained[:, 2] + turned[:, 1], s.shear_z))
        for row, stiff in rows:
            K += row.T @ (w[:, None] * stiff * row)
        return K

    def middle_stiffness(self) -> Floats:
        """Return the stiffness (6,) of one end against the other about and along the axes, in the middle, where a
        moment only bends and a force only shears: turns by h / EI, displacements by h^3 / (12 EI) + h / (k G A)."""
        h, s = self.length, self.section
        across = [
            1.0 / (h**3 / (12.0 * s.young * bends) + h / shear)
            for bends, shear in ((s.I_z, s.shear_y), (s.I_y, s.shear_z))
        ]
        about = np.array([s.torsion, s.young * s.I_y, s.young * s.I_z, s.young * s.area]) / h
        return np.concatenate([about, across])

    def particles(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return masses (n,), the parts of the length (n,) at which they are, their offsets (n, 3) from the axis, and
        their displacements (n, 3, 12): four around each Gauss point, with the inertia of the section."""
        xi, w = (1.0 + GAUSS[0]) / 2.0, GAUSS[1] / 2.0 * self.length
        s = self.section
        S, R = self.fields(xi)
        mass = w * s.density * s.area / 4.0
        masses, places, offsets, moved = [], [], [], []
        for axis, second in ((1, s.I_z), (2, s.I_y)):
            for sign in (1.0, -1.0):
                offset = np.zeros(3)
                offset[axis] = sign * np.sqrt(2.0 * second / s.area)
                masses.append(mass)
                places.append(xi)
                offsets.append(np.tile(offset, (len(xi), 1)))
                moved.append(S + np.cross(R, offset, axisa=1, axisb=0, axisc=1))
        found = tuple(np.concatenate(x) for x in (masses, places, offsets, moved))
        return found[0], found[1], found[2], found[3]
