"""What a formula may compute: the functions by name, each for floats, for arrays and for symbols.

The three agree to rounding. Floats take the functions of the C library, which the symbols of CasADi use too; those of
NumPy are made for arrays and may differ in the last digit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class FormulaFunction:
    """A function of `least` to `most` arguments (None: as many as one likes), for floats and for arrays, and the name
    of what does the same for symbols.

    `takes` says what arguments are: "plain" numbers or angles, "alike" of one dimension, which is that of the result,
    or "any". `gives` says what the result is: "plain", "same" as the first argument, or "root" of it.
    """

    least: int
    most: int | None
    floats: Callable[..., float]
    arrays: Callable[..., Any]
    symbols: Callable[[Any], Callable[..., Any]]
    takes: str = "plain"
    gives: str = "plain"


def _named(name: str) -> Callable[[Any], Callable[..., Any]]:
    return lambda casadi: getattr(casadi, name)


def _all(name: str) -> Callable[[Any], Callable[..., Any]]:
    """Return a function of two for symbols, taken one argument after the other."""

    def of(casadi: Any) -> Callable[..., Any]:
        function = getattr(casadi, name)

        def result(first: Any, *others: Any) -> Any:
            for other in others:
                first = function(first, other)
            return first

        return result

    return of


def _sign(x: float) -> float:
    return float(x > 0.0) - float(x < 0.0)


def _step(x: float, edge: float = 0.0) -> float:
    return float(x >= edge)


def _clamp(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _ramp(x: float, first: float, last: float) -> float:
    return min(max((x - first) / (last - first), 0.0), 1.0)


def _smoothstep(x: float, first: float, last: float) -> float:
    s = _ramp(x, first, last)
    return s * s * (3.0 - 2.0 * s)


def _modulo(x: float, y: float) -> float:
    return x - y * math.floor(x / y)


def _array_ramp(x: Any, first: Any, last: Any) -> Any:
    return np.minimum(np.maximum((x - first) / (last - first), 0.0), 1.0)


def _array_smoothstep(x: Any, first: Any, last: Any) -> Any:
    s = _array_ramp(x, first, last)
    return s * s * (3.0 - 2.0 * s)


def _symbol_ramp(casadi: Any) -> Callable[..., Any]:
    return lambda x, first, last: casadi.fmin(casadi.fmax((x - first) / (last - first), 0.0), 1.0)


def _symbol_smoothstep(casadi: Any) -> Callable[..., Any]:
    def smoothstep(x: Any, first: Any, last: Any) -> Any:
        s = _symbol_ramp(casadi)(x, first, last)
        return s * s * (3.0 - 2.0 * s)

    return smoothstep


def _over_all(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def result(first: Any, *others: Any) -> Any:
        for other in others:
            first = function(first, other)
        return first

    return result


FUNCTIONS: dict[str, FormulaFunction] = {
    "sin": FormulaFunction(1, 1, math.sin, np.sin, _named("sin")),
    "cos": FormulaFunction(1, 1, math.cos, np.cos, _named("cos")),
    "tan": FormulaFunction(1, 1, math.tan, np.tan, _named("tan")),
    "asin": FormulaFunction(1, 1, math.asin, np.arcsin, _named("asin")),
    "acos": FormulaFunction(1, 1, math.acos, np.arccos, _named("acos")),
    "atan": FormulaFunction(1, 1, math.atan, np.arctan, _named("atan")),
    "atan2": FormulaFunction(2, 2, math.atan2, np.arctan2, _named("atan2"), takes="alike"),
    "sinh": FormulaFunction(1, 1, math.sinh, np.sinh, _named("sinh")),
    "cosh": FormulaFunction(1, 1, math.cosh, np.cosh, _named("cosh")),
    "tanh": FormulaFunction(1, 1, math.tanh, np.tanh, _named("tanh")),
    "exp": FormulaFunction(1, 1, math.exp, np.exp, _named("exp")),
    "log": FormulaFunction(1, 1, math.log, np.log, _named("log")),
    "sqrt": FormulaFunction(1, 1, math.sqrt, np.sqrt, _named("sqrt"), takes="any", gives="root"),
    "abs": FormulaFunction(1, 1, math.fabs, np.abs, _named("fabs"), takes="any", gives="same"),
    "sign": FormulaFunction(1, 1, _sign, np.sign, _named("sign"), takes="any"),
    "floor": FormulaFunction(1, 1, lambda x: float(math.floor(x)), np.floor, _named("floor")),
    "ceil": FormulaFunction(1, 1, lambda x: float(math.ceil(x)), np.ceil, _named("ceil")),
    "mod": FormulaFunction(
        2, 2, _modulo, lambda x, y: x - y * np.floor(x / y),
        lambda casadi: lambda x, y: x - y * casadi.floor(x / y), takes="alike", gives="same",
    ),
    "hypot": FormulaFunction(2, 2, math.hypot, np.hypot, _named("hypot"), takes="alike", gives="same"),
    "min": FormulaFunction(2, None, min, _over_all(np.minimum), _all("fmin"), takes="alike", gives="same"),
    "max": FormulaFunction(2, None, max, _over_all(np.maximum), _all("fmax"), takes="alike", gives="same"),
    "clamp": FormulaFunction(
        3, 3, _clamp, lambda x, low, high: np.minimum(np.maximum(x, low), high),
        lambda casadi: lambda x, low, high: casadi.fmin(casadi.fmax(x, low), high),
        takes="alike", gives="same",
    ),
    "step": FormulaFunction(
        1, 2, _step, lambda x, edge=0.0: (x >= edge) * 1.0,
        lambda casadi: lambda x, edge=0.0: casadi.if_else(x >= edge, 1.0, 0.0), takes="alike",
    ),
    "ramp": FormulaFunction(3, 3, _ramp, _array_ramp, _symbol_ramp, takes="alike"),
    "smoothstep": FormulaFunction(3, 3, _smoothstep, _array_smoothstep, _symbol_smoothstep, takes="alike"),
}  # fmt: skip
"""The functions of formulas by name. step(x, edge) is 0 before the edge (0 unless given) and 1 from there;
ramp(x, a, b) rises from 0 at a to 1 at b on a line, smoothstep(x, a, b) on 3 s^2 - 2 s^3; clamp(x, low, high) stays
between."""

OPERATORS: dict[str, tuple[int, Callable[..., Any]]] = {
    "+": (2, operator.add),
    "-": (2, operator.sub),
    "*": (2, operator.mul),
    "/": (2, operator.truediv),
    "negative": (1, operator.neg),
}
"""Signs between numbers that mean the same for floats, arrays and symbols, and how many they take."""

COMPARISONS: dict[str, Callable[..., Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
"""Signs between numbers that make a condition."""
