"""Events that come up often: a time, a joint at its limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.errors import StateError
from catena.mechanism import Mechanism
from catena.simulation.guards.events import Event, TimePassed
from catena.simulation.guards.instant import Instant
from catena.validation import is_finite, is_one_of, shown


def at_time(time: float, then: Callable[..., Any] | None = None, name: str = "") -> Event:
    """Return the event that a time [s] has come; `then` is that of `Event`."""
    if not is_finite(time):
        raise StateError(f"at_time: the time is {shown(time)}; give a number of seconds.")
    return Event(TimePassed(float(time)), f"t = {time:g} s" if is_one_of(name, ("",)) else name, 1, then=then)


def at_limit(joint: str, end: str = "high", then: Callable[..., Any] | None = None, name: str = "") -> Event:
    """Return the event that a joint of one degree of freedom comes to its limit, "high" or "low"; unless `then` says
    otherwise it is locked there."""
    if not is_one_of(end, ("low", "high")):
        raise StateError(f"at_limit: the end is {shown(end)}; give 'low' or 'high'.")
    if not isinstance(joint, str):
        raise StateError(f"at_limit: {shown(joint)} is no name; name a joint.")

    def beyond(here: Instant) -> Any:
        described = here.system.mechanism.joints[joint]
        if described.limits is None or described.kind.nv != 1:
            raise StateError(f"at_limit: joint {joint!r} has no limits, or more than one degree of freedom.")
        if described.locked:
            return -1.0 if end == "high" else 1.0
        return here[joint][0] - described.limits[0, 1 if end == "high" else 0]

    def lock(here: Instant) -> Mechanism:
        return here.system.mechanism.lock(joint, at=here.configuration)

    label = f"{joint} at its {end} limit" if is_one_of(name, ("",)) else name
    return Event(beyond, label, 1 if end == "high" else -1, then=lock if then is None else then)
