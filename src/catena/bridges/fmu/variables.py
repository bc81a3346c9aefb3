"""The variables of an FMU: what its model description tells of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.bridges.fmu.naming import RATE, FmuSignal, coordinate_parts, entry_parts, entry_unit, structured
from catena.equations.parameters import Parameter
from catena.errors import EquationsError
from catena.simulation.guards.events import Event
from catena.simulation.results.labels import Quantity, joint_labels
from catena.system import System

_WORDS: dict[str, Quantity] = {"q": "position", "v": "velocity"}


@dataclass(frozen=True)
class Variable:
    """A variable as the model description tells it. `of` is the variable that it is the derivative of, by its place."""

    signal: FmuSignal
    causality: str
    variability: str
    initial: str = ""
    nominal: float | None = None
    of: int | None = None
    is_integer: bool = False

    @property
    def has_start(self) -> bool:
        """Whether it is begun with a number that may be set."""
        return self.initial in ("exact", "approx") or self.causality == "input"


def of_states(
    system: System, start: np.ndarray, told: Sequence[str], initial: str, length: float
) -> list[Variable]:
    """Return the coordinates and then the velocities of the tree, which begin with `start` (nq + nv,); those of the
    names `told` are outputs. Lengths are as large as `length`, angles as 1."""
    labelled = [
        (joint, word, label)
        for word, quantity in _WORDS.items()
        for joint in system.joints
        for label in joint_labels(system, joint, quantity)
    ]
    found = []
    for value, (joint, word, label) in zip(start.tolist(), labelled, strict=True):
        name = structured(label.joint, word, *coordinate_parts(label.coordinate))
        signal = FmuSignal(name, label.unit, f"{_WORDS[word]} of joint {label.text}", value)
        causality = "output" if f"{joint}.{word}" in told else "local"
        size = length if label.unit in ("m", "m/s") else 1.0
        found.append(Variable(signal, causality, "continuous", initial, size))
    return found


def of_parameters(system: System, parameters: Sequence[Parameter], tunable: Sequence[bool]) -> list[Variable]:
    """Return the entries of parameters; those that are `tunable` may change on the way."""
    entries = [(e, float(x)) for p in parameters for e, x in zip(p.entries, p.value, strict=True)]
    return [
        Variable(
            FmuSignal(
                structured(*entry_parts(system.mechanism, entry)), entry_unit(system, entry),
                f"{entry} of the mechanism", value,
            ),
            "parameter", "tunable" if may_change else "fixed", "exact",
        )
        for (entry, value), may_change in zip(entries, tunable, strict=True)
    ]  # fmt: skip


def of_derivatives(states: Sequence[Variable], first: int) -> list[Variable]:
    """Return the derivatives of states, of which the first has the place `first`."""
    found = []
    for k, state in enumerate(states):
        signal = state.signal
        rate = FmuSignal(f"der({signal.name})", RATE[signal.unit], f"derivative of {signal.about}")
        found.append(Variable(rate, "local", "continuous", "calculated", of=first + k))
    return found


def of_event(
    event: Event, what: str, unit: str, causality: str, variability: str, is_integer: bool = False
) -> Variable:
    """Return the "indicator", the "time" or the "count" of an event."""
    words = {
        "indicator": f"function of event {event.label}, which happens where it changes its sign",
        "time": f"time at which event {event.label} happened last",
        "count": f"how often event {event.label} has happened",
    }
    signal = FmuSignal(structured("event", event.label, what), unit, words[what])
    return Variable(signal, causality, variability, "calculated", is_integer=is_integer)


def require_distinct(system: System, variables: Sequence[Variable]) -> None:
    """Refuse two variables with one name."""
    names = [variable.signal.name for variable in variables]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise EquationsError(
            f"FMU of {system.mechanism.name!r}: two variables would be called {twice[0]}; a number of the mechanism "
            f"is asked for twice, as an input and as a parameter, or a joint, a frame and a force share a name."
        )
