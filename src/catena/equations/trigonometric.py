"""Sums of products of symbols and of sines and cosines of sums of angles, in a form that is unique.

Every sine and cosine is kept as exponentials, cos a = (e^ia + e^-ia) / 2, so that products add exponents. What equals
zero by any identity among sines and cosines then is zero, and what is left reads as in a textbook: cosines of sums of
angles instead of sums of their products. Coefficients are exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from catena.errors import EquationsError

Key = tuple[int, ...]
Coefficient = tuple[Fraction, Fraction]
# Coefficients come from floating-point numbers: a sum this small beside its terms is rounding.
CANCELLED = Fraction(1, 10**13)
MOST_TERMS = 4000


class TrigonometricPolynomial:
    """A sum of terms {exponents: coefficient}. The first `angles` exponents belong to e^(i angle), the others to
    symbols; all may be negative. Coefficients are pairs of real and imaginary parts."""

    __slots__ = ("angles", "terms")

    def __init__(self, terms: dict[Key, Coefficient], angles: int) -> None:
        self.terms, self.angles = terms, angles

    def __add__(self, other: TrigonometricPolynomial) -> TrigonometricPolynomial:
        terms = dict(self.terms)
        for key, (x, y) in other.terms.items():
            a, b = terms.get(key, (Fraction(0), Fraction(0)))
            total = _sum(a, x), _sum(b, y)
            if not any(total):
                terms.pop(key, None)
            else:
                terms[key] = total
        return self._with(terms)

    def __neg__(self) -> TrigonometricPolynomial:
        return self._with({key: (-x, -y) for key, (x, y) in self.terms.items()})

    def __sub__(self, other: TrigonometricPolynomial) -> TrigonometricPolynomial:
        return self + (-other)

    def __mul__(self, other: TrigonometricPolynomial) -> TrigonometricPolynomial:
        terms: dict[Key, Coefficient] = {}
        for key, (a, b) in self.terms.items():
            for also, (x, y) in other.terms.items():
                where = tuple(map(int.__add__, key, also))
                p, q = terms.get(where, (Fraction(0), Fraction(0)))
                terms[where] = _sum(p, a * x - b * y), _sum(q, a * y + b * x)
        return self._with({key: c for key, c in terms.items() if any(c)})

    def _with(self, terms: dict[Key, Coefficient]) -> TrigonometricPolynomial:
        if len(terms) > MOST_TERMS:
            raise TooManyTerms(f"an entry has more than {MOST_TERMS} terms")
        return TrigonometricPolynomial(terms, self.angles)

    def scaled(self, key: Key, coefficient: Coefficient) -> TrigonometricPolynomial:
        """This times one term."""
        return self * TrigonometricPolynomial({key: coefficient}, self.angles)

    @property
    def is_zero(self) -> bool:
        """Whether there is no term."""
        return not self.terms

    def leading(self) -> tuple[Key, Coefficient]:
        """Return the term with the largest exponents, in the order of the exponents."""
        key = max(self.terms)
        return key, self.terms[key]

    def content(self) -> Key:
        """Return the symbols that all terms have in common; exponentials are left alone."""
        columns = list(zip(*self.terms, strict=True))
        return (0,) * self.angles + tuple(min(c) for c in columns[self.angles :])

    def divided_by(self, other: TrigonometricPolynomial) -> TrigonometricPolynomial | None:
        """Return the quotient where there is no remainder, else None."""
        low = [min(a) - min(b) for a, b in zip(zip(*self.terms), zip(*other.terms))]
        high = [max(a) - max(b) for a, b in zip(zip(*self.terms), zip(*other.terms))]
        quotient, rest = TrigonometricPolynomial({}, self.angles), self
        head, coefficient = other.leading()
        while not rest.is_zero:
            key, x = rest.leading()
            step = tuple(map(int.__sub__, key, head))
            if any(not a <= k <= b for a, k, b in zip(low, step, high)):
                return None
            factor = quotient_of(x, coefficient)
            quotient = quotient + TrigonometricPolynomial({step: factor}, self.angles)
            rest = rest - other.scaled(step, factor)
        return quotient

    def frozen(self) -> frozenset[tuple[Key, Coefficient]]:
        """Return the terms as something that can be compared and looked up."""
        return frozenset(self.terms.items())


class TooManyTerms(EquationsError):
    """An expression that is too large for this form."""


def quotient_of(x: Coefficient, y: Coefficient) -> Coefficient:
    """x / y of complex coefficients."""
    (a, b), (c, d) = x, y
    size = c * c + d * d
    return (a * c + b * d) / size, (b * c - a * d) / size


def _sum(a: Fraction, b: Fraction) -> Fraction:
    total = a + b
    return Fraction(0) if abs(total) <= CANCELLED * max(abs(a), abs(b)) else total


class Quotient:
    """A polynomial times powers of other polynomials, which are kept as factors so that they cancel when they meet."""

    __slots__ = ("factors", "top")

    def __init__(
        self,
        top: TrigonometricPolynomial,
        factors: dict[Any, tuple[TrigonometricPolynomial, int]] | None = None,
    ) -> None:
        self.top, self.factors = top, factors or {}

    def __mul__(self, other: Quotient) -> Quotient:
        factors = dict(self.factors)
        for name, (polynomial, power) in other.factors.items():
            together = power + factors.get(name, (polynomial, 0))[1]
            factors[name] = (polynomial, together)
        return Quotient(self.top * other.top, {n: f for n, f in factors.items() if f[1]})._cancelled()

    def __neg__(self) -> Quotient:
        return Quotient(-self.top, self.factors)

    def __add__(self, other: Quotient) -> Quotient:
        if self.top.is_zero:
            return other
        if other.top.is_zero:
            return self
        names = {**self.factors, **other.factors}
        common = {
            n: (p, min(self.factors.get(n, (p, 0))[1], other.factors.get(n, (p, 0))[1]))
            for n, (p, _) in names.items()
        }
        total = self._over(common) + other._over(common)
        return Quotient(total, {n: f for n, f in common.items() if f[1]})._cancelled()

    def __sub__(self, other: Quotient) -> Quotient:
        return self + (-other)

    def _over(self, common: dict[Any, tuple[TrigonometricPolynomial, int]]) -> TrigonometricPolynomial:
        """Return the numerator when these factors are taken out."""
        top = self.top
        for name, (polynomial, power) in common.items():
            for _ in range(self.factors.get(name, (polynomial, 0))[1] - power):
                top = top * polynomial
        return top

    def _cancelled(self) -> Quotient:
        """Return the same with denominators that divide the numerator gone."""
        if self.top.is_zero:
            return Quotient(self.top)
        top, factors = self.top, dict(self.factors)
        for name, (polynomial, power) in self.factors.items():
            while power < 0 and (divided := top.divided_by(polynomial)) is not None:
                top, power = divided, power + 1
            factors[name] = (polynomial, power)
        return Quotient(top, {n: f for n, f in factors.items() if f[1]})

    def inverse(self) -> Quotient:
        """1 / this."""
        top = self.top
        if top.is_zero:
            raise EquationsError("An expression divides by zero.")
        content = top.content()
        _, head = top.leading()
        one = quotient_of((Fraction(1), Fraction(0)), head)
        minus = tuple(-k for k in content)
        rest = top.scaled(minus, one)
        inverse = TrigonometricPolynomial({minus: one}, top.angles)
        factors = {n: (p, -power) for n, (p, power) in self.factors.items()}
        if len(rest.terms) == 1:
            ((key, c),) = rest.terms.items()
            inverse = inverse.scaled(tuple(-k for k in key), quotient_of((Fraction(1), Fraction(0)), c))
        else:
            name = rest.frozen()
            factors[name] = (rest, factors.get(name, (rest, 0))[1] - 1)
        return Quotient(inverse, {n: f for n, f in factors.items() if f[1]})
