"""What joints and couplings carry: in lanes where it is unique, and the smallest forces where redundant constraints
leave a choice; and stress resultants along beams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.loops.elimination import loop_wrenches, shape_for
from catena.dynamics.loops.formulations import LoopProblem, LoopSolution
from catena.dynamics.loops.formulations.certified_elimination import is_for, is_trusted
from catena.dynamics.loops.formulations.kkt import kkt
from catena.errors import StateError
from catena.mechanism import Mechanism
from catena.questions.reactions import from_lanes
from catena.questions.resultants import BeamMotion, along_beam
from catena.structure.plan import Parts
from catena.system import wrenches
from catena.system.by_name import as_arrays, forces_by_name
from catena.system.dynamics_calls import posed
from catena.system.own_forces import require_near, with_own_by_place, with_wrenches
from catena.validation import shown

if TYPE_CHECKING:
    from catena.system.system import System


# A constraint that yields less than this part of what its loop's M would allow is not one of a redundant set.
UNIQUE = 1e-4


def reactions(
    system: System, q: Any, v: Any, tau: Any, f_ext: Mapping[str, ArrayLike] | None,
    base_acceleration: ArrayLike | None, vdot: ArrayLike | None, at_loops: Mapping[str, ArrayLike] | None = None,
    near: Mapping[str, ArrayLike] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the wrench that each joint passes to its child, {joint: (..., 6)}; accelerations `vdot` (..., nv) that are
    known already are used in trees, and `at_loops` are forces at loop joints besides those in tau."""
    q, v, tau, loop_tau = _by_place(system, q, v, tau, at_loops)
    applied, given_at_loops = (tau, f_ext), loop_tau
    if system._acts:
        tau, loop_tau, f_ext = with_own_by_place(system, q, v, tau, loop_tau, f_ext, near)
    problem = posed(system, q, v, tau, f_ext, base_acceleration, vdot, loop_tau=loop_tau)
    passing = system._passing
    if vdot is not None:
        vdot = system.mechanics.evaluator.checked(dynamics.newton_euler, "qdd", vdot)
    known_motion = vdot is not None and not system._closed
    if not passing.welds and not known_motion and system._counted.found is None:
        unique = unique_wrenches(problem, passing.mechanism)
        if unique is not None:
            return unique
    if system._closed:
        problem, solution = _with_all_constraints(system, problem)
    else:
        if not known_motion:
            at_tree, f_given = applied
            if given_at_loops is not None:
                there = posed(system, q, v, at_tree, None, None, loop_tau=given_at_loops)
                at_tree = there.inputs["tau"].reshape(*there.batch, system.nv)
            vdot = system.forward_dynamics(
                q, v, at_tree, f_ext=f_given, base_acceleration=base_acceleration, near=near
            )
        assert vdot is not None
        rows = np.broadcast_to(vdot, (*problem.batch, system.nv)).reshape(problem.states, system.nv)
        solution = LoopSolution(rows, np.zeros((problem.states, 0)), np.zeros(problem.states, dtype=np.int64))
    return passing.wrenches(problem, solution, _outside(system, f_ext))


