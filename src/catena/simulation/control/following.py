"""References as controllers take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from catena.errors import CatenaError, StateError
from catena.simulation.references import JointPath, Motion
from catena.system import System

# References at the samples of a controller are computed for so many samples together.
BLOCK = 64


@runtime_checkable
class StatePath(Protocol):
    """A reference of a whole system, such as `JointPath` and `TaskPath`."""

    system: System

    @property
    def followed(self) -> np.ndarray:
        """Which velocity components (nv,) have a reference."""

    def at(self, t: Any) -> Motion:
        """Return the motion of the whole system."""

    def given(self, t: Any) -> Motion:
        """Return it without what follows from the loops."""


def as_path(system: System, who: str, reference: Any) -> StatePath:
    """Return a reference of the system: itself, or a `JointPath` of a mapping {joint: reference or position}."""
    if isinstance(reference, Mapping):
        return JointPath(system, reference)
    if isinstance(reference, StatePath):
        if reference.system is not system:
            raise StateError(
                f"{who}: the reference was made for another plan, of {reference.system.mechanism.name!r}; make it with "
                f"the same system."
            )
        return reference
    raise StateError(
        f"{who}: the reference is {reference!r}; give {{joint: position or reference}}, a JointPath or a TaskPath."
    )


class Ahead:
    """Arrays that are known at every time, computed ahead for the samples k / rate of a controller, many at once.

    `compute` takes times (T,) and gives arrays (T, ...), or one time and gives them without that dimension.
    """

    def __init__(self, compute: Callable[[Any], Sequence[np.ndarray]], rate: float | None) -> None:
        self.compute, self.rate = compute, rate
        self._first = 0
        self._block: Sequence[np.ndarray] = ()

    def at(self, t: Any) -> Sequence[np.ndarray]:
        """Return the arrays at the time t, or at times."""
        if self.rate is None or np.ndim(t):
            return self.compute(t)
        k = round(float(t) * self.rate)
        if k < 0 or abs(float(t) * self.rate - k) > 1e-6:
            return self.compute(t)
        if not self._block or not self._first <= k < self._first + BLOCK:
            try:
                self._block = self.compute((k + np.arange(BLOCK)) / self.rate)
            except CatenaError:
                # What is out of reach may lie behind the end of the run.
                return self.compute(t)
            self._first = k
        return [x[k - self._first] for x in self._block]
