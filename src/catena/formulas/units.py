"""Units behind numbers, what they are in SI units and radians, and the dimension of what has them."""

from __future__ import annotations

import math
from dataclasses import dataclass

Dimension = tuple[float, float, float]
"""The powers of metre, kilogram and second. Angles have none of them."""

PLAIN: Dimension = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Unit:
    """A unit: a number of it is multiplied by `factor` and divided by `divisor` to be in SI units.

    A decimal part such as milli is a divisor, because 700 / 1000 is the number next to 0.7 and 700 * 0.001 is not.
    """

    factor: float
    divisor: float
    dimension: Dimension

    def power(self, exponent: int) -> Unit:
        """Return the unit to a whole power."""
        factor, divisor = (self.factor, self.divisor) if exponent >= 0 else (self.divisor, self.factor)
        size = abs(exponent)
        return Unit(factor**size, divisor**size, scaled(self.dimension, exponent))

    def times(self, other: Unit) -> Unit:
        """Return the product of two units."""
        factor, divisor = self.factor * other.factor, self.divisor * other.divisor
        # Milli over milli is one, not a thousand over a thousand.
        if factor == divisor:
            factor = divisor = 1.0
        return Unit(factor, divisor, added(self.dimension, other.dimension))


def added(a: Dimension, b: Dimension) -> Dimension:
    """Return the dimension of a product."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def scaled(a: Dimension, exponent: float) -> Dimension:
    """Return the dimension of a power."""
    return a[0] * exponent, a[1] * exponent, a[2] * exponent


def dimension_text(dimension: Dimension) -> str:
    """Return a dimension in words, such as "a length" or "[kg m/s^2]"."""
    for word, one in NAMED.items():
        if one == dimension:
            return word
    pairs = [(name, power) for name, power in zip(("m", "kg", "s"), dimension) if power]
    return "[" + "*".join(name if power == 1 else f"{name}^{power:g}" for name, power in pairs) + "]"


def _unit(factor: float, divisor: float, m: int = 0, kg: int = 0, s: int = 0) -> Unit:
    return Unit(factor, divisor, (float(m), float(kg), float(s)))


UNITS: dict[str, Unit] = {
    "rad": _unit(1, 1),
    "mrad": _unit(1, 1000),
    "deg": _unit(math.pi / 180.0, 1),
    "rev": _unit(2.0 * math.pi, 1),
    "rpm": _unit(math.pi / 30.0, 1, s=-1),
    "Hz": _unit(1, 1, s=-1),
    "kHz": _unit(1000, 1, s=-1),
    "m": _unit(1, 1, m=1),
    "km": _unit(1000, 1, m=1),
    "cm": _unit(1, 100, m=1),
    "mm": _unit(1, 1000, m=1),
    "um": _unit(1, 1000000, m=1),
    "in": _unit(254, 10000, m=1),
    "ft": _unit(3048, 10000, m=1),
    "kg": _unit(1, 1, kg=1),
    "g": _unit(1, 1000, kg=1),
    "lb": _unit(45359237, 100000000, kg=1),
    "s": _unit(1, 1, s=1),
    "ms": _unit(1, 1000, s=1),
    "us": _unit(1, 1000000, s=1),
    "min": _unit(60, 1, s=1),
    "h": _unit(3600, 1, s=1),
    "N": _unit(1, 1, m=1, kg=1, s=-2),
    "mN": _unit(1, 1000, m=1, kg=1, s=-2),
    "kN": _unit(1000, 1, m=1, kg=1, s=-2),
    "MN": _unit(1000000, 1, m=1, kg=1, s=-2),
    "lbf": _unit(44482216152605, 10000000000000, m=1, kg=1, s=-2),
    "Nm": _unit(1, 1, m=2, kg=1, s=-2),
    "kNm": _unit(1000, 1, m=2, kg=1, s=-2),
    "Nmm": _unit(1, 1000, m=2, kg=1, s=-2),
    "J": _unit(1, 1, m=2, kg=1, s=-2),
    "mJ": _unit(1, 1000, m=2, kg=1, s=-2),
    "kJ": _unit(1000, 1, m=2, kg=1, s=-2),
    "W": _unit(1, 1, m=2, kg=1, s=-3),
    "kW": _unit(1000, 1, m=2, kg=1, s=-3),
    "Pa": _unit(1, 1, m=-1, kg=1, s=-2),
    "kPa": _unit(1000, 1, m=-1, kg=1, s=-2),
    "MPa": _unit(1000000, 1, m=-1, kg=1, s=-2),
    "GPa": _unit(1000000000, 1, m=-1, kg=1, s=-2),
    "bar": _unit(100000, 1, m=-1, kg=1, s=-2),
}
"""The words that may stand behind a number."""

NAMED: dict[str, Dimension] = {
    "a plain number or an angle": PLAIN,
    "a length": UNITS["m"].dimension,
    "a mass": UNITS["kg"].dimension,
    "a time": UNITS["s"].dimension,
    "a rate": UNITS["Hz"].dimension,
    "a force": UNITS["N"].dimension,
    "a moment or an energy": UNITS["J"].dimension,
    "a power": UNITS["W"].dimension,
    "a pressure": UNITS["Pa"].dimension,
}
