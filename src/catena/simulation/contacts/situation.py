"""How contacts stand and move at one state, and what their forces and impulses would do there: by compiled code that is
laid out once for all contacts of a system, or from the motions of all joints where something acts that it does not
know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from catena.dynamics.contacts.contact_mobility import TOLD, contact_mobility
from catena.dynamics.contacts.coulomb_newton import ASKED
from catena.dynamics.loops.formulations.certified_elimination import is_trusted
from catena.kernels.session import Piece
from catena.simulation.contacts.coulomb import Pressed, told_by
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.inside import Inside, dynamics_of
from catena.simulation.contacts.instant_loads import InstantLoads
from catena.simulation.contacts.regular import is_regular

# What is asked of contacts that have no forces.
_NOT_ASKED = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
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

    def yields(self, contacts: Sequence[int]) -> list[float]:
        """Return how some contacts yield to forces along their planes, [1/kg] each."""

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

    def yields(self, contacts: Sequence[int]) -> list[float]:
        """Return how some contacts yield to forces along their planes, [1/kg] each."""
        return _along_planes(self.mobility(contacts), range(len(contacts)))

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
        self.strike: Piece | None = None
        """Finds impulses of all contacts behind `look`, and what they bear behind these; None where that is done part
        by part."""
        self.bear: Piece | None = None
        """Finds what contacts bear where Python knows what acts behind impulses."""
        last: int | None = None
        acting = loads.acting
        self.places = inside.places
        bent = ("fields",) if self.places.on_fields else ()
        self.look = session.piece(0, law, ("q", "qd", *bent, *loads.changing), ("told", "W", *self.settled))
        self.find = session.piece(law, row, ("asked",), ("found",))
        if "wishes" in self.b:
            last = session.row("decision")
            asks = loads.asks_elements or bool(acting.forces) or acting.is_asked_always
            behind, told = session.row("behind") if asks else None, ("borne", "told")
            found = ("struck", "hit", "rested", "gained", *(() if asks else told))
            self.strike = session.piece(last, behind, ("wishes",), found)
            self.bear = session.piece(session.row("behind"), None, loads.changing, told) if asks else None
        self.push = session.piece(row, last, ("impulses",), ("gained",))

    def at(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Compiled | None:
        """Return the situation at a time and a state q (nq,), v (nv,) under control forces tau (nv,); None if it is not
        finite, or next to a singular configuration of loops."""
        self.loads.put(self.b, t, q, v, tau)
        self.b["q"][0], self.b["qd"][0] = q, v
        if self.places.on_fields:
            self.b["fields"][:] = self.places.fields(q[None])
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
        self.regular: dict[tuple[int, ...], bool] = {}

    def mobility(self, contacts: Sequence[int]) -> np.ndarray:
        """Return what unit forces of some contacts do at these, (n, 3, n, 3)."""
        return self.W if len(contacts) == len(self.W) else self.W[contacts][:, :, contacts]

    def yields(self, contacts: Sequence[int]) -> list[float]:
        """Return how some contacts yield to forces along their planes, [1/kg] each."""
        return _along_planes(self.W, contacts)

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
        if FEW * len(contacts) < len(self.W) or not self.is_regular(contacts):
            return None
        rows = [_NOT_ASKED] * len(self.W)
        for k, m, d, own in zip(contacts, mu.tolist(), sliding, c.tolist(), strict=True):
            along = (0.0, 1.0, 0.0) if d is None else (1.0, -d[0], -d[1])
            rows[k] = [m, 1.0, *along, *own, 0.0]
        asked[:] = rows
        if self.mobile.find():
            return None
        found = self.mobile.b["found"][0]
        if found[-1] > 0.5:
            return None
        own = picked(found[:-1].reshape(-1, 6), contacts)
        return told_by(lambda: W, c, mu, sliding, own[:, :3].copy(), own[:, 3:].copy())

    def is_regular(self, contacts: Sequence[int]) -> bool:
        """Return whether some contacts are not redundant, beyond doubt."""
        key = tuple(contacts)
        if key not in self.regular:
            self.regular[key] = is_regular(self.mobility(contacts).reshape(3 * len(key), -1))
        return self.regular[key]

    def decided(
        self, wishes: Sequence[Sequence[float]], acts: Callable[[np.ndarray], None]
    ) -> Decided | None:
        """Return what contacts do from here on that bounce back from nothing, by what is wished for of each of them
        (`dynamics.contacts.contact_mobility`); None where that is not found at once. Where Python knows what acts at
        velocities behind impulses, which change by so much (nv,), it is told of these."""
        mobile, b = self.mobile, self.mobile.b
        if mobile.strike is None:
            return None
        b["wishes"][0] = [x for row in wishes for x in row]
        if mobile.strike() or any(b[name][0, -1] > 0.5 for name in ("hit", "rested")):
            return None
        if mobile.bear is not None:
            acts(b["gained"][0])
            if mobile.bear():
                return None
        if b["borne"][0, -1] > 0.5:
            return None
        p, u = b["struck"].reshape(-1).copy(), self.u.reshape(-1)
        lost = -float(u @ p + 0.5 * p @ self.W.reshape(len(p), -1) @ p)
        borne = b["borne"][0, :-1].reshape(-1, 6).copy()
        return Decided(p.reshape(-1, 3), b["gained"][0].copy(), lost, Compiled(mobile), borne)

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


def _along_planes(W: np.ndarray, contacts: Sequence[int]) -> list[float]:
    """Return how some of the contacts whose mobility is W (n, 3, n, 3) yield along their planes, on average."""
    own = W.reshape(3 * len(W), -1).diagonal().tolist()
    return [0.5 * (own[3 * k] + own[3 * k + 1]) for k in contacts]


class Decided(NamedTuple):
    """Impulses (contacts, 3), by how much they change velocities (nv,), the energy lost, the situation afterwards, and
    the forces there and what they leave, (contacts, 6)."""

    impulse: np.ndarray
    gained: np.ndarray
    lost: float
    after: Compiled
    borne: np.ndarray
