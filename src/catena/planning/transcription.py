"""Motions of least effort by direct transcription: accelerations are straight lines between nodes in time, positions
and velocities follow from them, and at every node joint forces are what the motion takes besides springs and the like.

At joints without an actuator they must be zero, which is how a floating base is moved by its arms; at others they stay
within limits. Loops stay closed, with forces of their own. What is asked for at the end, or along the way, are
conditions on the pose and twist of a frame. The formulas are those of the code that runs, with derivatives by CasADi,
and IPOPT solves the rest.

Conditions at nodes are met where loops are closed, whichever way round. A search may therefore end with single nodes on
another branch of the linkage. A motion that is followed takes dependent components along from node to node instead:
predicted by eq. 4 of Lampariello, Abiko and Hirzinger, then closed by Newton's method while the independent ones stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError, warn
from catena.flying.independent import follow_independent
from catena.planning.closed_plan import closed_jacobian, closed_plan
from catena.planning.formulas import drives, formula
from catena.planning.motion_plan import MotionPlan
from catena.planning.nonlinear_program import Found
from catena.planning.objectives import Expression, Objective, objective_of
from catena.planning.phase import MotionPhase
from catena.planning.task import MotionTask
from catena.spatial import Pose
from catena.system import System
from catena.system.of_system import as_one_system
from catena.validation import is_count, is_not_negative, is_one_of, shown

# The way between two nodes is cut into parts of this [rad, m] at most, short beside the size of a branch, but into no
# more than so many.
PART, MOST_PARTS = 0.05, 64
# Newton steps that close loops after a prediction, and how far open [rad, m] they may be behind these.
CORRECTIONS, CLOSED = 6, 1e-9


def followed(task: MotionTask, x: np.ndarray) -> np.ndarray | None:
    """Return variables x (n,) of a program with positions and velocities of dependent components that follow the
    others from where the motion begins; None where these do not tell how, as at dead centres."""
    begin = x.copy()
    system, G = task.system, task.chosen.components
    q, before = task.q0, task.q0
    for k in range(1, len(task.t)):
        here = x[task.q[:, k]]
        ahead = system.difference(before, here)[G]
        before = here
        try:
            parts = min(1 + int(np.abs(ahead).max(initial=0.0) / PART), MOST_PARTS)
            for _ in range(parts):
                closed = _closed(task, system.integrate(q, _led(task, q, ahead / parts)))
                if closed is None:
                    return None
                q = closed
            begin[task.v[:, k]] = _led(task, q, x[task.v[G, k]])
        except StateError:
            # The independent components tell nothing there.
            return None
        begin[task.q[:, k]] = q
    return begin


def towards_the_end(task: MotionTask, x: np.ndarray) -> np.ndarray:
    """Return variables x (n,) with independent joints that have a place in the end on their way there, from rest to
    rest by polynomials of third order, and all others behind them; x itself where there is none, or they cannot
    follow."""
    system, last = task.system, task.q[:, -1]
    placed = task.program.low[last] == task.program.high[last]
    begin, s = x.copy(), task.t / task.t[-1]
    led = set(task.chosen.components.tolist())
    for name in system.joints:
        at, where = system.slice_v(name), system.slice_q(name)
        if at.stop - at.start != where.stop - where.start:
            continue
        for k, i in zip(range(at.start, at.stop), range(where.start, where.stop), strict=True):
            if placed[i] and k in led:
                way = task.program.low[last[i]] - task.q0[i]
                begin[task.q[i]] = task.q0[i] + way * s**2 * (3.0 - 2.0 * s)
                begin[task.v[k]] = way * 6.0 * s * (1.0 - s) / task.t[-1]
                begin[task.a[k]] = way * 6.0 * (1.0 - 2.0 * s) / task.t[-1] ** 2
    found = None if np.array_equal(begin, x) else followed(task, begin)
    return x if found is None else found


def _led(task: MotionTask, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return how all components move (nv,) where the independent ones move as given (d,)."""
    J = task.system.closure_jacobian(q)
    return follow_independent(J, task.chosen, "plan_motion") @ rates


def _closed(task: MotionTask, q: np.ndarray) -> np.ndarray | None:
    """Return q (nq,) with closed loops, the independent components as they are; None if they do not close."""
    system, D = task.system, task.chosen.dependent
    for _ in range(CORRECTIONS):
        error = system.closure(q)[0]
        if float(np.abs(error).max(initial=0.0)) < CLOSED:
            return q
        step = np.zeros(system.nv)
        step[D] = np.linalg.lstsq(system.closure_jacobian(q)[:, D], -error, rcond=None)[0]
        q = system.integrate(q, step)
    return None


