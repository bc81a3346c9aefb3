"""Steps of thousands of operations, cut into functions of some hundred each, because compiling time grows faster than
the length of a function. What one of them leaves for another lies on the stack."""

from collections.abc import Sequence
from typing import Any

from catena.kernels.machine_code.lowering import RECORDS, Slot, Writer, as_function, lower, operation_name

# A step of more instructions than the first number is cut into functions of as many as the second.
LONG, PIECE = 1500, 250

Stores = Sequence[tuple[Slot, Any]]


def lower_in_pieces(name: str, loads: Stores, stores: Stores, lanes: int) -> str:
    """Return LLVM text of a step on record 0, as `lower` does, of any length."""
    function = as_function(loads, stores)
    if function.n_instructions() <= LONG:
        return lower(name, loads, stores, lanes)
    return _Pieces(function, [slot for slot, _ in loads], [slot for slot, _ in stores], lanes).text(name)


class _Pieces:
    """The instructions of a function in pieces. Registers are used again and again, so that each value they take is
    known by the instruction that gave it."""

    def __init__(self, function: Any, loads: list[Slot], stores: list[Slot], lanes: int) -> None:
        self.lanes, self.first_store = lanes, len(loads)
        self.inputs: dict[int, int] = {}
        self.numbers: dict[int, float] = {}
        self.results: list[tuple[int, int]] = []
        operations = self._read(function)
        self.pieces = [operations[k : k + PIECE] for k in range(0, len(operations), PIECE)]
        made = {i: p for p, piece in enumerate(self.pieces) for i, _, _ in piece}
        last: dict[int, int] = {}
        for p, piece in enumerate(self.pieces):
            last.update((value, p) for _, _, values in piece for value in values)
        last.update((value, len(self.pieces)) for _, value in self.results)
        passed = [i for i, p in made.items() if last.get(i, p) > p]
        self.slots = [*loads, *stores, *(Slot(1, k) for k in range(len(passed)))]
        self.between = {i: len(loads) + len(stores) + k for k, i in enumerate(passed)}

    def _read(self, function: Any) -> list[tuple[int, str, list[int]]]:
        """Return the operations: the value that each gives, what it is, and the values that it takes."""
        holder: dict[int, int] = {}
        operations: list[tuple[int, str, list[int]]] = []
        for i in range(function.n_instructions()):
            op = operation_name(function.instruction_id(i))
            ins, outs = function.instruction_input(i), function.instruction_output(i)
            if op == "OP_OUTPUT":
                self.results.append((outs[1], holder[ins[0]]))
                continue
            if op == "OP_INPUT":
                self.inputs[i] = ins[1]
            elif op == "OP_CONST":
                self.numbers[i] = function.instruction_constant(i)
            else:
                operations.append((i, op, [holder[k] for k in ins]))
            holder[outs[0]] = i
        return operations

    def text(self, name: str) -> str:
        """Return the pieces, and the function of this name that calls them."""
        texts = [self._piece(f"{name}_{p}", piece) for p, piece in enumerate(self.pieces)]
        texts.append(self._results(f"{name}_{len(texts)}"))
        vector = f"<{self.lanes} x double>"
        lines = [f"  %passed = alloca [{max(1, len(self.between))} x {vector}], align {8 * self.lanes}"]
        for p in range(len(texts)):
            lines.append(f"  call void @{name}_{p}(ptr %r0, ptr %passed, ptr %r2, ptr %r3, ptr %constants)")
        arguments = ", ".join(f"ptr noalias %r{k}" for k in range(RECORDS))
        head = f"define void @{name}({arguments}, ptr noalias readonly %constants) {{"
        return "\n".join(["".join(texts) + head, *lines, "  ret void", "}", ""])

    def _writer(self) -> Writer:
        writer = Writer(self.lanes, [], [])
        writer.loads = writer.stores = self.slots
        return writer

    def _value(self, writer: Writer, i: int) -> str:
        """Return a value in the function that is written."""
        if i not in writer.work:
            if i in self.numbers:
                writer.work[i] = writer.constant(self.numbers[i])
            else:
                writer.work[i] = writer.load(self.inputs[i] if i in self.inputs else self.between[i])
        return writer.work[i]

    def _piece(self, name: str, piece: list[tuple[int, str, list[int]]]) -> str:
        writer = self._writer()
        for i, op, values in piece:
            writer.work[i] = writer.value(op, *(self._value(writer, v) for v in values))
            if i in self.between:
                writer.instruction("OP_OUTPUT", [i], [0, self.between[i]], None)
        return _internal(writer, name)

    def _results(self, name: str) -> str:
        """Return the function that writes results, after all else, so that no piece reads what another has
        written."""
        writer = self._writer()
        for _, i in self.results:
            self._value(writer, i)
        for k, i in self.results:
            writer.instruction("OP_OUTPUT", [i], [0, self.first_store + k], None)
        return _internal(writer, name)


def _internal(writer: Writer, name: str) -> str:
    """Return a function that is not to become part of its caller."""
    text = writer.function(name).replace("define void", "define internal void", 1)
    return text.replace(") {\n", ") noinline {\n", 1)
