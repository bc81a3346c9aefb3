"""A law as machine code that is called from Python for one state."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.equations.building import graph_of
from catena.equations.lanes import program_of
from catena.simulation.control.protocol import Law
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import array
from catena.system import System

# One state needs no wide registers.
LANES = 2


def compiled_call(law: Law, system: System) -> Any:
    """Return a function of arrays q (nq,), v (nv,), the time (1,) and the inputs (k,) of a law without memory that
    gives tau (nv,), or None for anything out of the ordinary, such as numbers that are not finite."""
    import casadi

    def symbols(name: str, count: int) -> np.ndarray:
        return array([casadi.SX.sym(f"{name}_{k}") for k in range(count)])

    given = {"q": symbols("q", system.nq), "v": symbols("v", system.nv), "t": symbols("t", 1)}
    inputs = symbols("x", law.inputs(0.0).shape[-1])
    with on_symbols("a control law"):
        tau, _ = law.evaluate(given["t"][0], given["q"], given["v"], np.zeros(0), inputs)
    graph = graph_of("law", {**given, "inputs": inputs}, {"tau": tau})
    return program_of(graph, LANES).single([first for _, first in system.plan.quaternions])
