"""All that is in an FMU, before it is written: its variables, its functions as expression graphs, and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.bridges.fmu.formulas import Formulas
from catena.bridges.fmu.inputs import find_inputs
from catena.bridges.fmu.loop_joints import with_loop_joints
from catena.bridges.fmu.naming import RATE, structured
from catena.bridges.fmu.outputs import chosen_outputs, told
from catena.bridges.fmu.parameters import entry_parts, entry_unit
from catena.bridges.fmu.signals import Signal, coordinate_parts, listed_names
from catena.equations.building import graph_of
from catena.equations.graph import INPUT, ExpressionGraph
from catena.equations.parameters import find_parameters
from catena.errors import EquationsError, ModelError, StateError, warn
from catena.joints import Free, Spherical, described
from catena.kinematics.extent import extent
from catena.kinematics.scales import scales_of
from catena.simulation.arguments import event_list, initial_state
from catena.simulation.guards.events import Event, distinct, required_arguments
from catena.simulation.results.labels import Quantity, joint_labels
from catena.spatial.on_symbols import on_symbols
from catena.system import System


@dataclass(frozen=True)
class Variable:
    """A variable as the model description tells it. `of` is the variable that it is the derivative of, by its place."""

    signal: Signal
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


@dataclass(frozen=True, eq=False)
class Model:
    """A mechanism as an FMU: variables in the order of their value references, functions by name, the state to begin
    with (nq + nv,), which velocity components were placed and driven by whoever exports, and how entries of q are
    grouped. `states`, `derivatives`, `indicators` are places among the variables."""

    title: str
    system: System
    variables: tuple[Variable, ...]
    functions: Mapping[str, ExpressionGraph]
    start: np.ndarray
    inputs: np.ndarray
    parameters: np.ndarray
    tunable: np.ndarray
    nominal: np.ndarray
    placed: np.ndarray
    driven: np.ndarray
    rotations: tuple[int, ...]
    moved: tuple[tuple[int, int], ...]
    rows: np.ndarray
    units: np.ndarray
    events: tuple[Event, ...]
    states: range
    derivatives: range
    indicators: range
    length: float


def make_model(
    system: System, inputs: Iterable[str] | None, outputs: Iterable[str] | None, parameters: Iterable[str],
    q: Any, v: Any, events: Any,
) -> Model:  # fmt: skip
    """Return the FMU of a system with inputs, outputs and parameters by name, beginning at q and v, and with events."""
    q0, v0 = initial_state(system, q, v)
    if q0.ndim != 1 or v0.ndim != 1:
        raise StateError("An FMU begins with one state: give one configuration and one velocity, no batch.")
    _require_open(system)
    listed = _formula_events(events)
    found = find_inputs(system, inputs)
    of_state, computed, gauges = chosen_outputs(system, outputs)
    numbers = find_parameters(system.mechanism, listed_names("parameters", parameters))
    wide = with_loop_joints(system, found.motors, gauges)
    formulas = Formulas(wide, found, numbers)
    come_out = told(formulas, computed)
    functions = _functions(formulas, [x for _, x in come_out], listed)
    places = _used(functions["closure"], "p") if "closure" in functions else set()
    entries = [(p, k) for p in numbers for k in range(len(p.entries))]
    tunable = np.array([k not in places for k in range(len(entries))], dtype=bool)

    words: dict[str, Quantity] = {"q": "position", "v": "velocity"}
    told_of = [
        (joint, word, label)
        for word, quantity in words.items()
        for joint in system.joints
        for label in joint_labels(system, joint, quantity)
    ]
    size = extent(system.effective_plan)
    nominal = np.array([size if label.unit in ("m", "m/s") else 1.0 for _, _, label in told_of])
    start = np.concatenate([q0, v0])
    variables = [Variable(Signal("time", "s", "time"), "independent", "continuous")]
    states = range(1, 1 + len(start))
    initial = "approx" if system.constrained else "exact"
    for k, (joint, word, label) in enumerate(told_of):
        name = structured(label.joint, word, *coordinate_parts(label.coordinate))
        causality = "output" if f"{joint}.{word}" in of_state else "local"
        signal = Signal(name, label.unit, f"{words[word]} of joint {label.text}", float(start[k]))
        variables.append(Variable(signal, causality, "continuous", initial, float(nominal[k])))
    variables += [Variable(signal, "input", "continuous") for signal in found.signals]
    for k, (p, at) in enumerate(entries):
        signal = Signal(
            structured(*entry_parts(system.mechanism, p.entries[at])), entry_unit(system, p.entries[at]),
            f"{p.entries[at]} of the mechanism", float(p.value[at]),
        )  # fmt: skip
        variables.append(Variable(signal, "parameter", "tunable" if tunable[k] else "fixed", "exact"))
    derivatives = range(len(variables), len(variables) + len(start))
    for k in states:
        signal = variables[k].signal
        rate = Signal(f"der({signal.name})", RATE[signal.unit], f"derivative of {signal.about}")
        variables.append(Variable(rate, "local", "continuous", "calculated", of=k))
    variables += [Variable(signal, "output", "continuous", "calculated") for signal, _ in come_out]
    indicators = range(len(variables), len(variables) + len(listed))
    variables += [_of_event(event, "indicator", "", "local", "continuous") for event in listed]
    variables += [_of_event(event, "time", "s", "output", "discrete") for event in listed]
    variables += [_of_event(event, "count", "", "output", "discrete", True) for event in listed]
    _require_distinct(system, variables)
    plan = system.effective_plan
    has_rows = "closure" in functions
    return Model(
        title=system.mechanism.name, system=system, variables=tuple(variables), functions=functions, start=start,
        inputs=np.array([s.start for s in found.signals]),
        parameters=np.array([p.value[k] for p, k in entries], dtype=float), tunable=tunable, nominal=nominal,
        placed=_components(system, system.mechanism.initial.q if q is None else q),
        driven=_components(system, system.mechanism.initial.v if v is None else v),
        rotations=_rotations(system), moved=_moved(system),
        rows=scales_of(plan).rows if has_rows else np.zeros(0), units=scales_of(plan).units,
        events=tuple(listed), states=states, derivatives=derivatives, indicators=indicators, length=size,
    )  # fmt: skip


def _functions(
    formulas: Formulas, told_values: Sequence[Any], events: Sequence[Event]
) -> dict[str, ExpressionGraph]:
    """The functions of the C code, by name."""
    symbols = formulas.symbols

    def graph(name: str, takes: str, results: Mapping[str, Any]) -> ExpressionGraph:
        shaped = {n: np.asarray(x, dtype=object).ravel() for n, x in results.items()}
        return graph_of(name, {n: symbols[n] for n in takes}, shaped)

    t, q, v = symbols["t"][0], symbols["q"], symbols["v"]
    found = {
        "rate": graph("rate", "qv", {"qdot": formulas.rate()}),
        "acceleration": graph("acceleration", "qvup", {"vdot": formulas.of("forward_dynamics")["vdot"]}),
        "outputs": graph("outputs", "qvaup", {"y": told_values}),
        "indicators": graph("indicators", "tqvup", {"g": [_value(e, t, q, v) for e in events]}),
    }
    if formulas.system.effective_plan.total_constraints:
        closure = formulas.of("closure")
        found["closure"] = graph("closure", "qvp", closure)
        found["closure_jacobian"] = graph("closure_jacobian", "qp", formulas.of("closure_jacobian"))
    return found


def _value(event: Event, t: Any, q: np.ndarray, v: np.ndarray) -> Any:
    """The function of an event as an expression."""
    try:
        with on_symbols(f"Event {event.label!r}"):
            found = event.function(t, q, v)
    except ModelError as error:
        raise EquationsError(str(error)) from error
    flat = np.asarray(found, dtype=object).ravel()
    if flat.size != 1:
        raise EquationsError(f"Event {event.label!r} gives {flat.size} numbers; it must give one.")
    return flat[0]


def _formula_events(events: Any) -> list[Event]:
    listed = distinct(event_list(events))
    for event in listed:
        if event.then is not None:
            raise EquationsError(
                f"Event {event.label!r} changes the structure (then=...), and an FMU is one mechanism: leave `then` "
                f"out, and let the importer change over to another FMU."
            )
        if required_arguments(event.function) == 1:
            raise EquationsError(
                f"Event {event.label!r} asks a moment of a run by names, which is no formula: give a function of "
                f"(t, q, v)."
            )
    return listed


def _require_open(system: System) -> None:
    """Refuse what has no place in an FMU, and warn about what is otherwise there."""
    if not system.nv:
        raise EquationsError(
            f"{system.mechanism.name!r} has no joint that moves, so there is nothing that an FMU could compute."
        )
    waiting = [force for force in system.elements.placed if force.kind.inputs]
    if waiting:
        raise EquationsError(
            f"Force {waiting[0].name!r}, a {type(waiting[0].kind).__name__}, waits to be told numbers: leave it out of "
            f"the mechanism, and name what it acts on among the inputs, such as 'tool.wrench' or 'elbow.tau'."
        )
    counting = [force.at for force in system.elements.placed if force.counts]
    if counting:
        warn(
            f"FMU of {system.mechanism.name!r}: forces look at the angles of {', '.join(map(repr, counting))}, which "
            f"close loops, and there angles are told within half a turn of zero. Where such a joint turns further, "
            f"keep it in the tree: m.system(keep=[...])."
        )


def _of_event(
    event: Event, what: str, unit: str, causality: str, variability: str, is_integer: bool = False
) -> Variable:
    words = {
        "indicator": f"function of event {event.label}, which happens where it changes its sign",
        "time": f"time at which event {event.label} happened last",
        "count": f"how often event {event.label} has happened",
    }
    signal = Signal(structured("event", event.label, what), unit, words[what])
    return Variable(signal, causality, variability, "calculated", is_integer=is_integer)


def _require_distinct(system: System, variables: Sequence[Variable]) -> None:
    names = [variable.signal.name for variable in variables]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise EquationsError(
            f"FMU of {system.mechanism.name!r}: two variables would be called {twice[0]}; a number of the mechanism "
            f"is asked for twice, as an input and as a parameter, or a joint, a frame and a force share a name."
        )


def _used(graph: ExpressionGraph, name: str) -> set[int]:
    """The entries of an input that a graph depends on."""
    place = list(graph.inputs).index(name)
    return {
        int(graph.right[k]) for k, op in enumerate(graph.op) if op == INPUT and int(graph.left[k]) == place
    }


def _components(system: System, given: Any) -> np.ndarray:
    """Which velocity components (nv,) belong to joints of the tree that are given by name."""
    found = np.zeros(system.nv, dtype=bool)
    for joint in given if isinstance(given, Mapping) else ():
        if joint in system.joints:
            found[system.slice_v(joint)] = True
    return found


def _nodes(system: System) -> list[int]:
    plan = system.plan
    own = range(plan.n) if plan.owner is None else plan.owner.tolist()
    return [i for i in range(1, plan.n) if own[i] == i]


def _rotations(system: System) -> tuple[int, ...]:
    """Where quaternions begin in q."""
    plan, found = system.plan, []
    for i in _nodes(system):
        kind = described(plan.kind[i])
        if isinstance(kind, (Free, Spherical)):
            found.append(int(plan.q_start[i]) + (3 if isinstance(kind, Free) else 0))
    return tuple(found)


def _moved(system: System) -> tuple[tuple[int, int], ...]:
    """For every entry of q and of v the velocity components that move it: the first, and how many."""
    plan, of_q = system.plan, [(0, 0)] * system.nq
    for i in _nodes(system):
        nq, nv, first = int(plan.q_size[i]), int(plan.v_size[i]), int(plan.v_start[i])
        for k in range(nq):
            of_q[int(plan.q_start[i]) + k] = (first + k, 1) if nq == nv else (first, nv)
    return (*of_q, *((k, 1) for k in range(system.nv)))
