"""What compiled steps with contacts inside have passed, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.looking import ContactChange
from catena.simulation.contacts.quick_steps import ContactState, ContactSteps
from catena.simulation.contacts.stops_in_joints import forces_in_joints
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.segment import Segment
from catena.simulation.stepping.methods.work import SOURCES

# So many rows there is room for at first.
ROOM = 32


class Path:
    """The states that a stretch has passed, with what contacts do and control forces at each: of the last it may not be
    told yet, or by the step that led there only (`ahead`). What is told of a state has a `shape` (contacts, told), and
    there are so many control forces, its `width`. Rows are in arrays with room for more."""

    def __init__(self, start: ContactState, shape: tuple[int, int], width: int) -> None:
        self.t = [start.t]
        self.known = 0
        """Of how many states it is told what contacts do."""
        self.q, self.v, self.work = (np.empty((ROOM, len(x))) for x in (start.q, start.v, start.work))
        self.q[0], self.v[0], self.work[0] = start.q, start.v, start.work
        self.told, self.tau = np.empty((ROOM, shape[0] * shape[1])), np.empty((ROOM, width))
        self.room, self.shape = ROOM, shape
        self.ahead: tuple[np.ndarray, np.ndarray] | None = None
        self.before: tuple[np.ndarray, np.ndarray] | None = None
        self.begun = 0
        """The state at which control forces changed last."""

    def __len__(self) -> int:
        return len(self.t)

    def _make_room(self, count: int) -> None:
        """Have room for so many states."""
        self.room = 2 * count
        for name in ("q", "v", "work", "told", "tau"):
            old = getattr(self, name)
            new = np.empty((self.room, *old.shape[1:]))
            new[: len(old)] = old
            setattr(self, name, new)

    def add(self, passed: ContactSteps) -> np.ndarray:
        """Go on by some steps, and return what is new of what contacts are told to do."""
        at, known = len(self.t), self.known
        end, new = at + len(passed.t), len(passed.told)
        if max(end, known + new) > self.room:
            self._make_room(max(end, known + new))
        # Steps that were rejected have told of the last state already.
        skip = 1 if new and known == at else 0
        self.known += new - skip
        fresh = slice(known, self.known)
        self.told[fresh] = passed.told[skip:].reshape(new - skip, self.told.shape[1])
        self.tau[fresh] = passed.tau[skip:] if passed.tau.ndim == 2 else passed.tau
        self.q[at:end], self.v[at:end], self.work[at:end] = passed.q, passed.v, passed.work
        self.t += passed.t
        self.ahead = passed.ahead
        return self.told[fresh].reshape(new - skip, *self.shape)

    def go_over(
        self, t: float, q: np.ndarray, v: np.ndarray, work: np.ndarray, told: np.ndarray, tau: np.ndarray
    ) -> None:
        """Go on by one step, which told what contacts do (contacts x told,) under control forces tau (nv,) where it
        began, to a time t and a state q (nq,), v (nv,) and works (sources,) of which nothing is told yet."""
        at = len(self.t)
        if at == self.room:
            self._make_room(at + 1)
        if self.known < at:
            self.told[at - 1], self.tau[at - 1] = told, tau
            self.known = at
        self.q[at], self.v[at], self.work[at] = q, v, work
        self.t.append(t)

    def go_along(self, t: Sequence[float], rows: Mapping[str, np.ndarray]) -> None:
        """Go on by steps that ended at samples at times t, with the rows (steps, ...) of what they told: `told` and
        `tau` where they began, `told_now` where they ended, still under these forces, and q, qd and works there."""
        at = len(self.t)
        end = at + len(t)
        if end > self.room:
            self._make_room(end)
        self.told[at - 1 : end - 1], self.tau[at - 1 : end - 1] = rows["told"], rows["tau"]
        self.q[at:end], self.v[at:end] = rows["q"], rows["qd"]
        self.work[at:end] = rows["work"] if "work" in rows else self.work[at - 1]
        self.t += t
        self.known = end - 1
        self.ahead = self.before = rows["told_now"][-1].copy(), rows["tau"][-1].copy()
        self.begun = end - 1

    def look_ahead(self, told: np.ndarray, tau: np.ndarray) -> None:
        """Take what contacts do (contacts, told) and control forces tau (nv,) at the last state."""
        self.told[self.known], self.tau[self.known] = told.reshape(-1), tau
        self.known += 1

    def go_on(self) -> None:
        """Go on from the last state under other control forces; these, and what contacts do there, are told anew by the
        step that begins."""
        self.known -= 1
        self.before = self.told[self.known].copy(), self.tau[self.known].copy()
        self.begun = len(self.t) - 1

    def end_before(self) -> None:
        """End at the last state as it was before control forces changed there, if they did: a contact cannot bear the
        new ones, and they belong to what comes after it has changed."""
        if self.before is not None:
            self.known = len(self.t)
            self.told[self.known - 1], self.tau[self.known - 1] = self.before

    def state(self, k: int) -> ContactState:
        """Return a state, from the last one on if k is negative."""
        at = k if k >= 0 else len(self.t) + k
        told, tau = (self.told[at].reshape(self.shape), self.tau[at]) if at < self.known else (None, None)
        return ContactState(self.t[at], self.q[at], self.v[at], self.work[at], told, tau)

    def stretch(
        self, count: int, end: ContactState | None, change: ContactChange | None, stiff: bool, steps: int
    ) -> Quick:
        """Return so many of the states, and the `end` if there is one, as a stretch."""
        rows = (self.q, self.v, self.tau, self.work, self.told.reshape(-1, *self.shape))
        t = self.t[:count]
        if end is None:
            q, v, tau, work, told = (x[:count].copy() for x in rows)
        else:
            last = (end.q, end.v, end.tau, end.work, end.told)
            q, v, tau, work, told = (
                np.concatenate([x[:count], y[None]]) for x, y in zip(rows, last, strict=True)
            )
            t = [*t, end.t]
        return Quick(np.array(t), q, v, tau, work, told, change, stiff, steps)


class Quick(NamedTuple):
    """A stretch of motion: times t (states,), q (states, nq), v (states, nv), control forces tau (states, nv), works
    (states, sources) and what contacts do (states, contacts, told), the change that ended it, whether it was `stiff`,
    how many steps were tried, whether works were counted, whether contacts go on with other forces than the least
    ones, which compiled steps do not find, and which slips are so `slow` that friction stops them at once."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    work: np.ndarray
    told: np.ndarray
    change: ContactChange | None
    stiff: bool
    steps: int
    counts: bool = True
    otherwise: bool = False
    slow: tuple[int, ...] = ()
    events: tuple[EventHit, ...] = ()
    ended: str = ""

    def until(self, count: int, end: ContactState) -> Quick:
        """Return so many of the states, and an `end` behind them."""
        rows = [(getattr(self, name), getattr(end, name)) for name in ("q", "v", "tau", "work", "told")]
        q, v, tau, work, told = (np.concatenate([x[:count], y[None]]) for x, y in rows)
        return self._replace(
            t=np.append(self.t[:count], end.t),
            q=q,
            v=v,
            tau=tau,
            work=work,
            told=told,
            change=None,
            stiff=False,
        )

    @property
    def ends(self) -> Quick:
        """Return the first and the last of the states."""
        t, q, v, tau, work, told = (x[:: len(x) - 1].copy() for x in self[:6])
        return Quick(t, q, v, tau, work, told, *self[6:])

    @property
    def forces(self) -> np.ndarray:
        """Return the forces (states, contacts, 3) of contacts in their axes."""
        return self.told[:, :, :3]


