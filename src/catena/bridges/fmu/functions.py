"""The functions of an FMU's C code as expression graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from catena.bridges.fmu.events import event_value
from catena.bridges.fmu.formulas import FmuEquations
from catena.equations.building import graph_of
from catena.equations.graph import INPUT, ExpressionGraph
from catena.errors import EquationsError
from catena.simulation.guards.events import Event
from catena.spatial.scalars import array


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
    """The changes (n,) of expressions for changes of their arguments."""
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
    """The entries of an input that a graph depends on."""
    place = list(graph.inputs).index(name)
    return {
        int(graph.right[k]) for k, op in enumerate(graph.op) if op == INPUT and int(graph.left[k]) == place
    }
