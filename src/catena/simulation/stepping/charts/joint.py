"""The coordinates of all joints of the tree (Nikravesh, Gim, Arabyan and Rein, eq. 11 to 14)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from catena.simulation.stepping.charts.chart import FAR, Charted, local_rate
from catena.system import System

Imposed = Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""What gives joints whose motion is prescribed their positions and velocities at a time."""


class JointChart:
    """Local coordinates of the joints and their velocities, y = (xi, v) (2 nv,)."""

    def __init__(self, system: System, imposed: Imposed | None) -> None:
        self.system, self.imposed, self.origin = system, imposed, np.zeros(system.nq)
        self.curved = any(kind is not None and kind.turning for kind in system.plan.kind)
        self._local = system.mechanics.program(local_rate)

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Begin at a time and a state q (nq,), v (nv,), and return its coordinates (2 nv,)."""
        self.origin = q
        return np.concatenate([np.zeros(self.system.nv), v])

    def states(self, t: float, y: np.ndarray) -> Charted:
        """Return the states at a time that have coordinates y (rows, 2 nv)."""
        nv = self.system.nv
        xi, v = np.ascontiguousarray(y[:, :nv]), np.ascontiguousarray(y[:, nv:])
        return Charted(*self.placed(t, xi, v), xi)

    def placed(self, t: float, xi: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q (rows, nq) and v (rows, nv) of local coordinates xi (rows, nv), with what is prescribed."""
        q = self.system.integrate(np.broadcast_to(self.origin, (len(xi), len(self.origin))), xi)
        return (q, v) if self.imposed is None else self.imposed(t, q, v)

    def local_rates(self, at: Charted, v: np.ndarray) -> np.ndarray:
        """Return the rates (rows, nv) of local coordinates at states that move by v (rows, nv)."""
        if not self.curved:
            return v
        found: np.ndarray = self._local.run({"xi": at.local, "qd": np.ascontiguousarray(v)}, len(v))[1][
            "rate"
        ]
        return found

    def rates(self, at: Charted, vdot: np.ndarray) -> np.ndarray:
        """Return the rates (rows, 2 nv) of coordinates at states that accelerate by vdot (rows, nv)."""
        return np.concatenate([self.local_rates(at, at.v), vdot], axis=1)

    def is_spent(self, at: Charted) -> bool:
        """Return whether something has turned far."""
        return self.curved and bool(np.max(np.abs(at.local)) > FAR)

    def gap(self, y: np.ndarray, at: Charted) -> float:
        """Return nothing: joints have bodies where they want them."""
        return 0.0
