"""A batch whose states have times and structures of their own, as those of runs with contacts have.

Every state is a run by itself. What they have in common is asked of all of them at once: where their times are the
same, as those of `run.resample(101)` are, arrays have the dimensions of the batch in front, as in any other batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from catena.errors import StateError
from catena.simulation.results.across_segments import Ask
from catena.simulation.results.event_hit import EventHit
from catena.simulation.results.joining import filled
from catena.simulation.results.segment import Segment
from catena.simulation.results.states import StatesAt
from catena.simulation.results.times import increasing_times, start_offset
from catena.simulation.results.trajectory import Trajectory
from catena.simulation.results.transition import Transition
from catena.system import System
from catena.validation import shown


class StateByState(Trajectory):
    """Runs of single states as one batch of this shape, in the order of a flattened array."""

    def __init__(
        self,
        states: Sequence[Trajectory],
        batch: tuple[int, ...],
        failed: Mapping[tuple[int, ...], str] = MappingProxyType({}),
    ) -> None:
        if not states or len(states) != prod(batch) or any(run.batch for run in states):
            raise StateError(f"{len(states)} runs of single states make no batch of shape {batch}.")
        self.states, self.failed = tuple(states), failed
        self._batch = tuple(batch)
        self.given_before = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.states, self._batch, dict(self.failed))

    def __repr__(self) -> str:
        name = self.states[0].all_segments[0].system.mechanism.name
        ends = {float(run.t[-1]) for run in self.states}
        until = f"{min(ends):g} s" if len(ends) == 1 else f"{min(ends):g} to {max(ends):g} s"
        return (
            f"Trajectory({name!r}, {self._batch} states one by one, {len(self.all_segments)} segments from "
            f"{self.states[0].t[0]:g} s to {until}, {self.steps} steps)"
        )

    def __str__(self) -> str:
        return repr(self)

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the batch dimensions."""
        return self._batch

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Raise: each state has segments of its own."""
        raise StateError(
            f"Each state of this batch {self._batch} has segments of its own; ask one of them, "
            f"{self._example}.segments."
        )

    @cached_property
    def all_segments(self) -> tuple[Segment, ...]:
        """Return the segments of all states."""
        return tuple(part for run in self.states for part in run.segments)

    @property
    def kept(self) -> Mapping[str, np.ndarray]:
        """Return the signals that the run was asked to keep, {name: (...)} or, at samples, {name: (..., samples)}."""
        kept = [run.kept for run in self.states]
        return {
            name: np.stack([each[name] for each in kept]).reshape(*self._batch, *kept[0][name].shape)
            for name in kept[0]
        }

    @property
    def transitions(self) -> tuple[Transition, ...]:  # type: ignore[override]
        """Return what happened in all states, one state behind the other, with the index of the state."""
        return tuple(
            replace(change, state=self._index(number))
            for number, run in enumerate(self.states)
            for change in run.transitions
        )

    def _index(self, number: int) -> tuple[int, ...]:
        """Return the index of a state in the batch."""
        return tuple(int(k) for k in np.unravel_index(number, self._batch))

    @cached_property
    def t(self) -> np.ndarray:
        """Return the times (samples,), where they are the same in all states."""
        first = self.states[0].t
        if all(np.array_equal(run.t, first) for run in self.states):
            return first
        raise StateError(
            f"Each state of this batch {self._batch} has times of its own; ask for common ones, run.resample(101), or "
            f"one state, {self._example}."
        )

    @property
    def _example(self) -> str:
        return f"run.state({', '.join('0' for _ in self._batch)})"

    @property
    def _one_segment(self) -> str:
        return f"{self._example}.segments[0]"

    @property
    def changes(self) -> np.ndarray:
        """Return the times at which segments begin in any of the states."""
        return np.unique(np.concatenate([run.changes for run in self.states]))

    @property
    def events(self) -> Sequence[EventHit]:
        """Return the events that were met, with the index of the state that met them."""
        return tuple(
            replace(event, state=self._index(number))
            for number, run in enumerate(self.states)
            for event in run.events
        )

    @property
    def ended(self) -> str:
        """Return why motions stopped early: the words of the first that did."""
        return next((run.ended for run in self.states if run.ended), "")

    @property
    def note(self) -> str:  # type: ignore[override]
        """Return the note of the first state that has one."""
        return next((run.note for run in self.states if run.note), "")

    def state(self, *index: int) -> Trajectory:
        """Return the motion of one state of the batch, given by its index."""
        try:
            return self.states[int(np.ravel_multi_index(index, self._batch))]
        except (ValueError, TypeError):
            raise StateError(
                f"There is no state {shown(index)}; the batch has shape {self._batch}: give an index for each "
                "dimension."
            ) from None

    def segment_at(self, t: float) -> Segment:
        """Raise: each state has segments of its own."""
        raise StateError(
            f"Each state has segments of its own; ask one of them, {self._example}.segment_at({t})."
        )

    def shifted(self, start: float) -> Trajectory:
        """Return this batch with its times moved so that the first state begins at `start` [s]."""
        offset = start_offset(self.states[0].t, start)
        moved = [run.shifted(float(run.t[0]) + offset) for run in self.states]
        return StateByState(moved, self._batch, self.failed)

    def at(self, times: ArrayLike) -> StatesAt:
        """Return q and v at any time of all states, with the batch dimensions in front, where all have one structure
        then."""
        found = [run.at(times) for run in self.states]
        if len({states.system.joints for states in found}) > 1:
            raise StateError(
                f"States of this batch have different structures then, and q with them; ask one, "
                f'{self._example}.at(t), or by names: run.resample(times)["A"].'
            )
        q, v = (np.stack(x).reshape(*self._batch, *x[0].shape) for x in zip(*found, strict=True))
        return StatesAt(q, v, found[0].system)

    def resample(self, times: int | ArrayLike) -> Trajectory:
        """Return all states at the same times: increasing ones within all of them, or a whole number of them from the
        first to the last that all have."""
        starts, ends = zip(*((run.t[0], run.t[-1]) for run in self.states), strict=True)
        asked = increasing_times(np.array([max(starts), min(ends)]), times)
        return StateByState([run.resample(asked) for run in self.states], self._batch, self.failed)

    @property
    def work(self) -> Mapping[str, np.ndarray]:
        """Return the works (..., samples) since the start by source, where all states kept count of them."""
        names = [name for name in self.states[0].work if all(name in run.work for run in self.states)]
        return {name: self._stacked(lambda run, name=name: run.work[name], 0) for name in names}  # type: ignore[misc]

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """Return the potential energy of gravity, springs and stops, (..., samples)."""
        return self._stacked(lambda run: run.potential_energy, 0)

    def _joined(self, ask: Ask, axes: int) -> np.ndarray:
        return self._stacked(lambda run: run._joined(ask, axes), axes)

    def _stacked(self, ask: Callable[[Trajectory], np.ndarray], axes: int) -> np.ndarray:
        """Return what all states tell, with the batch dimensions in front."""
        samples = len(self.t)
        rows = filled(self.states, ask, axes, lambda run: (samples,))
        return np.stack(rows).reshape(*self._batch, *rows[0].shape)

    @cached_property
    def system(self) -> System:
        """Return the system that moves, while q has the same joints in all states."""
        self._require_one_structure("system")
        return self.states[0].system
