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

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import LoopError, StateError, warn
from catena.given import can_take, is_count, is_finite, is_not_negative, is_positive, shown
from catena.mechanism.validation import known
from catena.planning.formulas import formula
from catena.planning.motion_plan import MotionPlan
from catena.planning.task import Task
from catena.spatial import Pose
from catena.system import System

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

    `frame` is to be at `reach`, a pose or a point (3,) in ground, in the end, with `reach_twist` [angular; linear] at
    its origin in ground axes, NaN where any will do; or to `track` a point (3,) or a `Pose` as a function of t at all
    nodes from `track_from` on. `end` maps joints to positions in the end. `rest` says whether actuated joints stand
    still in the end, which they do unless something is tracked or a twist is asked for.

    Positions stay within the limits of joints, velocities within `rates` [rad/s or m/s], joint forces within those of
    actuators and within `torques`, each a number for all actuated joints or a mapping from names or patterns.
    `attitude` is how far [rad] a floating base may turn from where it begins. `smooth` weighs accelerations against
    forces, in the units of the largest. `guess` is a plan to begin the search with. Only for trees.

    Between `nodes` times accelerations of actuated joints are straight lines. Where other joints move too, the plan has
    the middles between these times as well. Conditions hold at these times; between them the motion is off by the
    square of their distance, so that twice as many are four times as exact. If the solver fails, a warning says why,
    and of all motions it had the one that misses conditions least is returned.
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
    task = Task(system, float(duration), int(nodes), q0[0], v0[0])
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
    q, v, a = task.found(found.x)
    taken = formula(system, "joint forces").value.map(len(task.t))
    tau = np.asarray(taken(np.hstack([q, v, a]).T, np.zeros((0, len(task.t))))).T * system.plan.actuated
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
    if system.parameters:
        raise StateError(
            f"plan_motion is for one mechanism, and the parameters {', '.join(system.parameters)} differ from state to "
            "state; ask for the motion of one of them, s.vary(parameters).state(k)."
        )
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
