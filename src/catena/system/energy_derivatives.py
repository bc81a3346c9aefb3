"""How the energies of a system change with its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from catena.kernels import arrays
from catena.questions.derivatives import of_energies
from catena.system.of_system import of_system

if TYPE_CHECKING:
    from catena.system.system import System


@of_system
def energy_derivatives(
    system: System, q: ArrayLike, v: ArrayLike, elements: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the kinetic energy by q and by v, and the potential energy by q, each of shape (..., nv): entry k is
    the derivative by a step q (+) e_k, or by v[k]. The energies are those of `kinetic_energy` and
    `potential_energy`; by v it is the momentum of the joints. `elements` is that of `potential_energy`."""
    if not arrays.as_switch("elements", elements):
        return energy_derivatives(system.variants.bare, q, v)
    system.mechanics.evaluator.check_current()
    return of_energies(system.mechanics, system.mechanics.gravity, q, v)
