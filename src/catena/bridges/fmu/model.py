"""All that is in an FMU, before it is written: its variables, its functions as expression graphs, and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.bridges.fmu.formulas import FmuEquations
from catena.bridges.fmu.inputs import find_inputs
from catena.bridges.fmu.loop_joints import with_loop_joints
from catena.bridges.fmu.naming import FmuSignal, listed_names
from catena.bridges.fmu.outputs import chosen_outputs, output_equations
from catena.bridges.fmu.variables import (
    Variable,
    of_derivatives,
    of_event,
    of_parameters,
    of_states,
    require_distinct,
)
from catena.equations.building import graph_of
from catena.equations.graph import INPUT, ExpressionGraph
from catena.equations.parameters import find_parameters
from catena.errors import EquationsError, ModelError, StateError, warn
from catena.kinematics.extent import extent
from catena.kinematics.loops.scales import scales_of
from catena.simulation.arguments import event_list, initial_state
from catena.simulation.guards.events import Event, distinct, required_arguments
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import array
from catena.system import System
from catena.system.load_friction import require_none


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


@dataclass(frozen=True, eq=False)
class Model:
    """A mechanism as an FMU: variables in the order of their value references, functions by name, the state to begin
    with (nq + nv,), which velocity components were placed and driven by whoever exports, how entries of q are
    grouped, and what imposes each of the constraints. `states`, `derivatives` and `indicators` are places among the
    variables."""

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
    constraints: tuple[str, ...]
    rows: np.ndarray
    units: np.ndarray
    events: tuple[Event, ...]
    states: range
    derivatives: range
    indicators: range
    length: float

    @property
    def has_slopes(self) -> bool:
        """Whether there are directional derivatives."""
        return "rate_slope" in self.functions


def make_model(
    system: System, inputs: Iterable[str] | None, outputs: Iterable[str] | None, parameters: Iterable[str],
    q: Any, v: Any, events: Any, derivatives: bool, pull: float,
) -> Model:  # fmt: skip
    """Return the FMU of a system with inputs, outputs and parameters by name, beginning at q and v, with events, and
    with directional derivatives if they are wanted. Joints that are driven come to their motions at the rate `pull`
    [1/s]."""
    q0, v0 = initial_state(system, q, v)
    if q0.ndim != 1 or v0.ndim != 1:
        raise StateError("An FMU begins with one state: give one configuration and one velocity, no batch.")
    _require_open(system)
    listed = formula_events(events)
    found = find_inputs(system, inputs, q0, v0)
    of_state, computed, gauges = chosen_outputs(system, outputs)
    numbers = find_parameters(system.mechanism, listed_names("parameters", parameters))
    wide = with_loop_joints(system, found.motors, gauges)
    formulas = FmuEquations(wide, found, numbers, pull, {"q": q0, "v": v0})
    come_out = output_equations(formulas, computed)
    functions = make_functions(formulas, [x for _, x in come_out], listed, derivatives)
    is_closed = "closure" in functions
    values = np.concatenate([np.zeros(0), *(p.value for p in numbers)])
    held = entries_used(functions["closure"], "p") if is_closed else set()
    tunable = np.array([k not in held for k in range(len(values))], dtype=bool)

    # Value references count the variables in this order, as model.h has it.
    start, size = np.concatenate([q0, v0]), extent(system.mechanics.effective_plan)
    variables = [Variable(FmuSignal("time", "s", "time"), "independent", "continuous")]
    state = of_states(system, start, of_state, "approx" if is_closed else "exact", size)
    states = range(1, 1 + len(state))
    variables += state
    variables += [Variable(signal, "input", "continuous") for signal in found.signals]
    variables += of_parameters(system, numbers, tunable.tolist())
    rates = range(len(variables), len(variables) + len(state))
    variables += of_derivatives(state, states[0])
    variables += [Variable(signal, "output", "continuous", "calculated") for signal, _ in come_out]
    indicators = range(len(variables), len(variables) + len(listed))
    variables += [of_event(event, "indicator", "", "local", "continuous") for event in listed]
    variables += [of_event(event, "time", "s", "output", "discrete") for event in listed]
    variables += [of_event(event, "count", "", "output", "discrete", True) for event in listed]
    require_distinct(system, variables)
    plan = system.mechanics.effective_plan
    return Model(
        title=system.mechanism.name, system=system, variables=tuple(variables), functions=functions, start=start,
        inputs=np.array([s.start for s in found.signals]),
        parameters=values, tunable=tunable, nominal=np.array([variable.nominal for variable in state], dtype=float),
        placed=_components(system, system.mechanism.initial.q if q is None else q),
        driven=_components(system, system.mechanism.initial.v if v is None else v),
        rotations=_rotations(system), moved=_moved(system), constraints=_constraints(system),
        rows=scales_of(plan).rows if is_closed else np.zeros(0), units=scales_of(plan).units,
        events=tuple(listed), states=states, derivatives=rates, indicators=indicators, length=size,
    )  # fmt: skip


def _require_open(system: System) -> None:
    """Refuse what has no place in an FMU, and warn about what is otherwise there."""
    if not system.nv:
        raise EquationsError(
            f"{system.mechanism.name!r} has no joint that moves, so there is nothing that an FMU could compute."
        )
    waiting = [force for force in system.mechanics.elements.placed if force.kind.inputs]
    if waiting:
        raise EquationsError(
            f"Force {waiting[0].name!r}, a {type(waiting[0].kind).__name__}, waits to be told numbers: leave it out of "
            f"the mechanism, and name what it acts on among the inputs, such as 'tool.wrench' or 'elbow.tau'."
        )
    counting = [force.at for force in system.mechanics.elements.placed if force.counts]
    if counting:
        warn(
            f"FMU of {system.mechanism.name!r}: forces look at the angles of {', '.join(map(repr, counting))}, which "
            f"close loops, and there angles are told within half a turn of zero. Where such a joint turns further, "
            f"keep it in the tree: m.system(keep=[...])."
        )
    require_none(system, "an FMU")
    rubbing = [joint for joint in system.joints if np.any(system.plan.friction[system.slice_v(joint)])]
    if rubbing:
        warn(
            f"FMU of {system.mechanism.name!r}: dry friction of {', '.join(map(repr, rubbing))} goes smoothly through "
            f"rest there, so that joints creep that stick here. It is the same as here where they keep moving."
        )


def _components(system: System, by_joint: Any) -> np.ndarray:
    """Return which velocity components (nv,) belong to joints of the tree that are given by name."""
    found = np.zeros(system.nv, dtype=bool)
    for joint in by_joint if isinstance(by_joint, Mapping) else ():
        if joint in system.joints:
            found[system.slice_v(joint)] = True
    return found


def _nodes(system: System) -> list[int]:
    plan = system.plan
    own = range(plan.n) if plan.owner is None else plan.owner.tolist()
    return [i for i in range(1, plan.n) if own[i] == i]


def _rotations(system: System) -> tuple[int, ...]:
    """Return where quaternions begin in q."""
    return tuple(start for _, start in system.plan.quaternions)


def _constraints(system: System) -> tuple[str, ...]:
    """Return what imposes each of the constraints, in words."""
    plan = system.mechanics.effective_plan
    loops = [f"the loop of joint {loop.name}" for loop in plan.loop_joints for _ in range(loop.constraints)]
    ties = [f"coupling {tied.name}" for tied in plan.couplings for _ in range(tied.constraints)]
    return (*loops, *ties)


def _moved(system: System) -> tuple[tuple[int, int], ...]:
    """For every entry of q and of v the velocity components that move it: the first, and how many."""
    plan, of_q = system.plan, [(0, 0)] * system.nq
    for i in _nodes(system):
        nq, nv, first = int(plan.q_size[i]), int(plan.v_size[i]), int(plan.v_start[i])
        for k in range(nq):
            of_q[int(plan.q_start[i]) + k] = (first + k, 1) if nq == nv else (first, nv)
    return (*of_q, *((k, 1) for k in range(system.nv)))


def make_functions(
    formulas: FmuEquations, told_values: Sequence[Any], events: Sequence[Event], slopes: bool
) -> dict[str, ExpressionGraph]:
    """Return the functions of the C code, by name; with `slopes` also how their results change with their arguments,
    under the same names with "_slope" after them."""
    symbols = formulas.symbols

    found: dict[str, ExpressionGraph] = {}

    def add(name: str, takes: str, results: Mapping[str, Any], has_slope: bool = slopes) -> None:
        shaped = {n: np.asarray(x, dtype=object).ravel() for n, x in results.items()}
        own = {n: symbols[n] for n in takes}
        found[name] = graph_of(name, own, shaped)
        if has_slope:
            seeds = {f"d{n}": formulas.seeds[f"d{n}"] for n in takes}
            changes = {n: _change(x, own.values(), seeds.values()) for n, x in shaped.items()}
            found[f"{name}_slope"] = graph_of(f"{name}_slope", own | seeds, changes)

    t, q, v = symbols["t"][0], symbols["q"], symbols["v"]
    add("rate", "qv", {"qdot": formulas.rate()})
    add("acceleration", "qvup", {"vdot": formulas.driven_dynamics[0]})
    add("outputs", "qvaup", {"y": told_values})
    add("indicators", "tqvup", {"g": [event_value(e, t, q, v) for e in events]}, has_slope=False)
    if formulas.system.mechanics.effective_plan.total_constraints:
        closure = formulas.of("closure")
        _require_still(formulas, [x for results in closure.values() for x in results.ravel()])
        add("closure", "qvp", closure)
        add("closure_jacobian", "qp", formulas.of("closure_jacobian"), has_slope=False)
    return found


def _change(
    expressions: np.ndarray, arguments: Iterable[np.ndarray], seeds: Iterable[np.ndarray]
) -> np.ndarray:
    """Return the changes (n,) of expressions for changes of their arguments."""
    import casadi

    if not len(expressions):
        return np.zeros(0)
    column = casadi.vertcat(*(casadi.SX(x) for x in expressions))
    at, along = (casadi.vertcat(*(x for part in parts for x in part)) for parts in (arguments, seeds))
    found = casadi.densify(casadi.jtimes(column, at, along))
    return array([found[k] for k in range(len(expressions))])


def _require_still(formulas: FmuEquations, closure: Sequence[Any]) -> None:
    """Refuse inputs that move loops: what is closed in one step would be open in the next."""
    import casadi

    column = casadi.vertcat(*(casadi.SX(x) for x in closure))
    for name, symbols in formulas.inputs.numbers(formulas.symbols["u"]).items():
        if casadi.depends_on(column, casadi.vertcat(*symbols)):
            raise EquationsError(
                f"FMU of {formulas.system.mechanism.name!r}: {name!r} moves the loops, so it cannot change while the "
                f"mechanism runs: make it a parameter, or let a joint with a force move there."
            )


def entries_used(graph: ExpressionGraph, name: str) -> set[int]:
    """Return the entries of an input that a graph depends on."""
    place = list(graph.inputs).index(name)
    return {
        int(graph.right[k]) for k, op in enumerate(graph.op) if op == INPUT and int(graph.left[k]) == place
    }
