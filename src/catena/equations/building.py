"""Making expression graphs: from CasADi expressions, and operation by operation.

While a graph grows, equal operations on equal operands become one node whatever the order of the operands, and
rules leave out what is superfluous: numbers are computed with at once, zeros and ones vanish, signs move outwards until
an addition or a subtraction takes them up, terms that differ by a number only are added as such, and quotients by the
same divisor share its reciprocal.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.equations.graph import CONSTANT, FUNCTIONS, INPUT, ExpressionGraph
from catena.equations.unrolling import Unrolled, UnrolledCall
from catena.errors import KernelError

# What is left of numbers of a certain size when they cancel is rounding if it is below this part of them; a number that
# differs from a whole one by as much is meant to be whole.
ROUNDING = 16.0 * np.finfo(float).eps

Rule = Callable[..., int]


def _negated(g: "GraphBuilder", a: int) -> int | None:
    """Return the node whose negative a is, or None."""
    return g.left[a] if g.op[a] == "neg" else None


def _neg(g: "GraphBuilder", a: int) -> int:
    x, inner = g.number(a), _negated(g, a)
    if x is not None:
        return g.constant(-x)
    if inner is not None:
        return inner
    if g.op[a] == "sub":
        return g.node("sub", g.right[a], g.left[a])
    return g.node("neg", a)


def _add(g: "GraphBuilder", a: int, b: int) -> int:
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


def _times(g: "GraphBuilder", a: int, b: int, sign: float) -> int | None:
    """a + sign b as a multiple of a where b is one, else None."""
    (x, left), (y, right) = g.factors[a], g.factors[b]
    if left != right or g.literal:
        return None
    return _mul(g, g.constant(_total(1.0, sign * y / x)), a)


def _total(x: float, y: float) -> float:
    total = x + y
    return 0.0 if abs(total) <= ROUNDING * max(abs(x), abs(y)) else total


def _sub(g: "GraphBuilder", a: int, b: int) -> int:
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


def _mul(g: "GraphBuilder", a: int, b: int) -> int:
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


def _inv(g: "GraphBuilder", a: int) -> int:
    x, inner = g.number(a), _negated(g, a)
    if x is not None:
        return g.constant(1.0 / x if x else math.inf)
    if inner is not None:
        return _neg(g, _inv(g, inner))
    return g.left[a] if g.op[a] == "inv" else g.node("inv", a)


def _div(g: "GraphBuilder", a: int, b: int) -> int:
    if not g.literal or g.number(b) is not None:
        return _mul(g, a, _inv(g, b))
    na, nb = _negated(g, a), _negated(g, b)
    if na is None and nb is None:
        return g.node("div", a, b)
    quotient = _div(g, a if na is None else na, b if nb is None else nb)
    return quotient if na is not None and nb is not None else _neg(g, quotient)


def _folded(name: str, f: Callable[..., float]) -> Rule:
    """Return a rule that computes with numbers and does nothing else."""

    def rule(g: "GraphBuilder", *operands: int) -> int:
        numbers = [g.number(k) for k in operands]
        if any(x is None for x in numbers):
            return g.node(name, *operands)
        return g.constant(float(f(*numbers)))

    return rule


def _sin(g: "GraphBuilder", a: int) -> int:
    inner = _negated(g, a)
    return _folded("sin", math.sin)(g, a) if inner is None else _neg(g, _sin(g, inner))


def _cos(g: "GraphBuilder", a: int) -> int:
    inner = _negated(g, a)
    return _folded("cos", math.cos)(g, a if inner is None else inner)


def _fabs(g: "GraphBuilder", a: int) -> int:
    inner = _negated(g, a)
    return _folded("fabs", abs)(g, a if inner is None else inner)


def _if_else_zero(g: "GraphBuilder", a: int, b: int) -> int:
    x = g.number(a)
    if x is not None:
        return b if x else g.constant(0.0)
    return g.node("if_else_zero", a, b)


def _constpow(g: "GraphBuilder", a: int, b: int) -> int:
    if g.number(b) == 2.0:
        return _mul(g, a, a)
    return _folded("pow", math.pow)(g, a, b)


RULES: dict[str, Rule] = {
    **{f"OP_{name.upper()}": _folded(name, f) for name, f in FUNCTIONS.items()},
    "OP_ADD": _add, "OP_SUB": _sub, "OP_MUL": _mul, "OP_NEG": _neg, "OP_INV": _inv, "OP_SIN": _sin, "OP_COS": _cos,
    "OP_FABS": _fabs, "OP_IF_ELSE_ZERO": _if_else_zero, "OP_CONSTPOW": _constpow,
    "OP_DIV": _div,
    "OP_SQ": lambda g, a: _mul(g, a, a),
    "OP_TWICE": lambda g, a: _add(g, a, a),
    "OP_ASSIGN": lambda g, a: a,
}  # fmt: skip
"""The rule for every operation of CasADi that graphs know, by its name there."""


# Products of more factors than this are not compared factor by factor.
MOST_FACTORS = 8


def unrolled_graph(unrolled: Unrolled, shared: bool = True) -> ExpressionGraph:
    """Return the graph of an unrolled algorithm. Unless it is `shared`, a call of a step does for itself what another
    happens to do as well, so that calls wait for each other only where one needs the other's results."""
    inputs = {**unrolled.inputs, **unrolled.parameters}
    graph = graph_of(unrolled.name, inputs, unrolled.outputs, unrolled.calls, unrolled.made, shared=shared)
    return replace(graph, parameters=frozenset(unrolled.parameters))


