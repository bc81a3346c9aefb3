"""How many steps one call of the compiled loop takes: many, so that the call itself costs nothing, and few enough that
whoever cancels a run need not wait. It changes no number."""

from __future__ import annotations

import math

# Calls of the tape in the first call of the loop, at 0.1 us each. What a tape leaves out costs less, so later calls do
# as much as takes SOON [s], which is how long whoever cancels a run waits.
MOST_WORK, SOON = 300_000, 0.03
# Numbers that one call may record.
RECORD = 1_000_000


class CallLength:
    """Learns from calls how much may be done in one."""

    def __init__(self) -> None:
        self._most_work = float(MOST_WORK)

    def chosen(self, ahead: float, numbers: int, work: int) -> tuple[int, int]:
        """Return how many steps a call takes on a way of about so many `ahead`, where each of them records so many
        `numbers` and plays `work` calls of the tape, and how many are soon over."""
        soon = max(1, int(self._most_work / work))
        return max(1, min(RECORD // numbers, soon, math.ceil(ahead * (1.0 - 1e-9)))), soon

    def took(self, taken: float, is_bounded: bool) -> None:
        """Let the next call do more where this one, which was `is_bounded` by its work, was over soon [s], and less
        where it was not."""
        if is_bounded and taken < 0.4 * SOON:
            self._most_work *= 2.0
        elif taken > SOON:
            self._most_work = max(float(MOST_WORK), 0.5 * self._most_work)
