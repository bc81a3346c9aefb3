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
from catena.spatial.scalars import Scalar
from catena.spatial.vectors import skew

NOTHING: tuple[float, ...] = ()


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


@dataclass(frozen=True)
class Modal(JointKind):
    """Displacement u = S eta + eta^T B eta / 2 + F eta^4 and rotation vector psi = R eta of a point, in the axes of the
    floating frame. q = eta, v = d eta/dt.

    `moves` has S (3, k) by rows, `bends` the matrices B of the three components of u, each its upper triangle by rows,
    `turns` R (3, k) by rows; what is empty is zero and costs nothing. A rotation is that of Cayley, tan(angle / 2) =
    |psi| / 2, which is smooth everywhere and agrees with exp(psi) to the third order. `stiffness` (k,) is
    the modal stiffness, which acts at the one node that has the coordinates, and `squares` (k,) are those of the
    frequencies that modes have if the body is free; where the kind `is_follower` coordinates are taken from there.
    A point that `has_mass` is one of those that stand for the body's inertia.
    `hardening` are the coefficients of the strain energy of fourth order, one for each of the `products` eta_a eta_b
    eta_c eta_d, which are told by a <= b <= c <= d. `fourths` are those of the displacement, component by component for
    the components in `lifted`.
    """

    modes: int
    moves: tuple[Any, ...] = NOTHING
    turns: tuple[Any, ...] = NOTHING
    bends: tuple[Any, ...] = NOTHING
    stiffness: tuple[Any, ...] = NOTHING
    hardening: tuple[Any, ...] = NOTHING
    fourths: tuple[Any, ...] = NOTHING
    products: tuple[tuple[int, ...], ...] = ()
    lifted: tuple[int, ...] = ()
    squares: tuple[Any, ...] = NOTHING
    is_follower: bool = False
    has_mass: bool = False

    is_modal = True

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
            self.lifted,
            self.is_follower,
            self.has_mass,
        )

    @property
    def _parts(self) -> tuple[tuple[Any, ...], ...]:
        return self.moves, self.turns, self.bends, self.stiffness, self.hardening, self.fourths, self.squares

    def params(self) -> tuple[float, ...]:
        return tuple(x for part in self._parts for x in part)

    def with_params(self, params: Sequence[Scalar]) -> Modal:
        if len(params) != len(self.params()):
            raise ModelError(f"Modal has {len(self.params())} parameters, but {len(params)} were given.")
        rest, parts = list(params), []
        for part in self._parts:
            parts.append(tuple(rest[: len(part)]))
            rest = rest[len(part) :]
        names = ("moves", "turns", "bends", "stiffness", "hardening", "fourths", "squares")
        changes: dict[str, Any] = dict(zip(names, parts, strict=True))
        return replace(self, **changes)

    def restoring(self, q: np.ndarray) -> Any:
        """Return the force (k,) against the deflection, None where another node has it; entries of q may be arrays."""
        if not self.stiffness:
            return None
        force = [k * x for k, x in zip(self.stiffness, q, strict=True)]
        if self.hardening:
            total = _Quartic(self.products, self.hardening, q)
            force = [f + x for f, x in zip(force, total.slopes(), strict=True)]
        return np.array(force) if isinstance(q[0], np.ndarray) else array(force)

    def tangent(self, q: np.ndarray) -> np.ndarray:
        """Return the derivatives (k, k, ...) of the restoring force by the amplitudes q (k, ...). Numbers."""
        k = self.modes
        found = np.zeros((k, *np.shape(q)))
        found[range(k), range(k)] = np.reshape(self.stiffness, (k, *(1,) * (np.ndim(q) - 1)))
        for places, c in zip(self.products if self.hardening else (), self.hardening, strict=True):
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
        return total + _Quartic(self.products, self.hardening, q).value() if self.hardening else total

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
        bent = self.curving(q, v)
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
    def has_constant_constraint_space(self) -> bool:
        return False

    @property
    def has_constant_motion_space(self) -> bool:
        return not (self.turns or self.curves)

    @property
    def curves(self) -> bool:
        """Whether the point moves on a curve while an amplitude grows."""
        return bool(self.bends or self.fourths)

    def _half(self, q: Any) -> list[Any]:
        """Return half of the rotation vector."""
        k = self.modes
        return [0.5 * _dot(self.turns[i * k : (i + 1) * k], q) for i in range(3)] if self.turns else [0.0] * 3

    @staticmethod
    def _rotation(a: Sequence[Any]) -> Any:
        """Return the matrix (3, 3) that takes coordinates of the floating frame to those of the turned one."""
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
        """Return S eta + eta^T B eta / 2 + F eta^4 (3,)."""
        k = self.modes
        found = [0.5 * x for x in self._second(q)]
        if self.moves:
            found = [_dot(self.moves[i * k : (i + 1) * k], q) + x for i, x in enumerate(found)]
        for i, quartic in self._quartics(q):
            found[i] = found[i] + quartic.value()
        return found

    def slopes(self, q: Any) -> list[list[Any]]:
        """Return S + B eta + d(F eta^4)/d(eta) (3, k): how the displacement changes with the coordinates."""
        k = self.modes
        rows: list[list[Any]] = [
            list(self.moves[i * k : (i + 1) * k]) if self.moves else [0.0] * k for i in range(3)
        ]
        for i in range(3) if self.bends else ():
            for r, c, b in self._entries(i):
                rows[i][r] = rows[i][r] + b * q[c]
                if r != c:
                    rows[i][c] = rows[i][c] + b * q[r]
        for i, quartic in self._quartics(q):
            rows[i] = [x + y for x, y in zip(rows[i], quartic.slopes(), strict=True)]
        return rows

    def curving(self, q: Any, v: Any) -> list[Any]:
        """Return the acceleration (3,) of the displacement while the amplitudes q change at constant rates v."""
        found = self._second(v)
        for i, quartic in self._quartics(q):
            found[i] = found[i] + quartic.curving(v)
        return found

    def _second(self, x: Any) -> list[Any]:
        """Return x^T B x for the three components."""
        if not self.bends:
            return [0.0, 0.0, 0.0]
        found = []
        for i in range(3):
            total: Any = 0.0
            for r, c, b in self._entries(i):
                total = total + b * (x[r] * x[c] if r == c else 2.0 * (x[r] * x[c]))
            found.append(total)
        return found

    def _quartics(self, q: Any) -> list[tuple[int, _Quartic]]:
        """Return the components of the displacement that have terms of fourth order, and these."""
        n = len(self.products)
        return [
            (i, _Quartic(self.products, self.fourths[n * j : n * (j + 1)], q))
            for j, i in enumerate(self.lifted)
        ]

    def _entries(self, component: int) -> list[tuple[int, int, Any]]:
        k = self.modes
        size = k * (k + 1) // 2
        pairs = [(r, c) for r in range(k) for c in range(r, k)]
        part = self.bends[component * size : (component + 1) * size]
        return [(r, c, b) for (r, c), b in zip(pairs, part, strict=True)]


