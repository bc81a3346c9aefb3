"""Equations of a mechanism, unrolled from the steps that are compiled elsewhere: evaluated, read, counted, exported."""

from catena.equations.building import graph_of, unrolled_graph
from catena.equations.equations import Equations
from catena.equations.lanes import program_of
from catena.equations.named import derive
from catena.equations.parameters import plan_in_numbers
from catena.equations.unrolling import unroll

__all__ = [
    "Equations",
    "derive",
    "graph_of",
    "plan_in_numbers",
    "program_of",
    "unroll",
    "unrolled_graph",
]
