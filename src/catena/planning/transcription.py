"""Motions of least effort by direct transcription: accelerations are straight lines between nodes in time, positions
and velocities follow from them exactly, and at every node inverse dynamics gives the joint forces.

At joints without an actuator they must be zero, which is how a floating base is moved by its arms; at others they stay
within limits. What is asked for at the end, or along the way, are conditions on the pose and twist of a frame. CasADi
has all derivatives, and IPOPT solves the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import LoopError, StateError, warn
from catena.given import can_take, is_count, is_finite, is_not_negative, is_positive, real_array, shown
from catena.mechanism.selection import selected
from catena.mechanism.validation import known
from catena.planning.motion_plan import MotionPlan
from catena.spatial import Pose
from catena.spatial.scalars import array
from catena.system import System


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
    ground axes (zero where `rest`); or to `track` a point (3,) or a `Pose` as a function of t at all nodes from
    `track_from` on. `end` maps joints to positions in the end. `rest` says whether all joints stand still in the end,
    which they do unless something is tracked or a twist is asked for.

    Positions stay within the limits of joints, velocities within `rates` [rad/s or m/s], joint forces within those of
    actuators and within `torques`, each a number for all actuated joints or a mapping from names or patterns.
    `attitude` is how far [rad] a floating base may turn from where it begins. `smooth` weighs accelerations against
    forces, in the units of the largest. Only for trees. If the solver fails, a warning says why and the best motion it
    had is returned.
    """
    import casadi

    if not isinstance(system, System):
        raise StateError(f"plan_motion needs a system, found {shown(system)}; plan one with m.system().")
    if system.plan.total_constraints:
        raise LoopError(
            f"plan_motion: {system.mechanism.name!r} has loops {list(system.loops)}; plan on a mechanism without, such "
            "as one with joints locked or detached."
        )
    if not is_positive(duration) or not is_count(nodes) or nodes < 3 or not is_not_negative(smooth):
        raise StateError(
            f"plan_motion: duration is {shown(duration)}, nodes {shown(nodes)} and smooth {shown(smooth)}; give a "
            "positive time, at least 3 nodes and no negative weight."
        )
    _, q0, v0 = system.states(start, np.zeros(system.nv) if velocity is None else velocity)
    if len(q0) != 1 or len(v0) != 1:
        raise StateError("plan_motion: start or velocity have batch dimensions; give one state.")
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
    if guess is not None and (not isinstance(guess, MotionPlan) or guess.q.shape[1] != system.nq):
        raise StateError(f"plan_motion: guess is {shown(guess)}; give a plan of this system.")
    if frame is not None:
        known("body or frame", frame, system.plan.body_pose, "plan_motion")
    elif reach is not None or track is not None:
        raise StateError("plan_motion: something is to be reached or tracked, but no frame was named.")
    clock = perf_counter()
    t = np.linspace(0.0, float(duration), nodes)
    h = float(t[1])
    problem = casadi.Opti()
    q, v, a = (problem.variable(n, nodes) for n in (system.nq, system.nv, system.nv))
    tau = _function(system, "inverse_dynamics").map(nodes)(q, v, a)
    moved = h * v[:, :-1] + h * h / 6.0 * (2.0 * a[:, :-1] + a[:, 1:])
    following = _integrated(system, casadi).map(nodes - 1)(q[:, :-1], moved)
    named: list[tuple[str, Any]] = []

    def ask(what: str, condition: Any) -> None:
        problem.subject_to(condition)
        named.append((what, condition))

    ask("positions follow velocities", casadi.vec(q[:, 1:] - following) == 0)
    ask(
        "velocities follow accelerations",
        casadi.vec(v[:, 1:] - v[:, :-1] - h / 2.0 * (a[:, :-1] + a[:, 1:])) == 0,
    )
    ask("where it begins", q[:, 0] == q0[0])
    ask("how fast it begins", v[:, 0] == v0[0])
    idle = np.flatnonzero(~system.plan.actuated)
    driven = np.flatnonzero(system.plan.actuated)
    if len(idle):
        ask("nothing drives joints without an actuator", casadi.vec(tau[idle.tolist(), :]) == 0)
    _bound(system, ask, casadi, q, v, tau, rates, torques)
    if attitude is not None:
        _limit_attitude(system, ask, casadi, q, q0[0], float(attitude))
    if end is not None and not isinstance(end, Mapping):
        raise StateError(f"plan_motion: end is {shown(end)}; give a mapping from joints to positions.")
    for joint, position in ({} if end is None else end).items():
        at = _where(system.slice_q(joint))
        ask(f"{joint} in the end", q[at, -1] == _numbers(f"the end of {joint!r}", position, len(at)))
    if frame is not None:
        _reach(system, ask, casadi, frame, q, v, t, reach, reach_twist, track, track_from)
    stops = rest if rest is not None else (track is None and reach_twist is None)
    if stops:
        moving = driven if len(idle) else np.arange(system.nv)
        ask("joints stand still in the end", v[moving.tolist(), -1] == 0)
    scale = max(1.0, float(np.abs(system.inverse_dynamics(q0[0], v0[0], np.ones(system.nv))).max()))
    effort = _integral(casadi, tau[driven.tolist(), :], h) / scale**2 + smooth * _integral(casadi, a, h)
    problem.minimize(effort)
    problem.set_initial(q, np.tile(q0[0], (nodes, 1)).T if guess is None else _resampled(guess, t).T)
    options: dict[str, Any] = {
        "print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.max_iter": int(iterations),
        "ipopt.tol": 1e-8, "ipopt.mu_strategy": "adaptive",
        # Second derivatives take longer to make than first ones to iterate with.
        "ipopt.hessian_approximation": "limited-memory",
    }  # fmt: skip
    problem.solver("ipopt", options)
    solution: Any
    try:
        solution, success, message = problem.solve(), True, "Solve_Succeeded"
    except RuntimeError:
        # The solver gave up: what it had last is still there.
        solution, success, message = problem.debug, False, str(problem.stats().get("return_status"))
    missed = {what: _missed(solution, condition, casadi) for what, condition in named}
    worst = max(missed, key=lambda what: missed[what])
    if not success:
        told = _REASONS.get(message, message)
        message = f"{told}; missed most is that {worst} (by {missed[worst]:.2g})"
        warn(
            f"plan_motion of {system.mechanism.name!r}: {message}. The best motion found is returned: give more time, "
            "more nodes, wider limits, or a guess."
        )
    count = int(problem.stats().get("iter_count", 0))
    q_found, v_found, a_found, tau_found = (
        np.asarray(solution.value(x)).reshape(-1, nodes).T for x in (q, v, a, tau)
    )
    return MotionPlan(
        system, t, q_found, v_found, a_found, tau_found, success, message, missed[worst], count, perf_counter() - clock
    )  # fmt: skip


