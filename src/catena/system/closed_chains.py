"""Dynamics of mechanisms with loops at the public edge: formulations by name, inverse dynamics, and the words for
what loops do not allow."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena import dynamics
from catena.dynamics.closed import (
    Formulation,
    LoopProblem,
    LoopSolution,
    absolute,
    joint_multipliers,
    kkt,
    minimal,
    reference_member,
)
from catena.dynamics.closed.certified_elimination import (
    elimination,
    elimination_of,
    in_doubt as in_doubt,
    is_for,
    is_trusted,
    mended as mended,
)
from catena.dynamics.closed.problem import row_weight
from catena.dynamics.closed.square_root import constrained, divide_lower, divide_upper, effective
from catena.dynamics.loop_elimination import borrowers, loop_wrenches, sort_for
from catena.errors import LoopError, SingularDynamicsError, StateError
from catena.kinematics.held import held_forces
from catena.kinematics.levers import levers
from catena.kinematics.stacks import apply, transposed
from catena.mechanism import Mechanism
from catena.structure import Plan
from catena.system import arrays
from catena.system.evaluation import Evaluator
from catena.system.reactions import from_lanes

FORMULATIONS: dict[str, Formulation] = {
    "elimination": elimination,
    "kkt": kkt,
    "absolute": absolute,
    "joint_multipliers": joint_multipliers,
    "minimal": minimal,
    "reference_member": reference_member,
}
# An acceleration that opens a loop by more than this part of itself is not one of the closed mechanism, and a
# force that actuators miss by more than this part cannot be produced.
MISMATCH = 1e-6
# Forward dynamics is exact to this part of the accelerations that the forces would cause without loops. Which forces
# they were is not known here; some that cause 10 rad/s^2, or lengths of the mechanism/s^2, are always allowed for.
ROUNDING = 1e-10
NO_MOTION = 10.0 * ROUNDING


def is_closed(plan: Plan) -> bool:
    """Return whether the joints that the tree leaves out constrain it or rub, or couplings constrain it."""
    return bool(plan.couplings) or any(
        loop.constraints or np.any(loop.damping) or np.any(loop.friction) for loop in plan.loop_joints
    )


def pose_problem(
    evaluator: Evaluator, inputs: Mapping[str, Any], vdot: Any = None, loop_tau: np.ndarray | None = None
) -> LoopProblem:
    """Return the equations of motion for inputs q, qd, tau, f_ext and a_base, checked; those that are None are
    absent. `loop_tau` (..., k) are forces at all loop joints, one after the other.

    The states are as many as inputs and accelerations `vdot` have together.
    """
    evaluator.check_current()
    algorithm = dynamics.articulated_body
    for name in ("q", "qd"):
        if inputs.get(name) is None:
            raise StateError(f"{'v' if name == 'qd' else name} is None; give an array.")
    given = {name: evaluator.checked(algorithm, name, x) for name, x in inputs.items() if x is not None}
    named = {{"qd": "v", "a_base": "base_acceleration"}.get(n, n): x for n, x in given.items()}
    if vdot is not None:
        named["vdot"] = evaluator.checked(dynamics.newton_euler, "qdd", vdot)
    if loop_tau is not None:
        named["tau of loop joints"] = given["loop_tau"] = loop_tau
    batch = arrays.batch_shape(named)
    evaluator.check_positions("q", given["q"])
    given["v"] = np.broadcast_to(given.pop("qd"), (*batch, evaluator.plan.nv))
    return LoopProblem(evaluator, **given)


def solve(problem: LoopProblem, method: str, member: str | None = None) -> LoopSolution:
    """Return the solution by a formulation; "auto" takes the compiled elimination. `member` names the reference
    member."""
    if method in ("articulated_body", "composite_body"):
        raise LoopError(
            f"{method} is a method for trees, and {problem.plan.name!r} has {_closing(problem.plan)}: "
            f"choose auto, {', '.join(FORMULATIONS)}."
        )
    if method != "auto" and method not in FORMULATIONS:
        raise StateError(
            f"There is no forward dynamics method {method!r}; with loops choose auto, {', '.join(FORMULATIONS)}."
        )
    if problem.plan.owner is not None and method not in ("auto", "elimination", "kkt"):
        raise LoopError(
            f"{method} is a method for rigid bodies, and {problem.plan.name!r} has flexible ones: choose auto or kkt."
        )
    if method == "reference_member":
        return reference_member(problem, member)
    if member is not None:
        raise StateError(
            f"member is {member!r}, but only the method reference_member has one; method is {method!r}."
        )
    return FORMULATIONS["elimination" if method == "auto" else method](problem)


def in_lanes(evaluator: Evaluator, inputs: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
    """Return what the compiled elimination finds for inputs as `pose_problem` takes them, certain or not (`in_doubt`);
    None where the mechanism is not one for it."""
    plan = evaluator.plan
    return evaluator.evaluate(elimination_of(plan), inputs, finite=False) if is_for(plan) else None


def shortest(evaluator: Evaluator, absent: frozenset[str]) -> Any:
    """Return a function of q, v and tau that computes one ordinary state the shortest way, and declines (None) all
    else."""
    if not is_for(evaluator.plan) or borrowers(evaluator.plan):
        return lambda *rows: None
    algorithm = elimination_of(evaluator.plan)
    return evaluator.shortest(algorithm, absent, ("defect", "change", "before", "size"), is_trusted)


# A constraint that yields less than this part of what its loop's M would allow is not one of a redundant set.
UNIQUE = 1e-4


def coupling_forces(problem: LoopProblem) -> dict[str, np.ndarray]:
    """Return the force (states,) that each coupling carries, by name: in lanes where it is unique, and the smallest
    where redundant constraints leave a choice."""
    plan = problem.plan
    if not plan.couplings:
        return {}
    found = _unique(problem)
    if found is not None:
        first = len(plan.loop_joints)
        forces = -found["total"].reshape(problem.states, -1, sort_for(plan).columns)[:, first:, 0]
        return {tied.name: forces[:, c] for c, tied in enumerate(plan.couplings) if not tied.inertia}
    multipliers = solve(problem, "kkt").multipliers
    at = sum(loop.constraints for loop in plan.loop_joints)
    result = {}
    for tied in plan.couplings:
        if tied.inertia:
            continue
        result[tied.name] = multipliers[:, at] if tied.constraints else np.zeros(problem.states)
        at += tied.constraints
    return result


def unique_wrenches(problem: LoopProblem, mechanism: Mechanism) -> dict[str, np.ndarray] | None:
    """Return the wrenches {joint: (*batch, 6)} of all joints of a mechanism without welds, in lanes; None where they
    are not unique or not certain in some state."""
    plan = problem.plan
    # Forces at loop joints act in lanes as others that do the same, which pass through other joints.
    result = None if problem.loop_tau is not None or plan.owner is not None else _unique(problem)
    if result is None:
        return None
    loops = {loop.name: result["on_child"][:, k] for k, loop in enumerate(plan.loop_joints)}
    found = from_lanes(plan.parts or mechanism, plan, result["wrench"], result["X"], loops)
    return {name: wrench.reshape(*problem.batch, 6) for name, wrench in found.items()}


def _unique(problem: LoopProblem) -> dict[str, np.ndarray] | None:
    """Return what `loop_wrenches` finds; None where that is not unique or not certain in some state."""
    plan = problem.plan
    if not is_for(plan):
        return None
    sort = sort_for(plan)
    result = problem.runner.evaluate(loop_wrenches(sort), problem.inputs, finite=False)
    closing = [
        loop.constraints
        for loop in plan.loop_joints
        if loop.constraints and loop.parent_node != loop.child_node
    ]
    tied = [int(coupling.acts) for coupling in plan.couplings]
    padding = sort.columns * len(closing + tied) - sum(closing + tied)
    trusted = is_trusted(*(result[name][:, 0] for name in ("defect", "change", "before", "size")))
    if not np.all(trusted & (result["stiffness"][:, 0] - padding < UNIQUE)) or not (
        len(closing) == len(plan.loop_joints) and all(tied)
    ):
        return None
    return result


def inverse(problem: LoopProblem, vdot: np.ndarray) -> np.ndarray:
    """Return the forces tau (states, nv) of the actuated tree joints that produce vdot (states, nv), the smallest
    where there are many (`kinematics.levers` tells how moments count)."""
    plan = problem.plan
    lever = levers(plan)
    idle = [name for name in plan.joints if not _actuated(plan, name)]
    driven = [loop.name for loop in plan.loop_joints if loop.actuated]
    hint = (
        f" Name those that act, actuated=[...]; the loop joints {driven} have actuators too."
        if driven
        else ""
    )
    columns = np.broadcast_to(
        np.diag(lever)[:, plan.actuated], (problem.states, plan.nv, int(plan.actuated.sum()))
    )
    chosen = _smallest(problem, vdot, columns, f"The joints {idle} have no actuator.{hint}")
    tau = np.zeros((problem.states, plan.nv))
    tau[:, plan.actuated] = chosen * lever[plan.actuated]
    return tau


def inverse_by(
    problem: LoopProblem, vdot: np.ndarray, mechanism: Mechanism, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return the forces {joint: (states, nv of the joint)} of the joints called so, of the tree or of loops, that
    produce vdot (states, nv), the smallest where there are many."""
    plan, length = problem.plan, problem.length
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise StateError(f"actuated names joint {twice!r} twice: name each joint once.")
    columns, sizes = [np.zeros((problem.states, plan.nv, 0))], []
    for h in held_forces(mechanism, plan, dict.fromkeys(names)):
        if h.node >= 0:
            start = int(plan.v_start[h.node])
            rows = np.broadcast_to(
                np.eye(plan.nv)[start : start + h.kind.nv], (problem.states, h.kind.nv, plan.nv)
            )
        else:
            state = problem.loops[h.loop]
            rows = state.S_inv @ state.J_rel
        S = np.asarray(h.kind.motion_space(h.kind.neutral()).array, dtype=np.float64)
        lever = np.sqrt(np.sum(S[:3] ** 2, axis=0) * length**2 + np.sum(S[3:] ** 2, axis=0))
        columns.append(transposed(rows) * lever)
        sizes.append((h.name, lever))
    text = f"Forces at {', '.join(map(repr, names))} do not do it: name more joints."
    chosen = _smallest(problem, vdot, np.concatenate(columns, axis=-1), text)
    found, at = {}, 0
    for name, lever in sizes:
        found[name] = chosen[:, at : at + len(lever)] * lever
        at += len(lever)
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
    unit = np.linalg.norm(L * (problem.length / levers(plan))[:, None], axis=(-1, -2))
    if np.any(missed > MISMATCH * whole + NO_MOTION * unit):
        worst = int(np.argmax(missed / np.where(whole > 0.0, whole, 1.0)))
        raise LoopError(
            f"The actuators of {plan.name!r} cannot produce this motion in state {worst}: "
            f"{missed[worst] / whole[worst]:.3g} of the force it takes is left. {hint}"
        )
    return chosen


