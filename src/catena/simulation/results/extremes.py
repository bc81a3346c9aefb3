"""The largest and smallest values of what is read of a run by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from catena.errors import StateError
from catena.validation import is_one_of, shown

if TYPE_CHECKING:
    from catena.simulation.results.trajectory import Trajectory

READINGS = {
    "coordinates": "__getitem__",
    "velocity": "velocity",
    "acceleration": "joint_acceleration",
    "force": "force",
    "power": "joint_power",
    "reaction": "reaction",
    "position": "position",
    "twist": "twist",
}
"""What may be asked of a joint, and of a frame (the last two), and who tells it at all samples."""


class Extremes:
    """A trajectory that tells how far its readings go."""

    def max(self, name: str, what: str = "coordinates") -> np.ndarray:
        """Return the largest value at the samples of each component, (..., n), or (...,) where there is only one:
        "coordinates", "velocity", "acceleration", "force", "power" or "reaction" of a joint, "position" or "twist" of
        a frame. Where a joint is not there it does not count; `keep="max(A)"` also looks between samples."""
        return self._extreme(np.nanmax, name, what)

    def min(self, name: str, what: str = "coordinates") -> np.ndarray:
        """Return the smallest value at the samples of each component, as `max` returns the largest."""
        return self._extreme(np.nanmin, name, what)

    def _extreme(self, extreme: Callable[..., np.ndarray], name: str, what: str) -> np.ndarray:
        if not is_one_of(what, tuple(READINGS)):
            raise StateError(f"{shown(what)} is not told of {name!r}; choose one of {', '.join(READINGS)}.")
        run = cast("Trajectory", self)
        values = getattr(run, READINGS[what])(name)
        if values.ndim == len(run.batch) + 1:
            return np.asarray(extreme(values, axis=-1))
        found = extreme(values, axis=-2)
        return np.asarray(found[..., 0] if found.shape[-1] == 1 else found)