_REASONS = {
    "Infeasible_Problem_Detected": "no motion meets all conditions near where the search went",
    "Maximum_Iterations_Exceeded": "the search did not end within the iterations allowed",
    "Restoration_Failed": "the search came to a place from which it found no way back to the conditions",
    "Invalid_Number_Detected": "the dynamics are not finite where the search went",
}


# Equations of a system take longer to make than many plans to find.
_functions: WeakKeyDictionary[System, dict[tuple[str, str | None], Any]] = WeakKeyDictionary()


def _function(system: System, name: str, frame: str | None = None) -> Any:
    """Return equations of a system as a CasADi function, made once."""
    system.evaluator.check_current()
    own = _functions.setdefault(system, {})
    if (name, frame) not in own:
        own[name, frame] = system.equations(name, frame=frame).casadi()
    return own[name, frame]


def _integral(casadi: Any, x: Any, h: float) -> Any:
    """Return the integral of the squares of what is straight between nodes (n, nodes)."""
    first, last = x[:, :-1], x[:, 1:]
    return h / 3.0 * casadi.sum1(casadi.vec(first * first + first * last + last * last))


def _integrated(system: System, casadi: Any) -> Any:
    """Return the CasADi function q (+) step of all joints."""
    q, step = casadi.SX.sym("q", system.nq), casadi.SX.sym("step", system.nv)
    plan = system.plan
    rows: list[Any] = [None] * system.nq
    for i in range(1, plan.n):
        kind = plan.kind[i]
        assert kind is not None
        a, b = int(plan.q_start[i]), int(plan.v_start[i])
        own = array([q[a + k] for k in range(kind.nq)])
        by = array([step[b + k] for k in range(kind.nv)])
        for k, x in enumerate(kind.integrate(own, by)):
            rows[a + k] = x
    return casadi.Function("integrated", [q, step], [casadi.densify(casadi.vertcat(*rows))])


