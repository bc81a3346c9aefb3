"""A scenario in a few lines, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.mechanism import GROUND
from catena.simulation.acting.external import as_wrench
from catena.simulation.scenario.described import Described
from catena.simulation.scenario.formulas import formula_control
from catena.validation import shown

if TYPE_CHECKING:
    from catena.simulation.scenario.scenario import Scenario

_CONTACTS = {"Stop": "stop", "TipContact": "tip contact"}
# How many entries of a list are told.
MOST = 8


def report(scenario: Scenario) -> str:
    """Return what a scenario says, a line for each sort of thing."""
    mechanism = scenario.mechanism
    bodies = sum(name != GROUND for name in mechanism.bodies)
    lines = [
        ("mechanism", f"{mechanism.name}: {bodies} bodies, {len(mechanism.joints)} joints"),
        ("initial", _state(scenario.initial, "the mechanism's own")),
        ("velocity", _state(scenario.velocity, "the mechanism's own")),
        *(("drive", f"{joint} = {_told(moves)}") for joint, moves in scenario.drives.items()),
        *(("control", line) for line in _controls(scenario.control)),
        *(("wrench", f"on {frame}: {_told(as_wrench(x).function)}") for frame, x in scenario.wrenches.items()),
        *((_CONTACTS.get(type(x).__name__, "contact"), _fields(x)) for x in _many(scenario.contacts)),
        *(("event", f"{event.label}: {_told(event.function)}" + (", ends the motion" if event.terminal else ""))
          for event in _many(scenario.events)),
        *(("change", f"{change.label.removeprefix('Change ')}: {change.in_words()}")
          for change in _many(scenario.changes)),
        *(("parameter", f"{name} = {_told(value)}") for name, value in _many(scenario.parameters.items())),
        ("run", _settings(scenario)),
    ]  # fmt: skip
    width = max(len(name) for name, _ in lines) + 2
    return "\n".join(f"{name:<{width}}{text}" for name, text in lines if text)


def _many(values: Any) -> list[Any]:
    return list(values)


def _state(start: Any, default: str) -> str:
    if start is None:
        return default
    if isinstance(start, Mapping):
        return ", ".join(f"{joint} = {_told(value)}" for joint, value in start.items()) or "nothing given"
    return (
        f"as given, shape {np.shape(start)}" if np.ndim(start) > 1 or np.size(start) > MOST else _told(start)
    )


def _controls(control: Any) -> list[str]:
    if control is None:
        return []
    if isinstance(control, Described):
        return [line for part in control.parts for line in _described(part)]
    return [_told(control)]


def _described(part: Described) -> list[str]:
    if part.make is not formula_control:
        return [repr(part)]
    often = f", at {part.keywords['rate']} Hz" if "rate" in part.keywords else ""
    return [f"force of {joint} = {_told(x)}{often}" for joint, x in part.keywords["forces"].items()]


def _told(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=MOST, separator=", ", precision=6)
    if callable(value) and not hasattr(value, "at"):
        return f"a function ({getattr(value, '__name__', type(value).__name__)})"
    name = getattr(value, "name", "") or type(value).__name__.lower()
    return f"a {name}" if hasattr(value, "at") else shown(value)


def _fields(value: Any) -> str:
    return shown(value).partition("(")[2].removesuffix(")")


def _settings(scenario: Scenario) -> str:
    chosen = (
        f"steps of {scenario.step:g} s"
        if scenario.step is not None
        else f"rtol {scenario.rtol:g}, atol {scenario.atol:g}"
    )
    samples = scenario.samples
    kept = (
        ""
        if samples is None
        else f", {samples if isinstance(samples, int) else len(np.asarray(samples))} samples"
    )
    other = f", {scenario.coordinates} coordinates" if scenario.coordinates != "joint" else ""
    return f"{scenario.duration:g} s by {scenario.integrator}, {chosen}, drift {_told(scenario.drift)}{other}{kept}"
