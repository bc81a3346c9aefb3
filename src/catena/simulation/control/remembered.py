"""Laws called with numbers, sample after sample."""

from __future__ import annotations

import numpy as np

from catena.simulation.control.protocol import Law

# Calls closer than this part of a sampling period are for the same sample.
SAME = 1e-3


class Remembered:
    """The memory of a law between calls.

    A sample that is asked for again, at the same time, begins with the memory it had before.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Set the memory to zero."""
        self._t: float | None = None
        self._before: np.ndarray | None = None
        self._after: np.ndarray | None = None

    def call(self, law: Law, size: int, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return tau (..., nv) of a law with so many memory entries, and keep its memory."""
        inputs = law.inputs(t)
        if not size:
            return np.asarray(law.evaluate(t, q, v, np.zeros(0), inputs)[0], dtype=np.float64)
        period = 1.0 / law.rate if law.rate else 0.0
        again = self._t is not None and abs(t - self._t) <= SAME * period
        memory = self._before if again else self._after
        if memory is None or memory.shape[:-1] != q.shape[:-1]:
            memory = np.zeros((*q.shape[:-1], size))
        tau, after = law.evaluate(t, q, v, memory, inputs)
        self._t, self._before, self._after = t, memory, np.asarray(after, dtype=np.float64)
        return np.asarray(tau, dtype=np.float64)
