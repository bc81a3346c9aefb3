"""How large the terms of a sum were, beside the sum itself.

A sum of motions or forces may vanish, as the acceleration of a body in free fall or the wrench through a joint that
holds nothing, and leaves rounding errors of the size of its terms. Whoever asks whether something is small beside the
sum has to compare it with the terms. They are measured by the sums of the magnitudes of their entries, rotations and
translations apart, because those have different units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.spatial import Force, Motion, Transform
from catena.spatial.scalars import absolute

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
        """Those of one motion or force."""
        return cls(magnitude(x.angular), magnitude(x.linear))

    @classmethod
    def zero(cls) -> Magnitudes:
        """Those of nothing."""
        return cls(0.0, 0.0)

    @classmethod
    def from_entries(cls, entries: Sequence[Any]) -> Magnitudes:
        """Those with these two entries."""
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
        """What a motion and a force of these magnitudes pair to at most."""
        return self.angular * other.angular + self.linear * other.linear

    def shifted_motion(self, X: Transform) -> Magnitudes:
        """Those of motions, in the frame that X leads to."""
        return Magnitudes(self.angular, self.linear + magnitude(X.p) * self.angular)

    def shifted_force(self, X: Transform) -> Magnitudes:
        """Those of forces, in the frame that X comes from."""
        return Magnitudes(self.angular + magnitude(X.p) * self.linear, self.linear)


def magnitude(entries: Any) -> Any:
    """The sum of the magnitudes of all entries."""
    return sum([absolute(x) for x in entries], 0.0)
