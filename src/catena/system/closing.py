"""Closing loops by name: positions and velocities of the closed mechanism from what users give for some joints."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.dynamics.closed.consistent_velocity import consistent_velocity
from catena.dynamics.closed.motion_problem import motion_problem
from catena.errors import StateError
from catena.kinematics.assembly import assemble as assemble_one
from catena.kinematics.closure import loop_kinematics
from catena.kinematics.held import Held, held_positions, held_velocities
from catena.system.evaluation import Evaluator


def assemble(
    evaluator: Evaluator, given: Mapping[str, Any] | None, guess: np.ndarray, slack: float
) -> np.ndarray:
    """Coordinates (..., nq) that close the loops, near `guess` (..., nq), for given values (..., nq_joint)."""
    evaluator.check_current()
    held = held_positions(evaluator.mechanism, evaluator.plan, given or {})
    batch = _batch(held, guess.shape[:-1])
    _check_slack(slack)
    q = np.broadcast_to(guess, (*batch, guess.shape[-1])).copy()
    for k in np.ndindex(batch):
        q[k] = assemble_one(evaluator, _at(held, batch, k), q[k], slack)
    return q


def velocity(evaluator: Evaluator, q: np.ndarray, given: Mapping[str, Any], slack: float) -> np.ndarray:
    """Velocities (..., nv) of the closed mechanism at q (..., nq) for given velocities (..., nv_joint)."""
    evaluator.check_current()
    held = held_velocities(evaluator.mechanism, evaluator.plan, given)
    batch = _batch(held, q.shape[:-1])
    _check_slack(slack)
    problem = motion_problem(evaluator, np.broadcast_to(q, (*batch, q.shape[-1])))
    flat = [
        replace(h, value=np.broadcast_to(h.value, (*batch, h.value.shape[-1])).reshape(problem.states, -1))
        for h in held
    ]
    return consistent_velocity(problem, flat, slack).reshape(*batch, evaluator.plan.nv)


def closure(evaluator: Evaluator, q: Any, v: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """The position and velocity errors (..., m) of all constraints, in the order of the loops."""
    states = loop_kinematics(evaluator, q, v)
    if not states:
        nothing = np.zeros((*np.broadcast_shapes(np.shape(q)[:-1], np.shape(v)[:-1]), 0))
        return nothing, nothing.copy()
    batch = np.broadcast_shapes(
        *(s.position.shape[:-1] for s in states), *(s.velocity.shape[:-1] for s in states)
    )
    position, velocity = (
        np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in parts], axis=-1)
        for parts in ([s.position for s in states], [s.velocity for s in states])
    )
    return position, velocity


def _batch(held: Sequence[Held], batch: tuple[int, ...]) -> tuple[int, ...]:
    shapes = {h.name: h.value.shape[:-1] for h in held}
    try:
        return np.broadcast_shapes(batch, *shapes.values())
    except ValueError as error:
        raise StateError(f"The batch dimensions do not fit together: q {batch}, given {shapes}.") from error


def _at(held: Sequence[Held], batch: tuple[int, ...], k: tuple[int, ...]) -> list[Held]:
    return [replace(h, value=np.broadcast_to(h.value, (*batch, h.value.shape[-1]))[k]) for h in held]


def _check_slack(slack: float) -> None:
    if not (np.isfinite(slack) and slack >= 0.0):
        raise StateError(f"slack is {slack}; give the largest gap [m or rad] that given values may yield to.")
