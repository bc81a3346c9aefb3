"""A user's control law, compiled into the loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.acting.symbols import stack
from catena.simulation.control.protocol import Controller, checked_rate
from catena.simulation.control.remembered import Remembered
from catena.simulation.references import Constant, PiecewisePolynomial, Reference, as_polynomial, is_reference
from catena.simulation.references.as_polynomial import InputPath
from catena.spatial.scalars import Scalar, Scalars, array, is_symbolic
from catena.system import System
from catena.validation import can_take, is_count, real_array, shown


class SymbolicControl(Controller):
    """A law written with arithmetic and the functions of `catena.symbols`.

    `function(t, q, v)` returns tau as an array (..., nv) or a list of its entries. With `memory` entries it is called
    as function(t, q, v, memory) and returns (tau, next memory); memory is zero at the start. With `inputs`, numbers
    known ahead (k,), these come as the last argument: given as numbers that do not change, as a reference such as a
    spline, or as a function of the time. `rate` [Hz] is the sampling rate, which a law with memory needs; None is
    continuous. Steps ask for inputs that are a function from Python, unless they are fixed and samples fall on them.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        memory: int = 0,
        inputs: Callable[[float], ArrayLike] | ArrayLike | Reference | None = None,
        rate: float | None = None,
    ) -> None:
        if not callable(function):
            raise StateError(
                f"SymbolicControl: {shown(function)} cannot be called; give a function of (t, q, v)."
            )
        if not is_count(memory):
            raise StateError(f"SymbolicControl: memory is {shown(memory)}; give the number of its entries.")
        self.rate = checked_rate(rate, "SymbolicControl")
        if memory and self.rate is None:
            raise StateError("SymbolicControl: a memory goes from sample to sample, so it needs a rate.")
        self.function, self._size = function, int(memory)
        self._inputs, self._polynomial = _known_ahead(inputs)
        names = (
            "t",
            "q",
            "v",
            *(("memory",) if memory else ()),
            *(("inputs",) if inputs is not None else ()),
        )
        if not can_take(function, *names):
            raise StateError(
                f"SymbolicControl: {shown(function)} cannot be called with ({', '.join(names)}), which it will be."
            )
        self._remembered = Remembered()

    @property
    def compiles(self) -> bool:
        return True

    def start(self, system: System, batch: tuple[int, ...] = ()) -> None:
        self._remembered.forget()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._remembered.call(self, self._size, t, q, v)

    def memory(self, system: System) -> int:
        """Return the number of memory entries."""
        return self._size

    def inputs(self, t: Scalar) -> np.ndarray:
        """Return what the user's inputs are at the time t, or at times."""
        if self._inputs is None:
            return np.zeros((*np.shape(t), 0))
        try:
            rows = [np.atleast_1d(real_array(self._inputs(float(one)))) for one in np.ravel(t)]
        except ValueError as error:
            raise StateError(f"SymbolicControl: the inputs are not numbers: {error}.") from error
        for one, row in zip(np.ravel(t), rows):
            if not np.isfinite(row).all():
                raise StateError(
                    f"SymbolicControl: the inputs at t = {one:.9g} s are {row.tolist()}, not finite."
                )
        return np.stack(rows).reshape(*np.shape(t), *rows[0].shape)

    def input_paths(self) -> tuple[InputPath, ...] | None:
        """Return the inputs as polynomials where they are numbers or such a reference."""
        if self._inputs is None:
            return ()
        return None if self._polynomial is None else ((self._polynomial, 0),)

    def evaluate(
        self, t: Scalar, q: Scalars, v: Scalars, memory: Scalars, inputs: Scalars
    ) -> tuple[Scalars, Scalars]:
        """Return tau and the next memory."""
        extra = ([memory] if self._size else []) + ([inputs] if self._inputs is not None else [])
        found = self.function(t, q, v, *extra)
        if not self._size:
            return _array(found), memory
        if not isinstance(found, tuple) or len(found) != 2:
            raise StateError("SymbolicControl: a law with memory returns (tau, memory).")
        tau, kept = _array(found[0]), _array(found[1])
        if kept.shape[-1] != self._size:
            raise StateError(
                f"SymbolicControl: the law returned {kept.shape[-1]} memory entries, but it has {self._size}."
            )
        return tau, kept


def _known_ahead(
    inputs: Any,
) -> tuple[Callable[[float], Any] | None, PiecewisePolynomial | None]:
    """Return the user's inputs as a function of the time, and as polynomials where they are polynomials."""
    if inputs is None or (callable(inputs) and not is_reference(inputs)):
        return inputs, None
    if not is_reference(inputs):
        try:
            inputs = Constant(inputs)
        except StateError as error:
            raise StateError(
                f"SymbolicControl: inputs is {shown(inputs)}; give numbers, a reference, or a function of the time."
            ) from error
    return (lambda t: inputs.at(t).q), as_polynomial(inputs)


def _array(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, Sequence):
        return stack(x)
    if is_symbolic(x):
        # An array and a symbol make a column of symbols.
        return array([x[k] for k in range(x.numel())])
    raise StateError(
        f"SymbolicControl: the law returned {shown(x)}; give tau as an array (..., nv) or a list of nv."
    )