def operational_space(problem: LoopProblem, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Lambda^-1 (*batch, 6, 6) and Omega (*batch, nv, 6) of a frame with Jacobian J (states, 6, nv), loops
    respected."""
    L, A = problem.equations[0], problem.scaled
    _, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    blocked = Vt * effective(sigma, problem.tolerance)[..., None]
    root = divide_lower(L, transposed(J))
    root = root - transposed(blocked) @ (blocked @ root)
    Omega = divide_upper(L, root)
    Lambda_inv = transposed(root) @ root
    return Lambda_inv.reshape(*problem.batch, 6, 6), Omega.reshape(*problem.batch, problem.plan.nv, 6)


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
    bad = np.linalg.norm(opening, axis=-1) > MISMATCH * size + ROUNDING * alone + NO_MOTION * unit
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


def _closing(plan: Plan) -> str:
    """Return what constrains a tree, in words."""
    words = [f"loops {list(plan.loops)}"] if plan.loops else []
    words += [f"couplings {[c.name for c in plan.couplings if not c.inertia]}"] if plan.couplings else []
    return " and ".join(words)


def _actuated(plan: Plan, joint: str) -> bool:
    i = plan.joint.index(joint)
    return bool(plan.v_size[i] == 0 or plan.actuated[plan.v_start[i]])
