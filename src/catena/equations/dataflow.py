"""Data flow: what waits for what, the critical path, and what any number of processors can reach.

A task is one operation, one call of a step (a body in a sweep) with all its operations, or what is done for a chain of
bodies until it needs something from elsewhere. Tasks take as long as `Costs` say, inputs and numbers are there at the
beginning, and a task begins when all that it needs is there. The longest chain of tasks is the critical path: no number
of processors is quicker. Nikravesh, Gim, Arabyan and Rein, section 5.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from catena.equations.chain_tasks import chain_tasks
from catena.equations.counting import FREE
from catena.equations.graph import ExpressionGraph
from catena.equations.scheduled import OperationSchedule
from catena.equations.sums import ORDERS, WRITTEN, with_sums
from catena.equations.unrolling import UnrolledCall
from catena.errors import EquationsError
from catena.structure import Plan

OPERATIONS, STEPS, CHAINS = "operations", "steps", "chains"
GRAINS = (OPERATIONS, STEPS, CHAINS)


@dataclass(frozen=True)
class Costs:
    """How long operations take, in any unit of time. Sign changes take none."""

    addition: float = 1.0
    multiplication: float = 1.0
    division: float = 1.0
    root: float = 1.0
    sine: float = 1.0
    other: float = 1.0
    named: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, op: str) -> float:
        """Return how long an operation takes, by its name in a graph; `named` goes before the sorts."""
        if op in self.named:
            return self.named[op]
        if op in FREE:
            return 0.0
        sorts = {
            "add": self.addition, "sub": self.addition, "mul": self.multiplication, "div": self.division,
            "inv": self.division, "sqrt": self.root, "sin": self.sine, "cos": self.sine,
        }  # fmt: skip
        return sorts.get(op, self.other)


UNIT = Costs()
"""Every operation takes one unit of time."""


@dataclass(frozen=True, eq=False)
class DataFlow:
    """Tasks in an order in which they can be done: how long each takes, the tasks `before` it that it waits for, what
    it is called, and the body and the step that it belongs to. `graph` are the operations, `task_of[k]` the task that
    operation k belongs to (-1: none)."""

    name: str
    cost: np.ndarray
    before: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    bodies: tuple[str, ...]
    steps: tuple[str, ...]
    graph: ExpressionGraph
    task_of: np.ndarray

    def __len__(self) -> int:
        return len(self.cost)

    @property
    def serial_time(self) -> float:
        """How long one processor takes: the sum of all costs."""
        return float(self.cost.sum())

    @cached_property
    def earliest(self) -> np.ndarray:
        """When each task can begin at the earliest."""
        start = np.zeros(len(self))
        for k, before in enumerate(self.before):
            start[k] = max((start[b] + self.cost[b] for b in before), default=0.0)
        return start

    @cached_property
    def remaining(self) -> np.ndarray:
        """How long it takes from the beginning of each task to the end, along the longest chain."""
        rest = self.cost.copy()
        for k in range(len(self) - 1, -1, -1):
            for b in self.before[k]:
                rest[b] = max(rest[b], self.cost[b] + rest[k])
        return rest

    @property
    def latest(self) -> np.ndarray:
        """When each task must begin at the latest if nothing is to be delayed."""
        return self.critical_time - self.remaining

    @property
    def critical_time(self) -> float:
        """The length of the critical path: how long any number of processors takes."""
        return float(np.max(self.earliest + self.cost, initial=0.0))

    @cached_property
    def critical_path(self) -> list[int]:
        """The tasks of a longest chain, in order."""
        if not len(self):
            return []
        finish = self.earliest + self.cost
        path = [int(np.argmax(finish))]
        while self.before[path[-1]]:
            path.append(max(self.before[path[-1]], key=lambda b: finish[b]))
        return [k for k in reversed(path) if self.cost[k] > 0.0]

    @property
    def largest_speed_up(self) -> float:
        """The serial time over the length of the critical path: also the average number of busy processors."""
        return self.serial_time / self.critical_time if self.critical_time else 1.0

    @property
    def width(self) -> int:
        """The most tasks that are under way at once when each begins at its earliest."""
        spans = [(t, t + c) for t, c in zip(self.earliest, self.cost) if c]
        # Of two moments that coincide, the end of a task comes before the beginning of another.
        moments = sorted([(end, -1) for _, end in spans] + [(begin, 1) for begin, _ in spans])
        most = now = 0
        for _, change in moments:
            now += change
            most = max(most, now)
        return most

    def schedule(self, processors: int) -> OperationSchedule:
        """Return what so many processors reach by list scheduling: whenever one is free it takes the task that is ready
        and has the longest chain after it."""
        if processors < 1:
            raise EquationsError(f"A schedule needs at least 1 processor, not {processors}.")
        waits = np.array([len(b) for b in self.before])
        after: list[list[int]] = [[] for _ in range(len(self))]
        for k, before in enumerate(self.before):
            for b in before:
                after[b].append(k)
        ready = [(-self.remaining[k], k) for k in range(len(self)) if not waits[k]]
        heapq.heapify(ready)
        free = list(range(processors))
        running: list[tuple[float, int, int]] = []
        start, processor = np.zeros(len(self)), np.full(len(self), -1, dtype=np.int64)
        now = 0.0
        while ready or running:
            while ready and (free or not self.cost[ready[0][1]]):
                _, k = heapq.heappop(ready)
                start[k] = now
                if self.cost[k]:
                    processor[k] = heapq.heappop(free)
                heapq.heappush(running, (now + self.cost[k], k, int(processor[k])))
                if not self.cost[k]:
                    break
            if running and (not ready or not free or running[0][0] <= now):
                now, k, place = heapq.heappop(running)
                if place >= 0:
                    heapq.heappush(free, place)
                for successor in after[k]:
                    waits[successor] -= 1
                    if not waits[successor]:
                        heapq.heappush(ready, (-self.remaining[successor], successor))
        return OperationSchedule(self, processors, start, processor)

    def __str__(self) -> str:
        path = self.critical_path
        shown = [self.labels[k] for k in (path if len(path) <= 12 else [*path[:6], *path[-6:]])]
        if len(path) > 12:
            shown.insert(6, f"... {len(path) - 12} more ...")
        return "\n".join(
            [
                f"{self.name}: {len(self)} tasks",
                f"  one processor     {self.serial_time:g}",
                f"  critical path     {self.critical_time:g} ({len(path)} tasks)",
                f"  largest speed-up  {self.largest_speed_up:.4g}",
                f"  width             {self.width}",
                "  " + " -> ".join(shown),
            ]
        )


def dataflow(
    graph: ExpressionGraph,
    grain: str = OPERATIONS,
    costs: Costs = UNIT,
    sums: str = WRITTEN,
    plan: Plan | None = None,
) -> DataFlow:
    """Return the data flow of a graph at the grain of "operations", of "steps" or, if it is that of a `plan`, of
    "chains". `sums` are taken as "written", "in turn" or as "trees"."""
    if grain not in GRAINS or (grain == CHAINS and plan is None):
        raise EquationsError(f"The grain is {grain!r}; choose {', '.join(map(repr, GRAINS))}.")
    if sums not in ORDERS:
        raise EquationsError(f"Sums are taken {sums!r}; choose {', '.join(map(repr, ORDERS))}.")
    graph = with_sums(graph, sums, costs.of)
    if grain == OPERATIONS:
        return _of_operations(graph, costs)
    return _of_steps(graph, costs) if plan is None or grain == STEPS else _of_chains(graph, plan, costs)


def _of_operations(graph: ExpressionGraph, costs: Costs) -> DataFlow:
    operations = graph.operations.tolist()
    task_of = np.full(len(graph), -1, dtype=np.int64)
    task_of[operations] = np.arange(len(operations))
    before = tuple(
        tuple(sorted({int(task_of[o]) for o in graph.operands(k) if task_of[o] >= 0})) for k in operations
    )
    cost = np.array([costs.of(graph.op[k]) for k in operations])
    calls = [graph.calls[graph.owner[k]] if graph.owner[k] >= 0 else None for k in operations]
    labels = tuple(f"{graph.op[k]} {k}" for k in operations)
    return DataFlow(graph.name, cost, before, labels, *_owners(calls), graph, task_of)


def _owners(calls: Sequence[UnrolledCall | None]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the bodies and the steps that tasks belong to."""
    return tuple(c.who if c else "results" for c in calls), tuple(c.step if c else "results" for c in calls)


