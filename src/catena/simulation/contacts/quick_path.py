"""What compiled steps with contacts inside have passed, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
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


class Path:
    """The states that a stretch has passed, with what contacts do and control forces at each: of the last it may not be
    told yet, or by the step that led there only (`ahead`)."""

    def __init__(self, start: ContactState) -> None:
        self.t, self.told, self.tau = [start.t], list[np.ndarray](), list[np.ndarray]()
        self.ahead: tuple[np.ndarray, np.ndarray] | None = None
        self.parts = [(start.q[None], start.v[None], start.work[None])]
        self.before: tuple[np.ndarray, np.ndarray] | None = None
        self.begun = 0
        """The state at which control forces changed last."""

    def __len__(self) -> int:
        return len(self.t)

    def add(self, passed: ContactSteps) -> np.ndarray:
        """Go on by some steps, and return what is new of what contacts are told to do."""
        # Steps that were rejected have told of the last state already.
        known = len(self.told) == len(self.t)
        told, tau = (passed.told[1:], passed.tau[1:]) if known else (passed.told, passed.tau)
        self.t += passed.t
        self.told += list(told)
        self.tau += tau
        self.ahead = passed.ahead
        if len(passed.t):
            self.parts.append((passed.q, passed.v, passed.work))
        return told

    def go_over(
        self, t: float, rows: tuple[np.ndarray, np.ndarray, np.ndarray], told: np.ndarray, tau: np.ndarray
    ) -> None:
        """Go on by one step, which told what contacts do (contacts, told) under control forces tau (nv,) where it
        began, to a time t at which nothing is told yet of the `rows` q (1, nq), v (1, nv) and works (1, sources)."""
        if len(self.told) < len(self.t):
            self.look_ahead(told, tau)
        self.t.append(t)
        self.parts.append(rows)

    def look_ahead(self, told: np.ndarray, tau: np.ndarray) -> None:
        """Take what contacts do (contacts, told) and control forces tau (nv,) at the last state."""
        self.told.append(told)
        self.tau.append(tau)

    def go_on(self) -> None:
        """Go on from the last state under other control forces; these, and what contacts do there, are told anew by the
        step that begins."""
        self.sampled((self.told.pop(), self.tau.pop()))

    def sampled(self, before: tuple[np.ndarray, np.ndarray]) -> None:
        """Go on from the last state, of which nothing is told yet, under other control forces than those `before`."""
        self.before, self.begun = before, len(self.t) - 1

    def end_before(self) -> None:
        """End at the last state as it was before control forces changed there, if they did: a contact cannot bear the
        new ones, and they belong to what comes after it has changed."""
        if self.before is not None:
            last = len(self.t) - 1
            self.told[last:], self.tau[last:] = [self.before[0]], [self.before[1]]

    def state(self, k: int) -> ContactState:
        """Return a state, from the last one on if k is negative."""
        back = k if k < 0 else k - len(self.t)
        at = len(self.t) + back
        for rows in reversed(self.parts):
            if -back <= len(rows[0]):
                break
            back += len(rows[0])
        q, v, work = rows
        told, tau = (self.told[at], self.tau[at]) if at < len(self.told) else (None, None)
        return ContactState(self.t[at], q[back], v[back], work[back], told, tau)

    def stretch(
        self, count: int, end: ContactState | None, change: ContactChange | None, stiff: bool, steps: int
    ) -> Quick:
        """Return so many of the states, and the `end` if there is one, as a stretch."""
        q, v, work = (np.concatenate(rows)[:count] for rows in zip(*self.parts, strict=True))
        t, told, tau = self.t[:count], self.told[:count], self.tau[:count]
        if end is not None:
            t, told, tau = [*t, end.t], [*told, end.told], [*tau, end.tau]
            q, v, work = (np.concatenate([x, y[None]]) for x, y in ((q, end.q), (v, end.v), (work, end.work)))
        all_tau = np.concatenate(tau).reshape(len(t), -1)
        all_told = np.concatenate(told).reshape(len(t), -1, told[0].shape[-1])
        return Quick(np.array(t), q, v, all_tau, work, all_told, change, stiff, steps)


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
