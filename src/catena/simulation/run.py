"""One simulation: the way from control sample to control sample, events on it, and what is kept of it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import numpy as np

from catena.dynamics.closed.elimination import is_for
from catena.errors import CatenaError, LoopError, StateError
from catena.simulation.acting import Acting, check_control
from catena.simulation.arguments import FIXED_STEPS, check_settings, event_list, initial_state, sample_times
from catena.simulation.compiled import CompiledSteps
from catena.simulation.dense import interpolate
from catena.simulation.drift import Drift
from catena.simulation.events import INSIDE, crossings, locate
from catena.simulation.laws import CompiledLaw
from catena.simulation.nodes import Nodes
from catena.simulation.progress import Progress
from catena.simulation.staged import StagedSteps
from catena.simulation.stiff import SOLVERS, StiffSteps
from catena.simulation.trajectory import Found, Trajectory
from catena.system import System

# How often a run is looked at for an event that ends it.
LOOKS = 50
# Runs of more numbers than this are audited only when asked to, and record no more than they must.
LARGE = 200_000
# Loops that are open by more than this at the start [rad or m] are an error of the caller's.
OPEN = 1e-6


def _ignore(t: float) -> None:
    """Nobody wants to know how far the search for an event is."""


class Steps(Protocol):
    """What moves the states of a run."""

    steps: int

    def begin(self, states: int, h: float) -> None:
        """A run of so many states begins, with steps of about this size."""

    def forget(self) -> None:
        """Something jumped."""

    def advance(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, end: float, nodes: Nodes | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move all states to `end`, and add what they pass to `nodes`."""


