"""The task of a motion as a nonlinear program: where it begins, how it moves, what limits it and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.given import is_positive, real_array, shown
from catena.mechanism.selection import selected
from catena.planning.formulas import formula
from catena.planning.motion_plan import MotionPlan
from catena.planning.nonlinear_program import Copies, NonlinearProgram
from catena.spatial import Pose
from catena.system import System

# How far [rad, m, rad/s or m/s] beyond a limit a motion may begin or end, as rounding has it.
SLACK = 1e-9
# How much heavier than others conditions weigh without which there is no motion, so that a search for what cannot be
# ends in a motion that misses its goal. IPOPT takes back what makes derivatives larger than 100.
FIRM = 100.0
# How many times as often as other joints those that nothing drives are looked at.
FINER = 2


class Task:
    """A motion to be found at times t: places of q (nq, nodes), v and a (nv, nodes) among the variables of a program,
    and the conditions that it has so far."""

    def __init__(self, system: System, duration: float, nodes: int, q0: np.ndarray, v0: np.ndarray) -> None:
        # Joints that nothing drives are looked at twice as often as others are told how to accelerate: where they are
        # not, accelerations that change sign from node to node would seem to lead anywhere, against all momentum.
        self.every = 1 if system.plan.actuated.all() else FINER
        t = np.linspace(0.0, duration, self.every * (nodes - 1) + 1)
        self.system, self.t, self.q0, self.v0 = system, t, q0, v0
        sizes = np.array([system.nq, system.nv, system.nv]) * len(t)
        parts = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
        self.q, self.v, self.a = (x.reshape(len(t), -1).T for x in parts)
        self.moving = np.vstack([self.q, self.v, self.a])
        taken = Copies.of(formula(system, "joint forces"), self.moving, np.zeros((0, len(t))))
        self.program = NonlinearProgram(int(sizes.sum()), taken)

    def move(self) -> None:
        """Begin where it begins, and let positions follow velocities, and these accelerations."""
        system, (q, v, a) = self.system, (self.q, self.v, self.a)
        h = self.t[1] - self.t[0]
        for places, value in ((q[:, 0], self.q0), (v[:, 0], self.v0)):
            self.program.low[places] = self.program.high[places] = value
        self.program.ask(
            formula(system, "positions"), np.vstack([q[:, :-1], q[:, 1:], v[:, :-1], a[:, :-1], a[:, 1:]]), h,
            0.0, 0.0, ["positions follow velocities"] * system.nq, FIRM,
        )  # fmt: skip
        self.program.ask(
            formula(system, "velocities"), np.vstack([v[:, :-1], v[:, 1:], a[:, :-1], a[:, 1:]]), h, 0.0, 0.0,
            ["velocities follow accelerations"] * system.nv, FIRM,
        )  # fmt: skip
        driven = a[system.plan.actuated]
        for k in range(1, self.every if len(driven) else 1):
            first, last = driven[:, : -self.every : self.every], driven[:, self.every :: self.every]
            share = k / self.every
            self.program.ask(
                formula(system, "between"), np.vstack([x.ravel() for x in (first, driven[:, k :: self.every], last)]),
                share, 0.0, 0.0, ["velocities follow accelerations"], FIRM,
            )  # fmt: skip

    def keep_within(self, rates: Any) -> None:
        """Keep positions and velocities within their limits."""
        system = self.system
        asked = _limits(system, "rates", rates)
        for name in system.joints:
            described = system.mechanism.joints.get(name)
            limits = None if described is None or described.kind.nq != described.kind.nv else described.limits
            for k, (low, high) in zip(
                _where(system.slice_q(name)), () if limits is None else limits, strict=False
            ):
                self._between(f"joint {name!r}", self.q[k], low, high, self.q0[k])
            own = None if described is None else described.velocity_limit
            for i, k in enumerate(_where(system.slice_v(name))):
                most = min(np.inf if own is None else own[i], asked.get(k, np.inf))
                self._between(f"the speed of joint {name!r}", self.v[k], -most, most, self.v0[k])

    def _between(self, who: str, places: np.ndarray, low: float, high: float, begins: float) -> None:
        """Keep variables between limits, and complain about a motion that begins outside."""
        if not low - SLACK <= begins <= high + SLACK:
            raise StateError(
                f"plan_motion: {who} begins at {begins:.6g}, outside its limits {low:g} to {high:g}; begin within, or "
                "widen them."
            )
        self.program.low[places[1:]], self.program.high[places[1:]] = low, high

    def drive(self, torques: Any) -> None:
        """Keep joint forces within their limits, and zero where nothing drives a joint."""
        system, driven = self.system, self.system.plan.actuated
        high = np.where(driven, np.inf, 0.0)
        low = -high
        names = np.where(
            driven, "joint forces stay within their limits", "nothing drives joints without an actuator"
        )
        for k, most in _limits(system, "torques", torques).items():
            if driven[k]:
                low[k], high[k] = -most, most
        fading = []
        for motor in system.mechanism.actuators.values():
            if motor.joint in system.joints:
                at = np.array(_where(system.slice_v(motor.joint)))[list(motor.components)]
                low[at] = np.maximum(low[at], motor.joint_limits[:, 0])
                high[at] = np.minimum(high[at], motor.joint_limits[:, 1])
                names[at] = f"{motor.name} stays within its limits"
                fading += list(zip(at.tolist(), motor.joint_limits, motor.joint_speed, strict=True))
        bounded = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        if len(bounded):
            some = formula(system, "joint forces", tuple(bounded.tolist()))
            self.program.ask(
                some, self.moving, np.zeros((0, len(self.t))), low[bounded, None], high[bounded, None],
                names[bounded].tolist(),
            )  # fmt: skip
        # Limits of a motor shrink with its speed in their direction.
        for k, (least, most), speed in fading:
            for limit, below in ((least, False), (most, True)):
                if np.isfinite(limit) and np.isfinite(speed):
                    self.program.ask(
                        formula(system, "force and speed", (k,)), self.moving, abs(limit) / speed,
                        -np.inf if below else limit, limit if below else np.inf, [str(names[k])],
                    )  # fmt: skip

    def keep_attitude(self, most: float) -> None:
        """Keep each floating base within an angle of where it begins."""
        bases = [x for x in (_where(self.system.slice_q(name)) for name in self.system.joints) if len(x) == 7]
        if not bases:
            raise StateError(
                f"plan_motion: {self.system.mechanism.name!r} has no floating base whose attitude could be kept; leave "
                "attitude out, or give limits to its joints."
            )
        for at in bases:
            # The scalar part of the relative quaternion is the cosine of half the angle.
            self.program.ask(
                formula(self.system, "along"), self.q[at[3:], 1:], self.q0[at[3:], None],
                np.cos(min(most, np.pi) / 2.0), np.inf, ["the base keeps its attitude"],
            )  # fmt: skip

    def end(self, joint: str, position: Any) -> None:
        """Ask for the position of a joint in the end."""
        at = _where(self.system.slice_q(joint))
        goal = _numbers(f"the end of {joint!r}", position, len(at))
        kind = self.system.plan.kind[self.system.plan.joint.index(joint)]
        assert kind is not None
        kind.check(goal, joint)
        last = self.q[at, -1]
        if kind.nq != kind.nv:
            X = kind.transform(goal)
            data = np.concatenate([np.ravel(X.R), X.p])
            self.program.ask(
                formula(self.system, "joint", joint), last[:, None], data[:, None], [[0.0]] * 6 + [[1.0]],
                [[0.0]] * 6 + [[np.inf]], [f"{joint} in the end"] * 7,
            )  # fmt: skip
            return
        if np.any(goal < self.program.low[last] - SLACK) or np.any(goal > self.program.high[last] + SLACK):
            raise StateError(
                f"plan_motion: joint {joint!r} is to end at {shown(position)}, outside its limits; let it end within."
            )
        self.program.low[last] = self.program.high[last] = goal

    def reach(self, frame: str, goal: Any, twist: Any) -> None:
        """Ask for the pose and the twist of a frame in the end."""
        if goal is not None:
            self._at(frame, [len(self.t) - 1], [_goal("reach", goal)], f"{frame} reaches its goal")
        if twist is None:
            return
        wanted = _numbers("reach_twist", twist, 6, finite=False)[:, None]
        if np.isinf(wanted).any():
            raise StateError(
                f"plan_motion: reach_twist is {shown(twist)}; give finite numbers, or NaN for any."
            )
        names = [f"{frame} turns as asked for"] * 3 + [f"{frame} moves as asked for"] * 3
        low, high = (np.where(np.isnan(wanted), any_, wanted) for any_ in (-np.inf, np.inf))
        last = np.concatenate([self.q[:, -1], self.v[:, -1]])[:, None]
        self.program.ask(formula(self.system, "twist", frame), last, np.zeros((0, 1)), low, high, names)

    def track(self, frame: str, path: Callable[[float], Any] | None, begin: float) -> None:
        """Ask for the pose of a frame at all nodes from a time on."""
        if path is None:
            return
        # Where it begins is not for the plan to choose.
        later = range(self.every, len(self.t), self.every)
        tracked = [k for k in later if self.t[k] >= begin - SLACK]
        goals = [_goal(f"track({self.t[k]:g})", path(float(self.t[k]))) for k in tracked]
        self._at(frame, tracked, goals, f"{frame} tracks")

    def _at(self, frame: str, nodes: list[int], goals: list[Any], what: str) -> None:
        points = np.array([goal.p if isinstance(goal, Pose) else goal for goal in goals]).T
        none = np.zeros((0, len(nodes)))
        self.program.ask(
            formula(self.system, "point", frame), self.q[:, nodes], none, points, points, [what] * 3
        )
        turned = [(k, goal.R) for k, goal in zip(nodes, goals, strict=True) if isinstance(goal, Pose)]
        if turned:
            axes = np.array([np.ravel(R) for _, R in turned]).T
            self.program.ask(
                formula(self.system, "axes", frame), self.q[:, [k for k, _ in turned]], axes, [[0.0]] * 3 + [[1.0]],
                [[0.0]] * 3 + [[np.inf]], [f"{what} (axes)"] * 4,
            )  # fmt: skip

    def rest(self) -> None:
        """Let actuated joints stand still in the end."""
        still = self.v[self.system.plan.actuated, -1]
        self.program.low[still] = self.program.high[still] = 0.0

    def spend_least(self, smooth: float) -> None:
        """Weigh the squares of joint forces and accelerations, which are straight between nodes."""
        every = self.system.inverse_dynamics(self.q0, self.v0, np.ones(self.system.nv))
        scale = max(1.0, float(np.abs(every).max()))
        h, driven = self.t[1] - self.t[0], self.system.plan.actuated
        rows = np.arange(self.a.size).reshape(len(self.t), -1).T
        for x, weight, add in (
            (rows, driven / scale**2, self.program.weigh_rows),
            (self.a, np.full(self.system.nv, float(smooth)), self.program.weigh),
        ):
            twice = np.full(x.shape, 4.0 * h / 3.0)
            twice[:, [0, -1]] = 2.0 * h / 3.0
            add(x.ravel(), x.ravel(), (weight[:, None] * twice).ravel())
            between = np.broadcast_to(weight[:, None] * h / 3.0, x[:, 1:].shape)
            add(x[:, :-1].ravel(), x[:, 1:].ravel(), between.ravel())

    def guess(self, plan: MotionPlan | None) -> np.ndarray:
        """Return where to begin the search: with a plan, or at rest where the motion begins."""
        x = np.zeros(len(self.program.low))
        x[self.q] = self.q0[:, None]
        if plan is not None:
            for where, values in ((self.q, plan.q), (self.v, plan.v), (self.a, plan.vdot)):
                x[where] = [np.interp(self.t, plan.t, row) for row in values.T]
        return x

    def found(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q (times, nq), v and a (times, nv) of what was found, positions of the kind that joints have:
        quaternions of a search that failed may be a little longer or shorter."""
        q, v, a = (x[where].T for where in (self.q, self.v, self.a))
        plan = self.system.plan
        for i in range(1, plan.n):
            kind = plan.kind[i]
            if kind is not None and kind.nq != kind.nv:
                at = slice(int(plan.q_start[i]), int(plan.q_start[i]) + kind.nq)
                q[:, at] = [kind.integrate(own, np.zeros(kind.nv)) for own in q[:, at]]
        return q, v, a


