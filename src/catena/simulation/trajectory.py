"""What a simulation leaves behind: states over time with names, and its own audit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.system import System


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States at the times t (samples,): q (..., samples, nq), v (..., samples, nv) and the joint forces tau of the
    controller (..., samples, nv) that acted from each time on; `steps` is how many steps were taken, rejected ones
    included."""

    system: System
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    steps: int

    def __getitem__(self, joint: str) -> np.ndarray:
        """The coordinates of a joint, tree or loop, (..., samples, nq_joint)."""
        return self.system.joint_position(self.q, joint)

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic and potential energy, (..., samples)."""
        return self.system.kinetic_energy(self.q, self.v) + self.system.potential_energy(self.q)

    @property
    def energy_drift(self) -> float:
        """The largest change of the energy, as a part of the largest kinetic energy and change of potential energy."""
        potential = self.system.potential_energy(self.q)
        moved = np.abs(potential - potential[..., :1]) + self.system.kinetic_energy(self.q, self.v)
        return float(np.max(np.abs(self.energy - self.energy[..., :1])) / max(float(np.max(moved)), 1e-300))

    @property
    def closure_error(self) -> float:
        """The largest position error of a loop [rad or m]."""
        return float(np.max(np.abs(self.system.closure(self.q)[0]), initial=0.0))
