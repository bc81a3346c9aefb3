"""Whether contacts that are open come to touch between two steps, and leave again.

Over planes the gap is a cubic with its rates at both ends. Around balls it has a kink where centres pass each other:
there the way of one centre past the other is a cubic, and its nearest place is found.
"""

from __future__ import annotations

import numpy as np

from catena.simulation.contacts.geometry import ContactPlaces

# Places of a cubic that are looked at for its lowest one.
DIPS = np.linspace(0.0, 1.0, 17)


def lowest(
    places: ContactPlaces,
    k: int,
    h: float,
    ends: tuple[np.ndarray, np.ndarray],
    moving: tuple[np.ndarray, np.ndarray],
    gap: tuple[float, float],
    rate: tuple[float, float],
) -> tuple[float, float]:
    """Return the part of a step of h seconds at which the contact number k is nearest to the other side, and the gap
    there, about. `ends` are configurations (nq,), `moving` velocities (nv,) at both ends of the step, and gap and rate
    those of the contact."""
    if not places.round[k]:
        return _lowest(gap, (h * rate[0], h * rate[1]))
    apart, passes = places.centres(np.stack(ends), np.stack(moving))
    at, distance = _nearest(apart[0, k], h * passes[0, k], apart[1, k], h * passes[1, k])
    return at, distance - float(places.r[k] + places.R[k])


def _lowest(gap: tuple[float, float], slope: tuple[float, float]) -> tuple[float, float]:
    """Return where the cubic with values and slopes at both ends is lowest, and how low."""
    s = DIPS
    cubic = (
        (1.0 + 2.0 * s) * (1.0 - s) ** 2 * gap[0] + s * (1.0 - s) ** 2 * slope[0]
        + s * s * (3.0 - 2.0 * s) * gap[1] + s * s * (s - 1.0) * slope[1]
    )  # fmt: skip
    at = int(np.argmin(cubic))
    return float(s[at]), float(cubic[at])


def _nearest(a: np.ndarray, da: np.ndarray, b: np.ndarray, db: np.ndarray) -> tuple[float, float]:
    """Return where the cubic from a to b (3,) with the slopes da and db is nearest to the origin, and how near."""
    c = np.stack([a, da, -3.0 * a - 2.0 * da + 3.0 * b - db, 2.0 * a + da - 2.0 * b + db])
    square = np.zeros(7)
    for i in range(4):
        for j in range(4):
            square[i + j] += c[i] @ c[j]
    turns = np.roots((square[1:] * np.arange(1, 7))[::-1])
    real = turns.real[np.abs(turns.imag) <= 1e-6]
    places = np.array([0.0, 1.0, *real[(real > 0.0) & (real < 1.0)]])
    far = np.linalg.norm(places[:, None] ** np.arange(4) @ c, axis=1)
    at = int(np.argmin(far))
    return float(places[at]), float(far[at])
