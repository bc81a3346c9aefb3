"""The functions of an FMU's C code as expression graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.bridges.fmu.events import event_value
from catena.bridges.fmu.formulas import Formulas
from catena.equations.building import graph_of
from catena.equations.graph import INPUT, ExpressionGraph
from catena.errors import EquationsError
from catena.simulation.guards.events import Event


def make_functions(
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
        "indicators": graph("indicators", "tqvup", {"g": [event_value(e, t, q, v) for e in events]}),
    }
    if formulas.system.effective_plan.total_constraints:
        closure = formulas.of("closure")
        _require_still(formulas, [x for results in closure.values() for x in results.ravel()])
        found["closure"] = graph("closure", "qvp", closure)
        found["closure_jacobian"] = graph("closure_jacobian", "qp", formulas.of("closure_jacobian"))
    return found


def _require_still(formulas: Formulas, closure: Sequence[Any]) -> None:
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
