"""Expression graphs: scalar operations in order, each done once, with constants folded; and their values as numbers.

A node is a number, an entry of an input, or an operation on one or two earlier nodes. `building` makes graphs from
CasADi expressions.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import UnrolledCall, new_symbols
from catena.spatial.scalars import array

FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "tan": math.tan, "asin": math.asin, "acos": math.acos,
    "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "asinh": math.asinh,
    "acosh": math.acosh, "atanh": math.atanh, "expm1": math.expm1, "log1p": math.log1p, "erf": math.erf,
    "floor": lambda x: float(math.floor(x)), "ceil": lambda x: float(math.ceil(x)), "atan2": math.atan2,
    "pow": math.pow, "hypot": math.hypot, "fmod": math.fmod, "fmin": min, "fmax": max, "copysign": math.copysign,
    "sign": lambda x: float(x > 0) - float(x < 0), "lt": lambda x, y: float(x < y), "le": lambda x, y: float(x <= y),
    "eq": lambda x, y: float(x == y), "ne": lambda x, y: float(x != y), "not": lambda x: float(not x),
    "and": lambda x, y: float(bool(x and y)), "or": lambda x, y: float(bool(x or y)),
}  # fmt: skip
"""What has no rule of its own while a graph grows."""

ALL: dict[str, Callable[..., float]] = {
    **FUNCTIONS,
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "neg": lambda x: -x, "inv": lambda x: 1.0 / x, "sin": math.sin, "cos": math.cos, "fabs": abs,
    "if_else_zero": lambda condition, x: x if condition else 0.0,
}  # fmt: skip


def apply(op: str, *operands: float) -> float:
    """Return the value of an operation, by its name in a graph."""
    return float(ALL[op](*operands))


CONSTANT, INPUT = "constant", "input"


@dataclass(frozen=True, eq=False)
class ExpressionGraph:
    """Scalar operations in an order in which they can be done.

    Node k is `op[k]` of the nodes `left[k]` and `right[k]` (-1 where there is none). A constant has its `value[k]`; an
    input is entry `right[k]` of the input with number `left[k]`. `inputs` maps names to numbers of entries, arguments
    first and `parameters` after them, `outputs` names to arrays of nodes. `owner[k]` is the index in `calls` of the
    call of a step that needed node k first, -1 where that was not noted.
    """

    name: str
    op: tuple[str, ...]
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    inputs: Mapping[str, int]
    outputs: Mapping[str, np.ndarray]
    owner: np.ndarray
    calls: tuple[UnrolledCall, ...] = ()
    parameters: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def operations(self) -> np.ndarray:
        """The nodes that are operations, without numbers and inputs."""
        return np.array([k for k, op in enumerate(self.op) if op not in (CONSTANT, INPUT)], dtype=np.int64)

    def operands(self, k: int) -> tuple[int, ...]:
        """Return the nodes that an operation needs."""
        if self.op[k] in (CONSTANT, INPUT):
            return ()
        return (int(self.left[k]),) if self.right[k] < 0 else (int(self.left[k]), int(self.right[k]))

    def expressions(self, symbols: Mapping[str, Sequence[Any]] | None = None) -> dict[str, np.ndarray]:
        """Return the outputs as CasADi expressions of `symbols`, or of the graph's own `symbols`."""
        import casadi

        entries = list((self.symbols if symbols is None else symbols).values())
        nodes: list[Any] = []
        with quick_symbols():
            for k, op in enumerate(self.op):
                if op == CONSTANT:
                    nodes.append(casadi.SX(self.value[k]))
                elif op == INPUT:
                    nodes.append(entries[self.left[k]][self.right[k]])
                else:
                    nodes.append(_CASADI[op](*(nodes[i] for i in self.operands(k))))
        return {
            name: array([nodes[k] for k in where.ravel()]).reshape(where.shape)
            for name, where in self.outputs.items()
        }

    @cached_property
    def symbols(self) -> dict[str, np.ndarray]:
        """CasADi symbols for all inputs, {name: (n,)}."""
        return {name: new_symbols(name, size) for name, size in self.inputs.items()}

    @cached_property
    def words(self) -> dict[str, str]:
        """What each input is called in a program: its name as an identifier, with a number behind it where an earlier
        one is called so already, as of frames that are named alike but for a blank."""
        found: dict[str, str] = {}
        taken: set[str] = set()
        for name in self.inputs:
            word = base = identifier(name)
            count = 1
            while word in taken:
                count += 1
                word = f"{base}_{count}"
            taken.add(word)
            found[name] = word
        return found

    @cached_property
    def function(self) -> Any:
        """The CasADi function of all inputs, as columns, to all outputs, as dense matrices."""
        import casadi

        outputs = [_matrix(x) for x in self.expressions().values()]
        arguments = [casadi.vertcat(*x) if len(x) else casadi.SX(0, 1) for x in self.symbols.values()]
        names = list(self.words.values()), [identifier(n) for n in self.outputs]
        return casadi.Function(identifier(self.name), arguments, outputs, *names)

    def evaluate(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs (states, *shape) for inputs (states, n) or (n,)."""
        rows = [np.atleast_2d(np.asarray(values[name], dtype=float)) for name in self.inputs]
        states = max((len(r) for r in rows if r.shape[1]), default=1)
        if states == 0:
            return {name: np.zeros((0, *where.shape)) for name, where in self.outputs.items()}
        columns = [np.broadcast_to(r, (states, r.shape[1])).T for r in rows]
        results = self._columns(*columns) if columns else self._columns()
        results = results if isinstance(results, tuple) else (results,)
        return {
            name: np.asarray(y, dtype=float).T.reshape(-1, *where.shape)
            + np.zeros((states, *[1] * where.ndim))
            for (name, where), y in zip(self.outputs.items(), results, strict=True)
        }

    @cached_property
    def _columns(self) -> Any:
        """The function with each output as one column, which runs over the columns of its arguments."""
        import casadi

        arguments = [casadi.vertcat(*x) if len(x) else casadi.SX(0, 1) for x in self.symbols.values()]
        outputs = [_matrix(x.reshape(-1)) for x in self.expressions().values()]
        return casadi.Function("columns", arguments, outputs)


def _casadi_operations() -> Iterable[tuple[str, Callable[..., Any]]]:
    binary = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
        "pow": lambda x, y: x**y,
    }  # fmt: skip
    yield from binary.items()
    yield "neg", lambda x: -x
    yield "inv", lambda x: 1.0 / x

    def named(name: str) -> Callable[..., Any]:
        def function(*operands: Any) -> Any:
            import casadi

            return getattr(casadi, name)(*operands)

        return function

    names = {"not": "logic_not", "and": "logic_and", "or": "logic_or"}
    yield "if_else_zero", lambda condition, x: named("if_else")(condition, x, 0.0)
    for name in (*FUNCTIONS, "sin", "cos", "fabs"):
        if name not in binary:
            yield name, named(names.get(name, name))


_CASADI: dict[str, Callable[..., Any]] = dict(_casadi_operations())


def _matrix(x: np.ndarray) -> Any:
    """Return an array of one or two dimensions as a dense CasADi matrix; one with more becomes a column."""
    import casadi

    if x.ndim != 2:
        x = x.reshape(-1, 1)
    if x.size == 0:
        return casadi.SX(*x.shape)
    column = casadi.densify(casadi.vertcat(*(casadi.SX(e) for e in x.T.ravel())))
    return casadi.reshape(column, *x.shape)


def identifier(name: str) -> str:
    """Return a name that programming languages accept."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    while "__" in text:
        text = text.replace("__", "_")
    text = text.strip("_") or "x"
    return f"x{text}" if text[0].isdigit() else text
