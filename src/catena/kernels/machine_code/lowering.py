"""From an expression graph to LLVM text that works on W states at once.

`lower` takes a CasADi `SX` function whose scalar inputs stand for slots of records (a vector of W lanes) or
for constants (one number, broadcast to all lanes, or a vector where they vary from state to state) and whose scalar
outputs go to slots of records, and writes one LLVM function `void name(ptr r0, ptr r1, ptr r2, ptr r3, ptr constants)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from catena.errors import KernelError
from catena.kernels.machine_code import sincos
from catena.kernels.machine_code.sincos import float_literal

RECORDS = 4
CONSTANTS = RECORDS
# Reassociation and contraction into fused multiply-adds are welcome; NaN and infinity keep their meaning,
# because the checks on inputs and results rely on them.
FLAGS = "reassoc nsz arcp contract"


@dataclass(frozen=True)
class Slot:
    """A place that a step reads or writes: entry `index` of record `record`, or of the constants."""

    record: int
    index: int


def prelude(lanes: int) -> str:
    """Return the declarations that lowered functions of one module share."""
    V = f"<{lanes} x double>"
    intrinsics = "".join(f"declare {V} @llvm.{name}.v{lanes}f64({V})\n" for name in ("sqrt", "floor", "ceil"))
    scalars = "".join(f"declare double @{name}(double)\n" for name in UNARY_CALLS.values())
    pairs = "".join(f"declare double @{name}(double, double)\n" for name in BINARY_CALLS.values())
    minmax = "".join(
        f"declare {V} @llvm.{name}.v{lanes}f64({V}, {V})\n" for name in ("minnum", "maxnum", "copysign")
    )
    return sincos.declare(lanes) + intrinsics + scalars + pairs + minmax + "!1 = !{}\n"


UNARY_CALLS = {
    "OP_EXP": "exp", "OP_LOG": "log", "OP_TAN": "tan", "OP_ASIN": "asin", "OP_ACOS": "acos", "OP_ATAN": "atan",
    "OP_SINH": "sinh", "OP_COSH": "cosh", "OP_TANH": "tanh", "OP_ASINH": "asinh", "OP_ACOSH": "acosh",
    "OP_ATANH": "atanh", "OP_EXPM1": "expm1", "OP_LOG1P": "log1p", "OP_ERF": "erf",
}  # fmt: skip
BINARY_CALLS = {"OP_ATAN2": "atan2", "OP_POW": "pow", "OP_HYPOT": "hypot", "OP_FMOD": "fmod"}
INTRINSICS = {"OP_SQRT": "sqrt", "OP_FLOOR": "floor", "OP_CEIL": "ceil", "OP_FABS": "fabs"}
ARITHMETIC = {"OP_ADD": "fadd", "OP_SUB": "fsub", "OP_MUL": "fmul", "OP_DIV": "fdiv"}
COMPARISONS = {"OP_LT": "olt", "OP_LE": "ole", "OP_EQ": "oeq", "OP_NE": "une"}


def lower(
    name: str,
    loads: Sequence[tuple[Slot, Any]],
    stores: Sequence[tuple[Slot, Any]],
    lanes: int,
    varying: bool = False,
) -> str:
    """Return LLVM text of a step: `loads` pairs slots with the symbols that stand for them, `stores` slots with
    results. With `varying` each constant is a vector, a number for each state."""
    function = as_function(loads, stores)
    writer = Writer(lanes, [slot for slot, _ in loads], [slot for slot, _ in stores], varying)
    for i in range(function.n_instructions()):
        writer.instruction(
            operation_name(function.instruction_id(i)),
            function.instruction_input(i), function.instruction_output(i),
            lambda i=i: function.instruction_constant(i),
        )  # fmt: skip
    return writer.function(name)


def as_function(loads: Sequence[tuple[Slot, Any]], stores: Sequence[tuple[Slot, Any]]) -> Any:
    """Return the CasADi function of the symbols of `loads` whose results are those of `stores`."""
    import casadi

    symbols = casadi.vertcat(*(s for _, s in loads)) if loads else casadi.SX(0, 1)
    results = (
        casadi.densify(casadi.vertcat(*(casadi.SX(e) for _, e in stores))) if stores else casadi.SX(0, 1)
    )
    return casadi.Function("step", [symbols], [casadi.cse(results)])


_OPERATIONS: dict[int, str] = {}


def operation_name(code: int) -> str:
    """Return the name, such as OP_ADD, of the number that CasADi gives an operation."""
    if not _OPERATIONS:
        import casadi

        _OPERATIONS.update({getattr(casadi, k): k for k in dir(casadi) if k.startswith("OP_")})
    return _OPERATIONS[code]


class Writer:
    """Writes one function, an instruction at a time. `loads` and `stores` are the slots it reads and writes; `work`
    maps the registers of the instructions to LLVM values. With `varying`, constants are vectors."""

    def __init__(self, lanes: int, loads: list[Slot], stores: list[Slot], varying: bool = False) -> None:
        self.lanes, self.loads, self.stores, self.varying = lanes, loads, stores, varying
        self.V = f"<{lanes} x double>"
        self.lines: list[str] = []
        self.work: dict[int, str] = {}
        self.sines: dict[str, tuple[str, str]] = {}
        self.count = 0
        self.loaded: dict[int, str] = {}
        # A slot that is read and written is read first, whatever order the expressions come in.
        written = set(stores)
        for k, slot in enumerate(loads):
            if slot in written:
                self.load(k)

    def emit(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def load(self, k: int) -> str:
        if k not in self.loaded:
            slot = self.loads[k]
            if slot.record == CONSTANTS and self.varying:
                self.loaded[k] = self.stored_constant(slot.index)
            elif slot.record == CONSTANTS:
                address = self.emit(f"getelementptr double, ptr %constants, i64 {slot.index}")
                scalar = self.emit(f"load double, ptr {address}, align 8, !invariant.load !1")
                first = self.emit(f"insertelement {self.V} poison, double {scalar}, i64 0")
                self.loaded[k] = self.emit(
                    f"shufflevector {self.V} {first}, {self.V} poison, <{self.lanes} x i32> zeroinitializer"
                )
            else:
                address = self.emit(f"getelementptr {self.V}, ptr %r{slot.record}, i64 {slot.index}")
                self.loaded[k] = self.emit(f"load {self.V}, ptr {address}, align {8 * self.lanes}")
        return self.loaded[k]

    def constant(self, x: float) -> str:
        return f"splat (double {float_literal(x)})"

    def stored_constant(self, index: int) -> str:
        """Return a constant that lies in all lanes of vector `index` of the constants."""
        address = self.emit(f"getelementptr {self.V}, ptr %constants, i64 {index}")
        return self.emit(f"load {self.V}, ptr {address}, align {8 * self.lanes}, !invariant.load !1")

    def sincos(self, x: str) -> tuple[str, str]:
        if x not in self.sines:
            pair = f"{{{self.V}, {self.V}}}"
            both = self.emit(f"call {pair} @sincos({self.V} {x})")
            self.sines[x] = (
                self.emit(f"extractvalue {pair} {both}, 0"),
                self.emit(f"extractvalue {pair} {both}, 1"),
            )
        return self.sines[x]

    def lane_by_lane(self, function: str, *operands: str) -> str:
        result = "poison"
        for i in range(self.lanes):
            scalars = [self.emit(f"extractelement {self.V} {x}, i64 {i}") for x in operands]
            value = self.emit(f"call double @{function}({', '.join('double ' + s for s in scalars)})")
            result = self.emit(f"insertelement {self.V} {result}, double {value}, i64 {i}")
        return result

    def flag(self, condition: str) -> str:
        one, zero = self.constant(1.0), self.constant(0.0)
        return self.emit(f"select <{self.lanes} x i1> {condition}, {self.V} {one}, {self.V} {zero}")

    def is_true(self, x: str) -> str:
        return self.emit(f"fcmp une {self.V} {x}, zeroinitializer")

    def instruction(self, op: str, ins: list[int], outs: list[int], constant: Any) -> None:
        if op == "OP_INPUT":
            self.work[outs[0]] = self.load(ins[1])
        elif op == "OP_OUTPUT":
            slot = self.stores[outs[1]]
            address = self.emit(f"getelementptr {self.V}, ptr %r{slot.record}, i64 {slot.index}")
            self.lines.append(f"  store {self.V} {self.work[ins[0]]}, ptr {address}, align {8 * self.lanes}")
        elif op == "OP_CONST":
            self.work[outs[0]] = self.constant(constant())
        else:
            self.work[outs[0]] = self.value(op, *(self.work[k] for k in ins))

    def value(self, op: str, x: str, y: str = "") -> str:
        V, lanes = self.V, self.lanes
        if op in ARITHMETIC:
            return self.emit(f"{ARITHMETIC[op]} {FLAGS} {V} {x}, {y}")
        if op == "OP_ASSIGN":
            return x
        if op == "OP_NEG":
            return self.emit(f"fneg {V} {x}")
        if op == "OP_SQ":
            return self.emit(f"fmul {FLAGS} {V} {x}, {x}")
        if op == "OP_TWICE":
            return self.emit(f"fadd {FLAGS} {V} {x}, {x}")
        if op == "OP_INV":
            return self.emit(f"fdiv {FLAGS} {V} {self.constant(1.0)}, {x}")
        if op == "OP_SIN":
            return self.sincos(x)[0]
        if op == "OP_COS":
            return self.sincos(x)[1]
        if op in INTRINSICS:
            return self.emit(f"call {V} @llvm.{INTRINSICS[op]}.v{lanes}f64({V} {x})")
        if op in ("OP_FMIN", "OP_FMAX"):
            return self.emit(
                f"call {V} @llvm.{'minnum' if op == 'OP_FMIN' else 'maxnum'}.v{lanes}f64({V} {x}, {V} {y})"
            )
        if op == "OP_COPYSIGN":
            return self.emit(f"call {V} @llvm.copysign.v{lanes}f64({V} {x}, {V} {y})")
        if op == "OP_SIGN":
            up = self.flag(self.emit(f"fcmp ogt {V} {x}, zeroinitializer"))
            down = self.flag(self.emit(f"fcmp olt {V} {x}, zeroinitializer"))
            return self.emit(f"fsub {V} {up}, {down}")
        if op in COMPARISONS:
            return self.flag(self.emit(f"fcmp {COMPARISONS[op]} {V} {x}, {y}"))
        if op == "OP_NOT":
            return self.flag(self.emit(f"fcmp oeq {V} {x}, zeroinitializer"))
        if op in ("OP_AND", "OP_OR"):
            kind = "and" if op == "OP_AND" else "or"
            return self.flag(self.emit(f"{kind} <{lanes} x i1> {self.is_true(x)}, {self.is_true(y)}"))
        if op == "OP_IF_ELSE_ZERO":
            condition = self.is_true(x)
            return self.emit(f"select <{lanes} x i1> {condition}, {V} {y}, {V} zeroinitializer")
        if op == "OP_CONSTPOW":
            return self.lane_by_lane("pow", x, y)
        if op in UNARY_CALLS:
            return self.lane_by_lane(UNARY_CALLS[op], x)
        if op in BINARY_CALLS:
            return self.lane_by_lane(BINARY_CALLS[op], x, y)
        raise KernelError(f"A step uses the operation {op[3:].lower()}, which cannot be compiled into lanes.")

    def function(self, name: str) -> str:
        arguments = ", ".join(f"ptr noalias %r{k}" for k in range(RECORDS))
        body = "\n".join(self.lines)
        return (
            f"define void @{name}({arguments}, ptr noalias readonly %constants) {{\n{body}\n  ret void\n}}\n"
        )
