"""A controller that is asked at its own rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.simulation.control.protocol import Controller, checked_rate
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars
from catena.system import System
from catena.validation import real_array, shown


def sampled(function: Callable[..., Any], rate: float | None, batches: bool = False) -> Controller:
    """Return a controller that asks `function(t, q, v)` at the times k / rate [s] and holds its forces in between,
    (nv,) or by joint.

    The function may have a memory of its own, since it is asked once for every sample, in order. If it has a method
    `start(system, batch)`, that is called before every run.

    A batch without contacts asks it for all its states at once, q (..., nq) and v (..., nv). One with contacts asks for
    one state after the other, because each has times of its own, unless the function says by `batches` that it takes
    all of them: then states wait at their samples for each other.
    """
    return SampledController(function, rate, batches)


class SampledController(Controller):
    """Carries a rate for a function of (t, q, v); a simulation does the sampling."""

    keeps_nothing = True
    """It remembers nothing itself; what it samples may."""

    def __init__(self, function: Callable[..., Any], rate: float | None, batches: bool = False) -> None:
        if not callable(function):
            raise StateError(f"sampled: {shown(function)} cannot be called; give a function of (t, q, v).")
        self.function, self.batches = function, bool(batches or getattr(function, "batches", False))
        self.rate = checked_rate(rate, "sampled")
        own = getattr(function, "rate", None)
        if own is not None and own != self.rate:
            raise StateError(
                f"sampled: {type(function).__name__} has the rate {own:g} Hz already, and {rate} was asked for; "
                f"make it with rate={rate}."
            )

    @property
    def compiles(self) -> bool:
        return bool(getattr(self.function, "compiles", False))

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        begin = getattr(self.function, "start", None)
        if begin is not None:
            begin(system, batch)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        answer = self.function(t, q, v)
        if type(answer) is not np.ndarray and isinstance(answer, Mapping):
            return answer
        try:
            return real_array(answer)
        except ValueError as error:
            raise StateError(
                f"sampled: the function gave {shown(answer)} at t = {t:.9g} s: {error}."
            ) from error

    # What it samples may be a law.

    def memory(self, system: System) -> int:
        return int(self._law.memory(system))

    def inputs(self, t: Any) -> np.ndarray:
        return np.asarray(self._law.inputs(t))

    def input_paths(self) -> tuple[InputPath, ...] | None:
        return self._law.input_paths() if self.compiles else None

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        tau, memory = self._law.evaluate(t, q, v, memory, inputs)
        return tau, memory

    @property
    def _law(self) -> Any:
        if not self.compiles:
            raise StateError(
                f"{getattr(self.function, '__name__', type(self.function).__name__)} is a Python function, which "
                f"does not compile; write it as a SymbolicControl."
            )
        return self.function
