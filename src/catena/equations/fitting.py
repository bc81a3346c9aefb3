"""Counts as polynomials: the least polynomial with rational coefficients that goes through all of them exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from catena.errors import EquationsError

Exponents = tuple[int, ...]


@dataclass(frozen=True)
class Fit:
    """A polynomial in named numbers: {exponents: coefficient}."""

    variables: tuple[str, ...]
    terms: Mapping[Exponents, Fraction]

    def __call__(self, *values: int) -> Fraction:
        """Return the value for numbers in the order of the variables."""
        total = Fraction(0)
        for exponents, coefficient in self.terms.items():
            term = coefficient
            for x, power in zip(values, exponents, strict=True):
                term *= Fraction(x) ** power
            total += term
        return total

    def degree(self, variable: str) -> int:
        """Return the highest power of a variable."""
        k = self.variables.index(variable)
        return max((e[k] for e in self.terms), default=0)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for exponents, c in sorted(self.terms.items(), key=lambda t: (-sum(t[0]), [-k for k in t[0]])):
            names = [v if p == 1 else f"{v}^{p}" for v, p in zip(self.variables, exponents, strict=True) if p]
            size = abs(c)
            number = str(size) if size.denominator == 1 else f"{size.numerator}/{size.denominator}"
            factors = [*([number] if size != 1 or not names else []), *names]
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + " ".join(factors)
        return text


def fit(
    counts: Mapping[tuple[int, ...], int], variables: Sequence[str], most: int = 3, slack: int = 0
) -> Fit:
    """Return the polynomial through counts {values of the variables: count}, of as low a degree in each variable as
    possible.

    There must be more counts than coefficients, so that a count which does not follow the polynomial is noticed.
    Numbers of a mechanism that cancel but for rounding may leave an operation behind: with `slack`, whole
    coefficients that miss no count by more than so many operations do.
    """
    bases = [list(product(range(degree + 1), repeat=len(variables))) for degree in range(most + 1)]
    bases = [monomials for monomials in bases if len(monomials) < len(counts)]
    for solve in (_solve, *((_nearest,) if slack else ())):
        for monomials in bases:
            solved = solve(monomials, counts)
            if solved is None:
                continue
            found = Fit(tuple(variables), {e: c for e, c in zip(monomials, solved, strict=True) if c})
            if all(abs(found(*values) - count) <= slack for values, count in counts.items()):
                return found
    raise EquationsError(
        f"{len(counts)} counts follow no polynomial of degree {most} in {', '.join(variables)}; give more counts, or "
        f"leave out the first ones, where chains are too short to have all terms."
    )


def _nearest(monomials: list[Exponents], counts: Mapping[tuple[int, ...], int]) -> list[Fraction]:
    """Whole coefficients next to those of the least squares of the deviations."""
    rows = np.array([[np.prod(np.power(values, e)) for e in monomials] for values in counts], dtype=float)
    solution = np.linalg.lstsq(rows, np.array(list(counts.values()), dtype=float), rcond=None)[0]
    return [Fraction(round(x)) for x in solution]


def _solve(monomials: list[Exponents], counts: Mapping[tuple[int, ...], int]) -> list[Fraction] | None:
    """Exact elimination; None if the counts contradict each other."""
    rows = []
    for values, count in counts.items():
        row = []
        for exponents in monomials:
            term = Fraction(1)
            for x, power in zip(values, exponents, strict=True):
                term *= Fraction(x) ** power
            row.append(term)
        rows.append([*row, Fraction(count)])
    pivots: list[int] = []
    for column in range(len(monomials)):
        found = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if found is None:
            return None
        k = len(pivots)
        rows[k], rows[found] = rows[found], rows[k]
        rows[k] = [x / rows[k][column] for x in rows[k]]
        for r in range(len(rows)):
            if r != k and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    return [rows[k][-1] for k in range(len(pivots))]
