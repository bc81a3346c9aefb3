"""Wrenches that act on a frame during a run: functions, references, or formulas that compile into the step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import SimulationError, StateError
from catena.kinematics.kind_values import formula_rows
from catena.simulation.acting.symbols import stack
from catena.simulation.references import PiecewisePolynomial, Reference, as_polynomial
from catena.spatial.scalars import Scalar, Scalars, array
from catena.system import System
from catena.validation import is_finite, real_array, shown


class MadeForSystem(Protocol):
    """What becomes a function of (t, q, v) for a system."""

    def on(self, system: System) -> Callable[[Any, Any, Any], Sequence[Any]]:
        """Return the function for the states of a system."""


SaidWrench = Reference | Callable[..., ArrayLike] | Sequence[str | float] | np.ndarray | MadeForSystem
"""A reference, a function of t or of (t, q, v), six formulas and numbers, or what makes a function for a system."""


@dataclass(frozen=True, eq=False)
class ExternalWrench:
    """A wrench [moment; force] on a frame or body, at its origin: `function(t)` or `function(t, q, v)` gives six
    numbers, a reference such as a spline has six coordinates, or six formulas and numbers say it.

    `axes` names the frame whose axes they are in, "ground" or any other; None is the frame itself. With `symbolic` the
    function is written with arithmetic and the functions of `catena.symbols`, for numbers and symbols alike, and
    compiles into the step. A reference that is a polynomial from knot to knot compiles too.
    """

    function: SaidWrench
    axes: str | None = None
    symbolic: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.function, list | tuple | np.ndarray):
            if len(self.function) != 6 or not all(isinstance(x, str) or is_finite(x) for x in self.function):
                raise StateError(
                    f"ExternalWrench: {shown(self.function)}; give six formulas or numbers, moment and force."
                )
            object.__setattr__(self, "function", tuple(self.function))
        elif not any(
            callable(x) for x in (self.function, *(getattr(self.function, w, None) for w in ("at", "on")))
        ):
            raise StateError(
                f"ExternalWrench: {shown(self.function)} is no function; give one of t, of (t, q, v), a reference, or "
                "six formulas."
            )
        if self.axes is not None and not isinstance(self.axes, str):
            raise StateError(f"ExternalWrench: axes is {shown(self.axes)}; name a frame, or leave it out.")
        if not isinstance(self.symbolic, bool):
            raise StateError(f"ExternalWrench: symbolic is {shown(self.symbolic)}; give True or False.")
        if self.symbolic and hasattr(self.function, "at"):
            raise StateError("ExternalWrench: a reference is no formula; leave symbolic out.")

    def on(self, system: System) -> ExternalWrench:
        """Return this wrench for the states of a system: formulas become functions of them."""
        make = getattr(self.function, "on", None)
        if isinstance(self.function, tuple):
            raise StateError(
                "A wrench that formulas say is for `simulate` and for scenarios: give a function of (t, q, v) here."
            )
        return self if make is None else replace(self, function=make(system), symbolic=True)

    @property
    def polynomial(self) -> PiecewisePolynomial | None:
        """Return the function as polynomials from knot to knot, where it is one."""
        return as_polynomial(self.function)

    @cached_property
    def wants_state(self) -> bool:
        """Return whether the function is one of (t, q, v)."""
        if hasattr(self.function, "at"):
            return False
        function: Any = self.function
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return False
        needed = [
            p for p in parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        ]  # fmt: skip
        return len(needed) >= 3

    def formula(self, t: Scalar, q: Scalars, v: Scalars) -> Scalars:
        """Return what the function gives for numbers or symbols."""
        function: Any = self.function
        return function(t, q, v) if self.wants_state else function(t)

    def at(self, frame: str, t: float, q: np.ndarray, v: np.ndarray, trial: bool = False) -> np.ndarray:
        """Return the wrench (states, 6) or (6,) in its axes at the time t and the states q (states, nq), v (states,
        nv), finite unless it is for a `trial`, which may have gone astray."""
        if hasattr(self.function, "at"):
            numbers = self.function.at(t)[0]
        else:
            numbers = self.formula(t, q.copy(), v.copy())
        try:
            # A list may hold numbers beside one number for each state.
            wrench = stack(numbers) if isinstance(numbers, (list, tuple)) else real_array(numbers)
        except (TypeError, ValueError):
            wrench = np.zeros(0)
        if wrench.shape not in ((6,), (len(q), 6)) or not (trial or np.isfinite(wrench).all()):
            raise SimulationError(
                f"The wrench on {frame!r} is {shown(numbers)} at t = {t:.9g} s; give six finite numbers, moment and "
                f"force."
            )
        return wrench

    def over(self, frame: str, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the wrenches (states, samples, 6) in its axes at times (samples,) and the states q (states, samples,
        nq), v (states, samples, nv): all at once where the wrench is a formula or a polynomial."""
        shape = (*q.shape[:2], 6)
        path = self.polynomial
        if path is not None:
            return np.broadcast_to(path.at(times).q, shape)
        if self.symbolic:
            return _formula_over(self.formula, np.broadcast_to(times, shape[:2]), q, v)
        rows = [
            np.broadcast_to(self.at(frame, float(t), q[:, k], v[:, k]), (len(q), 6))
            for k, t in enumerate(times)
        ]
        return np.stack(rows, axis=1)


def _formula_over(function: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return what a formula for a wrench gives at many times t (...) and states q (..., nq), v (..., nv)."""
    import casadi

    symbols = casadi.SX.sym("t"), casadi.SX.sym("q", q.shape[-1]), casadi.SX.sym("v", v.shape[-1])
    rows = (array(casadi.vertsplit(x)) for x in symbols[1:])
    rows_of_wrench = stack([*function(symbols[0], *rows)])
    wrench = casadi.Function("wrench", symbols, [casadi.densify(casadi.vertcat(*rows_of_wrench))])
    rows_given = [np.reshape(x, (t.size, -1)) for x in (t, q, v)]
    return formula_rows(wrench, *rows_given).reshape(*t.shape, 6)


def as_wrench(source: Any) -> ExternalWrench:
    """Return a wrench from itself, or from what users write for one."""
    return source if isinstance(source, ExternalWrench) else ExternalWrench(source)


Push = Callable[[Any, Any, Any], Any]


def push_of(wrenches: tuple[ExternalWrench, ...]) -> Push:
    """Return what gives all of these wrenches, which are formulas, one behind the other."""
    return partial(_pushed, wrenches)


def _pushed(wrenches: tuple[ExternalWrench, ...], t: Any, q: Any, v: Any) -> np.ndarray:
    rows = [w.formula(t, q, v) for w in wrenches]
    for row in rows:
        if len(row) != 6:
            raise StateError(
                f"ExternalWrench: a formula gave {len(row)} numbers; give six, moment and force."
            )
    return array([x.item() if isinstance(x, np.ndarray) else x for row in rows for x in row])
