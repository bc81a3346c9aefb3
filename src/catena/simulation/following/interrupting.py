"""Ctrl-C in a loop of runs: the run that is interrupted returns what there is, and the next one of the loop raises.

A loop is known by the place that calls: the same lines of the same code, all the way up. What is typed at a prompt or
run in a cell of a notebook is new code every time, so that nobody is stopped by a Ctrl-C of before.
"""

from __future__ import annotations

import sys
from types import CodeType

Place = tuple[tuple[CodeType, int], ...]

_interrupted: Place | None = None


def _place() -> Place:
    """Return the lines outside of Catena that led here."""
    found = []
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != "catena":
            found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found)


def note_interrupted() -> None:
    """Remember that Ctrl-C ended a run that was called from here."""
    global _interrupted
    _interrupted = _place()


def raise_in_loop() -> None:
    """Raise KeyboardInterrupt where the run before was interrupted, and the same place begins another."""
    global _interrupted
    if _interrupted is None:
        return
    before, _interrupted = _interrupted, None
    now = _place()
    same = len(now) == len(before) and all(
        a is b and m == n for (a, m), (b, n) in zip(now, before, strict=True)
    )
    if same:
        raise KeyboardInterrupt("The run before this one, of the same loop, was interrupted.")
