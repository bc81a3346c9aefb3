"""Computed torque: the forces that make errors decay like damped oscillators.

Joints are asked to accelerate by a_d + kd (v_d - v) + kp e, and inverse dynamics gives the forces for it, so that the
error obeys e'' + kd e' + kp e = 0 whatever the mechanism weighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.acting.symbols import join
from catena.simulation.control.following import Ahead, FollowedMotion, as_path, known_in_step, paths_of
from catena.simulation.control.forces import forces
from catena.simulation.control.gains import PerJoint, gains
from catena.simulation.control.mechanism_law import is_formula, mobility, required_forces, way
from catena.simulation.control.one_call import OneCall
from catena.simulation.control.pid import is_flat
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.control.task_forces import is_moderate, leaves_nothing, task_forces
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars, array, is_symbolic
from catena.system import System
from catena.system.of_system import as_system
from catena.thresholds import RANK_ACTUATED
from catena.validation import is_not_negative, shown


class ComputedTorque(Controller):
    """Makes joints follow a reference with errors that decay with kp [1/s^2] and kd [1/s].

    `reference` as for `PID`; gains are numbers, mappings by joint, or (nv,), and kd is 2 sqrt(kp), critically damped,
    unless given; what has no reference is brought to rest with `damping` [1/s]. In a tree whose joints all have an
    actuator this is inverse dynamics. With loops, or where joints lack one, the forces of the actuated joints are those
    that bring the accelerations of the joints with a reference nearest to what is wanted, and then the others to rest.
    """

    def __init__(
        self,
        system: System,
        reference: FollowedMotion,
        kp: PerJoint,
        kd: PerJoint | None = None,
        *,
        damping: float = 1.0,
        rate: float | None = None,
    ) -> None:
        self.system = as_system(system, "ComputedTorque")
        self.path = as_path(system, "ComputedTorque", reference)
        self.rate = checked_rate(rate, "ComputedTorque")
        self.kp = gains(system, "ComputedTorque", "kp", kp)
        self.kd = 2.0 * np.sqrt(self.kp) if kd is None else gains(system, "ComputedTorque", "kd", kd)
        if not is_not_negative(damping):
            raise StateError(f"ComputedTorque: damping is {shown(damping)}; give 0 or more [1/s].")
        self.damping = damping
        self._followed = self.path.followed
        self._has_loops = bool(system.plan.total_constraints)
        self._plain = not system.plan.total_constraints and bool(system.plan.actuated.all())
        self._rows = np.eye(system.nv)[self._followed]
        self._constants = join((self.kp, self.kd, [damping]))
        self._is_flat = all(kind is None or is_flat(kind) for kind in system.plan.kind)
        self._ahead = Ahead(self.path, self.path.given, self.rate)
        self._known = known_in_step(self.path)
        self._call = OneCall(self, system)

    @cached_property
    def compiles(self) -> bool:
        """Return whether it controls a mechanism that a formula tells, of moderate size where joints have no actuator
        or close loops."""
        if self._plain:
            return is_formula(self.system)
        return is_moderate(self.system, len(self._rows))

    @cached_property
    def _is_determined(self) -> bool:
        """Return whether the joints with a reference determine all that actuators can do."""
        return self._has_loops and leaves_nothing(self.system, lambda q: self._rows)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("ComputedTorque", self.system, system)
        self._call.begin()
        self._ahead.forget()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if not (self._plain and self._is_flat):
            return self._call(t, q, v)
        motion = self._ahead.at(t) if self._known is None else self._known.at(t)
        return self._found(motion, q, v, self.kp, self.kd, self.damping)

    def _found(
        self, motion: Sequence[np.ndarray], q: np.ndarray, v: np.ndarray, kp: Any, kd: Any, damping: Any
    ) -> np.ndarray:
        """Return tau (..., nv) for a reference by numbers, which any mechanism allows."""
        q_d, v_d, a_d = motion
        wanted, rest = a_d + kd * (v_d - v) + kp * self._error(q, q_d), -damping * v
        if self._plain:
            return self.system.inverse_dynamics(q, v, np.where(self._followed, wanted, rest))
        return forces(self.system, q, v, self._rows, wanted[..., self._followed], rest)

    def _error(self, q: np.ndarray, q_d: np.ndarray) -> np.ndarray:
        """Return the way (..., nv) from positions to the reference."""
        return q_d - q if self._is_flat else self.system.difference(q, q_d)

    # The law, where it compiles.

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return the reference and the gains: they are data, so that others compile nothing."""
        constants = self._constants if np.ndim(t) == 0 else self._constants[..., None, :]
        along = self._ahead.at(t) if self._known is None else [self._known.table.at(t)]
        return join([*along, constants])

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return reference and gains as polynomials, where the reference is made of such."""
        return paths_of(self._known, self._constants)

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return tau (..., nv) from the state, the reference and the gains."""
        nq, nv = self.system.nq, self.system.nv
        along, kp, kd = (
            inputs[..., : -2 * nv - 1],
            inputs[..., -2 * nv - 1 : -nv - 1],
            inputs[..., -nv - 1 : -1],
        )
        damping = inputs[..., -1:]
        motion = along[..., :nq], along[..., nq : nq + nv], along[..., nq + nv :]
        if self._known is not None:
            motion = self._known.motion(t, along)
        if not is_symbolic(q):
            return self._found(motion, q, v, kp, kd, damping), memory
        q_d, v_d, a_d = motion
        wanted, rest = a_d + kd * (v_d - v) + kp * way(self.system, q, q_d), -damping * v
        if self._plain:
            vdot = array([a if f else b for f, a, b in zip(self._followed, wanted, rest, strict=True)])
            return required_forces(self.system, q, v, vdot), memory
        tau = task_forces(
            mobility(self.system, q, v), self._rows.tolist(), list(wanted[self._followed]),
            None if self._is_determined else list(rest), [1.0] * len(self._rows), RANK_ACTUATED,
            np.flatnonzero(self.system.plan.actuated).tolist(), self._has_loops,
        )  # fmt: skip
        return tau, memory
