"""Whether a motion gets on: one that would take hours at its pace says so, and what its controller may have to do with
it.

A controller that is unstable at its rate does not fail: what it moves grows from sample to sample, contacts open and
close, and steps become small.
"""

from __future__ import annotations

import time
from typing import Any

from catena.errors import warn
from catena.simulation.arguments import TimeSpan

# Headway is judged over so many seconds of computing, and a run that would take so many more makes none.
JUDGED, ENDLESS = 3.0, 3600.0
# It is looked at the processor's time whenever so much of that has passed on the wall.
LOOKED = 0.1


class Headway:
    """Watches how a motion over a `span` of time gets on, under a controller or none, and warns once if it does not."""

    def __init__(self, span: TimeSpan, control: Any = None) -> None:
        self.span, self.control = span, control
        # A glance at the clock on the wall costs a twentieth of one at the processor's.
        self.looked, self.t, self.ticks = time.perf_counter(), span.start, 0
        self.then: float | None = None
        self.is_watching = True

    def tick(self, t: float) -> None:
        """Note that the motion has come to a time [s]."""
        self.ticks += 1
        if not self.is_watching or time.perf_counter() - self.looked < LOOKED * JUDGED:
            return
        now, self.looked = time.process_time(), time.perf_counter()
        if self.then is None:
            self.then, self.t, self.ticks = now, t, 0
        if now - self.then < JUDGED:
            return
        moved, took = t - self.t, now - self.then
        if took * (self.span.end - t) > ENDLESS * max(moved, 0.0):
            self.is_watching = False
            warn(self._words(t, moved, took))
        self.then, self.t, self.ticks = now, t, 0

    def _words(self, t: float, moved: float, took: float) -> str:
        pace = f"{took * (self.span.end - t) / moved / 3600.0:.2g} hours more" if moved > 0.0 else "for ever"
        step = f" in steps of {moved / self.ticks:.1e} s or less" if moved > 0.0 else ""
        return (
            f"The run hardly gets on: it has come to t = {t:.9g} s of {self.span.end:.6g} s and moves on by "
            f"{moved:.2e} s in {took:.2g} s of computing{step}, which takes {pace} at this pace. {self._reason()} "
            f"Ctrl-C, or cancel=, returns what there is."
        )

    def _reason(self) -> str:
        """Return what may be behind it."""
        if self.control is None:
            return "Something in it is stiff or changes without end: look at the motion so far."
        asked = getattr(self.control, "function", self.control)
        name = getattr(asked, "__name__", type(asked).__name__)
        rate = getattr(self.control, "rate", None)
        if rate is None:
            return f"The controller {name!r} may be too stiff for what it moves: try lower gains."
        return (
            f"The controller {name!r} is asked at {rate:g} Hz; if it is unstable at that rate, what it moves grows "
            f"from sample to sample: try lower gains, or a higher rate."
        )
