"""A tape divided into tasks: calls that several threads make at the same time for one state.

Every call belongs to a part of the mechanism (`structure.branches`): the one that most of what it reads and writes is
of, because to bring records from one core to another takes longer than most calls. Calls of one part that follow each
other make a task. It waits for the tasks
that wrote what it reads, that read what it overwrites, and that added before it to a sum it adds to: sums are built in
the order of the tape, whoever builds them, so that results do not depend on the number of threads to the last bit.

A task has calls of its part on one *level*: above all tasks of other parts that it waits for, and not below those of
its own. So no two tasks ever wait for each other. Soon after a call that another part waits for, a task ends and the
next begins.

A sum on the ground that nobody reads, such as the inertia that it feels, would bind all parts together for nothing.
Each part adds to a place of its own instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from catena.structure.branches import PARTS_OF_A_WING, wing_of

if TYPE_CHECKING:
    from catena.kernels.code import Touched
    from catena.kernels.layout import Layout

# Calls that a task takes after one that others wait for.
GRAIN = 32


@dataclass(frozen=True, eq=False)
class Tasks:
    """Calls in tasks: `order` (calls,) lists the calls task after task, task k those from `first[k]` to before
    `first[k + 1]`; `followers[k]` are the tasks that wait for it, `waits` (tasks,) how many each waits for, `part` and
    `level` (tasks,) say where it belongs. Tasks are sorted by level."""

    order: np.ndarray
    first: np.ndarray
    followers: tuple[tuple[int, ...], ...]
    waits: np.ndarray
    part: np.ndarray
    level: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Return the calls of each task."""
        return np.diff(self.first)

    def critical_path(self) -> int:
        """Return the calls on the longest way through the tasks: what is left with as many threads as there are
        parts."""
        ends = np.zeros(len(self.waits), dtype=np.int64)
        for k, weight in enumerate(self.weights):
            ends[k] += weight
            for follower in self.followers[k]:
                ends[follower] = max(ends[follower], ends[k])
        return int(ends.max(initial=0))


@dataclass(frozen=True, eq=False)
class Division:
    """What is needed to divide a tape: for each call the records that it reads, that it writes, and all of them in
    order with how much of each it touches; and for each record the part that it belongs to (-1: nobody's). Records are
    numbered; each slot of the ground counts as one."""

    reads: list[tuple[int, ...]]
    writes: list[tuple[int, ...]]
    records: list[list[int]]
    sizes: list[list[int]]
    part: list[int]

    def tasks(self, some: Sequence[int], count: int) -> Tasks:
        """Return calls of the tape, in its order, as tasks for so many threads. Each thread has neighbouring parts,
        which count as one, and the first has the trunk, which is part 0, besides."""
        return _Divider(self, self._groups(count)).divided(some)

    def _groups(self, count: int) -> np.ndarray:
        """Return the group of each part: 0 for the trunk, then one for each thread, with about as many calls each. The
        parts of a wing, whose sums are one, stay together where there are enough wings."""
        weights = np.bincount(self.parts, minlength=max(self.part) + 1)
        kept_together = np.arange(len(weights))
        if len(weights) > 2 * PARTS_OF_A_WING * count:
            kept_together = wing_of(kept_together)
        weights = np.bincount(kept_together, weights)
        ends = np.cumsum(weights)
        share = (ends - 0.5 * weights) * count // max(1.0, ends[-1])
        group = np.where(np.arange(len(weights)) > 0, 1 + np.minimum(share, count - 1), 0)
        return group.astype(np.int64)[kept_together]

    @cached_property
    def parts(self) -> list[int]:
        """Return the part that each call belongs to: the one that most of what it touches is of. What the trunk and a
        part touch alike is the part's, for there are many of them."""
        # Records of nobody in particular follow the part that worked on them last.
        follows, found = list(self.part), []
        for records, sizes in zip(self.records, self.sizes, strict=True):
            votes: dict[int, int] = {}
            for record, size in zip(records, sizes, strict=True):
                own = follows[record]
                if size and own >= 0:
                    votes[own] = votes.get(own, 0) + (2 * size if own else size)
            part = max(votes, key=votes.__getitem__) if votes else 0
            for record, size in zip(records, sizes, strict=True):
                if size and self.part[record] < 0:
                    follows[record] = part
            found.append(part)
        return found


