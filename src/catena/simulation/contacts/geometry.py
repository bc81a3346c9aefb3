"""How a point, or the lowest point of a ball, stands and moves over its plane.

In the axes of the plane, with z its normal: the gap, the velocity u of the material point over the plane, and the
Jacobian A and bias b with u' = A vdot + b. For a ball of radius r around a centre that moves with u_c and turns with
Omega relative to the plane, u = u_c + r e_z x Omega.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.kinematics.stacks import skew
from catena.simulation.contacts.contact import Contact
from catena.system import System

_E_Z = np.array([0.0, 0.0, 1.0])
_TURN = skew(_E_Z)


@dataclass(frozen=True, eq=False)
class Touch:
    """A contact at one state: `gap` [m], `u` (3,), `A` (3, nv), `b` (3,), the axes of the plane `E` (3, 3) as rows in
    ground, and the `point` (3,) of contact in ground."""

    contact: Contact
    gap: float
    u: np.ndarray
    A: np.ndarray
    b: np.ndarray
    E: np.ndarray
    point: np.ndarray


@dataclass(frozen=True, eq=False)
class _Side:
    """A frame in ground axes: its origin, axes, velocities, Jacobians, and accelerations for vdot = 0."""

    p: np.ndarray
    R: np.ndarray
    w: np.ndarray
    v: np.ndarray
    J_w: np.ndarray
    J_v: np.ndarray
    alpha: np.ndarray
    a: np.ndarray


def _side(system: System, frame: str, q: np.ndarray, v: np.ndarray) -> _Side:
    pose = system.pose(q, frame)
    R, p = pose.R, pose.p  # type: ignore[union-attr]
    if system.plan.body_pose[frame][0] == 0:
        none, J = np.zeros(3), np.zeros((3, system.nv))
        return _Side(p, R, none, none, J, J, none, none)
    J = system.jacobian(q, frame)
    J_w, J_v = R @ J[:3], R @ J[3:]
    w, u = J_w @ v, J_v @ v
    bias = system.bias_acceleration(q, v, frame)
    return _Side(p, R, w, u, J_w, J_v, R @ bias[:3], R @ bias[3:] + np.cross(w, u))


def touch(system: System, contact: Contact, q: np.ndarray, v: np.ndarray) -> Touch:
    """Return how a contact stands and moves at one state q (nq,), v (nv,)."""
    A, B = _side(system, contact.frame, q, v), _side(system, contact.on, q, v)
    E, r, rho = B.R.T, contact.radius, A.p - B.p
    moves = A.v - B.v
    over = moves - np.cross(B.w, rho)
    turning = A.w - B.w
    u = E @ over + r * _TURN @ (E @ turning)
    J = E @ (A.J_v - B.J_v + skew(rho) @ B.J_w) + r * _TURN @ E @ (A.J_w - B.J_w)
    b_centre = A.a - B.a - np.cross(B.alpha, rho) - np.cross(B.w, moves) - np.cross(B.w, over)
    b_turning = A.alpha - B.alpha - np.cross(B.w, turning)
    b = E @ b_centre + r * _TURN @ (E @ b_turning)
    gap = float(E[2] @ rho) - r
    return Touch(contact, gap, u, J, b, E, A.p - r * E[2])


def gaps(system: System, contacts: Sequence[Contact], q: np.ndarray) -> np.ndarray:
    """Return the gaps (..., contacts) [m] at q (..., nq)."""
    found = []
    for contact in contacts:
        A, B = (
            np.asarray(p if isinstance(p, np.ndarray) else p.matrix())
            for p in (system.pose(q, contact.frame), system.pose(q, contact.on))
        )
        rho = A[..., :3, 3] - B[..., :3, 3]
        found.append(np.einsum("...i,...i->...", B[..., :3, 2], rho) - contact.radius)
    return np.stack(found, axis=-1) if found else np.zeros((*np.shape(q)[:-1], 0))


def wrenches(
    system: System, touches: Sequence[Touch], forces: np.ndarray, q: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the wrenches {frame: (6,)} [moment; force] in their own axes that forces (contacts, 3), in the axes of the
    planes, put on both sides of contacts."""
    found: dict[str, np.ndarray] = {}
    for one, f in zip(touches, forces, strict=True):
        F = one.E.T @ f
        for frame, sign in ((one.contact.frame, 1.0), (one.contact.on, -1.0)):
            if system.plan.body_pose[frame][0] == 0:
                continue
            pose = system.pose(q, frame)
            arm = one.point - pose.p  # type: ignore[union-attr]
            R = pose.R  # type: ignore[union-attr]
            wrench = sign * np.concatenate([R.T @ np.cross(arm, F), R.T @ F])
            found[frame] = found.get(frame, 0.0) + wrench
    return found
