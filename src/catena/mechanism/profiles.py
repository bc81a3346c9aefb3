"""Functions of one position that couplings are made of: lines, polynomials, splines through points, formulas.

A profile works on numbers, on arrays of them and on symbols, and knows its first two derivatives, because a coupling
constrains velocities and accelerations too. Its numbers are data of compiled code (`forces.parameters`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from catena.errors import FormulaError, ModelError
from catena.forces.parameters import Parametric, number, numbers
from catena.spatial import is_symbolic
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import Scalar, floor, less, where
from catena.validation import is_one_of, shown

BEYOND = ("", "line", "periodic")


class Profile(Parametric, ABC):
    """A function f of one position, twice differentiable."""

    @abstractmethod
    def value(self, x: Any) -> Any:
        """Return f(x) for a number, an array or a symbol."""

    @abstractmethod
    def slope(self, x: Any) -> Any:
        """Return f'(x)."""

    @abstractmethod
    def curvature(self, x: Any) -> Any:
        """Return f''(x)."""

    @property
    def domain(self) -> tuple[float, float]:
        """The positions between which the function is known."""
        return -np.inf, np.inf


@dataclass(frozen=True)
class Line(Profile):
    """f(x) = coefficient x."""

    coefficient: float

    def __post_init__(self) -> None:
        number(self, "coefficient")

    def value(self, x: Any) -> Any:
        return self.coefficient * x

    def slope(self, x: Any) -> Any:
        return self.coefficient + 0.0 * x

    def curvature(self, x: Any) -> Any:
        return 0.0 * x


@dataclass(frozen=True)
class Polynomial(Profile):
    """f(x) = c0 + c1 x + c2 x^2 + ..."""

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers(self, "coefficients")

    def value(self, x: Any) -> Any:
        return _horner(self.coefficients, x)

    def slope(self, x: Any) -> Any:
        return _horner([k * c for k, c in enumerate(self.coefficients)][1:], x)

    def curvature(self, x: Any) -> Any:
        return _horner([k * (k - 1) * c for k, c in enumerate(self.coefficients)][2:], x)


