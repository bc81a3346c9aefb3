"""States of a run at times that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.system import System


class StatesAt(tuple[np.ndarray, np.ndarray]):
    """Positions q (..., nq) and velocities v (..., nv) at a time, or (..., times, nq) and (..., times, nv) at several,
    which unpack as q, v; `system` is the one that they belong to."""

    system: System

    def __new__(cls, q: np.ndarray, v: np.ndarray, system: System) -> StatesAt:
        """Make it of q, v and their system."""
        found = super().__new__(cls, (q, v))
        found.system = system
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self, self.system)

    @property
    def q(self) -> np.ndarray:
        """Return the positions."""
        return self[0]

    @property
    def v(self) -> np.ndarray:
        """Return the velocities."""
        return self[1]
