"""Polynomials side by side, those with the same knots as one: a row of numbers that are known ahead, at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from catena.simulation.references.as_polynomial import DEGREE, InputPath
from catena.simulation.references.piecewise import PiecewisePolynomial
from catena.simulation.references.protocol import as_times


class PathTable:
    """The columns of several polynomials or their derivatives, of order 2 at most, one beside the other."""

    def __init__(self, paths: Sequence[InputPath]) -> None:
        self.paths = tuple(paths)
        widths = [path.coefficients.shape[-1] for path, _ in paths]
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(int)
        self.width = int(starts[-1])
        self._still = np.zeros(self.width)
        found: dict[tuple[Any, ...], list[tuple[PiecewisePolynomial, int, int]]] = {}
        for (path, order), start, width in zip(paths, starts, widths):
            if path.coefficients.shape[:2] == (1, 1):
                self._still[start : start + width] = 0.0 if order else path.coefficients[0, 0]
                continue
            key = (path.periodic, path.coefficients.shape[1], path.times.tobytes())
            found.setdefault(key, []).append((path, order, int(start)))
        self._bundles = [_bundled(parts) for parts in found.values()]

    @cached_property
    def changing(self) -> np.ndarray:
        """Return the columns that are not the same at all times."""
        columns = [to for bundle in self._bundles for _, to in bundle.columns]
        return np.sort(np.concatenate([np.zeros(0, dtype=int), *columns]))

    def at(self, t: Any) -> np.ndarray:
        """Return the row (width,) at a time, or rows (..., width) at times."""
        if isinstance(t, float) and isfinite(t):
            row = self._still.copy()
            for bundle in self._bundles:
                row[bundle.all_to] = bundle.motion.at_one(t).ravel()[bundle.all_taken]
            return row
        times = as_times(t, "path")
        rows = np.broadcast_to(self._still, (*times.shape, self.width)).copy()
        for bundle in self._bundles:
            for x, (taken, to) in zip(bundle.motion.at(times), bundle.columns, strict=True):
                rows[..., to] = x[..., taken]
        return rows

    def taylor(self, t: float) -> np.ndarray:
        """Return the coefficients (DEGREE + 1, width) in powers of the time since t."""
        result = np.zeros((DEGREE + 1, self.width))
        result[0] = self._still
        for bundle in self._bundles:
            c = bundle.motion.taylor(t, DEGREE)
            for taken, to in bundle.columns:
                result[: len(c), to] = c[:, taken]
                c = c[1:] * np.arange(1, len(c))[:, None]
        return result


@dataclass(frozen=True, eq=False)
class _Bundle:
    """Polynomials with the same knots as one, and of each derivative the columns that are taken and where they go."""

    motion: PiecewisePolynomial
    columns: tuple[tuple[np.ndarray, np.ndarray], ...]

    @cached_property
    def all_taken(self) -> np.ndarray | slice:
        """Return the columns that are taken of all derivatives one behind the other."""
        width = self.motion.coefficients.shape[-1]
        return _as_slice(np.concatenate([k * width + taken for k, (taken, _) in enumerate(self.columns)]))

    @cached_property
    def all_to(self) -> np.ndarray | slice:
        """Return where they go."""
        return _as_slice(np.concatenate([to for _, to in self.columns]))


def _as_slice(columns: np.ndarray) -> np.ndarray | slice:
    """Return columns that follow one another as a slice, which is quicker."""
    first = int(columns[0])
    whole = slice(first, first + len(columns))
    return whole if np.array_equal(columns, np.arange(whole.start, whole.stop)) else columns


def _bundled(parts: Sequence[tuple[PiecewisePolynomial, int, int]]) -> _Bundle:
    distinct: dict[int, tuple[int, PiecewisePolynomial]] = {}
    width = 0
    taken: list[list[np.ndarray]] = [[], [], []]
    to: list[list[np.ndarray]] = [[], [], []]
    for path, order, start in parts:
        count = path.coefficients.shape[-1]
        if id(path) not in distinct:
            distinct[id(path)] = (width, path)
            width += count
        taken[order].append(distinct[id(path)][0] + np.arange(count))
        to[order].append(start + np.arange(count))
    paths = [path for _, path in distinct.values()]
    coefficients = np.concatenate([path.coefficients for path in paths], axis=-1)
    motion = PiecewisePolynomial(paths[0].times, coefficients, paths[0].periodic, paths[0].name)
    none = np.zeros(0, dtype=int)
    columns = tuple(
        (np.concatenate([none, *a]), np.concatenate([none, *b])) for a, b in zip(taken, to, strict=True)
    )
    return _Bundle(motion, columns)
