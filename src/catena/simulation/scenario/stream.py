"""A run that is given part by part, while it goes on.

A thread of its own moves it, and waits whenever a part is being looked at: so whoever looks may ask the part, or the
system that it belongs to, for anything, as within any other loop.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Self

from catena.errors import StateError
from catena.simulation.following import check_followers
from catena.simulation.results.trajectory import Trajectory

if TYPE_CHECKING:
    from catena.simulation.scenario.scenario import Scenario


class Stream(Iterator[Trajectory]):
    """The parts of the run of a scenario, each of them what is new since the last one, at most `every` so many seconds
    on the clock. `cancel()`, from any thread, ends it with the part that there is by then; `close()`, the end of a
    `with` block, and leaving a loop over it, give up what comes."""

    def __init__(self, scenario: Scenario, every: float = 0.05, check: bool = True) -> None:
        self._cancelled, self._closed = threading.Event(), threading.Event()
        self._parts: SimpleQueue[Trajectory | None] = SimpleQueue()
        self._wanted = threading.Semaphore(0)
        check_followers(None, every, None)
        self.scenario, self.every, self.check = scenario, float(every), check
        self._thread: threading.Thread | None = None
        self._run: Trajectory | None = None
        self._error: BaseException | None = None

    @property
    def run(self) -> Trajectory:
        """The whole run, once its last part was given; after `cancel`, what there is of it."""
        if self._run is None:
            raise StateError("The run goes on: stream.run is there once all parts were given.")
        return self._run

    def cancel(self) -> None:
        """End the run behind the step that is being taken. What there is by then is still given."""
        self._cancelled.set()

    def close(self) -> None:
        """Cancel the run, and give up what comes."""
        self._closed.set()
        self._cancelled.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self._wanted.release()
            thread.join()

    def __iter__(self) -> Iterator[Trajectory]:
        """Return the parts. A loop over them that is left early cancels the run."""
        try:
            while (part := self._next()) is not None:
                yield part
        finally:
            self.close()

    def __next__(self) -> Trajectory:
        """Return the next part."""
        part = self._next()
        if part is None:
            raise StopIteration
        return part

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self._closed.set()
        self._cancelled.set()
        self._wanted.release()

    def _next(self) -> Trajectory | None:
        if self._closed.is_set() or self._run is not None or self._error is not None:
            return None
        if self._thread is None:
            # What the thread holds must not keep this alive, or nobody could leave it behind.
            moves = _StreamThread(
                self.scenario,
                self.every,
                self.check,
                self._cancelled,
                self._closed,
                self._parts,
                self._wanted,
            )
            self._moving = moves
            self._thread = threading.Thread(target=moves.go, name="catena stream", daemon=True)
            self._thread.start()
        else:
            self._wanted.release()
        part = self._parts.get()
        if part is None:
            self._thread.join()
            self._thread = None
            self._run, self._error = self._moving.run, self._moving.error
            if self._error is not None:
                raise self._error
        return part


class _StreamThread:
    """What the thread of a stream does."""

    def __init__(
        self,
        scenario: Scenario,
        every: float,
        check: bool,
        cancelled: threading.Event,
        closed: threading.Event,
        parts: SimpleQueue[Trajectory | None],
        wanted: threading.Semaphore,
    ) -> None:
        self.scenario, self.every, self.check = scenario, every, check
        self.cancelled, self.closed, self.parts, self.wanted = cancelled, closed, parts, wanted
        self.run: Trajectory | None = None
        self.error: BaseException | None = None

    def go(self) -> None:
        """Simulate, and hand over the parts."""
        try:
            self.run = self.scenario.run(False, self.check, self._give, self.every, self.cancelled)
        except BaseException as error:
            self.error = error
        self.parts.put(None)

    def _give(self, part: Trajectory) -> None:
        if not self.closed.is_set():
            self.parts.put(part)
            self.wanted.acquire()
