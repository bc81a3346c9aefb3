"""By how much the momentum of what contacts alone push on changes otherwise than by their impulses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.standing import Decision


class Jumps:
    """The impacts of a run. What they did to the momentum is found for all of them when somebody first looks."""

    def __init__(self) -> None:
        self._made: list[tuple[ContactPlaces, np.ndarray, np.ndarray, Decision]] = []
        self._errors: list[float] = []

    def add(
        self, places: ContactPlaces, q: np.ndarray, v: np.ndarray, decision: Decision
    ) -> Callable[[], float]:
        """Add what was decided at a state q (nq,), v (nv,), and return a function that tells its error."""
        self._made.append((places, q, v, decision))
        return partial(self._error, len(self._made) - 1)

    def _error(self, k: int) -> float:
        if len(self._errors) < len(self._made):
            self._errors = [0.0] * len(self._made)
            for places in {id(each[0]): each[0] for each in self._made}.values():
                own = [i for i, each in enumerate(self._made) if each[0] is places]
                for i, x in zip(own, self._found(places, own).tolist(), strict=True):
                    self._errors[i] = x
        return self._errors[k]

    def _found(self, places: ContactPlaces, own: list[int]) -> np.ndarray:
        """Return the errors of some impacts of one structure, as parts of what is summed up in the momentum."""
        q, v, after, p = (
            np.array(x)
            for x in zip(
                *((q, v, to.v, to.impulse) for _, q, v, to in map(self._made.__getitem__, own)), strict=True
            )
        )
        # Between two bodies that move an impulse stays within: only what ground gives counts.
        given = (p[..., None, :] @ places.at(q, v).T)[..., 0, :]
        sign = 1.0 * (places.b == 0) - (places.a == 0)
        given = sign[:, None] * given
        momenta = places.system.momentum(np.concatenate([q, q]), np.concatenate([v, after]))
        first, last = momenta[: len(q)], momenta[len(q) :]
        size = np.abs(first).max(axis=-1) + np.abs(last).max(axis=-1) + np.abs(given).sum(axis=1).max(axis=-1)
        return np.abs(last - first - given.sum(axis=1)).max(axis=-1) / np.maximum(size, 1e-300)