# Who misses conditions by less than this [rad, m, N m, ...] has met them, as far as anybody can tell.
NEARLY = 1e-6


def plan_motion(
    system: System,
    start: ArrayLike,
    duration: float | tuple[float, float],
    *,
    velocity: ArrayLike | None = None,
    frame: str | None = None,
    reach: Pose | ArrayLike | None = None,
    reach_attitude: Pose | ArrayLike | None = None,
    reach_twist: ArrayLike | None = None,
    track: Callable[[float], ArrayLike] | None = None,
    track_from: float = 0.0,
    end: Mapping[str, ArrayLike] | None = None,
    rest: bool | str | Iterable[str] | None = None,
    rates: float | Mapping[str, float] | None = None,
    torques: float | Mapping[str, float] | None = None,
    attitude: float | Mapping[str, float] | None = None,
    momentum: ArrayLike | None = None,
    independent: Iterable[str] | None = None,
    objective: str | Expression = "force",
    nodes: int = 25,
    smooth: float = 1e-3,
    iterations: int = 300,
    guess: MotionPlan | None = None,
) -> MotionPlan:
    """Return a motion of least joint forces from `start` (nq,) with `velocity` (nv,), at rest unless given, in
    `duration` seconds; of a pair (shortest, longest) the best duration is found.

    `frame` is to be at `reach`, a pose or a point (3,) in ground, in the end, or to have the attitude
    `reach_attitude`, a pose, a rotation matrix or a quaternion, with `reach_twist` [angular; linear] at its origin in
    ground axes, NaN where any will do; or to `track` a point (3,) or a `Pose` as a function of t at all nodes from
    `track_from` on. `end` maps joints to positions in the end. `rest` says whether actuated joints stand still in the
    end, which they do unless something is tracked or a twist is asked for; "all" are passive joints too, but for a
    floating base, which stands still by itself where its arms do and it has no momentum; names or patterns are some.

    Positions stay within the limits of joints, velocities within `rates` [rad/s or m/s], joint forces within those of
    actuators and within `torques`, each a number for all actuated joints or a mapping from names or patterns; joints
    that close loops have limits and motors like others. `attitude` is how far [rad] a floating base may turn from
    where it begins, or a mapping from frames to angles. `momentum` (6,) are the largest components of the momentum
    [angular; linear] of all that moves, about its mass centre in ground axes.

    `objective` is what is least: "force", the squares of joint forces; "energy", the work of motors whatever its sign;
    "time", which needs a pair of durations; or a function of (q, v, vdot, tau) that makes an expression of these
    arrays of symbols, integrated over time. tau are the forces of all components of the tree, then those of driven
    loop joints. `smooth` weighs squares of accelerations, and of joint forces where something else is least, against
    it, in the units of the largest.

    With loops or couplings, `independent` names the joints that all others follow: as many as there are degrees of
    freedom, floating bases and motors first unless given. `guess` is a plan to begin the search with.

    Between `nodes` times accelerations of actuated joints are straight lines. Where other joints move too, the plan
    has the middles between these times as well. Conditions hold at these times; between them the motion is off by the
    square of their distance, so that twice as many are four times as exact. If the solver fails, a warning says why,
    and of all motions it had the one that misses conditions least is returned.
    """
    as_one_system(system, "plan_motion")
    check_search(smooth, iterations)
    check_guess(system, guess)
    _, q0, v0 = system.mechanics.states(start, np.zeros(system.nv) if velocity is None else velocity)
    if len(q0) != 1 or len(v0) != 1:
        raise StateError("plan_motion: start or velocity have batch dimensions; give one state.")
    clock = perf_counter()
    phase = MotionPhase(
        system, duration, frame, reach, reach_attitude, reach_twist, track, track_from, end, rest, rates, torques,
        attitude, momentum, independent, nodes,
    )  # fmt: skip
    if guess is None and is_one_of(objective, ("energy",)):
        # Work has a kink where a motor stops, at which a search from nowhere in particular hesitates if motors are too
        # many; that for the least forces has none.
        first, _ = _planned(phase, "force", q0[0], v0[0], smooth, int(iterations), None, clock)
        guess = first if first.success else None
    plan, advice = _planned(phase, objective, q0[0], v0[0], smooth, int(iterations), guess, clock)
    if advice:
        warn(f"plan_motion of {system.mechanism.name!r}: {plan.message}. {advice}")
    return plan


