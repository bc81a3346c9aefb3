"""Numbers that are written as text: "30 deg", "0.3 * cos(60 deg)", "2 * length".

The grammar is that of a pocket calculator: + - * / ** with brackets, pi, a few functions, names of parameters, and a
unit behind what it belongs to. Nothing else is evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

UNITS = {"deg": math.pi / 180.0, "rad": 1.0, "mm": 1e-3, "cm": 1e-2, "m": 1.0, "g": 1e-3, "kg": 1.0}
"""What a number with a unit is multiplied by to be in SI units and radians."""
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sqrt": math.sqrt,
    "abs": math.fabs,
}
LONGEST = 400
DEEPEST = 40
_TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/()]))")


def evaluate(text: str, parameters: Mapping[str, float]) -> float:
    """Return the number that a text stands for; a ValueError says why it is none."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} characters, more than {LONGEST}")
    reader = _Reader(_tokens(text), parameters)
    try:
        value = reader.sum(0)
    except ZeroDivisionError:
        raise ValueError("it divides by zero") from None
    except OverflowError:
        raise ValueError("the numbers become too large") from None
    if reader.at < len(reader.tokens):
        raise ValueError(f"{reader.tokens[reader.at]!r} is not expected there")
    if isinstance(value, complex) or not math.isfinite(value):
        raise ValueError("it is no finite number")
    return float(value)


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text[at:].strip()[:20]!r} is no number, name or sign")
        found.append(match.group().strip())
        at = match.end()
    return found


class _Reader:
    """Reads tokens from left to right; each method takes as much as belongs to it. `depth` counts open brackets."""

    def __init__(self, tokens: list[str], parameters: Mapping[str, float]) -> None:
        self.tokens, self.parameters, self.at = tokens, parameters, 0

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, *signs: str) -> str:
        found = self._next()
        if found not in signs:
            return ""
        self.at += 1
        return found

    def sum(self, depth: int) -> float:
        value = self._product(depth)
        while sign := self._take("+", "-"):
            other = self._product(depth)
            value = value + other if sign == "+" else value - other
        return value

    def _product(self, depth: int) -> float:
        value = self._signed(depth)
        while sign := self._take("*", "/"):
            other = self._signed(depth)
            value = value * other if sign == "*" else value / other
        return value

    def _signed(self, depth: int) -> float:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign == "-"
        value = self._power(depth)
        return -value if negative else value

    def _power(self, depth: int) -> float:
        value = self._atom(depth)
        while self._next() in UNITS and self._next() not in self.parameters:
            value *= UNITS[self.tokens[self.at]]
            self.at += 1
        if self._take("**"):
            exponent = self._signed(depth + 1) if depth < DEEPEST else 0.0
            if abs(exponent) > 100.0:
                raise ValueError("an exponent is larger than 100")
            value = value**exponent
        return value

    def _atom(self, depth: int) -> float:
        if depth >= DEEPEST:
            raise ValueError("brackets are nested too deeply")
        token = self._next()
        self.at += 1
        if token == "(":
            return self._closed(depth)
        if not token:
            raise ValueError("it ends too early")
        if token[0].isdigit() or token[0] == ".":
            return float(token)
        if token in self.parameters:
            return self.parameters[token]
        if token in FUNCTIONS:
            if not self._take("("):
                raise ValueError(f"{token} needs brackets")
            try:
                return FUNCTIONS[token](self._closed(depth))
            except ValueError:
                raise ValueError(f"{token} is not defined there") from None
        if token == "pi":
            return math.pi
        if token in ("inf", "nan") or not (token[0].isalpha() or token[0] == "_"):
            raise ValueError(f"{token!r} is not expected there")
        raise ValueError(f"{token!r} is no parameter: there are {', '.join(self.parameters) or 'none'}")

    def _closed(self, depth: int) -> float:
        value = self.sum(depth + 1)
        if not self._take(")"):
            raise ValueError("a bracket is not closed")
        return value