@dataclass(frozen=True)
class Spline(Profile):
    """The cubic spline through the points (x, y), x increasing, with continuous slope and curvature.

    `beyond` says what becomes of it outside the points: "periodic" repeats it, with the first and the last point one
    period apart and of equal y; "line" goes on straight; and with "" it is not known there, so that the joint must have
    limits within the points.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    beyond: str = ""
    pieces: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers(self, "x")
        numbers(self, "y", len(self.x))
        if not is_one_of(self.beyond, BEYOND):
            raise ModelError(f"Spline: beyond is {shown(self.beyond)}: choose periodic, line or ''")
        x, y = np.array(self.x), np.array(self.y)
        if len(x) < 3 or (np.diff(x) <= 0.0).any():
            raise ModelError(
                f"Spline: x is {shown(list(self.x))}: give three or more points with x increasing"
            )
        if self.beyond == "periodic" and abs(y[-1] - y[0]) > 1e-12 * np.abs(y).max():
            raise ModelError(
                f"Spline: it is periodic, but begins at {y[0]:g} and ends at {y[-1]:g}: give both points the same y"
            )
        object.__setattr__(self, "pieces", tuple(_cubics(x, y, self.beyond).ravel().tolist()))

    @property
    def domain(self) -> tuple[float, float]:
        return (self.x[0], self.x[-1]) if not self.beyond else (-np.inf, np.inf)

    def value(self, x: Any) -> Any:
        d, c = self._piece(x)
        return _horner(c, d)

    def slope(self, x: Any) -> Any:
        d, (_, b, c, e) = self._piece(x)
        return _horner([b, 2.0 * c, 3.0 * e], d)

    def curvature(self, x: Any) -> Any:
        d, (_, _, c, e) = self._piece(x)
        return _horner([2.0 * c, 6.0 * e], d)

    def _piece(self, x: Any) -> tuple[Any, Sequence[Any]]:
        """Return how far x is from where its piece begins, and the coefficients of that piece, lowest first."""
        if self.beyond == "periodic":
            period = self.x[-1] - self.x[0]
            turns = (x - self.x[0]) / period
            x = x - period * (np.floor(turns) if isinstance(turns, np.ndarray) else floor(turns))
        rows = [self.pieces[k : k + 4] for k in range(0, len(self.pieces), 4)]
        # Before the first point there is a piece as well, which begins there too.
        starts = [self.x[0], *self.x]
        if isinstance(x, np.ndarray):
            k = np.searchsorted(self.x, x)
            return x - np.array(starts)[k], list(np.moveaxis(np.array(rows)[k], -1, 0))
        start, chosen = starts[0], list(rows[0])
        for begin, row in zip(starts[1:], rows[1:], strict=True):
            inside = less(begin, x)
            start = where(inside, begin, start)
            chosen = [where(inside, new, old) for new, old in zip(row, chosen, strict=True)]
        return x - start, chosen


@dataclass(frozen=True, eq=False)
class Formula(Profile):
    """A function of one number or symbol, written with the operators and functions that CasADi's symbols offer.

    Its derivatives are those of the formula. It belongs to the code, so a model file cannot hold it.
    """

    function: Callable[[Scalar], Scalar]
    number: int = field(init=False, default_factory=count().__next__)

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return "formula", self.number

    def value(self, x: Any) -> Any:
        return self._at(0, x)

    def slope(self, x: Any) -> Any:
        return self._at(1, x)

    def curvature(self, x: Any) -> Any:
        return self._at(2, x)

    def _at(self, order: int, x: Any) -> Any:
        if is_symbolic(x):
            import casadi

            return casadi.substitute(self._derivatives[1][order], self._derivatives[0], x)
        points = np.asarray(x, dtype=np.float64)
        found = np.asarray(self._functions[order](points.reshape(1, -1)), dtype=np.float64)
        return float(found[0, 0]) if points.ndim == 0 else found.reshape(points.shape)

    @cached_property
    def _derivatives(self) -> tuple[Any, tuple[Any, Any, Any]]:
        """A symbol, and the formula with its two derivatives by it."""
        import casadi

        x = casadi.SX.sym("x")
        try:
            with on_symbols(f"the formula {shown(self.function)}"):
                f = casadi.SX(self.function(x))
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                f"the formula {shown(self.function)} does not work on a symbol ({type(error).__name__}: {error}): "
                "write it with operators and CasADi's functions, or give points"
            ) from error
        if f.shape != (1, 1):
            raise ModelError(f"the formula {shown(self.function)} returns shape {f.shape}: return one number")
        slope = casadi.densify(casadi.jacobian(f, x))
        return x, (f, slope, casadi.densify(casadi.jacobian(slope, x)))

    @cached_property
    def _functions(self) -> list[Any]:
        import casadi

        x, expressions = self._derivatives
        return [casadi.Function(f"order_{k}", [x], [casadi.densify(e)]) for k, e in enumerate(expressions)]

    def __reduce__(self) -> tuple[Any, ...]:
        return Formula, (self.function,)


@dataclass(frozen=True)
class Written(Profile):
    """A formula as text, "0.02 * (1 - cos(x))" of the position x, in the grammar of `catena.formulas`. Unlike a
    function it can stand in a model file."""

    text: str

    def __post_init__(self) -> None:
        # Few mechanisms have one, and `import catena` must stay quick.
        from catena.formulas import parse

        formula = parse(self.text)
        other = sorted(map(str, formula.names - {"x"}))
        if other:
            raise ModelError(f"the formula {self.text!r} has the name {other[0]}: the position is called x")
        object.__setattr__(self, "text", formula.canonical)

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return "written", self.text

    def value(self, x: Any) -> Any:
        return self._formula.value(x)

    def slope(self, x: Any) -> Any:
        return self._formula.slope(x)

    def curvature(self, x: Any) -> Any:
        return self._formula.curvature(x)

    @cached_property
    def _formula(self) -> Formula:
        from catena.formulas import parse

        formula = parse(self.text)
        return Formula(lambda x: formula.symbolic({"x": x}))

    def __reduce__(self) -> tuple[Any, ...]:
        return Written, (self.text,)


def as_profile(who: str, source: Any) -> Profile:
    """Return a profile from what a user gives: a profile, a formula of x as text, a function of one symbol, or points
    as a pair (x, y)."""
    if isinstance(source, Profile):
        return source
    if isinstance(source, str):
        try:
            return Written(source)
        except FormulaError as error:
            raise ModelError(
                f"{who}: its profile is {shown(source)}, which is no formula: {error.reason}"
            ) from None
    if callable(source) and not isinstance(source, type):
        return Formula(source)
    try:
        x, y = source
        return Spline(tuple(np.ravel(x)), tuple(np.ravel(y)))
    except (TypeError, ValueError):
        raise ModelError(
            f"{who}: its profile is {shown(source)}: give points as a pair (x, y), a Spline, a Polynomial, a "
            "formula of x as text, or a function of one symbol"
        ) from None


def _horner(coefficients: Sequence[Any], x: Any) -> Any:
    if not len(coefficients):
        return 0.0 * x
    total = coefficients[-1] + 0.0 * x
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _cubics(x: np.ndarray, y: np.ndarray, beyond: str) -> np.ndarray:
    """Return the coefficients (n + 1, 4) of a piece before the first point and of one that begins at each point."""
    from scipy.interpolate import CubicSpline

    if beyond == "periodic":
        y = np.concatenate([y[:-1], y[:1]])
    spline = CubicSpline(x, y, bc_type="periodic" if beyond == "periodic" else "not-a-knot")
    inner = spline.c[::-1].T
    ends = np.array([[y[0], float(spline(x[0], 1)), 0.0, 0.0], [y[-1], float(spline(x[-1], 1)), 0.0, 0.0]])
    return np.concatenate([ends[:1], inner, ends[1:]])


__all__ = [
    "Formula",
    "Line",
    "Polynomial",
    "Profile",
    "Spline",
    "Written",
    "as_profile",
]
