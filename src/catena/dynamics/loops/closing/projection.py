"""Projection of states that drifted off their loops on closed ones, with the least change in the sense of kinetic
energy: Newton's method by elimination, in lanes, and where loops hold bodies still or are singular, or joints are held,
by a rank-revealing decomposition of J L^-T with H = L L^T over the joints that may move. That leaves directions alone
which the constraints hardly see, so that nothing jumps to another branch next to a singular configuration."""

from functools import cached_property
from typing import Any

import numpy as np

from catena.descent import Descent, largest, remembered
from catena.dynamics.loops.closing.loop_closure import closure
from catena.dynamics.loops.elimination import shape_for
from catena.dynamics.loops.elimination.least_change import position_correction, velocity_correction
from catena.dynamics.loops.formulations.certified_elimination import is_trusted
from catena.dynamics.loops.problem import LoopProblem, row_scales, typical_inertia
from catena.dynamics.loops.square_root import divide_lower, effective, solve_upper
from catena.errors import LoopError
from catena.kernels import Algorithm, arrays
from catena.kernels.evaluation import Evaluator
from catena.kinematics import integrate
from catena.kinematics.loops.closure import coordinate_rows
from catena.kinematics.loops.scales import Scales, scales_of
from catena.kinematics.stacks import apply, transposed
from catena.structure import Plan
from catena.structure.stations import has_many_modes
from catena.thresholds import RANK_SEARCHED

# Newton's method stops where the closure errors [rad or characteristic lengths] are this small or smaller no more, by
# elimination and by decomposition.
CLOSED = 1e-14
CLOSED_IN_ANY_RANK = 1e-13
# Joints that move no inertia count as if they moved this part of a typical one, or of what they move when bodies are
# far away, whichever is more.
LENT = 1e-12
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
    if has_many_modes(plan):
        return project_holding(evaluator, q, v, np.zeros(0, dtype=int))
    scales, start = scales_of(plan), arrays.rows(q, q.shape[:-1])
    sure, trusted = np.ones((2, len(start)), dtype=bool)

    def newton(q: np.ndarray, which: np.ndarray) -> np.ndarray:
        # Who takes another step has taken the last one.
        sure[which] &= trusted[which]
        step, trusted[which] = _change(evaluator.chosen(which), True, {"q": q, "qd": None})
        return step if trusted[which].all() else np.nan_to_num(step)

    near, left = Descent(
        lambda q, which: scales.errors(closure(evaluator.chosen(which), q)[0]), None,
        lambda q, step, which: evaluator.chosen(which).evaluate(integrate, {"q": q, "qd": step})["q_next"],
        newton=newton,
    )(start, CLOSED)  # fmt: skip
    sure &= trusted | (left > CLOSED)
    near, left = _closed_in_any_rank(evaluator, np.where(sure[:, None], near, start), near, left, sure)
    q, before = near.reshape(q.shape), left.reshape(q.shape[:-1])
    _require_closed(evaluator, q, before)
    if v is None:
        return q, None
    qd = evaluator.checked(integrate, "qd", v)
    step, trusted = _change(evaluator, False, {"q": q, "qd": v})
    # Where nothing with inertia can move a loop, or at its singular configuration, there is no quick correction.
    rates = np.where(trusted[..., None], qd + step, qd)
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
        some = evaluator.chosen(np.flatnonzero(stuck))
        near, _, after = _hold_and_close(some, start[stuck], at_rest, np.zeros(0, dtype=int))
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
        some = evaluator.chosen(np.flatnonzero(missed))
        v[missed] = _hold_and_close(some, q[missed], v[missed], np.zeros(0, dtype=int))[1]
    return v


