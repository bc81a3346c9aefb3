"""The spherical joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.joints.axes import Z
from catena.joints.contract import BALL, JointKind, check_unit_quaternion, in_order
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array, quaternion
from catena.spatial.exponential import exponential_rate

# Rotor inertias that differ by less than this part of the largest are the same but for rounding.
ALIKE = 1e-12


@dataclass(frozen=True)
class Spherical(JointKind):
    """Every rotation about the joint frame's origin.

    q = unit quaternion (w, x, y, z) from child-side to parent-side coordinates, v = angular velocity in
    child-side coordinates.
    """

    nq = 4
    nv = 3
    drawn_as = "ball"
    letters = "S"
    words = "spherical"
    velocity_names = ("wx", "wy", "wz")
    position_names = ("qw", "qx", "qy", "qz")
    finds_coordinates_of_symbols = True
    signature = ("Spherical",)
    simple_motions = in_order((BALL, Z))
    quaternion_start = 0

    def transform(self, q: np.ndarray) -> Transform:
        return Transform(quaternion.rotation(q).T, np.zeros(3))

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace(np.eye(6)[:, :3])

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        return ForceSpace(np.eye(6)[:, 3:])

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return quaternion_rate(q, v)

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return quaternion.normalise(quaternion.multiply(q, quaternion.exp(v)))

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return quaternion.log(quaternion.multiply(quaternion.conjugate(q0), q1))

    def local_rate(self, xi: np.ndarray, v: np.ndarray) -> np.ndarray:
        zero = np.zeros(3)
        rate = exponential_rate(Motion(array([*xi, *zero])), Motion(array([*v, *zero])))
        return rate.angular

    def rotor_fault(self, armature: np.ndarray) -> str | None:
        """Return None where inertias are alike about all axes: then the energy is that of a ball that turns with the
        child, which needs no gyroscopic moments."""
        if np.ptp(armature) <= ALIKE * np.max(armature):
            return None
        return "the axes of its angular velocity turn, and rotors that differ about them would gyrate: give one number"

    def coordinates(self, X: Transform) -> np.ndarray:
        return quaternion.from_rotation(X.R.T)

    def neutral(self) -> np.ndarray:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def check(self, q: np.ndarray, joint: str = "") -> None:
        super().check(q, joint)
        check_unit_quaternion(q, f"joint {joint!r}" if joint else "Spherical")


def quaternion_rate(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the rate of the quaternion `q` of a frame that turns with `w`, in its own coordinates."""
    return quaternion.multiply(q, array([0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]]))
