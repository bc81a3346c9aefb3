"""Shows how far a run is, once it takes longer than a second: by rich's bar, or by one plain line without rich."""

from __future__ import annotations

import sys
import time
from functools import cached_property
from importlib.util import find_spec

import numpy as np

from catena.errors import StateError
from catena.validation import shown

SILENT_FOR, EVERY = 1.0, 0.2


class RunProgress:
    """Counts the simulated seconds of a run that goes to the time `end` [s], and began at `begin`, and shows them from
    time to time.

    `wanted` None shows them on a terminal and in a notebook only, True always.
    """

    def __init__(self, end: float, wanted: bool | None, begin: float = 0.0) -> None:
        self.begin, self.end = begin, end
        if wanted is not None and not isinstance(wanted, bool | np.bool_):
            raise StateError(
                f"progress is {shown(wanted)}; give True, False, or None to decide by the terminal."
            )
        self.wanted = wanted
        self.start = self.last = time.perf_counter()
        self.bar: RichBar | PlainBar | None = None

    @cached_property
    def shown(self) -> bool:
        """Return whether it is shown at all."""
        return (is_terminal() or is_notebook()) if self.wanted is None else bool(self.wanted)

    @property
    def elapsed(self) -> float:
        """Return the seconds that have passed since the start of the run."""
        return time.perf_counter() - self.start

    def tick(self, t: float) -> None:
        """Note that the run has reached the time t [s]."""
        now = time.perf_counter()
        if now - self.start < SILENT_FOR or now - self.last < EVERY or not self.shown:
            return
        self.last = now
        if self.bar is None:
            self.bar = (RichBar if _is_rich() else PlainBar)(self.begin, self.end)
        self.bar.show(t)

    def done(self) -> None:
        """Remove the bar from the screen."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class RichBar:
    """Draws a bar with rich, for terminals and notebooks."""

    def __init__(self, begin: float, end: float) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress as Display,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("t = {task.fields[t]:.3g} s"),
            TimeRemainingColumn(),
        )
        # The run itself says when there is something to show, so no thread is needed that looks at a clock.
        self.display = Display(
            *columns,
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
            get_time=time.perf_counter,
        )
        self.begin, self.task = begin, self.display.add_task("", total=end - begin, t=begin)
        self.display.start()

    def show(self, t: float) -> None:
        """Show that the run has reached the time t [s]."""
        self.display.update(self.task, completed=t - self.begin, t=t, refresh=True)

    def close(self) -> None:
        """Remove the bar."""
        self.display.stop()


class PlainBar:
    """Writes one line on standard error, for other streams and where rich is not installed."""

    def __init__(self, begin: float, end: float) -> None:
        self.begin, self.end = begin, end

    def show(self, t: float) -> None:
        """Show that the run has reached the time t [s]."""
        part = (t - self.begin) / (self.end - self.begin)
        self._write(f"{100.0 * part:3.0f} %, t = {t:.3g} s of {self.end:.3g} s")

    def close(self) -> None:
        """Remove the line."""
        self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text:<50}\r")
        sys.stderr.flush()


def is_terminal() -> bool:
    """Return whether what is written to standard error is seen on a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def is_notebook() -> bool:
    """Return whether this process serves a notebook."""
    return "ipykernel" in sys.modules


def _is_rich() -> bool:
    """Return whether rich is installed and can draw here; in notebooks it draws with ipywidgets."""
    if find_spec("rich") is None:
        return False
    return is_terminal() or (is_notebook() and find_spec("ipywidgets") is not None)
