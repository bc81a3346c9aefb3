"""Motions of least effort by direct transcription: accelerations are straight lines between nodes in time, positions
and velocities follow from them, and at every node joint forces are what the motion takes besides springs and the like.

At joints without an actuator they must be zero, which is how a floating base is moved by its arms; at others they stay
within limits. What is asked for at the end, or along the way, are conditions on the pose and twist of a frame. The
formulas are those of the code that runs, with derivatives by CasADi, and IPOPT solves the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from catena.equations.residual import Residual
from catena.errors import LoopError, StateError, warn
from catena.given import can_take, is_count, is_finite, is_not_negative, is_positive, real_array, shown
from catena.mechanism.selection import selected
from catena.mechanism.validation import known
from catena.planning.motion_plan import MotionPlan
from catena.planning.nonlinear_program import Copies, Formula, NonlinearProgram
from catena.spatial import Pose
from catena.spatial.scalars import array
from catena.system import System
from catena.system.placed_forces import place_forces

# How far [rad, m, rad/s or m/s] beyond a limit a motion may begin or end, as rounding has it.
SLACK = 1e-9
# Who misses conditions by less than this [rad, m, N m, ...] has met them, as far as anybody can tell.
NEARLY = 1e-6


def plan_motion(
    system: System,
    start: ArrayLike,
    duration: float,
    *,
    velocity: ArrayLike | None = None,
    frame: str | None = None,
    reach: Pose | ArrayLike | None = None,
    reach_twist: ArrayLike | None = None,
    track: Callable[[float], ArrayLike] | None = None,
    track_from: float = 0.0,
    end: Mapping[str, ArrayLike] | None = None,
    rest: bool | None = None,
    rates: float | Mapping[str, float] | None = None,
    torques: float | Mapping[str, float] | None = None,
    attitude: float | None = None,
    nodes: int = 25,
    smooth: float = 1e-3,
    iterations: int = 300,
    guess: MotionPlan | None = None,
) -> MotionPlan:
    """Return a motion of least joint forces from `start` (nq,) with `velocity` (nv,), at rest unless given, in
    `duration` seconds.

    `frame` is to be at `reach`, a pose or a point (3,) in ground, in the end, with `reach_twist` [angular; linear] in
    ground axes, NaN where any will do; or to `track` a point (3,) or a `Pose` as a function of t at all nodes from
    `track_from` on. `end` maps joints to positions in the end. `rest` says whether actuated joints stand still in the
    end, which they do unless something is tracked or a twist is asked for.

    Positions stay within the limits of joints, velocities within `rates` [rad/s or m/s], joint forces within those of
    actuators and within `torques`, each a number for all actuated joints or a mapping from names or patterns.
    `attitude` is how far [rad] a floating base may turn from where it begins. `smooth` weighs accelerations against
    forces, in the units of the largest. `guess` is a plan to begin the search with. Only for trees. Conditions hold at
    nodes; between them the motion is off by the square of their distance, so that twice as many are four times as
    exact. If the solver fails, a warning says why, and of all motions it had the one that misses conditions least is
    returned.
    """
    _check(system, duration, nodes, smooth, iterations, track_from, rest, attitude, track, guess, end)
    _, q0, v0 = system.states(start, np.zeros(system.nv) if velocity is None else velocity)
    if len(q0) != 1 or len(v0) != 1:
        raise StateError("plan_motion: start or velocity have batch dimensions; give one state.")
    if frame is not None:
        known("body or frame", frame, system.plan.body_pose, "plan_motion")
    asked = {"reach": reach, "reach_twist": reach_twist, "track": track}
    if frame is None and any(x is not None for x in asked.values()):
        raise StateError("plan_motion: something is to be reached or tracked, but no frame was named.")
    if frame is not None and all(x is None for x in asked.values()):
        raise StateError(
            f"plan_motion: nothing is asked of {frame!r}; give reach, reach_twist or track, or no frame."
        )
    clock = perf_counter()
    task = _Task(system, np.linspace(0.0, float(duration), nodes), q0[0], v0[0])
    task.move()
    task.keep_within(rates)
    task.drive(torques)
    if attitude is not None:
        task.keep_attitude(float(attitude))
    for joint, position in ({} if end is None else end).items():
        task.end(joint, position)
    if frame is not None:
        task.reach(frame, reach, reach_twist)
        task.track(frame, track, float(track_from))
    if rest if rest is not None else (track is None and reach_twist is None):
        task.rest()
    task.spend_least(smooth)
    found = task.program.solve(task.guess(guess), int(iterations))
    worst = max(found.missed, key=lambda what: found.missed[what])
    message = found.status
    if not found.success:
        told = _REASONS.get(found.status, f"the solver ended with {found.status}")
        message = f"{told}; missed most is that {worst} (by {found.missed[worst]:.2g})"
        if found.missed[worst] < NEARLY:
            message = (
                f"{told}; all conditions are met (to {found.missed[worst]:.2g}), but not by the least forces"
            )
        warn(
            f"plan_motion of {system.mechanism.name!r}: {message}. The best motion found is returned: give more time, "
            "more nodes, wider limits, or a guess."
        )
    q, v, a = (found.x[where].T for where in (task.q, task.v, task.a))
    taken = _formula(system, "joint forces").value.map(nodes)
    tau = np.asarray(taken(np.hstack([q, v, a]).T, np.zeros((0, nodes)))).T * system.plan.actuated
    return MotionPlan(
        system, task.t, q, v, a, tau, found.success, message, found.missed[worst], found.iterations,
        perf_counter() - clock,
    )  # fmt: skip


def _check(
    system: Any, duration: Any, nodes: Any, smooth: Any, iterations: Any, track_from: Any, rest: Any, attitude: Any,
    track: Any, guess: Any, end: Any,
) -> None:  # fmt: skip
    """Complain about what is no task."""
    if not isinstance(system, System):
        raise StateError(f"plan_motion needs a system, found {shown(system)}; plan one with m.system().")
    if system.plan.total_constraints:
        raise LoopError(
            f"plan_motion: {system.mechanism.name!r} has loops or couplings, {system.plan.total_constraints} "
            f"constraints (loops: {', '.join(map(repr, system.loops)) or 'none'}); plan on a mechanism without, such "
            "as one with joints locked or detached."
        )
    if not is_positive(duration) or not is_count(nodes) or nodes < 3 or not is_not_negative(smooth):
        raise StateError(
            f"plan_motion: duration is {shown(duration)}, nodes {shown(nodes)} and smooth {shown(smooth)}; give a "
            "positive time, at least 3 nodes and no negative weight."
        )
    if not is_count(iterations) or not is_finite(track_from):
        raise StateError(
            f"plan_motion: iterations is {shown(iterations)} and track_from {shown(track_from)}; give a whole number "
            "and a time."
        )
    if rest is not None and not isinstance(rest, bool | np.bool_):
        raise StateError(f"plan_motion: rest is {shown(rest)}; give True, False, or None.")
    if attitude is not None and not is_positive(attitude):
        raise StateError(f"plan_motion: attitude is {shown(attitude)}; give a positive angle.")
    if track is not None and not can_take(track, "t"):
        raise StateError(f"plan_motion: track is {shown(track)}; give a function of t.")
    if track is not None and track_from > duration:
        raise StateError(
            f"plan_motion: from {track_from:g} s on nothing is tracked in {duration:g} s; let track_from be less."
        )
    if guess is not None and (
        not isinstance(guess, MotionPlan) or (guess.q.shape[1], guess.v.shape[1]) != (system.nq, system.nv)
    ):
        raise StateError(f"plan_motion: guess is {shown(guess)}; give a plan of this system.")
    if end is not None and not isinstance(end, Mapping):
        raise StateError(f"plan_motion: end is {shown(end)}; give a mapping from joints to positions.")


_REASONS = {
    "Infeasible_Problem_Detected": "no motion meets all conditions near where the search went",
    "Maximum_Iterations_Exceeded": "the search did not end within the iterations allowed",
    "Restoration_Failed": "the search came to a place from which it found no way back to the conditions",
    "Invalid_Number_Detected": "the dynamics are not finite where the search went",
    "Diverging_Iterates": "the search went ever further away",
    "Search_Direction_Becomes_Too_Small": "the search came no nearer",
    "Error_In_Step_Computation": "the search found no step that it could take",
    "Not_Enough_Degrees_Of_Freedom": "more is asked for than a motion with so few nodes can do",
}


class _Task:
    """A motion to be found at times t: places of q (nq, nodes), v and a (nv, nodes) among the variables of a program,
    and the conditions that it has so far."""

    def __init__(self, system: System, t: np.ndarray, q0: np.ndarray, v0: np.ndarray) -> None:
        self.system, self.t, self.q0, self.v0 = system, t, q0, v0
        sizes = np.array([system.nq, system.nv, system.nv]) * len(t)
        parts = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
        self.q, self.v, self.a = (x.reshape(len(t), -1).T for x in parts)
        self.moving = np.vstack([self.q, self.v, self.a])
        taken = Copies.of(_formula(system, "joint forces"), self.moving, np.zeros((0, len(t))))
        self.program = NonlinearProgram(int(sizes.sum()), taken)

    def move(self) -> None:
        """Begin where it begins, and let positions follow velocities, and these accelerations."""
        system, (q, v, a) = self.system, (self.q, self.v, self.a)
        h = self.t[1] - self.t[0]
        for places, value in ((q[:, 0], self.q0), (v[:, 0], self.v0)):
            self.program.low[places] = self.program.high[places] = value
        self.program.ask(
            _formula(system, "positions"), np.vstack([q[:, :-1], q[:, 1:], v[:, :-1], a[:, :-1], a[:, 1:]]), h,
            0.0, 0.0, ["positions follow velocities"] * system.nq,
        )  # fmt: skip
        self.program.ask(
            _formula(system, "velocities"), np.vstack([v[:, :-1], v[:, 1:], a[:, :-1], a[:, 1:]]), h, 0.0, 0.0,
            ["velocities follow accelerations"] * system.nv,
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
            some = _formula(system, "joint forces", tuple(bounded.tolist()))
            self.program.ask(
                some, self.moving, np.zeros((0, len(self.t))), low[bounded, None], high[bounded, None],
                names[bounded].tolist(),
            )  # fmt: skip
        # Limits of a motor shrink with its speed in their direction.
        for k, (least, most), speed in fading:
            for limit, below in ((least, False), (most, True)):
                if np.isfinite(limit) and np.isfinite(speed):
                    self.program.ask(
                        _formula(system, "force and speed", (k,)), self.moving, abs(limit) / speed,
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
                _formula(self.system, "along"), self.q[at[3:], 1:], self.q0[at[3:], None],
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
                _formula(self.system, "joint", joint), last[:, None], data[:, None], [[0.0]] * 6 + [[1.0]],
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
        self.program.ask(_formula(self.system, "twist", frame), last, np.zeros((0, 1)), low, high, names)

    def track(self, frame: str, path: Callable[[float], Any] | None, begin: float) -> None:
        """Ask for the pose of a frame at all nodes from a time on."""
        if path is None:
            return
        # Where it begins is not for the plan to choose.
        tracked = [k for k, time in enumerate(self.t) if time >= begin - 1e-12 and k > 0]
        goals = [_goal(f"track({self.t[k]:g})", path(float(self.t[k]))) for k in tracked]
        self._at(frame, tracked, goals, f"{frame} tracks")

    def _at(self, frame: str, nodes: list[int], goals: list[Any], what: str) -> None:
        points = np.array([goal.p if isinstance(goal, Pose) else goal for goal in goals]).T
        none = np.zeros((0, len(nodes)))
        self.program.ask(
            _formula(self.system, "point", frame), self.q[:, nodes], none, points, points, [what] * 3
        )
        turned = [(k, goal.R) for k, goal in zip(nodes, goals, strict=True) if isinstance(goal, Pose)]
        if turned:
            axes = np.array([np.ravel(R) for _, R in turned]).T
            self.program.ask(
                _formula(self.system, "axes", frame), self.q[:, [k for k, _ in turned]], axes, [[0.0]] * 3 + [[1.0]],
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


# Formulas of a system take longer to make than many plans to find.
_formulas: WeakKeyDictionary[System, dict[tuple[str, Any], Formula]] = WeakKeyDictionary()


def _formula(system: System, name: str, of: str | tuple[int, ...] | None = None) -> Formula:
    """Return a formula of a system, of a frame, a joint or some components if it belongs to these, made once."""
    system.evaluator.check_current()
    own = _formulas.setdefault(system, {})
    if (name, of) not in own:
        own[name, of] = _MAKERS[name](system, of)
    return own[name, of]


def _symbols(**sizes: int) -> list[Any]:
    import casadi

    return [casadi.SX.sym(name, size) for name, size in sizes.items()]


def _joint_forces(system: System, components: tuple[int, ...] | None) -> Formula:
    """Return components of the joint forces, all unless told which, that a motion (q, v, a) takes, besides springs and
    the like."""
    rows, variables, _ = _taken(system)
    return Formula.of(rows if components is None else rows[list(components)], variables, _symbols(none=0)[0])


def _force_and_speed(system: System, components: tuple[int, ...]) -> Formula:
    """Return components of the joint forces plus that much of the velocity as the data tell."""
    rows, variables, v = _taken(system)
    (share,) = _symbols(share=1)
    return Formula.of(rows[list(components)] + share * v[list(components)], variables, share)


def _taken(system: System) -> tuple[Any, Any, Any]:
    import casadi

    mechanism = system.mechanism
    # Stops are for motions that go astray; this one keeps within limits.
    residual = Residual(mechanism, system.plan, (), lambda plan: place_forces(mechanism, plan, {}))
    (q, v, a), forces = residual.joint_forces()
    return _column(forces), casadi.vertcat(_column(q), _column(v), _column(a)), _column(v)


def _positions(system: System, of: None) -> Formula:
    """Return by how much q of a node differs from where an earlier one, v and a lead to, of (q, q', v, a, a') and h."""
    import casadi

    n, plan = system.nv, system.plan
    q, later, v, a, b, h = _symbols(q=system.nq, later=system.nq, v=n, a=n, b=n, h=1)
    step = h * v + h * h / 6.0 * (2.0 * a + b)
    rows: list[Any] = [None] * system.nq
    for i in range(1, plan.n):
        kind = plan.kind[i]
        if kind is None or kind.follows:
            continue
        first, own = int(plan.q_start[i]), int(plan.v_start[i])
        here = array([q[first + k] for k in range(kind.nq)])
        moved = kind.integrate(here, array([step[own + k] for k in range(kind.nv)]))
        for k, x in enumerate(moved):
            rows[first + k] = later[first + k] - x
    return Formula.of(casadi.vertcat(*rows), casadi.vertcat(q, later, v, a, b), h)


def _velocities(system: System, of: None) -> Formula:
    """Return by how much v of a node differs from where an earlier one and a lead to, of (v, v', a, a') and h."""
    import casadi

    n = system.nv
    v, later, a, b, h = _symbols(v=n, later=n, a=n, b=n, h=1)
    return Formula.of(later - v - h / 2.0 * (a + b), casadi.vertcat(v, later, a, b), h)


def _along(system: System, of: None) -> Formula:
    """Return the product of two quaternions as vectors: of one that moves, and one that the data tell."""
    import casadi

    x, fixed = _symbols(x=4, fixed=4)
    return Formula.of(casadi.dot(fixed, x), x, fixed)


def _point(system: System, frame: str) -> Formula:
    """Return the origin of a frame in ground, of q."""
    (q,) = _symbols(q=system.nq)
    return Formula.of(_equation(system, "pose", frame)(q)[:3, 3], q, _symbols(none=0)[0])


def _axes(system: System, frame: str) -> Formula:
    """Return what the axes of a frame are turned by from those that the data tell by rows, of q."""
    q, wanted = _symbols(q=system.nq, wanted=9)
    return Formula.of(_turned(wanted, _equation(system, "pose", frame)(q)[:3, :3]), q, wanted)


def _twist(system: System, frame: str) -> Formula:
    """Return the twist of a frame in ground axes, of (q, v)."""
    import casadi

    q, v, none = _symbols(q=system.nq, v=system.nv, none=0)
    R = _equation(system, "pose", frame)(q)[:3, :3]
    own = _equation(system, "twist", frame)(q, v)
    rows = casadi.vertcat(casadi.mtimes(R, own[:3]), casadi.mtimes(R, own[3:]))
    return Formula.of(rows, casadi.vertcat(q, v), none)


def _joint(system: System, joint: str) -> Formula:
    """Return what a joint is moved and turned by from the transform that the data tell, of its q."""
    import casadi

    kind = system.plan.kind[system.plan.joint.index(joint)]
    assert kind is not None
    q, wanted = _symbols(q=kind.nq, wanted=12)
    X = kind.transform(array([q[k] for k in range(kind.nq)]))
    R = casadi.vertcat(*(casadi.horzcat(*row) for row in X.R))
    return Formula.of(casadi.vertcat(_column(X.p) - wanted[9:], _turned(wanted[:9], R)), q, wanted)


def _turned(wanted: Any, R: Any) -> Any:
    """Return the axial vector of the rotation from wanted axes, told by rows, which is zero where the axes agree, and
    its trace, which is more than one if they do so the right way round."""
    import casadi

    left = casadi.mtimes(casadi.reshape(wanted, 3, 3), R)
    return casadi.vertcat(
        left[2, 1] - left[1, 2], left[0, 2] - left[2, 0], left[1, 0] - left[0, 1], casadi.trace(left)
    )


def _equation(system: System, name: str, frame: str) -> Any:
    return system.equations(name, frame=frame).casadi()


def _column(entries: Any) -> Any:
    import casadi

    return casadi.vertcat(*(casadi.SX(x) for x in entries))


_MAKERS: dict[str, Callable[[System, Any], Formula]] = {
    "joint forces": _joint_forces, "force and speed": _force_and_speed, "positions": _positions,
    "velocities": _velocities, "along": _along, "point": _point, "axes": _axes, "twist": _twist, "joint": _joint,
}  # fmt: skip


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
