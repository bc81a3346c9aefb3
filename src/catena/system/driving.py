"""Driving a mechanism with loops through its range: where it goes, how fast, and where it can go no further.

The closed configurations of a mechanism with one freedom are a curve in q. It is followed by its length, not by the
driven coordinate, so that it does not matter that the driven coordinate turns back at a dead point: there the curve has
a tangent along which the driver stands still. On both sides of the start it is followed to a dead point, to a limit of
a joint, once round, or as far as was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.closed.problem import LoopProblem
from catena.errors import LoopError, StateError
from catena.given import is_finite, shown
from catena.hooks import hook
from catena.joints import Revolute
from catena.mechanism.validation import known
from catena.system.quick_assembly import QuickAssembly

if TYPE_CHECKING:
    from catena.system.system import System
    from catena.view.course import Course

# Steps along the curve [rad or characteristic lengths], the shortest one, and how many at most.
STEP, SHORTEST, MOST = 0.05, 1e-9, 20_000
# Singular values below this part of the largest belong to motions.
RANK = 1e-8
# Where the driver moves by less than this part of the fastest joint, it stands still.
STILL = 1e-10
# Where it moves by less than this, its rate says nothing about the others.
ALMOST_STILL = 1e-6
TURN = 2.0 * np.pi


@dataclass(frozen=True)
class End:
    """Where a way ends: the `value` of the driven coordinate, the `reason` ("dead point", "limit", "full turn" or
    "asked for"), the `joint` whose limit it is, and the configuration q (nq,)."""

    value: float
    reason: str
    joint: str
    q: np.ndarray


@dataclass(frozen=True, eq=False)
class Drive:
    """A mechanism driven at a constant rate: the driven coordinate `values` (n,), configurations `q` (n, nq),
    velocities `v` (n, nv) and accelerations `vdot` (n, nv), and the two ends of the way.

    At a dead point the driver cannot move at a rate of its own, and v and vdot are NaN there.
    """

    system: System
    joint: str
    values: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    ends: tuple[End, End]

    def __repr__(self) -> str:
        low, high = self.ends
        return (
            f"Drive({self.joint!r} from {low.value:.6g} ({low.reason}) to {high.value:.6g} ({high.reason}), "
            f"{len(self.values)} configurations)"
        )

    @property
    def range(self) -> tuple[float, float]:
        """Return the lowest and the highest value of the driven coordinate."""
        return self.ends[0].value, self.ends[1].value

    @property
    def dead_points(self) -> tuple[End, ...]:
        """Return the ends at which the driver can go no further because the loops do not let it."""
        return tuple(end for end in self.ends if end.reason == "dead point")

    @property
    def turns(self) -> bool:
        """Return whether the driver can turn all the way round."""
        return all(end.reason == "full turn" for end in self.ends)

    def __getitem__(self, joint: str) -> np.ndarray:
        """Return the coordinates of a joint, tree or loop, (n, nq of the joint)."""
        return self.system.joint_position(self.q, joint)

    def pose(self, frame: str) -> np.ndarray:
        """Return the poses of a frame or body in ground, (n, 4, 4)."""
        return np.asarray(self.system.pose(self.q, frame))

    def position(self, frame: str) -> np.ndarray:
        """Return the origin of a frame or body in ground, (n, 3)."""
        return self.pose(frame)[:, :3, 3]

    def velocity(self, frame: str) -> np.ndarray:
        """Return the velocity of the origin of a frame or body, (n, 3) in ground axes."""
        return self._at_moving(lambda q, v, a: self.system.twist(q, v, frame, axes="aligned")[..., 3:])

    def acceleration(self, frame: str) -> np.ndarray:
        """Return the acceleration of the origin of a frame or body, (n, 3) in ground axes."""
        return self._at_moving(
            lambda q, v, a: self.system.acceleration(q, v, a, frame, axes="aligned")[..., 3:]
        )

    def _at_moving(self, ask: Any) -> np.ndarray:
        moving = np.isfinite(self.v).all(axis=-1)
        found = np.full((len(self.values), 3), np.nan)
        if moving.any():
            found[moving] = ask(self.q[moving], self.v[moving], self.vdot[moving])
        return found

    def course(self) -> Course:
        """Return the configurations as something to play: `course().view()`, `save_html`, `save_video`."""
        return hook("course")(self.system, self.q)

    def transmission_angle(self, joint: str, between: tuple[str, str] | None = None) -> np.ndarray:
        """Return the angle (n,) [rad, 0 to pi] at a joint between the lines to two others, one on each of the bodies it
        connects: pi / 2 is best, and at 0 or pi the one body can only push or pull the other.

        `between` names the two joints where a body has more than two.
        """
        mechanism = self.system.mechanism
        joints = mechanism.joints
        known("joint", joint, joints, repr(mechanism.name))
        ends = joints[joint].parent, joints[joint].child
        others = []
        for number, body in enumerate(ends):
            near = [n for n, j in joints.items() if n != joint and body in (j.parent, j.child)]
            if between is not None:
                near = [n for n in near if n == between[number]] or [n for n in near if n in between]
            if len(near) != 1:
                raise StateError(
                    f"Body {body!r} of joint {joint!r} has the other joints {near}: say which two joints the lines go "
                    f"to, between=(one on {ends[0]!r}, one on {ends[1]!r})."
                )
            others.append(near[0])
        corner, a, b = (self._joint_place(name) for name in (joint, *others))
        a, b = a - corner, b - corner
        sine = np.linalg.norm(np.cross(a, b), axis=-1)
        return np.arctan2(sine, np.einsum("ij,ij->i", a, b))

    def _joint_place(self, name: str) -> np.ndarray:
        """Return where a joint is in ground, (n, 3), on its parent's side."""
        joint = self.system.mechanism.joints[name]
        poses = self._poses[joint.parent]
        return poses[:, :3, :3] @ joint.in_parent.p + poses[:, :3, 3]

    @cached_property
    def _poses(self) -> dict[str, np.ndarray]:
        return self.system.body_poses(self.q)


