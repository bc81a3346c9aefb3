"""What a simulation is asked for: checked, and completed where nothing was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from catena import kinematics
from catena.errors import StateError
from catena.kernels.arrays import batch_shape
from catena.mechanism import InitialState
from catena.simulation.guards.events import Event
from catena.system import System
from catena.validation import is_finite, is_positive, listed, real_array, shown

# Samples of a batch where nothing is said.
SAMPLES = 101
# More than this would fill the memory.
MOST_SAMPLES = 10_000_000
# Times that differ by less than this part of the duration, or of the time itself, are the same.
SAME = 1e-12


class TimeSpan(NamedTuple):
    """From when to when a motion goes [s], in the clock of its run."""

    start: float
    end: float

    @property
    def duration(self) -> float:
        """Return how long it is [s]."""
        return self.end - self.start

    @property
    def same(self) -> float:
        """Return by how much times may differ that are the same [s]."""
        return SAME * max(self.duration, abs(self.start), abs(self.end))


class TimeWindow(NamedTuple):
    """A part of a motion that began at `begin` [s]: it goes on to `end` for now, and lasts about `duration` in all."""

    begin: float
    end: float
    duration: float

    @property
    def same(self) -> float:
        """Return by how much times may differ that are the same [s]."""
        return SAME * max(self.duration, abs(self.begin), abs(self.end))


def time_span(start: Any, duration: Any) -> TimeSpan:
    """Return the time of a motion that begins at `start` [s] and goes on for so many seconds."""
    if not is_positive(duration):
        raise StateError(f"duration is {shown(duration)}; give a positive number of seconds.")
    if not is_finite(start):
        raise StateError(f"start is {shown(start)}; give a finite number of seconds.")
    found = TimeSpan(float(start), float(start) + float(duration))
    if abs(found.duration - float(duration)) > 1e-6 * float(duration):
        raise StateError(
            f"From start = {found.start:.9g} s on, {float(duration):.3g} s are lost in the rounding of times; begin "
            f"nearer to zero."
        )
    return found


def initial_state(system: System, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the states to begin with: as given, as arrays, by joint or by the name of a state, or the mechanism's
    own."""
    evaluator = system.mechanics.evaluator
    if _is_ordinary(q, system.nq) and _is_ordinary(v, system.nv):
        evaluator.check_current()
        evaluator.check_positions("q", q)
        return q.copy(), v.copy()
    initial = system.mechanism.initial
    if v is None and (q is None or isinstance(q, str | InitialState)):
        q, v = system.start(q)
    elif q is None or isinstance(q, str | InitialState | Mapping):
        q = system.assemble(q)
    q = _numbers("q", q)
    if v is None:
        v = system.velocity(q, initial.v)
    elif isinstance(v, Mapping):
        v = system.velocity(q, v)
    v = _numbers("v", v)
    q, v = evaluator.checked(kinematics.rate, "q", q), evaluator.checked(kinematics.rate, "qd", v)
    evaluator.check_current()
    evaluator.check_positions("q", q)
    batch_shape({"q": q, "v": v})
    return q, v


def _is_ordinary(x: Any, size: int) -> bool:
    """Return whether x is an array of so many doubles, all of them finite and none very large."""
    ordinary = type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (size,)
    return ordinary and bool(np.vdot(x, x) < np.inf)


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        return np.array(real_array(value))
    except ValueError as error:
        raise StateError(f"{name} is not an array of numbers: {error}.") from error


def event_list(events: Any) -> list[Event]:
    """Return events from one or many, or from plain functions or formulas."""
    if isinstance(events, list | tuple) and all(isinstance(event, Event) for event in events):
        return list(events)
    try:
        found = [events] if isinstance(events, Event) or callable(events) else list(listed(events))
    except ValueError as error:
        raise StateError(f"events is {shown(events)} ({error}); give a list of ct.Event.") from error
    for event in found:
        if not isinstance(event, Event | str) and not callable(event):
            raise StateError(f"events: {shown(event)} is no event; give ct.Event(function(t, q, v)).")
    return [event if isinstance(event, Event) else Event(event) for event in found]


def sample_times(samples: Any, span: TimeSpan, is_batch: bool) -> np.ndarray | None:
    """Return the times to keep; None for every step of a single state."""
    if samples is None:
        return np.linspace(*span, SAMPLES) if is_batch else None
    if isinstance(samples, (int, np.integer)) and not isinstance(samples, bool):
        if not 2 <= samples <= MOST_SAMPLES:
            raise StateError(
                f"samples is {shown(samples)}; give at least 2 and no more than {MOST_SAMPLES}, or an array of times."
            )
        return np.linspace(*span, int(samples))
    try:
        times = np.array(real_array(samples))
    except ValueError as error:
        raise StateError(
            f"samples is {shown(samples)}; give a number of samples, or an array of times."
        ) from error
    if times.ndim != 1 or len(times) < 2 or not np.isfinite(times).all() or np.any(np.diff(times) <= 0.0):
        raise StateError(
            "samples must be a whole number, or at least two times, each later than the one before."
        )
    if abs(times[0] - span.start) > span.same or times[-1] > span.end + span.same:
        raise StateError(
            f"samples go from {times[0]:.9g} s to {times[-1]:.9g} s; they must begin at {span.start:.9g} and end by "
            f"{span.end:.9g} s."
        )
    times[0] = span.start
    return times
