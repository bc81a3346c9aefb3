"""What acts besides contacts at one instant, as compiled code for single states is told of it: control forces, wrenches
and forces that only Python knows, and the accelerations of joints whose motion is prescribed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from catena.kernels import Algorithm, Session
from catena.kernels.algorithm import FORCE_INPUTS, NEAR
from catena.simulation.acting.acting_forces import ActingForces
from catena.simulation.stepping.compiled import LANES_ALONE

Near = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


class InstantLoads:
    """What an `acting` gives, for algorithms of a tree, beside contacts among which `dry` friction of joints may
    be. `changing` are the inputs that `put` writes; `near` gives the positions (1, n) that joints of forces which count
    turns are near at a time and a state."""

    def __init__(self, acting: ActingForces, dry: bool = False, near: Near | None = None) -> None:
        self.acting, self.placed, self.near = acting, acting.placed, near
        self.is_driven, self.asks_elements = bool(acting.motion), acting.has_python_elements
        self.target, self.wrench = ("given", "f_given") if self.placed else ("tau", "f_ext")
        self.is_given = acting.control is not None or self.asks_elements or dry
        self.changing: tuple[str, ...] = (self.target,) if self.is_given else ()
        self.changing += (self.wrench,) if self.asks_elements else ()
        self.changing += (FORCE_INPUTS,) if acting.forces else ()
        self.changing += ("qdd_given",) if self.is_driven else ()
        self.counts = near is not None and bool(acting.counted) and not self.asks_elements
        self.changing += (NEAR,) if self.counts else ()

    def session(self, algorithm: Algorithm) -> Session:
        """Return a session of one state for an algorithm with these inputs."""
        absent = {"a_base", self.target, self.wrench} - {*self.changing}
        system = self.acting.system
        found = Session(system.mechanics.program(algorithm, frozenset(absent), LANES_ALONE, self.placed), 1)
        if self.is_driven:
            found.buffers["driven"][0, self.acting.driven] = 1.0
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
        acting = self.acting
        if self.counts and self.near is not None:
            b[NEAR][:] = self.near(t, q, v)
        if self.asks_elements:
            near = np.zeros((1, 0)) if self.near is None else self.near(t, q, v)
            more, wrenches = acting.beyond_compiled(q[None], v[None], tau[None], near)
            tau, b[self.wrench][0] = more[0], wrenches[0]
        if self.is_given:
            b[self.target][0] = tau
        if acting.forces:
            b[FORCE_INPUTS][0] = acting.told_wrenches(t, q[None], v[None])[0]
        if self.is_driven:
            for joint, (_, _, vdot) in acting.prescribed.at(t).items():
                b["qdd_given"][0, acting.system.slice_v(joint)] = vdot
