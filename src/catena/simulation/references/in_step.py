"""References as the compiled step follows them: polynomials in time, which are data, and a formula of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from catena.simulation.references.as_polynomial import InputPath, as_polynomial, held
from catena.simulation.references.constant import Constant
from catena.simulation.references.function import Formula, as_formula
from catena.simulation.references.path_table import PathTable
from catena.simulation.references.piecewise import PiecewisePolynomial
from catena.simulation.references.pose_path import PosePath, posed
from catena.simulation.references.rotation import OrientationPath, ShortestTurns, turned
from catena.spatial.scalars import array, is_symbolic

Rows = tuple[Any, Any, Any]


@dataclass(frozen=True, eq=False)
class ReferenceInStep:
    """`motion` gives position, velocity and acceleration from a time and the numbers (k,) of `paths` at that time; both
    may be numbers or symbols. A pickle holds the `source` that it was made of, and makes it again."""

    paths: tuple[InputPath, ...]
    motion: Callable[[Any, Any], Rows]
    source: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self.source,)

    @cached_property
    def table(self) -> PathTable:
        """Return the polynomials side by side."""
        return PathTable(self.paths)

    def at(self, t: float) -> Rows:
        """Return the motion at a time."""
        return self.motion(t, self.table.at(t))


def in_step(reference: Any) -> ReferenceInStep | None:
    """Return a reference for the compiled step; None where only Python knows what it is at a time."""
    found = _in_step(reference)
    return found and replace(found, source=reference)


def _made_again(source: Any) -> ReferenceInStep | None:
    """Return what a pickle held; references of whole systems make their own."""
    return source.in_step if hasattr(source, "in_step") else in_step(source)


def _in_step(reference: Any) -> ReferenceInStep | None:
    polynomial = as_polynomial(reference)
    if polynomial is not None:
        return ReferenceInStep(((polynomial, 0), (polynomial, 1), (polynomial, 2)), thirds)
    if isinstance(reference, Constant):
        rest = np.zeros(reference.nv)
        return ReferenceInStep(((held(reference.position), 0),), lambda t, x: (x, rest, rest))
    formula = as_formula(reference)
    if formula is not None:
        return ReferenceInStep((), lambda t, x: formula_rows(formula, t))
    if isinstance(reference, OrientationPath):
        vector, start = in_step(reference.vector), reference.start
        return vector and ReferenceInStep(vector.paths, lambda t, x: turned(start, *vector.motion(t, x)))
    if isinstance(reference, ShortestTurns):
        return _turns(reference)
    if isinstance(reference, PosePath):
        return _both(reference)
    return None


def formula_rows(formula: Formula, t: Any) -> Rows:
    """Return what a formula gives at a time, a number or a symbol, as arrays."""
    q, v, a = (array(row) if is_symbolic(t) else np.array(row) for row in formula(t))
    return q, v, a


def thirds(t: Any, x: Any) -> Rows:
    """Return position, velocity and acceleration of numbers (..., 3 k) that are these."""
    k = x.shape[-1] // 3
    return x[..., :k], x[..., k : 2 * k], x[..., 2 * k :]


def _turns(reference: ShortestTurns) -> ReferenceInStep | None:
    """Return turns from orientation to orientation: where each begins, its vector and its number are steps in time."""
    law = in_step(reference.law)
    if law is None:
        return None
    number = np.arange(float(len(reference.vectors)))[:, None]
    steps = np.concatenate([reference.orientations[:-1], reference.vectors, number], axis=-1)[:, None, :]

    def motion(t: Any, x: Any) -> Rows:
        start, vector, passed = x[..., :4], x[..., 4:7], x[..., 7:8]
        s, rate, rate2 = law.motion(t, x[..., 8:])
        return turned(start, (s - passed) * vector, rate * vector, rate2 * vector)

    return ReferenceInStep(((PiecewisePolynomial(reference.times, steps), 0), *law.paths), motion)


def _both(reference: PosePath) -> ReferenceInStep | None:
    place, turn = in_step(reference.position), in_step(reference.rotation)
    if place is None or turn is None:
        return None
    first = place.table.width

    def motion(t: Any, x: Any) -> Rows:
        return posed(place.motion(t, x[..., :first]), turn.motion(t, x[..., first:]))

    return ReferenceInStep((*place.paths, *turn.paths), motion)
