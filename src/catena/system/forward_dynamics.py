"""Forward dynamics at the public edge: the way that a mechanism and a method call for, and another one for states whose
result cannot be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.loops.formulations.certified_elimination import is_for
from catena.errors import StateError
from catena.given import shown
from catena.system import closed_chains
from catena.system.by_name import as_arrays
from catena.system.by_state import ask_each

if TYPE_CHECKING:
    from catena.system.system import System

Wrenches = Mapping[str, ArrayLike] | None


def forward_dynamics(
    system: System, q: Any, v: Any, tau: Any, method: str, f_ext: Wrenches, base_acceleration: ArrayLike | None,
    member: str | None, near: Mapping[str, ArrayLike] | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) of any states by any method."""
    if member is not None and not (isinstance(member, str) and method == "reference_member"):
        raise StateError(f"member is {shown(member)}, but only the method reference_member has one.")
    given = tau
    q, v, tau, loop_tau = as_arrays(system, q, v, tau)
    if system._states is not None and not _has_lanes(system, method, loop_tau):
        outside: dict[str, Any] = {"f_ext": f_ext, "base_acceleration": base_acceleration, "near": near}
        return ask_each(system, "forward_dynamics", q, v, given, method=method, member=member, **outside)
    bare_tau, tau = tau, system._with_own(q, v, tau, near)
    if system._closed or method in closed_chains.FORMULATIONS:
        if system._states is not None:
            return _of_states(system, q, v, tau, bare_tau, f_ext, base_acceleration, near)
        return _with_loops(system, q, v, tau, loop_tau, method, f_ext, base_acceleration, member)
    if method == "auto" and system._inertia.lacking is not None:
        # Some joint moves no inertia in the neutral configuration; in another one it may.
        problem = closed_chains.posed(system, q, v, tau, f_ext, base_acceleration)
        with system._inertia.named():
            return closed_chains.solve(problem, "kkt").vdot.reshape(*problem.batch, system.nv)
    return _of_tree(system, q, v, tau, method, f_ext, base_acceleration)


def _has_lanes(system: System, method: str, loop_tau: np.ndarray | None) -> bool:
    """Return whether a method computes mechanisms that differ from state to state in lanes."""
    if loop_tau is not None or system._inertia.lacking is not None:
        return False
    if system._closed:
        return method in ("auto", "elimination") and is_for(system.evaluator.plan)
    return method in ("auto", "articulated_body", "composite_body")


def _of_states(
    system: System, q: Any, v: Any, tau: Any, given: Any, f_ext: Wrenches, base_acceleration: ArrayLike | None,
    near: Mapping[str, ArrayLike] | None,
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) of mechanisms with loops that differ from state to state under forces tau
    (..., nv), those of the mechanism among them, by the compiled elimination; states that it cannot certify are
    computed one by one from the forces `given`."""
    inputs = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
    found = closed_chains.in_lanes(system.evaluator, inputs)
    assert found is not None
    vdot = found["qdd"]
    doubtful = closed_chains.in_doubt(system.evaluator.plan, found).reshape(vdot.shape[:-1])
    if not np.any(doubtful):
        return vdot
    outside: dict[str, Any] = {"f_ext": f_ext, "base_acceleration": base_acceleration, "near": near}
    careful = ask_each(system, "forward_dynamics", q, v, given, only=doubtful, **outside)
    return np.where(doubtful[..., None], careful, vdot)


def _with_loops(
    system: System, q: Any, v: Any, tau: Any, loop_tau: np.ndarray | None, method: str, f_ext: Wrenches,
    base_acceleration: ArrayLike | None, member: str | None,
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) with loops; `loop_tau` (..., k) are forces at loop joints."""
    quick = method in ("auto", "elimination") and member is None
    found = None
    if quick and loop_tau is None:
        # Most calls end here: what the careful ways need besides is prepared for them alone.
        given = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
        found = closed_chains.in_lanes(system.evaluator, given)
        system._open_loops.look(q)
        if found is not None and not closed_chains.in_doubt(system.evaluator.plan, found).any():
            return found["qdd"]
    problem = closed_chains.posed(
        system, q, v, tau, f_ext, base_acceleration, look=not quick, loop_tau=loop_tau
    )
    with system._inertia.named():
        if found is None:
            solution = closed_chains.solve(problem, method, member)
        else:
            solution = closed_chains.mended(problem, found)
        if len(solution.handed_over) and system.settle(problem.q[solution.handed_over]):
            problem = closed_chains.posed(system, q, v, tau, f_ext, base_acceleration, loop_tau=loop_tau)
            solution = closed_chains.solve(problem, method, member)
    return solution.vdot.reshape(*problem.batch, system.nv)


def _of_tree(
    system: System, q: Any, v: Any, tau: Any, method: str, f_ext: Wrenches, base_acceleration: ArrayLike | None
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) of a tree."""
    evaluator = system.evaluator
    system._require_tree("forward dynamics")
    given = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
    if method in ("auto", "articulated_body"):
        return evaluator.evaluate(dynamics.tree_dynamics(system.plan), given)["qdd"]
    if method == "composite_body":
        del given["tau"]
        bias = evaluator.evaluate(dynamics.newton_euler, given)["tau"]
        H = system.mass_matrix(q)
        force = 0.0 if tau is None else evaluator.checked(dynamics.articulated_body, "tau", tau)
        return np.linalg.solve(H, (force - bias)[..., None])[..., 0]
    raise StateError(
        f"There is no forward dynamics method {shown(method)}; choose auto, articulated_body or composite_body."
    )