def graph_of(
    name: str,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    calls: Sequence[UnrolledCall] = (),
    made: Sequence[Sequence[Any]] = (),
    literal: bool = False,
    shared: bool = True,
) -> ExpressionGraph:
    """Return the graph of CasADi expressions: `inputs` maps names to arrays (n,) of symbols, `outputs` names to arrays
    of expressions or numbers. `made` are the expressions that each of the `calls` made first, in order. A `literal`
    graph does what is written: it drops zeros and ones and does nothing twice, but it neither adds like terms nor
    shares reciprocals. One that is not `shared` besides does twice what is written twice."""
    builder = GraphBuilder(inputs, literal, shared)
    groups = [list(expressions) for expressions in made]
    flat = [entry for where in outputs.values() for entry in np.asarray(where, dtype=object).ravel()]
    results = builder.read([*groups, flat])
    shapes = {n: np.shape(where) for n, where in outputs.items()}
    return builder.finish(name, shapes, results, calls)


class GraphBuilder:
    """A graph while it grows; what `literal` and `shared` mean, `graph_of` and `unrolled_graph` tell."""

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
        """Return the node of a CasADi operation on nodes."""
        if op not in RULES:
            raise KernelError(f"An expression uses the operation {op[3:].lower()}, which graphs do not know.")
        return RULES[op](self, *operands)

    def constant(self, x: float) -> int:
        """Return the node of a number."""
        whole = round(x) if abs(x) < 3.0 else 0
        if whole and abs(x - whole) <= ROUNDING:
            x = float(whole)
        key = (CONSTANT, x, math.copysign(1.0, x))
        if key not in self._known:
            self._known[key] = self._node(CONSTANT, -1, -1, x)
        return self._known[key]

    def number(self, k: int) -> float | None:
        """Return the number that a node is, or None."""
        return self.value[k] if self.op[k] == CONSTANT else None

    def node(self, op: str, a: int, b: int = -1) -> int:
        """Return the node of an operation as it is, the one there is already if there is one."""
        key = (op, a, b)
        if key not in self._known or (self.literal and not self.shared):
            self._known[key] = self._node(op, a, b)
        return self._known[key]

    def has(self, op: str, a: int, b: int = -1) -> bool:
        """Return whether there is such a node."""
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
        calls: Sequence[UnrolledCall] = (),
        parameters: frozenset[str] = frozenset(),
    ) -> ExpressionGraph:
        """Return the graph of what the results need."""
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


_OPERATION_NAMES: dict[int, str] = {}


def _operation_names() -> dict[int, str]:
    if not _OPERATION_NAMES:
        import casadi

        _OPERATION_NAMES.update({getattr(casadi, k): k for k in dir(casadi) if k.startswith("OP_")})
    return _OPERATION_NAMES
