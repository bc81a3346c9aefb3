"""Motions with contacts that are made and broken.

Between two changes every contact has one mode: open, stick or slide (`standing`). A stretch of motion goes on with them
(`stretch`) until a gap closes, a force would pull or leave its cone, or a slip ends (`looking`). Then all contacts that
touch are decided about together (`deciding`). Where changes follow each other without end, or slips are so slow that
they are stiff, some careful steps (`careful`) get over it. Events, and events that change the structure, end a stretch
like contacts do; careful steps and impacts meet them too (`meeting`). Where all that acts is compiled, so are stretches
(`quick`), careful steps (`impulses`) and what is decided by (`situation`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from catena.changing.transfer import free_groups
from catena.errors import SimulationError
from catena.kinematics.extent import extent
from catena.simulation.arguments import TimeWindow, initial_state
from catena.simulation.contacts.bearing import bearing_of
from catena.simulation.contacts.careful import UNASKED, CarefulSteps
from catena.simulation.contacts.checking import require_contacts, require_outside
from catena.simulation.contacts.contact import Contact
from catena.simulation.contacts.coulomb import SLIDE, STICK, JammedError
from catena.simulation.contacts.deciding import Deciding
from catena.simulation.contacts.dry_component import DryComponent, dry_components
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.geometry import ContactPlaces
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.impulses import ImpulseSteps
from catena.simulation.contacts.inside import Inside, can_be_inside, is_rigid_tree, steps_look_back
from catena.simulation.contacts.instant_loads import InstantLoads
from catena.simulation.contacts.jumps import Jumps
from catena.simulation.contacts.looking import LIFTS, SLIPPING, STOPS, ContactChange
from catena.simulation.contacts.meeting import jumped_over, met
from catena.simulation.contacts.quick import QuickStretch
from catena.simulation.contacts.quick_path import Quick, quick_trajectory
from catena.simulation.contacts.quick_steps import QuickSteps
from catena.simulation.contacts.situation import Mobile
from catena.simulation.contacts.standing import Decision, Standing
from catena.simulation.contacts.steady import CarefulUntilSteady
from catena.simulation.contacts.stiffness import StiffnessWatch
from catena.simulation.contacts.stop import Stop, StopSide
from catena.simulation.contacts.stretch import ContactStretch
from catena.simulation.contacts.stretches import Passed, Stretches
from catena.simulation.following import Cancelled, stopped
from catena.simulation.guards.events import Event
from catena.simulation.lanes import Going, alone
from catena.simulation.problem import Problem
from catena.simulation.results.audit import audit_of_changes
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.simulation.run_start import energy_at_hand
from catena.simulation.snapshot import Snapshot, memory_of
from catena.simulation.structure_changes import (
    ChangingRun,
    PerStructure,
    ending,
    with_events,
    within,
)
from catena.simulation.timeline import Happened, Happening, playing
from catena.simulation.turns import Wound, near_rows
from catena.system import System

# So many changes, or impacts, within so many careful steps are got over by careful steps.
HASTY, RATTLING, WITHIN = 5, 40, 20.0
# So many changes more for each component of a joint with dry friction.
DRY = 3
# Careful steps of a row, at most.
MOST = 400
# Why careful steps were taken.
CHATTERS, STIFF, SLOWLY, STUCK, UNDECIDED, STEPPED = (
    "because contacts chattered",
    "because friction was stiff",
    "because friction was stiff for a moment",
    "because steps became too small",
    "because no forces were found",
    "as time stepping",
)
# The first step of a stretch, in first steps of the one before.
AGAIN = 2.0
# The size of a careful step, as a part of the time in which the mechanism falls by its own size.
CAREFUL = 1e-3


class ContactRun:
    """A motion of one state of a system with contacts. The arguments are those of `simulate`; `every` is the system of
    all states of a batch, whose numbers may differ, None for a state that goes alone; with a `step` careful steps of
    this size [s] are taken wherever something touches."""

    def __init__(
        self,
        contacts: Sequence[Contact | Stop],
        changing: ChangingRun,
        every: System | None = None,
        step: float | None = None,
    ) -> None:
        self.step, self.lands = step, False
        self.changing, self.duration, self.every = changing, changing.span.duration, every
        self.start, self.end = changing.span
        self.transitions: list[Transition] = []
        self.times: np.ndarray | None = None
        """The times of samples, None where all steps are kept."""
        self.jumps = Jumps()
        self.decided: list[float] = []
        self.hit: list[float] = []
        self.still: dict[str, float] = {}
        self.more, self.takes_over = True, False
        self.standing: Standing | None = None
        """What contacts do, None where that is not decided yet."""
        self.is_undecided = False
        """Whether no forces were found with which contacts could go on."""
        changing.following.through(self._new_of)
        touching = tuple(contact for contact in contacts if isinstance(contact, Contact))
        stops = [side for x in contacts if isinstance(x, Stop) for side in x.sides(changing.system)]
        self.given: tuple[Contact | StopSide, ...] = (*touching, *stops)
        self.contacts: tuple[Contact | StopSide | DryComponent, ...] = self.given
        """What was given, and behind it the components with dry friction of joints."""
        require_contacts(changing.system, self.given)
        self.wound = changing.wound = Wound(near_rows(changing.system, changing.near, ()))
        self.system = changing.system
        self.described: dict[System, System] = {}
        """The systems with all that was described, by those that move."""
        self.stretches = Stretches(self.given, self.described)

    def _take(self, system: System, start: float, q: np.ndarray) -> None:
        """Go on with a system from a configuration q (nq,)."""
        changing = self.changing
        control = changing.control
        if isinstance(control, PerStructure):
            control = control.control(system, start)
        # Friction by load is found beside the forces of contacts.
        system, described = system.variants.unloaded, system
        self.described[system] = described
        motion = {name: x for name, x in changing.motion.items() if name in system.joints}
        problem = Problem(system, control, motion, dict(changing.forces), **changing.options, sticks=False)
        self.system = system
        self.contacts = (*self.given, *dry_components(system, q, motion))
        places = ContactPlaces(system, self.contacts)
        self.free_motion = FreeMotion(
            problem, places, near=self.wound.positions, bearing=bearing_of(system, places)
        )
        self.length = extent(system.plan)
        gravity = float(np.linalg.norm(system.mechanics.gravity))
        falls = np.sqrt(self.length / gravity) if gravity > 0.0 else self.duration
        self.h = CAREFUL * min(falls, self.duration)
        free = {name for group in free_groups(system.mechanism) for name in group}
        self.is_free = len(free) >= len(system.mechanism.bodies) - 1 and not motion
        self.quick: dict[bool, QuickSteps] = {}
        self.redundant: set[tuple[str, ...]] = set()
        """Modes with which contacts are known to be redundant."""
        self.by_python: Standing | None = None
        """What contacts do where redundant ones bear other forces than the least, which only Python finds."""
        self.impulses: ImpulseSteps | None = None
        self.watch = StiffnessWatch(self.free_motion)
        self.is_inside, self.is_tree = can_be_inside(problem, places), is_rigid_tree(system)
        self.deciding = Deciding(self.free_motion, self.length, self.h)
        self.first = self.longest = min(1e-2, 1e-2 * self.duration)

    def _refer(self, q: np.ndarray) -> None:
        """Refer to a configuration q (nq,), at which a structure begins."""
        self.free_motion.places.refer(q)
        self.free_motion.weigh(q)
        self.inside = Inside(self.free_motion.places)
        if self.is_inside:
            free_motion = self.free_motion
            self.loads = InstantLoads(
                free_motion.acting, bool(free_motion.places.dry), free_motion.near_positions
            )
            self.deciding.mobile = Mobile(self.loads, self.inside)

    def go(self, q: Any, v: Any) -> Trajectory:
        """Return the motion from one state q (nq,), v (nv,)."""
        return alone(self.going(q, v))

    def going(self, q: Any, v: Any) -> Going[Trajectory]:
        """Do what `go` does, and wait for compiled steps."""
        times = self.times = self.changing.sample_times()
        try:
            self._take_up(q, v)
            yield from self.free_motion.waiting(self.now, self.q, self.v)
            self._begin()
            yield from self.advancing(self.end)
        except (KeyboardInterrupt, Cancelled) as reason:
            last = self.stretches.last
            if self.standing is None and last is None:
                raise
            reached = self.now if last is None else float(last.t[-1])
            return self._found(times, stopped(reason, reached))
        except Exception as error:
            if self.stretches.passed:
                error.trajectory = self._found(times, str(error))  # type: ignore[attr-defined]
            raise
        finally:
            self.changing.following.done()
        return self._found(times, "")

    def begin(self, q: Any, v: Any, inside: float = 0.0) -> None:
        """Begin at one state q (nq,), v (nv,), in which contacts may be `inside` the other side by so much [m], because
        other steps have led there: where no forces are found, careful steps go on."""
        self._take_up(q, v, inside)
        self._begin()

    def _take_up(self, q: Any, v: Any, inside: float = 0.0) -> None:
        """Be at one state q (nq,), v (nv,), in which nothing is decided yet."""
        self.takes_over = inside > 0.0
        q, v = initial_state(self.system, q, v)
        self._take(self.system, self.start, q)
        self._refer(q)
        gaps = self.deciding.gaps(self.start, q, np.zeros(self.system.nv)) + inside
        require_outside(self.given, gaps[: len(self.given)], self.length)
        if self.free_motion.acting.motion:
            q, v = (
                x[0] for x in self.free_motion.acting.prescribed.imposed(self.start, q[None], v[None])[:2]
            )
        self.now, self.q, self.v = self.start, q, v

    def _begin(self) -> None:
        """Decide what contacts do at the start, where events may change the structure."""
        happened = self.changing.at_the_start(self.system, self.q, self.v, self.still)
        self.transitions += self._restructure(happened, None) if happened else self._decide(None)

    def advancing(self, until: float) -> Going[None]:
        """Move on to a time, or to where an event ends the motion."""
        self.end, self.more = until, True
        for quick in self.quick.values():
            quick.window = self.window
        yield from playing(self, until)

    def advance(self, until: float) -> None:
        """Do what `advancing` does, alone."""
        alone(self.advancing(until))

    def goes_on(self, until: float) -> bool:
        """Return whether something moves before a time."""
        return self.more and self.now < until - self.window.same

    def moving(self, until: float) -> Going[Sequence[Happening]]:
        """Move on with contacts as they are, to where one of them cannot go on, or to an event."""
        happens = yield from (self._careful(UNDECIDED) if self.is_undecided else self._stretch())
        if happens:
            yield from self.free_motion.waiting(self.now, self.q, self.v)
        over = [self._jump_over] if self.more and self.changing.events else []
        return [*happens, *over, self._follow]

    def _follow(self) -> Sequence[Transition]:
        """Let whoever follows the run look at it."""
        self.changing.following.tick(self.now, self)
        return ()

    # Step by step.

    @property
    def over(self) -> str:
        """Return why nothing goes on any more, if nothing does."""
        last = self.stretches.last
        return "" if last is None or self.more else last.ended

    def ask(self) -> None:
        """Ask for the control forces now, because whoever gives them has others."""
        self.free_motion.due = -np.inf

    def taken(self) -> Happened:
        """Return what happened since it was asked last, and forget what was passed."""
        found = Happened(self.stretches.taken(), tuple(self.transitions))
        self.transitions = []
        # Contacts go on as they do, from where they are now.
        self.standing = self._known._replace(u=None, gap=None)
        return found

    def save(self) -> Snapshot:
        """Return all that is needed to go on from here."""
        free = self.free_motion
        parts = self.changing, self.wound, free, free.turns, free.acting, free.places, self.watch
        return Snapshot([self, self.stretches, self.deciding, *parts, *memory_of(free.acting.control)])

    @property
    def window(self) -> TimeWindow:
        """Return up to when the motion goes on for now."""
        return TimeWindow(self.start, self.end, self.duration)

    @property
    def _known(self) -> Standing:
        """Return what contacts do now, which has been decided."""
        assert self.standing is not None
        return self.standing

    def _stretch(self) -> Going[list[Happening]]:
        """Move on with contacts as they are, and return what ends that."""
        t, q, v, standing = self.now, self.q, self.v, self._known
        if self.step is not None and standing.closed and not self.lands:
            return (yield from self._careful(STEPPED))
        self.lands = False
        if standing.stiff:
            return (yield from self._careful(CHATTERS if self._is_hasty(t) else SLOWLY))
        holding = Holding(self.free_motion, standing, self.length, standing.slip)
        happens = yield from self._quick_stretch(holding)
        if happens is not None:
            return happens
        options, following = self.changing.options, self.changing.following
        made = yield from ContactStretch(
            holding, self.window, options, self._events, self.h / 3.0, following
        ).going(t, q, v)
        run, stiff = made.run, STIFF if holding.rubs else STUCK
        if run is None:
            return (yield from self._careful(stiff))
        if len(run.t) > 1:
            self._pass(run, holding.forces_in(run))
        self._come_to(run)
        if run.ended:
            return self._ended(run)
        return (yield from self._after(made.change, stiff if made.stiff else ""))

    def _quick_stretch(self, holding: Holding) -> Going[list[Happening] | None]:
        """Do what `_stretch` does by compiled steps; None where they do not know all that acts, or cannot vouch for
        it."""
        if not self.is_inside or steps_look_back(self.free_motion.problem.integrator):
            return None
        if self.by_python is self.standing:
            return None
        modes = holding.standing.modes
        stretch = self._prepared(holding, modes in self.redundant)
        made = yield from self._moved_quickly(stretch)
        if made is None and holding.closed and not stretch.quick.least:
            self.redundant.add(modes)
            stretch = self._prepared(holding, True)
            made = yield from self._moved_quickly(stretch)
        if made is None:
            return None
        run = self._keep_quick(made, holding, stretch)
        for quick in self.quick.values():
            quick.turnover += float(np.abs(made.work[-1]).sum())
        if not holding.closed:
            self.watch.passed(made.t, self.h)
        if len(made.t) > 2:
            # Behind a change steps are small again, about as small as they were behind the last one.
            self.first = min(self.longest, max(self.h, AGAIN * float(made.t[1] - made.t[0])))
        self._come_to(run)
        if made.otherwise:
            self.by_python = self.standing
            return []
        if made.slow and not made.ended and not self._is_hasty(self.now):
            return [partial(self._decide, ContactChange(self.now, made.slow[0], STOPS), made.slow)]
        stiff = SLOWLY if holding.rubs else STUCK
        if made.ended:
            return self._ended(run)
        return (yield from self._after(made.change, stiff if made.stiff else ""))

    def _prepared(self, holding: Holding, least: bool) -> QuickStretch:
        """Return a stretch of compiled steps, which find the `least` forces where contacts may be redundant."""
        if least not in self.quick:
            # Works are judged by the energy at hand where joints are driven.
            driven, state = self.free_motion.acting.motion, (self.q[None], self.v[None])
            self.quick[least] = QuickSteps(
                self.free_motion, self.inside, self.window, self.length, self.h,
                energy_at_hand(self.system, *state) if driven else 0.0, self.changing.following.tick, least, self.q,
                self.every if self.system is self.changing.system else None, self.every is None,
            )  # fmt: skip
        return QuickStretch(self.quick[least], holding)

    def _moved_quickly(self, stretch: QuickStretch) -> Going[Quick | None]:
        """Return a motion by compiled steps, None where they cannot vouch for it."""
        t, q, v = self.now, self.q, self.v
        try:
            return (yield from stretch.go(t, q, v, self.first, self._events(t, q, v)))
        except BaseException:
            # Whatever went wrong in a user's function, what there is must not be lost.
            made = stretch.so_far()
            if made is not None:
                self._keep_quick(made, stretch.holding, stretch)
            raise

    def _come_to(self, run: Segment) -> None:
        """Be at the end of a run."""
        self.now, self.q, self.v = float(run.t[-1]), run.q[-1], run.v[-1]

    def _after(self, change: ContactChange | None, stiff: str) -> Going[list[Happening]]:
        """Return what happens where a stretch ended: a change of a contact, or careful steps where it became `stiff`,
        in words, or changes follow each other too quickly."""
        hasty = change is not None and self._is_hasty(self.now)
        if stiff or hasty:
            return (yield from self._careful(CHATTERS if hasty else stiff))
        self.more = change is not None
        return [] if change is None else [partial(self._decide, change)]

    # What contacts do.

    def _decide(self, change: ContactChange | None, rests: Sequence[int] = ()) -> Sequence[Transition]:
        """Decide what contacts do from now on, because one of them changed, or none is decided about yet; friction
        stops those in `rests` at once."""
        t, q, v, before = self.now, self.q, self.v, self.standing
        if before is None and self.free_motion.feels is not None:
            self._feel_first()
        self.free_motion.keep_time(t, q, v)
        parts = change.contact if change is not None and change.what == LIFTS else -1
        slips = change.contact if change is not None and change.what == SLIPPING else -1
        closed = () if before is None else before.closed
        try:
            found = self.deciding.decide(t, q, v, parts, slips, rests, closed=closed)
        except SimulationError as error:
            if not self.takes_over and (change is None or isinstance(error, JammedError)):
                raise
            self.is_undecided = True
            return ()
        why = "at the start" if change is None else f"{self.contacts[change.contact].label} {change.what}"
        return self._go_on(why, found)

    def _feel_first(self) -> None:
        """Let a controller that has not been asked yet feel what contacts bear without it."""
        self.free_motion.rest_controls()
        with suppress(SimulationError):
            standing = self.deciding.decide(self.now, self.q, self.v).standing
            self.free_motion.holding = Holding(self.free_motion, standing, self.length, standing.slip)

    def _go_on(self, why: str, found: Decision) -> Sequence[Transition]:
        """Go on with what was decided, and tell what changed."""
        (self.hit if found.lost > 0.0 else self.decided).append(self.now)
        change = self._told(why, found)
        told = change.told if self.standing is not None else found.standing.holds(len(self.given))
        self.standing, self.q, self.v = found.standing, found.q, found.v
        if self.free_motion.feels is not None:
            standing = found.standing
            self.free_motion.holding = Holding(self.free_motion, standing, self.length, standing.slip)
        return (change,) if change.impulse or told else ()

    def _told(self, why: str, found: Decision) -> Transition:
        """Return what is told of a decision, `why` it was made."""
        before, modes, q, v = self.standing, found.standing.modes, found.q, self.v
        told = tuple(
            f"{contact.label}: {now if before is None else f'{before.modes[k]} -> {now}'}"
            for k, (contact, now) in enumerate(zip(self.given, modes, strict=False))
            if before is None or before.modes[k] != now
        )
        if not found.impulse.any():
            return Transition(self.now, why, found.lost, {}, 0.0, told)
        told_impulse = found.impulse
        if self.free_motion.places.turns.any():
            told_impulse = self.free_motion.places.at(q[None], v[None]).in_frame_axes(found.impulse[None])[0]
        pushed = np.flatnonzero(found.impulse[: len(self.given)].any(axis=1)).tolist()
        impulse = {self.contacts[k].label: told_impulse[k] for k in pushed}
        error: Any = self.jumps.add(self.free_motion.places, q, v, found) if self.is_free else np.nan
        return Transition(self.now, why, found.lost, impulse, error, told)

    def _is_hasty(self, t: float) -> bool:
        """Return whether changes follow each other too quickly."""
        rubbing = len(self.contacts) - len(self.given)
        return any(
            len(times) >= most and t - times[-most] < WITHIN * self.h
            for times, most in ((self.decided, HASTY + DRY * rubbing), (self.hit, RATTLING))
        )

    def _careful(self, why: str) -> Going[list[Happening]]:
        """Move on by some careful steps, and return what ends them; `why` says what made them necessary."""
        t, q, v, self.is_undecided = self.now, self.q, self.v, False
        stepped = why == STEPPED
        h = self.h if self.step is None else self.step
        until_steady = CarefulUntilSteady(
            h,
            self.length,
            self.deciding.weight,
            self.free_motion.places.friction,
            why in (SLOWLY, STUCK),
        )
        steps = CarefulSteps(
            self.free_motion, self.length, h, self._impulses(), self.watch, self.changing.following.tick,
            0 if stepped else UNASKED,
        )  # fmt: skip

        def touches(p: np.ndarray, u: np.ndarray, yields: np.ndarray) -> bool:
            until_steady.stays(p, u, yields)
            return bool(p.any())

        self.watch.begin(v)
        gap = self.deciding.gaps(t, q, v)
        stays = touches if stepped else until_steady.stays
        run, forces = yield from steps.going(t, q, v, min(self.end, t + MOST * h), stays, gap)
        # What hits at once is landed on as it is without steps.
        self.lands = len(run.t) == 1
        if len(run.t) > 1:
            times = run.t
            run = met(run, self._events(t, q, v), t == self.start)
            self.wound.know_loops(run)
            pushes = steps.pushes[np.searchsorted(times, run.t, side="right") - 1] if run.driven else None
            self._pass(run, lambda run: forces[np.searchsorted(times, run.t, side="right") - 1], pushes)
            self._come_to(run)
            if run.ended:
                return self._ended(run)
        return [partial(self._settle, until_steady, why)]

    def _settle(self, steady: CarefulUntilSteady, why: str) -> Sequence[Transition]:
        """Decide what contacts do behind careful steps."""
        t, q, v = self.now, self.q, self.v
        self.free_motion.keep_time(t, q, v)
        self.more = self.end - t > self.window.same
        try:
            found = self.deciding.decide(t, q, v, rests=steady.now(STICK), held=steady.now(STICK, SLIDE))
        except SimulationError:
            if not self.takes_over:
                raise
            self.is_undecided = True
            return ()
        return self._go_on(f"after careful steps, {why}", found)

    def _impulses(self) -> ImpulseSteps | None:
        """Return compiled careful steps; None where something acts that they do not know."""
        if self.impulses is None and self.is_inside and self.is_tree:
            self.impulses = ImpulseSteps(self.loads, self.inside)
        return self.impulses

    # Events.

    def _events(self, t: float, q: np.ndarray, v: np.ndarray) -> list[Event]:
        return [
            self.changing.bound(event, self.system, self.still.get(event.label, 0.0), (t, q, v))
            for event in self.changing.events
        ]

    def _ended(self, run: Segment) -> list[Happening]:
        """Return what happens where an event has ended a run."""
        happened = self.changing.happened(run, self.system)
        last = self.stretches.last
        if last is not None and last.t[-1] == self.now:
            self.stretches.mend(with_events(last, happened))
        self.more = any(event.then is not None for event in happened)
        if not self.more:
            return []
        self.more = ending(happened) is None
        return [partial(self._restructure, happened, run)]

    def _jump_over(self) -> Sequence[Transition]:
        """Let events happen that the last impact has jumped over."""
        t, q, v, last = self.now, self.q, self.v, self.stretches.last
        if last is None or not self.more:
            return ()
        if last.system is not self.system or np.array_equal(last.v[-1], v):
            return ()
        known = self._events(t, q, v)
        over = jumped_over(known, t, (last.q[-1], last.v[-1]), (q, v))
        found = tuple(EventHit(known[k].label, t, q, v) for k in over)
        ends = next((k for k, i in enumerate(over) if known[i].terminal), None)
        if ends is None:
            self.stretches.mend(replace(last, events=(*last.events, *found)))
            return ()
        found = found[: ends + 1]
        self.stretches.mend(replace(last, events=(*last.events, *found), ended=found[-1].ended))
        event = self.changing.events[over[ends]]
        self.more = event.then is not None
        return self._restructure([event], last) if self.more else ()

    def _restructure(self, happened: Sequence[Event], run: Segment | None) -> Sequence[Transition]:
        """Let events at the end of a run, or at the start, change the structure, and decide about contacts anew."""
        t, q, v = self.now, self.q, self.v
        for event in happened if run is not None else ():
            assert run is not None
            size = abs(self.changing.bound(event, self.system).value(float(run.t[0]), run.q[0], run.v[0]))
            self.still[event.label] = max(self.still.get(event.label, 0.0), 1e-11 * size)
        made = self.changing.changed(happened, self.system, t, q, v)
        if made and made[-1].transfer is not None:
            new, turned = made[-1].transfer.system, self.free_motion.turns.at(np.array([t]), q[None], v[None])
            self.wound.positions |= {joint: x[0] for joint, x in turned.items()}
            self.wound.know_tree(self.system, q)
            q, self.v = made[-1].transfer
            self.q = self.wound.over(self.system, new, q)
            require_contacts(new, self.given)
            self._take(new, t, self.q)
            self._refer(self.q)
        self.standing = None
        return [*made, *self._decide(None)]

    # What is kept.

    def _pass(
        self, run: Segment, forces: Callable[[Segment], np.ndarray], pushes: np.ndarray | None = None
    ) -> None:
        """Keep a stretch, and what tells the forces of contacts in it."""
        self.wound.know_loops(run)
        self.stretches.passed.append(Passed(run, self.free_motion, forces, pushes))

    def _keep_quick(self, made: Quick, holding: Holding, stretch: QuickStretch) -> Segment:
        """Keep a stretch of compiled steps at its ends only, if no sample lies between them, and return it."""
        times, whole = self.times, len(made.t)
        if times is not None and whole > 2 and not len(within(times, made.t)):
            made = made.ends
        run = quick_trajectory(self.free_motion, made, holding, stretch.quick.settings, len(made.t) == whole)
        if len(made.t) > 1:
            self._pass(run, stretch.forces_in(made, run), made.forces if run.driven else None)
        return run

    def _found(self, times: np.ndarray | None, note: str) -> Trajectory:
        passed = self.stretches.passed
        if not passed:
            still = np.zeros((1, self.system.nv))
            alone = Segment(self.system, np.array([self.now]), self.q[None], self.v[None], still, 0)
            return Trajectory([alone], tuple(self.transitions), note)
        self.stretches.tell(times, len(passed), self.transitions, self.changing.following, note)
        found = Trajectory(tuple(self.stretches.finished), tuple(self.transitions), note)
        if self.changing.check:
            audit_of_changes(found).warn()
        return found

    def _new_of(self, run: ContactRun) -> None:
        """Tell whoever follows what is new. The last stretch may still get events that happen at its end."""
        count = len(self.stretches.passed) - 1
        self.stretches.tell(self.times, count, self.transitions, self.changing.following)
