"""How points and balls stand and move over planes and other balls: all contacts and many states at once.

In ground coordinates let the two bodies of a contact have the twists V_a and V_b, and let x be the point of the first
that is nearest to the second, E the axes of the contact as rows with its normal n last. The material points at x move
against each other with

    u = T (V_a - V_b),   T = E [-x~  1],      u' = T (a_a - a_b) + E (omega_ab x x' - Omega x (E^T u)),

where E turns with Omega, so that with the motion spaces of all joints as rows S, counted positive on the way to the
first body and negative on the way to the other, u' = A vdot + b with A = T S^T. On a plane E has its axes. On a ball n
points from its centre to that of the other, and the tangential axes are those of `on`, turned by the least angle with
which its reference axis becomes n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.forces.smooth import smooth_sign
from catena.kinematics.extent import extent
from catena.kinematics.ground_motions import ground_motions
from catena.kinematics.loops.closure import loop_state
from catena.kinematics.stacks import cross, crossed, from_entries, skew, to_frame
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.dry_component import DryComponent
from catena.simulation.contacts.height_field import HeightField
from catena.simulation.contacts.kept import Kept, can_keep
from catena.simulation.contacts.stop import StopSide
from catena.spatial import Pose
from catena.structure.plan import Loop
from catena.system import System

# Slips slower than this [sizes/s] are none, of contacts and of components with dry friction.
SLIPS, TURNS = 1e-6, 1e-10
# The part of what a component with dry friction can hold beyond which it gives way.
HELD = 1e-9


@dataclass(frozen=True, eq=False)
class Touches:
    """Contacts at some states: `gap` (states, contacts) [m], `u` (states, contacts, 3), `A` (states, contacts, 3, nv),
    `b` (states, contacts, 3), and `T` (states, contacts, 3, 6), which takes twists about the ground's origin to
    velocities at the contacts; the last rows belong to the normals. `at` (states, contacts, 3) is where the frames are
    in the axes of those that they are on, `E` (states, contacts, 3, 3) the axes of the contacts, `axes` those of the
    frames that they are on, and `stands` how all nodes stand. `alone` (contacts,) is the mobility of what nothing else
    takes part in: of components with dry friction, across their direction."""

    gap: np.ndarray
    u: np.ndarray
    A: np.ndarray
    b: np.ndarray
    T: np.ndarray
    at: np.ndarray
    E: np.ndarray
    axes: np.ndarray
    stands: np.ndarray
    alone: np.ndarray

    def only(self, contacts: Sequence[int]) -> Touches:
        """Return those of some of the contacts."""
        k = list(contacts)
        if k == list(range(self.gap.shape[1])):
            return self
        own = (self.gap, self.u, self.A, self.b, self.T, self.at, self.E, self.axes)
        gap, u, A, b, T, at, E, axes = (x[:, k] for x in own)
        return Touches(gap, u, A, b, T, at, E, axes, self.stands, self.alone[k])

    def in_frame_axes(self, f: np.ndarray) -> np.ndarray:
        """Return forces or impulses (states, contacts, 3) in the axes of the frames that contacts are on, from those in
        the axes of the contacts."""
        return f if self.E is self.axes else _over(f, self.E, self.axes)

    def in_own_axes(self, f: np.ndarray) -> np.ndarray:
        """Return the forces or impulses (states, contacts, 3) in the axes of the contacts from those in the axes of
        the frames that contacts are on."""
        return f if self.E is self.axes else _over(f, self.axes, self.E)


def _over(f: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return vectors (states, contacts, 3) over from some axes (states, contacts, 3, 3), their rows, to others."""
    return np.asarray((after @ (f[..., None, :] @ before).swapaxes(-1, -2))[..., 0])


