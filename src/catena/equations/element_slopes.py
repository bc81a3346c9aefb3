"""How the forces of a mechanism change with its state: the derivatives by steps and by velocities of the joint forces
of the tree that move it as they do (`dynamics/elements/element_force.py`), unrolled and differentiated by CasADi."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from catena.dynamics.elements.element_force import element_force
from catena.equations.parameters import SymbolicPlan, symbolic_plan
from catena.equations.quick_symbols import quick_symbols
from catena.equations.unrolling import new_symbols, unroll
from catena.forces import ForceKind, LineForce, PlacedForce
from catena.kinematics import rate
from catena.mechanism import Mechanism
from catena.structure import Plan

Placing = Callable[[Plan], tuple[PlacedForce, ...]]
"""Finds the forces of a mechanism on a plan of it."""


class ElementSlopes:
    """The derivatives on one plan; the function is made once."""

    def __init__(self, mechanism: Mechanism, plan: Plan, placing: Placing) -> None:
        import casadi

        self._nv = plan.nv
        symbolic = symbolic_plan(mechanism, plan, ())
        q, v = new_symbols("q", plan.nq), new_symbols("qd", plan.nv)
        with quick_symbols():
            forces = placed_symbols(symbolic, placing)
            load = unroll(element_force, symbolic, {"q": q, "qd": v}, forces=forces).outputs["load"]
            along = step_rates(symbolic, q)
        column, at, rates = _column(load), _column(q), _column(v)
        by_q, by_v = (
            casadi.sparsify(x) for x in (casadi.jacobian(column, at) @ along, casadi.jacobian(column, rates))
        )
        # Most forces act on few joints: only what can differ from zero is computed.
        self._places = [_places(x) for x in (by_q, by_v)]
        slopes = casadi.vertcat(*(casadi.SX(x.nz[:]) if x.nnz() else casadi.SX(0, 1) for x in (by_q, by_v)))
        self._function = casadi.Function("slopes", [at, rates], [casadi.cse(casadi.densify(slopes))])

    def at(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives (states, nv, nv) by steps and by velocities at q (states, nq) and v (states, nv)."""
        by_q, by_v = np.zeros((2, len(q), self._nv, self._nv))
        count = len(self._places[0][0])
        if len(q) and count + len(self._places[1][0]):
            found = np.asarray(self._function(np.ascontiguousarray(q.T), np.ascontiguousarray(v.T))).T
            for y, x, (rows, columns) in zip(
                (by_q, by_v), (found[:, :count], found[:, count:]), self._places, strict=True
            ):
                y[:, rows, columns] = x
        return by_q, by_v


def _places(matrix: Any) -> tuple[list[int], list[int]]:
    """Return the rows and columns of the entries that are kept of a sparse matrix, in the order in which they are
    kept."""
    rows, columns = matrix.sparsity().get_triplet()
    return list(rows), list(columns)


def placed_symbols(symbolic: SymbolicPlan, placing: Placing | None) -> tuple[PlacedForce, ...]:
    """Return the forces of a mechanism on a plan with symbols, with symbols in their kinds too; none without
    `placing`."""
    placed = placing(symbolic.plan) if placing else ()
    return tuple(replace(force, kind=_kind_of(force, symbolic)) for force in placed)


def _kind_of(force: PlacedForce, symbolic: SymbolicPlan) -> ForceKind:
    """Return the kind of a force with the symbols that are asked for."""
    found = symbolic.kinds.get(force.whole)
    if force.kind.described is not force.kind:
        return replace(force.kind, whole=found) if isinstance(found, LineForce) else force.kind  # type: ignore[type-var]
    return (found or force.kind).under(symbolic.plan.gravity)


def step_rates(symbolic: SymbolicPlan, q: np.ndarray) -> Any:
    """dq/dt for a unit velocity of each component, as a sparse matrix (nq, nv) of symbols."""
    import casadi

    v = new_symbols("unit", symbolic.plan.nv)
    moving = unroll(rate, symbolic, {"q": q, "qd": v}).outputs["rate"]
    return casadi.sparsify(casadi.jacobian(_column(moving), _column(v)))


def _column(entries: Any) -> Any:
    import casadi

    listed = list(entries)
    return casadi.vertcat(*(casadi.SX(e) for e in listed)) if listed else casadi.SX(0, 1)
