"""Elementary functions of one number or one symbol.

The algebra of this folder is written once and runs on floats as well as on CasADi `SX` scalars. These
functions are the only places where the two differ. CasADi is imported on the first symbol, never before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

NUMBERS = (float, int, np.floating, np.integer, np.bool_)
# The types that numbers have as a rule.
PLAIN = frozenset({float, int, np.float64})

Scalar = Any
"""A number or a symbol of CasADi: arithmetic is the same for both, which no type that Python has can say."""
Scalars = Any
"""An array or a sequence of them."""

TINY = 1e-300
"""Added under a square root whose argument may vanish, so that quotients by the root stay finite."""


def is_symbolic(x: Any, depth: int = 8) -> bool:
    """Return whether `x` is a symbol, or an array or sequence, nested up to a depth, with a symbol in it."""
    if isinstance(x, NUMBERS):
        return False
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(is_symbolic(entry) for entry in x.flat)
    if isinstance(x, (list, tuple)):
        return depth > 0 and any(is_symbolic(entry, depth - 1) for entry in x)
    return type(x).__module__.partition(".")[0] == "casadi"


def sin(x: Any) -> Any:
    """Return the sine of `x`."""
    if isinstance(x, NUMBERS):
        return math.sin(x)
    import casadi

    return casadi.sin(x)


def cos(x: Any) -> Any:
    """Return the cosine of `x`."""
    if isinstance(x, NUMBERS):
        return math.cos(x)
    import casadi

    return casadi.cos(x)


def sqrt(x: Any) -> Any:
    """Return the square root of `x`, which must not be negative."""
    if isinstance(x, NUMBERS):
        return math.sqrt(x)
    import casadi

    return casadi.sqrt(x)


def atan2(y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y), between -pi and pi."""
    if isinstance(x, NUMBERS) and isinstance(y, NUMBERS):
        return math.atan2(y, x)
    import casadi

    return casadi.atan2(y, x)


def power(x: Any, y: Any) -> Any:
    """Return x to the power y; x must be positive."""
    if isinstance(x, NUMBERS) and isinstance(y, NUMBERS):
        return math.pow(x, y)
    import casadi

    return casadi.power(x, y)


def logarithm(x: Any) -> Any:
    """Return the natural logarithm of `x`, which must be positive."""
    if isinstance(x, NUMBERS):
        return math.log(x)
    import casadi

    return casadi.log(x)


def absolute(x: Any) -> Any:
    """Return the magnitude of `x`."""
    if isinstance(x, NUMBERS):
        return abs(x)
    import casadi

    return casadi.fabs(x)


def floor(x: Any) -> Any:
    """Return the largest whole number not above `x`."""
    if isinstance(x, NUMBERS):
        return float(math.floor(x))
    import casadi

    return casadi.floor(x)


def sign(x: Any) -> Any:
    """Return -1, 0 or 1 with the sign of `x`."""
    if isinstance(x, NUMBERS):
        return float(x > 0) - float(x < 0)
    import casadi

    return casadi.sign(x)


def less(a: Any, b: Any) -> Any:
    """Return whether a < b: a bool for numbers, a symbol for symbols."""
    return a < b


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds and `b` elsewhere; for symbols both are evaluated, one is used."""
    if isinstance(condition, (bool, *NUMBERS)):
        return a if condition else b
    import casadi

    return casadi.if_else(condition, a, b)


def reciprocal(x: Any) -> Any:
    """Return 1/x, infinite at zero for numbers too, as compiled code has it."""
    if isinstance(x, NUMBERS) and x == 0:
        return math.inf
    return 1.0 / x


def array(entries: Iterable[Any]) -> np.ndarray:
    """Return the entries (a list, or a list of lists of equal length) as an array.

    The array is of float64 when every entry is a number, and of objects when at least one is a symbol.
    """
    rows = list(entries)
    if rows and isinstance(rows[0], (list, tuple, np.ndarray)):
        flat = [entry for row in rows for entry in row]
        return array(flat).reshape(len(rows), len(rows[0]))
    if PLAIN.issuperset(map(type, rows)) or all(isinstance(entry, NUMBERS) for entry in rows):
        return np.array(rows, dtype=float)
    result = np.empty(len(rows), dtype=object)
    # One by one, because NumPy would unpack a symbol as if it were a matrix.
    for i, entry in enumerate(rows):
        result[i] = entry
    return result
