"""How contacts stand and move at one state, and what their forces and impulses would do there: by compiled code that is
laid out once for all contacts of a system, or from the motions of all joints where something acts that it does not
know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from catena.dynamics.contacts.contact_mobility import TOLD, contact_mobility
from catena.dynamics.contacts.coulomb_newton import ASKED
from catena.dynamics.loops.formulations.certified_elimination import is_trusted
from catena.simulation.contacts.coulomb import Pressed, is_regular, told_by
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.inside import Inside, dynamics_of
from catena.simulation.contacts.instant_loads import InstantLoads

# Compiled code takes part where one in so many contacts touches, at least.
FEW = 4


def picked(x: np.ndarray, contacts: Sequence[int]) -> np.ndarray:
    """Return the rows of some contacts, which are in order: all of them without a copy."""
    return x if len(contacts) == len(x) else x[contacts]


class ContactSituation(Protocol):
    """All contacts at one state: gaps `gap` (contacts,) and velocities `u` (contacts, 3)."""

    gap: np.ndarray
    u: np.ndarray

    def mobility(self, contacts: Sequence[int]) -> np.ndarray:
        """Return what unit forces of some contacts do at these, (n, 3, n, 3)."""

    def accelerations(self, contacts: Sequence[int]) -> np.ndarray:
        """Return how some contacts accelerate without forces, (n, 3)."""

    def pressed(
        self, contacts: Sequence[int], c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None]
    ) -> Pressed | None:
        """Return the forces of some contacts as `coulomb.pressed` does, None where that has to."""

    def pushed(self, contacts: Sequence[int], impulses: np.ndarray) -> np.ndarray:
        """Return by how much impulses (n, 3) of some contacts change velocities, (nv,)."""


class ByJoints:
    """A situation at the time t and the state q (nq,), v (nv,) under control forces tau (nv,), from the motions of all
    joints."""

    def __init__(
        self, free_motion: FreeMotion, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> None:
        self.free_motion, self.t, self.q, self.v, self.tau = free_motion, t, q, v, tau
        self.touches = free_motion.places.at(q[None], v[None])
        self.gap, self.u = self.touches.gap[0], self.touches.u[0]

    def mobility(self, contacts: Sequence[int]) -> np.ndarray:
        """Return what unit forces of some contacts do at these, (n, 3, n, 3)."""
        return self._mobility(tuple(contacts))[1]

    def accelerations(self, contacts: Sequence[int]) -> np.ndarray:
        """Return how some contacts accelerate without forces, (n, 3)."""
        k, places = list(contacts), self.free_motion.places
        found = np.asarray(self.touches.A[0, k] @ self._free + self.touches.b[0, k])
        if places.dry:
            found[:, 2] += places.pressed_now(self.u[:, 0], self.free_motion.load)[k]
        return found

    def pressed(
        self, contacts: Sequence[int], c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None]
    ) -> Pressed | None:
        """Return None: compiled code knows nothing of this situation."""
        return None

    @cached_property
    def bears(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return what tells what loads of joints make of friction (1, contacts) under forces (1, contacts, 3)."""
        rows = (np.array([self.t]), *(x[None] for x in (self.q, self.v, self.tau)))
        return self.free_motion.bears(*rows)

    def pushed(self, contacts: Sequence[int], impulses: np.ndarray) -> np.ndarray:
        """Return by how much impulses (n, 3) of some contacts change velocities, (nv,)."""
        return np.tensordot(impulses, self._mobility(tuple(contacts))[0], axes=2)

    def _mobility(self, contacts: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        if self._known[0] != contacts:
            response, W = self.free_motion.mobility(self.q[None], self.touches.only(contacts))
            self._known = contacts, (response[0], W[0])
        return self._known[1]

    @cached_property
    def _known(self) -> tuple[tuple[int, ...], tuple[np.ndarray, np.ndarray]]:
        return (-1,), (np.zeros(0), np.zeros(0))

    @cached_property
    def _free(self) -> np.ndarray:
        rows = (np.array([self.t]), *(x[None] for x in (self.q, self.v, self.tau)))
        return self.free_motion.free(*rows)[0]


class Mobile:
    """Compiled code for situations of a system (`dynamics.contacts.contact_mobility`), one at a time, under some
    `loads`."""

    def __init__(self, loads: InstantLoads, inside: Inside) -> None:
        self.loads = loads
        dynamics = dynamics_of(loads.acting.system, loads.is_driven)
        session = loads.session(contact_mobility(inside.nodes, bool(loads.placed), dynamics))
        self.b = session.buffers
        self.settled = tuple(name for name in ("change", "before", "size") if name in self.b)
        """What an elimination tells of how exact it is."""
        self.b["contacts"][0] = inside.numbers.reshape(-1)
        self.asked = self.b["asked"][0].reshape(-1, len(ASKED))
        session.piece(0, 0, ("contacts", *loads.constant), ())()
        law, row = session.row("law"), session.row("impulses")
        self.look = session.piece(0, law, ("q", "qd", *loads.changing), ("told", "W", *self.settled))
        self.find = session.piece(law, row, ("asked",), ("found",))
        self.push = session.piece(row, None, ("impulses",), ("gained",))

    def at(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Compiled | None:
        """Return the situation at a time and a state q (nq,), v (nv,) under control forces tau (nv,); None if it is not
        finite, or next to a singular configuration of loops."""
        self.loads.put(self.b, t, q, v, tau)
        self.b["q"][0], self.b["qd"][0] = q, v
        if self.look() or (
            self.settled and not is_trusted(0.0, *(float(self.b[name][0, 0]) for name in self.settled))
        ):
            return None
        return Compiled(self)


class Compiled:
    """A situation that compiled code has found, and stands in until the next one."""

    def __init__(self, mobile: Mobile) -> None:
        self.mobile, self.told = mobile, mobile.b["told"].reshape(-1, TOLD).copy()
        self.gap, self.u = self.told[:, 3], self.told[:, :3]
        k = len(self.told)
        self.W = mobile.b["W"].reshape(k, 3, k, 3).copy()

    def mobility(self, contacts: Sequence[int]) -> np.ndarray:
        """Return what unit forces of some contacts do at these, (n, 3, n, 3)."""
        return self.W if len(contacts) == len(self.W) else self.W[contacts][:, :, contacts]

    def accelerations(self, contacts: Sequence[int]) -> np.ndarray:
        """Return how some contacts accelerate without forces, (n, 3)."""
        own = picked(self.told, contacts)
        return np.asarray(own[:, 4:7] + own[:, 7:])

    def pressed(
        self, contacts: Sequence[int], c: np.ndarray, mu: np.ndarray, sliding: Sequence[np.ndarray | None]
    ) -> Pressed | None:
        """Return the forces of some contacts with c (n, 3), coefficients mu (n,) and directions (2,) of those that
        slide already, as `coulomb.pressed` does; None where contacts are redundant, or no forces are found."""
        W, asked = self.mobility(contacts), self.mobile.asked
        # Compiled code solves for all contacts of a system, of which these may be a few.
        if FEW * len(contacts) < len(self.W) or not is_regular(W.reshape(c.size, c.size)):
            return None
        asked[:, 1] = 0.0
        for i, k in enumerate(contacts):
            d = sliding[i]
            asked[k, :5] = (mu[i], 1.0, 0.0, 1.0, 0.0) if d is None else (mu[i], 1.0, 1.0, -d[0], -d[1])
        asked[contacts, 5:] = c
        if self.mobile.find():
            return None
        found = self.mobile.b["found"][0]
        if found[-1] > 0.5:
            return None
        own = picked(found[:-1].reshape(-1, 6), contacts)
        return told_by(W, c, mu, sliding, own[:, :3].copy(), own[:, 3:].copy())

    def pushed(self, contacts: Sequence[int], impulses: np.ndarray) -> np.ndarray:
        """Return by how much impulses (n, 3) of some contacts change velocities, (nv,)."""
        p = self.mobile.b["impulses"].reshape(-1, 3)
        if len(contacts) < len(p):
            p[:] = 0.0
            p[contacts] = impulses
        else:
            p[:] = impulses
        self.mobile.push()
        return self.mobile.b["gained"][0].copy()
