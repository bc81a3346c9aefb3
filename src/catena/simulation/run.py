"""One simulation of one structure: the way from stop to stop, with events on it.

What its parts do is elsewhere: how it begins (`run_start`), who takes steps (`stepping/`), states between two of these
(`stepping/between_steps`), events (`guards/event_watch`), what is new for whoever follows it (`new_part`), and what it
leaves behind (`results/of_run`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np

from catena.dynamics.contacts.impulse_law import held_size
from catena.dynamics.loops.elimination import borrowers
from catena.errors import StateError
from catena.kernels import compile_seconds
from catena.kernels.arrays import rows
from catena.kinematics.extent import extent
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.acting.compiled_law import CompiledLaw, HeldCommand
from catena.simulation.arguments import TimeSpan, initial_state, sample_times
from catena.simulation.following import Cancelled, Following, nobody_follows, stopped
from catena.simulation.following.new_part import NewPart
from catena.simulation.guards.event_watch import EventWatch, joints_looked_at
from catena.simulation.guards.events import Event
from catena.simulation.guards.in_step import StepWatch
from catena.simulation.guards.stops import Looks, Recorded, TimeGuard, stops, windows
from catena.simulation.keeping import Keep, Signal, Tally, require_room
from catena.simulation.keeping.in_step import StepTally
from catena.simulation.problem import Problem
from catena.simulation.results.audit import warn_of
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.of_run import RunResult
from catena.simulation.results.segment import Segment
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.simulation.run_start import ANEW, RunStart, energy_at_hand, longest_step, require_closed
from catena.simulation.snapshot import Snapshot, memory_of
from catena.simulation.stepping.between_steps import BetweenSteps
from catena.simulation.stepping.breaking_off import BrokenOff
from catena.simulation.stepping.compiled import CompiledSteps
from catena.simulation.stepping.drift import Drift
from catena.simulation.stepping.observing import Observers
from catena.simulation.stepping.protocol import Steps
from catena.simulation.stepping.record import StepRecord
from catena.simulation.stepping.stiff import StiffSteps
from catena.simulation.timeline import Happened, Happening, play
from catena.simulation.turns import near_rows
from catena.validation import shown

# Steps of a single state after which it is looked for an event that ends it in any case.
OFTEN = 512
# Where all steps of a state are kept, and are so many at least and at most, there is room from the beginning for so
# many times the steps that are expected.
FEWEST, MOST, SPARE = 4096, 4_000_000, 1.1
# Methods that do not take all of their steps by themselves.
UNOBSERVED = ("abm4", "time_stepping")
# Parts of a long step, in which signals are taken for parabolas.
PARTS = 3
# Runs of more numbers than this are audited only when asked to, and record no more than they must.
LARGE = 200_000


class Run:
    """A simulation from the start to the end of a `span`: what it is asked for, how far it is, and what it leaves."""

    def __init__(
        self, problem: Problem, q: Any, v: Any, span: TimeSpan, events: Sequence[Event], samples: Any,
        following: Following, check: bool, beginning: RunStart = ANEW, records: bool = False,
        keep: Keep | None = None, named: Mapping[str, float] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        if not isinstance(check, bool | np.bool_):
            raise StateError(f"check is {shown(check)}; give True or False.")
        self.keep, self.named, self.check, self.following = keep, named, check, following
        self.failing: dict[int, str] | None = {} if records else None
        """States that were given up on the way, with words, where the others go on without them."""
        self.begins, self.looks = beginning.begins, beginning.looks(span.duration)
        self.compiled_before = compile_seconds()
        self.span, (self.start, self.end) = span, span
        self.duration, self.same = span.duration, span.same
        self.transitions: list[Transition] = []
        """Where other coordinates became independent; one structure goes on."""
        self.now = self.start
        """The time that states have come to which still go on."""
        self.ahead: list[float] = []
        """The stops before them, the next one last."""
        self.found: list[EventHit] = []
        self.ended = ""
        self._take_states(problem, q, v, events)
        self.times = None if beginning.open_ended else self._sample_times(samples)
        self.end = np.inf if beginning.open_ended else self.end
        self._let_act(beginning)
        self.result = RunResult(self)
        self._take_law(beginning)
        self.tau = self.acting.begun(self.start, self.q, self.v, beginning.held)
        known = near_rows(self.system, self.problem.near, self.batch) if self.problem.near != {} else {}
        self.near = self.acting.near_at(self.q, known)
        if self.acting.needs_motors:
            self.acting.use_motors()
        self.step_tally: StepTally | None = None
        self.tally: Tally | None = None
        if keep is not None:
            self._gather(keep.gathered)
        self.dense = self._needs_all_nodes()
        self._watch_inside()
        self.first = (self.q.copy(), self.v.copy()) if records else None
        if borrowers(self.system.mechanics.effective_plan):
            # The loop trusts what bodies do that are lent inertia; whether it is determined is asked once.
            self.acting.accelerations(self.start, self.q, self.v, self.tau, self.near)
        if self.law:
            # The loop asks the law itself, from the first step on.
            self.acting.control.start(self.system, self.batch)  # type: ignore[union-attr]
        self._begin()
        self._carry_nothing()
        self._record()

    # How it begins.

    def _take_states(self, problem: Problem, q: Any, v: Any, events: Sequence[Event]) -> None:
        """Take the states to begin with, and the problem as it is for all of them."""
        system = problem.system
        self.events = [event.bound(system) for event in events]
        q, v = initial_state(system, q, v)
        landing = problem.landing
        varied = () if landing is None else (x.shape for x in landing.varied.values())
        variants = system.variants
        shapes = {q.shape[:-1], v.shape[:-1], variants.shape, *varied}
        self.batch: tuple[int, ...] = np.broadcast_shapes(*shapes) if len(shapes) > 1 else q.shape[:-1]
        if not system.nv or 0 in self.batch:
            what = f"no states: the batch has shape {self.batch}" if system.nv else "nothing that moves in it"
            raise StateError(f"There is nothing to simulate in {system.mechanism.name!r}: {what}.")
        if variants.shape != () or variants.origin is not system:
            system = variants.over(self.batch)
            problem = replace(problem, system=system)
        if landing is not None:
            landing.require_possible(problem)
            begins = q.reshape(-1, q.shape[-1])[0]
            problem = replace(problem, landing=landing.over(system, self.batch, begins))
        self.system, self.problem = system, problem
        # A state is an array of its own already; of a batch, many may share theirs.
        self.q, self.v = q[None], v[None]
        if self.batch:
            self.q, self.v = np.array(rows(q, self.batch)), np.array(rows(v, self.batch))
        self.t = np.zeros(len(self.q)) + self.start
        self.going = np.ones(len(self.q), dtype=bool)
        self.ends = np.zeros(len(self.q))
        """When terminal events ended the motion of states."""
        self.looking = [event.looked for event in self.events if event.looked is not None]
        self.terminal = any(event.terminal for event in self.events)
        if self.looking and system.loops:
            self.problem = replace(self.problem, looked_at=joints_looked_at(self))

    def _let_act(self, beginning: RunStart) -> None:
        """Let everything act from the start on, with driven joints where they must be and loops closed."""
        problem, system = self.problem, self.system
        self.acting = ActingForces(problem, self.batch)
        if beginning.starts and problem.control is not None:
            self.acting.start_control()
        if not problem.uses_solver and not self.acting.is_left_alone:
            self.acting.use_paths(self.start)
        if self.acting.motion:
            self.q, self.v, _ = self.acting.prescribed.imposed(self.start, self.q, self.v)
            longest = beginning.longest
            self.acting.longest = longest_step(self.duration, self.times) if longest is None else longest
            self.acting.energy = energy_at_hand(system, self.q, self.v)
        self.drift = Drift(system, problem.drift, self.q[0])
        if self.drift.closed:
            require_closed(self.drift, self.q, self.v, self.batch, self.failing is not None)
        if self.acting.tips is not None:
            self.acting.tips.require_start(self.start, self.q, self.v, self.batch)
        self.meeting: dict[str, np.ndarray] = {}
        """What steps are told of contacts."""
        if problem.landing is not None:
            problem.landing.require_outside(self.q, extent(system.plan))
            self.meeting = problem.landing.told(self.q)

    def _take_law(self, beginning: RunStart) -> None:
        """Settle who asks the controller: the compiled loop, or Python."""
        problem, acting = self.problem, self.acting
        # What goes on from forces that are held has been asked from Python, where its memory is.
        # Contacts of tips must know its forces.
        inside = not (
            problem.control is None or problem.tips or beginning.held is not None or problem.uses_solver
        )
        self.law = inside and CompiledLaw.fits(acting, self.span) and not self._forgets()
        if self.law and CompiledLaw(acting, self.start).asked != "due":
            acting.use_law_paths(self.start)
        # Limits that shrink with the speed of a motor hold between the samples of its controller too.
        sampled = acting.rate is not None and not self.law and not acting.has_python_elements
        acting.holds_commands = acting.slows and sampled and not problem.tips
        self.held = not acting.is_asked_always

    def _forgets(self) -> bool:
        """Return whether the memory of a law inside the loop would be lost where an event interrupts the motion."""
        changes = any(event.then is not None for event in self.events)
        return changes and bool(self.acting.control.memory(self.system))  # type: ignore[union-attr]

    def _sample_times(self, samples: Any) -> np.ndarray | None:
        """Return the times that are recorded, for which there is room; None for all steps."""
        if self.keep is not None and (samples is None or self.keep == Keep()):
            samples = [self.span.start, self.span.end]
        found = sample_times(samples, self.span, bool(self.batch))
        step = self.problem.step if self.problem.is_fixed else None
        kept = 0 if step is None or self.terminal else int(self.duration / step)
        if count := kept if found is None else len(found):
            require_room(len(self.q), count, 2 * (self.system.nq + self.system.nv))
        return found

    def _needs_all_nodes(self) -> bool:
        """Return whether every step is kept. Only fixed steps that end at all samples need no others, and a law
        inside the loop does not stop for samples."""
        step, keeps = self.problem.step, self.tally is not None
        if self.times is None or not self.problem.is_fixed or self.events or self.law or keeps:
            return True
        if self.acting.holds_commands:
            return True
        assert step is not None
        if self.duration / step * self.v.size < LARGE:
            # Going on to the end at once costs less than stopping, and samples are among the nodes.
            return True
        steps = np.diff(self.times) / step
        return bool(np.any(np.abs(steps - np.round(steps)) > 1e-6) or np.any(steps < 0.5))

    def _gather(self, asked: tuple[Signal, ...]) -> None:
        """Settle who gathers what follows from all of a signal: the compiled step (`step_tally`) as far as formulas say
        it and nothing ends a motion within a step, or somebody behind it (`tally`)."""
        parts = 1 if self.problem.is_fixed else PARTS
        outside = self.problem.uses_solver or self.problem.integrator in UNOBSERVED or self.terminal
        if not outside and self.problem.touching is None:
            formulas = tuple(one for one in asked if isinstance(one.signal, str))
            self.step_tally = StepTally.of(formulas, self.system, self.named, parts)
        inside = () if self.step_tally is None else self.step_tally.signals
        left = tuple(one for one in asked if one not in inside)
        if left:
            self.tally = Tally(left, self.system, self.named, self.t, self.q, self.v, parts)

    def _watch_inside(self) -> None:
        """Make the steps, and let them watch events where they can: those of many states, of which nothing is kept but
        their ends, and which can be taken again. With loops a step costs more than looking at where it led, and one
        that needs care would need it twice."""
        self.step_watch: StepWatch | None = None
        only_ends = self.keep is not None and self.times is not None and len(self.times) == 2
        alone = len(self.q) == 1 or self.problem.uses_solver or not self.problem.is_fixed
        steered = self.acting.control is not None or self.tally is not None or self.drift.couples
        stays = not any(event.then is not None for event in self.events)
        if self.events and only_ends and stays and not (alone or steered):
            self.step_watch = StepWatch.of(self.events, self.system)
        self.mover: Steps = self.made_steps()
        if isinstance(self.mover, CompiledSteps) and self.step_watch and not self.mover.can_go_back:
            self.step_watch = None
            self.mover = self.made_steps()

    def made_steps(self, alone: bool = False) -> Steps:
        """Return what moves the states; with `alone` one that moves states between two of their steps. Forces of a
        sampled controller are held there."""
        acting, tick = self.acting, (nobody_follows if alone else self._tick)
        if self.problem.uses_solver:
            stiff = StiffSteps(acting, self.drift, self.span.end, tick)
            stiff.failing = None if alone else self.failing
            return stiff
        inside = self.law and not (alone and acting.rate is not None)
        law: CompiledLaw | HeldCommand | None = CompiledLaw(acting, self.start) if inside else None
        if acting.holds_commands:
            law = HeldCommand(acting)
        method = "rk4" if alone and self.problem.integrator == "abm4" else None
        # Between two steps, joints and their projection lead to the same states.
        coordinates = "joint" if alone else self.problem.coordinates
        members = () if alone else tuple(x for x in (self.step_tally, self.step_watch) if x is not None)
        observers = Observers(members) if members else None
        mover = CompiledSteps(acting, self.drift, law, self.span.end, tick, method, coordinates, observers)
        mover.is_narrow, mover.meeting = alone and len(self.q) == 1, self.meeting
        mover.failing = None if alone else self.failing
        return mover

    def _begin(self) -> None:
        """Begin with steps of the size that was asked for, or of a part of the duration."""
        self.mover.begin(len(self.q), self.problem.step or min(1e-2, 1e-2 * self.duration), self.start)
        if self.step_tally is not None:
            assert isinstance(self.mover, CompiledSteps)
            began = self.step_tally.started(self.system, self.named, self.t, self.q, self.v)
            self.mover.carried_for(self.step_tally)[:] = began

    def _carry_nothing(self) -> None:
        """Let states carry along that no work is done yet, and which positions loop joints are near."""
        landing, states = self.problem.landing, len(self.q)
        held = held_size(landing.units) if landing else 0
        carried = self.mover.works().shape[-1]
        self.sources = carried - self.near.shape[-1] - held
        """How many works are counted."""
        self.near_columns = slice(self.sources, self.sources + self.near.shape[-1])
        """Which of the numbers that states carry along are positions that loop joints are near."""
        if carried:
            still = np.zeros((states, self.sources)), np.zeros((states, held))
            self.mover.carry(np.concatenate([still[0], self.near, still[1]], axis=-1))

    def _record(self) -> None:
        """Record what states pass from now on, for whoever looks at it."""
        before = None if self.times is None else self.times + self.same
        step, nodes = self.problem.step, 0
        if before is None and step is not None and len(self.q) == 1 and not self.terminal:
            nodes = ceil(SPARE * self.duration / step)
            nodes = min(nodes, MOST) if nodes > FEWEST else 0
        self.nodes = StepRecord(
            self.t, self.q, self.v, self.tau, self.mover.works(), before, self.tally, bool(self.events), nodes
        )
        self.watch = EventWatch(self) if self.events else None
        self.new = NewPart(self) if self.following.observe is not None else None

    @cached_property
    def between(self) -> BetweenSteps:
        """Return what moves states between two steps."""
        return BetweenSteps(self)

    # How it goes on.

    def go(self) -> Segment:
        """Move to the end, and return the motion."""
        try:
            self.advance(self.end, self.looks)
            run = self.result.whole()
        except (KeyboardInterrupt, Cancelled) as reason:
            self.ended = stopped(reason, self.result.reached())
            run = self.result.whole()
        except Exception as error:
            # Whatever went wrong, in here or in a user's function, what there is must not be lost.
            so_far = self.result.so_far()
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
        span, guards = TimeSpan(self.now, until), self._guards(looks, until)
        clock = None if self.law else self.acting.clock
        for end in [until] if clock is None else windows(span, clock):
            self.ahead = stops(TimeSpan(self.now, end), guards, span.same)[::-1] if guards else [end]
            play(self, end)
            if not self.goes:
                return

    def goes_on(self, until: float) -> bool:
        """Return whether there are states that still go on, and stops before a time."""
        return bool(self.ahead) and self.goes

    @property
    def goes(self) -> bool:
        """Return whether some state still goes on."""
        # For few states this is several times as quick as `any`.
        return bool(np.count_nonzero(self.going))

    def _guards(self, looks: int, until: float) -> list[TimeGuard]:
        """Return what knows of times that no step passes on the way to a time: the clock of the controller, knots, with
        fixed steps the times that are recorded, and looks for an end that may come early."""
        guards = list[TimeGuard]()
        if self.acting.clock is not None and not self.law:
            guards.append(self.acting.clock)
        if self.times is not None and not self.dense:
            guards.append(Recorded(self.times))
        if self.acting.paths is not None:
            guards.append(self.acting.paths)
        if self.terminal or (self.events and self.keep is not None):
            often = Looks(looks, self.problem.step if self.problem.is_fixed else None)
            guards.append(Recorded(often.within(self.now, until)))
        return guards

    def move(self, until: float) -> Sequence[Happening]:
        """Move on to the next stop, and look for events on the way."""
        if self.new is None:
            self.nodes.gather()
        end, watch, among = self.ahead.pop(), self.watch, None
        broken: BrokenOff | None = None
        try:
            inside = None if watch is None else watch.begins()
            if watch is not None and inside is not None:
                among = watch.advance(inside, end)
            else:
                nodes = self.nodes if self.dense else None
                self.t, self.q, self.v = self.mover.advance(self.t, self.q, self.v, self.tau, end, nodes)
        except BrokenOff as error:
            broken = error
        self.transitions += self.mover.changes
        if self.failing:
            self._leave_failing(self.failing)
        if watch is not None:
            broken = watch.looked(among) or broken
        if broken is not None:
            if self.goes:
                raise broken
        elif not self.dense:
            assert self.times is not None
            if np.any(np.abs(self.times - end) < 1e3 * self.same):
                everyone = np.arange(len(self.q))
                row = self.t.copy(), self.q.copy(), self.v.copy(), self.mover.works(), self.tau.copy()
                self.nodes.add(everyone, *row, np.zeros_like(self.v))
        self.nodes.settle()
        goes = self.goes
        self.now = end if goes else float(np.max(self.ends))
        over = self.now >= self.end - self.same or not goes
        return () if self.law or self.acting.control is None or over else (self._sample,)

    def _leave_failing(self, failing: Iterable[int]) -> None:
        """Put states that were given up back to their start, so that no number is lost in those of the others."""
        for state in [k for k in failing if self.going[k]]:
            assert self.first is not None
            self.going[state], self.t[state], self.ends[state] = False, np.inf, self.start
            self.q[state], self.v[state] = self.first[0][state], self.first[1][state]
            self.nodes.forget(state)

    def _sample(self) -> Sequence[Transition]:
        """Ask for the control forces from now on: of a sampled controller if a sample is due, of one that is always
        asked for the record."""
        clock = self.acting.clock
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
        if self.problem.landing is not None:
            self.problem.landing.let_feel(self.acting, t, self.q, self.v, getattr(self.mover, "kept", {}))
        if np.all(self.going):
            self.tau = self.acting.command(t, self.q, self.v)
        else:
            self.tau[self.going] = self.acting.command(t, self.q, self.v)[self.going]
        if self.acting.needs_motors:
            self._use_motors()

    def _use_motors(self) -> None:
        """Go on with steps that know the forces at loop joints which the controller names now."""
        before = self.mover
        self.acting.use_motors()
        self.mover, self.between.steps = self.made_steps(), None
        self._begin()
        self.mover.carry(before.works())
        if self.step_tally is not None:
            assert isinstance(before, CompiledSteps) and isinstance(self.mover, CompiledSteps)
            self.mover.carried_for(self.step_tally)[:] = before.carried_for(self.step_tally)
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
        parts = [self, self.nodes, self.watch, self.between, self.mover, self.acting]
        parts += [getattr(self.mover, name, None) for name in ("law", "progress")]
        return Snapshot([*(x for x in parts if x is not None), *memory_of(self.acting.control)])

    def holds(self, t: float) -> Any:
        """Return the control forces of a single state that a controller with a rate holds at a time, as it gives them;
        None if it is due then, or always."""
        clock = self.acting.clock
        return None if clock is None or clock.is_due(t) else self.acting.as_given(self.tau[0])

    def _tick(self, t: float) -> None:
        """Tell whoever follows that all states have come to a time, and do not go far beyond an event that ends the
        motion."""
        if self.watch and self.terminal and len(self.q) == 1 and self.mover.steps - self.watch.steps >= OFTEN:
            self.watch.look()
            if not self.going.any():
                raise BrokenOff
        self.following.tick(t, self)

    def fresh(self) -> Segment | None:
        """Return what is new since it was asked last and stays as it is; None for nothing."""
        return None if self.new is None else self.new.piece()
