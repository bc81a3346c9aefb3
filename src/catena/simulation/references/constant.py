"""A position that is held."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.references.protocol import ReferenceMotion, as_times
from catena.validation import is_count, real_array, shown


class Constant:
    """A joint that stays at `position` (nq,), with nv velocity components (as many as nq unless given)."""

    def __init__(self, position: Any, nv: int | None = None) -> None:
        try:
            q = np.atleast_1d(np.array(real_array(position)))
        except ValueError as error:
            raise StateError(
                f"constant: {shown(position)} is no position ({error}); give numbers."
            ) from error
        if q.ndim != 1 or not np.isfinite(q).all():
            raise StateError(f"constant: the position is {q.tolist()}; give one row of finite numbers.")
        if nv is not None and not (is_count(nv) and nv <= 6 * max(1, len(q))):
            raise StateError(f"constant: nv is {shown(nv)}; give the number of velocity components.")
        self.position = q
        self.nv = len(q) if nv is None else int(nv)

    def at(self, t: Any) -> ReferenceMotion:
        """Return the position, at rest."""
        shape = as_times(t, "constant").shape
        rest = np.zeros((*shape, self.nv))
        return ReferenceMotion(
            np.broadcast_to(self.position, (*shape, len(self.position))).copy(), rest, rest.copy()
        )


def constant(position: ArrayLike, nv: int | None = None) -> Constant:
    """Return a reference that stays at a position; nv says how many velocities there are where nq differs."""
    return Constant(position, nv)