class Way:
    """The curve of closed configurations on which one joint is driven, others being held."""

    def __init__(self, system: System, quick: QuickAssembly, joint: str, held: Mapping[str, Any]) -> None:
        self.system, self.quick, self.joint = system, quick, joint
        self.column = system.slice_v(joint).start
        self.free = np.ones(system.nv, dtype=bool)
        for name in held:
            self.free[system.slice_v(name)] = False
        self.columns = np.flatnonzero(self.free)
        self.units = quick.scales.units[self.columns]

    def tangent(self, q: np.ndarray, along: np.ndarray | None) -> np.ndarray:
        """Return the unit tangent (nv,) of the curve at q (nq,), in radians and lengths, that goes on `along` (nv,)."""
        J = self.quick.errors(q[None], self.columns)[1][0] * self.units
        _, sigma, Vt = np.linalg.svd(J)
        rank = int(np.sum(sigma > RANK * sigma.max(initial=1.0)))
        freedom = len(self.columns) - rank
        if freedom != 1 and along is None:
            raise LoopError(
                f"{self.system.mechanism.name!r} has {freedom} degrees of freedom where {self.joint!r} starts: "
                + (
                    "it cannot move."
                    if freedom == 0
                    else "hold other joints, hold={joint: position}, until one is left."
                )
            )
        t = np.zeros(self.system.nv)
        if along is None:
            t[self.columns] = Vt[-1]
            return t * (np.sign(t[self.column]) or 1.0)
        # Where two ways meet, go on as straight as possible.
        N = Vt[min(rank, len(self.columns) - 1) :]
        t[self.columns] = N.T @ (N @ along[self.columns])
        return t / np.linalg.norm(t)

    def on(self, q: np.ndarray, t: np.ndarray, h: float) -> np.ndarray | None:
        """Return the closed configuration (nq,) about h further along the curve; None if there is none near."""
        start = self.quick.moved(q[None], (h * t * self.quick.scales.units)[None])
        found, closed = self.quick.close(start, self.columns)
        if not closed[0]:
            return None
        way = self.quick.between(q[None], found)[0] / self.quick.scales.units
        return found[0] if abs(float(way @ t) - h) < 0.3 * abs(h) else None

    def value(self, q: np.ndarray) -> float:
        """Return the driven coordinate."""
        return float(q[self.system.slice_q(self.joint)][0])