class _Quartic:
    """The sum of coefficients times products of four amplitudes q, as z^T G z with the products z of two of them: so
    slopes and curvature take as many operations as there are coefficients."""

    def __init__(self, products: Sequence[tuple[int, ...]], coefficients: Sequence[Any], q: Any) -> None:
        self.q = q
        self.terms = [((a, b), (c, d), x) for (a, b, c, d), x in zip(products, coefficients, strict=True)]
        self.pairs = list(dict.fromkeys(pair for term in self.terms for pair in term[:2]))
        self.z = {(a, b): q[a] * q[b] for a, b in self.pairs}

    def value(self) -> Any:
        total: Any = 0.0
        for pair, times in self._times(self.z, both=False).items():
            total = total + self.z[pair] * times
        return total

    def slopes(self) -> list[Any]:
        """Return the derivatives (k,) by the amplitudes."""
        found: list[Any] = [0.0] * len(self.q)
        for (a, b), times in self._times(self.z).items():
            found[a] = found[a] + times * self.q[b]
            found[b] = found[b] + times * self.q[a]
        return found

    def curving(self, v: Any) -> Any:
        """Return the second derivative by time while the amplitudes change at constant rates v."""
        q = self.q
        rates = {(a, b): q[a] * v[b] + v[a] * q[b] for a, b in self.pairs}
        total: Any = 0.0
        for pair, times in self._times(rates, both=False).items():
            total = total + rates[pair] * times
        for (a, b), times in self._times(self.z).items():
            total = total + times * (v[a] * v[b])
        return 2.0 * total

    def _times(self, z: Any, both: bool = True) -> dict[tuple[int, int], Any]:
        """G z by pairs, or (G + G^T) z."""
        found: dict[tuple[int, int], Any] = {}
        for one, other, x in self.terms:
            found[one] = found[one] + x * z[other] if one in found else x * z[other]
            if both:
                found[other] = found[other] + x * z[one] if other in found else x * z[one]
        return found


def _dot(a: Any, b: Any) -> Any:
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def material_point(
    S: np.ndarray, R: np.ndarray, B: np.ndarray, offset: np.ndarray | None = None, F: np.ndarray | None = None,
    products: Sequence[tuple[int, ...]] = (), **more: Any,
) -> Modal:  # fmt: skip
    """Return how a point moves that is displaced by S (3, k), B (3, k, k) and F (3, n), for the `products` of four
    amplitudes, and turned by R (3, k); `offset` (3,) is where the point lies from the one that these belong to, to
    which it is fixed."""
    k = S.shape[1]
    if F is not None and np.any(F):
        lifted = tuple(i for i in range(3) if np.any(F[i]))
        fourths = tuple(float(x) for i in lifted for x in F[i])
        more = {**more, "fourths": fourths, "products": tuple(products), "lifted": lifted}
    elif "hardening" in more:
        more = {**more, "products": tuple(products)}
    if offset is not None:
        S = S - skew(offset) @ R
    upper = np.triu_indices(k)
    moves, turns, bends = (
        tuple(x.ravel().tolist()) if np.any(x) else NOTHING for x in (S, R, B[:, upper[0], upper[1]])
    )
    return Modal(k, moves, turns, bends, **more)