def correction(evaluator: Evaluator, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the least changes of position and velocity that close the loops to first order."""
    plan = evaluator.plan
    by_position = evaluator.evaluate(_correcting(plan, True), {"q": q, "qd": None})["qdd"]
    return by_position, evaluator.evaluate(_correcting(plan, False), {"q": q, "qd": v})["qdd"]


def _correcting(plan: Plan, of_positions: bool) -> Algorithm:
    """Return the least change of positions, or of velocities."""
    return (position_correction if of_positions else velocity_correction)(shape_for(plan))


def project_holding(
    evaluator: Evaluator, q: Any, v: Any, held: np.ndarray, lent: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the closed state nearest to q (..., nq) and v (..., nv) in which the velocity components `held` do not
    change; loops may have any rank. What is near is measured by the inertia, with what is `lent` (nv,) to its diagonal
    where that is given."""
    q = np.array(evaluator.checked(integrate, "q", q))
    evaluator.check_positions("q", q)
    rates = (
        np.zeros((*q.shape[:-1], evaluator.plan.nv)) if v is None else evaluator.checked(integrate, "qd", v)
    )
    batch = arrays.batch_shape({"q": q, "v": rates})
    if not evaluator.plan.total_constraints:
        near, changed = (np.array(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, rates))
        return near, None if v is None else changed
    near, changed, left = _hold_and_close(
        evaluator, arrays.rows(q, batch), arrays.rows(rates, batch), held, lent
    )
    near, changed = near.reshape(*batch, q.shape[-1]), changed.reshape(*batch, rates.shape[-1])
    _require_closed(evaluator, near, left.reshape(batch))
    return near, None if v is None else changed


def _require_closed(evaluator: Evaluator, q: np.ndarray, worst: np.ndarray) -> None:
    """Raise a LoopError for states that Newton's method could not close, because their loops were too far open."""
    if np.all(worst < OPEN):
        return
    state = np.unravel_index(np.argmax(worst), worst.shape)
    rows = closure(evaluator, q)[0]
    errors = rows[state]
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


def _hold_and_close(
    evaluator: Evaluator, q: np.ndarray, v: np.ndarray, held: np.ndarray, lent: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the closed states near q (states, nq), v (states, nv) in which the velocity components `held` do not
    change, and the largest position error left of each, (states,)."""
    free = np.setdiff1d(np.arange(evaluator.plan.nv), held)
    scales = scales_of(evaluator.plan)
    nearest = remembered(
        lambda q, which: _Nearest(LoopProblem(evaluator.chosen(which), q, v[which]), free, lent)
    )

    def newton(q: np.ndarray, which: np.ndarray) -> np.ndarray:
        return nearest(q, which).least(-nearest(q, which).errors)

    def move(q: np.ndarray, y: np.ndarray, which: np.ndarray) -> np.ndarray:
        step = np.zeros((len(q), v.shape[-1]))
        step[:, free] = y
        return evaluator.chosen(which).evaluate(integrate, {"q": q, "qd": step})["q_next"]

    there, left = Descent(
        lambda q, which: scales.errors(nearest(q, which).errors), None, move, newton=newton
    )(q, CLOSED_IN_ANY_RANK)  # fmt: skip
    found, change = nearest(there, np.arange(len(q))), np.zeros_like(v)
    change[:, free] = found.least(-np.einsum("smn,sn->sm", found.problem.J, v))
    return found.problem.q, v + change, left


class _Nearest:
    """The least changes of velocity components `free` at the states of a problem, which is decomposed once: most of
    the time goes there."""

    def __init__(self, problem: LoopProblem, free: np.ndarray, lent: np.ndarray | None) -> None:
        self.problem, self.free, self.lent = problem, free, lent

    @cached_property
    def errors(self) -> np.ndarray:
        """Return the errors (states, m) of the loops."""
        return np.concatenate([state.position for state in self.problem.rows], axis=-1)

    def least(self, b: np.ndarray) -> np.ndarray:
        """Return the x (states, free) of least x^T H x with J x = b (states, m), in the sense of least squares."""
        L, scale, U, sigma, Vt = self._decomposed
        kept = effective(sigma, np.full(len(sigma), RANK_SEARCHED))
        along = apply(transposed(U), b / scale) * np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0)
        return solve_upper(L, apply(transposed(Vt), along))

    @cached_property
    def _decomposed(self) -> tuple[np.ndarray, ...]:
        """Return the root L of H = L L^T, the scales of the rows of J, and J L^-T in these scales as U sigma Vt."""
        problem, free = self.problem, self.free
        H, J = problem.H[:, free[:, None], free], problem.J[:, :, free]
        typical = typical_inertia(
            coordinate_rows(problem.plan, problem.motions.S_rows), problem.mass, problem.length
        )[:, free]
        lent = LENT * np.maximum(typical, np.diagonal(H, axis1=-2, axis2=-1))
        lent = lent if self.lent is None else lent + self.lent[free]
        L = np.linalg.cholesky(H + lent[:, None, :] * np.eye(len(free)))
        scale = row_scales(problem.rows, L, problem.length, free)
        A = transposed(divide_lower(L, transposed(J))) / scale[..., None]
        return L, scale, *np.linalg.svd(A, full_matrices=False)
