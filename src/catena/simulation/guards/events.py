"""Events: times at which a function of the state changes its sign.

Intervals between the nodes of a run are looked at as closely as the function asks for (`sign_changes`), and where the
sign changes the state is moved there by a shorter step of the same method, so that the time is as exact as the motion.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.errors import SimulationError, StateError
from catena.simulation.guards.instant import Instant
from catena.simulation.turns import Looked
from catena.system import System
from catena.validation import is_finite, real_array, shown


@dataclass(frozen=True, eq=False)
class ByName:
    """The function of (t, q, v) of a `system` that an event's function of an instant is; `looked` knows loop joints."""

    asked: Callable[..., Any]
    system: System
    looked: Looked

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> Any:
        return self.asked(Instant(self.system, t, q, v, self.looked))


@dataclass(frozen=True)
class Event:
    """A function(t, q, v) of one state, whose zeros are looked for, or a function(here) of an `Instant`, which is asked
    by names of joints and frames; or a formula over t, q, v and joints, "A - 0.5". `direction` 1 wants only those where
    it rises, -1 only those where it falls. A `terminal` event ends the motion of its state.

    `then` changes the structure: a function(mechanism, q, v), or a function(here) of an `Instant`, that returns the
    mechanism, or the system, with which the motion goes on; None leaves it as it is. The state goes over by
    `catena.transfer`. With a direction it happens at the start too, if the function is zero there and goes on that way.
    """

    function: Callable[..., Any] | str
    name: str = ""
    direction: int = 0
    terminal: bool = False
    then: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise StateError(f"Event: its name is {shown(self.name)}; give a string.")
        if not callable(self.function) and not isinstance(self.function, str):
            raise StateError(
                f"Event {self.name!r}: {shown(self.function)} cannot be called; give a function of (t, q, v), or a "
                "formula."
            )
        if not is_finite(self.direction) or self.direction not in (-1, 0, 1):
            raise StateError(
                f"Event {self.name!r}: direction is {shown(self.direction)}; give 1, -1 or 0 for both."
            )
        if self.then is not None and not callable(self.then):
            raise StateError(
                f"Event {self.name!r}: then is {shown(self.then)}; give a function of (mechanism, q, v) that returns "
                "the changed mechanism."
            )

    @property
    def label(self) -> str:
        """Return its name, or that of its function."""
        if self.name or isinstance(self.function, str):
            return self.name or str(self.function)
        return getattr(self.function, "__name__", "event")

    @property
    def asked(self) -> Callable[..., Any]:
        """Return its function. Runs make one of a formula, which is asked nowhere else."""
        if isinstance(self.function, str):
            raise StateError(
                f"Event {self.label!r}: a formula is for `simulate` and for scenarios; give a function of (t, q, v) "
                "here."
            )
        return self.function

    def bound(self, system: System) -> Event:
        """Return this event for the states of a system: with a function of (t, q, v)."""
        asked = self.asked
        if required_arguments(asked) != 1:
            return self
        return replace(self, function=ByName(asked, system, Looked()), name=self.label)

    @property
    def by_name(self) -> ByName | None:
        """Return its function where that is one of an instant, bound to a system."""
        return self.function if isinstance(self.function, ByName) else None

    @property
    def looked(self) -> Looked | None:
        """Return the loop joints that its function asks for by name; None where it does not ask by names."""
        found: Looked | None = getattr(self.function, "looked", None)
        return found

    def value(self, t: float, q: np.ndarray, v: np.ndarray) -> float:
        """Return the function's value, which must be a finite number."""
        found = self.asked(t, q, v)
        if isinstance(found, float) and math.isfinite(found):
            # What nearly all functions give goes the short way: they are asked at every place of a motion.
            return float(found)
        try:
            x = real_array(found)
        except ValueError:
            x = np.full(0, np.nan)
        if x.size != 1 or not np.isfinite(x).all():
            raise SimulationError(
                f"Event {self.label!r} gave {shown(found)} at t = {t:.9g} s; it must give one finite number. The "
                f"trajectory so far is in the attribute `trajectory` of this error."
            )
        return float(x.reshape(()))


@dataclass(frozen=True)
class TimePassed:
    """How long a time [s] has passed, as a function of (t, q, v)."""

    time: float

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> float:
        return t - self.time

    def comes(self, first: float, last: float) -> bool:
        """Return whether the time comes behind one, and at or before another."""
        return first < self.time <= last


def distinct(events: Sequence[Event]) -> list[Event]:
    """Return events that are told apart by their labels: those with the label of another one are numbered."""
    found: list[Event] = []
    for event in events:
        labels = {other.label for other in found}
        numbered = (f"{event.label} {k}" for k in range(2, len(events) + 2))
        name = event.label if event.label not in labels else next(x for x in numbered if x not in labels)
        found.append(replace(event, name=name))
    return found


def required_arguments(function: Callable[..., Any]) -> int:
    """Return how many arguments a function must be given; 3 where it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return 3
    return sum(p.kind in placed and p.default is inspect.Parameter.empty for p in parameters)


def crossings(event: Event, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return in which of the intervals (n,) the event happens, from values `before` (n,) of its function to those
    `after` (n,). A zero at the end of an interval belongs to it, one at the start does not."""
    rising = (before < 0.0) & (after >= 0.0)
    falling = (before > 0.0) & (after <= 0.0)
    return {0: rising | falling, 1: rising, -1: falling}[event.direction]


def crosses(event: Event, before: float, after: float) -> bool:
    """Return whether an event happens where its function goes from one value to another at once."""
    rising, falling = before < 0.0 <= after, before > 0.0 >= after
    return {0: rising or falling, 1: rising, -1: falling}[event.direction]
