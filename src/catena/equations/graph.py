"""Expression graphs: scalar operations in order, each done once, with constants folded.

A node is a number, an entry of an input, or an operation on one or two earlier nodes. Graphs are made from CasADi
expressions. While a graph grows, equal operations on equal operands become one node whatever the order of the
operands, numbers are computed with at once, signs move outwards until an addition or a subtraction takes them up, and
terms that differ by a number only are added as such. Quotients by the same divisor share its reciprocal.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from catena.equations.numeric import FUNCTIONS
from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import Call, Unrolled
from catena.errors import KernelError

CONSTANT, INPUT = "constant", "input"
# What is left of numbers of a certain size when they cancel is rounding if it is below this part of them; a number that
# differs from a whole one by as much is meant to be whole.
ROUNDING = 16.0 * np.finfo(float).eps
# Products of more factors than this are not compared factor by factor.
MOST_FACTORS = 8


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
    calls: tuple[Call, ...] = ()
    parameters: frozenset[str] = frozenset()

    @staticmethod
    def of(unrolled: Unrolled, shared: bool = True) -> "ExpressionGraph":
        """The graph of an unrolled algorithm. Unless it is `shared`, a call of a step does for itself what another
        happens to do as well, so that calls wait for each other only where one needs the other's results."""
        inputs = {**unrolled.inputs, **unrolled.parameters}
        graph = graph_of(
            unrolled.name, inputs, unrolled.outputs, unrolled.calls, unrolled.made, shared=shared
        )
        return replace(graph, parameters=frozenset(unrolled.parameters))

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def operations(self) -> np.ndarray:
        """The nodes that are operations, without numbers and inputs."""
        return np.array([k for k, op in enumerate(self.op) if op not in (CONSTANT, INPUT)], dtype=np.int64)

    def operands(self, k: int) -> tuple[int, ...]:
        """The nodes that an operation needs."""
        if self.op[k] in (CONSTANT, INPUT):
            return ()
        return (int(self.left[k]),) if self.right[k] < 0 else (int(self.left[k]), int(self.right[k]))

    def expressions(self, symbols: Mapping[str, Sequence[Any]] | None = None) -> dict[str, np.ndarray]:
        """The outputs as CasADi expressions of `symbols`, or of symbols of their own (`symbols_of`)."""
        import casadi

        from catena.spatial.scalars import array

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
        from catena.equations.unrolling import new_symbols

        return {name: new_symbols(name, size) for name, size in self.inputs.items()}

    @cached_property
    def function(self) -> Any:
        """The CasADi function of all inputs, as columns, to all outputs, as dense matrices."""
        import casadi

        outputs = [_matrix(x) for x in self.expressions().values()]
        arguments = [casadi.vertcat(*x) if len(x) else casadi.SX(0, 1) for x in self.symbols.values()]
        names = [identifier(n) for n in self.inputs], [identifier(n) for n in self.outputs]
        return casadi.Function(identifier(self.name), arguments, outputs, *names)

    def evaluate(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs (states, *shape) for inputs (states, n) or (n,)."""
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


def graph_of(
    name: str,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    calls: Sequence[Call] = (),
    made: Sequence[Sequence[Any]] = (),
    literal: bool = False,
    shared: bool = True,
) -> ExpressionGraph:
    """The graph of CasADi expressions: `inputs` maps names to arrays (n,) of symbols, `outputs` names to arrays of
    expressions or numbers. `made` are the expressions that each of the `calls` made first, in order. A `literal` graph
    does what is written: it drops zeros and ones and does nothing twice, but it neither adds like terms nor shares
    reciprocals."""
    builder = GraphBuilder(inputs, literal, shared)
    groups = [list(expressions) for expressions in made]
    flat = [entry for where in outputs.values() for entry in np.asarray(where, dtype=object).ravel()]
    results = builder.read([*groups, flat])
    shapes = {n: np.shape(where) for n, where in outputs.items()}
    return builder.finish(name, shapes, results, calls)


class GraphBuilder:
    """A graph while it grows; what `literal` and `shared` mean, `graph_of` and `ExpressionGraph.of` tell."""

    def __init__(self, inputs: Mapping[str, np.ndarray], literal: bool = False, shared: bool = True) -> None:
        self._symbols, self.literal, self.shared = inputs, literal, shared
        self.op: list[str] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.value: list[float] = []
        self.owner: list[int] = []
        # What a node is a product of: a number, and the nodes that are no products, in order.
        self.factors: list[tuple[float, tuple[int, ...]]] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self._current = -1
        self.entries = [
            [self._node(INPUT, k, i) for i in range(len(x))] for k, x in enumerate(inputs.values())
        ]

    def read(self, groups: Sequence[Sequence[Any]]) -> list[int]:
        """Add the expressions of all groups in order, and return the nodes of the last group. The nodes that group k is
        the first to need belong to call k; those of the last group belong to none."""
        import casadi

        symbols = [casadi.vertcat(*x) if len(x) else casadi.SX(0, 1) for x in self._symbols.values()]
        column = casadi.vertcat(*(casadi.SX(e) for group in groups for e in group))
        try:
            function = casadi.Function("graph", symbols, [casadi.densify(column)])
        except RuntimeError as error:
            raise KernelError(f"An expression depends on a symbol that is no input: {error}") from error
        names = _operation_names()
        ends = np.cumsum([len(group) for group in groups])
        results: list[int] = []
        work: dict[int, int] = {}
        call, done = 0, 0
        for i in range(function.n_instructions()):
            while call < len(groups) and done == ends[call]:
                call += 1
            self._enter(call if call < len(groups) - 1 else -1)
            op, ins, outs = (
                names[function.instruction_id(i)],
                function.instruction_input(i),
                function.instruction_output(i),
            )
            if op == "OP_OUTPUT":
                results.append(work[ins[0]])
                done += 1
            elif op == "OP_INPUT":
                work[outs[0]] = self.entries[ins[0]][ins[1]]
            elif op == "OP_CONST":
                work[outs[0]] = self.constant(function.instruction_constant(i))
            else:
                work[outs[0]] = self.apply(op, *(work[k] for k in ins))
        return results[len(results) - len(groups[-1]) :] if groups[-1] else []

    def apply(self, op: str, *operands: int) -> int:
        """The node of a CasADi operation on nodes."""
        if op not in _RULES:
            raise KernelError(f"An expression uses the operation {op[3:].lower()}, which graphs do not know.")
        return _RULES[op](self, *operands)

    def constant(self, x: float) -> int:
        """The node of a number."""
        whole = round(x) if abs(x) < 3.0 else 0
        if whole and abs(x - whole) <= ROUNDING:
            x = float(whole)
        key = (CONSTANT, x, math.copysign(1.0, x))
        if key not in self._known:
            self._known[key] = self._node(CONSTANT, -1, -1, x)
        return self._known[key]

    def number(self, k: int) -> float | None:
        """The number that a node is, or None."""
        return self.value[k] if self.op[k] == CONSTANT else None

    def node(self, op: str, a: int, b: int = -1) -> int:
        """The node of an operation as it is, the one there is already if there is one."""
        key = (op, a, b)
        if key not in self._known:
            self._known[key] = self._node(op, a, b)
        return self._known[key]

    def has(self, op: str, a: int, b: int = -1) -> bool:
        """Whether there is such a node."""
        return (op, a, b) in self._known

    def _node(self, op: str, a: int, b: int, value: float = 0.0) -> int:
        self.op.append(op)
        self.left.append(a)
        self.right.append(b)
        self.value.append(value)
        self.owner.append(self._current)
        self.factors.append(self._product(op, a, b))
        return len(self.op) - 1

    def _product(self, op: str, a: int, b: int) -> tuple[float, tuple[int, ...]]:
        if op == "add" and a == b:
            return 2.0 * self.factors[a][0], self.factors[a][1]
        if op == "mul":
            if self.op[a] == CONSTANT:
                return self.value[a] * self.factors[b][0], self.factors[b][1]
            nodes = sorted((*self.factors[a][1], *self.factors[b][1]))
            if len(nodes) <= MOST_FACTORS:
                return self.factors[a][0] * self.factors[b][0], tuple(nodes)
        return 1.0, (len(self.op) - 1,)

    def set_owner(self, call: int) -> None:
        """New nodes belong to this call from now on."""
        self._current = call

    def _enter(self, call: int) -> None:
        if call != self._current and not self.shared:
            self._known = {key: k for key, k in self._known.items() if key[0] == CONSTANT}
        self._current = call

    def finish(
        self,
        name: str,
        shapes: Mapping[str, tuple[int, ...]],
        results: list[int],
        calls: Sequence[Call] = (),
        parameters: frozenset[str] = frozenset(),
    ) -> ExpressionGraph:
        """The graph of what the results need."""
        needed = np.zeros(len(self.op), dtype=bool)
        needed[results] = True
        for k in range(len(self.op) - 1, -1, -1):
            if needed[k] and self.op[k] not in (CONSTANT, INPUT):
                needed[self.left[k]] = True
                if self.right[k] >= 0:
                    needed[self.right[k]] = True
        self._divide(needed)
        place = np.cumsum(needed) - 1
        kept = np.flatnonzero(needed)
        op = tuple(self.op[k] for k in kept)
        left, right = (
            np.array(
                [x[k] if self.op[k] == INPUT else place[x[k]] if x[k] >= 0 else -1 for k in kept],
                dtype=np.int64,
            )
            for x in (self.left, self.right)
        )
        outputs, at = {}, 0
        for output, shape in shapes.items():
            size = int(np.prod(shape))
            outputs[output] = place[results[at : at + size]].reshape(shape)
            at += size
        sizes = {n: len(x) for n, x in self._symbols.items()}
        value, owner = np.array(self.value)[kept], np.array(self.owner, dtype=np.int64)[kept]
        return ExpressionGraph(name, op, left, right, value, sizes, outputs, owner, tuple(calls), parameters)

    def _divide(self, needed: np.ndarray) -> None:
        """Make a quotient of a product with a reciprocal that nothing else needs."""
        uses = np.zeros(len(self.op), dtype=np.int64)
        for k in np.flatnonzero(needed):
            if self.op[k] not in (CONSTANT, INPUT):
                uses[self.left[k]] += 1
                if self.right[k] >= 0:
                    uses[self.right[k]] += 1
        for k in np.flatnonzero(needed):
            if self.op[k] == "mul":
                for inverse, factor in ((self.left[k], self.right[k]), (self.right[k], self.left[k])):
                    if self.op[inverse] == "inv" and uses[inverse] == 1:
                        self.op[k], self.left[k], self.right[k] = "div", factor, self.left[inverse]
                        needed[inverse] = False
                        break


Rule = Callable[..., int]


def _negated(g: GraphBuilder, a: int) -> int | None:
    """The node whose negative a is, or None."""
    return g.left[a] if g.op[a] == "neg" else None


def _neg(g: GraphBuilder, a: int) -> int:
    x, inner = g.number(a), _negated(g, a)
    if x is not None:
        return g.constant(-x)
    if inner is not None:
        return inner
    if g.op[a] == "sub":
        return g.node("sub", g.right[a], g.left[a])
    return g.node("neg", a)


def _add(g: GraphBuilder, a: int, b: int) -> int:
    x, y = g.number(a), g.number(b)
    if x is not None and y is not None:
        return g.constant(_total(x, y))
    if x == 0.0:
        return b
    if y == 0.0:
        return a
    na, nb = _negated(g, a), _negated(g, b)
    if na is not None and nb is not None:
        return _neg(g, _add(g, na, nb))
    if nb is not None:
        return _sub(g, a, nb)
    if na is not None:
        return _sub(g, b, na)
    like = _times(g, a, b, 1.0)
    return g.node("add", min(a, b), max(a, b)) if like is None else like


def _times(g: GraphBuilder, a: int, b: int, sign: float) -> int | None:
    """a + sign b as a multiple of a where b is one, else None."""
    (x, left), (y, right) = g.factors[a], g.factors[b]
    if left != right or g.literal:
        return None
    return _mul(g, g.constant(_total(1.0, sign * y / x)), a)


def _total(x: float, y: float) -> float:
    total = x + y
    return 0.0 if abs(total) <= ROUNDING * max(abs(x), abs(y)) else total


def _sub(g: GraphBuilder, a: int, b: int) -> int:
    x, y = g.number(a), g.number(b)
    if x is not None and y is not None:
        return g.constant(_total(x, -y))
    if a == b:
        return g.constant(0.0)
    if y == 0.0:
        return a
    if x == 0.0:
        return _neg(g, b)
    na, nb = _negated(g, a), _negated(g, b)
    if nb is not None:
        return _add(g, a, nb)
    if na is not None:
        return _neg(g, _add(g, na, b))
    like = _times(g, a, b, -1.0)
    if like is not None:
        return like
    if g.has("sub", b, a):
        return g.node("neg", g.node("sub", b, a))
    return g.node("sub", a, b)


def _mul(g: GraphBuilder, a: int, b: int) -> int:
    x, y = g.number(a), g.number(b)
    if x is not None and y is not None:
        return g.constant(x * y)
    if y is not None:
        a, b, x, y = b, a, y, x
    if x is not None:
        if x == 0.0:
            return g.constant(0.0)
        if x == 1.0:
            return b
        if x == 2.0:
            return g.node("add", b, b)
        if x < 0.0:
            return _neg(g, _mul(g, g.constant(-x), b))
        if g.op[b] == "mul" and (inner := g.number(g.left[b])) is not None:
            return _mul(g, g.constant(x * inner), g.right[b])
    na, nb = _negated(g, a), _negated(g, b)
    if na is not None or nb is not None:
        product = _mul(g, a if na is None else na, b if nb is None else nb)
        return product if na is not None and nb is not None else _neg(g, product)
    if x is None:
        a, b = min(a, b), max(a, b)
    return g.node("mul", a, b)


def _inv(g: GraphBuilder, a: int) -> int:
    x, inner = g.number(a), _negated(g, a)
    if x is not None:
        return g.constant(1.0 / x if x else math.inf)
    if inner is not None:
        return _neg(g, _inv(g, inner))
    return g.left[a] if g.op[a] == "inv" else g.node("inv", a)


def _div(g: GraphBuilder, a: int, b: int) -> int:
    if not g.literal or g.number(b) is not None:
        return _mul(g, a, _inv(g, b))
    na, nb = _negated(g, a), _negated(g, b)
    if na is None and nb is None:
        return g.node("div", a, b)
    quotient = _div(g, a if na is None else na, b if nb is None else nb)
    return quotient if na is not None and nb is not None else _neg(g, quotient)


def _folded(name: str, f: Callable[..., float]) -> Rule:
    """A rule that computes with numbers and does nothing else."""

    def rule(g: GraphBuilder, *operands: int) -> int:
        numbers = [g.number(k) for k in operands]
        if any(x is None for x in numbers):
            return g.node(name, *operands)
        return g.constant(float(f(*numbers)))

    return rule


def _sin(g: GraphBuilder, a: int) -> int:
    inner = _negated(g, a)
    return _folded("sin", math.sin)(g, a) if inner is None else _neg(g, _sin(g, inner))


def _cos(g: GraphBuilder, a: int) -> int:
    inner = _negated(g, a)
    return _folded("cos", math.cos)(g, a if inner is None else inner)


def _fabs(g: GraphBuilder, a: int) -> int:
    inner = _negated(g, a)
    return _folded("fabs", abs)(g, a if inner is None else inner)


def _if_else_zero(g: GraphBuilder, a: int, b: int) -> int:
    x = g.number(a)
    if x is not None:
        return b if x else g.constant(0.0)
    return g.node("if_else_zero", a, b)


def _constpow(g: GraphBuilder, a: int, b: int) -> int:
    if g.number(b) == 2.0:
        return _mul(g, a, a)
    return _folded("pow", math.pow)(g, a, b)


_RULES: dict[str, Rule] = {
    **{f"OP_{name.upper()}": _folded(name, f) for name, f in FUNCTIONS.items()},
    "OP_ADD": _add, "OP_SUB": _sub, "OP_MUL": _mul, "OP_NEG": _neg, "OP_INV": _inv, "OP_SIN": _sin, "OP_COS": _cos,
    "OP_FABS": _fabs, "OP_IF_ELSE_ZERO": _if_else_zero, "OP_CONSTPOW": _constpow,
    "OP_DIV": _div,
    "OP_SQ": lambda g, a: _mul(g, a, a),
    "OP_TWICE": lambda g, a: _add(g, a, a),
    "OP_ASSIGN": lambda g, a: a,
}  # fmt: skip


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

_OPERATION_NAMES: dict[int, str] = {}


def _operation_names() -> dict[int, str]:
    if not _OPERATION_NAMES:
        import casadi

        _OPERATION_NAMES.update({getattr(casadi, k): k for k in dir(casadi) if k.startswith("OP_")})
    return _OPERATION_NAMES


def _matrix(x: np.ndarray) -> Any:
    """An array of one or two dimensions as a dense CasADi matrix; one with more becomes a column."""
    import casadi

    if x.ndim != 2:
        x = x.reshape(-1, 1)
    if x.size == 0:
        return casadi.SX(*x.shape)
    column = casadi.densify(casadi.vertcat(*(casadi.SX(e) for e in x.T.ravel())))
    return casadi.reshape(column, *x.shape)


def identifier(name: str) -> str:
    """A name that programming languages accept."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    while "__" in text:
        text = text.replace("__", "_")
    return text.strip("_") or "x"
