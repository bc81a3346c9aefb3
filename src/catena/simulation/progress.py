"""A line on the terminal that says how far a run is, once it takes longer than a second."""

from __future__ import annotations

import sys
import time

SILENT_FOR, EVERY = 1.0, 0.2
WIDTH = 24


class Progress:
    """Counts simulated seconds. `wanted` None means on a terminal only."""

    def __init__(self, duration: float, wanted: bool | None) -> None:
        self.duration = duration
        self.shown = sys.stderr.isatty() if wanted is None else wanted
        self.start = self.last = time.perf_counter()
        self.printed = False

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def tick(self, t: float) -> None:
        """The run has come to the time t."""
        now = time.perf_counter()
        if not self.shown or now - self.start < SILENT_FOR or now - self.last < EVERY:
            return
        self.last, self.printed = now, True
        part = min(max(t / self.duration, 1e-9), 1.0)
        left = (now - self.start) * (1.0 - part) / part
        bar = "#" * round(WIDTH * part)
        sys.stderr.write(f"\r[{bar:<{WIDTH}}] {100 * part:3.0f} %  t = {t:.3g} s  {_clock(left)} left   ")
        sys.stderr.flush()

    def done(self) -> None:
        """Leave the line clean."""
        if self.printed:
            sys.stderr.write("\r" + " " * 78 + "\r")
            sys.stderr.flush()


def _clock(seconds: float) -> str:
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
