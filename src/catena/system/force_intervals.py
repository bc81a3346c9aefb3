"""Between which joint forces a motion is the same with dry friction: in trees joint by joint, and together where there
are loops or where only some components are actuated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.bearing_loads import settle
from catena.dynamics.loops.least_holding import component_rows
from catena.dynamics.loops.problem import LoopProblem
from catena.errors import SimulationError
from catena.forces.smooth import smooth_sign
from catena.kernels import arrays
from catena.kinematics.stacks import apply
from catena.questions.force_bounds import ForceBounds
from catena.system.by_name import as_arrays
from catena.system.dry_friction import (
    DryFriction,
    at_rest,
    bears,
    dry_friction,
    loop_rates,
    no_load_message,
    still_beside,
)
from catena.system.dynamics_calls import acting_joints, posed
from catena.system.sticking import sense_search, tree_loads

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
    problem = posed(system, q, v, system._with_own(q, v, None), f_ext, None, vdot)
    checked = system.mechanics.evaluator.checked(dynamics.newton_euler, "qdd", vdot)
    motion = arrays.rows(checked, problem.batch)
    acting = acting_joints(system, problem, actuated)
    rubbing = _Rubbing.of(system, problem, motion)
    bounds = ForceBounds.of(problem, motion, acting, rubbing.rows)
    if bears(system):
        found = _under_loads(system, problem, bounds, rubbing, f_ext)
    else:
        found = bounds.bounds(*rubbing.range(np.zeros(rubbing.rates.shape)))
    return acting.told(found, system.nv, problem.batch)


@dataclass(frozen=True, eq=False)
class _Rubbing:
    """The `components` (c,) of joints with dry friction, their `rows` (states, c, nv), and how those of all (states, n)
    move, `rates`, and in which `sense`, 0 where they stay at rest. Those of the tree come first."""

    tree: DryFriction
    loops: DryFriction
    components: np.ndarray
    rows: np.ndarray
    rates: np.ndarray
    sense: np.ndarray

    @staticmethod
    def of(system: System, problem: LoopProblem, motion: np.ndarray) -> _Rubbing:
        """Return those of a system that accelerates by `motion` (states, nv)."""
        tree, loops = dry_friction(system, problem.q[0] if problem.states else system.neutral())
        components = np.flatnonzero(np.concatenate([tree.rubs, loops.rubs.ravel()]))
        rows, drift = component_rows(problem, components)
        of_tree = at_rest(problem.v, problem.v) if system.mechanics.constrained else problem.v
        of_loops = loop_rates(system, problem.q, problem.v).reshape(problem.states, loops.limit.size)
        rates = np.concatenate([of_tree, of_loops], axis=-1)
        sense = _senses(rates[:, components], apply(rows, motion) + drift, motion)
        return _Rubbing(tree, loops, components, rows, rates, sense)

    def range(self, load: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which forces of friction do, besides what goes smoothly through rest and acts anyway, the middle and
        the reach of each (states, c), where `load` (states, n) makes so much of a slip."""
        middle, slip, reach = self._known(load)
        return middle - slip * self.sense, np.where(self.sense == 0.0, reach, 0.0)

    def acting(self, load: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """Return the friction (states, n) with `parts` (states, c) of what it may be."""
        _, slip, reach = self._known(load)
        found = np.zeros(load.shape)
        found[:, self.components] = parts * np.where(self.sense == 0.0, reach, 0.0) - slip * self.sense
        return found

    def _known(self, load: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the friction that goes smoothly through rest, that of slips, and what holds, each (states, c)."""
        nv, found = self.tree.limit.size, []
        for dry, own in ((self.tree, slice(None, nv)), (self.loops, slice(nv, None))):
            shape = (len(load), *dry.limit.shape)
            v, loads = self.rates[:, own].reshape(shape), load[:, own].reshape(shape)
            each = dry.friction * smooth_sign(v), dry.of_slip(v, loads), dry.limit_under(loads)
            found.append(
                np.stack([np.broadcast_to(x, shape).reshape(len(load), dry.limit.size) for x in each])
            )
        smooth, slip, limit = np.concatenate(found, axis=-1)[..., self.components]
        return smooth, slip, limit


def _under_loads(
    system: System, problem: LoopProblem, bounds: ForceBounds, rubbing: _Rubbing, f_ext: Any
) -> np.ndarray:
    """Return the bounds (states, k, 2) where loads make friction: at each end it is as large as the forces that act at
    this end let it be."""
    batch, nothing = problem.batch, np.zeros(rubbing.rates.shape)
    q, v = (x.reshape(*batch, x.shape[-1]) for x in (problem.q, problem.v))

    def load_under(forces: np.ndarray, friction: np.ndarray) -> np.ndarray:
        """Return what loads make under forces (states, k) of actuators and all friction (states, n)."""
        tau = bounds.acting.told(forces, system.nv, batch)
        search = sense_search(system, q, v, tau, f_ext, None, None, None)
        return search.bearing_under(friction.reshape(*batch, friction.shape[-1])).reshape(friction.shape)

    forces, least = bounds.least(rubbing.range(nothing)[0])
    friction = rubbing.acting(nothing, 0.0 * least)
    friction[:, rubbing.components] += least
    begun, unbounded = load_under(forces, friction), bounds.unbounded
    found = np.where(unbounded[..., None], [-np.inf, np.inf], 0.0)
    counts = np.zeros(nothing.shape, dtype=bool)
    counts[:, rubbing.components] = True
    for motor, end in np.ndindex(found.shape[1:]):
        if unbounded[:, motor].all():
            continue
        at_end = partial(bounds.at_end, motor=motor, end=end)

        def bearing(load: np.ndarray, at_end: Any = at_end) -> np.ndarray:
            forces, parts = at_end(*rubbing.range(load))
            return load_under(forces, rubbing.acting(load, parts))

        load, settled = settle(bearing, np.where(counts, begun, 0.0), counts)
        if not settled.all():
            raise SimulationError(no_load_message(system))
        own = at_end(*rubbing.range(load))[0][:, motor]
        found[:, motor, end] = np.where(unbounded[:, motor], found[:, motor, end], own)
    return found


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