def drive(
    system: System, quick: QuickAssembly, joint: str, start: np.ndarray, to: tuple[float, float] | None,
    samples: int, rate: float, held: Mapping[str, Any],
) -> Drive:  # fmt: skip
    """Return the mechanism driven through its range from a closed configuration `start` (nq,)."""
    way = Way(system, quick, joint, held)
    along = way.tangent(start, None)
    if abs(along[way.column]) <= STILL:
        raise LoopError(
            f"Joint {joint!r} stands at a dead point of {system.mechanism.name!r}: start elsewhere."
        )
    nodes_back, low = _one_way(way, start, -along, to)
    nodes_on, high = _one_way(way, start, along, to)
    if low.reason == high.reason == "full turn" and to is None:
        # Once round is enough: from the start on.
        nodes_back, low = [start], End(way.value(start), "full turn", "", start)
    nodes = np.array([*reversed(nodes_back), *nodes_on[1:]])
    at = nodes[:, system.slice_q(joint)][:, 0]
    values = np.linspace(low.value, high.value, samples)
    q = _sampled(system, joint, values, at, nodes, held, (low, high))
    v, vdot = _rates(system, way, q, rate)
    return Drive(system, joint, values, q, v, vdot, (low, high))


def _one_way(
    way: Way, start: np.ndarray, along: np.ndarray, to: tuple[float, float] | None
) -> tuple[list[np.ndarray], End]:
    """Return configurations on the way in one direction, and its end."""
    q, t, h = start, along, STEP
    sign = np.sign(along[way.column])
    begun = way.value(start)
    goal = None if to is None else (to[1] if sign > 0 else to[0])
    is_turning = isinstance(way.system.plan.kind[way.system.plan.joint.index(way.joint)], Revolute)
    nodes = [start]
    if goal is not None and sign * (goal - begun) <= 0.0:
        return nodes, End(begun, "asked for", "", start)
    for _ in range(MOST):
        new = way.on(q, t, h)
        if new is None:
            h *= 0.5
            if h < SHORTEST:
                raise LoopError(
                    f"The way of {way.system.mechanism.name!r} ends at {way.joint} = {way.value(q):.6g}, where its "
                    f"loops do not say how it goes on; drive another joint."
                )
            continue
        t_new = way.tangent(new, t)
        end = _end(way, q, t, new, t_new, h, sign, begun, goal, is_turning)
        if end is not None:
            nodes.append(end.q)
            return nodes, end
        q, t, h = new, t_new, min(STEP, 2.0 * h)
        nodes.append(q)
    raise LoopError(
        f"The way of {way.joint!r} in {way.system.mechanism.name!r} does not end; say how far to go, to=(low, high)."
    )


def _end(
    way: Way, q: np.ndarray, t: np.ndarray, new: np.ndarray, t_new: np.ndarray, h: float, sign: float, begun: float,
    goal: float | None, is_turning: bool,
) -> End | None:  # fmt: skip
    """Return the end that lies between two configurations on the way, the first if there are several."""
    tests: list[tuple[str, str, Any]] = [
        ("dead point", "", lambda x, tx: -sign * tx[way.column]),
    ]
    if goal is not None:
        tests.append(("asked for", "", lambda x, tx: sign * (way.value(x) - goal)))
    if is_turning and goal is None:
        tests.append(("full turn", "", lambda x, tx: sign * (way.value(x) - begun) - TURN))
    for name, where, bound, up in _limits(way):
        tests.append(("limit", name, lambda x, tx, where=where, bound=bound, up=up: up * (x[where] - bound)))
    found: list[tuple[float, End]] = []
    for reason, name, beyond in tests:
        if beyond(new, t_new) > 0.0 >= beyond(q, t):
            length, at = _located(way, q, t, h, beyond)
            found.append((length, End(way.value(at), reason, name, at)))
    if not found:
        return None
    end = min(found, key=lambda pair: pair[0])[1]
    exact = {"asked for": goal, "full turn": begun + sign * TURN}.get(end.reason)
    return end if exact is None else End(float(exact), end.reason, end.joint, end.q)


