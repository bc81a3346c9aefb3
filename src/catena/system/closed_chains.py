"""Dynamics of mechanisms with loops at the public edge: formulations by name, inverse dynamics, and the words for
what loops do not allow."""

from collections.abc import Mapping
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
from catena.dynamics.closed.certified_elimination import elimination, elimination_of, is_for, is_trusted
from catena.dynamics.closed.problem import row_weight
from catena.dynamics.closed.square_root import constrained, divide_lower, divide_upper, effective
from catena.dynamics.loop_elimination import columns_for, loop_wrenches
from catena.errors import LoopError, StateError
from catena.kinematics.stacks import apply, transposed
from catena.mechanism import Mechanism
from catena.structure import Plan
from catena.system import arrays
from catena.system.evaluation import Evaluator
from catena.system.levers import levers
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
    """Return whether the joints that the tree leaves out constrain it or rub."""
    return any(loop.constraints or np.any(loop.damping) or np.any(loop.friction) for loop in plan.loop_joints)


def pose_problem(evaluator: Evaluator, inputs: Mapping[str, Any], vdot: Any = None) -> LoopProblem:
    """Return the equations of motion for inputs q, qd, tau, f_ext and a_base, checked; those that are None are
    absent.

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
    batch = arrays.batch_shape(named)
    evaluator.check_positions("q", given["q"])
    given["v"] = np.broadcast_to(given.pop("qd"), (*batch, evaluator.plan.nv))
    return LoopProblem(evaluator, **given)


def solve(problem: LoopProblem, method: str, member: str | None = None) -> LoopSolution:
    """Return the solution by a formulation; "auto" takes the compiled elimination. `member` names the reference
    member."""
    if method in ("articulated_body", "composite_body"):
        raise LoopError(
            f"{method} is a method for trees, and {problem.plan.name!r} has loops {list(problem.plan.loops)}: "
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


def shortest(evaluator: Evaluator, absent: frozenset[str]) -> Any:
    """Return a function of q, v and tau that computes one ordinary state the shortest way, and declines (None) all
    else."""
    if not is_for(evaluator.plan):
        return lambda *rows: None
    algorithm = elimination_of(evaluator.plan)
    return evaluator.shortest(algorithm, absent, ("defect", "change", "before", "size"), is_trusted)


# A constraint that yields less than this part of what its loop's M would allow is not one of a redundant set.
UNIQUE = 1e-4


def unique_wrenches(problem: LoopProblem, mechanism: Mechanism) -> dict[str, np.ndarray] | None:
    """Return the wrenches {joint: (*batch, 6)} of all joints of a mechanism without welds, in lanes; None where they
    are not unique or not certain in some state."""
    plan, given = problem.plan, problem.given
    if not is_for(plan) or plan.owner is not None:
        return None
    columns = columns_for(plan)
    inputs = {
        "q": given["q"],
        "qd": given["v"],
        "tau": given["tau"],
        "f_ext": given["f_ext"],
        "a_base": given["a_base"],
    }
    result = problem.runner.evaluate(loop_wrenches(columns), inputs, finite=False)
    closing = [
        loop.constraints
        for loop in plan.loop_joints
        if loop.constraints and loop.parent_node != loop.child_node
    ]
    padding = columns * len(closing) - sum(closing)
    trusted = is_trusted(*(result[name][:, 0] for name in ("defect", "change", "before", "size")))
    if not np.all(trusted & (result["stiffness"][:, 0] - padding < UNIQUE)) or len(closing) < len(
        plan.loop_joints
    ):
        return None
    loops = {loop.name: result["on_child"][:, k] for k, loop in enumerate(plan.loop_joints)}
    found = from_lanes(plan.parts or mechanism, plan, result["wrench"], result["X"], loops)
    return {name: wrench.reshape(*problem.batch, 6) for name, wrench in found.items()}


def inverse(problem: LoopProblem, vdot: np.ndarray) -> np.ndarray:
    """Return the forces tau (states, nv) of the actuated tree joints that produce vdot (states, nv), the smallest
    where there are many (`system.levers` tells how moments count).

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
    lever = levers(plan)
    effect = divide_lower(L, np.broadcast_to(np.diag(lever), L.shape))[..., plan.actuated]
    size = np.linalg.norm(effect, axis=(-1, -2))
    effect = effect - transposed(blocked) @ (blocked @ effect)
    nothing = np.zeros((problem.states, effect.shape[-1]))
    chosen = constrained(effect, nothing, wanted, np.full(problem.states, 1e-10), size)[0]
    missed = np.linalg.norm(wanted - apply(effect, chosen), axis=-1)
    whole = sum(np.linalg.norm(t, axis=-1) for t in terms)
    # Unit accelerations of all coordinates, in radians or lengths of the mechanism.
    unit = np.linalg.norm(L * (problem.length / lever)[:, None], axis=(-1, -2))
    if np.any(missed > MISMATCH * whole + NO_MOTION * unit):
        worst = int(np.argmax(missed / np.where(whole > 0.0, whole, 1.0)))
        idle = [name for name in plan.joints if not _actuated(plan, name)]
        driven = [loop.name for loop in plan.loop_joints if loop.actuated]
        hint = f" Plan with another cut to use the actuators of the loop joints {driven}." if driven else ""
        raise LoopError(
            f"The actuators of {plan.name!r} cannot produce this motion in state {worst}: "
            f"{missed[worst] / whole[worst]:.3g} of the force it takes is left. "
            f"The joints {idle} have no actuator.{hint}"
        )
    tau = np.zeros((problem.states, plan.nv))
    tau[:, plan.actuated] = chosen * lever[plan.actuated]
    return tau


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
    units = [problem.length / np.sqrt(row_weight(s.Phi, 1.0, problem.length)) for s in problem.loops]
    unit = np.linalg.norm(np.concatenate([opening[:, :0], *units], axis=-1) / problem.scale, axis=-1)
    bad = np.linalg.norm(opening, axis=-1) > MISMATCH * size + ROUNDING * alone + NO_MOTION * unit
    if bad.any():
        worst = int(np.argmax(np.where(bad, np.linalg.norm(opening, axis=-1), 0.0)))
        at, rows = 0, []
        for loop in problem.plan.loop_joints:
            part = (opening * problem.scale)[worst, at : at + loop.constraints]
            rows.append(f"{loop.name!r} by {np.linalg.norm(part):.3g}")
            at += loop.constraints
        raise LoopError(
            f"vdot opens the loops of {problem.plan.name!r} in state {worst}: {', '.join(rows)} [rad/s^2 or m/s^2]. "
            f"Give the accelerations of the closed mechanism, such as those that forward_dynamics returns."
        )


def _actuated(plan: Plan, joint: str) -> bool:
    i = plan.joint.index(joint)
    return bool(plan.v_size[i] == 0 or plan.actuated[plan.v_start[i]])