class ContactPlaces:
    """Where the contacts of a system are on its bodies. `reference` (contacts, 3) are the directions in the axes of the
    frames `on` from which the axes of contacts with balls are turned, z unless `refer` has found better ones."""

    def __init__(
        self, system: System, contacts: Sequence[Contact | StopSide | DryComponent],
        reference: np.ndarray | None = None, alone: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.system, self.contacts = system, tuple(contacts)
        plan, count = system.plan, len(self.contacts)
        placed = [_sides(system, contact) for contact in self.contacts]
        self.a, self.b = (np.array([each[k][0] for each in placed], dtype=np.int64) for k in (0, 1))
        poses = [each[k][1] for k in (0, 1) for each in placed]
        self.both = np.concatenate([self.a, self.b])
        self.p_both = np.array([pose.p for pose in poses]).reshape(2 * count, 1, 3)
        self.back_b = np.array([pose.R.T for pose in poses[count:]]).reshape(count, 3, 3)
        self.back_a = np.array([pose.R.T for pose in poses[:count]]).reshape(count, 3, 3)
        touching = [c if isinstance(c, Contact) else None for c in self.contacts]
        self.r = np.array([0.0 if c is None else c.radius for c in touching])
        self.round = np.array([c is not None and c.on_radius is not None for c in touching], dtype=bool)
        self.R = np.array([0.0 if c is None else c.on_radius or 0.0 for c in touching])
        self.stops = [(k, c) for k, c in enumerate(self.contacts) if isinstance(c, StopSide)]
        self.dry = [(k, c) for k, c in enumerate(self.contacts) if isinstance(c, DryComponent)]
        self.cut = [k for k, c in self.dry if c.of not in system.joints]
        """The components with dry friction of joints that close loops."""
        self.unit = np.zeros((count, 6))
        """The unit forces of these that do not turn as wrenches, in the axes of the child's node at its origin."""
        self.turning = [
            (k, c)
            for k, c in self.dry
            if k in self.cut and not _loop(system, c.of).kind.has_constant_motion_space
        ]
        """Those of joints whose motions turn while they move, so that their unit forces do."""
        for k, c in ((k, c) for k, c in self.dry if k in self.cut and (k, c) not in self.turning):
            loop = _loop(system, c.of)
            S = loop.kind.motion_space(loop.kind.neutral()).array
            self.unit[k] = np.linalg.pinv(S)[c.index] @ to_frame(loop.child_pose)
        self.is_dry = np.array([isinstance(c, DryComponent) for c in self.contacts], dtype=bool)
        self.alone = 1.0 * self.is_dry if alone is None else alone
        # A point that sticks stays where it is on the other side, whatever is round there; a ball on a ball rolls.
        self.rims = np.array([c is not None and c.rim > 0.0 for c in touching], dtype=bool)
        self.bent = [
            (k, c) for k, c in enumerate(touching) if c is not None and (c.rim or c.floor is not None)
        ]
        self.rolls = ((self.r > 0.0) & (~self.round | (self.R > 0.0))) | self.rims
        self.turns = self.round | np.array(
            [c is not None and c.floor is not None for c in touching], dtype=bool
        )
        """Whose normals are not those of the frames that they are on."""
        self.reference = np.tile([0.0, 0.0, 1.0], (count, 1)) if reference is None else reference
        self.friction = np.array([0.0 if c is None else c.friction for c in touching]) + 1.0 * self.is_dry
        self.restitution = np.array([c.restitution for c in self.contacts])
        # Contacts of a run that give something back do it by one law (`checking`).
        laws = [c.restitution_law for c in touching if c is not None and c.restitution > 0.0]
        self.law = laws[0] if laws else "newton"
        self.labels = [c.label for c in self.contacts]
        on_way = np.zeros((plan.n, plan.spread.nv))
        for i in range(1, plan.n):
            on_way[i] = on_way[plan.parent[i]]
            on_way[i, plan.rows(i)] = 1.0
        self.sign = (on_way[self.a] - on_way[self.b])[:, None, :]
        # Nodes of a flexible body share coordinates.
        self.shares = None if plan.owner is None else np.eye(plan.nv)[plan.v_index]
        # Forces of contacts are told at the bodies that move and touch, so that what welds them feels it.
        frames = [(c.frame, c.on) if isinstance(c, Contact) else ("", "") for c in self.contacts]
        self._touched = tuple(
            np.array(
                [_body_at(system, each[k], i) for each, i in zip(frames, nodes.tolist(), strict=True)],
                dtype=object,
            )
            for k, nodes in enumerate((self.a, self.b))
        )
        self._bodies_of: dict[tuple[int, ...], tuple[str, ...]] = {}
        self.bodies = self.bodies_of(range(count))
        self.nodes = np.array([plan.body_pose[body][0] for body in self.bodies], dtype=np.int64)
        own = [plan.body_pose[body][1] for body in self.bodies]
        self.back_body = np.array([pose.R.T for pose in own]).reshape(-1, 3, 3)
        self.p_body = np.array([pose.p for pose in own]).reshape(-1, 1, 3)
        names = np.array(self.bodies, dtype=object)[:, None]
        first, second = self._touched
        self.pushed = 1.0 * (names == first) - 1.0 * (names == second)

    def bodies_of(self, contacts: Sequence[int]) -> tuple[str, ...]:
        """Return the bodies at which the forces of some of the contacts are told."""
        key = tuple(contacts)
        if key not in self._bodies_of:
            found = {body for side in self._touched for body in side[list(key)].tolist()} - {""}
            self._bodies_of[key] = tuple(
                sorted(found, key=lambda body: (self.system.plan.body_pose[body][0], body))
            )
        return self._bodies_of[key]

    def some(self, contacts: Sequence[int]) -> ContactPlaces:
        """Return where some of the contacts are."""
        k = list(contacts)
        return ContactPlaces(self.system, [self.contacts[i] for i in k], self.reference[k], self.alone[k])

    def refer(self, q: np.ndarray) -> None:
        """Take the directions of contacts with balls at a configuration q (nq,) as those from which axes are turned."""
        if self.round.any():
            at = self.at(q[None], np.zeros((1, self.system.nv))).at[0]
            size = np.maximum(np.linalg.norm(at, axis=-1), 1e-300)[:, None]
            self.reference = np.where(self.round[:, None], at / size, self.reference)

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Return the gaps (states, contacts) [m] at q (states, nq)."""
        return self.at(q, np.zeros((len(q), self.system.nv))).gap

    @cached_property
    def _motions(self) -> Kept | None:
        return Kept(self.system, ground_motions, 1) if can_keep(self.system) else None

    def _found(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return how all nodes stand and move."""
        found = None
        if len(q) == 1 and self._motions is not None:
            found = self._motions(q=q, qd=v)
            if found is not None:
                found = {**found, "stands": found["stands"].copy()}
        if found is None:
            found = self.system.mechanics.evaluator.evaluate(ground_motions, {"q": q, "qd": v})
        found["stands"][:, 0] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
        found["v"][:, 0] = found["a"][:, 0] = 0.0
        return found

    def at(self, q: np.ndarray, v: np.ndarray) -> Touches:
        """Return how all contacts stand and move at the states q (states, nq), v (states, nv)."""
        found, k = self._found(q, v), len(self.contacts)
        stands = found["stands"]
        R, p, V, moves = self._moving(found)
        axes = self.back_b @ R[:, k:]
        p_a, apart = p[:, :k], p[:, :k] - p[:, k:]
        at = (axes @ apart[..., None])[..., 0]
        w_b, dV = V[:, k:, :3], V[:, :k] - V[:, k:]
        E, normal, gap = axes, axes[:, :, 2], at[..., 2] - self.r
        turns = w_b
        tilts = crossed(w_b, normal)
        if self.round.any():
            some = self.round[:, None]
            far = np.maximum(np.sqrt((apart * apart).sum(axis=-1, keepdims=True)), 1e-300)
            n = np.where(some, apart / far, normal)
            E = np.where(some[..., None], self._turned(axes, n), axes)
            gap = np.where(self.round, far[..., 0] - self.r - self.R, gap)
            drifts = (moves[:, :k] - moves[:, k:]) / far
            tilts = np.where(some, drifts - (drifts * n).sum(axis=-1, keepdims=True) * n, tilts)
            spin = (w_b * n).sum(axis=-1, keepdims=True) * n
            turns = np.where(some, crossed(n, tilts) + spin, w_b)
            normal = n
        r = self.r[:, None]
        arm, swings = -r * normal, -r * tilts
        if self.bent:
            normal, tilts = np.array(normal), np.array(tilts)
            for i, contact in self.bent:
                axis = R[:, i].swapaxes(-1, -2) @ self.back_a[i].T[:, 2]
                seen = axes[:, i]
                drifts = moves[:, i] - moves[:, k + i] - crossed(w_b[:, i], apart[:, i])
                spins = crossed(V[:, i, :3] - w_b[:, i], axis)
                gap[:, i], *met = contact.met(
                    at[:, i], *((seen @ x[..., None])[..., 0] for x in (axis, drifts, spins))
                )
                n, n_rate, there, there_rate = ((x[..., None, :] @ seen)[..., 0, :] for x in met)
                normal[:, i], tilts[:, i] = n, n_rate + crossed(w_b[:, i], n)
                arm[:, i], swings[:, i] = there, there_rate + crossed(w_b[:, i], there)
            some = self.turns[:, None] & ~self.round[:, None]
            E = np.where(some[..., None], self._turned(axes, normal), E)
            spin = (w_b * normal).sum(axis=-1, keepdims=True) * normal
            turns = np.where(some, crossed(normal, tilts) + spin, turns)
        T = np.concatenate([-(E @ skew(p_a + arm)), E], axis=-1)
        u = (T @ dV[..., None])[..., 0]
        turning = crossed(dV[..., :3], moves[:, :k] + swings) - crossed(
            turns, (u[..., None, :] @ E)[..., 0, :]
        )
        a = found["a"][:, self.both]
        b = (T @ (a[:, :k] - a[:, k:])[..., None] + E @ turning[..., None])[..., 0]
        A = (T @ np.swapaxes(found["S_rows"], -1, -2)[:, None]) * self.sign
        if self.shares is not None:
            A = A @ self.shares
        self._along_joints(found, q, v, (gap, u, A, b, T))
        return Touches(gap, u, A, b, T, at, E, axes, stands, self.alone)

    def _along_joints(
        self, found: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray, those: tuple[np.ndarray, ...]
    ) -> None:
        """Write how stops and components with dry friction stand and move to `those` of `Touches`."""
        gap, u, A, b, T = those
        for k, stop in self.stops:
            gap[:, k], u[:, k], A[:, k], b[:, k], T[:, k] = 1.0, 0.0, 0.0, 0.0, 0.0
            if stop.of in self.system.joints:
                column = self.system.slice_v(stop.of).start + stop.index
                node = self.system.plan.joint.index(stop.of)
                S = found["S_rows"][:, self.system.plan.rows(node)]
                gap[:, k] = stop.sign * (q[:, self.system.slice_q(stop.of).start + stop.index] - stop.limit)
                u[:, k, 2], A[:, k, 2, column] = stop.sign * v[:, column], stop.sign
                # The least wrench whose power is that of the joint force.
                T[:, k, 2] = stop.sign * np.linalg.pinv(S)[:, :, stop.index]
        for k, dry in self.dry:
            gap[:, k], u[:, k], A[:, k], b[:, k], T[:, k] = 0.0, 0.0, 0.0, 0.0, 0.0
            if k in self.cut:
                u[:, k, 0], A[:, k, 0], b[:, k, 0], T[:, k, 0] = self._across(found, k)
                continue
            column = self.system.slice_v(dry.of).start + dry.index
            S = found["S_rows"][:, self.system.plan.rows(self.system.plan.joint.index(dry.of))]
            u[:, k, 0], A[:, k, 0, column] = v[:, column], 1.0
            T[:, k, 0] = np.linalg.pinv(S)[:, :, dry.index]
        for k, dry in self.turning:
            u[:, k, 0], A[:, k, 0], b[:, k, 0], T[:, k, 0] = self._across_turning(found, q, v, k, dry)

    def _across(self, found: dict[str, np.ndarray], k: int) -> tuple[np.ndarray, ...]:
        """Return how a component of a joint that closes a loop moves (states,), by the velocities of the tree (states,
        nv), how it accelerates without them (states,), and its unit wrench (states, 6), which turns with the child."""
        first, second = self.a[k], self.b[k]
        V_a, V_b = found["v"][:, first], found["v"][:, second]
        w = self.unit[k] @ from_entries(found["stands"][:, first])
        turns = found["a"][:, first] - found["a"][:, second] + cross(V_a, V_b)
        A = (found["S_rows"] @ w[..., None])[..., 0] * self.sign[k]
        A = A if self.shares is None else A @ self.shares
        return (w * (V_a - V_b)).sum(axis=-1), A, (w * turns).sum(axis=-1), w

    def _across_turning(
        self, found: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray, k: int, dry: DryComponent
    ) -> tuple[np.ndarray, ...]:
        """Return the same of a joint whose motions turn, which are those where it stands."""
        state = loop_state(self.system.mechanics.evaluator, dry.of, q, v)
        row = state.S_inv[:, dry.index]
        w = row[:, None] @ to_frame(state.loop.child_pose) @ from_entries(found["stands"][:, self.a[k]])
        drift = (row * state.drift).sum(axis=-1)
        return state.v[:, dry.index], (row[:, None] @ state.J_rel)[:, 0], drift, w[:, 0]

    def pressed(
        self, u: np.ndarray, slips: np.ndarray, sense: np.ndarray, load: np.ndarray, whole: bool = False
    ) -> np.ndarray:
        """Return the accelerations (..., contacts) of the normals of components with dry friction, zero elsewhere, by
        the pressures of those that stick, and of those that `slips` in a `sense` (..., contacts), at velocities u (...,
        contacts) along them, of which the `load` (..., contacts) makes so much."""
        found = np.zeros(u.shape)
        for k, dry in self.dry:
            most = dry.pressure(u[..., k], slips[..., k], sense[..., k], whole, load[..., k])
            found[..., k] = -self.alone[k] * most
        return found

    def pressed_now(self, u: np.ndarray, load: np.ndarray, whole: bool = False) -> np.ndarray:
        """Return the same of components that slip unless they are at rest."""
        return self.pressed(u, 1.0 * (np.abs(u) > self.still), np.sign(u), load, whole)

    @cached_property
    def in_joints(self) -> list[tuple[int, int]]:
        """Return the contacts that are forces inside joints, stops and dry friction: which contact, and which row of
        its force."""
        stops = [(k, 2) for k, x in self.stops if x.of in self.system.joints]
        return stops + [(k, 0) for k, _ in self.dry]

    @cached_property
    def dry_columns(self) -> list[tuple[int, int]]:
        """Return the contacts that are components with dry friction of joints of the tree, and which velocities these
        are."""
        of_tree = ((k, x) for k, x in self.dry if k not in self.cut)
        return [(k, int(self.system.slice_v(x.of).start) + x.index) for k, x in of_tree]

    @cached_property
    def stops_of(self) -> dict[int, list[int]]:
        """Return the stops of each component with dry friction that has some, by number."""
        found = {
            k: [i for i, stop in self.stops if (stop.of, stop.index) == (x.of, x.index)] for k, x in self.dry
        }
        return {k: stops for k, stops in found.items() if stops}

    def nothing(self, f: np.ndarray, none: np.ndarray) -> np.ndarray:
        """Return below how much forces f (states, contacts, 3) are none: of components with dry friction that is a part
        of what they can hold, however much others bear."""
        return np.where(self.is_dry, np.minimum(none, HELD * np.abs(f[..., 2])), none)

    @cached_property
    def still(self) -> np.ndarray:
        """Return the slips (contacts,) [m/s or rad/s] that are none."""
        return np.where(self.is_dry, TURNS, SLIPS) * extent(self.system.plan)

    @cached_property
    def none(self) -> list[float]:
        """Return the same as plain numbers."""
        return self.still.tolist()

    def smooth_friction(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what the dynamics take for friction that goes smoothly through rest, of components whose friction
        contacts have, at states q (states, nq), v (states, nv): of each contact (states, contacts), and off joint
        forces (states, nv)."""
        own, at_tree = np.zeros((len(v), len(self.contacts))), np.zeros_like(v)
        rubs = {k: dry.friction for k, dry in self.dry}
        for k, column in self.dry_columns:
            own[:, k] = at_tree[:, column] = rubs[k] * smooth_sign(v[:, column])
        if self.cut:
            touches = self.at(q, v)
            for k in self.cut:
                own[:, k] = rubs[k] * smooth_sign(touches.u[:, k, 0])
                at_tree += own[:, k, None] * touches.A[:, k, 0]
        return own, at_tree

    @cached_property
    def on_fields(self) -> list[tuple[int, HeightField]]:
        """Return the contacts whose floors are height fields, and these."""
        return [(k, c.floor) for k, c in self.bent if c.floor is not None]

    def fields(self, q: np.ndarray) -> np.ndarray:
        """Return what height fields are like (states, numbers) where contacts are at q (states, nq), as
        `dynamics.contacts.contact_forces.touch_field` reads it: a place in the axes of the frame `on`, how far the
        floor is below it, its normal there, and how that turns with the place."""
        k, rows = len(self.contacts), list[np.ndarray]()
        R, p, _, _ = self._moving(self._found(q, np.zeros((len(q), self.system.nv))))
        for i, floor in self.on_fields:
            axes = self.back_b[i] @ R[:, k + i]
            at = (axes @ (p[:, i] - p[:, k + i])[..., None])[..., 0]
            gap, n, bends = floor.nearest(at)
            rows += [at, gap[:, None], n, bends.reshape(len(q), 9)]
        return np.concatenate(rows, axis=-1)

    def centres(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the frames that touch are from those that they are on, and how that changes, (states, contacts,
        3) each in the axes of ground, at the states q (states, nq), v (states, nv)."""
        k = len(self.contacts)
        _, p, _, moves = self._moving(self._found(q, v))
        return p[:, :k] - p[:, k:], moves[:, :k] - moves[:, k:]

    def _moving(self, found: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the axes and the twists of the nodes of both sides, and where frames on them are and move to, from how
        all nodes stand and move."""
        both, V = found["stands"][:, self.both], found["v"][:, self.both]
        R = both[..., :9].reshape(*both.shape[:2], 3, 3)
        p = both[..., 9:] + (self.p_both @ R)[..., 0, :]
        return R, p, V, V[..., 3:] + crossed(V[..., :3], p)

    def _turned(self, axes: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Return axes (states, contacts, 3, 3) whose last is n (states, contacts, 3): axes of which the last is the
        reference, turned by the least angle."""
        z, x = self.reference, turned_from(self.reference)
        m = (axes @ n[..., None])[..., 0]
        c = 1.0 + (m * z).sum(axis=-1, keepdims=True)
        # Rodrigues: t becomes t - (t m) (m + z) / (1 + z m), for t across z.
        first = x - (x * m).sum(axis=-1, keepdims=True) / np.maximum(c, 1e-12) * (m + z)
        rows = np.stack([first, crossed(m, first), m], axis=-2)
        return np.asarray(rows @ axes)

    def wrenches(self, touches: Touches, forces: np.ndarray) -> dict[str, np.ndarray]:
        """Return the wrenches {body: (states, 6)} [moment; force] in their own axes at their origins that forces
        (states, contacts, 3), in the axes of the contacts, put on both sides of contacts."""
        F = self.pushed @ (forces[..., None, :] @ touches.T)[..., 0, :]
        own = touches.stands[:, self.nodes]
        R = own[..., :9].reshape(len(F), -1, 3, 3)
        p = own[..., 9:] + (self.p_body @ R)[..., 0, :]
        parts = np.stack([F[..., :3] - crossed(p, F[..., 3:]), F[..., 3:]], axis=-1)
        found = np.swapaxes(self.back_body @ R @ parts, -1, -2).reshape(len(F), -1, 6)
        return {body: found[:, k] for k, body in enumerate(self.bodies)}


def turned_from(z: np.ndarray) -> np.ndarray:
    """Return a direction (contacts, 3) across each of the directions z (contacts, 3)."""
    other = np.where(np.abs(z[:, :1]) < 0.6, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    x = crossed(other, z)
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300))


def _body_at(system: System, frame: str, node: int) -> str:
    """Return the body of a frame at which a force on a node can be told, the first one of the node if the frame has
    none or its body is in several nodes; nothing on ground."""
    if node == 0:
        return ""
    frames, plan = system.mechanism.frames, system.plan
    body = frames[frame].body if frame in frames else frame
    return body if plan.body_pose.get(body, (0, None))[0] == node else plan.bodies[node][0]


def _sides(
    system: System, contact: Contact | StopSide | DryComponent
) -> tuple[tuple[int, Pose], tuple[int, Pose]]:
    """Return the nodes of both sides of a contact, and where it is on them."""
    plan = system.plan
    if isinstance(contact, Contact):
        return plan.body_pose[contact.frame], plan.body_pose[contact.on]
    if isinstance(contact, DryComponent) and contact.of not in system.joints:
        loop = _loop(system, contact.of)
        return (loop.child_node, Pose()), (loop.parent_node, Pose())
    if contact.of not in system.joints:
        # A joint that is locked now needs no stops.
        return (0, Pose()), (0, Pose())
    node = plan.joint.index(contact.of)
    return (node, Pose()), (int(plan.parent[node]), Pose())


def _loop(system: System, joint: str) -> Loop:
    """Return a joint that closes a loop as the plan has it."""
    return next(loop for loop in system.plan.loop_joints if loop.name == joint)
