"""Orientations over time with exact angular velocities and accelerations.

An orientation is q(t) = start exp(xi(t)), with the rotation vector xi (axis times angle) seen from the start. The
angular velocity in the turning axes is w = D(xi) xi', with

    D(xi) = 1 - b xi~ + c xi~^2,      b = (1 - cos a) / a^2,   c = (a - sin a) / a^3,   a = |xi|

the inverse of the rate that `Spherical.local_rate` expands into a series, and its derivative is D xi'' + D' xi'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.joints.contract import check_unit_quaternion
from catena.simulation.acting import symbols
from catena.simulation.references.polynomial import cubic, quintic
from catena.simulation.references.protocol import Reference, ReferenceMotion, as_knots, as_reference, as_times
from catena.spatial import quaternion
from catena.spatial.scalars import is_symbolic
from catena.validation import is_one_of, real_array, shown

# Below this angle the series of b, c and their slopes are exact to rounding.
SMALL = 1e-2
WHO = "orientation path"


class OrientationPath:
    """An orientation over time, as a reference for a spherical joint or for that of a tool: `start` (w, x, y, z),
    turned by the rotation vector that a reference of three coordinates gives. `through` gives one through orientations.
    """

    def __init__(self, vector: Reference, start: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> None:
        self.vector = as_reference(vector, WHO, "rotation vector")
        self.start = orientation(start, WHO)
        found = vector.at(0.0).q.shape
        if found != (3,):
            raise StateError(
                f"{WHO}: the rotation vector has shape {found} at t = 0; it must have 3 entries."
            )

    @staticmethod
    def through(times: ArrayLike, orientations: ArrayLike, law: str = "quintic") -> ShortestTurns:
        """Return the shortest turns through `orientations` (n, 4), unit quaternions, at `times` (n,), resting at each.

        `law` is "quintic" or "cubic".
        """
        laws = {"quintic": quintic, "cubic": cubic}
        if not is_one_of(law, laws):
            raise StateError(f"{WHO}: law is {shown(law)}; choose quintic or cubic.")
        t, x = as_knots(times, orientations, WHO)
        if x.shape[1] != 4:
            raise StateError(f"{WHO}: orientations have {x.shape[1]} entries; give quaternions (w, x, y, z).")
        return ShortestTurns(t, np.stack([orientation(row, WHO) for row in x]), laws[law])

    @property
    def span(self) -> tuple[float, float] | None:
        """Return the first and the last time, where the rotation vector has them."""
        return getattr(self.vector, "span", None)

    def at(self, t: ArrayLike) -> ReferenceMotion:
        """Return quaternions (..., 4), angular velocities (..., 3) and accelerations in the turning axes."""
        xi, rate, rate2 = self.vector.at(t)
        return turned(self.start, xi, rate, rate2)


class ShortestTurns:
    """Turning from orientation to orientation, each about one axis, with a law of time from 0 to 1 for each turn."""

    def __init__(self, times: np.ndarray, orientations: np.ndarray, law: Any) -> None:
        self.times, self.orientations = times, orientations
        self.vectors = np.stack([_difference(a, b) for a, b in zip(orientations[:-1], orientations[1:])])
        self.law = law(times, np.arange(float(len(times))))

    @property
    def span(self) -> tuple[float, float]:
        """Return the first and the last time."""
        return float(self.times[0]), float(self.times[-1])

    def at(self, t: ArrayLike) -> ReferenceMotion:
        """Return quaternions (..., 4), angular velocities (..., 3) and accelerations in the turning axes."""
        when = as_times(t, WHO)
        i = np.clip(np.searchsorted(self.times, when, side="right") - 1, 0, len(self.vectors) - 1)
        s, rate, rate2 = self.law.at(when)
        xi = self.vectors[i]
        return turned(self.orientations[i], (s - i[..., None]) * xi, rate * xi, rate2 * xi)


def turned(start: Any, xi: Any, rate: Any, rate2: Any) -> ReferenceMotion:
    """Return the orientation start exp(xi) and its motion, for (..., 3) vectors xi with these derivatives, which may be
    symbols (3,)."""
    square = np.sum(xi * xi, axis=-1, keepdims=True)
    # The root of zero has no slope, and is not asked for one.
    angle = symbols.sqrt(symbols.maximum(square, 1e-300))
    small = symbols.less(angle, SMALL)
    a = symbols.where(small, 1.0, angle)
    sine, cosine = symbols.sin(a), symbols.cos(a)
    b = symbols.where(small, 0.5 - square / 24.0 + square**2 / 720.0, 2.0 * (symbols.sin(0.5 * a) / a) ** 2)
    c = symbols.where(small, 1.0 / 6.0 - square / 120.0 + square**2 / 5040.0, (a - sine) / a**3)
    # The slopes (db/da) / a and (dc/da) / a.
    db = symbols.where(small, -1.0 / 12.0 + square / 180.0 - square**2 / 6720.0, (sine / a - 2.0 * b) / a**2)
    dc = symbols.where(
        small,
        -1.0 / 60.0 + square / 1260.0 - square**2 / 60480.0,
        ((1.0 - cosine) / a**2 - 3.0 * c) / a**2,
    )
    along = np.sum(xi * rate, axis=-1, keepdims=True)
    turn, twice = np.cross(xi, rate), np.cross(xi, np.cross(xi, rate))
    w = rate - b * turn + c * twice
    wdot = (
        rate2
        - b * np.cross(xi, rate2)
        + c * np.cross(xi, np.cross(xi, rate2))
        - db * along * turn
        + dc * along * twice
        + c * np.cross(rate, turn)
    )
    half = symbols.where(small, 0.5 - square / 48.0 + square**2 / 3840.0, symbols.sin(0.5 * a) / a)
    step = np.concatenate([symbols.cos(0.5 * angle), half * xi], axis=-1)
    q = multiplied(np.broadcast_to(start, step.shape), step)
    return ReferenceMotion(q / symbols.sqrt(np.sum(q * q, axis=-1, keepdims=True)), w, wdot)


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the products of quaternions (..., 4)."""
    aw, bw, au, bu = a[..., :1], b[..., :1], a[..., 1:], b[..., 1:]
    vector = aw * bu + bw * au + np.cross(au, bu)
    return np.concatenate([aw * bw - np.sum(au * bu, axis=-1, keepdims=True), vector], axis=-1)


