"""What a contact is pushed with over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from catena.simulation.contacts.contact import Contact


@dataclass(frozen=True, eq=False)
class ContactForceHistory:
    """What the plane of a contact pushes with, forces `f` (samples, 3) in the axes of the plane, at the times `t`
    (samples,)."""

    contact: Contact
    t: np.ndarray
    f: np.ndarray

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return the forces (times, 3), straight from one sample to the next."""
        return np.stack([np.interp(times, self.t, x) for x in self.f.T], axis=-1)
