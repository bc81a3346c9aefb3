"""How a material point of a flexible body moves in the body's floating frame.

Planning makes such joints; nobody describes one. The coordinates eta (k,) are those of the body's modes, which all
points of the body share: one node of a plan has them, the others follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.errors import ModelError
from catena.joints.contract import JointKind
from catena.spatial import Motion, MotionSpace, Transform, array
from catena.spatial.vectors import skew

NOTHING: tuple[float, ...] = ()


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


@dataclass(frozen=True)
class Modal(JointKind):
    """Displacement u = S eta + eta^T B eta / 2 and rotation vector psi = R eta of a point, in the axes of the floating
    frame. q = eta, v = d eta/dt.

    `moves` has S (3, k) by rows, `bends` the matrices B of the three components of u, each its upper triangle by rows,
    `turns` R (3, k) by rows; what is empty is zero and costs nothing. A rotation is that of Cayley, tan(angle / 2) =
    |psi| / 2, which is smooth everywhere and agrees with exp(psi) to the third order. `stiffness` (k,) is
    the modal stiffness, which acts at the one node that has the coordinates; where the kind `is_follower` they are
    taken from there.
    A point that `has_mass` is one of those that stand for the body's inertia.
    `hardening` are the coefficients of the strain energy of fourth order, one for each of the `products` eta_a eta_b
    eta_c eta_d, which are told by a <= b <= c <= d.
    """

    modes: int
    moves: tuple[Any, ...] = NOTHING
    turns: tuple[Any, ...] = NOTHING
    bends: tuple[Any, ...] = NOTHING
    stiffness: tuple[Any, ...] = NOTHING
    hardening: tuple[Any, ...] = NOTHING
    products: tuple[tuple[int, ...], ...] = ()
    is_follower: bool = False
    has_mass: bool = False

    @property
    def is_particle(self) -> bool:
        return self.has_mass and self.is_follower

    @property
    def nq(self) -> int:
        return self.modes

    @property
    def nv(self) -> int:
        return self.modes

    @property
    def follows(self) -> bool:
        return self.is_follower

    @property
    def signature(self) -> tuple[Hashable, ...]:
        return (
            "Modal",
            self.modes,
            *(bool(part) for part in self._parts),
            self.products,
            self.is_follower,
            self.has_mass,
        )

    @property
    def _parts(self) -> tuple[tuple[Any, ...], ...]:
        return self.moves, self.turns, self.bends, self.stiffness, self.hardening

    def params(self) -> tuple[float, ...]:
        return tuple(x for part in self._parts for x in part)

    def with_params(self, params: Sequence[Any]) -> Modal:
        if len(params) != len(self.params()):
            raise ModelError(f"Modal has {len(self.params())} parameters, but {len(params)} were given.")
        given, parts = list(params), []
        for part in self._parts:
            parts.append(tuple(given[: len(part)]))
            given = given[len(part) :]
        moves, turns, bends, stiffness, hardening = parts
        return replace(self, moves=moves, turns=turns, bends=bends, stiffness=stiffness, hardening=hardening)

    def restoring(self, q: np.ndarray) -> Any:
        """Return the force (k,) against the deflection, None where another node has it; entries of q may be arrays."""
        if not self.stiffness:
            return None
        force = [k * x for k, x in zip(self.stiffness, q, strict=True)]
        for places, c in zip(self.products, self.hardening, strict=True):
            for a in set(places):
                rest = list(places)
                rest.remove(a)
                x, y, z = (q[i] for i in rest)
                force[a] = force[a] + places.count(a) * c * ((x * y) * z)
        return np.array(force) if isinstance(q[0], np.ndarray) else array(force)

    def tangent(self, q: np.ndarray) -> np.ndarray:
        """Return the derivatives (k, k, ...) of the restoring force by the amplitudes q (k, ...). Numbers."""
        k = self.modes
        found = np.zeros((k, *np.shape(q)))
        found[range(k), range(k)] = np.reshape(self.stiffness, (k, *(1,) * (np.ndim(q) - 1)))
        for places, c in zip(self.products, self.hardening, strict=True):
            for a in set(places):
                rest = list(places)
                rest.remove(a)
                for b in set(rest):
                    last = list(rest)
                    last.remove(b)
                    found[a, b] += places.count(a) * rest.count(b) * c * q[last[0]] * q[last[1]]
        return found

    def energy(self, q: Any) -> Any:
        """Return the strain energy; entries of q may be arrays."""
        total: Any = 0.0
        for k, x in zip(self.stiffness, q, strict=True):
            total = total + 0.5 * k * x * x
        for (a, b, c, d), h in zip(self.products, self.hardening, strict=True):
            total = total + h * q[a] * q[b] * q[c] * q[d]
        return total

    def transform(self, q: np.ndarray) -> Transform:
        return Transform(array(self._rotation(self._half(q))), array(self.displacement(q)))

    def motion_space(self, q: np.ndarray) -> MotionSpace:
        k, a = self.modes, self._half(q)
        E, slopes = self._rotation(a), self.slopes(q)
        angular: Any = [[0.0] * k for _ in range(3)]
        if self.turns:
            per = 1.0 / (1.0 + _dot(a, a))
            for j in range(k):
                column = [self.turns[i * k + j] for i in range(3)]
                twisted = _cross(a, column)
                for i in range(3):
                    angular[i][j] = (column[i] - twisted[i]) * per
        linear = slopes
        if self.turns:
            linear = [[_dot(row, [s[j] for s in slopes]) for j in range(k)] for row in E]
        return MotionSpace(array([*angular, *linear]))

    def bias(self, q: np.ndarray, v: np.ndarray) -> Motion:
        bent = self.second(v, v)
        if not self.turns:
            return Motion(array([0.0, 0.0, 0.0, *bent]))
        a, k = self._half(q), self.modes
        E, per = self._rotation(a), 1.0 / (1.0 + _dot(a, a))
        rate = [_dot(self.turns[i * k : (i + 1) * k], v) for i in range(3)]
        twisted = _cross(a, rate)
        w = [(x - y) * per for x, y in zip(rate, twisted, strict=True)]
        # w is (psi' - a x psi') / (1 + a^2) with a = psi / 2, and psi' stays the same.
        shrinks = _dot(a, rate) * per
        velocity = [_dot(s, v) for s in self.slopes(q)]
        turned = [_dot(row, velocity) for row in E]
        second = [_dot(row, bent) for row in E]
        dragged = _cross(w, turned)
        return Motion(
            array([*(-x * shrinks for x in w), *(x - y for x, y in zip(second, dragged, strict=True))])
        )

    @property
    def resists_alike(self) -> bool:
        return False

    @property
    def moves_alike(self) -> bool:
        return not (self.turns or self.bends)

    def _half(self, q: Any) -> list[Any]:
        """Half of the rotation vector."""
        k = self.modes
        return [0.5 * _dot(self.turns[i * k : (i + 1) * k], q) for i in range(3)] if self.turns else [0.0] * 3

    @staticmethod
    def _rotation(a: Sequence[Any]) -> Any:
        """The matrix (3, 3) that takes coordinates of the floating frame to those of the turned one."""
        if all(isinstance(x, float) and x == 0.0 for x in a):
            return np.eye(3).tolist()
        twice = 2.0 / (1.0 + _dot(a, a))
        x, y, z = a
        return [
            [1.0 - twice * (y * y + z * z), twice * (x * y + z), twice * (x * z - y)],
            [twice * (x * y - z), 1.0 - twice * (x * x + z * z), twice * (y * z + x)],
            [twice * (x * z + y), twice * (y * z - x), 1.0 - twice * (x * x + y * y)],
        ]

    def displacement(self, q: Any) -> list[Any]:
        """Return S eta + eta^T B eta / 2 (3,)."""
        k = self.modes
        bent = self.second(q, q)
        if not self.moves:
            return [0.5 * x for x in bent]
        return [_dot(self.moves[i * k : (i + 1) * k], q) + 0.5 * bent[i] for i in range(3)]

    def slopes(self, q: Any) -> list[list[Any]]:
        """Return S + B eta (3, k): how the displacement changes with the coordinates."""
        k = self.modes
        rows: list[list[Any]] = [
            list(self.moves[i * k : (i + 1) * k]) if self.moves else [0.0] * k for i in range(3)
        ]
        for i in range(3) if self.bends else ():
            for r, c, b in self._entries(i):
                rows[i][r] = rows[i][r] + b * q[c]
                if r != c:
                    rows[i][c] = rows[i][c] + b * q[r]
        return rows

    def second(self, x: Any, y: Any) -> list[Any]:
        """Return x^T B y for the three components."""
        if not self.bends:
            return [0.0, 0.0, 0.0]
        found = []
        for i in range(3):
            total: Any = 0.0
            for r, c, b in self._entries(i):
                total = total + b * (x[r] * y[c] if r == c else x[r] * y[c] + x[c] * y[r])
            found.append(total)
        return found

    def _entries(self, component: int) -> list[tuple[int, int, Any]]:
        k = self.modes
        size = k * (k + 1) // 2
        pairs = [(r, c) for r in range(k) for c in range(r, k)]
        part = self.bends[component * size : (component + 1) * size]
        return [(r, c, b) for (r, c), b in zip(pairs, part, strict=True)]


def _dot(a: Any, b: Any) -> Any:
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def material_point(
    S: np.ndarray, R: np.ndarray, B: np.ndarray, offset: np.ndarray | None = None, **more: Any
) -> Modal:
    """Return how a point moves that is displaced by S (3, k) and B (3, k, k) and turned by R (3, k); `offset` (3,) is
    where the point lies from the one that these belong to, to which it is fixed."""
    k = S.shape[1]
    if offset is not None:
        S = S - skew(offset) @ R
    upper = np.triu_indices(k)
    moves, turns, bends = (
        tuple(x.ravel().tolist()) if np.any(x) else NOTHING for x in (S, R, B[:, upper[0], upper[1]])
    )
    return Modal(k, moves, turns, bends, **more)