def _planned(
    phase: MotionPhase,
    objective: str | Expression,
    q: np.ndarray,
    v: np.ndarray,
    smooth: float,
    iterations: int,
    guess: MotionPlan | None,
    clock: float,
) -> tuple[MotionPlan, str]:
    """Return the plan of a phase from one state (nq,), (nv,) on, and what to do about it if it is no success."""
    task = phase.task(objective, q, v)
    aim = objective_of(phase.system, objective, task.acting, task.scale)
    phase.ask(task)
    task.spend_least(aim, smooth)
    begin = task.guess(guess)
    if guess is None and len(task.held):
        begin = towards_the_end(task, begin)
    found = task.program.solve(begin, iterations)
    if dead_centre(task, found.x) is not None and (anew := followed(task, found.x)) is not None:
        # At single nodes loops are closed the other way round, which conditions at nodes do not see. The search
        # begins again with a motion that keeps to the way they are closed at first.
        again = task.program.solve(anew, iterations)
        if again.success and dead_centre(task, again.x) is None:
            found = again
    return plan_found(task, aim, found, clock)


def plan_found(task: MotionTask, aim: Objective, found: Found, clock: float) -> tuple[MotionPlan, str]:
    """Return the plan of a task that the solver found since `clock`, and what to do about it if it is no success."""
    system = task.system
    worst = max(found.missed, key=lambda what: found.missed[what])
    message, success, advice = found.status, found.success, ""
    t, nodes = task.found(found.x)
    q, v, a, _ = np.split(nodes.T, np.cumsum([system.nq, system.nv, system.nv]), axis=1)
    if success and (dead := dead_centre(task, found.x)) is not None:
        success = False
        message = f"near t = {dead:.3g} s the leading joints pass a dead centre, where they do not tell how others move"
        advice = (
            "Conditions hold at nodes, and nobody knows what is between; let other joints lead, independent=[...], or "
            "ask for a motion that stays away from there."
        )
    elif not success:
        message = why(found)
        advice = "The best motion found is returned: give more time, more nodes, wider limits, or a guess."
    taken = formula(system, "joint forces").value.map(len(t))
    forces = np.asarray(taken(nodes, np.zeros((0, len(t))))).T * task.acting
    own = set(task.chosen.components.tolist())
    leading = [
        name for name in system.joints if own.issuperset(range(*system.slice_v(name).indices(system.nv)))
    ]
    plan = MotionPlan(
        system, t, q, v, a, forces[:, : system.nv], {name: forces[:, at] for name, at in drives(system).items()},
        tuple(leading), aim.name, aim.cost(t, nodes, forces), success, message, found.missed[worst],
        found.iterations, perf_counter() - clock,
    )  # fmt: skip
    return plan, advice


def why(found: Found) -> str:
    """Return in words why the solver was not satisfied, and what is missed most."""
    worst = max(found.missed, key=lambda what: found.missed[what])
    reason = _REASONS.get(found.status, f"the solver ended with {found.status}")
    if found.missed[worst] < NEARLY:
        return f"{reason}; all conditions are met (to {found.missed[worst]:.2g}), but not by the least forces"
    return f"{reason}; missed most is that {worst} (by {found.missed[worst]:.2g})"


def dead_centre(task: MotionTask, x: np.ndarray) -> float | None:
    """Return a time near which the determinant of what dependent components follow by changes its sign; None if it does
    not."""
    if not len(task.held):
        return None
    t, nodes = task.found(x)
    plan = closed_plan(task.system)
    J = np.array([closed_jacobian(task.system, plan, here) for here in nodes[: task.system.nq].T])
    signs = np.sign(np.linalg.det(J[..., task.chosen.dependent]))
    changes = np.flatnonzero(signs[1:] != signs[0])
    return float(t[changes[0] + 1]) if len(changes) else None


def check_search(smooth: Any, iterations: Any) -> None:
    """Complain about a search that cannot be made."""
    if not is_not_negative(smooth):
        raise StateError(f"plan_motion: smooth is {shown(smooth)}; give no negative weight.")
    if not is_count(iterations):
        raise StateError(f"plan_motion: iterations is {shown(iterations)}; give a whole number.")


def check_guess(system: System, guess: Any) -> None:
    """Complain about what is no plan of a system to begin a search with."""
    if guess is not None and (
        not isinstance(guess, MotionPlan) or (guess.q.shape[1], guess.v.shape[1]) != (system.nq, system.nv)
    ):
        raise StateError(f"plan_motion: guess is {shown(guess)}; give a plan of this system.")


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
