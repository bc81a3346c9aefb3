"""How joint forces accelerate a mechanism, as a formula: of a tree and of one whose loops are closed.

With w the square roots of the diagonal of the joint-space inertia, h = H / (w w^T), y = w vdot and x = tau / w, what
moves obeys

    h y = x - load + G^T lambda,      G y = -g

with rows G of the loops, in radians and lengths of the mechanism. With the root h = A A^T the columns of A^-1 G^T are
made orthogonal one behind the other, Q R (Gram and Schmidt). Of those that are redundant rounding is left, and they are
left out in every state anew, so nothing needs to be known about which they are. Then

    y = drift + A^-T (1 - Q Q^T) A^-1 (x - load),      drift = -A^-T Q R^-T g
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from catena.simulation.control.straight_algebra import TINY, Root, Row, dot, largest, less_along
from catena.spatial.scalars import less, reciprocal, sqrt, where

# A constraint whose part that is new is smaller than this part of what the longest says is redundant.
REDUNDANT = 1e-9


class JointMobility:
    """Of accelerations and forces in units of the inertia of each component: `weights` (n,) are w, `load` (n,) is what
    acts at rest, `drift` (n,) the accelerations that loops ask for by themselves."""

    def __init__(
        self, H: Any, bias: Sequence[Any], G: Sequence[Sequence[Any]] = (), gamma: Sequence[Any] = ()
    ) -> None:
        n = len(bias)
        self.weights = [sqrt(H[i][i]) for i in range(n)]
        self.per = [reciprocal(x) for x in self.weights]
        self.h = [
            [H[i][j] * (self.per[i] * self.per[j]) if i != j else 1.0 for j in range(n)] for i in range(n)
        ]
        self.load = [c * x for c, x in zip(bias, self.per, strict=True)]
        self._root = Root(self.h)
        self._rows = [[a * b for a, b in zip(row, self.per, strict=True)] for row in G]
        self._gamma = list(gamma)

    @cached_property
    def _across(self) -> tuple[list[Row], Row]:
        """Return what loops forbid, orthogonal directions of length 1 or zeros, and the drift along each."""
        columns = [self._root.divided(row) for row in self._rows]
        if not columns:
            return [], []
        most = largest([dot(column, column) for column in columns])
        across: list[Row] = []
        along: Row = []
        for column, drift in zip(columns, self._gamma, strict=True):
            left, missing = column, -drift
            for other, speed in zip(across, along, strict=True):
                part = dot(other, left)
                left, missing = less_along(left, part, other), missing - part * speed
            square = dot(left, left)
            per = where(less(REDUNDANT**2 * most, square), reciprocal(sqrt(square + TINY)), 0.0)
            across.append([per * x for x in left])
            along.append(per * missing)
        return across, along

    @cached_property
    def drift(self) -> Row:
        """Return the accelerations (n,) that loops ask for where nothing acts; none in a tree."""
        total: Row = [0.0] * len(self.weights)
        for direction, speed in zip(*self._across, strict=True):
            total = [a + speed * b for a, b in zip(total, direction, strict=True)]
        return self._root.divided_transposed(total) if self._rows else total

    def in_energy(self, x: Sequence[Any]) -> Row:
        """Return what forces (n,) do, (n,), measured by the kinetic energy of accelerations."""
        y = self._root.divided(x)
        for direction in self._across[0]:
            y = less_along(y, dot(direction, y), direction)
        return y

    def unheld(self, x: Sequence[Any]) -> Row:
        """Return what forces (n,) would do without loops, measured so."""
        return self._root.divided(x)

    def moved(self, x: Sequence[Any]) -> Row:
        """Return the accelerations (n,) that forces (n,) add."""
        return self._root.divided_transposed(self.in_energy(x))
