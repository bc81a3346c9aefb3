"""Prescribed joint accelerations: what is given by name, and the words for what loops do not
allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from catena.dynamics.loops.formulations.hybrid import HybridSolution
from catena.dynamics.loops.problem import LoopProblem
from catena.errors import LoopError, StateError
from catena.kinematics.loops.held import Held, held_velocities
from catena.kinematics.stacks import apply, pseudo_inverse
from catena.mechanism import Mechanism
from catena.structure import Plan


def prescribed_accelerations(
    mechanism: Mechanism, plan: Plan, prescribed: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray, list[Held]]:
    """Return which velocity components of the tree are driven (nv,), and their accelerations (..., nv), zero elsewhere;
    and what is given for loop joints."""
    held = held_velocities(mechanism, plan, prescribed)
    shapes = {h.name: h.value.shape[:-1] for h in held}
    try:
        batch = np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        raise StateError(f"The batch dimensions of prescribed do not fit together: {shapes}.") from error
    driven, accelerations = np.zeros(plan.nv, dtype=bool), np.zeros((*batch, plan.nv))
    for h in (h for h in held if h.node >= 0):
        at = plan.v_of(h.node)
        driven[at] = h.mask
        accelerations[..., at] = np.where(h.mask, np.nan_to_num(h.value), 0.0)
    return driven, accelerations, [h for h in held if h.node < 0]


# Rounds in which the forces of drives at loop joints are found; the motion is linear in them, so that the second only
# takes off what rounding left.
ROUNDS = 2
# Accelerations of loop joints that are missed by more than this part of those at work cannot be had.
MISSED = 1e-8


def with_loop_drives(
    problem: LoopProblem, drives: Sequence[Held], solve: Callable[[LoopProblem], HybridSolution]
) -> tuple[HybridSolution, dict[str, np.ndarray]]:
    """Return the solution in which loop joints accelerate as prescribed, and the forces {joint: (states, nv of the
    joint)} of their drives beyond what is given. `solve` finds the motion under given forces, in which these forces
    appear linearly."""
    plan, states = problem.plan, problem.states
    starts = np.cumsum([0, *(loop.kind.nv for loop in plan.loop_joints)])
    columns, rows, wanted = [], [], []
    for h in drives:
        state = problem.loops[h.loop]
        across = pseudo_inverse(state.S)[:, h.mask]
        value = np.broadcast_to(np.nan_to_num(h.value), (*problem.batch, h.kind.nv)).reshape(states, -1)[
            :, h.mask
        ]
        columns += [int(starts[h.loop]) + int(k) for k in np.flatnonzero(h.mask)]
        rows.append(across @ state.J_rel)
        wanted.append(value - apply(across, state.drift))
    R, goal = np.concatenate(rows, axis=1), np.concatenate(wanted, axis=1)
    force = np.zeros((states, int(starts[-1]))) if problem.loop_tau is None else problem.loop_tau.copy()
    before = force.copy()

    def moved(loop_tau: np.ndarray) -> HybridSolution:
        other = LoopProblem(problem.evaluator, **{**problem.arguments, "loop_tau": loop_tau})
        return solve(other)

    start = moved(force)
    response = np.stack(
        [apply(R, moved(force + np.eye(force.shape[1])[k]).vdot - start.vdot) for k in columns], axis=-1
    )
    for _ in range(ROUNDS):
        left = goal - apply(R, start.vdot)
        force[:, columns] += apply(np.linalg.pinv(response, rcond=1e-12), left)
        start = moved(force)
    left = np.abs(goal - apply(R, start.vdot))
    at_work = apply(np.abs(R), np.abs(start.vdot)) + np.abs(goal) + problem.velocity_products[:, None]
    if np.any(left > MISSED * at_work):
        worst = int(np.argmax(np.max(left, axis=-1)))
        names = ", ".join(repr(h.name) for h in drives)
        raise LoopError(
            f"The loops of {plan.name!r} do not let {names} accelerate as prescribed in state {worst}: "
            f"{left[worst].max():.3g} [rad/s^2 or m/s^2] are missed. Prescribe fewer joints."
        )
    found = {}
    for h in drives:
        own = slice(int(starts[h.loop]), int(starts[h.loop]) + h.kind.nv)
        found[h.name] = np.where(h.mask, force[:, own], before[:, own])
    return start, found


def require_agreement(plan: Plan, solution: HybridSolution, joints: list[str]) -> None:
    """Raise for accelerations that open loops."""
    if not len(solution.open_states):
        return
    worst = int(np.argmax(np.linalg.norm(solution.opening, axis=-1)))
    at, rows = 0, []
    for loop in plan.constraints:
        part = solution.opening[worst, at : at + loop.constraints]
        at += loop.constraints
        if len(part):
            rows.append(f"{loop.name!r} by {np.linalg.norm(part):.3g}")
    raise LoopError(
        f"The accelerations prescribed for {', '.join(map(repr, joints))} open the loops of {plan.name!r} in state "
        f"{int(solution.open_states[worst])}: {', '.join(rows)} [rad/s^2 or m/s^2]. Prescribe fewer joints, or "
        f"accelerations that agree with the loops."
    )
