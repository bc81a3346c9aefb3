"""Inverse kinematics at the public edge: goals by frame, and the words for those that are not reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.dynamics.loops.closing import loop_closure
from catena.dynamics.loops.closing.joint_limits import JointLimits
from catena.dynamics.loops.closing.reaching import Reach, Reaching, left_of
from catena.errors import LoopError, StateError
from catena.kernels import arrays
from catena.kinematics.loops.goals import Goal
from catena.spatial import Pose
from catena.system.by_name import Given
from catena.system.by_state import one_by_one
from catena.system.closed_states import guessed, quick_assembly_for
from catena.system.of_system import of_system
from catena.validation import shown

if TYPE_CHECKING:
    from catena.system.system import System


@of_system
@one_by_one
def reach(
    system: System, goals: Mapping[str, Pose | ArrayLike], guess: ArrayLike | Given | None = None,
    hold: Given | None = None,
) -> Reach:  # fmt: skip
    """Return which goals frames or bodies reach and how near they come to the others, loops closed and joints within
    their limits: workspaces of thousands of points in one call. It takes what `inverse_kinematics` takes and never
    raises because a goal is out of reach."""
    for frame in goals if isinstance(goals, Mapping) else ():
        system._frame(frame)
    if not isinstance(goals, Mapping) or not goals:
        raise StateError(f"goals is {shown(goals)}; give a mapping from frames to poses or points.")
    start = guessed(system, guess)
    system.mechanics.settle()
    if system.plan.total_constraints:
        quick_assembly_for(system, "inverse_kinematics")
    held = loop_closure.held(system.mechanics.evaluator, hold)
    wanted = [Goal(frame, place) for frame, place in goals.items()]
    for h in held:
        if h.node < 0:
            raise LoopError(
                f"Joint {h.name!r} closes a loop in this plan and cannot be held here: hold another."
            )
    try:
        batch = np.broadcast_shapes(
            start.shape[:-1], *(g.batch for g in wanted), *(h.value.shape[:-1] for h in held)
        )
    except ValueError:
        shapes = {g.frame: g.batch for g in wanted}
        raise StateError(
            f"The batch dimensions do not fit together: guess {start.shape[:-1]}, goals {shapes}."
        ) from None
    search = Reaching(system.mechanics.evaluator, [g.over(batch) for g in wanted])
    rows = [replace(h, value=arrays.rows(h.value, batch)) for h in held]
    q, done = search.reach(
        rows, arrays.rows(start, batch).copy(), system._counted.described.once(JointLimits)
    )
    left = [left_of(system.mechanics.evaluator, goal, q) for goal in search.goals]
    distance, angle = (np.max([each[k] for each in left], axis=0).reshape(batch) for k in (0, 1))
    return Reach(q.reshape(*batch, system.nq), done.reshape(batch), distance, angle)


def inverse_kinematics(
    system: System, goals: Mapping[str, Pose | ArrayLike], guess: ArrayLike | Given | None, hold: Given | None
) -> np.ndarray:
    """Return coordinates (..., nq) in which frames or bodies are at their goals; raise where one is not reached."""
    found = reach(system, goals, guess, hold)
    if not found.reached.all():
        error = LoopError(_complaint(system, goals, found))
        error.reach = found
        raise error
    return found.q


def _complaint(system: System, goals: Mapping[str, Any], found: Reach) -> str:
    """Return what was not reached, by how much, and what joint is in the way."""
    flat, batch = found.reached.reshape(-1), found.reached.shape
    state = int(np.argmin(flat))
    where = f" in {int(np.sum(~flat))} of {len(flat)} states, in state {state}" if batch else ""
    q = found.q.reshape(len(flat), -1)[state]
    words = []
    for frame, wanted in goals.items():
        goal = Goal(frame, wanted).over(batch).some(np.array([state]))
        gap, turn = left_of(system.mechanics.evaluator, goal, q[None])
        words.append(f"{frame!r} {gap[0]:.3g} m" + ("" if goal.R is None else f" and {turn[0]:.3g} rad"))
    limits = system._counted.described.once(JointLimits)
    at = limits.reached(q)
    who = f" There {', '.join(map(repr, at))} stand{'s' * (len(at) == 1)} at the limit." if at else ""
    who = who if limits.keeps(q) else f" There {limits.words(q)}."
    return (
        f"No configuration of {system.plan.name!r} was found{where} that brings its frames where they should be within "
        f"the limits of its joints; what is left of the nearest: {', '.join(words)}.{who} Give a goal within reach, or "
        f"a guess nearer to it, or ask ct.reach(s, ...), which tells which goals are reached."
    )
