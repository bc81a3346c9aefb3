"""Whoever follows a run from outside while it lasts: a bar on the screen, somebody who is told what is new, and
somebody who may cancel it.

Steps say how far they are, many times in a second (`tick`). That is where a run is cancelled, behind the last step that
was taken, so that what there is of it is kept; and where whoever moves is asked for what is new since the last time, if
somebody wants to know and enough time has passed.

A run that would take hours at its pace says so, and what its controller may have to do with it (`Headway`): one that is
unstable at its rate does not fail, but what it moves grows from sample to sample, contacts open and close, and steps
become small.

Ctrl-C in a loop of runs: the run that is interrupted returns what there is, and the next one of the loop raises. A loop
is known by the place that calls: the same lines of the same code, all the way up. What is typed at a prompt or run in a
cell of a notebook is new code every time, so that nobody is stopped by a Ctrl-C of before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Protocol

from catena.errors import StateError, warn
from catena.simulation.arguments import TimeSpan
from catena.simulation.following.progress import RunProgress
from catena.simulation.results.joining import Before, before_next
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.simulation.stepping.breaking_off import BrokenOff
from catena.validation import can_take, is_finite, shown

# How often somebody is told what is new, unless they say so [s].
EVERY = 0.05
# Headway is judged over so many seconds of computing, and a run that would take so many more makes none.
JUDGED, ENDLESS = 3.0, 3600.0
# It is looked at the processor's time whenever so much of that has passed on the wall.
LOOKED = 0.1

Place = tuple[tuple[CodeType, int], ...]

_interrupted: Place | None = None


class Cancellation(Protocol):
    """What says whether a run is cancelled: a `threading.Event`, or anything like it."""

    def is_set(self) -> bool:
        """Return whether somebody has cancelled the run."""


class Cancelled(BrokenOff):
    """Raised behind the last step that was taken, where somebody cancels a run."""


def nobody_follows(t: float) -> None:
    """Do nothing: nobody wants to know how far a motion is."""


def stopped(reason: BaseException, t: float) -> str:
    """Return what a run says that somebody stopped at a time [s]."""
    if isinstance(reason, KeyboardInterrupt):
        note_interrupted()
    return f"{'cancelled' if isinstance(reason, Cancelled) else 'interrupted'} at t = {t:.6g} s"


class Following:
    """Follows a run over a `span` of time. `progress` is that of `simulate`; `observe(part)` is told what is new, at
    most `every` so many seconds on the clock; `cancel` says by `is_set()` whether the run is cancelled. `index` is the
    state of a batch whose states move one after the other. `headway` warns where it does not get on."""

    def __init__(
        self,
        span: TimeSpan,
        progress: bool | None,
        observe: Callable[[Trajectory], Any] | None = None,
        every: float = EVERY,
        cancel: Cancellation | None = None,
        index: tuple[int, ...] = (),
        headway: Headway | None = None,
    ) -> None:
        self.bar = RunProgress(span.end, progress, span.start)
        self.observe, self.every, self.cancel, self.index = observe, every, cancel, index
        self.headway = headway
        self.receive: Callable[[Any], None] = self._received
        """Gets whoever moves, when it is time to tell what is new."""
        self._last = time.perf_counter()
        self._before, self._told = Before(), list[Segment]()

    def quietly(self, span: TimeSpan) -> Following:
        """Return one for a part of the motion that is not told by itself, but cancelled with it."""
        return Following(span, False, cancel=self.cancel, headway=self.headway)

    def through(self, receive: Callable[[Any], None]) -> Following:
        """Let what is new go through somebody else, and return this."""
        self.receive = receive
        return self

    def tick(self, t: float, source: Any = None) -> None:
        """Note that the run has come to the time t [s]; `source` moves it, and can be asked for what is new."""
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled
        self.bar.tick(t)
        if self.headway is not None:
            self.headway.tick(t)
        if source is not None and self.observe is not None and time.perf_counter() - self._last >= self.every:
            self.receive(source)

    def tell(
        self,
        parts: Sequence[tuple[Segment, bool]],
        transitions: Sequence[Transition] = (),
        note: str = "",
    ) -> None:
        """Tell what is new: pieces of segments, each with whether it goes on from the last one told."""
        if self.observe is None or not parts:
            return
        before = []
        for segment, goes_on in parts:
            if self._told and not goes_on:
                self._before = before_next(self._told[0], self._before, segment)
            self._told = [segment]
            before.append(self._before)
        found = Trajectory([segment for segment, _ in parts], transitions, note, before=before)
        found.told_of = self.index
        self.observe(found)
        # Whoever looks at a part for long is told the next one no sooner for that.
        self._last = time.perf_counter()

    def done(self) -> None:
        """Remove the bar from the screen."""
        self.bar.done()

    def _received(self, run: Any) -> None:
        piece = run.fresh()
        if piece is not None:
            self.tell([(piece, bool(self._told))])


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


def check_followers(observe: Any, every: Any, cancel: Any) -> None:
    """Refuse whoever cannot be told, or asked."""
    if observe is not None and not (callable(observe) and can_take(observe, "part")):
        raise StateError(f"observe is {shown(observe)}; give a function of one argument, a part of the run.")
    if not is_finite(every) or every < 0.0:
        raise StateError(f"every is {shown(every)}; give a number of seconds, 0 or more.")
    if cancel is not None and not callable(getattr(cancel, "is_set", None)):
        raise StateError(f"cancel is {shown(cancel)}; give a threading.Event, whose set() cancels the run.")