class Run:
    """A simulation: what it is asked for, how far it is, and what it leaves."""

    def __init__(
        self, system: Any, q: Any, v: Any, duration: float, control: Any, motion: Any, forces: Any, integrator: str,
        step: float | None, rtol: float, atol: float, drift: Any, events: Any, samples: Any, progress: bool | None,
        check: bool,
    ) -> None:  # fmt: skip
        check_settings(system, duration, integrator, step, rtol, atol)
        check_control(control)
        self.system, self.duration, self.integrator, self.step = system, float(duration), integrator, step
        self.rtol, self.atol, self.check = rtol, atol, check
        self.events = event_list(events)
        q, v = initial_state(system, q, v)
        self.batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        if not system.nv or 0 in self.batch:
            what = f"no states: the batch has shape {self.batch}" if system.nv else "nothing that moves in it"
            raise StateError(f"There is nothing to simulate in {system.mechanism.name!r}: {what}.")
        self.q = np.array(np.broadcast_to(q, (*self.batch, system.nq)).reshape(-1, system.nq))
        self.v = np.array(np.broadcast_to(v, (*self.batch, system.nv)).reshape(-1, system.nv))
        self.t = np.zeros(len(self.q))
        self.times = sample_times(samples, self.duration, bool(self.batch))
        self.acting = Acting(system, self.batch, control, forces, motion)
        self.q, self.v = self.acting.impose(0.0, self.q, self.v)
        self.drift = Drift(system, drift, self.q[0] if len(self.q) else system.neutral())
        if self.drift.closed:
            self._require_closed()
        self.progress = Progress(self.duration, progress)
        self.compiles = self._can_compile()
        self.law = self.compiles and CompiledLaw.fits(self.acting, integrator, step, self.duration)
        self.dense = self._needs_all_nodes()
        self.mover = self._mover()
        self.locator: Steps | None = None
        self.found: list[Found] = []
        self.ended = ""
        self.going = np.ones(len(self.q), dtype=bool)
        self.tau = self.acting.command(0.0, self.q, self.v)
        if self.law:
            # The loop asks the law itself, from the first step on.
            self.acting.control.start(system, self.batch)  # type: ignore[union-attr]
        self.held = control is None or self.acting.rate is not None
        self.nodes = Nodes(self.q, self.v, self.tau, held=self.held and self.dense)

    def _can_compile(self) -> bool:
        """Whether the compiled loop knows all that acts, but for the controller."""
        acting = self.acting
        return (
            self.integrator not in SOLVERS
            and not (acting.forces or acting.motion)
            and self.system.elements.is_compiled
            and self.drift.compiles
            and _knows_all_coordinates(self.system, self.drift)
        )

    def _needs_all_nodes(self) -> bool:
        """Whether every step is kept. Only fixed steps that end at all samples need no others, and a law inside the
        loop does not stop for samples."""
        if self.times is None or self.integrator not in FIXED_STEPS or self.events or self.law:
            return True
        assert self.step is not None
        if self.duration / self.step * self.v.size < LARGE:
            # Going on to the end at once costs less than stopping, and samples are among the nodes.
            return True
        steps = np.diff(self.times) / self.step
        return bool(np.any(np.abs(steps - np.round(steps)) > 1e-6) or np.any(steps < 0.5))

    def _mover(self, alone: bool = False) -> Steps:
        """What moves the states; `alone` one that moves a single state between two of its steps."""
        acting, tick = self.acting, (_ignore if alone else self.progress.tick)
        if self.integrator in SOLVERS:
            return StiffSteps(acting, self.integrator, self.rtol, self.atol, self.drift, tick)
        if not self.compiles or (acting.is_continuous and not self.law):
            return StagedSteps(acting, self.integrator, self.step, self.rtol, self.atol, self.drift, tick)
        return CompiledSteps(
            acting, self.integrator, self.step, self.rtol, self.atol, self.drift, self.system.elements.placed, tick,
            CompiledLaw(acting, self.step) if self.law and not alone else None,
        )  # fmt: skip

    def go(self) -> Trajectory:
        """Move from one control sample, or one recorded time, to the next."""
        self.mover.begin(len(self.q), self.step or min(1e-2, 1e-2 * self.duration))
        try:
            for end in self._stops():
                self._go_to(end)
                if not self.going.any():
                    break
        except KeyboardInterrupt:
            self.ended = f"interrupted at t = {self._reached():.6g} s"
        except Exception as error:
            # Whatever went wrong, in here or in a user's function, what there is must not be lost.
            with suppress(CatenaError, AttributeError):
                error.trajectory = self._so_far()  # type: ignore[attr-defined]
            raise
        finally:
            self.progress.done()
        run = self._trajectory()
        if self.check and run.v.size <= LARGE:
            run.audit().warn(stacklevel=4)
        return run

    def _stops(self) -> list[float]:
        """Times that no step passes: samples of the controller, and with fixed steps those that are recorded."""
        stops = [np.array([self.duration])]
        if self.acting.rate is not None and not self.law:
            count = int(np.ceil(self.duration * self.acting.rate * (1.0 - 1e-12)))
            stops.append(np.arange(1, count) / self.acting.rate)
        if self.times is not None and not self.dense:
            stops.append(self.times[1:])
        if any(event.terminal for event in self.events):
            # Nothing is computed far beyond an end that may come early.
            stops.append(np.linspace(0.0, self.duration, LOOKS + 1)[1:])
        ordered = np.unique(np.concatenate(stops))
        # Two that differ by rounding are one.
        keep = np.append(np.diff(ordered) > 1e-12 * self.duration, True)
        return [float(t) for t in ordered[keep]]

    def _go_to(self, end: float) -> None:
        mark = self.nodes.mark
        nodes = self.nodes if self.dense else None
        self.t, self.q, self.v = self.mover.advance(self.t, self.q, self.v, self.tau, end, nodes)
        if self.events:
            for state in np.flatnonzero(self.going):
                self._look_for_events(int(state), mark)
        self._ask_controller(end)
        if (
            not self.dense
            and self.times is not None
            and np.any(np.abs(self.times - end) < 1e-9 * self.duration)
        ):
            everyone = np.arange(len(self.q))
            self.nodes.add(everyone, self.t.copy(), self.q.copy(), self.v.copy(), self.tau.copy())

    def _ask_controller(self, t: float) -> None:
        """The control forces from the time t on: of a sampled controller if a sample is due, of one that is always
        asked for the record."""
        if self.law or self.acting.control is None or t >= self.duration * (1.0 - 1e-12):
            return
        if self.acting.rate is not None:
            samples = t * self.acting.rate
            if abs(samples - round(samples)) > 1e-6:
                return
            # What a method remembers of the forces before does not hold any more.
            self.mover.forget()
        if self.acting.rate is not None or not self.dense:
            self.tau = self.acting.command(t, self.q, self.v)

    # Events.

    def _look_for_events(self, state: int, mark: int) -> None:
        """Locate what happened to one state since the mark; the first terminal event ends its motion."""
        t, q, v, tau = self._between(*self.nodes.since(mark, state))
        happened = []
        for event in self.events:
            for k in crossings(event, t, q, v):
                start = (float(t[k]), q[k], v[k], tau[k])
                time = locate(event, start[0], float(t[k + 1]), partial(self._state_at, start))
                happened.append((time, event, start))
        for time, event, start in sorted(happened, key=lambda x: x[0]):
            q_event, v_event = self._state_at(start, time)
            index = tuple(int(k) for k in np.unravel_index(state, self.batch)) if self.batch else ()
            self.found.append(Found(event.label, time, q_event, v_event, index))
            if event.terminal:
                self.nodes.end(state, time, q_event, v_event)
                self.going[state] = False
                self.q[state], self.v[state], self.t[state] = q_event, v_event, np.inf
                self.ended = f"event {event.label!r} at t = {time:.9g} s"
                return

    def _between(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The nodes of a state with a few places between them, and the forces from each on."""
        if len(t) < 2:
            return t, q, v, tau
        parts = np.array([0.0, *INSIDE])
        times = np.append((t[:-1, None] + np.diff(t)[:, None] * parts).ravel(), t[-1])
        q_all, v_all = self._interpolated(t, q, v, tau, times)
        return times, q_all, v_all, np.repeat(tau, len(parts), axis=0)[: len(times)]

    def _state_at(
        self, start: tuple[float, np.ndarray, np.ndarray, np.ndarray], time: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The state at a time that lies less than a step behind a known one, by the method itself."""
        t, q, v, tau = start
        if time <= t:
            return q, v
        if self.locator is None:
            self.locator = self._mover(alone=True)
        self.locator.begin(1, time - t)
        _, q_then, v_then = self.locator.advance(
            np.array([t]), q[None], v[None], tau[None].copy(), time, None
        )
        return q_then[0], v_then[0]

    # What is left of it.

    def _interpolated(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """q and v at times between nodes t (..., nodes), q, v with the control forces that act from each node on."""
        a0 = self._accelerations(t[..., :-1], q[..., :-1, :], v[..., :-1, :], tau[..., :-1, :])
        force = tau[..., :-1, :] if self.held else tau[..., 1:, :]
        a1 = self._accelerations(t[..., 1:], q[..., 1:, :], v[..., 1:, :], force)
        return interpolate(self.system, t, q, v, a0, a1, times, project=self.drift.projects)

    def _accelerations(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        rows = [x.reshape(-1, x.shape[-1]) for x in (q, v, tau)]
        if not (self.acting.forces or self.acting.motion):
            return self.acting.accelerations(0.0, *rows).reshape(v.shape)
        each = [
            self.acting.accelerations(float(time), a[None], b[None], c[None])[0]
            for time, a, b, c in zip(t.ravel(), *rows, strict=True)
        ]
        return np.array(each).reshape(v.shape)

    def _trajectory(self) -> Trajectory:
        t, q, v, tau = self.nodes.all(self.tau)
        if self.law and self.acting.rate is None:
            # In the loop a law that is always asked leaves what it gave at the last stage of each step.
            tau = self._asked(t, q, v)
        if self.times is None:
            times, q, v, tau = t[0], q[0], v[0], tau[0]
        elif not self.dense:
            times = t[0]
            q, v, tau = (x.reshape(*self.batch, *x.shape[1:]) for x in (q, v, tau))
        else:
            times = self.times[self.times <= np.max(t) * (1.0 + 1e-12)]
            wanted = np.minimum(times, t[:, -1:])
            q, v, tau = self._sampled(t, q, v, tau, wanted)
            q, v, tau = (x.reshape(*self.batch, *x.shape[1:]) for x in (q, v, tau))
        wrenches = {
            frame: np.stack([self.acting.wrenches(float(x))[frame] for x in times])
            for frame in self.acting.forces
        }
        return Trajectory(
            self.system, times, q, v, tau, self.mover.steps, wrenches=wrenches, driven=tuple(self.acting.motion),
            events=tuple(self.found), ended=self.ended, settings=self._settings(), held=self.held,
        )  # fmt: skip

    def _asked(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What the controller gives at times (states, nodes), one by one."""
        tau = np.empty_like(v)
        for index in np.ndindex(t.shape):
            tau[index] = self.acting.command(float(t[index]), q[index][None], v[index][None])[0]
        return tau

    def _sampled(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """States and control forces at times (states, samples), from nodes of each state's own."""
        before = np.stack(
            [np.clip(np.searchsorted(own, asked + 1e-12 * self.duration, side="right") - 1, 0, len(own) - 1)
             for own, asked in zip(t, times, strict=True)]
        )  # fmt: skip
        q_then, v_then = (np.take_along_axis(x, before[..., None], axis=1) for x in (q, v))
        if np.any(np.abs(np.take_along_axis(t, before, axis=1) - times) > 1e-12 * self.duration):
            q_then, v_then = self._interpolated(t, q, v, tau, times)
        if self.held:
            return q_then, v_then, np.take_along_axis(tau, before[..., None], axis=1)
        asked = [
            self.acting.command(float(times[:, k].max()), q_then[:, k], v_then[:, k])
            for k in range(times.shape[1])
        ]
        return q_then, v_then, np.stack(asked, axis=1)

    def _so_far(self) -> Trajectory | None:
        """What there is when a run fails; nothing if that fails too."""
        if self.times is not None and self.dense:
            self.times = self.times[self.times <= self._reached()]
        return self._trajectory()

    def _reached(self) -> float:
        """The time that all states have reached."""
        return float(self.nodes.all(self.tau)[0][:, -1].min())

    def _settings(self) -> dict[str, str]:
        chosen = (
            f"step {self.step:g} s" if self.step is not None else f"rtol {self.rtol:g}, atol {self.atol:g}"
        )
        control = self.acting.control
        asked = "always" if self.acting.rate is None else f"{self.acting.rate:g} Hz"
        return {
            "integrator": f"{self.integrator}, {chosen}",
            "drift": self.drift.name if self.drift.closed else "no loops",
            "control": "none" if control is None else f"{_name(control)}, {asked}",
            "steps taken by": type(self.mover).__name__,
            "wall time": f"{self.progress.elapsed:.3g} s",
        }

    def _require_closed(self) -> None:
        position, velocity = self.system.closure(self.q, self.v)
        worst = max(float(np.max(np.abs(x), initial=0.0)) for x in (position, velocity))
        if worst <= OPEN:
            return
        name = self.system.mechanism.name
        state = int(np.argmax(np.max(np.abs(np.concatenate([position, velocity], axis=-1)), axis=-1)))
        where = f" in state {state}" if self.batch else ""
        try:
            near, rates = self.system.project(self.q[state], self.v[state])
            shown = f"The nearest closed state is q = {_shown(near)}, v = {_shown(rates)}"
        except LoopError:
            try:
                near = self.system.assemble(guess=self.q[state])
                shown = f"A closed configuration near it is q = {_shown(near)}"
            except LoopError:
                shown = "No closed state was found near it"
        raise StateError(
            f"The loops of {name!r} are not closed at the start{where} (the largest "
            f"error is {worst:.3g}). {shown}; begin with `q, v = s.project(q, v)`, or with s.assemble and s.velocity."
        )


def _shown(x: np.ndarray) -> str:
    return np.array2string(x, precision=8, separator=", ", threshold=60, max_line_width=10_000)


def _name(control: Any) -> str:
    return getattr(control, "__name__", type(control).__name__)


def _knows_all_coordinates(system: System, drift: Drift) -> bool:
    """Whether the compiled loop can close the loops: their joints give coordinates as formulas."""
    return not drift.closed or (
        is_for(system.plan)
        and all(loop.kind.finds_coordinates_of_symbols for loop in system.plan.loop_joints)
    )
