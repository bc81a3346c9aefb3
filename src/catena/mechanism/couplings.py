"""Couplings between joints, as plain frozen data: gears, belts, differentials, mimic joints, cams.

A coupling ties positions of joints with one degree of freedom by one equation: a sum of profiles, each of the position
of one joint, equals an offset. Planning gives it a row among the constraints, beside those of loops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.mechanism.profiles import Line, Polynomial, Profile, Written
from catena.validation import is_finite, shown


@dataclass(frozen=True, eq=False)
class Coupling(ABC):
    """One equation among the positions of joints, each of which has one degree of freedom.

    `terms` maps joints to a sign and a profile: the sum of sign * profile(position) over them is `offset`.
    """

    name: str

    @property
    @abstractmethod
    def terms(self) -> Mapping[str, tuple[float, Profile]]:
        """The sign and the profile of each joint that it ties."""

    @property
    def right_hand_side(self) -> float:
        """What the terms sum up to."""
        return 0.0

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it ties."""
        return tuple(self.terms)

    def residual(self, positions: Mapping[str, Any]) -> Any:
        """Return what is zero where the coupling holds, from the positions [rad or m] of its joints by name."""
        terms = [sign * f.value(positions[joint]) for joint, (sign, f) in self.terms.items()]
        return sum(terms) - self.right_hand_side

    def gradient(self, positions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the derivative of the residual with respect to the position of each of its joints."""
        return {joint: sign * f.slope(positions[joint]) for joint, (sign, f) in self.terms.items()}

    @property
    @abstractmethod
    def equation(self) -> str:
        """The equation in words, with the names of joints for their positions."""

    @abstractmethod
    def renamed(self, name: str, prefix: str) -> Coupling:
        """Return the same coupling under another name, of joints whose names have a prefix."""

    def with_held(self, positions: Mapping[str, float]) -> LinearCoupling | None:
        """Return what is left of the coupling where some of its joints are held at positions, None if nothing is.

        Whatever is left of a curve is a number for the joint that follows. One that leads by a curve is held somewhere,
        but the curve may have its value in several places: this raises a ModelError.
        """
        moving: dict[str, float] = {}
        offset = self.right_hand_side
        for joint, (sign, profile) in self.terms.items():
            if joint in positions:
                offset -= sign * float(profile.value(positions[joint]))
                continue
            straight = _straight(profile)
            if straight is None:
                held = " and ".join(map(repr, positions))
                raise ModelError(
                    f"coupling {self.name!r}: joint {held} is locked, so that joint {joint!r} stands somewhere on a "
                    "curve: lock it too, or unlock the other"
                )
            constant, slope = straight
            offset -= sign * constant
            moving[joint] = sign * slope
        return LinearCoupling(self.name, MappingProxyType(moving), offset) if moving else None


def _straight(profile: Profile) -> tuple[float, float] | None:
    """Return the constant and the slope of a profile that is a straight line, None for others."""
    if isinstance(profile, Line):
        return 0.0, profile.coefficient
    if isinstance(profile, Polynomial) and len(profile.coefficients) == 2:
        return profile.coefficients[0], profile.coefficients[1]
    return None


@dataclass(frozen=True, eq=False)
class LinearCoupling(Coupling):
    """sum(coefficient * position) = offset over some joints: a gear pair, a belt, a differential, a mimic joint."""

    coefficients: Mapping[str, float]
    offset: float = 0.0

    @property
    def terms(self) -> Mapping[str, tuple[float, Profile]]:
        return {joint: (1.0, Line(c)) for joint, c in self.coefficients.items()}

    @property
    def right_hand_side(self) -> float:
        return self.offset

    @property
    def equation(self) -> str:
        return f"{' + '.join(f'{c:g} {joint}' for joint, c in self.coefficients.items())} = {self.offset:g}".replace(
            "+ -", "- "
        )

    def renamed(self, name: str, prefix: str) -> LinearCoupling:
        terms = {prefix + joint: c for joint, c in self.coefficients.items()}
        return LinearCoupling(name, MappingProxyType(terms), self.offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return _linear, (self.name, dict(self.coefficients), self.offset)


@dataclass(frozen=True, eq=False)
class PolynomialCoupling(Coupling):
    """position(joint) = c0 + c1 x + c2 x^2 + ... with x = position(of): an equality of MuJoCo."""

    joint: str
    of: str
    polynomial: tuple[float, ...] = field(default=(0.0, 1.0))

    @property
    def terms(self) -> Mapping[str, tuple[float, Profile]]:
        return {self.joint: (1.0, Line(1.0)), self.of: (-1.0, Polynomial(self.polynomial))}

    @property
    def equation(self) -> str:
        return f"{self.joint} = {_polynomial_in_words(self.polynomial, self.of)}"

    def renamed(self, name: str, prefix: str) -> PolynomialCoupling:
        return PolynomialCoupling(name, prefix + self.joint, prefix + self.of, self.polynomial)


@dataclass(frozen=True, eq=False)
class CamCoupling(Coupling):
    """position(joint) = profile(position(of)): a cam and its follower."""

    joint: str
    of: str
    profile: Profile

    @property
    def terms(self) -> Mapping[str, tuple[float, Profile]]:
        return {self.joint: (1.0, Line(1.0)), self.of: (-1.0, self.profile)}

    @property
    def equation(self) -> str:
        if isinstance(self.profile, Polynomial):
            return f"{self.joint} = {_polynomial_in_words(self.profile.coefficients, self.of)}"
        if isinstance(self.profile, Written):
            return f"{self.joint} = {self.profile.text}, x = {self.of}"
        return f"{self.joint} = {type(self.profile).__name__.lower()} of {self.of}"

    def renamed(self, name: str, prefix: str) -> CamCoupling:
        return CamCoupling(name, prefix + self.joint, prefix + self.of, self.profile)


def _polynomial_in_words(coefficients: tuple[float, ...], joint: str) -> str:
    """Return the terms of a polynomial of the position of a joint that are not zero."""
    powers = ["", f" {joint}", *(f" {joint}^{k}" for k in range(2, len(coefficients)))]
    terms = [f"{c:g}{power}" for c, power in zip(coefficients, powers, strict=False) if c]
    return " + ".join(terms).replace("+ -", "- ") or "0"


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


# A cam is looked at in so many places between the limits of its joint, or over so many turns to both sides.
PLACES, TURNS = 721, 1.0


def make_cam(
    name: str, joint: str, of: str, profile: Profile, limits: np.ndarray | None, turns: bool
) -> CamCoupling:
    """Return a cam after checking that it has a value wherever the joint `of` goes: between its limits (1, 2), or, for
    one that turns without limits, all around."""
    who = f"coupling {name!r}"
    if joint == of:
        raise ModelError(f"{who}: it ties joint {joint!r} to itself: name two joints")
    low, high = (-np.inf, np.inf) if limits is None else (float(x) for x in limits[0])
    first, last = profile.domain
    if low < first or high > last:
        goes = f"goes from {low:g} to {high:g}" if limits is not None else "has no limits"
        raise ModelError(
            f"{who}: its profile is known from {first:g} to {last:g}, but joint {of!r} {goes}: give points for all of "
            "its way, beyond='periodic' for a cam that turns, or beyond='line'"
        )
    far = 2.0 * np.pi * TURNS if turns else 1.0
    x = np.linspace(low if np.isfinite(low) else -far, high if np.isfinite(high) else far, PLACES)
    values = np.array([profile.value(x), profile.slope(x), profile.curvature(x)])
    bad = np.flatnonzero(~np.isfinite(values).all(axis=0))
    if len(bad):
        raise ModelError(
            f"{who}: its profile has no finite value, slope or curvature at {x[bad[0]]:.6g} of joint {of!r}: give a "
            "profile that is smooth wherever the joint goes, or limits to the joint"
        )
    return CamCoupling(name, joint, of, profile)


def _linear(name: str, coefficients: dict[str, float], offset: float) -> LinearCoupling:
    """Return a coupling from a pickle."""
    return LinearCoupling(name, MappingProxyType(coefficients), offset)
