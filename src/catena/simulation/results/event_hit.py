"""An event that a run met."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class EventHit:
    """An event that a run met: its name, the time, the state q (nq,), v (nv,) there, and the index of that state in the
    batch, () for a single one."""

    name: str
    t: float
    q: np.ndarray
    v: np.ndarray
    state: tuple[int, ...] = ()

    @property
    def ended(self) -> str:
        """Return what a run that it ended says of it."""
        return f"event {self.name!r} at t = {self.t:.9g} s"
