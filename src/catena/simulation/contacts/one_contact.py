"""The force of one contact while others have theirs: sticking if it can be, and near the force before.

Both are plain numbers: arrays of three cost ten times as much. A contact whose friction may lift it has more than one
force that obeys the law; sweeps that always take the one with which it sticks may go round then.
"""

from collections.abc import Sequence
from math import hypot
from typing import NamedTuple

Force = tuple[float, float, float]
# Projections of one contact in a sweep.
PROJECTIONS = 8


class OneContact(NamedTuple):
    """What a contact does by itself, the inverse of that, how far a projection may go, and friction; of one that slides
    already the force `along` for a normal one of 1, and what its normal part gains by that, not positive where friction
    wins."""

    block: list[list[float]]
    inverse: list[list[float]]
    step: float
    mu: float
    along: Force | None
    own: float | None

    def sticking(self, x: float, y: float, z: float, r: Sequence[float]) -> Force:
        """Return the force from one before with which the contact moves by r; it sticks if it can."""
        if self.along is not None:
            return self._sliding(z, r)
        mu, step = self.mu, self.step
        u, v, w = r
        fx, fy, fn = (
            f - (p * u + o * v + s * w) for f, (p, o, s) in zip((x, y, z), self.inverse, strict=True)
        )
        if fn >= 0.0 and fx * fx + fy * fy <= (mu * fn) ** 2:
            return fx, fy, fn
        (a, b, c), (d, e, g), (h, k, m) = self.block
        u, v, w = self._without(x, y, z, r)
        for _ in range(PROJECTIONS):
            s, t = u + a * x + b * y + c * z, v + d * x + e * y + g * z
            n = z - step * (w + h * x + k * y + m * z + mu * hypot(s, t))
            x, y, z = _onto_cone(x - step * s, y - step * t, n, mu)
        return x, y, z

    def near(self, x: float, y: float, z: float, r: Sequence[float]) -> Force:
        """Return the force from one before with which the contact moves by r, near that (Alart and Curnier)."""
        if self.along is not None:
            return self._sliding(z, r)
        (a, b, c), (d, e, g), (h, k, m) = self.block
        across, pressing, mu = 1.0 / max(a + e, 1e-300), 1.0 / max(m, 1e-300), self.mu
        u, v, w = self._without(x, y, z, r)
        for _ in range(PROJECTIONS):
            z = max(0.0, z - pressing * (w + h * x + k * y + m * z))
            x, y = x - across * (u + a * x + b * y + c * z), y - across * (v + d * x + e * y + g * z)
            size = hypot(x, y)
            if size > mu * z:
                x, y = x * mu * z / size, y * mu * z / size
        return x, y, z

    def _sliding(self, z: float, r: Sequence[float]) -> Force:
        assert self.along is not None and self.own is not None
        size = 0.0 if self.own <= 0.0 else max(0.0, z - r[2] / self.own)
        return size * self.along[0], size * self.along[1], size * self.along[2]

    def _without(self, x: float, y: float, z: float, r: Sequence[float]) -> Force:
        """Return how the contact moves without its own force."""
        (a, b, c), (d, e, g), (h, k, m) = self.block
        u, v, w = r
        return u - (a * x + b * y + c * z), v - (d * x + e * y + g * z), w - (h * x + k * y + m * z)


def _onto_cone(x: float, y: float, n: float, mu: float) -> Force:
    """Return the point of the cone |f_t| <= mu f_n nearest to one with a tangential part (x, y) and a normal part n."""
    t = hypot(x, y)
    if t <= mu * n:
        return x, y, n
    if mu * t <= -n or (mu == 0.0 and n <= 0.0):
        return 0.0, 0.0, 0.0
    height = (n + mu * t) / (1.0 + mu * mu)
    scale = mu * height / t
    return scale * x, scale * y, height
