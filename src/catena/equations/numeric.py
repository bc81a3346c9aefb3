"""The operations of expression graphs on numbers."""

import math
from collections.abc import Callable

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
