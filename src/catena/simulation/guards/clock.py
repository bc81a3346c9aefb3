"""When a controller with a rate is asked: at the times k / rate of a run, whatever breaks the motion into parts."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np

# Times that differ by no more than this part of a period are the same.
SAME = 1e-6


@dataclass(frozen=True)
class Clock:
    """Asks `rate` times a second, at whole numbers of periods."""

    rate: float

    @property
    def slack(self) -> float:
        """Return by how much a time may be off [s]."""
        return SAME / self.rate

    def is_due(self, t: float) -> bool:
        """Return whether the controller is asked at a time."""
        samples = t * self.rate
        return abs(samples - round(samples)) <= SAME

    def after(self, t: float) -> float:
        """Return when it is asked next after a time."""
        return (floor(t * self.rate + SAME) + 1) / self.rate

    def first(self, t: float) -> int:
        """Return the number of the first sample that is not before a time."""
        return ceil(t * self.rate - SAME)

    def within(self, start: float, end: float) -> np.ndarray:
        """Return when it is asked between two times."""
        first = floor(start * self.rate + SAME) + 1
        return np.arange(first, max(first, self.first(end))) / self.rate