def _limits(system: System, what: str, given: Any) -> dict[int, float]:
    """Return the largest size of velocity components by number."""
    if given is None:
        return {}
    driven = [
        n for n in system.joints if n in system.mechanism.joints and system.mechanism.joints[n].actuated
    ]
    chosen = dict.fromkeys(driven, given) if not isinstance(given, Mapping) else {
        name: most for names, most in given.items() for name in selected("joint", names, system.joints)
    }  # fmt: skip
    for most in chosen.values():
        if not is_positive(most):
            raise StateError(f"plan_motion: {what} are {shown(given)}; give positive numbers.")
    return {k: float(most) for name, most in chosen.items() for k in _where(system.slice_v(name))}


def _goal(what: str, goal: Any) -> Any:
    return goal if isinstance(goal, Pose) else _numbers(what, goal, 3, "a Pose or ")


def _numbers(what: str, value: Any, count: int, other: str = "", finite: bool = True) -> np.ndarray:
    """Return so many numbers, or the complaint that there are others."""
    told = f"give {other}{count} {'finite ' * finite}numbers."
    try:
        found = np.atleast_1d(real_array(value))
    except ValueError as error:
        raise StateError(f"plan_motion: {what} is {shown(value)} ({error}); {told}") from error
    if found.shape != (count,) or (finite and not np.isfinite(found).all()):
        raise StateError(f"plan_motion: {what} is {shown(value)}; {told}")
    return found


def _where(at: slice) -> list[int]:
    return list(range(at.start, at.stop))
