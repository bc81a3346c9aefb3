"""A law that is known by points: straight or smooth between them, and stated beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.forces.parameters import Parametric, numbers
from catena.spatial.scalars import less, where
from catena.validation import is_one_of, shown

BEYOND = ("line", "hold")


@dataclass(frozen=True)
class Table(Parametric):
    """A function of one number through the points (x, y), x increasing.

    Between points it is straight, or with `smooth` the monotone cubic of Fritsch and Carlson, which has no overshoot
    and a continuous slope. Beyond the first and the last point it goes on as a "line" with the slope it has there, or
    it "hold"s the value. All numbers of the table are parameters; how many points there are belongs to the code.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    smooth: bool = False
    beyond: str = "line"
    coefficients: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.smooth, bool):
            raise ModelError(f"Table: smooth is {shown(self.smooth)}: give True or False")
        numbers(self, "x")
        numbers(self, "y", len(self.x))
        x, y = np.array(self.x), np.array(self.y)
        if len(x) < 2 or (np.diff(x) <= 0.0).any():
            raise ModelError(f"Table: x is {list(self.x)}: give two or more points with x increasing")
        if not is_one_of(self.beyond, BEYOND):
            raise ModelError(f"Table: beyond is {shown(self.beyond)}: choose one of {', '.join(BEYOND)}")
        object.__setattr__(
            self, "coefficients", tuple(_pieces(x, y, self.smooth, self.beyond).ravel().tolist())
        )

    def value(self, at: Any) -> Any:
        """Return the value at a number or symbol."""
        d, (_, y, *slopes) = self._piece(at)
        return _polynomial(d, [y, *slopes])

    def integral(self, at: Any) -> Any:
        """Return the integral from the first point to a number or symbol."""
        d, (before, *coefficients) = self._piece(at)
        return before + d * _polynomial(d, [c / (k + 1.0) for k, c in enumerate(coefficients)])

    def _piece(self, at: Any) -> tuple[Any, list[Any]]:
        """Return how far `at` is from where its piece begins, and the integral up to there with the piece's
        coefficients."""
        width = len(self.coefficients) // (len(self.x) + 1)
        rows = [self.coefficients[k : k + width] for k in range(0, len(self.coefficients), width)]
        start, chosen = self.x[0], list(rows[0])
        for x, row in zip(self.x, rows[1:], strict=True):
            inside = less(x, at)
            start = where(inside, x, start)
            chosen = [where(inside, new, old) for new, old in zip(row, chosen, strict=True)]
        return at - start, chosen


def _polynomial(d: Any, coefficients: Sequence[Any]) -> Any:
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * d + c
    return total


def _pieces(x: np.ndarray, y: np.ndarray, smooth: bool, beyond: str) -> np.ndarray:
    """Of each piece the integral up to its beginning and its coefficients, lowest first: one before the first point,
    and one that begins at each point."""
    h, rise = np.diff(x), np.diff(y) / np.diff(x)
    if smooth:
        slope = _monotone_slopes(h, rise)
        inner = [y[:-1], slope[:-1], (3.0 * rise - 2.0 * slope[:-1] - slope[1:]) / h,
                 (slope[:-1] + slope[1:] - 2.0 * rise) / h**2]  # fmt: skip
    else:
        slope = np.concatenate([rise, rise[-1:]])
        inner = [y[:-1], rise]
    table = np.zeros((len(x) + 1, 1 + len(inner)))
    table[1:-1, 1:] = np.stack(inner, axis=1)
    table[[0, -1], 1] = y[[0, -1]]
    if beyond == "line":
        table[[0, -1], 2] = slope[[0, -1]]
    powers = h[:, None] ** np.arange(1, table.shape[1]) / np.arange(1, table.shape[1])
    table[2:, 0] = np.cumsum(np.sum(table[1:-1, 1:] * powers, axis=1))
    return table


def _monotone_slopes(h: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """Slopes (n,) at the points, from the widths h (n - 1,) and slopes of the chords: weighted harmonic means, and zero
    at turning points."""
    if len(h) == 1:
        return np.repeat(rise, 2)
    same = rise[:-1] * rise[1:] > 0.0
    w1, w2 = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
    safe = np.where(same[:, None], np.stack([rise[:-1], rise[1:]], axis=1), 1.0)
    inner = np.where(same, (w1 + w2) / (w1 / safe[:, 0] + w2 / safe[:, 1]), 0.0)
    return np.concatenate([[_end_slope(h[0], h[1], rise[0], rise[1])], inner,
                           [_end_slope(h[-1], h[-2], rise[-1], rise[-2])]])  # fmt: skip


def _end_slope(h0: float, h1: float, r0: float, r1: float) -> float:
    """Return the slope of a parabola at its end, made to fit the chord next to it."""
    slope = ((2.0 * h0 + h1) * r0 - h0 * r1) / (h0 + h1)
    if slope * r0 <= 0.0:
        return 0.0
    if r0 * r1 <= 0.0 and abs(slope) > 3.0 * abs(r0):
        return 3.0 * r0
    return float(slope)


def require_tables(who: str, **tables: Any) -> None:
    """Raise an error for anything that is given as a table and is none; None is no table."""
    for name, value in tables.items():
        if value is not None and not isinstance(value, Table):
            raise ModelError(
                f"{who}: {name} is {shown(value)}: give a table, such as catena.forces.Table(x, y)"
            )
