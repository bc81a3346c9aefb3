"""Events of an FMU: functions of time and state that are formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.errors import EquationsError, ModelError
from catena.simulation.arguments import event_list
from catena.simulation.guards.events import Event, distinct, required_arguments
from catena.spatial.on_symbols import on_symbols


def formula_events(events: Any) -> list[Event]:
    """Return the events, each with a name of its own; what is no formula is refused."""
    listed = distinct(event_list(events))
    for event in listed:
        if event.then is not None:
            raise EquationsError(
                f"Event {event.label!r} changes the structure (then=...), and an FMU is one mechanism: leave `then` "
                f"out, and let the importer change over to another FMU."
            )
        if required_arguments(event.asked) == 1:
            raise EquationsError(
                f"Event {event.label!r} asks a moment of a run by names, which is no formula: give a function of "
                f"(t, q, v)."
            )
    return listed


def event_value(event: Event, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
    """Return the function of an event as an expression."""
    try:
        with on_symbols(f"Event {event.label!r}"):
            found = event.asked(t, q, v)
    except ModelError as error:
        raise EquationsError(str(error)) from error
    flat = np.asarray(found, dtype=object).ravel()
    if flat.size != 1:
        raise EquationsError(f"Event {event.label!r} gives {flat.size} numbers; it must give one.")
    return flat[0]
