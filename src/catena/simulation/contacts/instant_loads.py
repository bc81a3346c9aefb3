"""What acts besides contacts at one instant, as compiled code for single states is told of it: control forces, wrenches
and forces that only Python knows, and the accelerations of joints whose motion is prescribed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catena.kernels import Algorithm, Session
from catena.kernels.algorithm import FORCE_INPUTS
from catena.simulation.acting.excitation import ActingForces
from catena.simulation.stepping.compiled import LANES_ALONE


class InstantLoads:
    """What an `excitation` gives, for algorithms of a tree. `changing` are the inputs that `put` writes."""

    def __init__(self, excitation: ActingForces) -> None:
        self.excitation, self.placed = excitation, excitation.placed
        self.is_driven, self.asks_elements = bool(excitation.motion), excitation.has_python_elements
        self.target, self.wrench = ("given", "f_given") if self.placed else ("tau", "f_ext")
        self.is_given = excitation.control is not None or self.asks_elements
        self.changing: tuple[str, ...] = (self.target,) if self.is_given else ()
        self.changing += (self.wrench,) if self.asks_elements else ()
        self.changing += (FORCE_INPUTS,) if excitation.forces else ()
        self.changing += ("qdd_given",) if self.is_driven else ()

    def session(self, algorithm: Algorithm) -> Session:
        """Return a session of one state for an algorithm with these inputs."""
        absent = {"a_base", self.target, self.wrench} - {*self.changing}
        system = self.excitation.system
        found = Session(system.mechanics.program(algorithm, frozenset(absent), LANES_ALONE, self.placed), 1)
        if self.is_driven:
            found.buffers["driven"][0, self.excitation.driven] = 1.0
        return found

    @property
    def constant(self) -> tuple[str, ...]:
        """Return the inputs that stay as they are."""
        return ("driven",) if self.is_driven else ()

    def put(
        self, b: Mapping[str, np.ndarray], t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> None:
        """Write what acts at a time and a state q (nq,), v (nv,) under control forces tau (nv,) to the buffers of a
        session."""
        excitation = self.excitation
        if self.asks_elements:
            near = np.zeros((1, 0))
            more, wrenches = excitation.beyond_compiled(q[None], v[None], tau[None], near)
            tau, b[self.wrench][0] = more[0], wrenches[0]
        if self.is_given:
            b[self.target][0] = tau
        if excitation.forces:
            b[FORCE_INPUTS][0] = excitation.told_wrenches(t, q[None], v[None])[0]
        if self.is_driven:
            for joint, (_, _, vdot) in excitation.prescribed(t).items():
                b["qdd_given"][0, excitation.system.slice_v(joint)] = vdot
