"""Forces known ahead, from the motion that is wanted."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from catena.simulation.control.following import Ahead, StatePath, as_path, known_in_step
from catena.simulation.control.mechanism_law import is_formula_tree, required_forces
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.references.as_polynomial import InputPath
from catena.simulation.references.in_step import ReferenceInStep
from catena.spatial.scalars import Scalar, Scalars, is_symbolic
from catena.system import System
from catena.system.of_system import as_system


class Feedforward(Controller):
    """The forces of the actuated joints that produce the motion of a reference, by inverse dynamics along it.

    It does not look at the state: add it to a controller that does. `reference` as for `PID`; with loops the whole
    mechanism follows from the joints named.
    """

    def __init__(self, system: System, reference: Any, rate: float | None = None) -> None:
        self.system = as_system(system, "Feedforward")
        self.path: StatePath = as_path(system, "Feedforward", reference)
        self.rate = checked_rate(rate, "Feedforward")
        self._ahead = Ahead(self.path, self._forces, self.rate)
        self._known = known_in_step(self.path)

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("Feedforward", self.system, system)
        self._ahead.forget()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self._ahead.at(t)[0], np.shape(v))

    @property
    def _along(self) -> ReferenceInStep | None:
        """Return the reference where the step finds the forces along it by itself."""
        return self._known if is_formula_tree(self.system) else None

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return the forces (..., nv) at the time t, or at times, or what the step finds them from; joints without
        actuator get none."""
        along = self._along
        return self._ahead.at(t)[0] if along is None else along.table.at(t)

    def _forces(self, t: Any) -> list[np.ndarray]:
        return [self.system.inverse_dynamics(*self.path.at(t)) * self.system.plan.actuated]

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return the reference as polynomials where it is made of such; forces along others are none."""
        along = self._along
        return None if along is None else along.paths

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Any, Any]:
        """Return the forces known ahead."""
        along = self._along
        if along is None:
            return inputs, memory
        motion = along.motion(t, inputs)
        solve = partial(required_forces, self.system) if is_symbolic(q) else self.system.inverse_dynamics
        return solve(*motion) * self.system.plan.actuated, memory
