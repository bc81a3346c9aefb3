"""One simulation: the way from control sample to control sample, events on it, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np

from catena.dynamics.contacts.impulse_law import held_size
from catena.dynamics.loops.elimination import borrowers
from catena.errors import LoopError, StateError, raise_for_states
from catena.kernels import compile_seconds
from catena.kernels.arrays import rows
from catena.kinematics.extent import extent
from catena.kinematics.loops.scales import scales_of
from catena.simulation.acting import loads
from catena.simulation.acting.compiled_law import CompiledLaw, HeldCommand
from catena.simulation.acting.excitation import ActingForces
from catena.simulation.arguments import TimeSpan, event_list, initial_state, sample_times
from catena.simulation.following import Cancelled, Following, stopped
from catena.simulation.guards.event_values import EventValues
from catena.simulation.guards.events import Event
from catena.simulation.guards.locating import Exact, Hit, Passage, hits
from catena.simulation.guards.sign_changes import Nodes
from catena.simulation.guards.stops import Looks, Recorded, TimeGuard, stops
from catena.simulation.keeping import Keep, Tally, require_room
from catena.simulation.new_part import NewPart
from catena.simulation.problem import Problem
from catena.simulation.results.audit import warn_of
from catena.simulation.results.dense import behind_nodes
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.segment import EventHit, Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.simulation.snapshot import Snapshot, memory_of
from catena.simulation.stepping.compiled import BrokenOff, CompiledSteps
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.methods.work import SOURCES
from catena.simulation.stepping.protocol import Steps
from catena.simulation.stepping.record import StepHistory, StepRecord
from catena.simulation.stepping.stiff import StiffSteps
from catena.simulation.timeline import Happened, Happening, play
from catena.simulation.turns import TurnsBehind, each_own, near_rows
from catena.system import System
from catena.validation import shown

# How often a run is looked at for an event that ends it, and for forces on joints that are driven.
LOOKS, LOOKS_DRIVEN = 50, 200
# Steps of a single state after which it is looked for such an event in any case.
OFTEN = 512
# Parts of a long step, in which signals are taken for parabolas.
PARTS = 3
# Runs of more numbers than this are audited only when asked to, and record no more than they must.
LARGE = 200_000
# Loops that are open by no more than this at the start [rad or sizes of the mechanism] are closed by the first step,
# and up to the second number if they can be closed; beyond that it is an error of the caller's. Up to the third number
# inaccurate dimensions may be the reason.
CLOSED, OPEN, COARSE = 1e-8, 1e-6, 1e-3


def _ignore(t: float) -> None:
    """Do nothing: the search for an event shows no progress."""


@dataclass(frozen=True, eq=False)
class RunStart:
    """How a run begins that goes on from another motion: whether its states begin to move here (`begins`), and are not
    those behind an event or another structure; whether it `starts` its controller; the control forces that are `held`,
    as a controller gives them, until its next sample; the `longest` step [s] where joints are driven; whether it is
    `open_ended`: it goes on step by step, without an end and without a record; and the duration `of` the whole motion
    [s], None if this is the whole, in which it is looked for ends that may come early."""

    begins: bool = True
    starts: bool = True
    held: Any = None
    longest: float | None = None
    open_ended: bool = False
    of: float | None = None

    def looks(self, duration: float) -> int:
        """Return how often a part of so many seconds is looked at for an event that ends it."""
        return LOOKS if not self.of else max(1, min(LOOKS, ceil(LOOKS * duration / self.of)))


class Run:
    """A simulation from the start to the end of a `span`: what it is asked for, how far it is, and what it leaves."""

    def __init__(
        self, problem: Problem, q: Any, v: Any, span: TimeSpan, events: Any, samples: Any, following: Following,
        check: bool, beginning: RunStart = RunStart(), records: bool = False, keep: Keep | None = None,
        named: Mapping[str, float] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.keep, self.named = keep, named
        self.failing: dict[int, str] | None = {} if records else None
        """States that were given up on the way, with words, where the others go on without them."""
        self.problem, self.system, self.check = problem, problem.system, check
        self.begins, self.looks = beginning.begins, beginning.looks(span.duration)
        self.compiled_before = compile_seconds()
        self.span, (self.start, self.end) = span, span
        self.duration, self.same = span.duration, span.same
        if not isinstance(check, bool | np.bool_):
            raise StateError(f"check is {shown(check)}; give True or False.")
        system = self.system
        self.events: list[Event] = [event.bound(system) for event in event_list(events)]
        q, v = initial_state(system, q, v)
        varied = () if problem.landing is None else (x.shape for x in problem.landing.varied.values())
        shapes = {q.shape[:-1], v.shape[:-1], system.variants.shape, *varied}
        self.batch = np.broadcast_shapes(*shapes) if len(shapes) > 1 else q.shape[:-1]
        if not system.nv or 0 in self.batch:
            what = f"no states: the batch has shape {self.batch}" if system.nv else "nothing that moves in it"
            raise StateError(f"There is nothing to simulate in {system.mechanism.name!r}: {what}.")
        if system.variants.shape != () or system.variants.origin is not system:
            system = self.system = system.variants.over(self.batch)
            problem = self.problem = replace(problem, system=system)
        self.q, self.v = (np.array(rows(x, self.batch)) for x in (q, v))
        if problem.landing is not None:
            problem.landing.require_possible(problem)
            problem = self.problem = replace(problem, landing=problem.landing.over(system, self.batch))
        self.transitions: list[Transition] = []
        """Where other coordinates became independent; one structure goes on."""
        self.now = self.start
        """The time that states have come to which still go on."""
        self.ahead: list[float] = []
        """The stops before them, the next one last."""
        self.t = np.full(len(self.q), self.start)
        self.times = None if beginning.open_ended else self._sample_times(samples)
        if beginning.open_ended:
            self.end = np.inf
        self.looking = [event.looked for event in self.events if event.looked is not None]
        if self.looking and system.loops:
            problem = self.problem = replace(problem, looked_at=self._looked_at())
        self.excitation = ActingForces(problem, self.batch)
        if beginning.starts:
            self.excitation.start_control()
        if not problem.uses_solver:
            self.excitation.use_paths(self.start)
        if self.excitation.motion:
            self.q, self.v, _ = self.excitation.imposed(self.start, self.q, self.v)
            longest = beginning.longest
            self.excitation.longest = longest_step(self.duration, self.times) if longest is None else longest
            self.excitation.energy = energy_at_hand(system, self.q, self.v)
        self.drift = Drift(system, problem.drift, self.q[0])
        if self.drift.closed:
            self._require_closed()
        self.meeting: dict[str, np.ndarray] = {}
        """What steps are told of contacts."""
        if problem.landing is not None:
            problem.landing.require_outside(self.q, extent(system.plan))
            self.meeting = problem.landing.told(self.q)
        self.following, self.clock = following, time.perf_counter()
        self.compiled_then = compile_seconds()
        # What goes on from forces that are held has been asked from Python, where its memory is.
        inside = not problem.uses_solver and beginning.held is None
        self.law = inside and CompiledLaw.fits(self.excitation, span) and not self._forgets()
        if self.law and CompiledLaw(self.excitation, self.start).asked != "due":
            self.excitation.use_law_paths(self.start)
        excitation = self.excitation
        # Limits that shrink with the speed of a motor hold between the samples of its controller too.
        sampled = problem.rate is not None and not self.law and not excitation.has_python_elements
        excitation.holds_commands = excitation.slows and sampled
        self.dense = self._needs_all_nodes()
        self.tau = self.excitation.begun(self.start, self.q, self.v, beginning.held)
        self.near = self.excitation.near_at(self.q, near_rows(system, problem.near, self.batch))
        if self.excitation.needs_motors:
            self.excitation.use_motors()
        self.mover = self._mover()
        self.first = (self.q.copy(), self.v.copy()) if records else None
        self.found: list[EventHit] = []
        self.ended = ""
        self.going = np.ones(len(self.q), dtype=bool)
        # When terminal events ended the motion of states.
        self.ends = np.zeros(len(self.q))
        if borrowers(system.mechanics.effective_plan):
            # The loop trusts what bodies do that are lent inertia; whether it is determined is asked once.
            self.excitation.accelerations(self.start, self.q, self.v, self.tau, self.near)
        if self.law:
            # The loop asks the law itself, from the first step on.
            self.excitation.control.start(system, self.batch)  # type: ignore[union-attr]
        self.held = problem.control is None or problem.rate is not None
        self._begin()
        carried, held = (
            self.mover.works().shape[-1],
            held_size(problem.landing.units) if problem.landing else 0,
        )
        self.sources = carried - self.near.shape[-1] - held
        """How many works are counted."""
        still = np.zeros((len(self.q), self.sources)), np.zeros((len(self.q), held))
        self.mover.carry(np.concatenate([still[0], self.near, still[1]], axis=-1))
        before = None if self.times is None else self.times + self.same
        tally = None
        if keep is not None and keep.tallies:
            parts = 1 if problem.is_fixed else PARTS
            tally = Tally(keep.tallies, system, named, self.t, self.q, self.v, parts)
        self.tally = tally
        self.nodes = StepRecord(
            self.t, self.q, self.v, self.tau, self.mover.works(), before, tally, waits=bool(self.events)
        )
        self.locator: Steps | None = None
        self.looked, self.steps_looked = self.nodes.mark, 0
        """What was added to the nodes, and how many steps were taken, before events were looked for last."""
        self.watched = [EventValues(event, self.system) for event in self.events]
        self.terminal = any(event.terminal for event in self.events)
        self.new = NewPart(self) if following.observe is not None else None

    def _sample_times(self, samples: Any) -> np.ndarray | None:
        """Return the times that are recorded, for which there is room; None for all steps."""
        if self.keep is not None and (samples is None or self.keep == Keep()):
            samples = [self.span.start, self.span.end]
        found = sample_times(samples, self.span, bool(self.batch))
        if found is not None:
            require_room(len(self.q), len(found), 2 * (self.system.nq + self.system.nv))
        return found

    def _forgets(self) -> bool:
        """Return whether the memory of a law inside the loop would be lost where an event interrupts the motion."""
        changes = any(event.then is not None for event in self.events)
        return changes and bool(self.excitation.control.memory(self.system))  # type: ignore[union-attr]

    def _looked_at(self) -> tuple[str, ...]:
        """Return the loop joints that events ask for by name, as far as they do so at the start."""
        for event in self.events:
            with suppress(Exception):
                # What is wrong with it is said when it is looked at.
                event.asked(self.start, self.q[0], self.v[0])
        return tuple(dict.fromkeys(name for looked in self.looking for name in looked.names))

    @property
    def _near(self) -> slice:
        """Return which of the numbers that states carry along are positions that loop joints are near."""
        return slice(self.sources, self.sources + self.near.shape[-1])

    def _turns(self, passed: StepHistory) -> Callable[[np.ndarray], TurnsBehind] | None:
        """Return what tells events how loop joints have turned behind nodes (n,) that were passed."""
        if not self.looking or not self.near.shape[-1]:
            return None
        every = np.arange(len(passed))
        near = self.excitation.near_by_joint(passed.work(every)[:, self._near])
        states = passed.q(every), passed.v(every)
        rates = {
            joint: each_own(
                self.system, passed.who, lambda s, q, v, j=joint: s.joint_velocity(q, v, j), *states
            )
            for joint in near
        }

        def behind(node: np.ndarray) -> TurnsBehind:
            own = ({joint: x[node] for joint, x in known.items()} for known in (near, rates))
            return TurnsBehind(passed.t[node], passed.who[node], *own)

        return behind

    def _needs_all_nodes(self) -> bool:
        """Return whether every step is kept. Only fixed steps that end at all samples need no others, and a law
        inside the loop does not stop for samples."""
        step = self.problem.step
        if self.times is None or not self.problem.is_fixed or self.events or self.law:
            return True
        if self.keep is not None and self.keep.tallies:
            return True
        if self.excitation.holds_commands:
            return True
        assert step is not None
        if self.duration / step * self.v.size < LARGE:
            # Going on to the end at once costs less than stopping, and samples are among the nodes.
            return True
        steps = np.diff(self.times) / step
        return bool(np.any(np.abs(steps - np.round(steps)) > 1e-6) or np.any(steps < 0.5))

    def _mover(self, alone: bool = False) -> Steps:
        """Return what moves the states; with `alone` one that moves states between two of their steps. Forces of a
        sampled controller are held there."""
        excitation, tick = self.excitation, (_ignore if alone else self._tick)
        if self.problem.uses_solver:
            stiff = StiffSteps(excitation, self.drift, self.span.end, tick)
            stiff.failing = None if alone else self.failing
            return stiff
        inside = self.law and not (alone and self.problem.rate is not None)
        law: CompiledLaw | HeldCommand | None = CompiledLaw(excitation, self.start) if inside else None
        if excitation.holds_commands:
            law = HeldCommand(excitation)
        method = "rk4" if alone and self.problem.integrator == "abm4" else None
        mover = CompiledSteps(excitation, self.drift, law, self.span.end, tick, method)
        mover.is_narrow, mover.meeting = alone and len(self.q) == 1, self.meeting
        mover.failing = None if alone else self.failing
        return mover

    def go(self) -> Segment:
        """Move from one control sample, or one recorded time, to the next."""
        try:
            self.advance(self.end, self.looks)
            run = self._trajectory()
        except (KeyboardInterrupt, Cancelled) as reason:
            self.ended = stopped(reason, self._reached())
            run = self._trajectory()
        except Exception as error:
            # Whatever went wrong, in here or in a user's function, what there is must not be lost.
            so_far = self._so_far()
            error.trajectory = None if so_far is None else Trajectory([so_far])  # type: ignore[attr-defined]
            raise
        finally:
            self.following.done()
        if self.new is not None:
            self.new.whole = run
            self.following.receive(self)
        if self.failing and len(self.failing) < len(self.q):
            run = run.chosen(np.setdiff1d(np.arange(len(self.q)), list(self.failing)))
        if self.check and run.v.size <= LARGE and len(self.failing or ()) < len(self.q):
            warn_of(run)
        return run

    def advance(self, until: float, looks: int = 1) -> None:
        """Move on to a time, or to where events end the motion of all states; they are looked for so many times on the
        way, where one may."""
        self.ahead = stops(TimeSpan(self.now, until), self._guards(looks))[::-1]
        play(self, until)

    def goes_on(self, until: float) -> bool:
        """Return whether there are states that still go on, and stops before a time."""
        return bool(self.ahead) and bool(self.going.any())

    def _guards(self, looks: int) -> list[TimeGuard]:
        """Return what knows of times that no step passes: the clock of the controller, knots, with fixed steps the
        times that are recorded, and looks for an end that may come early."""
        guards = list[TimeGuard]()
        if self.excitation.clock is not None and not self.law:
            guards.append(self.excitation.clock)
        if self.times is not None and not self.dense:
            guards.append(Recorded(self.times))
        if self.excitation.paths is not None:
            guards.append(self.excitation.paths)
        if self.terminal or (self.events and self.keep is not None):
            guards.append(Looks(looks, self.problem.step if self.problem.is_fixed else None))
        return guards

    def move(self, until: float) -> Sequence[Happening]:
        """Move on to the next stop, and look for events on the way."""
        end, self.looked = self.ahead.pop(), self.nodes.mark
        nodes = self.nodes if self.dense else None
        broken: BrokenOff | None = None
        try:
            self.t, self.q, self.v = self.mover.advance(self.t, self.q, self.v, self.tau, end, nodes)
        except BrokenOff as error:
            broken = error
        if isinstance(self.mover, StiffSteps):
            self.transitions += self.mover.changes
            self.mover.changes.clear()
        self._leave_failing()
        try:
            self._look_for_all()
        except BrokenOff as error:
            # What breaks a motion off may do so where an event is located, and does so once.
            broken = error
            self._look_for_all()
        if broken is not None:
            if self.going.any():
                raise broken
        elif not self.dense:
            assert self.times is not None
            if np.any(np.abs(self.times - end) < 1e3 * self.same):
                everyone = np.arange(len(self.q))
                row = self.t.copy(), self.q.copy(), self.v.copy(), self.mover.works(), self.tau.copy()
                self.nodes.add(everyone, *row, np.zeros_like(self.v))
        self.nodes.settle()
        self.now = end if self.going.any() else float(np.max(self.ends))
        over = self.now >= self.end - self.same or not self.going.any()
        return () if self.law or self.excitation.control is None or over else (self._sample,)

    def _leave_failing(self) -> None:
        """Put states that were given up back to their start, where they stay, so that no number is lost in those of the
        others."""
        for state in [k for k in self.failing or () if self.going[k]]:
            assert self.first is not None
            self.going[state], self.t[state], self.ends[state] = False, np.inf, self.start
            self.q[state], self.v[state] = self.first[0][state], self.first[1][state]
            self.nodes.forget(state)

    def _sample(self) -> Sequence[Transition]:
        """Ask for the control forces from now on: of a sampled controller if a sample is due, of one that is always
        asked for the record."""
        clock = self.excitation.clock
        if clock is not None:
            if not clock.is_due(self.now):
                return ()
            # What a method remembers of the forces before does not hold any more.
            self.mover.forget()
        if clock is not None or not self.dense:
            self._ask(self.now)
        return ()

    def _ask(self, t: float) -> None:
        """Ask for the control forces of all states that still go on."""
        if np.all(self.going):
            self.tau = self.excitation.command(t, self.q, self.v)
        else:
            self.tau[self.going] = self.excitation.command(t, self.q, self.v)[self.going]
        if self.excitation.needs_motors:
            self._use_motors()

    def _use_motors(self) -> None:
        """Go on with steps that know the forces at loop joints which the controller names now."""
        before = self.mover
        self.excitation.use_motors()
        self.mover, self.locator = self._mover(), None
        self._begin()
        self.mover.carry(before.works())
        self.mover.steps = before.steps

    # Step by step.

    @property
    def over(self) -> str:
        """Return why nothing goes on any more, if nothing does."""
        return "" if self.going.any() else self.ended

    def ask(self) -> None:
        """Ask for the control forces now, because whoever gives them has others."""
        self.mover.forget()
        self._ask(self.now)

    def taken(self) -> Happened:
        """Return what happened since it was asked last, and forget what was passed."""
        found, self.found = Happened(tuple(self.found)), []
        self.nodes = StepRecord(self.t, self.q, self.v, self.tau, self.mover.works())
        return found

    def save(self) -> Snapshot:
        """Return all that is needed to go on from here."""
        law = getattr(self.mover, "law", None)
        parts = (self, self.nodes, self.mover, self.excitation, *([] if law is None else [law]))
        return Snapshot([*parts, *memory_of(self.excitation.control)])

    def holds(self, t: float) -> Any:
        """Return the control forces of a single state that a controller with a rate holds at a time, as it gives them;
        None if it is due then, or always."""
        clock = self.excitation.clock
        if clock is None or clock.is_due(t):
            return None
        return self.excitation.as_given(self.tau[0])

    def _begin(self) -> None:
        """Begin with steps of the size that was asked for, or of a part of the duration."""
        self.mover.begin(len(self.q), self.problem.step or min(1e-2, 1e-2 * self.duration), self.start)

    # Events.

    def _look_for_all(self) -> None:
        """Locate what happened to all states since it was looked for last; the first terminal event ends the motion of
        its state."""
        mark, self.steps_looked = self.looked, self.mover.steps
        if self.events and self.going.any():
            self._note(*self._happened(mark))
        self.looked = self.nodes.mark

    def _happened(self, mark: int) -> tuple[StepHistory, list[Hit]]:
        """Return what states have passed since the mark, and what happened to them."""
        passed = self.nodes.since(mark, self.going)
        nodes = Nodes(
            passed.who, passed.t, passed.everywhere, partial(self._between, passed), self._turns(passed)
        )
        begin = self.start if self.begins else None
        passage = Passage(nodes, partial(self._exactly, passed))
        return passed, hits(self.watched, self.system.plan, passage, begin)

    def _note(self, passed: StepHistory, found: Sequence[Hit]) -> None:
        """Note what happened, and end the motions that events end."""
        last = list[tuple[int, Hit]]()
        for hit in found:
            state = int(passed.who[hit.node])
            index = tuple(int(k) for k in np.unravel_index(state, self.batch)) if self.batch else ()
            self.found.append(EventHit(hit.event.label, hit.t, hit.q, hit.v, index))
            if hit.event.terminal:
                last.append((state, hit))
                self.ended = self.found[-1].ended
        if not last:
            return
        who = np.array([state for state, _ in last])
        t, q, v, work = (
            np.array([getattr(hit, name) for _, hit in last]) for name in ("t", "q", "v", "beside")
        )
        self.nodes.end(who, t, q, v, work)
        self.going[who] = False
        self.q[who], self.v[who], self.t[who], self.ends[who] = q, v, np.inf, t
        # A law inside the loop may have gone on beyond the event.
        self.tau[who] = passed.tau(np.array([hit.node + 1 for _, hit in last]))

    def _between(
        self, passed: StepHistory, node: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q (n, nq) and v (n, nv) at times (n,) behind nodes (n,), roughly. Accelerations at the end of the last
        interval of a state are not known."""
        behind = np.minimum(node + 2, len(passed.who) - 1)
        known = (passed.who[behind] == passed.who[node]) & (behind > node + 1)
        t = np.stack([passed.t[node], passed.t[node + 1]], axis=1)
        q, v = (np.stack([x(node), x(node + 1)], axis=1) for x in (passed.q, passed.v))
        ahead = passed.vdot(node + 1), passed.vdot(behind)
        return behind_nodes(self.system, (t, q, v), ahead, times, known)

    def _exactly(self, passed: StepHistory, node: np.ndarray, times: np.ndarray) -> Exact:
        """Return states and their works at times (n,) that lie less than a step behind nodes (n,), by steps of the
        method from there."""
        q, v, work = passed.q(node), passed.v(node), passed.work(node)
        later = np.flatnonzero(times > passed.t[node])
        if len(later):
            at = node[later]
            rows = q[later], v[later], work[later], passed.tau(at + 1)
            q[later], v[later], work[later] = self._moved(passed.who[at], passed.t[at], rows, times[later])
        return Exact(q, v, work)

    def _moved(
        self, states: np.ndarray, t: np.ndarray, rows: tuple[np.ndarray, ...], times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the states (rows, nq), (rows, nv) and works (rows, sources) at `times` (rows,) less than a step
        behind nodes of the `states` (rows,) of the batch, at the times t, with the `rows` q, v, work and tau, the
        control forces from there on."""
        q, v, work, tau = rows
        if self.locator is None:
            self.locator = self._mover(alone=True)
        self.locator.begin(len(t), 1.0)
        self.locator.owner[:] = states
        self.locator.resume(times - t, work)
        _, q, v = self.locator.advance(t, q, v, tau.copy(), times, None)
        return q, v, self.locator.works()

    # What is left of it.

    def _tick(self, t: float) -> None:
        """Tell whoever follows that all states have come to a time, and do not go far beyond an event that ends the
        motion."""
        if self.terminal and len(self.q) == 1 and self.mover.steps - self.steps_looked >= OFTEN:
            self._look_for_all()
            if not self.going.any():
                raise BrokenOff
        self.following.tick(t, self)

    def fresh(self) -> Segment | None:
        """Return what is new since it was asked last and stays as it is; None for nothing."""
        return None if self.new is None else self.new.piece()

    def _trajectory(self) -> Segment:
        last = (
            self.tau
            if self.held
            else self._command(np.where(np.isfinite(self.t), self.t, self.ends), self.q, self.v)
        )
        t, *rows = self.nodes.all(last)
        if self.times is None:
            times, q, v, carried, tau = t[0], *(x[0] for x in rows)
        else:
            times = t[0]
            if self.dense:
                times = self.times[self.times <= np.max(t) + self.same]
                if not self.going.any() and np.max(t) > times[-1] + self.same:
                    # Events ended the motion of all states between two samples, and the end belongs to it.
                    times = np.append(times, np.max(t))
                rows = list(self.sampled(t, rows, np.minimum(times, t[:, -1:])))
            q, v, carried, tau = (x.reshape(*self.batch, *x.shape[1:]) for x in rows)
        return self.segment(times, q, v, carried, tau)

    def segment(
        self, times: np.ndarray, q: np.ndarray, v: np.ndarray, carried: np.ndarray, tau: np.ndarray
    ) -> Segment:
        """Return the states q (..., samples, nq), v (..., samples, nv) at some times as a segment, with what they carry
        along and the control forces tau that act from each time on."""
        if self.excitation.holds_commands:
            tau = self.excitation.at_speed(tau, v)
        wrenches = self._wrenches(times, q, v)
        driven = {
            name: np.broadcast_to(vdot, (*q.shape[:-1], vdot.shape[-1]))
            for name, vdot in self.excitation.accelerations_driven(times).items()
        }
        kept = self._kept(times, q, v)
        if self.keep is not None and self.keep.sampled and len(times) > 2:
            # What is asked for by name is all that stays of the samples between.
            ends = [0, -1]
            times, q, v, tau, carried = times[ends], *(x[..., ends, :] for x in (q, v, tau, carried))
            driven = {name: x[..., ends, :] for name, x in driven.items()}
            wrenches = self._wrenches(times, q, v)
        # Parameters that differ from state to state are the same at all samples.
        system = self.system.variants.reshaped((*self.batch, 1))
        work, near = carried[..., : self.sources], carried[..., self._near]
        positions = {
            joint: system.joint_position(q, joint, next_to)
            for joint, next_to in self.excitation.near_by_joint(near).items()
        }
        tau, motors = tau[..., : self.system.nv], self.excitation.loop_forces(tau)
        if driven:
            besides = loads.Besides(motors, near=positions)
            tau = loads.with_drives_or_nan(system, q, v, tau, wrenches, driven, besides)
        made = Segment(
            system, times, q, v, tau, self.mover.steps, work=self._works(work), wrenches=wrenches, driven=driven,
            events=tuple(self.found), ended=self.ended, settings=self._settings(), held=self.held, loop_forces=motors,
            loop_positions=positions, kept=kept,
            stop_forces=self._sticking(system, q, v, tau, wrenches, driven, loads.Besides(motors, near=positions)),
        )  # fmt: skip
        landing = self.problem.landing
        return made if landing is None else landing.with_forces(made, carried[..., self._near.stop :])

    def _kept(self, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return the signals that are asked for: one number for each state (...), or at samples (..., samples)."""
        if self.keep is None:
            return {}
        found = {} if self.tally is None else self.tally.told()
        found = {name: x.reshape(self.batch) for name, x in found.items()}
        over = q.shape[:-1]
        at = np.broadcast_to(times, over).reshape(-1)
        rows = [np.ascontiguousarray(x.reshape(-1, x.shape[-1])) for x in (q, v)]
        for one in self.keep.sampled:
            found[one.name] = one.on(self.system, self.named)(at, *rows).reshape(over)
        return {one.name: found[one.name] for one in self.keep.signals}

    def _sticking(
        self, system: System, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: Mapping[str, np.ndarray],
        driven: Mapping[str, np.ndarray], besides: loads.Besides,
    ) -> Mapping[str, np.ndarray]:  # fmt: skip
        """Return by how much dry friction that sticks differs from the smooth one, {joint: (..., samples, nv of the
        joint)}; nothing where it does not stick."""
        if not getattr(self.mover, "sticks", False):
            return {}
        return OnDemand(
            loads.dry_joints(system), partial(loads.sticking, system, q, v, tau, wrenches, driven, besides)
        )

    def _wrenches(self, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the wrenches (..., samples, 6) that were given, each in the axes of its frame. What Python gave is
        asked for again now, what compiled is computed when somebody looks at it."""
        excitation = self.excitation
        if not excitation.forces:
            return {}

        def compute() -> dict[str, np.ndarray]:
            states = (x.reshape(-1, *x.shape[-2:]) for x in (q, v))
            given = excitation.wrenches_over(times, *states)
            return {frame: wrench.reshape(*q.shape[:-1], 6) for frame, wrench in given.items()}

        return compute() if excitation.asks_wrenches else OnDemand(tuple(excitation.forces), compute)

    @staticmethod
    def _works(work: np.ndarray) -> dict[str, np.ndarray]:
        """Return the works (..., samples) by source, where there are any."""
        return {name: work[..., k].copy() for k, name in enumerate(SOURCES[: work.shape[-1]])}

    def _command(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return what the controller gives to states (states, ...) at their times t (states,)."""
        times = np.where(np.isfinite(t), t, 0.0)
        if np.all(times == times[0]):
            return self.excitation.command(float(times[0]), q, v)
        found = np.zeros((len(q), self.excitation.width))
        for x in np.unique(times):
            who = np.flatnonzero(times == x)
            found[who] = self.excitation.command(float(x), q[who], v[who], who)
        return found

    def sampled(
        self, t: np.ndarray, rows: list[np.ndarray], times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return states, works and control forces at times (states, samples), from nodes of each state's own at t
        (states, nodes) with the `rows` q, v, work and tau: by steps of the method from the node before, so that they
        are as exact as the motion."""
        slack = self.same
        before = np.stack(
            [np.clip(np.searchsorted(own, asked + slack, side="right") - 1, 0, len(own) - 1)
             for own, asked in zip(t, times, strict=True)]
        )  # fmt: skip
        t_then = np.take_along_axis(t, before, axis=1)
        then = [np.take_along_axis(x, before[..., None], axis=1) for x in rows]
        q_then, v_then, work_then, tau_then = then
        apart = np.abs(t_then - times) > slack
        if apart.any():
            moved = self._moved(
                np.nonzero(apart)[0], t_then[apart], tuple(x[apart] for x in then), times[apart]
            )
            q_then[apart], v_then[apart], work_then[apart] = moved
        if self.held:
            return q_then, v_then, work_then, tau_then
        asked = [self._command(times[:, k], q_then[:, k], v_then[:, k]) for k in range(times.shape[1])]
        return q_then, v_then, work_then, np.stack(asked, axis=1)

    def _so_far(self) -> Segment | None:
        """Return the trajectory that there is when a run fails: at the samples, or else at the steps that were taken;
        None if nothing can be made of it."""
        sampled = self.times is not None and self.dense
        if sampled:
            assert self.times is not None
            self.times = self.times[self.times <= self._reached()]
        for times in (
            (self.times, None) if sampled and len(self.nodes.all(self.tau)[0]) == 1 else (self.times,)
        ):
            self.times = times
            with suppress(Exception):
                return self._trajectory()
        return None

    def _reached(self) -> float:
        """Return the time that all states have reached."""
        return float(self.nodes.all(self.tau)[0][:, -1].min())

    def _settings(self) -> dict[str, str]:
        problem = self.problem
        chosen = (
            f"step {problem.step:g} s"
            if problem.step is not None
            else f"rtol {problem.rtol:g}, atol {problem.atol:g}"
        )
        asked = "always" if problem.rate is None else f"{problem.rate:g} Hz"
        inside = ", compiled" if self.law else ""
        solver = problem.uses_solver
        by = (
            "SciPy"
            if solver
            else "pieces, with Python in between"
            if self.mover.asks
            else "the compiled loop"
        )
        compiling = compile_seconds() - self.compiled_before
        return {
            "integrator": f"{problem.integrator}, {chosen}",
            "drift": self.drift.name if self.drift.closed else "no loops",
            **({"coordinates": problem.coordinates} if problem.coordinates != "joint" else {}),
            "control": "none" if problem.control is None else f"{_name(problem.control)}, {asked}{inside}",
            "steps taken by": by,
            "wall time": f"{time.perf_counter() - self.clock - (compile_seconds() - self.compiled_then):.3g} s",
            **({"compiling besides": f"{compiling:.3g} s"} if compiling else {}),
        }

    def _can_be_closed(self) -> bool:
        if self.drift.in_python:
            return True
        try:
            self.system.project(self.q, self.v)
        except LoopError:
            return False
        return True

    def _require_closed(self) -> None:
        scales = scales_of(self.system.plan)
        position, velocity = (scales.errors(x) for x in self.system.closure(self.q, self.v))
        # A velocity is rounded like itself, so that what moves fast may open its loops by a part of its speed.
        speed = np.max(np.abs(self.v / scales.units), axis=-1, initial=1.0, keepdims=True)
        errors = np.abs(np.concatenate([position, velocity / speed], axis=-1))
        worst = float(np.max(errors, initial=0.0))
        if worst <= CLOSED or (worst <= OPEN and self._can_be_closed()):
            return
        if self.failing is not None and self.batch:
            worse = np.max(errors, axis=-1, initial=0.0) > (OPEN if worst > OPEN else CLOSED)
            raise_for_states({(int(k),): self._open_error(errors, int(k)) for k in np.flatnonzero(worse)})
        raise self._open_error(errors, int(np.argmax(np.max(errors, axis=-1))))

    def _open_error(self, errors: np.ndarray, state: int) -> StateError:
        """Return the error of a state that begins with open loops, of `errors` (states, n)."""
        name, worst = self.system.mechanism.name, float(np.max(errors[state]))
        where = f" in state {state}" if self.batch else ""
        try:
            near, rates = self.system.variants.state(state).project(self.q[state], self.v[state])
            shown = f"The nearest closed state is q = {_shown(near)}, v = {_shown(rates)}"
        except LoopError:
            try:
                near = self.system.variants.state(state).assemble(guess=self.q[state], slack=0.0)
                shown = f"A closed configuration near it is q = {_shown(near)}"
            except LoopError:
                shown = "No closed state was found near it"
        trusted = (
            " If its dimensions are no more accurate than that, plan it with m.system(accuracy=...)."
            if worst <= COARSE
            else ""
        )
        return StateError(
            f"The loops of {name!r} are not closed at the start{where} (the largest "
            f"error is {worst:.3g} rad or sizes of the mechanism). {shown}; begin with `q, v = s.project(q, v)`, or "
            f"with s.assemble and s.velocity.{trusted}"
        )


def longest_step(duration: float, times: np.ndarray | None) -> float:
    """Return the longest step [s] of a run in which joints are driven, and which is recorded at these times, so that no
    step passes over forces that act for a while: a part of the duration, and what is recorded if that is more."""
    return duration / max(LOOKS_DRIVEN, 0 if times is None else len(times) - 1)


def energy_at_hand(system: System, q: np.ndarray, v: np.ndarray) -> float:
    """Return the energy [J] that is nothing new at the states q (states, nq), v (states, nv): what moves, what springs
    store, and what lifts the mechanism by a thousandth of its size, in which the rounding of forces is lost."""
    plan = system.plan
    lifted = 1e-3 * float(plan.inertia[1:, 0].sum() * np.linalg.norm(plan.gravity)) * extent(plan)
    moving = system.kinetic_energy(q, v) + np.abs(system.forces.energy(q))
    return float(np.max(moving)) + lifted


def _shown(x: np.ndarray) -> str:
    return np.array2string(x, precision=8, separator=", ", threshold=60, max_line_width=10_000)


def _name(control: Any) -> str:
    return getattr(control, "__name__", type(control).__name__)
