"""Values of joints as they are typed: `A=0.3`, `A=30deg`, `base=0,0,1,1,0,0,0`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import isfinite, pi
from typing import Any

_DEGREES = "deg"


def assignment(text: str) -> tuple[str, tuple[float, ...]]:
    """Read JOINT=VALUE or JOINT=VALUE,VALUE,...; names may have an equals sign in them, values have none."""
    name, sign, values = text.rpartition("=")
    if not sign or not name:
        raise ArgumentTypeError(f"{text!r} is not JOINT=VALUE: write it like A=0.3, A=30deg or base=0,0,1")
    return name, tuple(_number(text, value) for value in values.split(","))


def numbers(text: str) -> tuple[float, ...]:
    """Read VALUE,VALUE,..."""
    return tuple(_number(text, value) for value in text.split(","))


def vector(text: str) -> tuple[float, ...]:
    """Read X,Y,Z."""
    values = numbers(text)
    if len(values) != 3:
        raise ArgumentTypeError(f"{text!r} has {len(values)} numbers: give three, X,Y,Z")
    return values


def positive(text: str) -> float:
    """Read a positive number."""
    value = _number(text, text)
    if value <= 0.0:
        raise ArgumentTypeError(f"{text!r} is not positive: give a number above zero")
    return value


def count(text: str) -> int:
    """Read how many samples to keep."""
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 2:
        raise ArgumentTypeError(f"{text!r} is too few: give 2 or more, the first and the last included")
    return value


def by_name(pairs: list[tuple[str, tuple[float, ...]]] | None) -> dict[str, Any]:
    """Assignments as a mapping; a single value as a number."""
    return {name: values[0] if len(values) == 1 else values for name, values in pairs or ()}


def _number(text: str, value: str) -> float:
    value = value.strip()
    degrees = value.endswith(_DEGREES)
    try:
        number = float(value.removesuffix(_DEGREES))
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: {value!r} is not a number") from None
    if not isfinite(number):
        raise ArgumentTypeError(f"{text!r}: {value!r} is not finite: give a finite number")
    return number * pi / 180.0 if degrees else number
