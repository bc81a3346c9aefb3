"""The body contract: everything the rest of Catena knows about a flexible body.

A flexible body deforms by modes with amplitudes eta (k,). In its floating frame, whose axes and origin are those of the
body frame at rest, a point that rests at s is at

    x = s + S eta + eta^T B eta / 2 + F eta^4        and turned by        psi = R eta,

S (3, k) and R (3, k) being the shapes of the modes there and B (3, k, k) the displacement of second order: a beam that
bends becomes shorter. With B, tension stiffens: centrifugal forces, weight and forces of joints do work along it.
F (3, n) is the displacement of fourth order, for n products of four amplitudes. Its work is of the order that the
hardening of the strain energy has, so a kind has either both or none.
All products that inertia needs are sums over particles; `few_points` finds some points for which they are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catena.errors import ModelError
from catena.validation import is_count, real_array, real_number, shown

Floats = NDArray[np.float64]


Product = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Shapes:
    """How a point moves with the modes: displacement `S` (3, k), rotation `R` (3, k), the displacement `B` (3, k, k) of
    second order, and that of fourth order, `F` (3, n) for the `products` of the body, None where there is none."""

    S: Floats
    R: Floats
    B: Floats
    F: Floats | None = None

    def displacement(self, eta: Floats, products: Sequence[Product] = ()) -> Floats:
        """Return how far the point is displaced (..., 3) for amplitudes eta (..., k)."""
        u: Floats = np.einsum("ik,...k->...i", self.S, eta)
        u = u + 0.5 * np.einsum("ikl,...k,...l->...i", self.B, eta, eta)
        return u if self.F is None else u + fourth_powers(eta, products) @ self.F.T


def fourth_powers(eta: Floats, products: Sequence[Product]) -> Floats:
    """Return the products (..., n) of four amplitudes each, for amplitudes eta (..., k)."""
    found: Floats = np.prod(np.asarray(eta)[..., np.array(products, dtype=np.int64).reshape(-1, 4)], axis=-1)
    return found


def fourth_powers_moving(
    eta: Floats, rate: Floats, change: Floats, products: Sequence[Product]
) -> tuple[Floats, Floats, Floats]:
    """Return products (..., n) of four amplitudes eta (..., k) with their first and second derivatives by time, where
    the amplitudes change at `rate` and these at `change`."""
    at = np.array(products, dtype=np.int64).reshape(-1, 4)
    e, r, c = (np.moveaxis(np.asarray(x)[..., at], -1, 0) for x in (eta, rate, change))
    first, second = np.zeros(e.shape[1:]), np.zeros(e.shape[1:])
    for i in range(4):
        but_one = np.delete(e, i, axis=0)
        first += r[i] * but_one.prod(axis=0)
        second += c[i] * but_one.prod(axis=0)
        for j in range(4):
            if j != i:
                second += r[i] * r[j] * np.delete(e, [i, j], axis=0).prod(axis=0)
    return e.prod(axis=0), first, second


@dataclass(frozen=True, eq=False)
class Particles:
    """Masses (n,) [kg] with their places at rest `s` (n, 3) and their shapes `S` (n, 3, k), `B` (n, 3, k, k) and `F`
    (n, 3, products)."""

    mass: Floats
    s: Floats
    S: Floats
    B: Floats
    F: Floats | None = None


@dataclass(frozen=True, eq=False)
class Points:
    """Points of equal `mass` each, with places `s` (n, 3), shapes `S` (n, 3, k), `B` (n, 3, k, k) and `F` (n, 3,
    products)."""

    mass: float
    s: Floats
    S: Floats
    B: Floats
    F: Floats | None = None


class FlexibleBody(ABC):
    """A kind of flexible body. Subclasses say what its modes are, and how particles and points move with them."""

    @property
    @abstractmethod
    def frequencies(self) -> Floats:
        """Return the angular frequencies (k,) [rad/s] of the modes with the ends as described."""

    @property
    @abstractmethod
    def stiffness(self) -> Floats:
        """Return the modal stiffnesses (k,): the strain energy is their sum with eta^2 / 2."""

    @property
    @abstractmethod
    def damping(self) -> Floats:
        """Return the modal damping coefficients (k,)."""

    @abstractmethod
    def points(self) -> Points:
        """Return points that have the inertia of the body in all deformed states."""

    @abstractmethod
    def shapes(self, p: Sequence[float]) -> Shapes:
        """Return how the point that rests at p (3,) in the body frame moves."""

    @abstractmethod
    def reach(self) -> float:
        """Return the length [m] that deflections are compared with."""

    def deflection(self, eta: Floats) -> Floats:
        """Return the largest deflection (...) in lengths of the body for amplitudes eta (..., k): of points along the
        outline, from where they are without deformation."""
        points = np.concatenate(self.outline(17))
        S = np.stack([self.shapes(tuple(p)).S for p in points])
        moved = np.einsum("nia,...a->...ni", S, eta)
        found: Floats = np.linalg.norm(moved, axis=-1).max(axis=-1) / self.reach()
        return found

    @abstractmethod
    def outline(self, count: int = 33) -> list[Floats]:
        """Return lines of points (n, 3) at rest by which the body is drawn and its deflection measured."""

    def breadths(self, p: Sequence[float]) -> tuple[float, float] | None:
        """Return how wide the section at a point p (3,) of the axis is along y and z [m], to be drawn; None where the
        body has no sections."""
        return None

    @property
    def hardening(self) -> dict[Product, float]:
        """Return the coefficients of the strain energy of fourth order by the numbers of the four modes whose
        amplitudes they belong to, in order; nothing where the energy is quadratic."""
        return {}

    @property
    def products(self) -> tuple[Product, ...]:
        """Return the products of four amplitudes that have terms of fourth order, in the order of `F`."""
        return tuple(self.hardening)

    @property
    def turning_inertia(self) -> Floats:
        """Return the rotational inertia (3, 3) that is not in the particles and turns with the floating frame."""
        return np.zeros((3, 3))

    @property
    def modes(self) -> int:
        """Return the number of modes."""
        return len(self.stiffness)

    @cached_property
    def free_frequencies(self) -> Floats:
        """Return the frequencies (k,) [rad/s] of the modes, each by itself, if the body flew freely: its frame then
        gives way as much as it can, so a mode is nowhere faster."""
        some = self.points()
        n = len(some.s)
        turned = np.cross(np.eye(3)[None, :, :], some.s[:, None, :]).transpose(0, 2, 1)
        J = np.concatenate([turned, np.tile(np.eye(3), (n, 1, 1)), some.S], axis=2).reshape(3 * n, -1)
        M = some.mass * J.T @ J
        M[:3, :3] += self.turning_inertia
        carried = M[:6, 6:]
        # A straight body has no inertia about its axis, unless its sections have.
        felt = np.diag(M[6:, 6:]) - np.sum(
            carried * (np.linalg.pinv(M[:6, :6], rcond=1e-12) @ carried), axis=0
        )
        found: Floats = np.sqrt(self.stiffness / np.maximum(felt, 1e-12 * np.diag(M[6:, 6:])))
        return found

    @cached_property
    def rigid(self) -> tuple[float, Floats, Floats]:
        """Return mass, mass centre (3,) and inertia (3, 3) about it of the body at rest."""
        some = self.points()
        mass = some.mass * len(some.s)
        com = some.s.mean(axis=0)
        r = some.s - com
        second = some.mass * r.T @ r
        return mass, com, np.trace(second) * np.eye(3) - second + self.turning_inertia


def positive(owner: str, name: str, value: Any, what: str) -> float:
    """Return a number that is finite and above zero, or raise a ModelError that tells what it stands for."""
    try:
        number = real_number(value)
    except ValueError:
        raise ModelError(f"{owner}: {name} = {shown(value)} is no number; give {what}.") from None
    if not (np.isfinite(number) and number > 0.0):
        raise ModelError(f"{owner}: {name} = {number:g} is not a positive finite number; give {what}.")
    return number


def ratios(owner: str, damping: Any) -> Floats:
    """Return damping ratios (n,), one or several, or raise a ModelError."""
    try:
        found = np.atleast_1d(real_array(damping))
    except ValueError as error:
        raise ModelError(f"{owner}: damping = {shown(damping)} ({error}) must be damping ratios.") from None
    if found.ndim != 1 or not (np.isfinite(found).all() and (found >= 0.0).all()):
        raise ModelError(f"{owner}: damping = {shown(damping)} must be damping ratios of zero or more.")
    return found


def one_ratio(owner: str, damping: Any) -> float:
    """Return one damping ratio, or raise a ModelError."""
    found = ratios(owner, damping)
    if len(found) != 1:
        raise ModelError(f"{owner}: damping = {shown(damping)} must be one damping ratio.")
    return float(found[0])


def count_of_modes(owner: str, modes: Any) -> int:
    """Return how many modes there are, or raise a ModelError."""
    if not is_count(modes):
        raise ModelError(f"{owner}: modes = {shown(modes)}; give a whole number of zero or more.")
    return int(modes)


def check_second_moments(owner: str, area: float, I_y: float, I_z: float) -> None:
    """Raise a ModelError for second moments of area [m^4] that no section of this area [m^2] has."""
    # Of all sections of one area the round one has the least sum of second moments, A^2 / (2 pi).
    least = area * area / (2.0 * np.pi)  # infinite where a power would raise
    if I_y + I_z < 0.999 * least:
        raise ModelError(
            f"{owner}: no section of area {area:g} m^2 has second moments as small as {I_y:g} and {I_z:g} m^4; "
            f"together they are at least A^2 / (2 pi) = {least:.4g} m^4. Check the units."
        )
