"""Positions, velocities and forces that are given by joint instead of as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.kernels.evaluation import Evaluator
from catena.kinematics.loops.closure import forces_at_tree
from catena.kinematics.loops.held import held_forces
from catena.structure import Plan

if TYPE_CHECKING:
    from catena.system.system import System

# Values of joints by name: None leaves a joint, or an entry of it, free.
Given = Mapping[str, ArrayLike | Sequence[float | None] | None]
# Positions, velocities or forces, as an array or by joint.
State = ArrayLike | Given


def as_arrays(
    system: System, q: Any, v: Any, tau: Any = None, apart: bool = False
) -> tuple[Any, Any, Any, np.ndarray | None]:
    """Return positions, velocities and forces of the tree as arrays, where they are given by joint: the closed
    state that has what is given, and besides forces at all loop joints (..., k), None where there are none. Forces at
    joints that are left out of the tree and constrain nothing are among those of the tree, unless they are to be told
    `apart`."""
    loop_tau = None
    if isinstance(q, Mapping):
        q = system.assemble(q)
    if isinstance(v, Mapping):
        v = system.velocity(q, v)
    if isinstance(tau, Mapping):
        by_joint = tau
        tau, loop_tau = forces_by_name(system.mechanics.evaluator, by_joint)
        if loop_tau is not None and not system._closed and not apart:
            from catena.system.at_loops import tree_forces

            tau, loop_tau = tree_forces(system, q, by_joint), None
    return q, v, tau, loop_tau


def forces_by_name(evaluator: Evaluator, by_joint: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray | None]:
    """Return forces at the joints of the tree (..., nv), and those at all loop joints, one after the other (..., k);
    None where nothing is given for these."""
    plan = evaluator.plan
    plain = _plain_forces(plan, by_joint)
    if plain is not None:
        return plain, None
    held = held_forces(evaluator.mechanism, plan, by_joint)
    shapes = {h.name: h.value.shape[:-1] for h in held}
    try:
        batch = np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        raise StateError(f"The batch dimensions of the forces do not fit together: {shapes}.") from error
    tau = np.zeros((*batch, plan.nv))
    starts = np.cumsum([0, *(loop.kind.nv for loop in plan.loop_joints)])
    loop_tau = np.zeros((*batch, int(starts[-1])))
    for h in held:
        if h.node >= 0:
            start = int(plan.v_start[h.node])
            tau[..., start : start + h.kind.nv] = h.value
        else:
            loop_tau[..., starts[h.loop] : starts[h.loop] + h.kind.nv] = h.value
    return tau, loop_tau if any(h.loop >= 0 for h in held) else None


def _plain_forces(plan: Plan, by_joint: Mapping[str, Any]) -> np.ndarray | None:
    """Return forces (nv,) where single numbers are given for joints of the tree, as controllers mostly do, without
    further ado; None for anything else."""
    components, tau = _components(plan), np.zeros(plan.nv)
    for name, value in by_joint.items():
        k = components.get(name) if type(name) is str else None
        if k is None or type(value) not in (float, np.float64) or not isfinite(value):
            return None
        tau[k] = value
    return tau


@lru_cache(maxsize=64)
def _components(plan: Plan) -> dict[str, int]:
    """Return the velocity component of each tree joint that has one."""
    return {plan.joint[i]: int(plan.v_start[i]) for i in range(1, plan.n) if plan.v_size[i] == 1}


def as_tree_forces(evaluator: Evaluator, q: np.ndarray, by_joint: Mapping[str, Any]) -> np.ndarray:
    """Return the forces (..., nv) at joints of the tree that move the mechanism at q (..., nq) as the given ones do,
    those at loop joints among them."""
    tau, loop_tau = forces_by_name(evaluator, by_joint)
    if loop_tau is None:
        return tau
    return tau + forces_at_tree(evaluator, q, loop_tau)
