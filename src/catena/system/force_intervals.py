"""Between which joint forces a motion is the same with dry friction: in trees joint by joint, and together where there
are loops or where only some components are actuated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.loops.least_holding import component_rows
from catena.forces.smooth import smooth_sign
from catena.kernels import arrays
from catena.kinematics.stacks import apply
from catena.questions.force_bounds import force_bounds
from catena.system.by_name import as_arrays
from catena.system.dynamics_calls import acting_joints, posed
from catena.system.load_friction import require_none
from catena.system.sticking import (
    DryFriction,
    at_rest,
    bears,
    dry_friction,
    loop_rates,
    still_beside,
    tree_loads,
)

if TYPE_CHECKING:
    from catena.system.system import System


def force_interval(
    system: System, q: Any, v: Any, vdot: Any, f_ext: Mapping[str, ArrayLike] | None,
    actuated: Sequence[str] | None,
) -> Any:  # fmt: skip
    """Return the least and the largest joint forces, (..., nv, 2) or {joint: (..., nv of the joint, 2)}, that produce
    the accelerations vdot (..., nv)."""
    q, v, _, _ = as_arrays(system, q, v)
    if actuated is None and not (system._closed or system._driven_in_part):
        return _of_tree(system, q, v, vdot, f_ext)
    require_none(system, "inverse_dynamics_interval with loops, or where only some components are actuated,")
    problem = posed(system, q, v, system._with_own(q, v, None), f_ext, None, vdot)
    checked = system.mechanics.evaluator.checked(dynamics.newton_euler, "qdd", vdot)
    motion = arrays.rows(checked, problem.batch)
    acting = acting_joints(system, problem, actuated)
    tree, loops = dry_friction(system, problem.q[0] if problem.states else system.neutral())
    components = np.flatnonzero(np.concatenate([tree.rubs, loops.rubs.ravel()]))
    rows, drift = component_rows(problem, components)
    of_tree = at_rest(problem.v, problem.v) if system.mechanics.constrained else problem.v
    rates = of_tree, loop_rates(system, problem.q, problem.v)
    rate, friction, slip, limit = (
        np.concatenate([a, b.reshape(*b.shape[:-2], loops.limit.size)], axis=-1)[..., components]
        for a, b in (
            rates,
            (tree.friction, loops.friction),
            (tree.of_slip(rates[0]), loops.of_slip(rates[1])),
            (tree.limit, loops.limit),
        )
    )
    sense = _senses(rate, apply(rows, motion) + drift, motion)
    # What acts anyway has friction that goes smoothly through rest.
    middle = friction * smooth_sign(rate) - slip * sense
    reach = np.where(sense == 0.0, limit, 0.0)
    bounds = force_bounds(problem, motion, acting, rows, middle, reach)
    return acting.told(bounds, system.nv, problem.batch)


def _of_tree(
    system: System, q: np.ndarray, v: np.ndarray, vdot: Any, f_ext: Mapping[str, ArrayLike] | None
) -> np.ndarray:
    """Return the least and the largest joint forces, (..., nv, 2), of a tree: friction of what moves, or begins to, has
    one value, and of what stays at rest any within its limits."""
    taken = np.asarray(system.inverse_dynamics(q, v, vdot, f_ext=f_ext))
    v, vdot = (
        np.broadcast_to(system.mechanics.evaluator.checked(dynamics.newton_euler, name, x), taken.shape)
        for name, x in (("qd", v), ("qdd", vdot))
    )
    dry = DryFriction.of(system)
    sense = _senses(v, vdot, vdot)
    load = np.zeros(())
    if bears(system):
        load = tree_loads(system, q, v, vdot, f_ext, None)
        taken = taken - load * smooth_sign(v)
    least = taken - dry.friction * smooth_sign(v) + dry.of_slip(v, load) * sense
    free = np.where(sense == 0.0, dry.limit_under(load), 0.0)
    return np.stack([least - free, least + free], axis=-1)


def _senses(rates: np.ndarray, rises: np.ndarray, vdot: np.ndarray) -> np.ndarray:
    """Return the senses (..., n) of what moves at rates (..., n), or begins to with accelerations `rises` (..., n) that
    are more than rounding beside vdot (..., nv)."""
    begins = np.where(np.abs(rises) > still_beside(vdot), np.sign(rises), 0.0)
    return np.where(rates == 0.0, begins, np.sign(rates))
