"""Equations of a mechanism, unrolled from the steps that are compiled elsewhere: evaluated, read, counted, exported."""

from catena.equations.building import graph_of, unrolled_graph
from catena.equations.equations import Equations
from catena.equations.graph import ExpressionGraph
from catena.equations.lanes import program_of
from catena.equations.named import EQUATIONS, derive
from catena.equations.parameters import Parameter, SymbolicPlan, plan_in_numbers, symbolic_plan
from catena.equations.unrolling import Unrolled, UnrolledCall, unroll

__all__ = [
    "EQUATIONS",
    "UnrolledCall",
    "Equations",
    "ExpressionGraph",
    "Parameter",
    "SymbolicPlan",
    "Unrolled",
    "derive",
    "graph_of",
    "plan_in_numbers",
    "program_of",
    "symbolic_plan",
    "unroll",
    "unrolled_graph",
]
