"""What a simulation knows about controllers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np

from catena.errors import StateError
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars
from catena.system import System
from catena.validation import real_number, shown


class Controller(ABC):
    """Gives the joint forces tau (..., nv) for a time and the states q (..., nq), v (..., nv).

    `rate` is how often it is asked [Hz]: between two times k / rate its forces are held. None means always, at every
    stage of a step. Controllers are added with `+`.
    """

    rate: float | None = None
    batches = False
    """Whether it takes all states of a batch with contacts at once, where it has a rate."""

    @property
    def compiles(self) -> bool:
        """Return whether it is a `Law`, which can be compiled into the loop of a simulation."""
        return False

    def memory(self, system: System) -> int:
        """Return how many numbers a law remembers from sample to sample: none, unless it says so."""
        return 0

    @abstractmethod
    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        """Forget the last run; a run of `system` with this batch shape begins."""

    @abstractmethod
    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return tau (..., nv)."""

    def __add__(self, other: Any) -> Controller:
        from catena.simulation.control.sum import Sum

        return Sum(self, other)

    def __radd__(self, other: Any) -> Controller:
        from catena.simulation.control.sum import Sum

        return Sum(other, self)


@runtime_checkable
class Law(Protocol):
    """A controller as a formula, the same for numbers and symbols.

    `evaluate` is a pure function of arrays (see `symbols`). A law with memory has a rate: its memory after a sample
    enters the next one.
    """

    rate: float | None

    def memory(self, system: System) -> int:
        """Return the number of memory entries; they are zero at the start."""

    def inputs(self, t: Any) -> np.ndarray:
        """Return what is known ahead at time t, (k,) or (..., k); for an array of times (T,) it is (..., T, k)."""

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return the inputs as polynomials in time, one beside the other; None where they are something else."""

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return tau (..., nv) and the next memory, from (..., nq), (..., nv), (..., m) and (..., k)."""


def checked_rate(rate: Any, who: str) -> float | None:
    """Return a sampling rate [Hz] that is positive and finite, or None."""
    if rate is None:
        return None
    try:
        value = real_number(rate)
    except ValueError as error:
        raise StateError(
            f"{who}: rate is {shown(rate)} ({error}); give a number of samples per second, or None."
        ) from error
    if not (np.isfinite(value) and value > 0.0):
        raise StateError(f"{who}: rate is {value}; give a positive number of samples per second, or None.")
    return value


def require_same(who: str, own: System, other: System) -> None:
    """Raise a StateError when a controller made for one system is started on another."""
    if other.variants.origin is not own.variants.origin:
        raise StateError(
            f"{who} was made for {own.mechanism.name!r} ({own.nv} velocity components) and is used with "
            f"{other.mechanism.name!r} ({other.nv}), planned anew or another one: make it with the same system."
        )
