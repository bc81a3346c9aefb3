"""Ways to vary a number: grids and lists, which are combined, and samples, of which there are as many as are asked for.

A way to sample gives values for points of the unit interval, so that points of Latin hypercubes, Sobol and Halton
sequences, and random ones, serve any distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.validation import is_finite, is_positive, real_array, shown

Points = Literal["random", "latin", "sobol", "halton"]


class Distribution(Protocol):
    """A frozen distribution, as those of `scipy.stats`."""

    def ppf(self, q: ArrayLike) -> ArrayLike:
        """Return the values below which these parts of all values are."""
        ...


@dataclass(frozen=True, eq=False)
class Levels:
    """Values (n, ...) that a number takes one after the other, in every combination with the levels of others. Values
    may be anything: numbers, rows of numbers, scenarios."""

    values: Sequence[Any] | np.ndarray

    def __post_init__(self) -> None:
        if not len(self.values):
            raise StateError("A number is varied over no values; give one or more.")


@dataclass(frozen=True, eq=False)
class SampledValues:
    """Values of a distribution at points between 0 and 1: `lower` and `upper` bounds of a uniform one, or a frozen
    distribution of `scipy.stats` (its `ppf`). `points` says how these lie."""

    points: Points
    lower: float = 0.0
    upper: float = 1.0
    distribution: Distribution | None = None

    def __post_init__(self) -> None:
        if self.distribution is None:
            for name in ("lower", "upper"):
                if not is_finite(getattr(self, name)):
                    raise StateError(
                        f"ct.{_NAMES[self.points]}: {name} is {shown(getattr(self, name))}; give a number."
                    )
            if not self.lower < self.upper:
                raise StateError(
                    f"ct.{_NAMES[self.points]}: it goes from {self.lower:g} to {self.upper:g}; give a range with the "
                    "lower bound first."
                )
        elif not callable(getattr(self.distribution, "ppf", None)):
            raise StateError(
                f"{shown(self.distribution)} is no distribution; give a frozen one, such as scipy.stats.norm(1, 0.1)."
            )

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the values at points (n,) between 0 and 1."""
        if self.distribution is None:
            return self.lower + (self.upper - self.lower) * points
        return np.asarray(self.distribution.ppf(points), dtype=np.float64)


_NAMES = {"random": "uniform", "latin": "latin", "sobol": "sobol", "halton": "halton"}


@dataclass(frozen=True, eq=False)
class Correlated:
    """Numbers of a multivariate normal distribution: {name: mean}, with the `covariance` of these names in order."""

    means: Mapping[str, float]
    covariance: np.ndarray = field(default_factory=lambda: np.eye(1))

    def rows(self, normals: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values by name for independent standard normal numbers (n, names)."""
        factor = np.linalg.cholesky(self.covariance)
        found = np.array(list(self.means.values())) + normals @ factor.T
        return {name: found[:, k] for k, name in enumerate(self.means)}


def grid(first: float, last: float, count: int) -> Levels:
    """Return `count` values from the first to the last, evenly spaced."""
    if not is_finite(first) or not is_finite(last):
        raise StateError(f"ct.grid({shown(first)}, {shown(last)}): give two numbers.")
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise StateError(f"ct.grid: the count is {shown(count)}; give a whole number, 1 or more.")
    return Levels(np.linspace(float(first), float(last), int(count)))


def uniform(lower: float, upper: float) -> SampledValues:
    """Return random values between two bounds."""
    return SampledValues("random", lower, upper)


def latin(lower: float, upper: float) -> SampledValues:
    """Return values between two bounds by a Latin hypercube, over all numbers that are varied so."""
    return SampledValues("latin", lower, upper)


def sobol(lower: float, upper: float) -> SampledValues:
    """Return values between two bounds by a scrambled Sobol sequence, over all numbers that are varied so."""
    return SampledValues("sobol", lower, upper)


def halton(lower: float, upper: float) -> SampledValues:
    """Return values between two bounds by a scrambled Halton sequence, over all numbers that are varied so."""
    return SampledValues("halton", lower, upper)


def normal(mean: float, deviation: float, points: Points = "random") -> SampledValues:
    """Return values of a normal distribution, at points that lie so."""
    if not is_finite(mean) or not is_positive(deviation):
        raise StateError(
            f"ct.normal({shown(mean)}, {shown(deviation)}): give the mean, and a standard deviation above zero."
        )
    from scipy.stats import norm

    return SampledValues(points, distribution=norm(float(mean), float(deviation)))


def distributed(distribution: Distribution, points: Points = "random") -> SampledValues:
    """Return values of any frozen distribution of `scipy.stats`, at points that lie so."""
    return SampledValues(points, distribution=distribution)


def correlated(means: Mapping[str, float], covariance: ArrayLike) -> Correlated:
    """Return numbers {name: mean} of a normal distribution with a covariance (n, n), in the order of the names."""
    try:
        matrix = np.array(real_array(covariance))
        np.linalg.cholesky(matrix)
    except (ValueError, np.linalg.LinAlgError) as error:
        raise StateError(
            f"ct.correlated: the covariance is no positive definite matrix of numbers ({error})."
        ) from error
    if matrix.shape != (len(means), len(means)):
        raise StateError(
            f"ct.correlated: {len(means)} names have a covariance of shape {matrix.shape}; give one row for each."
        )
    return Correlated(dict(means), matrix)
