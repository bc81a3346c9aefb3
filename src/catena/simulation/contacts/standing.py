"""What contacts do between two changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from catena.simulation.contacts.coulomb import OPEN, SLIDE, STICK


class Standing(NamedTuple):
    """The modes "open", "stick" or "slide" of all contacts, in their order, the directions `slip` (contacts, 2) in
    which those that slide begin, whether one of them jams, so that friction is `stiff`; below which speed `turns`
    (contacts,) [m/s] friction would turn a slip that begins at once; and where that is known, how contacts yield to a
    force along their planes, (contacts,) [1/kg], how fast friction alone would change the slips of those that slide,
    `rates` (contacts,) [m/s^2], how long (contacts,) [s] a slip `lasts` if it goes on as it does, and the velocities
    `u` (contacts, 3) and gaps (contacts,) with which they begin."""

    modes: tuple[str, ...]
    slip: Sequence[Sequence[float]] | np.ndarray
    stiff: bool = False
    turns: Sequence[float] | None = None
    yields: Sequence[float] | None = None
    rates: Sequence[float] | None = None
    lasts: Sequence[float] | None = None
    u: np.ndarray | None = None
    gap: np.ndarray | None = None

    def those(self, *modes: str) -> list[int]:
        """Return the contacts, by number, that are in some of the modes."""
        return [k for k, mode in enumerate(self.modes) if mode in modes]

    @property
    def closed(self) -> list[int]:
        """Return the contacts that touch."""
        return self.those(STICK, SLIDE)

    def holds(self, count: int) -> bool:
        """Return whether one of so many contacts touches, the first ones."""
        return any(mode != OPEN for mode in self.modes[:count])


class Decision(NamedTuple):
    """What contacts do, the configuration q (nq,), velocities v (nv,) after impacts, the kinetic energy lost in them,
    and the impulses (contacts, 3) in the axes of the contacts."""

    standing: Standing
    q: np.ndarray
    v: np.ndarray
    lost: float
    impulse: np.ndarray


def all_open(u: np.ndarray, gap: np.ndarray) -> Standing:
    """Return contacts that do not touch, with velocities u (contacts, 3) and gaps (contacts,)."""
    return Standing((OPEN,) * len(gap), [(0.0, 0.0)] * len(gap), u=u, gap=gap)
