"""A user's function of time as a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from catena.errors import StateError
from catena.kinematics.kind_values import formula_rows
from catena.simulation.references.protocol import ReferenceMotion, as_times
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import is_symbolic
from catena.validation import real_array, shown


def function(
    position: Callable[[Any], Any],
    velocity: Callable[[Any], Any] | None = None,
    acceleration: Callable[[Any], Any] | None = None,
) -> Function:
    """Return the motion given by functions of the time.

    `position(t)` gives one number or k of them. Without `velocity` and `acceleration` its derivatives are taken by
    exact differentiation of the formula: it is called once with a symbol, on which arithmetic, NumPy's elementary
    functions and those of `catena.symbols` work.
    """
    return Function(position, velocity, acceleration)


Formula = Callable[[Any], tuple[list[Any], list[Any], list[Any]]]
"""Gives the entries of position, velocity and acceleration at a time, which is a number or a symbol."""


def as_formula(reference: Any) -> Formula | None:
    """Return the formula of a reference that the compiled step can follow by itself; None if it is something else."""
    return reference.formula if isinstance(reference, Function) else None


class Function:
    """The motion of functions of time; see `function`. `formula` is what it was differentiated as, None where its
    velocity and acceleration are functions of their own."""

    def __init__(
        self,
        position: Callable[[Any], Any],
        velocity: Callable[[Any], Any] | None = None,
        acceleration: Callable[[Any], Any] | None = None,
    ) -> None:
        for what, path in (("position", position), ("velocity", velocity), ("acceleration", acceleration)):
            if path is not None and not callable(path):
                raise StateError(f"function: {what} is {shown(path)}; give a function of the time.")
        if (velocity is None) != (acceleration is None):
            raise StateError("function: give velocity and acceleration together, or neither.")
        self.formula: Formula | None = None
        if velocity is None or acceleration is None:
            self._evaluate, self.formula = _differentiated(position)
        else:
            parts = (position, velocity, acceleration)
            self._evaluate = lambda times: [_called(part, times) for part in parts]

    def at(self, t: Any) -> ReferenceMotion:
        """Return position, velocity and acceleration, each (..., k)."""
        times = as_times(t, "function")
        q, v, a = self._evaluate(times.ravel())
        for what, x in (("position", q), ("velocity", v), ("acceleration", a)):
            if not np.isfinite(x).all():
                row = int(np.argwhere(~np.isfinite(x))[0][0])
                raise StateError(
                    f"function: the {what} at t = {times.ravel()[row]:.9g} s is {x[row].tolist()}; it must be finite."
                )
        return ReferenceMotion(*(x.reshape(*times.shape, x.shape[-1]) for x in (q, v, a)))


def _called(part: Callable[[Any], Any], times: np.ndarray) -> np.ndarray:
    """Return the values (T, k) of a function of one time."""
    try:
        rows = [np.atleast_1d(real_array(part(float(t)))) for t in times]
    except ValueError as error:
        raise StateError(f"function: the values are not rows of numbers: {error}.") from error
    return np.stack(rows) if rows else np.zeros((0, 1))


def _differentiated(
    position: Callable[[Any], Any],
) -> tuple[Callable[[np.ndarray], list[np.ndarray]], Formula]:
    """Return a function of times (T,) that gives position, velocity and acceleration, each (T, k), and one of a time
    that may be a symbol."""
    import casadi

    t = casadi.SX.sym("t")
    try:
        with on_symbols("the position"):
            value = position(t)
    except Exception as error:
        raise StateError(
            f"function: the position cannot be differentiated, because it does not work with a symbol for the time "
            f"({error}). Use arithmetic and functions such as those of catena.symbols, or give velocity and "
            f"acceleration as functions too."
        ) from error
    try:
        entries = list(np.ravel(value)) if isinstance(value, (list, tuple, np.ndarray)) else [value]
    except ValueError as error:
        raise StateError(f"function: the position is {shown(value)}, whose rows differ in length.") from error
    if not all(is_symbolic(x) or isinstance(x, (int, float, np.number)) for x in entries):
        raise StateError(f"function: the position is {shown(value)}; give a number or a row of numbers.")
    x = casadi.vertcat(*entries)
    v = casadi.jacobian(x, t)
    parts = [casadi.densify(y) for y in (x, v, casadi.jacobian(v, t))]
    formula = _of_one_time(casadi.Function("reference", [t], parts))
    row, width = casadi.Function("row", [t], [casadi.vertcat(*parts)]), len(entries)

    def evaluate(times: np.ndarray) -> list[np.ndarray]:
        if not len(times):
            return [np.zeros((0, width))] * 3
        if len(times) == 1:
            return [np.array([part]) for part in formula(float(times[0]))]
        return np.split(formula_rows(row, times[:, None]), 3, axis=1)

    return evaluate, formula


def one_formula(formulas: Sequence[Formula]) -> Formula:
    """Return the formula whose entries are those of several, one behind the other."""
    import casadi

    t = casadi.SX.sym("t")
    rows = [formula(t) for formula in formulas]
    columns = [casadi.vertcat(*(x for row in rows for x in row[k])) for k in range(3)]
    return _of_one_time(casadi.Function("references", [t], [casadi.densify(x) for x in columns]))


def _of_one_time(compute: Any) -> Formula:
    """Return a CasADi function of the time as a formula; a number is told and its results are read without objects of
    CasADi in between."""
    import casadi

    t, count = casadi.SX.sym("t"), compute.size1_out(0)
    alone = casadi.Function("reference", [t], compute(t))
    moment, found = np.zeros(1), [np.zeros(count) for _ in range(3)]
    memory: Any
    memory, call = alone.buffer()
    view: Any = memoryview
    memory.set_arg(0, view(moment))
    for k, row in enumerate(found):
        memory.set_res(k, view(row))
    lock = Lock()

    # What is called belongs to the function and to where its arguments lie, which nothing else keeps.
    def formula(time: Any, _kept: Any = (alone, memory)) -> tuple[list[Any], list[Any], list[Any]]:
        if is_symbolic(time):
            rows = [[y[k] for k in range(count)] for y in compute(time)]
        else:
            with lock:
                moment[0] = time
                call()
                rows = [row.tolist() for row in found]
        return rows[0], rows[1], rows[2]

    return formula