def _bound(system: System, ask: Any, casadi: Any, q: Any, v: Any, tau: Any, rates: Any, torques: Any) -> None:
    """Keep positions, velocities and joint forces within their limits."""
    joints = system.mechanism.joints
    for name in system.joints:
        described = joints.get(name)
        if described is None:
            continue
        if described.limits is not None and described.kind.nq == described.kind.nv:
            for k, (low, high) in zip(_where(system.slice_q(name)), described.limits, strict=True):
                _between(ask, casadi, f"{name} within its limits", q[k, :], low, high)
        if described.velocity_limit is not None:
            for k, most in zip(_where(system.slice_v(name)), described.velocity_limit, strict=True):
                _between(ask, casadi, f"{name} within its speed", v[k, :], -most, most)
    for what, given, x in (("rates", rates, v), ("torques", torques, tau)):
        for k, most in _limits(system, what, given).items():
            _between(ask, casadi, f"{what} within limits", x[k, :], -most, most)
    for motor in system.mechanism.actuators.values():
        if motor.joint in system.joints:
            at = _where(system.slice_v(motor.joint))
            for component, (low, high) in zip(motor.components, motor.joint_limits, strict=True):
                _between(ask, casadi, f"{motor.name} within its limits", tau[at[component], :], low, high)


def _between(ask: Any, casadi: Any, what: str, x: Any, low: float, high: float) -> None:
    if np.isfinite(low):
        ask(what, casadi.vec(x) >= low)
    if np.isfinite(high):
        ask(what, casadi.vec(x) <= high)


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


def _limit_attitude(system: System, ask: Any, casadi: Any, q: Any, q0: np.ndarray, most: float) -> None:
    """Keep each floating base within an angle of where it begins."""
    for name in system.joints:
        at = _where(system.slice_q(name))
        if len(at) == 7:
            # The scalar part of the relative quaternion is the cosine of half the angle.
            along = casadi.mtimes(casadi.DM(q0[at[3:]]).T, q[at[3:], :])
            ask("the base keeps its attitude", casadi.vec(along) >= float(np.cos(most / 2.0)))


def _reach(
    system: System, ask: Any, casadi: Any, frame: str, q: Any, v: Any, t: np.ndarray, reach: Any, twist: Any,
    track: Any, track_from: float,
) -> None:  # fmt: skip
    """Ask for the pose and the twist of a frame in the end, or along the way."""
    pose, moving = _function(system, "pose", frame), _function(system, "twist", frame)
    if reach is not None:
        _at(ask, casadi, pose(q[:, -1]), reach, f"{frame} reaches its goal")
    if twist is not None:
        wanted = _numbers("reach_twist", twist, 6, finite=False)
        R = pose(q[:, -1])[:3, :3]
        own = moving(q[:, -1], v[:, -1])
        ask(f"{frame} moves as asked for", casadi.mtimes(R, own[3:]) == wanted[3:])
        if np.isfinite(wanted[:3]).all():
            ask(f"{frame} turns as asked for", casadi.mtimes(R, own[:3]) == wanted[:3])
    if track is not None:
        for k, time in enumerate(t):
            if time >= track_from - 1e-12 and k > 0:
                _at(ask, casadi, pose(q[:, k]), track(float(time)), f"{frame} tracks")


def _at(ask: Any, casadi: Any, X: Any, goal: Any, what: str) -> None:
    point = goal.p if isinstance(goal, Pose) else _numbers(what, goal, 3)
    ask(what, X[:3, 3] == point)
    if isinstance(goal, Pose):
        turned = casadi.mtimes(casadi.DM(goal.R).T, X[:3, :3])
        # The axial vector of the remaining rotation, zero where the axes agree, and the right way round.
        ask(
            f"{what} (axes)",
            casadi.vertcat(
                turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]
            )
            == 0,
        )
        ask(f"{what} (axes)", turned[0, 0] + turned[1, 1] + turned[2, 2] >= 1.0)


def _numbers(what: str, value: Any, count: int, finite: bool = True) -> np.ndarray:
    """Return so many numbers, or the complaint that there are others."""
    try:
        found = np.atleast_1d(real_array(value))
    except ValueError as error:
        raise StateError(f"plan_motion: {what} is {shown(value)} ({error}); give {count} numbers.") from error
    if found.shape != (count,) or (finite and not np.isfinite(found).all()):
        raise StateError(f"plan_motion: {what} is {shown(value)}; give {count} finite numbers.")
    return found


def _where(at: slice) -> list[int]:
    return list(range(at.start, at.stop))


def _resampled(guess: MotionPlan, t: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(t, guess.t, guess.q[:, k]) for k in range(guess.q.shape[1])], axis=1)


def _missed(solution: Any, condition: Any, casadi: Any) -> float:
    """Return by how much a condition is missed."""
    left, right = (
        np.asarray(solution.value(x), dtype=np.float64).ravel() for x in (condition.dep(0), condition.dep(1))
    )
    gap = left - right
    return float(np.max(np.abs(gap) if condition.op() == casadi.OP_EQ else np.maximum(gap, 0.0), initial=0.0))
