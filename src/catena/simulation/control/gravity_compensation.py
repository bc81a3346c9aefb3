"""Forces that hold a mechanism where it is, as small as they can be."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from catena.errors import LoopError, StateError
from catena.kinematics.levers import levers
from catena.kinematics.stacks import apply, transposed
from catena.simulation.control.holding_forces import held_in_tree, holding_forces
from catena.simulation.control.mechanism_law import is_formula, mobility, required_forces
from catena.simulation.control.one_call import OneCall
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.control.task_forces import is_moderate
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars, is_symbolic
from catena.system import System
from catena.system.of_system import as_system
from catena.thresholds import RANK_ACTUATED
from catena.validation import shown

# A mechanism that would accelerate by more than this part of what its weight does to its bodies is not held.
HELD = 1e-6


class GravityCompensation(Controller):
    """The forces of the actuated joints under which nothing accelerates at rest.

    Trees: inverse dynamics at rest. With loops many forces may do, and those of the least sum of squares are taken,
    with moments divided by the size of the mechanism (`kinematics.levers`). Where they cannot hold it, because
    a joint that would have to is not actuated, an error says so; with `partial` they do what they can.
    """

    def __init__(self, system: System, partial: bool = False, rate: float | None = None) -> None:
        if not isinstance(partial, bool | np.bool_):
            raise StateError(f"GravityCompensation: partial is {shown(partial)}; give True or False.")
        self.system, self.partial = as_system(system, "GravityCompensation"), bool(partial)
        self.rate = checked_rate(rate, "GravityCompensation")
        self._levers = levers(system.plan)
        self._has_loops = bool(system.plan.total_constraints)
        self._whole = not self._has_loops and bool(system.plan.actuated.all())
        self._rest = np.zeros(system.nv)
        self._call = OneCall(self, system)

    @cached_property
    def compiles(self) -> bool:
        """Return whether it controls a mechanism that a formula tells, with loops of moderate size."""
        if not self._has_loops:
            return is_formula(self.system)
        return is_moderate(self.system, self.system.nv)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("GravityCompensation", self.system, system)
        self._call.begin()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self._whole:
            return self.system.inverse_dynamics(q, self._rest, self._rest)
        return self._call(t, q, v)

    def _found(self, t: float, q: np.ndarray) -> np.ndarray:
        """Return tau (..., nv) by numbers, which any mechanism allows."""
        system, rest = self.system, self._rest
        if self._whole:
            return system.inverse_dynamics(q, rest, rest)
        if not self._has_loops:
            whole = system.bias_force(q, rest)
            tau = whole * system.plan.actuated
            missing, load = (np.abs(x).max(axis=-1, initial=0.0) for x in (whole - tau, whole))
        else:
            tau, missing, load = self._least(np.asarray(q, dtype=np.float64))
        if not self.partial and np.any(missing > HELD * load):
            left = float(np.max(missing / np.where(load > 0.0, load, 1.0)))
            idle = list(system.plan.idle)
            raise LoopError(
                f"The actuators of {system.mechanism.name!r} cannot hold it at t = {t:.6g} s: {left:.3g} of the "
                f"load is left, and the joints {idle} have no actuator. With partial=True it is held as well as "
                f"can be."
            )
        return tau

    # The law, where it compiles.

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return that nothing is known ahead."""
        return np.zeros((*np.shape(t), 0))

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return that nothing is known ahead."""
        return ()

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return tau (..., nv) at rest. As a formula it is not a number where the mechanism is not held."""
        if not is_symbolic(q):
            return self._found(t, q), memory
        system, rest = self.system, self._rest
        actuated, most_left = system.plan.actuated, np.inf if self.partial else HELD
        if not self._has_loops:
            return held_in_tree(list(required_forces(system, q, rest, rest)), actuated, most_left), memory
        acting = np.flatnonzero(actuated).tolist()
        return holding_forces(mobility(system, q, rest), self._levers.tolist(), acting, most_left), memory

    def _least(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return tau (..., nv) of least size, what is left of the accelerations, and what the weight would do to the
        bodies without loops, both (...), in the sense of kinetic energy.

        Accelerations are affine in the forces: those without and with unit forces are computed side by side in lanes.
        """
        system, rest = self.system, np.zeros(self.system.nv)
        actuated = np.flatnonzero(system.plan.actuated)
        units = np.concatenate([rest[None], np.diag(self._levers)[actuated]])
        vdot = system.forward_dynamics(q[..., None, :], rest, units)
        values, axes = np.linalg.eigh(system.mass_matrix(q))
        root = np.sqrt(np.maximum(values, 0.0))[..., None] * transposed(axes)
        fall = apply(root, vdot[..., 0, :])
        effect = root @ transposed(vdot[..., 1:, :] - vdot[..., :1, :])
        # What joints reach without loops is the measure of those that the loops hold still.
        inertia = np.sum(transposed(root) ** 2, axis=-1)
        reach = np.where(inertia > 0.0, self._levers / np.sqrt(np.where(inertia > 0.0, inertia, 1.0)), 0.0)
        U, s, Vt = np.linalg.svd(effect, full_matrices=False)
        most = np.maximum(np.max(s, axis=-1, initial=0.0), np.max(reach, axis=-1, initial=0.0))
        kept = s > RANK_ACTUATED * most[..., None]
        inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
        x = -apply(transposed(Vt), inverse * apply(transposed(U), fall))
        tau = np.zeros((*q.shape[:-1], system.nv))
        tau[..., actuated] = x * self._levers[actuated]
        along = apply(transposed(axes), system.bias_force(q, rest))
        felt = values > RANK_ACTUATED * np.max(values, axis=-1, initial=0.0, keepdims=True)
        load = np.where(felt, along / np.sqrt(np.where(felt, values, 1.0)), 0.0)
        return tau, np.linalg.norm(fall + apply(effect, x), axis=-1), np.linalg.norm(load, axis=-1)
