"""An expression graph compiled into lanes: the same driver and the same checks as the general code, with the operations
of one mechanism instead of a tape of steps.

The graph is cut into functions of some hundred operations, because compiling time grows faster than their length.
What one of them leaves for another lies in slots of the workspace. Sines come first, in a function of their own: calls
destroy all vector registers. Numbers of the mechanism lie in the constants, so that the code depends on which of
them are zero or one, and not on what the others are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.equations.graph import CONSTANT, INPUT, ExpressionGraph
from catena.kernels import Program, target
from catena.kernels.cache_lines import aligned
from catena.kernels.constants import WORD
from catena.kernels.machine_code import engine
from catena.kernels.machine_code.lowering import Slot, Writer, prelude
from catena.kernels.machine_code.objects import compiled_object
from catena.kernels.tape import Tape

# Operations in one function, and operations that take as long as a usual step.
PIECE, USUAL_STEP = 250, 150


@dataclass(frozen=True)
class LaneCode:
    """A graph as LLVM `text` with functions piece_0, piece_1, ..., and what a tape needs to call them: the number of
    functions, of slots and of operations, the constants, and the first slots and shapes of inputs and outputs."""

    text: str
    pieces: int
    slots: int
    operations: int
    constants: tuple[float, ...]
    inputs: Mapping[str, tuple[int, int]]
    outputs: Mapping[str, tuple[int, tuple[int, ...]]]
    lanes: int

    def description(self) -> dict[str, Any]:
        """Everything but the text, as JSON takes it."""
        return {
            "pieces": self.pieces, "slots": self.slots, "operations": self.operations,
            "constants": list(self.constants), "inputs": dict(self.inputs), "outputs": dict(self.outputs),
            "lanes": self.lanes,
        }  # fmt: skip


def program_of(graph: ExpressionGraph, lanes: int | None = None) -> Program:
    """Return the graph compiled, now or at an earlier time, and ready to run on batches and single states."""
    code = lane_code(graph, lanes or target().lanes)
    return load(compiled_object(code.text)[1], code.description())


def load(machine_code: bytes, description: Mapping[str, Any]) -> Program:
    """Return the program of compiled pieces."""
    names = [f"piece_{k}" for k in range(description["pieces"])]
    code = engine.load_object("graph", machine_code, names) if names else None
    lanes = int(description["lanes"])
    calls = np.zeros((len(names), 6), dtype=np.int64)
    calls[:, 0] = [code[name] for name in names] if code is not None else []
    values = description["constants"]
    # Vectors of constants are loaded aligned.
    constants = aligned(max(1, len(values)) * lanes)
    constants[: len(values) * lanes] = np.repeat(np.array(values, dtype=float), lanes)
    slot_bytes = WORD * lanes

    def table(first: int, count: int) -> np.ndarray:
        k = np.arange(count, dtype=np.int64)
        return np.stack([k * WORD, (first + k) * slot_bytes], axis=1)

    inputs = {n: (int(size), table(first, size)) for n, (first, size) in description["inputs"].items()}
    outputs = {
        n: (tuple(shape), table(first, int(np.prod(shape))))
        for n, (first, shape) in description["outputs"].items()
    }
    weight = max(1, description["operations"] // USUAL_STEP)
    # The tape keeps the machine code that it calls.
    tape = Tape(
        calls,
        constants,
        description["slots"] * slot_bytes,
        inputs,
        outputs,
        lanes,
        code=(code,),
        weight=weight,
    )
    return Program(tape)


def lane_code(graph: ExpressionGraph, lanes: int) -> LaneCode:
    """Return the LLVM text of a graph for so many lanes."""
    return _Layout(graph, lanes).code()


class _Layout:
    """Which operations make a function, and where values lie between functions."""

    def __init__(self, graph: ExpressionGraph, lanes: int) -> None:
        self.graph, self.lanes = graph, lanes
        self.pieces = _cut(graph)
        self.slots = 0
        self.inputs = {name: (self._reserve(size), size) for name, size in graph.inputs.items()}
        self.starts = [first for first, _ in self.inputs.values()]
        self.outputs = {
            name: (self._reserve(where.size), where.shape) for name, where in graph.outputs.items()
        }
        self.result_slots: dict[int, list[int]] = {}
        for (first, _), where in zip(self.outputs.values(), graph.outputs.values(), strict=True):
            for slot, k in enumerate(where.ravel().tolist(), start=first):
                self.result_slots.setdefault(k, []).append(slot)
        self.between = self._between()
        numbers = np.flatnonzero([op == CONSTANT for op in graph.op]).tolist()
        self.numbers = {k: index for index, k in enumerate(numbers)}

    def _reserve(self, count: int) -> int:
        first, self.slots = self.slots, self.slots + count
        return first

    def _between(self) -> dict[int, int]:
        """Return the slots of what one piece leaves for a later one. A slot is free again after the last piece that
        reads it."""
        graph = self.graph
        made = {k: p for p, piece in enumerate(self.pieces) for k in piece}
        last: dict[int, int] = {}
        for p, piece in enumerate(self.pieces):
            for k in piece:
                for operand in graph.operands(k):
                    if operand in made and made[operand] < p:
                        last[operand] = p
        slot: dict[int, int] = {}
        free: list[int] = []
        expiring: dict[int, list[int]] = {}
        for p, piece in enumerate(self.pieces):
            for k in piece:
                if k in last:
                    slot[k] = free.pop() if free else self._reserve(1)
                    expiring.setdefault(last[k], []).append(slot[k])
            # What this piece reads last may be written by the next one.
            free += expiring.get(p, [])
        return slot

    def code(self) -> LaneCode:
        """Return the text of all pieces."""
        pieces = [self._function(p) for p in range(len(self.pieces))]
        unmade = [k for k in self.result_slots if self.graph.op[k] in (CONSTANT, INPUT)]
        if unmade:
            pieces.append(self._copies(len(pieces), unmade))
        constants = tuple(float(self.graph.value[k]) for k in self.numbers)
        return LaneCode(
            prelude(self.lanes) + "".join(pieces), len(pieces), self.slots, len(self.graph.operations), constants,
            self.inputs, self.outputs, self.lanes,
        )  # fmt: skip

    def _function(self, p: int) -> str:
        graph, piece = self.graph, self.pieces[p]
        here = set(piece)
        outside = list(dict.fromkeys(o for k in piece for o in graph.operands(k) if o not in here))
        read = [o for o in outside if graph.op[o] != CONSTANT]
        stores = [(slot, k) for k in piece for slot in self._stores(k)]
        writer = Writer(self.lanes, [self._slot(o) for o in read], [Slot(0, slot) for slot, _ in stores])
        number = {o: i for i, o in enumerate(read)}
        written: dict[int, list[int]] = {}
        for i, (_, k) in enumerate(stores):
            written.setdefault(k, []).append(i)
        for k in piece:
            values = [self._value(writer, o, number) for o in graph.operands(k)]
            writer.work[k] = writer.value(f"OP_{graph.op[k].upper()}", *values)
            for i in written.get(k, []):
                writer.instruction("OP_OUTPUT", [k], [0, i], None)
        return writer.function(f"piece_{p}")

    def _value(self, writer: Writer, k: int, number: Mapping[int, int]) -> str:
        if k not in writer.work:
            if self.graph.op[k] == CONSTANT:
                writer.work[k] = writer.stored_constant(self.numbers[k])
            else:
                writer.work[k] = writer.load(number[k])
        return writer.work[k]

    def _copies(self, p: int, nodes: list[int]) -> str:
        """Results that are inputs or numbers."""
        read = [k for k in nodes if self.graph.op[k] == INPUT]
        stores = [(slot, k) for k in nodes for slot in self.result_slots[k]]
        writer = Writer(self.lanes, [self._slot(k) for k in read], [Slot(0, slot) for slot, _ in stores])
        number = {k: i for i, k in enumerate(read)}
        for i, (_, k) in enumerate(stores):
            self._value(writer, k, number)
            writer.instruction("OP_OUTPUT", [k], [0, i], None)
        return writer.function(f"piece_{p}")

    def _stores(self, k: int) -> list[int]:
        return [*([self.between[k]] if k in self.between else []), *self.result_slots.get(k, [])]

    def _slot(self, k: int) -> Slot:
        graph = self.graph
        if graph.op[k] == INPUT:
            return Slot(0, self.starts[graph.left[k]] + int(graph.right[k]))
        return Slot(0, self.between[k])


def _cut(graph: ExpressionGraph) -> list[list[int]]:
    """Return the operations in pieces: sines of inputs, and then some hundred at a time."""
    operations = graph.operations.tolist()
    sines = [k for k in operations if graph.op[k] in ("sin", "cos") and graph.op[graph.left[k]] == INPUT]
    first = set(sines)
    rest = [k for k in operations if k not in first]
    count = max(1, round(len(rest) / PIECE))
    size = -(-len(rest) // count)
    pieces = [rest[i : i + size] for i in range(0, len(rest), max(1, size))]
    return [piece for piece in (sines, *pieces) if piece]
