"""Careful steps of one state by compiled code: a tape that is laid out once for all contacts of a system."""

from __future__ import annotations

import numpy as np

from catena.dynamics.contacts.contact_impulses import TOLD, impulse_step
from catena.kernels import Session
from catena.simulation.contacts.inside import Inside
from catena.simulation.stepping.compiled import LANES_ALONE
from catena.system import System

# The last sweep from contact to contact may have changed impulses by this part of the largest.
SETTLED = 1e-10


class ImpulseSteps:
    """Takes Moreau's steps of a system with contacts (`dynamics.contacts.contact_impulses`); `driven` ones have control
    forces."""

    def __init__(self, system: System, inside: Inside, driven: bool) -> None:
        placed = system.elements.placed
        algorithm = impulse_step(inside.nodes, bool(placed))
        self.given = "given" if placed else "tau"
        absent = {"a_base", "f_given" if placed else "f_ext", *(() if driven else (self.given,))}
        program = system.program(algorithm, frozenset(absent), LANES_ALONE, placed)
        self.session = session = Session(program, 1)
        self.b = session.buffers
        self.b["contacts"][0] = inside.numbers.reshape(-1)
        session.piece(0, 0, ("contacts",), ())()
        moving = ("q", "qd", "before", "moment", *((self.given,) if driven else ()))
        self.driven, self.play = driven, session.piece(0, None, moving, tuple(program.tape.outputs))

    def step(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        gap: np.ndarray,
        last: np.ndarray,
        h: float,
        none: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the state q (nq,), v (nv,) after a step of h seconds under control forces tau (nv,) from gaps
        (contacts,) and the impulses (contacts, 3) of the step before, and what contacts did (contacts, told); gaps up
        to `none` are none. None if impulses were not found."""
        b = self.b
        if self.driven:
            b[self.given][0] = tau
        b["q"][0], b["qd"][0], b["moment"][0, 0], b["moment"][0, 1] = q, v, h, none
        before = b["before"].reshape(-1, 4)
        before[:, :3], before[:, 3] = last, gap
        if self.play():
            return None
        told, changed, most = b["told"].reshape(-1, TOLD).copy(), 0.0, 0.0
        for x, y, n, *_, change, _, _ in told.tolist():
            changed, most = max(changed, change), max(most, abs(x), abs(y), abs(n))
        if changed > SETTLED * most:
            return None
        return b["q_next"][0].copy(), b["v_next"][0].copy(), told
