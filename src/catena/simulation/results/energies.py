"""What follows from the energies of a motion, of one segment or of all."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np


class Energies:
    """A motion that knows its kinetic and potential energy, (..., samples)."""

    if TYPE_CHECKING:

        @cached_property
        def kinetic_energy(self) -> np.ndarray: ...

        @cached_property
        def potential_energy(self) -> np.ndarray: ...

    @cached_property
    def energy(self) -> np.ndarray:
        """Return the kinetic and potential energy, (..., samples)."""
        return self.kinetic_energy + self.potential_energy

    @property
    def energy_drift(self) -> float:
        """Return the largest change of the energy, as a part of the largest kinetic energy and change of potential
        energy."""
        potential = self.potential_energy
        moved = np.abs(potential - potential[..., :1]) + self.kinetic_energy
        return float(np.max(np.abs(self.energy - self.energy[..., :1])) / max(float(np.max(moved)), 1e-300))
