"""Threads that share the calls of a tape for one state, and when that is worth it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from catena.kernels.cache_lines import aligned
from catena.kernels.code import loops
from catena.kernels.teams.crew import Crew
from catena.kernels.teams.dividing import Tasks
from catena.kernels.teams.teamwork import (
    ACTIVE,
    AGAIN,
    JOINED,
    OVER,
    SETS,
    TASK_WORDS,
    TEAM_WORDS,
    TRIALS,
    TRIED,
    WORK,
)  # fmt: skip

if TYPE_CHECKING:
    from catena.kernels.tape import Tape

# A tape is worth sharing from so many calls on, if at least so many times fewer pass until all are done.
CALLS_WORTH_SHARING, LEAST_GAIN = 1000, 1.1
# What it takes to take a task up, and until another core hears that one is done, counted in calls.
_CALLS_OF_A_TASK, _CALLS_OF_A_CROSSING = 4, 15


class Team:
    """The tasks of a tape, or of the part from call `first` to before `last`, dealt out to `count` threads. It lasts as
    long as somebody holds it; one call at a time may use it, who holds the crew's `busy`."""

    def __init__(self, tape: "Tape", count: int, first: int = 0, last: int | None = None) -> None:
        assert tape.division is not None
        self.count, self._lanes = count, tape.lanes
        last = len(tape.calls) if last is None else last
        rare_first, rare_end = tape.rare
        sets: list[Sequence[int]] = [range(first, last)]
        if rare_first >= 0:
            sets.append([*range(first, min(rare_first, last)), *range(max(rare_end, first), last)])
        self._words = aligned(TEAM_WORDS, np.int64)
        self.address = self._words.ctypes.data
        self._kept: list[np.ndarray] = []
        self.gain, self._alone = 0.0, 0
        for k, some in enumerate(sets):
            schedule = _schedule(tape.division.tasks(some, count), count)
            self._words[SETS + 8 * k : SETS + 8 * k + 4] = self._dealt(tape, schedule)
            self.gain = self.gain or len(some) / max(1.0, schedule.length)
        self._jobs = np.array([[self.address, k, 0] for k in range(1, count)], dtype=np.int64)
        self._addresses = [self._jobs.ctypes.data + 24 * k for k in range(count - 1)]
        # Single words are read and written more quickly through views.
        self._word = self._words.data
        self._word[WORK + 3] = count - 1
        self._code, self._loop = loops(self._lanes), ""

    def _dealt(self, tape: "Tape", schedule: "_Schedule") -> list[int]:
        """Return the number of tasks, and where they, the lists of the threads and the lengths of these lie."""
        tasks = schedule.tasks
        calls = np.ascontiguousarray(tape.calls[tasks.order])
        table = aligned(TASK_WORDS * len(tasks.waits), np.int64).reshape(-1, TASK_WORDS)
        places = table.ctypes.data + TASK_WORDS * 8 * np.arange(len(table))
        flat = np.array([places[f] for each in tasks.followers for f in each], dtype=np.int64)
        counts = np.array([len(each) for each in tasks.followers], dtype=np.int64)
        table[:, 0] = table[:, 6] = tasks.waits
        table[:, 2], table[:, 3] = (
            calls.ctypes.data + 48 * ends for ends in (tasks.first[:-1], tasks.first[1:])
        )
        table[:, 4] = flat.ctypes.data + 8 * (np.cumsum(counts) - counts)
        table[:, 5] = counts
        lists = [np.ascontiguousarray(places[order]) for order in schedule.orders]
        starts = np.array([x.ctypes.data for x in lists], dtype=np.int64)
        lengths = np.array([len(x) for x in lists], dtype=np.int64)
        self._kept += [calls, table, flat, starts, lengths, *lists]
        return [len(table), table.ctypes.data, starts.ctypes.data, lengths.ctypes.data]

    def is_wanted(self, plays: int) -> bool:
        """Return whether so many plays are worth sharing, by what was found when it was tried last."""
        word = self._word
        if word[TRIED] < 2 * TRIALS or word[TRIED + 2] <= word[TRIED + 1]:
            return True
        self._alone += plays
        if self._alone < AGAIN:
            return False
        self._alone = word[TRIED] = 0
        return True

    def ask_for_help(self, helpers: Crew, loop: str) -> None:
        """Make ready what `run_helped` offers: whoever of the crew is awake will come or is there still, others are
        woken."""
        word = self._word
        if helpers.team is self and word[JOINED] == self.count - 1 and loop is self._loop:
            return
        if word[OVER]:
            helpers.let_go()
        word[WORK + 2] = helpers.attach(self._code, self, self._addresses)
        word[WORK + 4], self._loop = self._code[loop], loop

    def expect_nobody(self) -> None:
        """Forget who has come to help, as in a forked process, which has other threads."""
        self._word[JOINED] = self._word[OVER] = self._word[ACTIVE] = 0


def team_for(tape: "Tape", count: int, first: int = 0, last: int | None = None) -> Team | None:
    """Return a team of so many threads, None where it is not worth it."""
    calls = (len(tape.calls) if last is None else last) - first
    if count < 2 or tape.division is None or calls < CALLS_WORTH_SHARING:
        return None
    found = Team(tape, count, first, last)
    return found if found.gain >= LEAST_GAIN else None


@dataclass(frozen=True)
class _Schedule:
    """Tasks, the order in which each thread does its own, and how many calls pass until all are done."""

    tasks: Tasks
    orders: list[list[int]]
    length: float


def _schedule(tasks: Tasks, count: int) -> _Schedule:
    """Return who of so many threads does what when: of those that are ready, a thread does the task first that the
    longest row of others waits for."""
    of_task = np.maximum(tasks.part - 1, 0)
    weights = (tasks.weights + _CALLS_OF_A_TASK).tolist()
    ahead = [0.0] * len(weights)
    for k in reversed(range(len(weights))):
        ahead[k] = weights[k] + max((ahead[f] for f in tasks.followers[k]), default=0.0)
    waits, ready_at, threads = tasks.waits.tolist(), [0.0] * len(weights), of_task.tolist()
    ready: list[list[tuple[float, int]]] = [[] for _ in range(count)]
    orders: list[list[int]] = [[] for _ in range(count)]
    free, left = [0.0] * count, len(weights)
    for k, w in enumerate(waits):
        if not w:
            ready[threads[k]].append((-ahead[k], k))
    while left:
        # The thread that can begin a task first; of those ready by then it takes the most urgent.
        starts = [
            max(free[t], min(ready_at[k] for _, k in ready[t])) if ready[t] else np.inf for t in range(count)
        ]
        t = int(np.argmin(starts))
        task = min(x for x in ready[t] if ready_at[x[1]] <= starts[t])
        ready[t].remove(task)
        k = task[1]
        free[t] = starts[t] + weights[k]
        orders[t].append(k)
        left -= 1
        for f in tasks.followers[k]:
            ready_at[f] = max(ready_at[f], free[t] + _CALLS_OF_A_CROSSING * (threads[f] != t))
            waits[f] -= 1
            if not waits[f]:
                ready[threads[f]].append((-ahead[f], f))
    return _Schedule(tasks, orders, max(free))
