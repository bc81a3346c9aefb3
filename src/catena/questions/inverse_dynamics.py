"""Inverse dynamics of mechanisms with loops: the smallest forces of actuated joints that produce a motion, and the
words for motions that loops or actuators do not allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catena.dynamics.loops import closed_chains
from catena.dynamics.loops.formulations import LoopProblem
from catena.dynamics.loops.problem import row_weight
from catena.dynamics.loops.square_root import constrained, divide_lower, effective
from catena.errors import LoopError, SingularDynamicsError, StateError
from catena.kinematics.levers import levers
from catena.kinematics.loops.held import held_forces
from catena.kinematics.stacks import apply, transposed
from catena.mechanism import Mechanism
from catena.mechanism.elements import driven
from catena.thresholds import CONTRADICTION, LEFT_OF_SUMS

# Forward dynamics is exact to this part of the accelerations that the forces would cause without loops. Which forces
# they were is not known here; some that cause 10 rad/s^2, or lengths of the mechanism/s^2, are always allowed for.
NO_MOTION = 10.0 * LEFT_OF_SUMS


def taken_by(problem: LoopProblem, vdot: np.ndarray) -> np.ndarray:
    """Return the forces (states, nv) at the joints of the tree that accelerations vdot (states, nv) take besides those
    that act, if nothing held the loops."""
    L, free = problem.equations
    return apply(L, apply(transposed(L), vdot) - free)


def by_actuated(problem: LoopProblem, vdot: np.ndarray) -> np.ndarray:
    """Return the forces tau (states, nv) of the actuated tree joints that produce vdot (states, nv), the smallest
    where there are many (`kinematics.levers` tells how moments count). In a tree, joints that nothing drives are told
    what they would have to give."""
    plan = problem.plan
    lever = levers(plan, problem.lengths)
    acting = plan.actuated if closed_chains.is_closed(plan) else ~plan.partly_driven
    idle = list(plan.idle)
    driven = [loop.name for loop in plan.loop_joints if loop.actuated]
    hint = (
        f" Name those that act, actuated=[...]; the loop joints {driven} have actuators too."
        if driven
        else ""
    )
    columns = np.eye(plan.nv)[:, acting] * lever[:, None, acting]
    chosen = _smallest(problem, vdot, columns, f"The joints {idle} have no actuator.{hint}")
    tau = np.zeros((problem.states, plan.nv))
    tau[:, acting] = chosen * lever[:, acting]
    return tau


def by_named(
    problem: LoopProblem, vdot: np.ndarray, mechanism: Mechanism, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return the forces {joint: (states, nv of the joint)} of the joints called so, of the tree or of loops, that
    produce vdot (states, nv), the smallest where there are many."""
    plan, length = problem.plan, problem.lengths[:, None]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise StateError(f"actuated names joint {twice!r} twice: name each joint once.")
    columns, sizes = [np.zeros((problem.states, plan.nv, 0))], []
    for h in held_forces(mechanism, plan, dict.fromkeys(names)):
        rows = problem.joint_rows(h.node, h.loop)
        S = np.asarray(h.kind.motion_space(h.kind.neutral()).array, dtype=np.float64)
        lever = np.sqrt(np.sum(S[:3] ** 2, axis=0) * length**2 + np.sum(S[3:] ** 2, axis=0))
        columns.append(transposed(rows) * lever[:, None])
        # Whoever names a joint that nothing drives lets all of it act; motors give what they can.
        powered = (
            driven(mechanism.joints[h.name], mechanism.actuators) if h.name in mechanism.joints else None
        )
        columns[-1] = columns[-1] * (1.0 if powered is None or not powered.any() else powered)
        sizes.append((h.name, lever))
    text = f"Forces at {', '.join(map(repr, names))} do not do it: name more joints."
    chosen = _smallest(problem, vdot, np.concatenate(columns, axis=-1), text)
    found, at = {}, 0
    for name, lever in sizes:
        found[name] = chosen[:, at : at + lever.shape[-1]] * lever
        at += lever.shape[-1]
    return found


