"""Projection of states that drifted off their loops on closed ones: Newton's method by elimination, in lanes, and by a
decomposition that sees the rank where loops hold bodies still or are singular."""

from typing import Any

import numpy as np

from catena.descent import Descent, largest
from catena.dynamics import most_modes
from catena.dynamics.loops.closing.holding import project_holding as hold_and_close
from catena.dynamics.loops.closing.loop_closure import closure
from catena.dynamics.loops.elimination import sort_for
from catena.dynamics.loops.elimination.flexible import flexible_correction
from catena.dynamics.loops.elimination.least_change import position_correction, velocity_correction
from catena.dynamics.loops.formulations.certified_elimination import is_trusted
from catena.errors import LoopError
from catena.kernels import Algorithm, arrays
from catena.kernels.evaluation import Evaluator
from catena.kinematics import integrate
from catena.kinematics.loops.scales import Scales, scales_of
from catena.structure import Plan

# Newton's method stops where the closure errors [rad or characteristic lengths] are this small or smaller no more.
CLOSED = 1e-13
# Errors above this are more than rounding leaves.
LEFT = 1e-12
# Velocities that open loops by more than this part of themselves have not been found by the elimination.
MISSED = 1e-10
# A loop that is open by more than this [rad or characteristic lengths] is not closed.
OPEN = 1e-8


