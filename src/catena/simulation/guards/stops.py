"""Times that no step passes: samples of a controller, knots of what is known ahead, times that are recorded, looks for
an end that may come early, and the end itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from catena.simulation.arguments import TimeSpan
from catena.simulation.guards.clock import Clock

# Fixed steps between two looks at least; twice as many each time, up to the most.
BETWEEN, MOST = 16, 64
# So many samples of a controller are listed at once: a long run begins soon, and its list takes little room.
SAMPLES = 10_000


class TimeGuard(Protocol):
    """Whoever knows of times that no step may pass."""

    def within(self, start: float, end: float) -> np.ndarray:
        """Return these times between two others, (n,)."""


class Recorded:
    """Times (n,) that are recorded."""

    def __init__(self, times: np.ndarray) -> None:
        self.times = times

    def within(self, start: float, end: float) -> np.ndarray:
        """Return the times between two others."""
        return self.times[(self.times > start) & (self.times < end)]


class Looks:
    """So many looks at a motion, so that nothing is computed far beyond an end that comes early; between fixed steps of
    so many seconds only, not after fewer than `BETWEEN` of these, and less often the longer a motion has gone on."""

    def __init__(self, count: int, step: float | None = None) -> None:
        self.count, self.step = count, step

    def within(self, start: float, end: float) -> np.ndarray:
        """Return the times at which to look between two others."""
        if self.step is None:
            return np.linspace(start, end, self.count + 1)[1:-1]
        steps = whole_steps(end - start, self.step)
        apart = max(BETWEEN, -(-steps // self.count))
        most = max(MOST, apart)
        longer = apart * 2 ** np.arange(int(np.log2(most / apart)) + 1)
        at = np.cumsum(np.append(longer, np.full(steps // most, most)))
        return start + (end - start) / steps * at[at < steps]


def whole_steps(span: float, step: float) -> int:
    """Return how many fixed steps of about so many seconds a span [s] is divided into."""
    return max(1, round(span / step * (1.0 - 1e-9)))


def windows(span: TimeSpan, clock: Clock) -> list[float]:
    """Return the ends of the parts of a span in which so many samples of a clock are, or fewer; the last is its own."""
    first, last = clock.first(span.start), clock.first(span.end)
    return [*(k / clock.rate for k in range(first + SAMPLES, last, SAMPLES)), span.end]


def stops(span: TimeSpan, guards: Sequence[TimeGuard], same: float) -> list[float]:
    """Return the times that no step passes, in order, the last of which is the end. Two that differ by no more than
    `same` [s] are one."""
    found = [guard.within(*span) for guard in guards]
    ordered = np.unique(np.concatenate([*found, [span.end]]))
    keep = np.append(np.diff(ordered) > same, True)
    return [float(t) for t in ordered[keep]]
