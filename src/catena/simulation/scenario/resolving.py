"""From what users say to what a run computes with: formulas become functions, descriptions controllers, and changes of
the structure events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from catena.errors import StateError
from catena.simulation.arguments import event_list, initial_state
from catena.simulation.guards.events import Event
from catena.simulation.scenario.changes import Change, change_list, with_changes
from catena.simulation.scenario.described import Described
from catena.simulation.scenario.formulas import (
    as_motion,
    as_wrench,
    event_function,
    formula_control,
    is_numbers,
    is_text,
)
from catena.simulation.structure_changes import PerStructure
from catena.system import System
from catena.validation import is_finite, shown


def is_of_mechanism(name: str) -> bool:
    """Return whether a parameter of a run is one of its mechanism, and not a named number of formulas."""
    return "." in name or name == "gravity"


def named_numbers(parameters: Any) -> tuple[dict[str, float], Any]:
    """Return the named numbers of formulas among the parameters of a run, and the parameters of its mechanism, whose
    names have a point in them, such as "pole.mass"; None where there are none of these."""
    if not isinstance(parameters, Mapping) or all(
        isinstance(name, str) and is_of_mechanism(name) for name in parameters
    ):
        return {}, parameters
    named = {
        name: value
        for name, value in parameters.items()
        if isinstance(name, str) and not is_of_mechanism(name)
    }
    for name, value in named.items():
        if not is_finite(value):
            raise StateError(f"parameters: {name} is {shown(value)}; give one finite number.")
    own = {name: value for name, value in parameters.items() if name not in named}
    return {name: float(value) for name, value in named.items()}, own or None


def motions(motion: Any, parameters: Mapping[str, float]) -> Any:
    """Return prescribed motions with references in the place of formulas and numbers."""
    if not isinstance(motion, Mapping):
        return motion
    return {joint: as_motion(x, parameters, f"drive of joint {joint!r}") if _is_told(x) else x
            for joint, x in motion.items()}  # fmt: skip


def wrenches(forces: Any, parameters: Mapping[str, float]) -> Any:
    """Return wrenches by frame, with what makes functions in the place of formulas and numbers."""
    if not isinstance(forces, Mapping):
        return forces
    return {frame: as_wrench(x, parameters, frame) for frame, x in forces.items()}


def controller(
    control: Any, system: System, q: Any, v: Any, parameters: Mapping[str, float], changing: bool
) -> Any:
    """Return the controller of a run: what was given, or what a description makes for the system; where the structure
    changes, one for each structure."""
    if isinstance(control, Mapping):
        control = Described(formula_control, control)
    if not isinstance(control, Described):
        return control
    described, start = control, initial_state(system, q, v)[0]
    initial = {joint: start[..., system.slice_q(joint)] for joint in system.joints}
    if changing:
        return PerStructure(lambda other: described.on(other, initial, parameters))
    return described.on(system, initial, parameters)


def events_of(events: Any, changes: Sequence[Change], parameters: Mapping[str, float]) -> list[Event]:
    """Return events with functions in the place of formulas, and those that make the changes of the structure."""
    found = []
    for event in event_list(events):
        if isinstance(event.function, str):
            who = f"event {event.label!r}"
            event = replace(event, function=event_function(event.function, parameters, who), name=event.label)
        found.append(event)
    return with_changes(found, change_list(changes))


def _is_told(value: Any) -> bool:
    return is_text(value) or is_numbers(value) or is_finite(value)
