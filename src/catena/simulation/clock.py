"""When a controller with a rate is asked: at k / rate in its own time, whatever breaks the motion into parts."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np

# Times that differ by no more than this part of a period are the same.
SAME = 1e-6


@dataclass(frozen=True)
class Clock:
    """Asks `rate` times a second; its own time begins at `phase` [s] in the time of a run, or of a part of one."""

    rate: float
    phase: float = 0.0

    @property
    def slack(self) -> float:
        """Return by how much a time may be off [s]."""
        return SAME / self.rate

    def is_due(self, t: float) -> bool:
        """Return whether the controller is asked at a time."""
        samples = (t - self.phase) * self.rate
        return abs(samples - round(samples)) <= SAME

    def after(self, t: float) -> float:
        """Return when it is asked next after a time."""
        return self.phase + (floor((t - self.phase) * self.rate + SAME) + 1) / self.rate

    def within(self, duration: float) -> np.ndarray:
        """Return when it is asked between the start and the end of so many seconds."""
        first = floor(-self.phase * self.rate + SAME) + 1
        last = (duration - self.phase) * self.rate - SAME
        return self.phase + np.arange(first, max(first, int(np.ceil(last)))) / self.rate


def clock_of(control: Any) -> Clock | None:
    """Return the clock of a controller; None if it is asked always, or is none."""
    rate = getattr(control, "rate", None)
    return None if rate is None else Clock(rate, getattr(control, "clock_zero", 0.0))