def quick_trajectory(
    free_motion: FreeMotion, made: Quick, holding: Holding, settings: Mapping[str, str], held: bool = True
) -> Segment:
    """Return a stretch of quick steps with some `settings` as a run, over whose samples control forces may be `held`.
    Wrenches, and the accelerations of driven joints, are computed when somebody looks at them."""
    t, q, v, work, tau, forces = made.t, made.q, made.v, made.work, made.tau, made.forces
    acting, places = free_motion.acting, free_motion.places
    inside = {k for k, *_ in places.in_joints}
    outside = [k for k in holding.closed if k not in inside] if inside else holding.closed

    def wrenches() -> dict[str, np.ndarray]:
        given = free_motion.outside(t, q, v)[0]
        return free_motion.with_contacts(given, q, v, forces[:, outside], free_motion.places_of(outside))

    near = free_motion.besides(t, q, v).near
    names = tuple(dict.fromkeys((*acting.forces, *places.bodies_of(outside))))
    driven = tuple(acting.motion)
    return Segment(
        free_motion.system, t, q, v, tau[:, : v.shape[1]], made.steps,
        work={name: work[:, k] for k, name in enumerate(SOURCES)} if made.counts else {},
        wrenches=OnDemand(names, wrenches) if names else {},
        driven=OnDemand(driven, lambda: free_motion.outside(t, q, v)[1]) if driven else {}, settings=settings,
        stop_forces=forces_in_joints(places, forces) if inside else {},
        held=held and not acting.is_asked_always, events=made.events, ended=made.ended,
        loop_forces=acting.loop_forces(tau), loop_positions=near,
    )  # fmt: skip