def _of_steps(graph: ExpressionGraph, costs: Costs) -> DataFlow:
    """Operations that no call made belong to a task of their own, the last one."""
    owners = [int(graph.owner[k]) if graph.owner[k] >= 0 else len(graph.calls) for k in graph.operations]
    used = sorted(set(owners))
    number = {owner: i for i, owner in enumerate(used)}
    task_of = np.full(len(graph), -1, dtype=np.int64)
    task_of[graph.operations] = [number[o] for o in owners]
    calls = [graph.calls[o] if o < len(graph.calls) else None for o in used]
    labels = tuple(f"{c.step} {c.who}" if c else "results" for c in calls)
    return DataFlow(
        graph.name, *_gathered(graph, task_of, len(used), costs), labels, *_owners(calls), graph, task_of
    )  # fmt: skip


def _of_chains(graph: ExpressionGraph, plan: Plan, costs: Costs) -> DataFlow:
    task_of, bodies, sorts = chain_tasks(graph, plan)
    labels = tuple(f"{sort} {body}" for sort, body in zip(sorts, bodies, strict=True))
    cost, before = _gathered(graph, task_of, len(bodies), costs)
    return DataFlow(graph.name, cost, before, labels, tuple(bodies), tuple(sorts), graph, task_of)


def _gathered(
    graph: ExpressionGraph, task_of: np.ndarray, count: int, costs: Costs
) -> tuple[np.ndarray, tuple[tuple[int, ...], ...]]:
    """Return how long tasks of several operations take, and which tasks each waits for."""
    cost = np.zeros(count)
    before: list[set[int]] = [set() for _ in range(count)]
    for k in graph.operations.tolist():
        task = int(task_of[k])
        cost[task] += costs.of(graph.op[k])
        before[task].update(
            int(task_of[o]) for o in graph.operands(k) if task_of[o] >= 0 and task_of[o] != task
        )
    return cost, tuple(tuple(sorted(b)) for b in before)