def _located(way: Way, q: np.ndarray, t: np.ndarray, h: float, beyond: Any) -> tuple[float, np.ndarray]:
    """Return how far along a step something is met, and the configuration there."""
    low, high, at = 0.0, h, q
    f_low = float(beyond(q, t))
    for k in range(60):
        x = way.on(q, t, high)
        if k == 0:
            f_high = float(beyond(x, way.tangent(x, t))) if x is not None else 1.0
        # Regula falsi, halved every other time so that it cannot creep.
        middle = 0.5 * (low + high) if k % 2 else low - f_low * (high - low) / (f_high - f_low)
        if not low < middle < high or high - low < 1e-13:
            break
        x = way.on(q, t, middle)
        if x is None:
            break
        f = float(beyond(x, way.tangent(x, t)))
        at = x
        if f > 0.0:
            high, f_high = middle, f
        else:
            low, f_low = middle, f
        if f == 0.0:
            break
    return high, at


def _limits(way: Way) -> list[tuple[str, int, float, float]]:
    """Return the limits of joints with one coordinate: the joint, where it is in q, the limit, and its direction."""
    found = []
    for name in way.system.joints:
        limits = way.system.mechanism.joints[name].limits if name in way.system.mechanism.joints else None
        if limits is None or len(limits) != 1:
            continue
        where = way.system.slice_q(name).start
        for bound, up in ((limits[0][0], -1.0), (limits[0][1], 1.0)):
            if np.isfinite(bound):
                found.append((name, where, float(bound), up))
    return found


def _sampled(
    system: System, joint: str, values: np.ndarray, at: np.ndarray, nodes: np.ndarray, held: Mapping[str, Any],
    ends: tuple[End, End],
) -> np.ndarray:  # fmt: skip
    """Return the configurations (n, nq) at values (n,) of the driven coordinate, from those that were passed."""
    nearest = np.clip(np.searchsorted(at, values), 1, len(at) - 1)
    nearest -= np.abs(at[nearest - 1] - values) < np.abs(at[nearest] - values)
    inside = slice(1, len(values) - 1)
    given: dict[str, ArrayLike] = {**held, joint: values[inside, None]}
    q = np.empty((len(values), system.nq))
    q[0], q[-1] = ends[0].q, ends[1].q
    if len(values) > 2:
        q[inside] = system.assemble(given, guess=nodes[nearest[inside]])
    return q


def _rates(system: System, way: Way, q: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and accelerations (n, nv) with the driver at a constant rate; NaN at dead points."""
    v, vdot = np.full((2, len(q), system.nv), np.nan)
    others = np.flatnonzero(way.free & (np.arange(system.nv) != way.column))
    units = way.quick.scales.units
    _, sigma, Vt = np.linalg.svd(way.quick.errors(q, way.columns)[1] * way.units)
    t = np.zeros((len(q), system.nv))
    t[:, way.columns] = Vt[:, -1]
    rank = np.sum(sigma > RANK * sigma.max(axis=-1, initial=1.0, keepdims=True), axis=-1)
    moving = (rank == len(way.columns) - 1) & (np.abs(t[:, way.column]) > ALMOST_STILL)
    if not moving.any():
        return v, vdot
    speed = rate / (t[moving, way.column] * units[way.column])
    v[moving] = t[moving] * units * speed[:, None]
    problem = LoopProblem(system.evaluator, q[moving], v[moving])
    rows = way.quick.scales.rows[:, None]
    J = problem.J[..., others] / rows * units[others]
    found = np.zeros((int(moving.sum()), system.nv))
    found[:, others] = (
        units[others] * (np.linalg.pinv(J, rcond=RANK) @ (-problem.gamma / rows[:, 0])[..., None])[..., 0]
    )
    vdot[moving] = found
    return v, vdot


def checked_range(to: Any) -> tuple[float, float] | None:
    """Return (low, high) from what a caller gave."""
    if to is None:
        return None
    try:
        low, high = to
    except (TypeError, ValueError):
        raise StateError(
            f"to is {shown(to)}; give the lowest and the highest value, to=(low, high)."
        ) from None
    if not (is_finite(low) and is_finite(high) and low < high):
        raise StateError(f"to is {shown(to)}; give two finite numbers, the lower one first.")
    return float(low), float(high)
