"""Forces known ahead, from the motion that is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.simulation.control.following import Ahead, StatePath, as_path
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.references.as_polynomial import InputPath
from catena.simulation.references.protocol import as_system
from catena.system import System


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

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("Feedforward", self.system, system)
        self._ahead.forget()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.inputs(t), np.shape(v))

    def memory(self, system: System) -> int:
        """Return that nothing is remembered."""
        return 0

    def inputs(self, t: Any) -> np.ndarray:
        """Return the forces (..., nv) at the time t, or at times; joints without actuator get none."""
        return self._ahead.at(t)[0]

    def _forces(self, t: Any) -> list[np.ndarray]:
        return [self.system.inverse_dynamics(*self.path.at(t)) * self.system.plan.actuated]

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return None: forces along a path are no polynomials."""
        return None

    def evaluate(self, t: Any, q: Any, v: Any, memory: Any, inputs: Any) -> tuple[Any, Any]:
        """Return the forces known ahead."""
        return inputs, memory
