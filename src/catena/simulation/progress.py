"""Shows how far a run is, once it takes longer than a second: by rich's bar, or by one plain line without rich."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec

import numpy as np

from catena.errors import StateError
from catena.given import shown

SILENT_FOR, EVERY = 1.0, 0.2


class Progress:
    """Counts the simulated seconds of a run of `duration` seconds and shows them from time to time.

    `wanted` None shows them on a terminal and in a notebook only, True always.
    """

    def __init__(self, duration: float, wanted: bool | None) -> None:
        self.duration = duration
        if wanted is not None and not isinstance(wanted, bool | np.bool_):
            raise StateError(
                f"progress is {shown(wanted)}; give True, False, or None to decide by the terminal."
            )
        self.shown = (_is_terminal() or _is_notebook()) if wanted is None else wanted
        self.start = self.last = time.perf_counter()
        self.bar: RichBar | PlainBar | None = None

    @property
    def elapsed(self) -> float:
        """Return the seconds that have passed since the start of the run."""
        return time.perf_counter() - self.start

    def tick(self, t: float) -> None:
        """Note that the run has reached the time t [s]."""
        now = time.perf_counter()
        if not self.shown or now - self.start < SILENT_FOR or now - self.last < EVERY:
            return
        self.last = now
        if self.bar is None:
            self.bar = RichBar(self.duration) if _is_rich() else PlainBar(self.duration)
        self.bar.show(t)

    def done(self) -> None:
        """Remove the bar from the screen."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class RichBar:
    """Draws a bar with rich, for terminals and notebooks."""

    def __init__(self, duration: float) -> None:
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
            TextColumn("t = {task.completed:.3g} s"),
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
        self.task = self.display.add_task("", total=duration)
        self.display.start()

    def show(self, t: float) -> None:
        """Show that the run has reached the time t [s]."""
        self.display.update(self.task, completed=t, refresh=True)

    def close(self) -> None:
        """Remove the bar."""
        self.display.stop()


class PlainBar:
    """Writes one line on standard error, for other streams and where rich is not installed."""

    def __init__(self, duration: float) -> None:
        self.duration = duration

    def show(self, t: float) -> None:
        """Show that the run has reached the time t [s]."""
        self._write(f"{100.0 * t / self.duration:3.0f} %, t = {t:.3g} s of {self.duration:.3g} s")

    def close(self) -> None:
        """Remove the line."""
        self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text:<50}\r")
        sys.stderr.flush()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _is_notebook() -> bool:
    """Return whether this process serves a notebook."""
    return "ipykernel" in sys.modules


def _is_rich() -> bool:
    """Return whether rich is installed and can draw here; in notebooks it draws with ipywidgets."""
    if find_spec("rich") is None:
        return False
    return _is_terminal() or (_is_notebook() and find_spec("ipywidgets") is not None)
