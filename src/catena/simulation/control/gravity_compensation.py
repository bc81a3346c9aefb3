"""Forces that hold a mechanism where it is."""

from __future__ import annotations

import numpy as np

from catena.errors import LoopError, StateError
from catena.given import shown
from catena.simulation.control.forces import forces
from catena.simulation.control.protocol import Controller, checked_rate, require_same
from catena.simulation.references.protocol import as_system
from catena.system import System

# A mechanism that would accelerate by more than this part of its free fall is not held.
HELD = 1e-6


class GravityCompensation(Controller):
    """The forces of the actuated joints under which nothing accelerates at rest.

    Trees: inverse dynamics at rest. With loops: the smallest forces of the actuated joints that hold the closed
    mechanism. Where they cannot hold it, because a joint that would have to is not actuated, an error says so; with
    `partial` they do what they can.
    """

    def __init__(self, system: System, partial: bool = False, rate: float | None = None) -> None:
        if not isinstance(partial, bool | np.bool_):
            raise StateError(f"GravityCompensation: partial is {shown(partial)}; give True or False.")
        self.system, self.partial = as_system(system, "GravityCompensation"), bool(partial)
        self.rate = checked_rate(rate, "GravityCompensation")

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        require_same("GravityCompensation", self.system, system)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        system, rest = self.system, np.zeros(self.system.nv)
        if not system.plan.total_constraints:
            whole = system.inverse_dynamics(q, rest, rest)
            tau = whole * system.plan.actuated
            missing = np.abs(whole - tau).max(axis=-1, initial=0.0) / (
                np.abs(whole).max(axis=-1, initial=0.0) + 1e-300
            )
        else:
            everything = np.eye(system.nv)
            tau = forces(system, q, np.broadcast_to(rest, np.shape(v)), everything, rest)
            held, falling = (system.forward_dynamics(q, rest, x) for x in (tau, np.zeros(system.nv)))
            missing = np.linalg.norm(held, axis=-1) / (np.linalg.norm(falling, axis=-1) + 1e-300)
        if not self.partial and np.any(missing > HELD):
            left = float(np.max(missing))
            idle = [j for j in system.joints if not system.plan.actuated[system.slice_v(j)].all()]
            raise LoopError(
                f"The actuators of {system.mechanism.name!r} cannot hold it at t = {t:.6g} s: {left:.3g} of the "
                f"load is left, and the joints {idle} have no actuator. With partial=True it is held as well as "
                f"can be."
            )
        return tau