def divide(
    calls: np.ndarray, touches: Mapping[int, "Touched"], layout: "Layout", kept: set[int]
) -> Division | None:
    """Return how a tape can be divided; None where a step is not known. `kept` are byte offsets of slots that are read
    after the tape was played. Calls are changed where they add to sums on the ground that nobody reads."""
    addresses, step = np.unique(calls[:, 0], return_inverse=True)
    if not all(int(a) in touches for a in addresses):
        return None
    known = [touches[int(a)] for a in addresses]
    slot, ground_bytes = layout.slot_bytes, layout.ground_size * layout.slot_bytes
    _move_lost_sums(calls, step, known, layout, kept)
    starts, part_of = layout.regions()
    ground = layout.ground_size
    region = np.searchsorted(starts, calls[:, 1:5], side="right") - 1 + ground
    on_ground = (calls[:, 1:5] < ground_bytes).tolist()
    rows, offsets = region.tolist(), (calls[:, 1:5] // slot).tolist()
    reads: list[tuple[int, ...]] = []
    writes: list[tuple[int, ...]] = []
    for number, k in enumerate(step.tolist()):
        read: list[int] = []
        written: list[int] = []
        for position, (loads, stores) in enumerate(known[k]):
            if on_ground[number][position]:
                at = offsets[number][position]
                read += _slots(loads, at)
                written += _slots(stores, at)
            else:
                if loads:
                    read.append(rows[number][position])
                if stores:
                    written.append(rows[number][position])
        reads.append(tuple(read))
        writes.append(tuple(written))
    parts = [0] * ground + part_of.tolist()
    amount = [[sum(_size(ranges) for ranges in touched) for touched in each] for each in known]
    sizes = [[0 if g else x for x, g in zip(amount[k], on_ground[n])] for n, k in enumerate(step.tolist())]
    return Division(reads, writes, rows, sizes, parts)


def _size(ranges: Sequence[int]) -> int:
    return sum(ranges[1::2]) - sum(ranges[::2])


def _slots(ranges: Sequence[int], at: int) -> list[int]:
    return [at + k for a, b in zip(ranges[::2], ranges[1::2], strict=True) for k in range(a, b)]


def _move_lost_sums(
    calls: np.ndarray, step: np.ndarray, known: list["Touched"], layout: "Layout", kept: set[int]
) -> None:
    """Let each part of the mechanism add to places of its own what is added to the ground and read by nobody."""
    slot, size = layout.slot_bytes, layout.ground_size
    read_only = {offset // slot for offset in kept}
    written: set[int] = set()
    adding: dict[tuple[int, int], set[int]] = {}
    met = {(int(k), p) for p in range(4) for k in np.unique(step[calls[:, 1 + p] < size * slot])}
    for k, position in met:
        for at in np.unique(calls[step == k, 1 + position]).tolist():
            if at >= size * slot:
                continue
            loads, stores = (set(_slots(some, at // slot)) for some in known[k][position])
            read_only |= loads - stores
            written |= stores
            if at == 0 and loads | stores:
                adding[k, position] = loads | stores
    lost = written - read_only
    own: dict[int, int] = {}
    starts, part_of = layout.regions()
    for (k, position), slots in adding.items():
        # The ground function, whose only record is the ground, begins the sums.
        if not slots <= lost or position == 0:
            continue
        rows = np.flatnonzero((step == k) & (calls[:, 1 + position] == 0))
        parts = part_of[np.searchsorted(starts, calls[rows, 1], side="right") - 1]
        for row, part in zip(rows.tolist(), parts.tolist(), strict=True):
            if part > 0:
                if part not in own:
                    own[part] = layout.reserve_for(part, layout.flow_size)
                calls[row, 1 + position] = own[part]


class _Divider:
    """Calls become tasks, one after the other."""

    def __init__(self, division: Division, group: np.ndarray) -> None:
        self._of, self._group = division, group[division.parts].tolist()
        self._writer: dict[int, int] = {}
        self._readers: dict[int, set[int]] = {}
        self._open: dict[tuple[int, int], int] = {}
        self._awaited: set[int] = set()
        self._since: list[int] = []
        self._level: list[int] = []
        self._part: list[int] = []
        self._calls: list[list[int]] = []
        self._waits: list[set[int]] = []

    def divided(self, some: Sequence[int]) -> Tasks:
        """Return calls as tasks."""
        self._awaited = self._awaited_by_others(some)
        for call in some:
            self._add(call)
        order = sorted(range(len(self._level)), key=lambda t: (self._level[t], t))
        number = {t: k for k, t in enumerate(order)}
        followers: list[list[int]] = [[] for _ in order]
        for k, t in enumerate(order):
            for w in self._waits[t]:
                followers[number[w]].append(k)
        calls = [self._calls[t] for t in order]
        return Tasks(
            np.array([c for task in calls for c in task], dtype=np.int64),
            np.concatenate([[0], np.cumsum([len(task) for task in calls])]).astype(np.int64),
            tuple(map(tuple, followers)),
            np.array([len(self._waits[t]) for t in order], dtype=np.int64),
            np.array([self._part[t] for t in order], dtype=np.int64),
            np.array([self._level[t] for t in order], dtype=np.int64),
        )

    def _add(self, call: int) -> None:
        reads, writes = self._of.reads[call], self._of.writes[call]
        part = self._group[call]
        waits: set[int] = set()
        for key in reads:
            if key in self._writer:
                waits.add(self._writer[key])
        for key in writes:
            if key in self._writer:
                waits.add(self._writer[key])
            waits |= self._readers.get(key, _NOBODY)
        level = max((self._level[w] + (self._part[w] != part) for w in waits), default=0)
        task = self._task(part, level)
        waits.discard(task)
        self._waits[task] |= waits
        self._calls[task].append(call)
        if call in self._awaited or self._since[task]:
            self._since[task] += 1
        for key in reads:
            self._readers.setdefault(key, set()).add(task)
        for key in writes:
            self._writer[key] = task
            self._readers[key] = {task}

    def _task(self, part: int, level: int) -> int:
        """Return the task that calls of a part on a level belong to. One that others wait for takes few more."""
        task = self._open.get((part, level), -1)
        if task < 0 or self._since[task] >= GRAIN:
            self._open[part, level] = len(self._level)
            self._level.append(level)
            self._part.append(part)
            self._calls.append([])
            self._waits.append({task} if task >= 0 else set())
            self._since.append(0)
        return self._open[part, level]

    def _awaited_by_others(self, some: Sequence[int]) -> set[int]:
        """Return the calls that calls of other groups wait for; of those that read the same, the last one."""
        group, found = self._group, set[int]()
        writer: dict[int, int] = {}
        readers: dict[int, dict[int, int]] = {}
        for call in some:
            own = group[call]
            for key in self._of.reads[call]:
                if key in writer and group[writer[key]] != own:
                    found.add(writer[key])
                readers.setdefault(key, {})[own] = call
            for key in self._of.writes[call]:
                before = [writer[key]] if key in writer else []
                found.update(c for c in (*before, *readers.get(key, _NONE).values()) if group[c] != own)
                writer[key], readers[key] = call, {}
        return found


_NONE: dict[int, int] = {}
_NOBODY: frozenset[int] = frozenset()
