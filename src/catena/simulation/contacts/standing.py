"""What contacts do between two changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catena.simulation.contacts.coulomb import OPEN, SLIDE, STICK


@dataclass(frozen=True, eq=False)
class Standing:
    """The modes "open", "stick" or "slide" of all contacts, in their order, the directions `slip` (contacts, 2) in
    which those that slide begin, whether friction of one of them is `stiff`: it stops or turns the slip within a
    careful step; and how contacts yield to a force along their planes, (contacts,) [1/kg], where that is known."""

    modes: tuple[str, ...]
    slip: np.ndarray
    stiff: bool = False
    yields: np.ndarray | None = None

    def those(self, *modes: str) -> list[int]:
        """Return the contacts, by number, that are in some of the modes."""
        return [k for k, mode in enumerate(self.modes) if mode in modes]

    @property
    def closed(self) -> list[int]:
        """Return the contacts that touch."""
        return self.those(STICK, SLIDE)

    def with_mode(self, k: int, mode: str) -> Standing:
        """Return this with another mode of one contact."""
        modes = (*self.modes[:k], mode, *self.modes[k + 1 :])
        return Standing(modes, self.slip, self.stiff, self.yields)


def all_open(count: int) -> Standing:
    """Return so many contacts that do not touch."""
    return Standing((OPEN,) * count, np.zeros((count, 2)))
