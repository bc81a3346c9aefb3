"""How long careful steps go on."""

from __future__ import annotations

from math import hypot

import numpy as np

from catena.simulation.contacts.coulomb import OPEN, SLIDE, STICK
from catena.simulation.contacts.deciding import LIGHT, SLOW_SLIP, SLOWS
from catena.simulation.contacts.geometry import SLIPS

# Careful steps of a row, at least, and how long modes must have stayed at its end.
LEAST, STEADY = 20, 10


class CarefulUntilSteady:
    """Says how long careful steps go on: until contacts have stayed as they are for a while, and none slips slowly."""

    def __init__(self, h: float, length: float, weight: float, friction: np.ndarray, briefly: bool) -> None:
        self.h, self.weight, self.friction = h, weight, friction.tolist()
        self.none, self.slow = SLIPS * length, SLOW_SLIP * h * weight
        self.least, self.steady = (2, 2) if briefly else (LEAST, STEADY)
        self.modes: list[tuple[str, ...]] = []

    def now(self, *modes: str) -> tuple[int, ...]:
        """Return the contacts that had some of the modes in the last step."""
        return tuple(k for k, mode in enumerate(self.modes[-1] if self.modes else ()) if mode in modes)

    def stays(self, p: np.ndarray, u: np.ndarray, yields: np.ndarray) -> bool:
        """Return whether careful steps are needed after one with impulses p (contacts, 3) and velocities u, of contacts
        that yield (contacts,) along their planes."""
        modes, slow = [], False
        rows = zip(p[:, 2].tolist(), u.tolist(), yields.tolist(), self.friction, strict=True)
        for pressed, (x, y, _), give, mu in rows:
            speed = hypot(x, y)
            modes.append(OPEN if pressed <= 0.0 else STICK if speed <= self.none else SLIDE)
            # Friction of a light body turns a slip at once, that of others does so within some steps.
            most = min(self.slow, max(SLOWS * mu * pressed * give, SLOWS * LIGHT * self.h * self.weight))
            slow |= modes[-1] == SLIDE and speed < most
        self.modes.append(tuple(modes))
        return slow or len(self.modes) < self.least or len(set(self.modes[-self.steady :])) > 1
