"""Prescribed motions, wrenches and what controllers follow, as polynomials in time that are data of the compiled step.

No step passes a knot, so that within a call every path is one polynomial. Its coefficients about a common origin are
inputs of the step: new paths compile nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from catena.simulation.references import PiecewisePolynomial
from catena.simulation.references.as_polynomial import DEGREE, InputPath
from catena.simulation.references.path_table import PathTable
from catena.system import System


class Paths:
    """The polynomials of driven joints, of wrenches, and of the inputs of a control law, in the order in which the step
    is told them, from the time `start` [s] on."""

    def __init__(
        self,
        system: System,
        motion: Mapping[str, PiecewisePolynomial],
        wrenches: Sequence[PiecewisePolynomial],
        law: Sequence[InputPath] = (),
        start: float = 0.0,
    ) -> None:
        self.system, self.motion, self.law, self.start = system, dict(motion), tuple(law), start
        self.wrenches: tuple[InputPath, ...] = tuple((path, 0) for path in wrenches)
        self._tables = {
            name: PathTable(paths)
            for name, paths in (("wrench", self.wrenches), ("input", self.law))
            if paths
        }
        self._about: tuple[np.ndarray, dict[str, np.ndarray]] | None = None

    def within(self, start: float, end: float) -> np.ndarray:
        """Return the times between two others at which a path goes over to another polynomial."""
        found = [self._once]
        for path in (path for path in self._all if path.periodic):
            first, last = path.span
            past = int(np.floor((start - first) / (last - first))) - 1
            turns = int(np.ceil((end - first) / (last - first))) + 1
            found += [path.times + k * (last - first) for k in range(past, turns)]
        times = found[0] if len(found) == 1 else np.unique(np.concatenate(found))
        return times[np.searchsorted(times, start, side="right") : np.searchsorted(times, end, side="left")]

    @cached_property
    def _all(self) -> list[PiecewisePolynomial]:
        """Return the polynomials that change with the time."""
        paths = (*self.motion.values(), *(path for path, _ in (*self.wrenches, *self.law)))
        return [path for path in paths if path.coefficients.shape[:2] != (1, 1)]

    @cached_property
    def _once(self) -> np.ndarray:
        """Return the times at which one that does not repeat itself goes over to another polynomial."""
        return np.unique(
            np.concatenate([np.zeros(0), *(path.times for path in self._all if not path.periodic)])
        )

    def inputs(self, t: np.ndarray) -> dict[str, np.ndarray]:
        """Return what the step is given for states at the times t (states,), which lie within or at the start of a
        piece."""
        # Powers count from the knot before, so that the bits do not depend on where a call begins.
        latest = float(t[np.isfinite(t)].max(initial=self.start))
        knots = np.concatenate([[self.start], self.within(self.start, latest + 1e-9 * abs(latest) + 1e-9)])
        passed = np.searchsorted(knots, t + 1e-12 * np.maximum(1.0, np.abs(t)), side="right") - 1
        origins, which = np.unique(knots[np.maximum(passed, 0)], return_inverse=True)
        return {"path_origin": origins[which][:, None].copy()} | {
            name: rows[which] for name, rows in self._coefficients(origins).items()
        }

    def _coefficients(self, origins: np.ndarray) -> dict[str, np.ndarray]:
        """Return what the step is given for each of some times that powers count from; most calls ask for the same as
        the one before."""
        if self._about is not None and np.array_equal(self._about[0], origins):
            return self._about[1]
        found: dict[str, np.ndarray] = {}
        if self.motion:
            table = np.zeros((len(origins), DEGREE + 1, self.system.nv))
            for k, origin in enumerate(origins):
                for joint, path in self.motion.items():
                    table[k, :, self.system.slice_v(joint)] = path.taylor(float(origin), DEGREE)
            found |= {f"path_{j}": table[:, j] for j in range(DEGREE + 1)}
        for name, paths in self._tables.items():
            table = np.stack([paths.taylor(float(origin)) for origin in origins])
            found |= {f"{name}_{j}": table[:, j] for j in range(DEGREE + 1)}
        if self.law:
            # Numbers that do not change have no other coefficients than the first.
            found["inputs"] = found.pop("input_0")
            changing = self._tables["input"].changing
            for j in range(1, DEGREE + 1):
                found[f"input_{j}"] = found[f"input_{j}"][:, changing]
        self._about = origins, found
        return found
