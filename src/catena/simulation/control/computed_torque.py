"""Computed torque: the forces that make errors decay like damped oscillators.

Joints are asked to accelerate by a_d + kd (v_d - v) + kp e, and inverse dynamics gives the forces for it, so that the
error obeys e'' + kd e' + kp e = 0 whatever the mechanism weighs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.control.following import Ahead, as_path, known_in_step, paths_of
from catena.simulation.control.forces import forces
from catena.simulation.control.gains import gains
from catena.simulation.control.pid import is_flat
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.control.tree_law import is_bare_tree, required_forces, way
from catena.simulation.references.as_polynomial import InputPath
from catena.simulation.references.protocol import Reference, as_system
from catena.simulation.symbols import join
from catena.spatial.scalars import Scalar, Scalars, is_symbolic
from catena.system import System
from catena.validation import is_not_negative, shown


class ComputedTorque(Controller):
    """Makes joints follow a reference with errors that decay with kp [1/s^2] and kd [1/s].

    `reference` as for `PID`; gains are numbers, mappings by joint, or (nv,), and kd is 2 sqrt(kp), critically damped,
    unless given. In a tree whose joints all have an actuator and a reference this is inverse dynamics. With loops, or
    where joints lack one of the two, the forces of the actuated joints are those that bring the accelerations of the
    joints with a reference nearest to what is wanted; what is left free is brought to rest with `damping` [1/s].
    """

    def __init__(
        self,
        system: System,
        reference: Reference | ArrayLike,
        kp: ArrayLike,
        kd: ArrayLike | None = None,
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
        followed = self.path.followed
        self._plain = not system.plan.total_constraints and bool((system.plan.actuated & followed).all())
        self._rows = np.eye(system.nv)[followed]
        self._constants = join((self.kp, self.kd))
        self._is_flat = all(kind is None or is_flat(kind) for kind in system.plan.kind)
        self._ahead = Ahead(self.path, self.path.given, self.rate)
        self._known = known_in_step(self.path)

    @property
    def compiles(self) -> bool:
        """Return whether it is inverse dynamics of a tree of moderate size on which nothing else acts."""
        return self._plain and is_bare_tree(self.system)

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("ComputedTorque", self.system, system)
        self._ahead.forget()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        system = self.system
        q_d, v_d, a_d = self._ahead.at(t) if self._known is None else self._known.at(t)
        wanted = a_d + self.kd * (v_d - v) + self.kp * self._error(q, q_d)
        if self._plain:
            return system.inverse_dynamics(q, v, wanted)
        return forces(system, q, v, self._rows, wanted[..., self.path.followed], -self.damping * v)

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
    ) -> tuple[Any, Any]:
        """Return tau (..., nv) from the state, the reference and the gains."""
        nq, nv = self.system.nq, self.system.nv
        along, kp, kd = inputs[..., : -2 * nv], inputs[..., -2 * nv : -nv], inputs[..., -nv:]
        if self._known is None:
            q_d, v_d, a_d = along[..., :nq], along[..., nq : nq + nv], along[..., nq + nv :]
        else:
            q_d, v_d, a_d = self._known.motion(t, along)
        if not is_symbolic(q):
            wanted = a_d + kd * (v_d - v) + kp * self._error(q, q_d)
            return self.system.inverse_dynamics(q, v, wanted), memory
        wanted = a_d + kd * (v_d - v) + kp * way(self.system, q, q_d)
        return required_forces(self.system, q, v, wanted), memory
