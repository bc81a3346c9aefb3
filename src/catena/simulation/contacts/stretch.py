"""Motion with contacts as they are, up to the first change of one of them, or to an event.

Here Python moves what compiled steps cannot (`inside`). Where nothing slides, points that stick are joints (`stuck`)
and the motion is that of any other mechanism. Otherwise all contacts that touch get forces from Python, which is asked
at every stage (`holding`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.dynamics.contacts.contact_forces import PULL
from catena.simulation.arguments import TimeSpan, TimeWindow
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.holding import Holding
from catena.simulation.contacts.joining import cut, joined
from catena.simulation.contacts.looking import ContactChange, Looking
from catena.simulation.following import Following
from catena.simulation.guards.events import Event
from catena.simulation.lanes import Going, alone
from catena.simulation.problem import Problem
from catena.simulation.results.segment import Segment
from catena.simulation.run import Run
from catena.simulation.run_start import RunStart, longest_step
from catena.simulation.stepping.breaking_off import BrokenOff
from catena.simulation.stepping.integrators import SOLVERS
from catena.system import System

# A part of a stretch that is looked at as a whole: the first, where Python is asked and where all is compiled, and the
# longest, as parts of the duration.
FIRST, FIRST_COMPILED, LONGEST = 0.05, 0.15, 0.4
# Evaluations after which a part of a stretch is looked at in any case: in the first part, and at most.
SOON, ENOUGH = 48, 200
# Evaluations without an end.
FOR_EVER = 1 << 60
# How far the first part must get, as a part of what the others must.
BEGINS = 0.02
# Evaluations in which a first step must be found where nothing rubs.
PATIENT = 10_000


class Enough(BrokenOff):
    """Raised within a run when it has taken long."""


@dataclass(frozen=True, eq=False)
class Stretched:
    """A stretch of motion, None if it did not get on at all, the contact whose change ended it, or None; and whether it
    is `stiff`: friction made it get on more slowly than careful steps would, or it did not at all."""

    run: Segment | None
    change: ContactChange | None
    stiff: bool


@dataclass(eq=False)
class ContactStretch:
    """Contacts that go on as they do (`holding`) in a `window` of a run with `options` of `simulate`. `events` gives
    the events of a part that begins at a time and a state. A part in which something rubs, and that gets on by less
    than `slow` seconds with each evaluation, is stiff. `following` may cancel it."""

    holding: Holding
    window: TimeWindow
    options: Mapping[str, Any]
    events: Callable[[float, np.ndarray, np.ndarray], Sequence[Event]]
    slow: float
    following: Following

    @property
    def free_motion(self) -> FreeMotion:
        """Return what acts."""
        return self.holding.free_motion

    @property
    def pushes(self) -> bool:
        """Return whether contacts get forces."""
        holding, places = self.holding, self.free_motion.places
        by_force = places.rolls | places.is_dry
        return not holding.sticks.all() or bool(by_force[holding.closed].any())

    def go(self, start: float, q: np.ndarray, v: np.ndarray) -> Stretched:
        """Do what `going` does, alone."""
        return alone(self.going(start, q, v))

    def going(self, start: float, q: np.ndarray, v: np.ndarray) -> Going[Stretched]:
        """Return the motion from the time `start` [s] and the state q (nq,), v (nv,) on."""
        system = self.free_motion.system
        if not self.pushes:
            system = self._stuck(q, v)
            v = self._at_rest(system, q, v)
        looking, duration = Looking(self.holding, self.window.duration), self.window.duration
        looking.begin(self.free_motion.places.gaps(q[None])[0])
        runs: list[Segment] = []
        problem = self.free_motion.problem
        asks = self.pushes or problem.control is not None
        t, part, most = start, (FIRST if asks else FIRST_COMPILED), SOON
        if problem.integrator in SOLVERS and not self.holding.rubs:
            # These begin with small steps of low order, so that they are not broken off where nothing can be stiff.
            most = PATIENT
        while True:
            self.holding.begin(t, q, v)
            yield from self.free_motion.waiting(t, q, v)
            self.free_motion.keep_time(t, q, v)
            span = TimeSpan(t, min(t + part * duration, self.free_motion.until(self.window.end)))
            run, enough = self._part(system, span, q, v, most)
            rubs = self.holding.rubs
            if run is None and enough and not rubs and most < PATIENT:
                most *= 2
                continue
            if run is None:
                return Stretched(joined(runs) if runs else None, None, True)
            self.free_motion.know(run)
            # The first steps are small in any case. Without friction they are as small as the motion has it: careful
            # steps, which are larger, would lose what vibrates.
            least = self.slow * most if most > SOON else BEGINS * self.slow * most
            stiff = rubs and enough and float(run.t[-1]) - t < least
            change = looking.first(run)
            if change is not None:
                # A part that changes where it begins leaves nothing but control forces that no contact here has borne.
                if change.t > t or not runs:
                    runs.append(self._until(run, change.t))
                return Stretched(joined(runs), change, False)
            runs.append(run)
            t, q, v = float(run.t[-1]), run.q[-1], run.v[-1]
            if run.ended or stiff or self.window.end - t <= self.window.same:
                return Stretched(joined(runs), None, stiff)
            part, most = min(part if enough else 2.0 * part, LONGEST), min(2 * most, max(most, ENOUGH))

    def _stuck(self, q: np.ndarray, v: np.ndarray) -> System:
        return self.free_motion.stuck(self.holding.closed, q, v)

    def _at_rest(self, system: System, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return velocities (nv,) with which points that stick do not move: those given but for what little leads
        gaps back to nothing, where other steps have left some."""
        touches = self.free_motion.places.at(q[None], v[None]).only(self.holding.closed)
        speed, gap = (np.abs(x).max(initial=0.0) for x in (touches.u, touches.gap))
        comes_back = 0.0 < speed <= PULL * gap
        return system.project(q, v)[1] if comes_back else v

    def _part(
        self, system: System, span: TimeSpan, q: np.ndarray, v: np.ndarray, most: int
    ) -> tuple[Segment | None, bool]:
        """Return the motion over a time, or less if it took more than `most` evaluations, which is told; None if it did
        not get on."""
        acting = self.free_motion.problem
        control = self._control(FOR_EVER)
        forces = dict(acting.forces)
        if self.pushes:
            forces |= _Pushing(self.holding, control, self._held(span.start, q, v), most).functions()
        near = {joint: x for joint, x in self.free_motion.near.items() if joint in system.loops}
        turned = self.free_motion.turns.at(np.array([span.start]), q[None], v[None])
        near |= {joint: x[0] for joint, x in turned.items()}
        problem = Problem(system, control, acting.motion, forces, **self.options, near=near, sticks=False)
        return self._moved(problem, span, q, v)

    def _moved(
        self, problem: Problem, span: TimeSpan, q: np.ndarray, v: np.ndarray
    ) -> tuple[Segment | None, bool]:
        """Return the motion of a problem over a time, or what there is of it where it was broken off, None for nothing;
        and whether that was because it took long."""
        try:
            t, longest = span.start, longest_step(self.window.duration, None)
            held, whole = self._held(t, q, v), self.window.duration
            beginning = RunStart(t == self.window.begin, False, held, longest, of=whole)
            run = Run(
                problem,
                q,
                v,
                span,
                self.events(t, q, v),
                None,
                self.following.quietly(span),
                False,
                beginning,
            )
            return run.go(), False
        except BrokenOff as error:
            found, enough = getattr(error, "trajectory", None), isinstance(error, Enough)
        if found is None or len(found.t) < 2:
            return None, enough
        cut = replace(found.segments[0], ended="")
        if problem.control is not None and not cut.held:
            # The run was cut off within a step, and knows no control forces of where it has come to.
            self._tell_last(cut)
        return cut, enough

    def _control(self, most: int) -> Any:
        """Return the controller; a continuous one is asked `most` times at most."""
        control = self.free_motion.problem.control
        return _Patient(control, most) if self.free_motion.acting.is_asked_always else control

    def _held(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        """Return the forces that a controller with a rate has given last, as it gives them, None for other ones. No
        part of a stretch goes beyond its next sample."""
        free = self.free_motion
        return None if free.acting.clock is None else free.acting.as_given(free.commands(t, q, v))

    def _until(self, run: Segment, t: float) -> Segment:
        """Return a run up to a time, with the events that it has met by then."""
        found = cut(run, t)
        if self.free_motion.problem.control is not None and not run.held and len(found.t) > 1:
            # Between two steps control forces are interpolated, which is not good enough for contacts at an edge.
            self._tell_last(found)
        return found

    def _tell_last(self, run: Segment) -> None:
        """Ask for the control forces at the end of a run."""
        told = self.free_motion.commands(float(run.t[-1]), run.q[-1], run.v[-1])
        run.tau[-1] = told[: self.free_motion.system.nv]
        for joint, force in self.free_motion.acting.loop_forces(told).items():
            if joint in run.loop_forces:
                run.loop_forces[joint][-1] = force


class _Patient:
    """A continuous controller that is asked so many times at most, and remembers what it gave last."""

    def __init__(self, control: Any, most: int) -> None:
        self.control, self.most, self.asked, self.told = control, most, 0, False
        self.__name__ = getattr(control, "__name__", type(control).__name__)
        self.last: Any = None
        self.at: tuple[float, bytes, bytes] | None = None

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        at = (t, q.tobytes(), v.tobytes())
        # A run asks for the forces of contacts, which ask for the control, and for the control itself.
        if at != self.at:
            self.asked += 1
            if self.asked > self.most and not self.told:
                # What there is of the motion is recorded, and asks for its control forces.
                self.told = True
                raise Enough
            self.last, self.at = self.control(t, q, v), at
        return self.last


class _Pushing:
    """The forces of contacts as wrenches on bodies, as a run asks for them under a controller, or under forces that are
    `held`."""

    def __init__(self, holding: Holding, control: Any, held: Any, most: int) -> None:
        self.holding, self.control, self.held, self.most = holding, control, held, most
        self.known: dict[tuple[float, bytes, bytes], dict[str, np.ndarray]] = {}
        self.asked, self.told = 0, False

    def functions(self) -> dict[str, Any]:
        """Return a wrench as a function of (t, q, v) for each body."""
        return {body: self._on(body) for body in self.holding.places.bodies}

    def _on(self, body: str) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
        def wrench(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.array([self._solved(t, *row)[body][0] for row in zip(q, v, strict=True)])

        return wrench

    def _solved(self, t: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        key = (t, q.tobytes(), v.tobytes())
        if key not in self.known:
            self.asked += 1
            if self.asked > self.most and not self.told:
                # What there is of the motion is recorded, and asks for what it was pushed with.
                self.told = True
                raise Enough
            free_motion, tau = self.holding.free_motion, self._command(t, q, v)
            found = self.holding.forces(np.array([t]), q[None], v[None], tau[None])
            total = self.holding.places.wrenches(found.touches, found.f)
            given = free_motion.acting.forces
            if any(name in given for name in total):
                # What acts on the body besides is told together with it.
                others = free_motion.acting.wrenches(t, q[None], v[None])
                total = {name: x + others.get(name, 0.0) for name, x in total.items()}
            self.known[key] = total
        return self.known[key]

    def _command(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the control forces (nv,) at a stage."""
        if self.control is None:
            return np.zeros(len(v))
        given = self.control(t, q.copy(), v.copy()) if self.held is None else self.held
        return self.holding.free_motion.acting.checked(t, given, q, v)
