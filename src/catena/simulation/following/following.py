"""Whoever follows a run from outside while it lasts: a bar on the screen, somebody who is told what is new, and
somebody who may cancel it.

Steps say how far they are, many times in a second (`tick`). That is where a run is cancelled, behind the last step that
was taken, so that what there is of it is kept; and where whoever moves is asked for what is new since the last time, if
somebody wants to know and enough time has passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from catena.errors import StateError
from catena.simulation.arguments import TimeSpan
from catena.simulation.following.headway import Headway
from catena.simulation.following.interrupting import note_interrupted
from catena.simulation.following.progress import RunProgress
from catena.simulation.results.joining import Before, before_next
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.simulation.stepping.breaking_off import BrokenOff
from catena.validation import can_take, is_finite, shown

# How often somebody is told what is new, unless they say so [s].
EVERY = 0.05


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


def check_followers(observe: Any, every: Any, cancel: Any) -> None:
    """Refuse whoever cannot be told, or asked."""
    if observe is not None and not (callable(observe) and can_take(observe, "part")):
        raise StateError(f"observe is {shown(observe)}; give a function of one argument, a part of the run.")
    if not is_finite(every) or every < 0.0:
        raise StateError(f"every is {shown(every)}; give a number of seconds, 0 or more.")
    if cancel is not None and not callable(getattr(cancel, "is_set", None)):
        raise StateError(f"cancel is {shown(cancel)}; give a threading.Event, whose set() cancels the run.")
