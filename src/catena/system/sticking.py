"""Dry friction at given states, as runs have it: what moves rubs against its slip, what is at rest sticks or slips.

Which components at rest stick is found as in a step (`stepping.methods.sticking`): those that would need more force
than there is begin to slip, those that would slip the other way stick, all at once and in the end one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from catena import dynamics
from catena.dynamics.loops.elimination import sort_for
from catena.dynamics.loops.elimination.flexible import flexible_elimination
from catena.dynamics.loops.elimination.hybrid import hybrid_elimination
from catena.dynamics.loops.prescribed import prescribed_accelerations
from catena.errors import SimulationError, StateError
from catena.forces.smooth import smooth_sign
from catena.kernels import Algorithm, arrays
from catena.structure import Plan
from catena.system.by_name import Given, as_arrays

if TYPE_CHECKING:
    from catena.system.system import System

# A force that holds is too large beyond this part of its limit; accelerations [rad/s^2 or m/s^2] that are rounding.
LOOSE, STILL = 1e-10, 1e-11
# All wrong senses change together so often, then one at a time; after that none are found.
TOGETHER, PIVOTS = 8, 400


@dataclass(frozen=True, eq=False)
class Sticking:
    """How a mechanism with dry friction goes on from states, each (..., nv): the accelerations `vdot`, the `force` of
    dry friction on each component, its `sense` (the sign of the slip, 0 where it sticks or there is none), and the
    `limit` up to which it holds."""

    vdot: np.ndarray
    force: np.ndarray
    sense: np.ndarray
    limit: np.ndarray

    @property
    def holds(self) -> np.ndarray:
        """Return whether nothing moves in a state (...), nor begins to."""
        return np.asarray(np.all(self.vdot == 0.0, axis=-1))


@dataclass(frozen=True, eq=False)
class DryFriction:
    """The dry friction of joints of the tree, each (nv,): that of a slip, by how much more holds at rest (`excess`),
    how much of this falls with the slip (`fading`), and how fast, one over Stribeck's velocity squared (`fall`)."""

    friction: np.ndarray
    excess: np.ndarray
    fading: np.ndarray
    fall: np.ndarray

    @staticmethod
    def of(system: System) -> DryFriction:
        """Return that of a system."""
        excess, fading, fall = np.zeros((3, system.nv))
        for name in system.joints:
            joint, own = system.mechanism.joints.get(name), system.slice_v(name)
            if joint is None or joint.static_friction is None:
                continue
            excess[own] = joint.static_friction - joint.friction
            if joint.stribeck_velocity is not None:
                fading[own], fall[own] = excess[own], joint.stribeck_velocity**-2.0
        return DryFriction(system.plan.friction, excess, fading, fall)

    @property
    def told(self) -> dict[str, np.ndarray]:
        """Return what steps are told of it besides the friction of slips, where there is something to tell."""
        found = {"excess": self.excess, "fading": self.fading, "fall": self.fall}
        return {name: x for name, x in found.items() if np.any(x)}

    @property
    def limit(self) -> np.ndarray:
        """Return with how much components hold at rest."""
        return np.asarray(self.friction + self.excess)

    def of_slip(self, v: np.ndarray) -> np.ndarray:
        """Return what components take that slip at v (..., nv)."""
        return np.asarray(self.friction + self.fading / (1.0 + self.fall * v * v))


def sticking(
    system: System, q: Any, v: Any, tau: Any, f_ext: Mapping[str, ArrayLike] | None, prescribed: Given | None,
    near: Mapping[str, ArrayLike] | None,
) -> Sticking:  # fmt: skip
    """Return how a mechanism goes on from states q (..., nq), v (..., nv) under joint forces tau (..., nv)."""
    q, v, tau, loop_tau = as_arrays(system, q, v, tau)
    driven, given, drives = prescribed_accelerations(
        system.mechanism, system.plan, {} if prescribed is None else prescribed
    )
    if loop_tau is not None or drives:
        raise StateError(
            f"sticking: forces and prescribed accelerations at joints that close loops ({list(system.loops)}) are not "
            f"taken here; keep these joints in the tree, m.system(keep=[...])."
        )
    tau = np.zeros(system.nv) if tau is None else tau
    told = {"q": q, "qd": v, "tau": tau}
    q, v, tau = (
        system.mechanics.evaluator.checked(dynamics.articulated_body, name, x) for name, x in told.items()
    )
    outside = system._outside(f_ext, None)
    shaped = {"q": q, "v": v, "tau": tau, "prescribed": given}
    if outside["f_ext"] is not None:
        shaped["f_ext"] = outside["f_ext"]
    batch = arrays.batch_shape(shaped)
    acting = system._with_own(q, v, tau, near)
    shape = (*batch, system.nv)
    v, acting, given = (np.array(np.broadcast_to(x, shape)) for x in (v, acting, given))
    q = np.broadcast_to(q, (*batch, system.nq))
    dry = DryFriction.of(system)
    limit, slipping = np.broadcast_to(dry.limit, shape), dry.of_slip(v)
    rubs = (limit > 0.0) & ~driven
    sense, algorithm = np.where(limit > 0.0, np.sign(v), 0.0), _algorithm(system.mechanics.effective_plan)
    for turn in range(PIVOTS):
        stuck = rubs & (sense == 0.0)
        total = acting + dry.friction * smooth_sign(v) - slipping * sense
        inputs = {"q": q, "qd": v, "tau": total, "driven": (stuck | driven) * 1.0, "qdd_given": given}
        found = system.mechanics.evaluator.evaluate(algorithm, {**inputs, **outside})
        held = found["drive"] - total
        backwards = rubs & (v == 0.0) & (sense * found["qdd"] < -STILL)
        wrong = np.where(stuck, np.abs(held) > (1.0 + LOOSE) * limit, backwards)
        if not wrong.any():
            force = np.where(stuck, held, -slipping * sense)
            return Sticking(found["qdd"], force, sense, np.array(limit))
        if turn >= TOGETHER:
            wrong &= np.cumsum(wrong, axis=-1) == 1
        sense = np.where(wrong, np.where(stuck, -np.sign(held), 0.0), sense)
    raise SimulationError(
        f"It was not found which joints of {system.mechanism.name!r} stick and which slip: they change without end."
    )


def interval(system: System, q: Any, v: Any, vdot: Any, f_ext: Mapping[str, ArrayLike] | None) -> np.ndarray:
    """Return the least and the largest joint forces, (..., nv, 2), that produce the accelerations vdot (..., nv) of a
    tree: friction of what moves, or begins to, has one value, and of what stays at rest any within its limits."""
    q, v, _, _ = as_arrays(system, q, v)
    taken = np.asarray(system.inverse_dynamics(q, v, vdot, f_ext=f_ext))
    v, vdot = (
        np.broadcast_to(system.mechanics.evaluator.checked(dynamics.newton_euler, name, x), taken.shape)
        for name, x in (("qd", v), ("qdd", vdot))
    )
    dry = DryFriction.of(system)
    sense = np.where(v == 0.0, np.sign(vdot), np.sign(v))
    least = taken - dry.friction * smooth_sign(v) + dry.of_slip(v) * sense
    free = np.where(sense == 0.0, dry.limit, 0.0)
    return np.stack([least - free, least + free], axis=-1)


def _algorithm(plan: Plan) -> Algorithm:
    """Return the dynamics in which some accelerations are given."""
    if not plan.loop_joints and not plan.couplings:
        return dynamics.tree_dynamics(plan, drives=True)
    sort, modes = sort_for(plan), dynamics.most_modes(plan)
    return flexible_elimination(sort, modes, True) if modes else hybrid_elimination(sort)
