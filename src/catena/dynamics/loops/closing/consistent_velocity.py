"""The velocity of the closed mechanism in which given joints move as told.

Among all velocities with J v = 0 in which the given joints, of the tree or of a loop, have the given velocities,
the one of least kinetic energy: it does not depend on how the mechanism was planned. If what is given
over-determines the motion, but opens no loop faster than `slack`, the given values change by the least amount
that keeps the loops closed; where the loops would then hardly move at all, because their dimensions are off by
a little more than the accuracy that they are trusted with, what is given stays, with a warning.

Everything is solved in the square-root form y = L^T v with H = L L^T, where the kinetic energy is y.y / 2.

`least_velocity` finds the same for many states at once where nothing is in doubt. With y = L^T v_f + L^-1 H_fg v_g over
the free components f and the given ones g, and L L^T = H_ff, the kinetic energy is y.y / 2 but for a constant, and the
loops say A y = b with A = J_f L^-T: the shortest y comes from the singular values of A.
"""

from collections.abc import Sequence

import numpy as np

from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.loops.square_root import divide_lower, solve_upper
from catena.errors import LoopError, warn
from catena.kinematics.loops.assembly import least_squares
from catena.kinematics.loops.held import Held
from catena.kinematics.stacks import apply, transposed
from catena.thresholds import LEFT_OF_SUMS

# Given values may change by this many times the slack.
YIELD = 100.0


def consistent_velocity(problem: LoopProblem, held: Sequence[Held], slack: float) -> np.ndarray:
    """Return the velocities v (states, nv) at the positions of the problem; its v plays no part.

    The values of `held` have shape (states, nv_joint) or (nv_joint,). Raises a LoopError with what is left of
    each loop when the loops do not allow what is given.
    """
    L = problem.equations[0]
    rows, wanted = _held_rows(problem, held)
    root = transposed(divide_lower(L, transposed(rows)))
    y = np.zeros((problem.states, problem.plan.nv))
    for k in range(problem.states):
        y[k] = _one_state(problem, k, root[k], wanted[k], slack, held)
    return solve_upper(L, y)


def _one_state(
    problem: LoopProblem, k: int, A: np.ndarray, b: np.ndarray, slack: float, held: Sequence[Held]
) -> np.ndarray:
    J, scale = problem.scaled[k], problem.scale[k]
    size = max(1.0, float(np.abs(b).max(initial=0.0)))
    tolerance, reach = float(problem.tolerance[k]), 1e-12 * float(np.linalg.norm(A))
    # First as given, with the loops opening as little as can be.
    y = least_squares(A, b, reach)
    missed = float(np.abs(A @ y - b).max(initial=0.0))
    summed = float((np.abs(A) @ np.abs(y) + np.abs(b)).max(initial=0.0))
    free = _null_space(A, reach)
    y = y - free @ least_squares(J @ free, J @ y, tolerance)
    opening = float(np.abs((J @ y) * scale).max(initial=0.0))
    # Velocities may all be small: rounding is a part of what is summed up in each of these, never of 1.
    at_work = float((np.abs(J) @ np.abs(y)).max(initial=0.0))
    opens = float(np.abs(J @ y).max(initial=0.0)) > LEFT_OF_SUMS * at_work
    if not opens and missed <= LEFT_OF_SUMS * summed:
        return y
    # Then with the loops closed, and the given values changed as little as can be.
    closed = _null_space(J, tolerance)
    z = closed @ least_squares(A @ closed, b, 1e2 * reach)
    change = float(np.abs(A @ z - b).max(initial=0.0))
    if opening <= slack * size and change <= YIELD * slack * size:
        return z
    if max(opening, missed) <= slack * size:
        if opening > missed:
            warn(_warning(problem, opening, held))
        return y
    raise LoopError(_complaint(problem, k, (J @ y) * scale, change, missed, held))


