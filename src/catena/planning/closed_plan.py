"""The plan that motions are planned on: loops and couplings keep as many constraints as are independent, so that each
has one multiplier and derivatives have full rank, whatever is redundant in the mechanism."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from catena.errors import CatenaError, StateError
from catena.kernels.evaluation import Evaluator
from catena.kinematics.loops.closure import LoopState, loop_states, tree_motions
from catena.kinematics.loops.coupling_states import CouplingState, coupling_states
from catena.kinematics.loops.kept_constraints import keep
from catena.structure import Plan
from catena.system import System

# What is kept is chosen anew where it has less than this part of the control on the motion that it could have.
LEAST_CONTROL = 0.05
# Places beside the one where a motion begins at which constraints should hold as well, and how far [rad, m] they are.
BESIDE, FAR = 6, 0.3

_plans: WeakKeyDictionary[System, tuple[Plan, Plan]] = WeakKeyDictionary()


def closed_plan(system: System) -> Plan:
    """Return the plan that was chosen last."""
    return _plans[system][1] if system in _plans else system.plan


def choose_plan(system: System, q: np.ndarray) -> Plan:
    """Return the plan for motions that begin at a closed configuration q (nq,): the one there is if it holds there."""
    system.mechanics.settle(q)
    if not system.plan.total_constraints:
        return system.plan
    found = system.diagnose(q)
    if found.rank < found.generic_rank:
        raise StateError(
            f"plan_motion: {system.mechanism.name!r} begins in a singular configuration, where only {found.rank} of "
            f"{found.generic_rank} constraints are independent (s.diagnose(q) tells which), so nobody can tell where "
            "it goes; begin beside this configuration."
        )
    effective = system.mechanics.effective_plan
    known = _plans.get(system)
    if known is not None and known[0] is effective and _grips(system, known[1], q, found.rank):
        return known[1]
    if effective.total_constraints == found.rank:
        _plans[system] = (effective, effective)
    else:
        runner = Evaluator(system.mechanism, system.plan)
        _plans[system] = (effective, keep(runner, _places(system, q), found.rank).plan)
    return _plans[system][1]


def _grips(system: System, plan: Plan, q: np.ndarray, rank: int) -> bool:
    """Return whether the constraints of a plan determine the motion at q about as well as all do."""
    if plan.total_constraints != rank:
        return False
    whole, own = (closed_jacobian(system, each, q) for each in (system.plan, plan))
    _, s, Vt = np.linalg.svd(whole, full_matrices=False)
    # Of a unit motion that all constraints would resist, the part that these resist, each row counting alike.
    rows = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-300)
    control = np.linalg.svd(rows @ Vt[:rank].T, compute_uv=False)
    return bool(control.min(initial=1.0) > LEAST_CONTROL * min(1.0, float(s[rank - 1] / s[0])))


def closed_jacobian(system: System, plan: Plan, q: np.ndarray) -> np.ndarray:
    """Return the rows (constraints, nv) of a plan of this system at q (nq,)."""
    loops = loop_states(plan, tree_motions(Evaluator(system.mechanism, system.plan), q[None]))
    states: list[LoopState | CouplingState] = [*loops, *coupling_states(plan, q[None], None, loops)]
    return np.concatenate([np.zeros((0, plan.nv)), *(state.J[0] for state in states)])


def _places(system: System, q: np.ndarray) -> np.ndarray:
    """Return closed configurations (places, nq): q, and some beside it that can be reached."""
    rng = np.random.default_rng(0)
    found = [q]
    for _ in range(BESIDE):
        step = rng.normal(size=system.nv)
        away = system.integrate(q, FAR * step / max(float(np.abs(step).max(initial=0.0)), 1.0))
        try:
            found.append(system.project(away, held=()))
        except CatenaError:
            # Loops that do not reach so far: what holds where the motion begins must do.
            continue
    return np.array(found)
