"""How an FMU takes its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.errors import StateError
from catena.validation import is_one_of, is_positive, shown

INTEGRATORS = ("dopri5", "rk4")


@dataclass(frozen=True)
class Solver:
    """Relative and absolute tolerance of steps, or the length of fixed ones, and the time [s] in which gaps of loops
    fade where somebody else takes the steps."""

    rtol: float
    atol: float
    step: float | None
    stabilisation: float


def make_solver(integrator: Any, step: Any, rtol: Any, atol: Any, stabilisation: Any) -> Solver:
    """Return what was asked for; a StateError says what is wrong with it."""
    if not is_one_of(integrator, INTEGRATORS):
        raise StateError(
            f"integrator is {shown(integrator)}; an FMU has {' and '.join(map(repr, INTEGRATORS))}."
        )
    for name, value in (("rtol", rtol), ("atol", atol), ("stabilisation", stabilisation)):
        if not is_positive(value):
            raise StateError(f"{name} is {shown(value)}; give a positive number.")
    if integrator == "rk4" and not is_positive(step):
        raise StateError(
            f"step is {shown(step)}; integrator='rk4' takes steps of `step` seconds: give a positive number."
        )
    if integrator != "rk4" and step is not None:
        raise StateError(
            f"step is {shown(step)}, but {integrator!r} chooses its steps by rtol and atol: leave it out."
        )
    return Solver(float(rtol), float(atol), None if step is None else float(step), float(stabilisation))
