"""How large the terms of a sum were, beside the sum itself.

A sum of motions or forces may vanish, as the acceleration of a body in free fall or the wrench through a joint that
holds nothing, and leaves rounding errors of the size of its terms. Whoever asks whether something is small beside the
sum has to compare it with the terms. They are measured by the sums of the magnitudes of their entries, rotations and
translations apart, because those have different units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.spatial import Force, Motion, Transform
from catena.spatial.scalars import TINY, absolute

# Forces and accelerations that may be missing, as a part of those that were summed up (1e-10), squared.
TRUSTED_DEFECT = 1e-20
# What further refinements would still change, as a part of the accelerations that were summed up.
TRUSTED_CHANGE = 1e-12


class Magnitudes:
    """What motions or forces add up to at most: `angular` for rotations or moments, `linear` for translations or
    forces, numbers or symbols."""

    __slots__ = ("angular", "linear")

    def __init__(self, angular: Any, linear: Any) -> None:
        self.angular, self.linear = angular, linear

    @classmethod
    def of(cls, x: Motion | Force) -> Magnitudes:
        """Return those of one motion or force."""
        return cls(magnitude(x.angular), magnitude(x.linear))

    @classmethod
    def zero(cls) -> Magnitudes:
        """Return those of nothing."""
        return cls(0.0, 0.0)

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> Magnitudes:
        """Return those with these two entries."""
        return cls(*entries)

    def entries(self) -> list[Any]:
        """Both numbers."""
        return [self.angular, self.linear]

    def __add__(self, other: Magnitudes) -> Magnitudes:
        return Magnitudes(self.angular + other.angular, self.linear + other.linear)

    def __mul__(self, scale: Any) -> Magnitudes:
        """Times a scalar that is not negative."""
        return Magnitudes(self.angular * scale, self.linear * scale)

    def dot(self, other: Magnitudes) -> Any:
        """Return what a motion and a force of these magnitudes pair to at most."""
        return self.angular * other.angular + self.linear * other.linear

    def shifted_motion(self, X: Transform) -> Magnitudes:
        """Return those of motions, in the frame that X leads to."""
        return Magnitudes(self.angular, self.linear + magnitude(X.p) * self.angular)

    def shifted_force(self, X: Transform) -> Magnitudes:
        """Return those of forces, in the frame that X comes from."""
        return Magnitudes(self.angular + magnitude(X.p) * self.linear, self.linear)


def magnitude(entries: Any) -> Any:
    """Return the sum of the magnitudes of all entries."""
    return sum([absolute(x) for x in entries], 0.0)


# What bodies hand on of it.


def pace_of(body: Any, parent: Any) -> Magnitudes:
    """Return what the acceleration of a body is summed up from. The acceleration itself may vanish: in free fall, where
    loops take back what forces do, or where velocities make none."""
    a, pace = body.X * parent.a + body.c, carried_pace(body, parent)
    for k, (S, U) in enumerate(zip(body.S.columns(), body.U.columns(), strict=True)):
        step = body.d_inv[k] * (absolute(body.u[k]) + absolute(U.dot(a)) + absolute(body.e[k]))
        pace = pace + Magnitudes.of(S) * step
    return pace


def carried_pace(body: Any, parent: Any) -> Magnitudes:
    """Return what the acceleration of a body whose joint does not accelerate is summed up from."""
    v = Magnitudes.of(body.v)
    return parent.pace.shifted_motion(body.X) + Magnitudes.of(body.c) + v * v.angular


def moved_pace(body: Any, parent: Any) -> Magnitudes:
    """Return what the acceleration of a body is summed up from whose joint moves as it does, whatever acts on it."""
    pace = carried_pace(body, parent)
    for S, x in zip(body.S.columns(), body.qdd, strict=True):
        pace = pace + Magnitudes.of(S) * absolute(x)
    return pace


def hand_down(body: Any, parent: Any, load: Magnitudes, parts: Sequence[Any]) -> None:
    """Add what a body passes on to its parent: forces and what they are summed up from, and the judgement with those
    parts of its own that are missing."""
    parent.f += body.X.pull(body.f)
    parent.load += load.shifted_force(body.X)
    parent.defect += body.defect + sum(parts, 0.0)
    parent.change += body.change + body.last_change
    parent.before += body.before + body.change_before
    parent.size += body.size + body.pace.angular + body.pace.linear


def inertial_load(body: Any) -> Magnitudes:
    """Return what the force I a + p0 that the body's motion takes is summed up from."""
    inertia, a = body.inertia, body.pace
    I, h = np.trace(inertia.I), magnitude(inertia.h)  # noqa: E741
    return Magnitudes(I * a.angular + h * a.linear, h * a.angular + inertia.mass * a.linear) + Magnitudes.of(
        body.p0
    )


def part(rest: Any, whole: Any) -> Any:
    """(rest / whole)^2, and zero where there is nothing."""
    part = rest / (whole + TINY)
    return part * part
