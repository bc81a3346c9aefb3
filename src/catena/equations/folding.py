"""What becomes of an operation when a graph grows: rules that leave out what is superfluous.

Numbers are computed with at once, zeros and ones vanish, signs move outwards until an addition or a subtraction takes
them up, terms that differ by a number only are added as such, and quotients by the same divisor share its reciprocal.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from catena.equations.numeric import FUNCTIONS

if TYPE_CHECKING:
    from catena.equations.building import GraphBuilder

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
