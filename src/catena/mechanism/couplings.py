"""Couplings between joints, as plain frozen data: gears, mimic joints, cams given by a polynomial.

A coupling ties positions of joints with one degree of freedom. It is a description: `residual` tells by how much
given positions break it, and its derivative tells what velocities it allows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from catena.errors import ModelError
from catena.given import is_finite, shown


@dataclass(frozen=True, eq=False)
class Coupling(ABC):
    """One equation among the positions of joints, each of which has one degree of freedom."""

    name: str

    @property
    @abstractmethod
    def joints(self) -> tuple[str, ...]:
        """The joints that it ties."""

    @abstractmethod
    def residual(self, positions: Mapping[str, Any]) -> Any:
        """Return what is zero where the coupling holds, from the positions [rad or m] of its joints by name."""

    @abstractmethod
    def gradient(self, positions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the derivative of the residual with respect to the position of each of its joints."""

    @abstractmethod
    def renamed(self, name: str, prefix: str) -> Coupling:
        """Return the same coupling under another name, of joints whose names have a prefix."""


@dataclass(frozen=True, eq=False)
class LinearCoupling(Coupling):
    """sum(coefficient * position) = offset over some joints: a gear pair, a differential, a mimic joint."""

    coefficients: Mapping[str, float]
    offset: float = 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(self.coefficients)

    def residual(self, positions: Mapping[str, Any]) -> Any:
        return sum(c * positions[joint] for joint, c in self.coefficients.items()) - self.offset

    def gradient(self, positions: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self.coefficients)

    def renamed(self, name: str, prefix: str) -> LinearCoupling:
        terms = {prefix + joint: c for joint, c in self.coefficients.items()}
        return LinearCoupling(name, MappingProxyType(terms), self.offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return _linear, (self.name, dict(self.coefficients), self.offset)


@dataclass(frozen=True, eq=False)
class PolynomialCoupling(Coupling):
    """position(joint) = c0 + c1 x + c2 x^2 + ... with x = position(of): a cam, an equality of MuJoCo."""

    joint: str
    of: str
    polynomial: tuple[float, ...] = field(default=(0.0, 1.0))

    @property
    def joints(self) -> tuple[str, ...]:
        return self.joint, self.of

    def residual(self, positions: Mapping[str, Any]) -> Any:
        x, value = positions[self.of], 0.0
        for coefficient in reversed(self.polynomial):
            value = value * x + coefficient
        return positions[self.joint] - value

    def gradient(self, positions: Mapping[str, Any]) -> dict[str, Any]:
        x, slope = positions[self.of], 0.0
        for power in range(len(self.polynomial) - 1, 0, -1):
            slope = slope * x + power * self.polynomial[power]
        return {self.joint: 1.0, self.of: -slope}

    def renamed(self, name: str, prefix: str) -> PolynomialCoupling:
        return PolynomialCoupling(name, prefix + self.joint, prefix + self.of, self.polynomial)


def make_linear(name: str, coefficients: Any, offset: Any) -> LinearCoupling:
    """Return a linear coupling after checking its numbers."""
    who = f"coupling {name!r}"
    if not isinstance(coefficients, Mapping) or not coefficients:
        raise ModelError(
            f"{who}: coefficients are {shown(coefficients)}: give a mapping from joints to numbers"
        )
    for joint, value in coefficients.items():
        if not is_finite(value) or value == 0.0:
            raise ModelError(
                f"{who}: the coefficient of joint {shown(joint)} is {shown(value)}: give a finite number, not zero"
            )
    if not is_finite(offset):
        raise ModelError(f"{who}: offset is {shown(offset)}: give a finite number")
    return LinearCoupling(
        name, MappingProxyType({j: float(c) for j, c in coefficients.items()}), float(offset)
    )


def make_polynomial(name: str, joint: str, of: str, polynomial: Any) -> PolynomialCoupling:
    """Return a polynomial coupling after checking its numbers."""
    who = f"coupling {name!r}"
    try:
        numbers = tuple(polynomial)
    except TypeError:
        numbers = ()
    if not numbers or not all(map(is_finite, numbers)):
        raise ModelError(f"{who}: polynomial is {shown(polynomial)}: give the finite numbers c0, c1, ...")
    if joint == of:
        raise ModelError(f"{who}: it ties joint {joint!r} to itself: name two joints")
    return PolynomialCoupling(name, joint, of, tuple(float(c) for c in numbers))


def _linear(name: str, coefficients: dict[str, float], offset: float) -> LinearCoupling:
    """A coupling from a pickle."""
    return LinearCoupling(name, MappingProxyType(coefficients), offset)
