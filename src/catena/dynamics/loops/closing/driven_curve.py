"""The curve of a driven joint: the closed configurations on which it moves, and where it ends.

The closed configurations of a mechanism with one freedom are a curve in q. It is followed by its length, not by the
driven coordinate, so that it does not matter that the driven coordinate turns back at a dead point: there the curve has
a tangent along which the driver stands still. It is followed to a dead point, to a limit of a joint, once round, or as
far as was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.loops.closing.quick_assembly import QuickAssembly
from catena.dynamics.loops.problem import LoopProblem
from catena.errors import LoopError
from catena.joints.contract import HINGE
from catena.thresholds import RANK_SEARCHED

# Steps along the curve [rad or characteristic lengths], the shortest one, and how many at most.
STEP, SHORTEST, MOST = 0.05, 1e-9, 20_000
# Where the driver moves by less than this part of the fastest joint, its rate says nothing about the others.
ALMOST_STILL = 1e-6
TURN = 2.0 * np.pi


@dataclass(frozen=True)
class End:
    """Where a curve ends: the `value` of the driven coordinate, the `reason` ("dead point", "limit", "full turn" or
    "asked for"), the `joint` whose limit it is, and the configuration q (nq,)."""

    value: float
    reason: str
    joint: str
    q: np.ndarray


class DrivenCurve:
    """The curve of closed configurations on which one joint is driven, others being held."""

    def __init__(self, quick: QuickAssembly, joint: str, held: Mapping[str, Any]) -> None:
        self.quick, self.plan, self.joint = quick, quick.plan, joint
        self.mechanism = quick.evaluator.mechanism
        self.column = self.plan.slice_v(joint).start
        self.free = np.ones(self.plan.nv, dtype=bool)
        for name in held:
            self.free[self.plan.slice_v(name)] = False
        self.columns = np.flatnonzero(self.free)
        self.units = quick.units[self.columns]

    def tangent(self, q: np.ndarray, along: np.ndarray | None) -> np.ndarray:
        """Return the unit tangent (nv,) of the curve at q (nq,), in radians and lengths, that goes on `along` (nv,)."""
        J = self.quick.jacobian(q[None], self.columns)[0] * self.units
        _, sigma, Vt = np.linalg.svd(J)
        rank = int(np.sum(sigma > RANK_SEARCHED * sigma.max(initial=1.0)))
        freedom = len(self.columns) - rank
        if freedom != 1 and along is None:
            raise LoopError(
                f"{self.mechanism.name!r} has {freedom} degrees of freedom where {self.joint!r} starts: "
                + (
                    "it cannot move."
                    if freedom == 0
                    else "hold other joints, hold={joint: position}, until one is left."
                )
            )
        t = np.zeros(self.plan.nv)
        if along is None:
            t[self.columns] = Vt[-1]
            return t * (np.sign(t[self.column]) or 1.0)
        # Where two branches meet, go on as straight as possible.
        N = Vt[min(rank, len(self.columns) - 1) :]
        t[self.columns] = N.T @ (N @ along[self.columns])
        return t / np.linalg.norm(t)

    def on(self, q: np.ndarray, t: np.ndarray, h: float) -> np.ndarray | None:
        """Return the closed configuration (nq,) about h further along the curve; None if there is none near."""
        start = self.quick.moved(q[None], (h * t * self.quick.units)[None])
        found, closed = self.quick.close(start, self.columns)
        if not closed[0]:
            return None
        step = self.quick.between(q[None], found)[0] / self.quick.units
        return found[0] if abs(float(step @ t) - h) < 0.3 * abs(h) else None

    def value(self, q: np.ndarray) -> float:
        """Return the driven coordinate."""
        return float(q[self.plan.slice_q(self.joint)][0])


def followed(
    curve: DrivenCurve, start: np.ndarray, along: np.ndarray, to: tuple[float, float] | None
) -> tuple[list[np.ndarray], End]:
    """Return configurations on the curve in one direction, and its end."""
    q, t, h = start, along, STEP
    sign = np.sign(along[curve.column])
    begun = curve.value(start)
    goal = None if to is None else (to[1] if sign > 0 else to[0])
    is_turning = curve.plan.joint_kind(curve.plan.joint.index(curve.joint)).consists_of(HINGE)
    nodes = [start]
    if goal is not None and sign * (goal - begun) <= 0.0:
        return nodes, End(begun, "asked for", "", start)
    for _ in range(MOST):
        new = curve.on(q, t, h)
        if new is None:
            h *= 0.5
            if h < SHORTEST:
                raise LoopError(
                    f"The motion of {curve.mechanism.name!r} ends at {curve.joint} = {curve.value(q):.6g}, where its "
                    f"loops do not say how it goes on; drive another joint."
                )
            continue
        t_new = curve.tangent(new, t)
        end = _end(curve, q, t, new, t_new, h, sign, begun, goal, is_turning)
        if end is not None:
            nodes.append(end.q)
            return nodes, end
        q, t, h = new, t_new, min(STEP, 2.0 * h)
        nodes.append(q)
    raise LoopError(
        f"The motion of {curve.joint!r} in {curve.mechanism.name!r} does not end; say how far to go, to=(low, high)."
    )


def _end(
    curve: DrivenCurve, q: np.ndarray, t: np.ndarray, new: np.ndarray, t_new: np.ndarray, h: float, sign: float,
    begun: float, goal: float | None, is_turning: bool,
) -> End | None:  # fmt: skip
    """Return the end that lies between two configurations on the curve, the first if there are several."""
    tests: list[tuple[str, str, Any]] = [
        ("dead point", "", lambda x, tx: -sign * tx[curve.column]),
    ]
    if goal is not None:
        tests.append(("asked for", "", lambda x, tx: sign * (curve.value(x) - goal)))
    if is_turning and goal is None:
        tests.append(("full turn", "", lambda x, tx: sign * (curve.value(x) - begun) - TURN))
    for name, where, bound, up in _limits(curve):
        tests.append(("limit", name, lambda x, tx, where=where, bound=bound, up=up: up * (x[where] - bound)))
    found: list[tuple[float, End]] = []
    for reason, name, beyond in tests:
        if beyond(new, t_new) > 0.0 >= beyond(q, t):
            length, at = _located(curve, q, t, h, beyond)
            found.append((length, End(curve.value(at), reason, name, at)))
    if not found:
        return None
    end = min(found, key=lambda pair: pair[0])[1]
    exact = {"asked for": goal, "full turn": begun + sign * TURN}.get(end.reason)
    return end if exact is None else End(float(exact), end.reason, end.joint, end.q)


def _located(
    curve: DrivenCurve, q: np.ndarray, t: np.ndarray, h: float, beyond: Any
) -> tuple[float, np.ndarray]:
    """Return how far along a step something is met, and the configuration there."""
    low, high, at = 0.0, h, q
    f_low = float(beyond(q, t))
    for k in range(60):
        x = curve.on(q, t, high)
        if k == 0:
            f_high = float(beyond(x, curve.tangent(x, t))) if x is not None else 1.0
        # Regula falsi, halved every other time so that it cannot creep.
        middle = 0.5 * (low + high) if k % 2 else low - f_low * (high - low) / (f_high - f_low)
        if not low < middle < high or high - low < 1e-13:
            break
        x = curve.on(q, t, middle)
        if x is None:
            break
        f = float(beyond(x, curve.tangent(x, t)))
        at = x
        if f > 0.0:
            high, f_high = middle, f
        else:
            low, f_low = middle, f
        if f == 0.0:
            break
    return high, at


def _limits(curve: DrivenCurve) -> list[tuple[str, int, float, float]]:
    """Return the limits of joints with one coordinate: the joint, where it is in q, the limit, and its direction."""
    found = []
    for name in curve.plan.joints:
        limits = curve.mechanism.joints[name].limits if name in curve.mechanism.joints else None
        if limits is None or len(limits) != 1:
            continue
        where = curve.plan.slice_q(name).start
        for bound, up in ((limits[0][0], -1.0), (limits[0][1], 1.0)):
            if np.isfinite(bound):
                found.append((name, where, float(bound), up))
    return found


def rates(curve: DrivenCurve, q: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and accelerations (n, nv) with the driver at a constant rate; NaN at dead points."""
    v, vdot = np.full((2, len(q), curve.plan.nv), np.nan)
    others = np.flatnonzero(curve.free & (np.arange(curve.plan.nv) != curve.column))
    units = curve.quick.units
    _, sigma, Vt = np.linalg.svd(curve.quick.jacobian(q, curve.columns) * curve.units)
    t = np.zeros((len(q), curve.plan.nv))
    t[:, curve.columns] = Vt[:, -1]
    rank = np.sum(sigma > RANK_SEARCHED * sigma.max(axis=-1, initial=1.0, keepdims=True), axis=-1)
    moving = (rank == len(curve.columns) - 1) & (np.abs(t[:, curve.column]) > ALMOST_STILL)
    if not moving.any():
        return v, vdot
    speed = rate / (t[moving, curve.column] * units[curve.column])
    v[moving] = t[moving] * units * speed[:, None]
    problem = LoopProblem(curve.quick.evaluator, q[moving], v[moving])
    rows = curve.quick.scales.rows[:, None]
    J = problem.J[..., others] / rows * units[others]
    found = np.zeros((int(moving.sum()), curve.plan.nv))
    found[:, others] = (
        units[others]
        * (np.linalg.pinv(J, rcond=RANK_SEARCHED) @ (-problem.gamma / rows[:, 0])[..., None])[..., 0]
    )
    vdot[moving] = found
    return v, vdot
