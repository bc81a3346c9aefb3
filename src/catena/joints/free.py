"""The free joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.joints.axes import Z
from catena.joints.contract import FREE, JointKind, check_unit_quaternion, in_order
from catena.joints.spherical import Spherical, quaternion_rate
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform, array, quaternion
from catena.spatial.exponential import displacement, exponential_rate, velocity


@dataclass(frozen=True)
class Free(JointKind):
    """No constraint at all: six degrees of freedom, as a floating base has.

    q = (x, y, z, w, x, y, z): the child's origin in parent-side coordinates and the unit quaternion from
    child-side to parent-side coordinates. v = [omega; v]: the twist of the child in its own coordinates.
    `integrate` follows a constant twist.
    """

    nq = 7
    nv = 6
    drawn_as = "none"
    letters = "F"
    words = "free (6 dof)"
    velocity_names = ("wx", "wy", "wz", "vx", "vy", "vz")
    position_names = ("x", "y", "z", *Spherical.position_names)
    finds_coordinates_of_symbols = True
    signature = ("Free",)
    simple_motions = in_order((FREE, Z))
    is_floating = True
    quaternion_start = 3
    turning = (0, 1, 2)

    def transform(self, q: np.ndarray) -> Transform:
        return Transform(quaternion.rotation(q[3:]).T, q[:3])

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        return MotionSpace(np.eye(6))

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        return Motion.zero()

    def constraint_space(self, q: np.ndarray) -> ForceSpace:
        return ForceSpace.zero(0)

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([quaternion.rotation(q[3:]) @ v[3:], quaternion_rate(q[3:], v[:3])])

    def integrate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        p = q[:3] + quaternion.rotation(q[3:]) @ displacement(v[:3], v[3:])
        return np.concatenate([p, quaternion.normalise(quaternion.multiply(q[3:], quaternion.exp(v[:3])))])

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        w = quaternion.log(quaternion.multiply(quaternion.conjugate(q0[3:]), q1[3:]))
        return np.concatenate([w, velocity(w, quaternion.rotation(q0[3:]).T @ (q1[:3] - q0[:3]))])

    def local_rate(self, xi: np.ndarray, v: np.ndarray) -> np.ndarray:
        return exponential_rate(Motion(xi), Motion(v)).array

    def rotor_fault(self, armature: np.ndarray) -> str | None:
        return "nothing drives a body that floats, and a body with rotors along its turning axes would fly a curve"

    def coordinates(self, X: Transform) -> np.ndarray:
        return array([*X.p, *quaternion.from_rotation(X.R.T)])

    def neutral(self) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def check(self, q: np.ndarray, joint: str = "") -> None:
        super().check(q, joint)
        check_unit_quaternion(np.asarray(q)[..., 3:], f"joint {joint!r}" if joint else "Free")
