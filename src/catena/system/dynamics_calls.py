"""Forward, inverse and hybrid dynamics at the public edge: the way that a mechanism and a method call for, and another
one for states whose result cannot be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.flexible.tree_accelerations import tree_accelerations
from catena.dynamics.loops import closed_chains
from catena.dynamics.loops.formulations.certified_elimination import is_for
from catena.dynamics.loops.formulations.hybrid import hybrid
from catena.dynamics.loops.prescribed import prescribed_accelerations, require_agreement, with_loop_drives
from catena.dynamics.loops.problem import LoopProblem
from catena.dynamics.tree.composite_body import accelerations
from catena.errors import StateError
from catena.kernels import arrays
from catena.questions.inverse_dynamics import ActuatedForces, actuated_components, named, smallest, taken_by
from catena.structure.stations import has_many_modes
from catena.system.by_name import Given, as_arrays
from catena.system.by_state import ask_each, ask_together
from catena.validation import shown

if TYPE_CHECKING:
    from catena.system.system import System

Wrenches = Mapping[str, ArrayLike] | None


def forward_dynamics(
    system: System, q: Any, v: Any, tau: Any, method: str, f_ext: Wrenches, base_acceleration: ArrayLike | None,
    member: str | None, near: Mapping[str, ArrayLike] | None = None, independent: closed_chains.Independent = None,
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) of any states by any method."""
    if independent is not None and method != "minimal":
        raise StateError(
            f"independent is {shown(independent)}, but only the method minimal has independent coordinates; give "
            f"method='minimal'."
        )
    if member is not None and not (isinstance(member, str) and method == "reference_member"):
        raise StateError(f"member is {shown(member)}, but only the method reference_member has one.")
    by_joint = tau
    q, v, tau, loop_tau = as_arrays(system, q, v, tau)
    if system._states is not None and not _has_lanes(system, method, loop_tau):
        outside: dict[str, Any] = {"f_ext": f_ext, "base_acceleration": base_acceleration, "near": near}
        chosen: dict[str, Any] = {"method": method, "member": member, "independent": independent}
        is_careful = method == "kkt" or (system._closed and method in ("auto", "elimination"))
        together = _careful if is_careful else None
        return ask_together(system, together, "forward_dynamics", q, v, by_joint, **chosen, **outside)
    bare_tau, tau = tau, system._with_own(q, v, tau, near)
    if system._closed or method in closed_chains.FORMULATIONS:
        if system._states is not None:
            return _of_states(system, q, v, tau, bare_tau, f_ext, base_acceleration, near)
        return _with_loops(system, q, v, tau, loop_tau, method, f_ext, base_acceleration, member, independent)
    if method == "auto" and system.mechanics.inertia.lacking is not None:
        # Some joint moves no inertia in the neutral configuration; in another one it may.
        problem = posed(system, q, v, tau, f_ext, base_acceleration)
        with system.mechanics.inertia.named():
            return closed_chains.solve(problem, "kkt").vdot.reshape(*problem.batch, system.nv)
    return _of_tree(system, q, v, tau, method, f_ext, base_acceleration)