def _smallest(problem: LoopProblem, vdot: np.ndarray, columns: np.ndarray, hint: str) -> np.ndarray:
    """Return the smallest x (states, k) for which forces columns (states, nv, k) x at the joints of the tree produce
    vdot (states, nv).

    In square-root form, with P the projection on the motions that the loops allow: P L^-1 (H vdot - force - tau) = 0.
    """
    plan = problem.plan
    L, free = problem.equations
    _require_closed_motion(problem, vdot)
    A = problem.scaled
    _, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    blocked = Vt * effective(sigma, problem.tolerance)[..., None]
    # What tau must add to the forces that act anyway.
    terms = apply(transposed(L), vdot), -free
    wanted = terms[0] + terms[1]
    wanted = wanted - apply(transposed(blocked), apply(blocked, wanted))
    effect = divide_lower(L, columns)
    size = np.linalg.norm(effect, axis=(-1, -2))
    effect = effect - transposed(blocked) @ (blocked @ effect)
    nothing = np.zeros((problem.states, effect.shape[-1]))
    chosen = constrained(effect, nothing, wanted, np.full(problem.states, 1e-10), size)[0]
    missed = np.linalg.norm(wanted - apply(effect, chosen), axis=-1)
    whole = np.linalg.norm(terms[0], axis=-1) + np.linalg.norm(terms[1], axis=-1)
    bad = np.flatnonzero(~(np.isfinite(chosen).all(axis=-1) & np.isfinite(whole)))
    if len(bad):
        raise SingularDynamicsError(
            f"inverse dynamics gives a result that is not finite in state {bad[0]}: numbers are too large for float64."
        )
    # Unit accelerations of all coordinates, in radians or lengths of the mechanism.
    per_lever = problem.lengths[:, None] / levers(plan, problem.lengths)
    unit = np.linalg.norm(L * per_lever[..., None], axis=(-1, -2))
    if np.any(missed > CONTRADICTION * whole + NO_MOTION * unit):
        worst = int(np.argmax(missed / np.where(whole > 0.0, whole, 1.0)))
        raise LoopError(
            f"The actuators of {plan.name!r} cannot produce this motion in state {worst}: "
            f"{missed[worst] / whole[worst]:.3g} of the force it takes is left. {hint}"
        )
    return chosen


def _require_closed_motion(problem: LoopProblem, vdot: np.ndarray) -> None:
    """Raise for accelerations that would open a loop."""
    L, free = problem.equations
    opening = (apply(problem.J, vdot) + problem.gamma) / problem.scale
    size = sum(
        np.linalg.norm(x, axis=-1) for x in (apply(transposed(L), vdot), problem.gamma / problem.scale)
    )
    alone = np.linalg.norm(free, axis=-1)
    # Unit accelerations along all constraints, in radians or lengths of the mechanism.
    units = [problem.length / np.sqrt(row_weight(s.Phi, 1.0, problem.length)) for s in problem.rows]
    unit = np.linalg.norm(np.concatenate([opening[:, :0], *units], axis=-1) / problem.scale, axis=-1)
    bad = np.linalg.norm(opening, axis=-1) > CONTRADICTION * size + LEFT_OF_SUMS * alone + NO_MOTION * unit
    if bad.any():
        worst = int(np.argmax(np.where(bad, np.linalg.norm(opening, axis=-1), 0.0)))
        at, rows = 0, []
        for loop in problem.plan.constraints:
            part = (opening * problem.scale)[worst, at : at + loop.constraints]
            rows.append(f"{loop.name!r} by {np.linalg.norm(part):.3g}")
            at += loop.constraints
        raise LoopError(
            f"vdot opens the loops of {problem.plan.name!r} in state {worst}: {', '.join(rows)} [rad/s^2 or m/s^2]. "
            f"Give the accelerations of the closed mechanism, such as those that forward_dynamics returns."
        )
