"""The coordinates of a whole mechanism in another program's order and conventions, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from catena.bridges.conventions.joint_maps import Array, JointMap
from catena.errors import StateError
from catena.validation import real_array, shown


@dataclass(frozen=True)
class JointCoordinates:
    """One joint: where its coordinates are on both sides, and how they translate."""

    q: slice
    v: slice
    q_there: slice
    v_there: slice
    map: JointMap


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The translation between a system and the model of another program.

    Every function takes arrays with leading batch dimensions, which are broadcast: `q` (..., nq), `v`, `vdot` and `tau`
    (..., nv) are Catena's, those named `*_there` the other program's. What a side has and the other does not stays at
    `neutral` (nq,) and `neutral_there` (nq_there,), at rest and without force.
    """

    neutral: Array
    nv: int
    neutral_there: Array
    nv_there: int
    blocks: tuple[JointCoordinates, ...]

    @property
    def nq(self) -> int:
        """Return the number of Catena's positions."""
        return len(self.neutral)

    @property
    def nq_there(self) -> int:
        """Return the number of the other program's positions."""
        return len(self.neutral_there)

    def configuration(self, q: ArrayLike) -> Array:
        """Return the other program's positions (..., nq_there)."""
        own = states("q", q, self.nq)
        return _gathered(
            self.neutral_there, [(b.q_there, b.map.position(own[..., b.q])) for b in self.blocks], own
        )

    def catena_configuration(self, q_there: ArrayLike) -> Array:
        """Return Catena's positions (..., nq)."""
        own = states("q", q_there, self.nq_there)
        return _gathered(
            self.neutral, [(b.q, b.map.position_back(own[..., b.q_there])) for b in self.blocks], own
        )

    def velocity(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the other program's velocities (..., nv_there)."""
        return self._there(q, "v", v, lambda map: map.rates)

    def catena_velocity(self, q: ArrayLike, v_there: ArrayLike) -> Array:
        """Return Catena's velocities (..., nv), at Catena's q."""
        return self._back(q, "v", v_there, lambda map: map.rates_back)

    def acceleration(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> Array:
        """Return the derivatives (..., nv_there) of the other program's velocities."""
        return self._there(q, "vdot", vdot, lambda map: map.rates) + self._drift(q, v)

    def catena_acceleration(self, q: ArrayLike, v: ArrayLike, vdot_there: ArrayLike) -> Array:
        """Return Catena's vdot (..., nv), at Catena's q and v."""
        vdot = states("vdot", vdot_there, self.nv_there)
        return self._back(q, "vdot", vdot - self._drift(q, v), lambda map: map.rates_back)

    def effort(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return the other program's joint forces (..., nv_there), which have the same power."""
        return self._there(q, "tau", tau, lambda map: map.efforts)

    def catena_effort(self, q: ArrayLike, tau_there: ArrayLike) -> Array:
        """Return Catena's joint forces (..., nv), at Catena's q."""
        return self._back(q, "tau", tau_there, lambda map: map.efforts_back)

    def _drift(self, q: ArrayLike, v: ArrayLike) -> Array:
        return self._there(q, "v", v, lambda map: map.drift)

    def _there(
        self,
        q: ArrayLike,
        what: str,
        x: ArrayLike,
        how: Callable[[JointMap], Callable[[Array, Array], Array]],
    ) -> Array:
        at, rates = states("q", q, self.nq), states(what, x, self.nv)
        parts = [(b.v_there, how(b.map)(at[..., b.q], rates[..., b.v])) for b in self.blocks]
        return _gathered(np.zeros(self.nv_there), parts, at[..., :0], rates)

    def _back(
        self,
        q: ArrayLike,
        what: str,
        x: ArrayLike,
        how: Callable[[JointMap], Callable[[Array, Array], Array]],
    ) -> Array:
        at, rates = states("q", q, self.nq), states(what, x, self.nv_there)
        parts = [(b.v, how(b.map)(at[..., b.q], rates[..., b.v_there])) for b in self.blocks]
        return _gathered(np.zeros(self.nv), parts, at[..., :0], rates)


def states(what: str, value: ArrayLike, size: int) -> Array:
    """Return numbers (..., size) of states; an error names them as `what`."""
    try:
        array = real_array(value)
    except ValueError as error:
        raise StateError(f"{what} is {shown(value)}, which are not numbers ({error})") from None
    if array.ndim == 0 or array.shape[-1] != size:
        raise StateError(f"{what} has shape {array.shape}: give (..., {size})")
    return array


def _gathered(start: Array, parts: list[tuple[slice, Array]], *batched: Array) -> Array:
    """Return copies of `start` (n,), one for each state of a batch, with parts put where they belong."""
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in batched))
    result = np.broadcast_to(start, (*batch, len(start))).copy()
    for where, part in parts:
        result[..., where] = part
    return result