def _careful(
    system: System, q: Any, v: Any, tau: Any, method: str, member: str | None,
    independent: closed_chains.Independent, f_ext: Wrenches, base_acceleration: ArrayLike | None,
    near: Mapping[str, ArrayLike] | None,
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (states, nv) of mechanisms with loops that differ from state to state, with forces at
    loop joints too."""
    q, v, tau, loop_tau = as_arrays(system, q, v, tau)
    tau = system._with_own(q, v, tau, near)
    return _with_loops(system, q, v, tau, loop_tau, method, f_ext, base_acceleration, member, independent)


def _has_lanes(system: System, method: str, loop_tau: np.ndarray | None) -> bool:
    """Return whether a method computes mechanisms that differ from state to state in lanes."""
    if loop_tau is not None or system.mechanics.inertia.lacking is not None:
        return False
    if system._closed:
        return method in ("auto", "elimination") and is_for(system.mechanics.evaluator.plan)
    return method in ("auto", "articulated_body", "composite_body")


def _of_states(
    system: System, q: Any, v: Any, tau: Any, forces: Any, f_ext: Wrenches, base_acceleration: ArrayLike | None,
    near: Mapping[str, ArrayLike] | None,
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) of mechanisms with loops that differ from state to state under forces tau
    (..., nv), those of the mechanism among them, by the compiled elimination; states that it cannot certify are
    computed one by one from the forces `forces`."""
    inputs = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
    found = closed_chains.in_lanes(system.mechanics.evaluator, inputs)
    assert found is not None
    vdot = found["qdd"]
    doubtful = closed_chains.in_doubt(system.mechanics.evaluator.plan, found).reshape(vdot.shape[:-1])
    if not np.any(doubtful):
        return vdot
    outside: dict[str, Any] = {"f_ext": f_ext, "base_acceleration": base_acceleration, "near": near}
    careful = ask_each(system, "forward_dynamics", q, v, forces, only=doubtful, **outside)
    return np.where(doubtful[..., None], careful, vdot)


def _with_loops(
    system: System, q: Any, v: Any, tau: Any, loop_tau: np.ndarray | None, method: str, f_ext: Wrenches,
    base_acceleration: ArrayLike | None, member: str | None, independent: closed_chains.Independent = None,
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) with loops; `loop_tau` (..., k) are forces at loop joints."""
    quick = method in ("auto", "elimination") and member is None
    found = None
    if quick and loop_tau is None:
        # Most calls end here: what the careful ways need besides is prepared for them alone.
        inputs = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
        found = closed_chains.in_lanes(system.mechanics.evaluator, inputs)
        system._open_loops.look(q)
        if found is not None and not closed_chains.in_doubt(system.mechanics.evaluator.plan, found).any():
            return found["qdd"]
    with system.mechanics.inertia.named(), np.errstate(over="ignore", invalid="ignore"):
        problem = posed(system, q, v, tau, f_ext, base_acceleration, look=not quick, loop_tau=loop_tau)
        if found is None:
            solution = closed_chains.solve(problem, method, member, independent)
        else:
            solution = closed_chains.mended(problem, found)
        if len(solution.handed_over) and system.mechanics.settle(problem.q[solution.handed_over]):
            problem = posed(system, q, v, tau, f_ext, base_acceleration, loop_tau=loop_tau)
            solution = closed_chains.solve(problem, method, member)
    if not np.isfinite(solution.vdot).all():
        raise StateError(
            f"{system.mechanism.name!r}: accelerations are beyond all numbers, because positions, velocities or forces "
            f"are; give smaller ones."
        )
    return solution.vdot.reshape(*problem.batch, system.nv)


def _of_tree(
    system: System, q: Any, v: Any, tau: Any, method: str, f_ext: Wrenches, base_acceleration: ArrayLike | None
) -> np.ndarray:  # fmt: skip
    """Return the accelerations (..., nv) of a tree."""
    evaluator = system.mechanics.evaluator
    system._require_tree("forward dynamics")
    inputs = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
    if method in ("auto", "articulated_body"):
        return tree_accelerations(evaluator, inputs)
    if method == "composite_body":
        del inputs["tau"]
        bias = evaluator.evaluate(dynamics.newton_euler, inputs)["tau"]
        force = 0.0 if tau is None else evaluator.checked(dynamics.articulated_body, "tau", tau)
        return accelerations(system.mass_matrix(q), force - bias)
    raise StateError(
        f"There is no forward dynamics method {shown(method)}; choose auto, articulated_body or composite_body."
    )


def inverse_with_loops(
    system: System, q: Any, v: Any, vdot: ArrayLike, f_ext: Wrenches, base_acceleration: ArrayLike | None,
    actuated: Sequence[str] | None,
) -> np.ndarray | dict[str, np.ndarray]:  # fmt: skip
    """Return the forces (..., nv) of the actuated joints of the tree that produce vdot (..., nv), or those of the
    joints called `actuated` by name, {joint: (..., nv of the joint)}."""
    problem = posed(system, q, v, system._with_own(q, v, None), f_ext, base_acceleration, vdot)
    motion = system.mechanics.evaluator.checked(dynamics.newton_euler, "qdd", vdot)
    acting = acting_joints(system, problem, actuated)
    forces = smallest(problem, arrays.rows(motion, problem.batch), acting)
    return acting.told(forces, system.nv, problem.batch)


def acting_joints(system: System, problem: LoopProblem, actuated: Sequence[str] | None) -> ActuatedForces:
    """Return whose forces inverse dynamics tells: those of the actuated joints of the tree, or of joints by name."""
    if actuated is None:
        return actuated_components(problem)
    names = arrays.as_list("actuated", actuated, str, "joints")
    return named(problem, system.mechanism, names)


def hybrid_dynamics(
    system: System, q: Any, v: Any, tau: Any, prescribed: Given, f_ext: Mapping[str, ArrayLike] | None,
    base_acceleration: ArrayLike | None, near: Mapping[str, ArrayLike] | None = None,
) -> tuple[np.ndarray, Any]:  # fmt: skip
    """Return the accelerations and the joint forces, each (..., nv), with some joint accelerations prescribed; the
    forces by name where a prescribed joint closes a loop."""
    q, v, tau, loop_tau = as_arrays(system, q, v, tau)
    driven, accelerations, drives = prescribed_accelerations(system.mechanism, system.plan, prescribed)
    tau = system._with_own(q, v, tau, near)
    lacks = system.mechanics.inertia.lacking_beside(driven)
    if not (system._closed or drives or lacks or has_many_modes(system.plan)):
        outside = system._outside(f_ext, base_acceleration)
        driving = {"driven": driven.astype(np.float64), "qdd_given": accelerations}
        inputs = {"q": q, "qd": v, "tau": tau, **driving, **outside}
        result = system.mechanics.evaluator.evaluate(dynamics.tree_dynamics(system.plan, drives=True), inputs)
        return result["qdd"], system._without_own(q, v, result["drive"], near)
    problem = posed(system, q, v, tau, f_ext, base_acceleration, accelerations, loop_tau=loop_tau)
    rows = np.broadcast_to(accelerations, (*problem.batch, system.nv)).reshape(-1, system.nv)
    forces: dict[str, np.ndarray] = {}
    with system.mechanics.inertia.named():
        if drives:
            solution, forces = with_loop_drives(problem, drives, lambda p: hybrid(p, driven, rows))
        else:
            solution = hybrid(problem, driven, rows)
    require_agreement(problem.plan, solution, list(prescribed))
    shape = (*problem.batch, system.nv)
    vdot = solution.vdot.reshape(shape)
    own = system._without_own(q, v, solution.tau.reshape(shape), near)
    if not drives:
        return vdot, own
    by_name = {name: own[..., system.slice_v(name)] for name in prescribed if name not in forces}
    by_name |= {name: x.reshape(*problem.batch, x.shape[-1]) for name, x in forces.items()}
    return vdot, {name: by_name[name] for name in prescribed}


def posed(
    system: System, q: Any, v: Any, tau: Any, f_ext: Mapping[str, Any] | None, base_acceleration: Any,
    vdot: Any = None, look: bool = True, loop_tau: np.ndarray | None = None,
) -> LoopProblem:  # fmt: skip
    """Return the equations of motion of a system with loops at these states; vdot counts for the batch dimensions only.
    With `look`, what counts is settled first."""
    inputs = {"q": q, "qd": v, "tau": tau, **system._outside(f_ext, base_acceleration)}
    problem = closed_chains.pose_problem(system.mechanics.evaluator, inputs, vdot, loop_tau)
    if look and system.mechanics.settle(problem.q):
        problem = closed_chains.pose_problem(system.mechanics.evaluator, inputs, vdot, loop_tau)
    return problem


def opened(system: System, q: Any, v: Any, vdot: ArrayLike) -> np.ndarray:
    """Return the forces (states, nv) at the joints of the tree that a motion takes, besides those of the mechanism and
    of friction, if nothing held its loops."""
    problem = posed(system, q, v, system._with_own(q, v, None), None, None, vdot)
    motion = system.mechanics.evaluator.checked(dynamics.newton_euler, "qdd", vdot)
    rows = arrays.rows(motion, problem.batch)
    return taken_by(problem, rows)
