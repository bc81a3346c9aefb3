"""How far a study is: in one line of a terminal or a notebook, in lines of a log, or told to a function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from catena.errors import StateError
from catena.simulation.following.progress import is_notebook, is_terminal
from catena.validation import shown

EVERY = 0.5
# A log gets a line this often [s].
LOGGED = 10.0


class StudyProgress:
    """Tells how many of so many variants are done, how quickly, and how long the rest will take. `wanted` None does so
    on a terminal and in a notebook, in one line that is written again, True also elsewhere, a line every ten seconds,
    and a function is called with what there is to tell."""

    def __init__(
        self, total: int, done: int, wanted: bool | None | Callable[[dict[str, float]], None]
    ) -> None:
        if wanted is not None and not isinstance(wanted, bool) and not callable(wanted):
            raise StateError(f"progress is {shown(wanted)}; give True, False, None, or a function.")
        self.total, self.done, self.first = total, done, done
        self.start = self.last = time.monotonic()
        self.one_line = is_terminal() or is_notebook()
        self.function = wanted if callable(wanted) else None
        self.shown = self.one_line if wanted is None else bool(wanted) and not self.function
        self.written = False

    def add(self, count: int, failed: int) -> None:
        """Note that so many more are done, of which some failed in all."""
        self.done += count
        now = time.monotonic()
        rate = (self.done - self.first) / max(now - self.start, 1e-9)
        left = (self.total - self.done) / rate if rate else float("inf")
        if self.function is not None:
            self.function(
                {"done": self.done, "total": self.total, "rate": rate, "left": left, "failed": failed}
            )
        over = self.done >= self.total
        if not self.shown or (now - self.last < (EVERY if self.one_line else LOGGED) and not over):
            return
        self.last = now
        told = f", {failed} failed" if failed else ""
        text = f"{self.done} of {self.total} runs, {rate:.3g} a second, {_span(left)} left{told}"
        if self.one_line:
            sys.stderr.write(f"\r{text:<78}")
            self.written = True
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self.written:
            sys.stderr.write("\n")


def _span(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"
