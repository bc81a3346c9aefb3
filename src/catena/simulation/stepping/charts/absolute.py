"""The coordinates of all bodies: every joint, of the tree or of a loop, is a constraint between two of them. Nikravesh,
Gim, Arabyan and Rein, eq. 1 to 4.

Positions of joints are read off the bodies, the nearest that there are, and so are their velocities; by how much bodies
are then not where their joints would have them is the drift of this form. With drift="projection" bodies are put back
after every step, and loops are closed.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from catena.kinematics import stacks
from catena.kinematics.body_jacobians import body_jacobians
from catena.kinematics.extent import extent
from catena.kinematics.kind_values import kind_values, nearest_coordinates
from catena.kinematics.loops.closure import tree_motions
from catena.simulation.stepping.charts.chart import FAR, Charted
from catena.simulation.stepping.charts.joint import Imposed
from catena.system import System


class AbsoluteChart:
    """Of every body (those welded together are one) the rotation vector from where it began and its position in ground
    [m], then the twists [angular; linear] in the axes of the bodies: y (12 n,)."""

    def __init__(self, system: System, imposed: Imposed | None) -> None:
        self.system, self.plan, self.imposed = system, system.plan, imposed
        self.n = self.plan.n - 1
        self.placements = stacks.motion_matrices(self.plan.placement_R, self.plan.placement_p)
        self.origin, self.R = np.zeros(system.nq), np.zeros((self.n, 3, 3))

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Begin at a time and a state q (nq,), v (nv,), and return its coordinates (12 n,)."""
        (y,) = self.begin_each(q[None], v[None])
        self.origin, self.R = q, self.R[0]
        return y

    def begin_each(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Begin at states q (rows, nq), v (rows, nv), and return their coordinates (rows, 12 n), each next to its
        own."""
        self.origin = q
        E, p, twists = self._bodies(q, v)
        self.R = np.swapaxes(E, -1, -2)
        pose = np.concatenate([np.zeros_like(p), p], axis=-1)
        return np.concatenate([pose.reshape(len(q), 6 * self.n), twists.reshape(len(q), 6 * self.n)], axis=1)

    def begin_some(self, rows: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Begin some of the rows of `begin_each` anew, and return their coordinates."""
        again = copy(self)
        y = again.begin_each(q, v)
        self.origin[rows], self.R[rows] = again.origin, again.R
        return y

    def among(self, rows: np.ndarray) -> AbsoluteChart:
        """Return the coordinates of some of the rows of `begin_each`."""
        some = copy(self)
        some.origin, some.R = self.origin[rows], self.R[rows]
        return some

    def states(self, t: float, y: np.ndarray) -> Charted:
        """Return the states of joints that bodies with coordinates y (rows, 12 n) show at a time."""
        plan, n = self.plan, self.n
        pose, twist = y[:, : 6 * n].reshape(-1, n, 6), y[:, 6 * n :].reshape(-1, n, 6)
        R = self.R @ _exponential(pose[..., :3])
        ground = np.zeros((len(y), 1, 6))
        X = np.concatenate(
            [np.broadcast_to(np.eye(6), (len(y), 1, 6, 6)),
             stacks.motion_matrices(np.swapaxes(R, -1, -2), pose[..., 3:])], axis=1
        )  # fmt: skip
        V = np.concatenate([ground, twist], axis=1)
        q, v = np.zeros((len(y), self.system.nq)), np.zeros((len(y), self.system.nv))
        for i in range(1, plan.n):
            kind, a = plan.kind[i], int(plan.parent[i])
            assert kind is not None
            across = X[:, i] @ stacks.inverse(X[:, a])
            at = slice(int(plan.q_start[i]), int(plan.q_start[i] + plan.q_size[i]))
            own = nearest_coordinates(
                kind, across @ stacks.inverse(self.placements[i])[None],
                np.broadcast_to(self.origin[..., at], (len(y), at.stop - at.start)),
            )  # fmt: skip
            if kind.nq == kind.nv + 1:
                # A quaternion goes on from where it was.
                along = np.sum(own[:, -4:] * self.origin[..., at][..., -4:], axis=-1, keepdims=True)
                own[:, -4:] *= np.where(along < 0.0, -1.0, 1.0)
            q[:, at] = own
            S = kind_values(kind, own, np.zeros(kind.nv)).S
            relative = V[:, i] - stacks.apply(across, V[:, a])
            v[:, plan.v_start[i] : plan.v_start[i] + plan.v_size[i]] = stacks.apply(
                stacks.pseudo_inverse(S), relative
            )
        if self.imposed is not None:
            q, v = self.imposed(t, q, v)
        return Charted(q, v, y)

    def rates(self, at: Charted, vdot: np.ndarray) -> np.ndarray:
        """Return the rates (rows, 12 n) of the coordinates of bodies whose joints accelerate by vdot (rows, nv)."""
        n, y = self.n, at.local
        pose, twist = y[:, : 6 * n].reshape(-1, n, 6), y[:, 6 * n :].reshape(-1, n, 6)
        R = self.R @ _exponential(pose[..., :3])
        motions = tree_motions(self.system.mechanics.evaluator, at.q, at.v)
        B, bias = body_jacobians(self.plan, motions, np.zeros((len(y), 6)))
        a = stacks.apply(B[:, 1:], vdot[:, None]) + bias[:, 1:]
        turning = stacks.apply(_to_rates(pose[..., :3]), twist[..., :3])
        moving = stacks.apply(R, twist[..., 3:])
        return np.concatenate(
            [np.concatenate([turning, moving], axis=-1).reshape(len(y), -1), a.reshape(len(y), -1)], axis=1
        )

    def is_spent(self, at: Charted) -> bool:
        """Return whether a body has turned far."""
        return bool(self.spent(at).any())

    def spent(self, at: Charted) -> np.ndarray:
        """Return in which states (rows,) a body has turned far."""
        turned = at.local[:, : 6 * self.n].reshape(len(at.local), -1, 6)[..., :3]
        found: np.ndarray = np.linalg.norm(turned, axis=-1).max(axis=-1, initial=0.0) > FAR
        return found

    def gap(self, y: np.ndarray, at: Charted) -> float:
        """Return how far bodies are from where their joints would have them, as an angle or a part of the mechanism's
        size; velocities as a part of the speed, or of 1 if that is more."""
        return float(self.gaps(y[None], at)[0])

    def gaps(self, y: np.ndarray, at: Charted) -> np.ndarray:
        """Return the same (rows,) for coordinates y (rows, 12 n)."""
        n, length, rows = self.n, extent(self.plan), len(y)
        E, p, twists = self._bodies(at.q, at.v)
        pose, twist = y[:, : 6 * n].reshape(rows, n, 6), y[:, 6 * n :].reshape(rows, n, 6)
        turned = np.swapaxes(E, -1, -2) - self.R @ _exponential(pose[..., :3])
        sizes = np.array([1.0] * 3 + [length] * 3)
        speed = np.abs(twist / sizes).max(axis=(1, 2), initial=1.0)[:, None, None]
        parts = [turned, (p - pose[..., 3:]) / length, (twists - twist) / sizes / speed]
        return np.max([np.abs(x).reshape(rows, -1).max(axis=1, initial=0.0) for x in parts], axis=0)

    def _bodies(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return of all bodies the rotations E (rows, n, 3, 3) from ground, positions (rows, n, 3) in it, and twists
        (rows, n, 6)."""
        motions = tree_motions(self.system.mechanics.evaluator, q, v)
        X = np.array(np.broadcast_to(np.eye(6), motions.X.shape))
        for i in range(1, self.plan.n):
            X[:, i] = motions.X[:, i] @ X[:, self.plan.parent[i]]
        E, p = stacks.parts(X[:, 1:])
        B, _ = body_jacobians(self.plan, motions, np.zeros((len(q), 6)))
        return E, p, stacks.apply(B[:, 1:], v[:, None])


def _exponential(phi: np.ndarray) -> np.ndarray:
    """Return the rotations (..., 3, 3) by rotation vectors phi (..., 3)."""
    angle = np.linalg.norm(phi, axis=-1)[..., None, None]
    K = stacks.skew(phi)
    half = 0.5 * angle
    return np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * np.sinc(half / np.pi) ** 2 * (K @ K)


def _to_rates(phi: np.ndarray) -> np.ndarray:
    """Return the matrices (..., 3, 3) that take angular velocities in turned axes to rates of the rotation vectors phi
    (..., 3), of less than a turn."""
    angle = np.linalg.norm(phi, axis=-1)[..., None, None]
    half = 0.5 * angle
    small = half < 1e-2
    safe = np.where(small, 1.0, half)
    part = np.where(small, (1.0 + half**2 / 15.0 + 2.0 * half**4 / 315.0) / 12.0,
                    (1.0 - safe / np.tan(safe)) / (4.0 * safe**2))  # fmt: skip
    K = stacks.skew(phi)
    return np.eye(3) + 0.5 * K + part * (K @ K)
