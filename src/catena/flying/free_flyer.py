"""A robot whose base floats and that nothing holds: its momentum ties the motion of the base to that of the joints.

With the components of the base first, v = (v_b, v_m), its momentum as the joint of the base counts it is

    p = H_b v_b + H_bm v_m,

so joints that move as v_m move the base by v_b = H_b^-1 (p - H_bm v_m), and a frame with twist J_b v_b + J_m v_m by
the generalised Jacobian J* = J_m - J_b H_b^-1 H_bm (Umetani and Yoshida) where p = 0. Joint velocities in the null
space of H_bm leave the base alone. A body of the base moves with J_b v_b, so p = J_b^T h for the momentum h about its
origin.

Loops and couplings within the robot leave the base free: v_m = E v_G with independent components v_G (Lampariello,
Abiko and Hirzinger, eq. 4 and 5), so that H_bm E and J_m E take the places of H_bm and J_m.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import ModelError, StateError
from catena.flying.independent import Independent, choose_independent, follow_independent
from catena.kernels import arrays
from catena.kinematics.stacks import apply, inverse, motion_matrices, transposed
from catena.structure.plan import Loop
from catena.system import System
from catena.thresholds import RANK_EXACT
from catena.validation import can_take, is_positive, real_array, shown


class FreeFlyer:
    """What a free-flying robot does with its momentum. `base` is the `Free` joint to ground that its base floats by,
    the only one unless given; the robot is what hangs on it, with all its other `joints`. Joint velocities `v_m` (...,
    m) are those of `joints`, in their order; arrays carry batch dimensions.

    Where the robot has loops or couplings, `joints` are `independent` ones that all others follow: as many components
    as it can move by, motors first unless they are named, chosen at the closed configuration `at` (nq,), by default
    the one that `assemble` finds. `components` (m,) are their places in v, of joints that are independent in part only
    those."""

    def __init__(
        self, system: System, base: str | None = None, independent: Iterable[str] | None = None,
        at: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(system, System):
            raise ModelError(f"FreeFlyer needs a system, found {shown(system)}: plan one with m.system()")
        plan = system.plan
        free = {plan.joint[i]: i for i in plan.floating}
        chosen = (
            list(free) if base is None else [name for name in free if isinstance(base, str) and name == base]
        )
        if len(chosen) != 1:
            raise ModelError(
                f"FreeFlyer: {system.mechanism.name!r} needs one Free joint from ground in its tree; found "
                f"{', '.join(map(repr, free)) or 'none'}: name the joint of the base, or detach what holds the robot"
            )
        self.system, self.base = system, chosen[0]
        own = {free[self.base]}
        for i in range(plan.n):
            if int(plan.parent[i]) in own and i:
                own.add(i)
        self.body = plan.bodies[free[self.base]][0]
        hanging = {plan.joint[i] for i in own} - {self.base}
        self._b = np.arange(system.nv)[system.slice_v(self.base)]
        names = tuple(name for name in system.joints if name in hanging)
        self._m = _places(system.nv, [system.slice_v(name) for name in names])
        self._chosen: Independent | None = None
        self.joints, self.components = names, self._m
        start = None if at is None else system.mechanics.states(at, np.zeros(system.nv))[1][0]
        if self._loops_within(own):
            among = np.isin(np.arange(system.nv), self._m)
            q = system.assemble({}) if start is None else start
            self._chosen = choose_independent(system, q, independent, among)
            self.components = self._chosen.components
            led = set(self.components.tolist())
            self.joints = tuple(
                name for name in names if led & set(_places(system.nv, [system.slice_v(name)]).tolist())
            )
        elif independent is not None and set(
            arrays.as_list("independent", independent, str, "joints")
        ) != set(names):
            raise ModelError(
                f"FreeFlyer: {system.mechanism.name!r} has no loops that its base hangs on, so all its joints are "
                "independent: leave out independent"
            )

    def _loops_within(self, own: set[int]) -> bool:
        """Return whether the robot has loops or couplings, which must not hold it to anything else."""
        plan, found = self.system.plan, False
        for each in plan.constraints:
            if not each.constraints:
                continue
            nodes = {each.child_node, each.parent_node} if isinstance(each, Loop) else each.nodes(plan)
            if nodes & own and (nodes - own):
                to = ", ".join(
                    repr(plan.bodies[i][0]) if plan.bodies[i] else "'ground'" for i in sorted(nodes - own)
                )
                raise ModelError(
                    f"FreeFlyer: {each.name!r} of {self.system.mechanism.name!r} holds the robot on {self.base!r} to "
                    f"{to}, so its momentum is not its own: detach it"
                )
            found = found or bool(nodes & own)
        return found

    def _follow(self, q: ArrayLike) -> np.ndarray | None:
        """Return E (..., m, d), by which all joints of the robot follow independent components; None without loops."""
        if self._chosen is None:
            return None
        batch, rows, _ = self.system.mechanics.states(q, np.zeros(self.system.nv))
        among = np.concatenate([self._chosen.components, self._chosen.dependent])
        # Rows of loops elsewhere say nothing about this robot.
        J = np.zeros((len(rows), *self.system.closure_jacobian(rows).shape[-2:]))
        J[..., among] = self.system.closure_jacobian(rows)[..., among]
        E = follow_independent(J, self._chosen, "FreeFlyer")[:, self._m]
        return E.reshape(*batch, *E.shape[1:])

    def momentum(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the momentum [angular; linear] (..., 6) about the robot's centre of mass, in ground axes."""
        h, (c, _) = self._carried(q, v), self._weighed(q)
        return np.concatenate([h[..., :3] - np.cross(c, h[..., 3:]), h[..., 3:]], axis=-1)

    def centre_of_mass(self, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the robot's centre of mass (..., 3) and its velocity (..., 3) in ground: the origin of a frame in
        which the robot has no linear momentum."""
        h, (c, mass) = self._carried(q, v), self._weighed(q)
        return c, h[..., 3:] / mass[..., None]

    def _carried(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the momentum (..., 6) of the robot about the ground's origin; others that float have theirs."""
        batch, _, rows = self.system.mechanics.states(q, v)
        others = np.ones(self.system.nv, dtype=bool)
        others[np.concatenate([self._b, self._m])] = False
        return self.system.momentum(q, np.where(others, 0.0, rows).reshape(*batch, self.system.nv))

    def _weighed(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the centre of mass (..., 3) and the mass (...) of the robot, which its inertia at the base tells."""
        to_joint = np.linalg.inv(self.system.jacobian(q, self.body)[..., self._b])
        whole = transposed(to_joint) @ self.coupling(q)[0] @ to_joint
        mass = whole[..., 3, 3]
        c = np.stack([whole[..., 2, 4], whole[..., 0, 5], whole[..., 1, 3]], axis=-1) / mass[..., None]
        at = self._placed(q)
        return at[..., :3, 3] + apply(at[..., :3, :3], c), mass

    def _placed(self, q: ArrayLike) -> np.ndarray:
        """Return the pose (..., 4, 4) of a body of the base."""
        pose = self.system.pose(q, self.body)
        return pose if isinstance(pose, np.ndarray) else pose.matrix()

    def coupling(self, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return H_b (..., 6, 6), the inertia of the whole robot at its base, and H_bm (..., 6, m), with loops H_bm
        E."""
        H, E = self.system.mass_matrix(q), self._follow(q)
        H_bm = H[..., self._b[:, None], self._m]
        return H[..., self._b[:, None], self._b], H_bm if E is None else H_bm @ E

    def base_velocity(self, q: ArrayLike, v_m: ArrayLike, momentum: ArrayLike | None = None) -> np.ndarray:
        """Return the velocity (..., 6) of the base's joint when the other joints move with v_m (..., m) and the
        robot has a momentum [angular; linear] (..., 6) about the ground's origin, none unless given."""
        H_b, H_bm = self.coupling(q)
        p = -apply(H_bm, _rows("v_m", v_m, len(self.components), H_bm.shape[:-2]))
        if momentum is not None:
            p = p + self._at_base(q, _rows("momentum", momentum, 6, p.shape[:-1]))
        return np.linalg.solve(H_b, p[..., None])[..., 0]

    def _at_base(self, q: Any, h: np.ndarray) -> np.ndarray:
        """Return a momentum (..., 6) about the ground's origin as the joint of the base counts it."""
        at = self._placed(q)
        # Momenta move like forces: back with the transpose, forth with its inverse.
        X = inverse(motion_matrices(transposed(at[..., :3, :3]), at[..., :3, 3]))
        J_b = self.system.jacobian(q, self.body)[..., self._b]
        return apply(transposed(J_b), apply(transposed(X), h))

    def generalised_jacobian(self, q: ArrayLike, frame: str) -> np.ndarray:
        """Return J* (..., 6, m): the twist of a frame, in its own axes, for joint velocities without momentum."""
        H_b, H_bm = self.coupling(q)
        J, E = self.system.jacobian(q, frame), self._follow(q)
        J_m = J[..., self._m] if E is None else J[..., self._m] @ E
        return J_m - J[..., self._b] @ np.linalg.solve(H_b, H_bm)

    def reaction_null(self, q: ArrayLike) -> np.ndarray:
        """Return a basis (m, k) of the joint velocities at one configuration q (nq,) that leave the base alone."""
        _, H_bm = self.coupling(q)
        if H_bm.ndim > 2:
            raise StateError("reaction_null looks at one configuration; give q with shape (nq,).")
        _, s, Vt = np.linalg.svd(H_bm)
        rank = int(np.count_nonzero(s > RANK_EXACT * max(s.max(initial=0.0), 1e-300)))
        return Vt[rank:].T

    def full_velocity(self, q: ArrayLike, v_m: ArrayLike, momentum: ArrayLike | None = None) -> np.ndarray:
        """Return v (..., nv) of all joints for joint velocities v_m (..., m) and a momentum (..., 6)."""
        v_b = self.base_velocity(q, v_m, momentum)
        v, E = np.zeros((*v_b.shape[:-1], self.system.nv)), self._follow(q)
        v[..., self._b] = v_b
        v[..., self._m] = real_array(v_m) if E is None else apply(E, real_array(v_m))
        return v

    def follow(
        self, path: Callable[[float], tuple[ArrayLike, ArrayLike]], times: ArrayLike, start: ArrayLike,
        momentum: ArrayLike | None = None, step: float | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return q (times, nq) and v (times, nv) of the robot whose joints follow a path: where its base drifts to,
        with a momentum (6,) about the ground's origin in the beginning, none unless given, to which only gravity adds.
        With loops, joints that follow begin near where `start` has them.

        `path(t)` gives positions and velocities of all `joints`, in their order; `start` (nq,) is the configuration to
        begin with, of which all counts that is not the robot's joints. Steps are those of a fourth-order method, no
        longer than `step` [s] (a hundredth of the time unless given).
        """
        system = self.system
        t = self._asked(path, times, step)
        longest = (t[-1] - t[0]) / 100.0 if step is None else float(step)
        where_m = _places(system.nq, [system.slice_q(name) for name in self.joints])
        h0 = np.zeros(6) if momentum is None else _rows("momentum", momentum, 6, ())
        if h0.ndim != 1:
            raise StateError(f"follow: momentum has shape {h0.shape}; give one of shape (6,).")
        batch, begun, _ = system.mechanics.states(start, np.zeros(system.nv))
        if batch:
            raise StateError(f"follow: start has batch dimensions {batch}; give one configuration.")
        q = np.array(begun[0])

        def placed(at: float, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return the configuration and the velocities of the robot's joints at a time."""
            found = path(at)
            if not isinstance(found, tuple | list) or len(found) != 2:
                raise StateError(
                    f"follow: the path gives {shown(found)}; give positions and velocities, a pair."
                )
            here = base.copy()
            here[where_m] = _rows("positions of the path", found[0], len(where_m), ())
            if self._chosen is not None:
                here = system.project(here, held=[self.base, *self.joints])
            return here, _rows("velocities of the path", found[1], len(self.components), ())

        c, mass = self._weighed(placed(float(t[0]), q)[0])
        weight = mass * system.mechanics.gravity

        def rate(at: float, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return the configuration and the velocities of all joints at a time."""
            here, v_m = placed(at, base)
            since = at - t[0]
            # The centre of mass falls as a stone does, so what its weight adds is known.
            fallen = np.cross(since * c + since**2 / 2.0 * h0[3:] / mass, weight)
            return here, self.full_velocity(here, v_m, h0 + np.concatenate([fallen, since * weight]))

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
                k3 = rate(at + h / 2, stepped(here, k2 + h / 4 * self._commuted(k1, k2), h / 2))[1]
                k4 = rate(at + h, stepped(here, k3, h))[1]
                mean = (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
                q = stepped(here, mean + h / 12.0 * self._commuted(k1, k4), h)
            rows.append(rate(float(last), q))
        found = np.array([row[0] for row in rows])
        return found, np.array([row[1] for row in rows])

    def _asked(self, path: Any, times: ArrayLike, step: Any) -> np.ndarray:
        """Return the times (n,) that a path is followed at, or the complaint about what is no path."""
        system = self.system
        if system.variants.parameters:
            raise StateError(
                f"follow is for one robot, and the parameters {', '.join(system.variants.parameters)} differ from "
                f"state to "
                "state; ask for one of them, FreeFlyer(s.vary(parameters).state(k))."
            )
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
        if len(_places(system.nv, [system.slice_v(name) for name in self.joints])) != len(self.components):
            raise StateError(
                f"follow: of the joints {list(self.joints)} some are independent only in part, so they have no path; "
                "name others, FreeFlyer(s, independent=[...])."
            )
        return t

    def _commuted(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return what two velocities (nv,) of the base do not commute by, which Munthe-Kaas' method of the fourth
        order needs; all other joints are where the path has them."""
        found = np.zeros_like(a)
        (a_w, a_v), (b_w, b_v) = np.split(a[self._b], 2), np.split(b[self._b], 2)
        found[self._b] = np.concatenate([np.cross(a_w, b_w), np.cross(a_w, b_v) + np.cross(a_v, b_w)])
        return found


def _places(size: int, parts: list[slice]) -> np.ndarray:
    """Return the numbers of all entries in some parts of an array."""
    return np.concatenate([np.arange(size)[part] for part in parts]) if parts else np.zeros(0, dtype=np.int64)


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