def _held_rows(problem: LoopProblem, held: Sequence[Held]) -> tuple[np.ndarray, np.ndarray]:
    """Rows (states, k, nv) that give the velocities held, and their values (states, k)."""
    plan = problem.plan
    rows, wanted = [np.zeros((problem.states, 0, plan.nv))], [np.zeros((problem.states, 0))]
    for h in held:
        rows.append(problem.joint_rows(h.node, h.loop)[:, h.mask])
        wanted.append(np.broadcast_to(h.value, (problem.states, h.kind.nv))[:, h.mask])
    return np.concatenate(rows, axis=1), np.concatenate(wanted, axis=1)


def _null_space(A: np.ndarray, cutoff: float) -> np.ndarray:
    """Return an orthonormal basis (nv, k) of what A does not see; singular values up to `cutoff` are zero."""
    _, s, Vt = np.linalg.svd(A)
    return Vt[int((s > cutoff).sum()) :].T


def _warning(problem: LoopProblem, opening: float, held: Sequence[Held]) -> str:
    names = ", ".join(repr(h.name) for h in held)
    return (
        f"The loops of {problem.plan.name!r} hold still what was given for {names}: the velocity returned opens them "
        f"at {opening:.2g} (m/s or rad/s), less than the slack. Constraints that are redundant but for errors of the "
        f"dimensions of this size count as redundant in a system planned with m.system(accuracy=...)."
    )


def _complaint(
    problem: LoopProblem, k: int, opening: np.ndarray, change: float, missed: float, held: Sequence[Held]
) -> str:
    names = ", ".join(repr(h.name) for h in held if h.asked_for)
    if missed > float(np.abs(opening).max(initial=0.0)):
        return (
            f"The joints of {problem.plan.name!r} cannot move as given for {names}: the values contradict "
            f"each other by {missed:.3g}. Give fewer values."
        )
    left, start = [], 0
    for state in problem.rows:
        m = state.loop.constraints
        what = "loop" if state in problem.loops else "coupling"
        left.append(
            f"{what} {state.name!r} at {float(np.abs(opening[start : start + m]).max(initial=0.0)):.3g}"
        )
        start += m
    where = f" in state {k}" if problem.states > 1 else ""
    return (
        f"The loops of {problem.plan.name!r} do not allow the velocities given for {names}{where}: they would open, "
        f"{', '.join(left)} (m/s or rad/s). The nearest velocity of the closed mechanism differs by {change:.3g}: give "
        f"fewer values, or values that fit together."
    )


# Singular values below the first part of the largest are zero, those above the second are not; others are in doubt.
ZERO, SURE = 1e-11, 1e-6
# Loops that open by more than this part of what their velocities are summed up from do not allow what is given.
OPENS = 1e-11


def least_velocity(
    J: np.ndarray, H: np.ndarray, v: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities (states, nv) that have the components `kept` (nv,) of v (states, nv), and which of them
    (states,) are certain. J (states, m, nv) are the constraints with rows in radians and lengths, and H (states, nv,
    nv) the inertia of the tree."""
    free, v = ~kept, v.copy()
    v[:, free] = 0.0
    if not free.any():
        return v, ~(np.abs(apply(J, v)) > OPENS * apply(np.abs(J), np.abs(v))).any(axis=-1)
    try:
        L = np.linalg.cholesky(H[:, free][:, :, free])
    except np.linalg.LinAlgError:
        return v, np.zeros(len(v), dtype=bool)
    A = transposed(np.linalg.solve(L, transposed(J[:, :, free])))
    c = np.linalg.solve(L, apply(H[:, free], v)[..., None])[..., 0]
    b = apply(A, c) - apply(J, v)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    part = s / np.where(s[:, :1] > 0.0, s[:, :1], 1.0)
    acts = part > SURE
    y = apply(transposed(U), b) * np.where(acts, 1.0 / np.where(acts, s, 1.0), 0.0)
    y = apply(transposed(Vt), y)
    v[:, free] = np.linalg.solve(transposed(L), (y - c)[..., None])[..., 0]
    summed = apply(np.abs(A), np.abs(y)) + apply(np.abs(A), np.abs(c)) + apply(np.abs(J), np.abs(v))
    opens = (np.abs(apply(A, y) - b) > OPENS * summed).any(axis=-1)
    return v, ~opens & (acts | (part < ZERO)).all(axis=-1) & np.isfinite(v).all(axis=-1)