def coupling_forces(
    system: System, q: Any, v: Any, tau: Any, f_ext: Mapping[str, ArrayLike] | None,
    base_acceleration: ArrayLike | None, at_loops: Mapping[str, ArrayLike] | None = None,
    near: Mapping[str, ArrayLike] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the force that each coupling carries, {coupling: (...)}: in lanes where it is unique, and what belongs to
    the reactions where redundant constraints leave a choice."""
    q, v, tau, loop_tau = _by_place(system, q, v, tau, at_loops)
    require_near(near)
    if system._acts:
        tau, loop_tau, f_ext = with_own_by_place(system, q, v, tau, loop_tau, f_ext, near)
    problem = posed(system, q, v, tau, f_ext, base_acceleration, loop_tau=loop_tau)
    plan = problem.plan
    if not any(not tied.is_rotor for tied in plan.couplings):
        return {}
    is_lanes = system._counted.found is None and plan.owner is None
    found = _unique(problem) if is_lanes else None
    if found is not None:
        first = len(plan.loop_joints)
        forces = -found["total"].reshape(problem.states, -1, shape_for(plan).columns)[:, first:, 0]
        own = [(c, tied.name) for c, tied in enumerate(plan.couplings) if not tied.is_rotor]
        return {name: forces[:, c].reshape(problem.batch) for c, name in own}
    problem, solution = _with_all_constraints(system, problem)
    return system._passing.coupling_forces(problem, solution, _outside(system, f_ext))


def _by_place(
    system: System, q: Any, v: Any, tau: Any, at_loops: Mapping[str, ArrayLike] | None
) -> tuple[Any, Any, Any, np.ndarray | None]:
    """Return q, v, the forces at joints of the tree, and those at loop joints, some of which `at_loops` may name."""
    q, v, tau, loop_tau = as_arrays(system, q, v, tau, apart=True)
    if at_loops is not None and not isinstance(at_loops, Mapping):
        raise StateError(
            f"at_loops is {shown(at_loops)}; give a mapping from joints that close loops to forces."
        )
    if at_loops:
        more = forces_by_name(system.mechanics.evaluator, at_loops)[1]
        loop_tau = more if loop_tau is None or more is None else loop_tau + more
    return q, v, tau, loop_tau


def _with_all_constraints(system: System, problem: LoopProblem) -> tuple[LoopProblem, LoopSolution]:
    """Return the problem and its solution with all constraints as they were described. Redundant ones need a
    rank-revealing solution anyway, and its multipliers belong to the same constraint spaces and friction as the
    wrenches."""
    solution = kkt(problem)
    if system._counted.found is None:
        return problem, solution
    # What the loops leave out is redundant, and takes its part of the reactions as such.
    return system._counted.as_described(problem, solution)


def _outside(system: System, f_ext: Mapping[str, ArrayLike] | None) -> dict[str, np.ndarray]:
    if f_ext is None:
        return {}
    place = None if system._constants is None else system._constants.place
    return wrenches.in_node_frames(system.plan, f_ext, system._frame, place)


def unique_wrenches(problem: LoopProblem, mechanism: Mechanism | Parts) -> dict[str, np.ndarray] | None:
    """Return the wrenches {joint: (*batch, 6)} of all joints of a mechanism without welds, in lanes; None where they
    are not unique or not certain in some state."""
    plan = problem.plan
    if plan.owner is not None:
        return None
    # Forces at loop joints act in lanes as wrenches on the two bodies, and are what these joints pass on besides.
    outer, passed = problem.with_forces_between_bodies()
    result = _unique(outer)
    if result is None:
        return None
    loops = {loop.name: result["on_child"][:, k] for k, loop in enumerate(plan.loop_joints)}
    loops = {name: x + passed[name] if name in passed else x for name, x in loops.items()}
    found = from_lanes(mechanism, problem.numbers, result["wrench"], result["X"], loops)
    return {name: wrench.reshape(*problem.batch, 6) for name, wrench in found.items()}


def _unique(problem: LoopProblem) -> dict[str, np.ndarray] | None:
    """Return what `loop_wrenches` finds; None where that is not unique or not certain in some state."""
    plan = problem.plan
    if not is_for(plan):
        return None
    shape = shape_for(plan)
    result = problem.evaluator.evaluate(loop_wrenches(shape), problem.inputs, finite=False)
    closing = [
        loop.constraints
        for loop in plan.loop_joints
        if loop.constraints and loop.parent_node != loop.child_node
    ]
    tied = [int(coupling.acts) for coupling in plan.couplings]
    padding = shape.columns * len(closing + tied) - sum(closing + tied)
    trusted = is_trusted(*(result[name][:, 0] for name in ("defect", "change", "before", "size")))
    if not np.all(trusted & (result["stiffness"][:, 0] - padding < UNIQUE)) or not (
        len(closing) == len(plan.loop_joints) and all(tied)
    ):
        return None
    return result


def beam_resultants(
    system: System, body: Any, x: Any, q: np.ndarray, v: np.ndarray, vdot: np.ndarray,
    reactions: Mapping[str, np.ndarray], f_ext: Mapping[str, Any] | None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the resultants {name: (..., n)} of a beam at places x (n,) for states (..., nq), (..., nv) that accelerate
    by vdot, with the wrenches of joints and those on frames and bodies."""

    def motion() -> BeamMotion:
        twist, acceleration = system.twist(q, v, body), system.acceleration(q, v, vdot, body)
        return BeamMotion(q, v, vdot, system.body_poses(q), twist, acceleration)

    pressing = with_wrenches(f_ext, system.forces.loads(q, v).between)
    return along_beam(system.mechanism, system.plan, body, x, motion, reactions, pressing)