def project(evaluator: Evaluator, q: Any, v: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the closed state nearest to q (..., nq) and v (..., nv), in lanes: Newton's method on the position
    errors with steps of least kinetic energy, then the least change of velocities. Loop joints give their coordinates
    as formulas."""
    plan = evaluator.plan
    q = np.array(evaluator.checked(integrate, "q", q))
    evaluator.check_positions("q", q)
    if not plan.total_constraints:
        return q, None if v is None else np.array(evaluator.checked(integrate, "qd", v))
    scales, start = scales_of(plan), arrays.rows(q, q.shape[:-1])
    sure, trusted = np.ones((2, len(start)), dtype=bool)

    def newton(q: np.ndarray, which: np.ndarray) -> np.ndarray:
        # Who takes another step has taken the last one.
        sure[which] &= trusted[which]
        step, trusted[which] = _change(evaluator, True, {"q": q, "qd": None})
        return np.nan_to_num(step)

    near, left = Descent(
        lambda q, which: scales.errors(closure(evaluator, q)[0]), None,
        lambda q, step, which: evaluator.evaluate(integrate, {"q": q, "qd": step})["q_next"], newton=newton,
    )(start, CLOSED)  # fmt: skip
    sure &= trusted | (left > CLOSED)
    near, left = _closed_in_any_rank(evaluator, np.where(sure[:, None], near, start), near, left, sure)
    q, before = near.reshape(q.shape), left.reshape(q.shape[:-1])
    _require_closed(evaluator, q, before)
    if v is None:
        return q, None
    given = evaluator.checked(integrate, "qd", v)
    step, trusted = _change(evaluator, False, {"q": q, "qd": v})
    # Where nothing with inertia can move a loop, or at its singular configuration, there is no quick correction.
    rates = np.where(trusted[..., None], given + step, given)
    return q, _weakly_held(evaluator, scales, q, rates)


def _change(
    evaluator: Evaluator, of_positions: bool, inputs: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least changes (..., nv) that close the loops to first order, and which of them (...) can be trusted:
    others may close loops as well, and move what they need not."""
    found = evaluator.evaluate(_correcting(evaluator.plan, of_positions), inputs, finite=False)
    trusted = np.isfinite(found["qdd"]).all(axis=-1)
    if "defect" in found:
        trusted &= is_trusted(*(found[name][..., 0] for name in ("defect", "change", "before", "size")))
    return found["qdd"], trusted


def _closed_in_any_rank(
    evaluator: Evaluator, start: np.ndarray, q: np.ndarray, left: np.ndarray, sure: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return states q (..., nq) and their errors `left` (...), closed from `start` (..., nq) by a decomposition that
    sees the rank where Newton's method by elimination stopped before it came to rounding, as it does where loops hold
    bodies still, or where its steps are not `sure` (...) to be the least ones."""
    stuck = ((left > LEFT) | ~sure) & (left < OPEN)
    if np.any(stuck):
        at_rest = np.zeros((int(stuck.sum()), evaluator.plan.nv))
        near, _, after = hold_and_close(evaluator, start[stuck], at_rest, np.zeros(0, dtype=int))
        better = (after < left[stuck]) | (~sure[stuck] & (after < LEFT))
        q, left = q.copy(), left.copy()
        q[stuck] = np.where(better[:, None], near, q[stuck])
        left[stuck] = np.where(better, after, left[stuck])
    return q, left


def _weakly_held(evaluator: Evaluator, scales: Scales, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return velocities v (..., nv) that open no loops at q (..., nq), given some that may do so a little because
    constraints that hold weakly were missed."""
    q = np.broadcast_to(q, (*v.shape[:-1], q.shape[-1]))
    speed = largest(v / scales.units)
    missed = largest(scales.errors(closure(evaluator, q, v)[1])) > MISSED * speed
    if np.any(missed):
        v[missed] = hold_and_close(evaluator, q[missed], v[missed], np.zeros(0, dtype=int))[1]
    return v


def correction(evaluator: Evaluator, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the least changes of position and velocity that close the loops to first order."""
    plan = evaluator.plan
    by_position = evaluator.evaluate(_correcting(plan, True), {"q": q, "qd": None})["qdd"]
    return by_position, evaluator.evaluate(_correcting(plan, False), {"q": q, "qd": v})["qdd"]


def _correcting(plan: Plan, of_positions: bool) -> Algorithm:
    """Return the least change of positions, or of velocities, with modes where bodies are flexible."""
    sort, modes = sort_for(plan), most_modes(plan)
    if modes:
        return flexible_correction(sort, modes, of_positions)
    return position_correction(sort) if of_positions else velocity_correction(sort)


def project_holding(
    evaluator: Evaluator, q: Any, v: Any, held: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the closed state nearest to q (..., nq) and v (..., nv) in which the velocity components `held` do not
    change; loops may have any rank."""
    q = np.array(evaluator.checked(integrate, "q", q))
    evaluator.check_positions("q", q)
    rates = (
        np.zeros((*q.shape[:-1], evaluator.plan.nv)) if v is None else evaluator.checked(integrate, "qd", v)
    )
    batch = arrays.batch_shape({"q": q, "v": rates})
    if not evaluator.plan.total_constraints:
        near, changed = (np.array(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, rates))
        return near, None if v is None else changed
    near, changed, left = hold_and_close(evaluator, arrays.rows(q, batch), arrays.rows(rates, batch), held)
    near, changed = near.reshape(*batch, q.shape[-1]), changed.reshape(*batch, rates.shape[-1])
    _require_closed(evaluator, near, left.reshape(batch))
    return near, None if v is None else changed


def _require_closed(evaluator: Evaluator, q: np.ndarray, worst: np.ndarray) -> None:
    """Raise a LoopError for states that Newton's method could not close, because their loops were too far open."""
    if np.all(worst < OPEN):
        return
    state = np.unravel_index(np.argmax(worst), worst.shape)
    errors = closure(evaluator, q[state])[0]
    at, words = 0, []
    for joint in evaluator.plan.constraints:
        part = errors[at : at + joint.constraints]
        at += joint.constraints
        if len(part):
            words.append(f"{joint.name} {np.abs(part).max():.3g}")
    where = f" in state {tuple(int(k) for k in state)}" if state else ""
    raise LoopError(
        f"The loops of {evaluator.plan.name!r} cannot be closed from here{where}; the errors left [rad or m] are "
        f"{', '.join(words)}. Begin nearer to a closed state, or find one with assemble."
    )
