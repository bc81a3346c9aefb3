"""Forces that are always the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.simulation.control.protocol import Controller
from catena.spatial.scalars import Scalar, Scalars
from catena.system import System


class ConstantForces(Controller):
    """The same forces tau (nv,) for every time and state. A law, so that the steps stay compiled."""

    def __init__(self, tau: np.ndarray) -> None:
        self.tau = tau

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        """Do nothing: constant forces have no memory."""

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.tau, np.shape(v))

    def inputs(self, t: Any) -> np.ndarray:
        """Return the forces, as data, so that other forces compile nothing."""
        return np.broadcast_to(self.tau, (*np.shape(t), len(self.tau)))

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return the forces."""
        return inputs, memory
