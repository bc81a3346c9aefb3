"""A schedule of tasks on processors, and its execution, which shows that it can be kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from catena.equations.graph import CONSTANT, INPUT, apply
from catena.errors import EquationsError

if TYPE_CHECKING:
    from catena.equations.dataflow import DataFlow


@dataclass(frozen=True, eq=False)
class OperationSchedule:
    """When each task begins, and on which of the `processors` it runs (-1 for tasks that take no time)."""

    flow: "DataFlow"
    processors: int
    start: np.ndarray
    processor: np.ndarray

    @property
    def finish(self) -> np.ndarray:
        """When each task ends."""
        return self.start + self.flow.cost

    @property
    def time(self) -> float:
        """When the last task ends."""
        return float(np.max(self.finish, initial=0.0))

    @property
    def speed_up(self) -> float:
        """The time of one processor over that of the schedule."""
        return self.flow.serial_time / self.time if self.time else 1.0

    def execute(self, inputs: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], float]:
        """Do the operations at their times on their processors, and return the results and the time when the last one
        was there. Raises if a processor has two tasks at once, or if a task begins before what it needs is there."""
        flow, graph = self.flow, self.flow.graph
        values: dict[int, float] = {}
        there: dict[int, float] = {}
        entries = [np.asarray(inputs[name], dtype=float) for name in graph.inputs]
        tasks: dict[int, list[int]] = {}
        for k, op in enumerate(graph.op):
            if op == CONSTANT:
                values[k], there[k] = float(graph.value[k]), 0.0
            elif op == INPUT:
                values[k], there[k] = float(entries[graph.left[k]][graph.right[k]]), 0.0
            else:
                tasks.setdefault(int(flow.task_of[k]), []).append(k)
        busy = np.zeros(self.processors)
        # Tasks that take no time come after those that end at the same moment and before those that begin then.
        for task in sorted(range(len(flow)), key=lambda t: (self.start[t], flow.cost[t] > 0.0, t)):
            begin, end, place = float(self.start[task]), float(self.finish[task]), int(self.processor[task])
            if place >= 0:
                if begin < busy[place]:
                    raise EquationsError(f"Processor {place} has two tasks at the time {begin:g}.")
                busy[place] = end
            for k in tasks.get(task, []):
                for operand in graph.operands(k):
                    late = operand not in there or (
                        there[operand] > begin and flow.task_of[operand] != flow.task_of[k]
                    )
                    if late:
                        raise EquationsError(
                            f"{flow.labels[task]} begins at {begin:g}, before what it needs is there."
                        )
                values[k] = apply(graph.op[k], *(values[o] for o in graph.operands(k)))
                there[k] = end
        results = {
            name: np.array([values[int(k)] for k in where.ravel()]).reshape(where.shape)
            for name, where in graph.outputs.items()
        }
        return results, max((there[int(k)] for w in graph.outputs.values() for k in w.ravel()), default=0.0)
