"""Dynamics of mechanisms with loops as users ask for them: equations of motion, checked, and formulations by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from catena import dynamics
from catena.dynamics.loops.elimination import borrowers
from catena.dynamics.loops.formulations import (
    Formulation,
    LoopProblem,
    LoopSolution,
    absolute,
    joint_multipliers,
    kkt,
    minimal,
    reference_member,
)
from catena.dynamics.loops.formulations.certified_elimination import (
    elimination,
    elimination_of,
    in_doubt as in_doubt,
    is_for,
    is_trusted,
    mended as mended,
)
from catena.dynamics.loops.independent import independent_components
from catena.dynamics.loops.square_root import divide_lower, divide_upper, effective
from catena.errors import LoopError, StateError
from catena.kernels import arrays
from catena.kernels.evaluation import Evaluator
from catena.kinematics.stacks import transposed
from catena.structure import Plan

Independent = str | Iterable[str] | None
"""Joints whose coordinates are independent, by name; None where the best ones are taken."""

FORMULATIONS: dict[str, Formulation] = {
    "elimination": elimination,
    "kkt": kkt,
    "absolute": absolute,
    "joint_multipliers": joint_multipliers,
    "minimal": minimal,
    "reference_member": reference_member,
}


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
    checked = {name: evaluator.checked(algorithm, name, x) for name, x in inputs.items() if x is not None}
    named = {{"qd": "v", "a_base": "base_acceleration"}.get(n, n): x for n, x in checked.items()}
    if vdot is not None:
        named["vdot"] = evaluator.checked(dynamics.newton_euler, "qdd", vdot)
    if loop_tau is not None:
        named["tau of loop joints"] = checked["loop_tau"] = loop_tau
    batch = arrays.batch_shape(named)
    evaluator.check_positions("q", checked["q"])
    checked["v"] = np.broadcast_to(checked.pop("qd"), (*batch, evaluator.plan.nv))
    return LoopProblem(evaluator, **checked)


def solve(
    problem: LoopProblem, method: str, member: str | None = None, independent: Independent = None
) -> LoopSolution:
    """Return the solution by a formulation; "auto" takes the compiled elimination. `member` names the reference
    member, `independent` the joints whose coordinates are the minimal ones."""
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
    if independent is not None and method == "minimal":
        return minimal(problem, independent_components(problem.plan, independent))
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


def _closing(plan: Plan) -> str:
    """Return what constrains a tree, in words."""
    words = [f"loops {list(plan.loops)}"] if plan.loops else []
    words += [f"couplings {[c.name for c in plan.couplings if not c.inertia]}"] if plan.couplings else []
    return " and ".join(words)