def rotations(q: np.ndarray) -> np.ndarray:
    """Return the matrices (..., 3, 3) of unit quaternions (..., 4), or of symbols (4,); their columns are the turned
    axes."""
    if is_symbolic(q):
        return quaternion.rotation(q)
    w, u = q[..., 0, None, None], q[..., 1:]
    x, y, z = u[..., 0], u[..., 1], u[..., 2]
    zero = np.zeros_like(x)
    skew = np.stack(
        [np.stack([zero, -z, y], -1), np.stack([z, zero, -x], -1), np.stack([-y, x, zero], -1)], axis=-2
    )
    return np.eye(3) + 2.0 * w * skew + 2.0 * skew @ skew


def orientation(q: Any, who: str) -> np.ndarray:
    """Return a unit quaternion (4,), or the complaint that it is none."""
    try:
        quat = np.array(real_array(q))
    except ValueError as error:
        raise StateError(f"{who}: {shown(q)} is no quaternion (w, x, y, z): {error}.") from error
    if quat.shape != (4,) or not np.isfinite(quat).all():
        raise StateError(f"{who}: {quat.tolist()} is no quaternion (w, x, y, z); give four finite numbers.")
    check_unit_quaternion(quat, who)
    return quat / np.linalg.norm(quat)


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rotation vector of the shortest turn from a to b."""
    d = multiplied(a * [1.0, -1.0, -1.0, -1.0], b)
    d = -d if d[0] < 0.0 else d
    length = float(np.linalg.norm(d[1:]))
    return (2.0 if length < 1e-12 else 2.0 * np.arctan2(length, d[0]) / length) * d[1:]
