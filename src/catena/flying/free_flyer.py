"""A robot whose base floats and that nothing holds: its momentum ties the motion of the base to that of the joints.

With the components of the base first, v = (v_b, v_m), its momentum in the axes of the base is

    p = H_b v_b + H_bm v_m,

so joints that move as v_m move the base by v_b = H_b^-1 (p - H_bm v_m), and a frame with twist J_b v_b + J_m v_m by the
generalised Jacobian J* = J_m - J_b H_b^-1 H_bm (Umetani and Yoshida) where p = 0. Joint velocities in the null space of
H_bm leave the base alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import ModelError, StateError
from catena.given import can_take, is_positive, real_array, shown
from catena.joints import Free
from catena.kinematics.stacks import apply, motion_matrices, transposed
from catena.mechanism import GROUND
from catena.system import System

# Singular values of H_bm below this part of the largest are zero.
RANK = 1e-10


class FreeFlyer:
    """What a free-flying robot does with its momentum. `base` is the `Free` joint to ground that its base floats by,
    the only one unless given. Loops are not for it. Joint velocities `v_m` (..., nv - 6) are those of all other joints,
    in the order of `joints`; arrays carry batch dimensions."""

    def __init__(self, system: System, base: str | None = None) -> None:
        if not isinstance(system, System):
            raise ModelError(f"FreeFlyer needs a system, found {shown(system)}: plan one with m.system()")
        joints = system.mechanism.joints
        free = [
            name for name in system.joints
            if name in joints and isinstance(joints[name].kind, Free) and joints[name].parent == GROUND
        ]  # fmt: skip
        chosen = free if base is None else [name for name in free if isinstance(base, str) and name == base]
        if len(chosen) != 1 or system.plan.total_constraints:
            raise ModelError(
                f"FreeFlyer: {system.mechanism.name!r} needs one Free joint from ground in its tree and no loops; "
                f"found {', '.join(map(repr, free)) or 'none'} and {system.plan.total_constraints} constraints of "
                "loops: name the joint of the base, or detach what holds the robot"
            )
        self.system, self.base = system, chosen[0]
        self.body = joints[self.base].child
        self._b = np.arange(system.nv)[system.slice_v(self.base)]
        self._m = np.setdiff1d(np.arange(system.nv), self._b)
        self.joints = tuple(name for name in system.joints if name != self.base)

    def momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the momentum [angular; linear] (..., 6) about the centre of mass, in ground axes."""
        h, c = self.system.momentum(q, v), self.system.center_of_mass(q)
        return np.concatenate([h[..., :3] - np.cross(c, h[..., 3:]), h[..., 3:]], axis=-1)

    def centre_of_mass(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the centre of mass (..., 3) and its velocity (..., 3) in ground: the origin of a frame in which the
        robot has no linear momentum."""
        mass = self.system.plan.inertia[1:, 0].sum()
        return self.system.center_of_mass(q), self.system.momentum(q, v)[..., 3:] / mass

    def coupling(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return H_b (..., 6, 6), the inertia of the whole robot at its base, and H_bm (..., 6, nv - 6)."""
        H = self.system.mass_matrix(q)
        return H[..., self._b[:, None], self._b], H[..., self._b[:, None], self._m]

    def base_velocity(self, q: ArrayLike, v_m: ArrayLike, momentum: ArrayLike | None = None) -> np.ndarray:
        """Return the velocity (..., 6) of the base's joint when the other joints move with v_m (..., nv - 6) and the
        robot has a momentum [angular; linear] (..., 6) about the ground's origin, none unless given."""
        H_b, H_bm = self.coupling(q)
        p = -apply(H_bm, _rows("v_m", v_m, len(self._m), H_bm.shape[:-2]))
        if momentum is not None:
            p = p + self._at_base(q, _rows("momentum", momentum, 6, p.shape[:-1]))
        return np.linalg.solve(H_b, p[..., None])[..., 0]

    def _at_base(self, q: Any, h: np.ndarray) -> np.ndarray:
        """Return a momentum (..., 6) about the ground's origin as the joint of the base counts it: at its child-side
        frame, in its axes."""
        joint = self.system.mechanism.joints[self.base]
        pose = self.system.pose(q, self.body)
        matrix = pose if isinstance(pose, np.ndarray) else pose.matrix()
        at = matrix @ joint.in_child.matrix()
        X = motion_matrices(transposed(at[..., :3, :3]), at[..., :3, 3])
        # Momenta move like forces: back with the transpose, forth with its inverse.
        return np.asarray(np.linalg.solve(transposed(X), h[..., None])[..., 0])

    def generalised_jacobian(self, q: ArrayLike, frame: str) -> np.ndarray:
        """Return J* (..., 6, nv - 6): the twist of a frame, in its own axes, for joint velocities without momentum."""
        H_b, H_bm = self.coupling(q)
        J = self.system.jacobian(q, frame)
        return J[..., self._m] - J[..., self._b] @ np.linalg.solve(H_b, H_bm)

    def reaction_null(self, q: ArrayLike) -> np.ndarray:
        """Return a basis (nv - 6, k) of the joint velocities at one configuration q (nq,) that leave the base alone."""
        _, H_bm = self.coupling(q)
        if H_bm.ndim > 2:
            raise StateError("reaction_null looks at one configuration; give q with shape (nq,).")
        _, s, Vt = np.linalg.svd(H_bm)
        rank = int(np.count_nonzero(s > RANK * max(s.max(initial=0.0), 1e-300)))
        return Vt[rank:].T

    def full_velocity(self, q: ArrayLike, v_m: ArrayLike, momentum: ArrayLike | None = None) -> np.ndarray:
        """Return v (..., nv) of all joints for joint velocities v_m (..., nv - 6) and a momentum (..., 6)."""
        v_b = self.base_velocity(q, v_m, momentum)
        v = np.zeros((*v_b.shape[:-1], self.system.nv))
        v[..., self._b], v[..., self._m] = v_b, real_array(v_m)
        return v

    def follow(
        self, path: Callable[[float], tuple[ArrayLike, ArrayLike]], times: ArrayLike, start: ArrayLike,
        momentum: ArrayLike | None = None, step: float | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return q (times, nq) and v (times, nv) of the robot whose joints follow a path: where its base drifts to,
        with a constant momentum (6,), none unless given.

        `path(t)` gives positions and velocities of all joints but the base's, in the order of `joints`; `start` (nq,)
        is the configuration to begin with, of which the base's part counts. Steps are those of a fourth-order method,
        no longer than `step` [s] (a hundredth of the time unless given).
        """
        system = self.system
        try:
            t = real_array(times)
        except ValueError:
            t = np.zeros(0)
        if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all() or np.any(np.diff(t) <= 0.0):
            raise StateError(f"follow: times are {shown(times)}; give increasing ones, at least two.")
        if not can_take(path, "t"):
            raise StateError(
                f"follow: {shown(path)} is no function of t; give one of positions and velocities."
            )
        if step is not None and not is_positive(step):
            raise StateError(f"follow: step is {shown(step)}; give a positive number of seconds, or None.")
        longest = (t[-1] - t[0]) / 100.0 if step is None else float(step)
        where_b = np.arange(system.nq)[system.slice_q(self.base)]
        where_m = np.setdiff1d(np.arange(system.nq), where_b)
        batch, begun, _ = system.states(start, np.zeros(system.nv))
        if batch:
            raise StateError(f"follow: start has batch dimensions {batch}; give one configuration.")
        q = np.array(begun[0])

        def rate(at: float, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return the configuration and the velocities of all joints at a time."""
            found = path(at)
            if not isinstance(found, tuple | list) or len(found) != 2:
                raise StateError(
                    f"follow: the path gives {shown(found)}; give positions and velocities, a pair."
                )
            here = base.copy()
            here[where_m] = _rows("positions of the path", found[0], len(where_m), ())
            v_m = _rows("velocities of the path", found[1], len(self._m), ())
            return here, self.full_velocity(here, v_m, momentum)

        def stepped(base: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
            return system.integrate(base, v, h)

        rows = [rate(float(t[0]), q)]
        for first, last in zip(t, t[1:], strict=False):
            count = max(1, int(np.ceil((last - first) / longest)))
            h = (last - first) / count
            for k in range(count):
                at = first + k * h
                here, k1 = rate(at, q)
                k2 = rate(at + h / 2, stepped(here, k1, h / 2))[1]
                k3 = rate(at + h / 2, stepped(here, k2, h / 2))[1]
                k4 = rate(at + h, stepped(here, k3, h))[1]
                q = _rkmk(system, here, (k1, k2, k3, k4), h)
            rows.append(rate(float(last), q))
        found = np.array([row[0] for row in rows])
        return found, np.array([row[1] for row in rows])


def _rows(what: str, value: Any, width: int, batch: tuple[int, ...]) -> np.ndarray:
    """Return numbers (..., width) that go with a batch, or the complaint that they do not."""
    try:
        found = real_array(value)
    except ValueError as error:
        raise StateError(
            f"{what} is {shown(value)} ({error}); give numbers of shape (..., {width})."
        ) from error
    if found.ndim < 1 or found.shape[-1] != width or not np.isfinite(found).all():
        raise StateError(
            f"{what} has shape {found.shape} or entries that are not finite; give numbers of shape (..., {width})."
        )
    try:
        np.broadcast_shapes(found.shape[:-1], batch)
    except ValueError:
        raise StateError(
            f"{what} has shape {found.shape}, which does not go with a batch of {batch}."
        ) from None
    return found


def _rkmk(system: System, q: np.ndarray, k: tuple[np.ndarray, ...], h: float) -> np.ndarray:
    """Return q after a step of the fourth order on the manifold of q: the mean of four velocities, and what those of a
    rigid body do not commute by (Munthe-Kaas)."""
    mean = (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3]) / 6.0
    commuted = np.zeros_like(mean)
    for joint in system.joints:
        at = system.slice_v(joint)
        if at.stop - at.start == 6:
            a, b = k[0][at], k[3][at]
            commuted[at][:3] = np.cross(a[:3], b[:3])
            commuted[at][3:] = np.cross(a[:3], b[3:]) + np.cross(a[3:], b[:3])
    return system.integrate(q, mean + h / 12.0 * commuted, h)
