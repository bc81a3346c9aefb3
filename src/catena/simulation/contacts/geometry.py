"""How points, and the lowest points of balls, stand and move over their planes: all contacts and many states at once.

In ground coordinates let the two bodies of a contact have the twists V_a and V_b, and let x be the point of the first
that is nearest to the plane, E the axes of the plane as rows with its normal last. The material points at x move
against each other with

    u = T (V_a - V_b),   T = E [-x~  1],      u' = T (a_a - a_b) + E (omega_ab x x' - omega_b x (E^T u)),

so that with the motion spaces of all joints as rows S, counted positive on the way to the first body and negative on
the way to the other, u' = A vdot + b with A = T S^T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.kinematics.ground_motions import ground_motions
from catena.kinematics.stacks import crossed, skew
from catena.simulation.contacts.contact import Contact
from catena.system import System


@dataclass(frozen=True, eq=False)
class Touches:
    """Contacts at some states: `gap` (states, contacts) [m], `u` (states, contacts, 3), `A` (states, contacts, 3, nv),
    `b` (states, contacts, 3), and `T` (states, contacts, 3, 6), which takes twists about the ground's origin to
    velocities at the contacts; the last rows belong to the normals. `at` (states, contacts, 3) is where the frames are
    in the axes of their planes, and `stands` how all nodes stand."""

    gap: np.ndarray
    u: np.ndarray
    A: np.ndarray
    b: np.ndarray
    T: np.ndarray
    at: np.ndarray
    stands: np.ndarray

    def only(self, contacts: Sequence[int]) -> Touches:
        """Return those of some of the contacts."""
        k = list(contacts)
        gap, u, A, b, T, at = (x[:, k] for x in (self.gap, self.u, self.A, self.b, self.T, self.at))
        return Touches(gap, u, A, b, T, at, self.stands)


class Places:
    """Where the contacts of a system are on its bodies."""

    def __init__(self, system: System, contacts: Sequence[Contact]) -> None:
        self.system, self.contacts = system, tuple(contacts)
        plan, count = system.plan, len(self.contacts)
        self.a, self.b = (
            np.array([plan.body_pose[name][0] for name in names], dtype=np.int64)
            for names in ([c.frame for c in self.contacts], [c.on for c in self.contacts])
        )
        self.p_a = np.array([plan.body_pose[c.frame][1].p for c in self.contacts]).reshape(count, 3)
        self.p_b = np.array([plan.body_pose[c.on][1].p for c in self.contacts]).reshape(count, 3)
        self.R_b = np.array([plan.body_pose[c.on][1].R for c in self.contacts]).reshape(count, 3, 3)
        self.r = np.array([c.radius for c in self.contacts])
        self.friction = np.array([c.friction for c in self.contacts])
        self.restitution = np.array([c.restitution for c in self.contacts])
        self.labels = [c.label for c in self.contacts]
        on_way = np.zeros((plan.n, plan.spread.nv))
        for i in range(1, plan.n):
            on_way[i] = on_way[plan.parent[i]]
            on_way[i, plan.rows(i)] = 1.0
        self.sign = (on_way[self.a] - on_way[self.b])[:, None, :]
        # Nodes of a flexible body share coordinates.
        self.shares = None if plan.owner is None else np.eye(plan.nv)[plan.v_index]
        # Forces of contacts are told at one body of each node that moves.
        self.nodes = np.array(sorted({int(i) for i in (*self.a, *self.b)} - {0}), dtype=np.int64)
        self.bodies = tuple(plan.bodies[i][0] for i in self.nodes)
        own = [plan.body_pose[body][1] for body in self.bodies]
        self.R_body = np.array([pose.R for pose in own]).reshape(-1, 3, 3)
        self.p_body = np.array([pose.p for pose in own]).reshape(-1, 3)
        self.pushed = 1.0 * (self.nodes[:, None] == self.a) - (self.nodes[:, None] == self.b)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Return the gaps (states, contacts) [m] at q (states, nq)."""
        return self.at(q, np.zeros((len(q), self.system.nv))).gap

    def at(self, q: np.ndarray, v: np.ndarray) -> Touches:
        """Return how all contacts stand and move at the states q (states, nq), v (states, nv)."""
        found = self.system.evaluator.evaluate(ground_motions, {"q": q, "qd": v})
        stands, V, a = found["stands"], found["v"], found["a"]
        stands[:, 0] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
        V[:, 0] = a[:, 0] = 0.0
        R_a, R_b = (stands[:, i, :9].reshape(len(q), -1, 3, 3) for i in (self.a, self.b))
        p_a = stands[:, self.a, 9:] + _turned_back(R_a, self.p_a)
        p_b = stands[:, self.b, 9:] + _turned_back(R_b, self.p_b)
        E = np.swapaxes(self.R_b, -1, -2) @ R_b
        normal = E[:, :, 2]
        at = (E @ (p_a - p_b)[..., None])[..., 0]
        gap = at[..., 2] - self.r
        x = p_a - self.r[:, None] * normal
        T = np.concatenate([-(E @ skew(x)), E], axis=-1)
        dV, w_b = V[:, self.a] - V[:, self.b], V[:, self.b, :3]
        u = (T @ dV[..., None])[..., 0]
        moves = V[:, self.a, 3:] + crossed(V[:, self.a, :3], p_a) - self.r[:, None] * crossed(w_b, normal)
        turning = crossed(dV[..., :3], moves) - crossed(w_b, _turned_back(E, u))
        b = (T @ (a[:, self.a] - a[:, self.b])[..., None] + E @ turning[..., None])[..., 0]
        A = (T @ np.swapaxes(found["S_rows"], -1, -2)[:, None]) * self.sign
        if self.shares is not None:
            A = A @ self.shares
        return Touches(gap, u, A, b, T, at, stands)

    def wrenches(self, touches: Touches, forces: np.ndarray) -> dict[str, np.ndarray]:
        """Return the wrenches {body: (states, 6)} [moment; force] in their own axes at their origins that forces
        (states, contacts, 3), in the axes of the planes, put on both sides of contacts."""
        F = self.pushed @ (forces[..., None, :] @ touches.T)[..., 0, :]
        R = touches.stands[:, self.nodes, :9].reshape(len(F), -1, 3, 3)
        axes = np.swapaxes(self.R_body, -1, -2) @ R
        p = touches.stands[:, self.nodes, 9:] + _turned_back(R, self.p_body)
        parts = np.stack([F[..., :3] - crossed(p, F[..., 3:]), F[..., 3:]], axis=-1)
        found = np.swapaxes(axes @ parts, -1, -2).reshape(len(F), -1, 6)
        return {body: found[:, k] for k, body in enumerate(self.bodies)}


def _turned_back(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return R^T x for rotations (..., 3, 3) and vectors (..., 3)."""
    return (x[..., None, :] @ R)[..., 0, :]
