"""The task of a motion as a nonlinear program: where it begins, how it moves, what limits it and what it spends.

With loops and couplings, positions and velocities of independent components follow from accelerations; all others are
where loops are closed, and move and accelerate so that they stay closed. Multipliers of the constraints are variables
like motions: so forces that play against each other in a loop with more motors than it needs are the plan's to choose.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.flying.independent import Independent
from catena.mechanism.elements import driven
from catena.mechanism.naming import selected
from catena.planning.closed_plan import closed_jacobian, closed_plan
from catena.planning.formulas import drives, formula, loop_places, node_size
from catena.planning.motion_plan import MotionPlan
from catena.planning.nonlinear_program import Copies, NonlinearProgram
from catena.planning.objectives import Objective
from catena.system import System
from catena.thresholds import LIMIT_SLACK, RANK_MOVING
from catena.validation import is_positive, real_array, shown

# How much heavier than others conditions weigh without which there is no motion, so that a search for what cannot be
# ends in a motion that misses its goal. IPOPT takes back what makes derivatives larger than 100.
REQUIRED_WEIGHT = 100.0
# How far [rad or m] joints that follow may be from where their own velocities lead, where they are watched.
ASIDE = 0.3
# How many times as often as other joints those that nothing drives are looked at.
FINER = 2


class MotionTask:
    """A motion to be found at times t: places of q (nq, nodes), v and a (nv, nodes), multipliers and forces of loop
    joints among the variables of a program, and the conditions that it has so far. `spans` are the least and the
    largest duration; where they differ, the duration is a variable too, and t are the times of the largest. It begins
    at q0 and v0, or, unless that is `given`, near there; attitudes count from that of `origin`, a system and q."""

    def __init__(
        self, system: System, spans: tuple[float, float], nodes: int, q0: np.ndarray, v0: np.ndarray,
        chosen: Independent, origin: tuple[System, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        self.has_start = origin is None
        self.origin = (system, q0) if origin is None else origin
        # The first node that conditions on places and velocities are asked at.
        self.first = 1 if self.has_start else 0
        # Joints that nothing drives are looked at twice as often as others are told how to accelerate: where they are
        # not, accelerations that change sign from node to node would seem to lead anywhere, against all momentum.
        self.every = 1 if system.plan.actuated[chosen.components].all() else FINER
        t = np.linspace(0.0, spans[1], self.every * (nodes - 1) + 1)
        self.system, self.t, self.q0, self.v0, self.chosen = system, t, q0, v0, chosen
        self.timed = spans[0] < spans[1]
        sizes = np.array([system.nq, system.nv, system.nv, *node_size(system)]) * len(t)
        parts = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
        self.q, self.v, self.a, self.held, self.pushed = (x.reshape(len(t), -1).T for x in parts)
        self.moving = np.vstack([self.q, self.v, self.a, self.held, self.pushed])
        self.acting = _acting(system)
        taken = Copies.of(formula(system, "joint forces"), self.moving, np.zeros((0, len(t))))
        self.program = NonlinearProgram(int(sizes.sum()) + self.timed, taken)
        if self.timed:
            self.program.low[-1], self.program.high[-1] = spans
        self.near = np.concatenate(
            [np.zeros(0), *(system.joint_position(q0, name) for name in loop_places(system))]
        )[:, None]

    def _spanned(self, where: np.ndarray) -> np.ndarray:
        """Return places of variables, and that of the duration behind them where it is one."""
        if not self.timed:
            return where
        return np.vstack([where, np.full((1, where.shape[1]), len(self.program.low) - 1)])

    def move(self) -> None:
        """Begin where it begins, and let positions follow velocities, these accelerations, and all of them loops."""
        system, (q, v, a) = self.system, (self.q, self.v, self.a)
        h = 1.0 / (len(self.t) - 1) if self.timed else self.t[1] - self.t[0]
        for places, value in ((q[:, 0], self.q0), (v[:, 0], self.v0)) if self.has_start else ():
            self.program.low[places] = self.program.high[places] = value
        along = (tuple(self.chosen.components.tolist()), self.timed)
        for name, where, what in (
            ("positions", self._from_node_to_node(), "positions follow velocities"),
            ("velocities", [v[:, :-1], v[:, 1:], a[:, :-1], a[:, 1:]], "velocities follow accelerations"),
        ):
            made = formula(system, name, along)
            names = [what] * made.value.size1_out(0)
            self.program.ask(made, self._spanned(np.vstack(where)), h, 0.0, 0.0, names, REQUIRED_WEIGHT)
        self._close()
        led = a[[k for k in self.chosen.components if system.plan.actuated[k]]]
        for k in range(1, self.every if len(led) else 1):
            first, last = led[:, : -self.every : self.every], led[:, self.every :: self.every]
            share = k / self.every
            self.program.ask(
                formula(system, "between"), np.vstack([x.ravel() for x in (first, led[:, k :: self.every], last)]),
                share, 0.0, 0.0, ["velocities follow accelerations"], REQUIRED_WEIGHT,
            )  # fmt: skip

    def _from_node_to_node(self) -> list[np.ndarray]:
        """Return the places of what positions of a node follow from."""
        q, v, a = self.q, self.v, self.a
        return [q[:, :-1], q[:, 1:], v[:, :-1], a[:, :-1], a[:, 1:]]

    def watch(self) -> None:
        """Let joints that follow others be about where their own velocities lead. Where loops can be closed in two ways
        a search could go over to the other one from one node to the next."""
        along = (tuple(self.chosen.dependent.tolist()), self.timed)
        made, h = formula(self.system, "positions", along), 1.0 / (len(self.t) - 1)
        names = ["loops stay as they were closed"] * made.value.size1_out(0)
        where = self._spanned(np.vstack(self._from_node_to_node()))
        self.program.ask(made, where, h if self.timed else self.t[1] - self.t[0], -ASIDE, ASIDE, names)

    def _close(self) -> None:
        """Keep loops and couplings closed; where a given motion begins they are."""
        m = len(self.held)
        if not m:
            return
        for name, where, data in (
            ("opening", self.q[:, self.first :], self.near),
            ("opening rate", np.vstack([self.q, self.v])[:, self.first :], np.zeros((0, 1))),
            ("opening acceleration", np.vstack([self.q, self.v, self.a]), np.zeros((0, 1))),
        ):
            rows = np.broadcast_to(data, (len(data), where.shape[1]))
            self.program.ask(
                formula(self.system, name), where, rows, 0.0, 0.0, ["loops stay closed"] * m, REQUIRED_WEIGHT
            )

    def keep_within(self, rates: Any) -> None:
        """Keep positions and velocities of all joints within their limits, those of loops too."""
        system = self.system
        asked = limits_by_name(system, "rates", rates, (*system.joints, *loop_places(system)))
        for name in system.joints:
            limits, own = self._own_limits(name)
            for k, (low, high) in zip(_where(system.slice_q(name)), limits, strict=False):
                self._between(f"joint {name!r}", self.q[k], low, high, self.q0[k])
            for i, k in enumerate(_where(system.slice_v(name))):
                most = min(own[i], asked.get(name, np.inf))
                self._between(f"the speed of joint {name!r}", self.v[k], -most, most, self.v0[k])
        for name, at in loop_places(system).items():
            limits, own = self._own_limits(name)
            if len(limits):
                low, high = np.transpose(np.asarray(limits, dtype=float))
                begins = self.near[at, 0]
                for k in range(len(begins)):
                    self._begin(f"joint {name!r}", float(low[k]), float(high[k]), float(begins[k]))
                near = np.broadcast_to(self.near, (len(self.near), len(self.t) - self.first))
                self.program.ask(
                    formula(system, "loop joint", name), self.q[:, self.first :], near, low[:, None], high[:, None],
                    [f"{name} stays within its limits"] * len(low),
                )  # fmt: skip
            most_fast = np.minimum(own, asked.get(name, np.inf))
            if np.isfinite(most_fast).any():
                both = np.vstack([self.q, self.v])[:, self.first :]
                self.program.ask(
                    formula(system, "loop joint rate", name), both, np.zeros((0, both.shape[1])),
                    -most_fast[:, None], most_fast[:, None], [f"the speed of {name} stays within limits"] * len(own),
                )  # fmt: skip

    def _own_limits(self, name: str) -> tuple[Any, np.ndarray]:
        """Return the limits of a joint's positions, none where these are not plain numbers, and of its speeds."""
        described = self.system.mechanism.joints.get(name)
        if described is None:
            at = self.system.slice_v(name)
            return (), np.full(at.stop - at.start, np.inf)
        plain = described.kind.nq == described.kind.nv and described.limits is not None
        fast = (
            np.full(described.kind.nv, np.inf)
            if described.velocity_limit is None
            else described.velocity_limit
        )
        return described.limits if plain else (), np.asarray(fast, dtype=float)

    def _begin(self, who: str, low: float, high: float, begins: float) -> None:
        """Complain about a motion that begins outside its limits."""
        if self.has_start and not low - LIMIT_SLACK <= begins <= high + LIMIT_SLACK:
            raise StateError(
                f"plan_motion: {who} begins at {begins:.6g}, outside its limits {low:g} to {high:g}; begin within, or "
                "widen them."
            )

    def _between(self, who: str, places: np.ndarray, low: float, high: float, begins: float) -> None:
        """Keep variables between limits, and complain about a motion that begins outside."""
        self._begin(who, low, high, begins)
        self.program.low[places[self.first :]], self.program.high[places[self.first :]] = low, high

    def drive(self, torques: Any) -> None:
        """Keep joint forces within their limits, and zero where nothing drives a joint."""
        system, acting = self.system, self.acting
        high = np.where(acting, np.inf, 0.0)
        low = -high
        names = np.where(
            acting, "joint forces stay within their limits", "nothing drives joints without an actuator"
        )
        places = {name: _where(system.slice_v(name)) for name in system.joints}
        places |= {name: _where(at) for name, at in drives(system).items()}
        for name, most in limits_by_name(system, "torques", torques, tuple(places)).items():
            for k in places[name]:
                if acting[k]:
                    low[k], high[k] = -most, most
        fading = []
        for motor in system.mechanism.actuators.values():
            if motor.joint in places:
                at = np.array(places[motor.joint])[list(motor.components)]
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

    @cached_property
    def scale(self) -> float:
        """The size of joint forces: those that unit accelerations of all components would take."""
        every = self.system.mass_matrix(self.q0).sum(axis=1) + self.system.bias_force(self.q0, self.v0)
        return max(1.0, float(np.abs(every).max(initial=0.0)))

    def spend_least(self, objective: Objective, smooth: float) -> None:
        """Weigh what is to be least, and the squares of accelerations, which are straight between nodes."""
        h = self.t[1] - self.t[0]
        rows = np.arange(len(self.acting) * len(self.t)).reshape(len(self.t), -1).T
        straight = [(self.a, np.full(self.system.nv, float(smooth)), self.program.weigh)]
        # Motors that play against each other spend neither work nor time: of such forces the smaller ones are better.
        by_force = 1.0 if objective.name == "force" and not self.timed else float(smooth)
        straight.append((rows, by_force * self.acting / self.scale**2, self.program.weigh_rows))
        if objective.name == "time":
            self.program.weigh_linear(len(self.program.low) - 1, 1.0)
        elif objective.name != "force" or self.timed:
            share = np.full(len(self.t), 1.0 / (len(self.t) - 1) if self.timed else h)
            share[[0, -1]] /= 2.0
            none = np.zeros((0, len(self.t)))
            self.program.add(objective.formula(self.timed), self._spanned(self.moving), none, share[None])
        for x, weight, add in straight:
            twice = np.full(x.shape, 4.0 * h / 3.0)
            twice[:, [0, -1]] = 2.0 * h / 3.0
            add(x.ravel(), x.ravel(), (weight[:, None] * twice).ravel())
            between = np.broadcast_to(weight[:, None] * h / 3.0, x[:, 1:].shape)
            add(x[:, :-1].ravel(), x[:, 1:].ravel(), between.ravel())

    def guess(self, plan: MotionPlan | None, end: np.ndarray | None = None) -> np.ndarray:
        """Return where to begin the search: with a plan, or without forces where the motion begins; positions go from
        there to `end` (nq,) where that is known."""
        x = np.zeros(len(self.program.low))
        x[self.q] = self.q0[:, None]
        if end is not None:
            way = self.system.difference(self.q0, end)
            x[self.q] = self.system.integrate(self.q0, way, np.linspace(0.0, 1.0, len(self.t))).T
        if self.timed:
            x[-1] = self.t[-1] if plan is None else plan.t[-1]
        t = self.t if not self.timed else self.t * (x[-1] / self.t[-1])
        if plan is not None:
            for where, values in ((self.q, plan.q), (self.v, plan.v), (self.a, plan.vdot)):
                x[where] = [np.interp(t, plan.t, row) for row in values.T]
        if len(self.held):
            x[self.held] = self._holding()[:, None]
        return x

    def _holding(self) -> np.ndarray:
        """Return the least multipliers that hold what nothing drives, where the motion begins and at rest."""
        rest = np.zeros(self.system.nv)
        idle = ~self.acting[: self.system.nv]
        bias = self.system.bias_force(self.q0, rest)
        J = closed_jacobian(self.system, closed_plan(self.system), self.q0)
        return np.linalg.lstsq(J[:, idle].T, bias[idle], rcond=RANK_MOVING)[0]

    def found(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return times (n,) and the variables (size, n) of all nodes that were found, positions of the kind that
        joints have: quaternions of a search that failed may be a little longer or shorter."""
        nodes, plan = x[self.moving], self.system.plan
        for i in range(1, plan.n):
            kind = plan.kind[i]
            if kind is not None and kind.nq != kind.nv:
                at = slice(int(plan.q_start[i]), int(plan.q_start[i]) + kind.nq)
                nodes[at] = np.transpose([kind.integrate(own, np.zeros(kind.nv)) for own in nodes[at].T])
        return self.t * (float(x[-1]) / self.t[-1] if self.timed else 1.0), nodes


def _acting(system: System) -> np.ndarray:
    """Return which joint forces something gives: of the tree's components, and of driven loop joints behind them."""
    joints = system.mechanism.joints
    loops = [driven(joints[name], system.mechanism.actuators) for name in drives(system)]
    return np.concatenate([system.plan.actuated, *loops])


def limits_by_name(system: System, what: str, limits: Any, names: tuple[str, ...]) -> dict[str, float]:
    """Return the largest size that is told for joints by name."""
    if limits is None:
        return {}
    joints = system.mechanism.joints
    led = [name for name in names if name in joints and joints[name].actuated]
    chosen = dict.fromkeys(led, limits) if not isinstance(limits, Mapping) else {
        name: most for some, most in limits.items() for name in selected("joint", some, names)
    }  # fmt: skip
    for most in chosen.values():
        if not is_positive(most):
            raise StateError(f"plan_motion: {what} are {shown(limits)}; give positive numbers.")
    return {name: float(most) for name, most in chosen.items()}


def numbers(what: str, value: Any, count: int, other: str = "", finite: bool = True) -> np.ndarray:
    """Return so many numbers, or the complaint that there are others."""
    advice = f"give {other}{count} {'finite ' * finite}numbers."
    try:
        found = np.atleast_1d(real_array(value))
    except ValueError as error:
        raise StateError(f"plan_motion: {what} is {shown(value)} ({error}); {advice}") from error
    if found.shape != (count,) or (finite and not np.isfinite(found).all()):
        raise StateError(f"plan_motion: {what} is {shown(value)}; {advice}")
    return found


def _where(at: slice) -> list[int]:
    return list(range(at.start, at.stop))
