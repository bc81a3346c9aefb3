"""A law as machine code that is called from Python for one state."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from catena.equations.building import graph_of
from catena.equations.lanes import program_of
from catena.equations.quick_symbols import quick_symbols
from catena.simulation.control.protocol import Law
from catena.spatial.on_symbols import on_symbols
from catena.spatial.scalars import array
from catena.system import System

# One state needs no wide registers.
LANES = 2


class CompilingLaw(Law, Protocol):
    """A law that tells whether it is a formula."""

    @property
    def compiles(self) -> bool:
        """Return whether it is one."""


class OneCall:
    """A law without memory that is compiled when it is first asked for one state, but for the beginning of a run, and
    found by numbers for all else."""

    def __init__(self, law: CompilingLaw, system: System) -> None:
        self.law, self.system = law, system
        self._call: Any = None
        self._begins = False

    def begin(self) -> None:
        """Begin a run, which may ask once and never again: machine code is made for the next call behind that."""
        self._begins = True

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: machine code is made again."""
        return {**self.__dict__, "_call": None}

    @cached_property
    def _compiles(self) -> bool:
        return self.law.compiles

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return tau (..., nv)."""
        inputs = self.law.inputs(t)
        is_first, self._begins = self._begins and self._call is None, False
        if np.ndim(q) == 1 and not is_first and self._compiles:
            if self._call is None:
                self._call = compiled_call(self.law, self.system)
            tau: np.ndarray | None = self._call(q, v, np.array([t], dtype=np.float64), inputs)
            if tau is not None:
                return tau
        found: np.ndarray = self.law.evaluate(t, q, v, np.zeros(0), inputs)[0]
        return found


def compiled_call(law: Law, system: System) -> Any:
    """Return a function of arrays q (nq,), v (nv,), the time (1,) and the inputs (k,) of a law without memory that
    gives tau (nv,), or None for anything out of the ordinary, such as numbers that are not finite."""
    import casadi

    def symbols(name: str, count: int) -> np.ndarray:
        return array([casadi.SX.sym(f"{name}_{k}") for k in range(count)])

    arguments = {"q": symbols("q", system.nq), "v": symbols("v", system.nv), "t": symbols("t", 1)}
    width = law.inputs(0.0).shape[-1]
    inputs = symbols("x", width)
    with on_symbols("a control law"), quick_symbols():
        tau, _ = law.evaluate(arguments["t"][0], arguments["q"], arguments["v"], np.zeros(0), inputs)
    inputs_of_call = {**arguments, "inputs": inputs} if width else arguments
    call = program_of(graph_of("law", inputs_of_call, {"tau": tau}), LANES).single(
        [first for _, first in system.plan.quaternions]
    )
    return call if width else lambda q, v, t, inputs: call(q, v, t)
