"""What is new of a run with one structure since somebody asked last: at its samples, or at its steps.

Pieces of a run are those of the whole to the last bit, because a row of numbers does not depend on the rows that are
computed beside it. What is told stays as it is: nothing behind the last look for an event that may end the motion, and
never the last step, whose control forces the next one knows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from catena.simulation.results.segment import Segment

if TYPE_CHECKING:
    from catena.simulation.run import Run

# Values between steps depend on so many steps before and behind them.
MARGIN = 3


class NewPart:
    """Gives what is new of a `run`, piece by piece."""

    def __init__(self, run: Run) -> None:
        self.run, self.recent = run, run.nodes.recent()
        self.whole: Segment | None = None
        """The whole run, once it is over."""
        self.rows = self.steps = self.events = 0
        """How many samples, steps and events were told."""

    def piece(self) -> Segment | None:
        """Return the piece of the run that is new; None for nothing."""
        run = self.run
        if self.whole is not None:
            return self.rest(self.whole)
        (t, *rows), counts = self._known()
        if run.times is None or not run.dense:
            # All states have the same steps here.
            known = int(counts[0]) - 1
            times, rows = t[0, :known], [x[:, :known] for x in rows]
            self.recent.forget(t[:, known])
        else:
            times, rows = self._samples(t, rows, counts)
        if not len(times):
            return None
        sampled = (x.reshape(*run.batch, *x.shape[1:]) for x in rows)
        return self._told(run.result.segment(times, *sampled))

    def piece_at(self, times: np.ndarray, slack: float) -> Segment | None:
        """Return what is new of a single state at some of the `times` (n,), as the whole run has it where it is
        interpolated at its ends and at times that are further than `slack` seconds from them."""
        (t, *rows), counts = self._known()
        known = int(counts[0]) - 1
        if self.whole is not None or known <= 2 * MARGIN:
            return None
        window = self.run.result.segment(t[0, :known], *(x[0, :known] for x in rows))
        inside = times[times > self.run.start + slack]
        asked = inside[max(self.rows - 1, 0) :]
        asked = asked[asked < window.t[-1 - MARGIN]]
        if not self.rows:
            asked = np.append(self.run.start, asked)
        if not len(asked):
            return None
        first = max(0, int(np.searchsorted(window.t, asked[-1], side="right")) - 1 - MARGIN)
        self.recent.forget(window.t[first : first + 1])
        return replace(self._told(window.resample(asked)), events=())

    def rest(self, whole: Segment) -> Segment | None:
        """Return what is left of the whole run."""
        if self.rows >= len(whole.t):
            return None
        piece = whole.picked(np.arange(self.rows, len(whole.t)))
        events = tuple(whole.events)[self.events :]
        self.rows = len(whole.t)
        return replace(piece, steps=whole.steps - self.steps, events=events, held=whole.held)

    def _known(self) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        run = self.run
        return self.recent.until(run.watch.mark if run.terminal and run.watch else run.nodes.mark, run.tau)

    def _samples(
        self, t: np.ndarray, rows: list[np.ndarray], counts: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the samples that all states have passed, and the states there."""
        run = self.run
        assert run.times is not None
        reached = t[np.arange(len(t)), counts - 1][run.going]
        times = run.times[self.rows :]
        times = times[times + run.same < np.min(reached, initial=np.inf)] if len(reached) else times[:0]
        if not len(times):
            return times, []
        found = list(run.between.sampled(t, rows, np.minimum(times, t[:, -1:])))
        before = [max(0, int(np.searchsorted(own, times[-1] + run.same, side="right")) - 1) for own in t]
        self.recent.forget(t[np.arange(len(t)), before])
        return times, found

    def _told(self, piece: Segment) -> Segment:
        """Return a piece with the steps and the events that nobody has been told of."""
        run = self.run
        events = () if run.terminal else tuple(run.found[self.events :])
        found = replace(piece, steps=run.mover.steps - self.steps, events=events, ended="")
        self.rows, self.steps, self.events = (
            self.rows + len(piece.t),
            run.mover.steps,
            self.events + len(events),
        )
        return found
