"""Motions during which events change the structure: a run for each structure, and the state goes over in between.

A run ends where an event with a `then` happens. What it returns is planned, the state goes over (`catena.transfer`)
with the impact that the new structure asks for, and the next run begins. Events that happen at the same time are done
one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from catena.changing import Transfer, transfer
from catena.errors import CatenaError, SimulationError, StateError, warn
from catena.mechanism import Mechanism
from catena.simulation.acting.driven_joints import drives_of, planned, require_there
from catena.simulation.arguments import TimeSpan, event_list, initial_state, sample_times
from catena.simulation.following import Following
from catena.simulation.guards.events import Event, TimePassed, crosses, required_arguments
from catena.simulation.guards.instant import Instant
from catena.simulation.lanes import Going
from catena.simulation.problem import Control, Problem
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.simulation.run import Run
from catena.simulation.run_start import RunStart, longest_step
from catena.simulation.snapshot import Snapshot, memory_of
from catena.simulation.timeline import Happened, Happening, play
from catena.simulation.turns import Looked, TurnsAlong, Wound, near_rows
from catena.system import System, compare_plans
from catena.validation import shown

# So many changes within this part of the duration are chattering, and the run ends.
CHATTERING, SHORT = 60, 1e-3
# An event that just happened is still at its zero, and stays there below this part of what its function was.
STILL = 1e-11
# Samples within this part of their span from the ends of a segment are these ends.
SAME = 1e-9
# Whether it turns back from there is asked so long after [s].
PROBE = 1e-7
# A function that is zero at the start, up to this part of its change by then, happens there.
AT_ONCE = 1e-3
# A function that was of size 1 and is below this at the time of another event happens with it.
TOGETHER = 1e-7


@dataclass(frozen=True)
class PerStructure:
    """A controller for each structure of a run: `make(system)` gives the one for a system; `make(system, start)` is
    told the time [s] too from which on the structure is there. Times are those of the run."""

    make: Callable[..., Control | None]

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise StateError(
                f"PerStructure: {shown(self.make)} cannot be called; give a function of a system."
            )

    def control(self, system: System, start: float) -> Control | None:
        """Return the controller of a structure that is there from `start` [s] on."""
        return self.make(system, start) if required_arguments(self.make) == 2 else self.make(system)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        raise StateError(
            "PerStructure gives controllers and is none: use it where events change the structure."
        )


@dataclass
class ChangingRun:
    """A run whose events may change the structure: what it is asked for, as `simulate` takes it."""

    system: System
    span: TimeSpan
    control: Any
    motion: Mapping[str, Any]
    forces: Mapping[str, Any]
    options: Mapping[str, Any]
    events: Sequence[Event]
    samples: Any
    following: Following
    check: bool
    near: Mapping[str, Any] = field(default_factory=dict)
    landing: Callable[[System], Any] | None = None
    """What steps find impulses for by themselves, for a structure; None where they do not."""
    wound: Wound = field(default_factory=lambda: Wound({}))
    """Where joints are with all their turns."""
    last: Run | None = None
    """The run of the last segment."""
    segments: list[Segment] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    still: dict[str, float] = field(default_factory=dict)
    """The sizes below which the functions of events that have happened count as zero."""
    note: str = ""
    """Why the motion cannot go on, if it cannot."""
    known: int = 0
    announced: int = 0
    """How many segments and transitions have been told of."""
    seen: tuple[int, int] = (0, 0)
    """How many segments and transitions whoever follows the run has been told of."""

    def go(self, q: Any, v: Any) -> Trajectory:
        """Return the motion from one state q (nq,), v (nv,)."""
        try:
            self.begin(q, v)
            self.advance(self.span.end)
        except Exception as error:
            # What there is must not be lost, whatever went wrong.
            _keep(error, self.segments, self.transitions)
            raise
        if not self.segments:
            raise SimulationError(f"There is no motion: {self.note[:1].lower()}{self.note[1:]}")
        found = Trajectory(tuple(self.segments), tuple(self.transitions), self.note)
        self._require_known(found)
        if self.check and sum(part.v.size for part in self.segments) <= 200_000:
            found.audit().warn()
        return found

    def begin(self, q: Any, v: Any) -> None:
        """Begin at one state q (nq,), v (nv,)."""
        q, v = initial_state(self.system, q, v)
        if q.ndim > 1 or v.ndim > 1:
            raise StateError(
                f"Events that change the structure are for one state, but q has shape {q.shape} and v {v.shape}: every "
                "motion of a batch would have a structure of its own. Simulate them one by one."
            )
        self.now, self.q, self.v = self.span.start, q, v
        self.wound = Wound(near_rows(self.system, self.near, ()))
        self.happens: list[Event] = self.at_the_start(self.system, q, v, self.still)
        """What happens at the present time."""
        self.transitions += self._change()

    def advance(self, until: float) -> None:
        """Move on to a time, or to where an event ends the motion or nothing can move any more."""
        self.is_interrupted = False
        play(self, until)

    def advancing(self, until: float) -> Going[None]:
        """Do what `advance` does."""
        yield from ()
        self.advance(until)

    def goes_on(self, until: float) -> bool:
        """Return whether something moves before a time."""
        over = self.is_interrupted or self.note or ending(self.happens)
        return not over and until - self.now > TimeSpan(self.span.start, until).same

    def move(self, until: float) -> Sequence[Happening]:
        """Move on with one structure, to where an event changes it."""
        run = self._segment(until)
        self.wound.know(run)
        self.happens = self.happened(run, self.system)
        for event in self.happens:
            size = abs(self.bound(event, self.system).value(self.now, run.q[0], run.v[0]))
            self.still[event.label] = max(self.still.get(event.label, 0.0), STILL * size)
        self.segments.append(resampled(with_events(run, self.happens), self.sample_times()))
        self.q, self.v, self.now = run.q[-1], run.v[-1], float(run.t[-1])
        self.is_interrupted = not any(event.then is not None for event in self.happens)
        return self._change, self._tell_rest

    # Step by step.

    @property
    def over(self) -> str:
        """Return why nothing goes on any more, if nothing does."""
        return self.segments[-1].ended if ending(self.happens) and self.segments else self.note

    def ask(self) -> None:
        """Ask for the control forces now, because whoever gives them has others."""
        if self.last is not None and self.last.system is self.system:
            self.last.tau = self.last.acting.command(self.now, self.q[None], self.v[None])

    def taken(self) -> Happened:
        """Return what happened since it was asked last, and forget what was passed."""
        events = tuple(hit for part in self.segments[self.known :] for hit in part.events)
        found = Happened(events, tuple(self.transitions[self.announced :]))
        self.segments, self.transitions = self.segments[-1:], self.transitions[-CHATTERING:]
        self.known, self.announced = len(self.segments), len(self.transitions)
        return found

    def save(self) -> Snapshot:
        """Return all that is needed to go on from here."""
        last = [] if self.last is None else [self.last, *memory_of(self.last.problem.control)]
        return Snapshot([self, self.wound, *last, *(memory_of(self.control) if not last else [])])

    def _change(self) -> Sequence[Transition]:
        """Do what events do to the structure at the present time, and those that this jumps over."""
        made: list[Transition] = []
        waiting: Sequence[Event] = self.happens
        while waiting:
            before = self.system, self.q, self.v
            made += self.changed(waiting, self.system, self.now, self.q, self.v)
            if made and made[-1].transfer is not None:
                new = made[-1].transfer.system
                q, self.v = made[-1].transfer
                self.q = self.wound.over(self.system, new, q)
                self.system = new
            waiting = self._jumped_over(self.happens, before)
            self.happens = [*self.happens, *waiting]
        if self.segments:
            self.segments[-1] = with_events(self.segments[-1], self.happens)
        self.note = _chatters([*self.transitions, *made], self.span.duration)
        if made and not self.system.nv:
            self.note = f"Nothing can move any more from t = {self.now:.6g} s on."
        return made

    def _new_of(self, run: Run) -> None:
        """Tell whoever follows what is new of a run with one structure."""
        times = self.sample_times()
        if run.new is None or run.new.whole is not None:
            return
        goes_on = run.new.rows > 0
        piece = run.fresh() if times is None else run.new.piece_at(times, SAME * float(times[-1] - times[0]))
        if piece is not None:
            self.following.tell([(replace(piece, events=()), goes_on)])

    def _tell_rest(self) -> Sequence[Transition]:
        """Tell whoever follows what is left of the last segment, and what has changed."""
        if self.following.observe is None or len(self.segments) <= self.seen[0]:
            return ()
        assert self.last is not None and self.last.new is not None
        new = self.last.new
        goes_on, new.events = new.rows > 0, 0
        piece = new.rest(self.segments[-1])
        if piece is not None:
            self.following.tell([(piece, goes_on)], self.transitions[self.seen[1] :], self.note)
        self.seen = len(self.segments), len(self.transitions)
        return ()

    def at_the_start(
        self, system: System, q: np.ndarray, v: np.ndarray, still: dict[str, float]
    ) -> list[Event]:
        """Return the events that change the structure at once, because their functions are zero and go on in the
        direction that they have; how small they count as zero later on is written to `still`."""
        found = []
        for event in self.events:
            if event.then is None or not event.direction:
                continue
            bound, t = self.bound(event, system), self.span.start
            value, soon = bound.value(t, q, v), bound.value(t + PROBE, system.integrate(q, v, PROBE), v)
            change = soon - value
            if change * event.direction > 0.0 and abs(value) <= AT_ONCE * abs(change):
                found.append(event)
                still[event.label] = STILL * abs(change) * self.span.duration / PROBE
            elif value == 0.0:
                # Where it goes is not seen yet: it happens when it leaves in its direction.
                still[event.label] = float(np.finfo(np.float64).tiny)
        return found

    def _jumped_over(
        self, known: Sequence[Event], before: tuple[System, np.ndarray, np.ndarray]
    ) -> list[Event]:
        """Return the events, besides those that are known to have happened, that velocities jump over at a change of
        structure. What is not asked by names may speak of other joints behind it, and is left alone."""
        found, t, after = [], self.now, (self.system, self.q, self.v)
        for event in self.events if after[0] is not before[0] or after[2] is not before[2] else ():
            if any(event is one for one in known) or required_arguments(event.asked) != 1:
                continue
            was, now = (self.bound(event, x[0]).value(t, *x[1:]) for x in (before, after))
            size = max(abs(was), abs(now))
            if self.segments:
                run = self.segments[-1]
                size = max(size, abs(self.bound(event, run.system).value(run.t[0], run.q[0], run.v[0])))
            # Behind a change at its own zero a function is there up to rounding, which has no size to compare with.
            rounding = max(STILL * size, self.still.get(event.label, 0.0))
            if crosses(event, was, now) and min(abs(was), abs(now)) > rounding:
                found.append(event)
        return found

    def _require_known(self, found: Trajectory) -> None:
        """Warn of prescribed motions of joints that no structure of a run has."""
        for name in self.motion:
            if not any(name in run.system.mechanism.joints for run in found.segments):
                warn(f"motion: no structure of this run has a joint {name!r}, so that nothing moved so.")

    def _segment(self, until: float) -> Segment:
        """Return the run with one structure from the present time on, to the first event that changes it, or to a
        time."""
        before, system, t, q, v = self.last, self.system, self.now, self.q, self.v
        try:
            longest = longest_step(self.span.duration, self.sample_times())
            if before is not None and before.system is system:
                # Nothing has changed for the controller: it goes on, and so do forces up to its next sample.
                control = before.problem.control
                beginning = RunStart(False, False, before.holds(t), longest)
            else:
                control = self.control
                control = control.control(system, t) if isinstance(control, PerStructure) else control
                beginning = RunStart(t == self.span.start, longest=longest)
            motion = {name: x for name, x in self.motion.items() if name in system.joints}
            events = [
                self.bound(event, system, self.still.get(event.label, 0.0), (t, q, v))
                for event in self.events
            ]
            near = {joint: x for joint, x in self.wound.positions.items() if joint in system.loops}
            landing = None if self.landing is None else self.landing(system)
            problem = Problem(
                system, control, motion, dict(self.forces), **self.options, near=near, landing=landing
            )
            self.following.through(self._new_of)
            self.last = Run(problem, q, v, TimeSpan(t, until), events, None, self.following, False, beginning)
            found = self.last.go()
            self.transitions += self.last.transitions
            return found
        except Exception as error:
            if t > self.span.start:
                names = ", ".join(repr(name) for name in system.joints)
                error.add_note(
                    f"From t = {t:.9g} s on the structure is another one, and q and v are those of the joints {names}. "
                    "Events with a function of one argument are given a ct.Instant, which is asked by names."
                )
            raise

    def bound(self, event: Event, system: System, still: float = 0.0, at: tuple[Any, ...] = ()) -> Event:
        """Return an event for the states of a structure; one that changes it ends its segment. Where it has happened
        before and is below `still`, it is at zero: `at` are the time t, q (nq,) and v (nv,) from which it goes on."""
        asked, looked = event.asked, self._looked(system)
        ends = event.terminal or event.then is not None
        if isinstance(asked, TimePassed) and (not still or asked.time <= at[0]):
            # What has come does not come again.
            return replace(event, name=event.label, terminal=ends)
        by_name = required_arguments(asked) == 1

        def raw(t: float, q: np.ndarray, v: np.ndarray) -> Any:
            return asked(Instant(system, t, q, v, looked)) if by_name else asked(t, q, v)

        # What rests at its zero or turns back from it is on the side that it came from, so that a short way there and
        # back is not overlooked; what goes on through it is at zero.
        side = 0.0
        if still and event.direction and abs(raw(*at)) <= still:
            t, q, v = at
            change = raw(t + PROBE, system.integrate(q, v, PROBE), v) - raw(t, q, v)
            side = -float(event.direction) if change * event.direction <= 0.0 else 0.0

        def function(t: float, q: np.ndarray, v: np.ndarray) -> Any:
            value = raw(t, q, v)
            return side * still if still and abs(value) <= still else value

        if by_name:
            function.looked = looked  # type: ignore[attr-defined]
        return replace(event, function=function, name=event.label, terminal=ends)

    def _looked(self, system: System) -> Looked:
        """Return what events know of the turns of loop joints in a segment before it is moved: where these are."""
        found = Looked()
        found.along = TurnsAlong(system, (), self.wound.positions)
        return found

    def happened(self, run: Segment, system: System) -> list[Event]:
        """Return the events at the end of a run that an event ended, that one first, if some of them change the
        structure or end the motion."""
        if not run.ended or not run.events or run.ended != run.events[-1].ended:
            return []
        name = run.events[-1].name
        found = [next(event for event in self.events if event.label == name)]
        for event in self.events:
            if event is found[0]:
                continue
            bound = self.bound(event, system)
            values = [bound.value(float(run.t[k]), run.q[k], run.v[k]) for k in (-min(2, len(run.t)), -1)]
            turned = {0: True, 1: values[0] < 0.0, -1: values[0] > 0.0}[event.direction]
            away = abs(values[0]) > self.still.get(event.label, 0.0)
            if turned and away and abs(values[1]) <= TOGETHER * abs(values[0]):
                found.append(event)
        return found

    def changed(
        self, happened: Sequence[Event], system: System, t: float, q: np.ndarray, v: np.ndarray
    ) -> list[Transition]:
        """Return what the events do to the structure, one after the other."""
        made: list[Transition] = []
        for event in happened:
            if event.then is None:
                continue
            try:
                wanted = (
                    event.then(Instant(system, t, q, v, self._looked(system)))
                    if required_arguments(event.then) == 1
                    else event.then(system.mechanism, q.copy(), v.copy())
                )
            except Exception as error:
                error.add_note(f"Event {event.label!r} changed the structure at t = {t:.9g} s.")
                raise
            if wanted is None:
                continue
            if not isinstance(wanted, Mechanism | System | Transfer):
                raise SimulationError(
                    f"Event {event.label!r} gave {shown(wanted)} at t = {t:.9g} s; it must return the changed "
                    "mechanism, its system, or None."
                )
            try:
                moved = wanted if isinstance(wanted, Transfer) else self._over(wanted, system, t, q, v)
            except CatenaError as error:
                raise SimulationError(
                    f"Event {event.label!r} changed the structure at t = {t:.9g} s, and the state cannot go over: "
                    f"{error}"
                ) from error
            compared = compare_plans(system, moved.system)
            sentences = tuple(str(joint) for joint in compared.joints.values() if not joint.is_same)
            lost, kept = float(moved.energy_loss), moved.momentum_error
            made.append(Transition(t, event.label, lost, moved.impulse, kept, sentences, moved))
            system, (q, v) = moved.system, moved
        return made

    def _over(
        self, wanted: Mechanism | System, system: System, t: float, q: np.ndarray, v: np.ndarray
    ) -> Transfer:
        """Return the state of a changed mechanism, or of the plan of one, at a time; drives go on."""
        new = planned(wanted, tuple(self.motion), system) if isinstance(wanted, Mechanism) else wanted
        drives = drives_of(new, self.motion, t)
        moved = transfer(system, q, v, new, driven={name: rate for name, (_, rate) in drives.items()})
        require_there(new, moved.q, drives)
        return moved

    def sample_times(self) -> np.ndarray | None:
        """Return the times to keep, None for all steps."""
        return sample_times(self.samples, self.span, False)


def ending(happened: Sequence[Event]) -> Event | None:
    """Return the event that ends a motion, of those that happened at one time."""
    return next((event for event in happened if event.terminal and event.then is None), None)


def with_events(run: Segment, happened: Sequence[Event]) -> Segment:
    """Return a run with all events that happened at its end, of which it has the first. The one that ends the motion,
    or else the first, is the last of them."""
    q, v, t = run.q[-1], run.v[-1], float(run.t[-1])
    same = TOGETHER * (t - float(run.t[0]))
    there = {found.name for found in run.events if abs(found.t - t) <= same}
    more = [EventHit(event.label, t, q, v) for event in happened if event.label not in there]
    ends = ending(happened)
    if not more and ends is None:
        return run
    last = run.events[-1].name if ends is None else ends.label
    ordered = sorted([*run.events, *more], key=lambda found: found.name == last and abs(found.t - t) <= same)
    return replace(run, events=tuple(ordered), ended=ordered[-1].ended)


def _keep(error: Exception, segments: Sequence[Segment], transitions: Sequence[Transition]) -> None:
    """Let an error have the motion up to it in its attribute `trajectory`."""
    last = getattr(error, "trajectory", None)
    parts: list[Segment | Trajectory] = [*segments, *([last] if isinstance(last, Trajectory) else [])]
    if parts:
        error.trajectory = Trajectory(parts, tuple(transitions))  # type: ignore[attr-defined]


def within(times: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return those of the sample times that are between the first and the last of the times t, and at neither."""
    slack = SAME * (times[-1] - times[0])
    first, end = (times.searchsorted(x, side="right") for x in (t[0] + slack, t[-1] - slack))
    return times[first:end]


def resampled(run: Segment, times: np.ndarray | None) -> Segment:
    """Return a segment at those of the times that are within it, and at its ends."""
    if times is None or len(run.t) < 2:
        return run
    inside = within(times, run.t)
    if not len(inside):
        return run if len(run.t) == 2 else run.picked(np.array([0, len(run.t) - 1]))
    return run.resample(np.unique(np.concatenate([run.t[:1], inside, run.t[-1:]])))


def _chatters(transitions: Sequence[Transition], duration: float) -> str:
    """Return a sentence if the last changes followed each other without end."""
    if len(transitions) < CHATTERING:
        return ""
    last = transitions[-CHATTERING:]
    if last[-1].t - last[0].t > SHORT * duration:
        return ""
    names = ", ".join(sorted({repr(change.name) for change in last})[:4])
    return (
        f"The structure chatters: {CHATTERING} changes ({names}) between t = {last[0].t:.9g} s and {last[-1].t:.9g} s. "
        "Let an event hold longer before another one undoes it, or give contacts less restitution."
    )


def is_changing(events: Any) -> bool:
    """Return whether some of the events change the structure."""
    return any(event.then is not None for event in event_list(events))
