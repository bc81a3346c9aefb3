"""Careful steps of one state by compiled code: a tape that is laid out once for all contacts of a system."""

from __future__ import annotations

import numpy as np

from catena.dynamics.contacts.contact_impulses import TOLD, impulse_step
from catena.simulation.contacts.inside import Inside
from catena.simulation.contacts.instant_loads import InstantLoads

# The last sweep from contact to contact may have changed impulses by this part of the largest.
SETTLED = 1e-10


class ImpulseSteps:
    """Takes Moreau's steps of a system with contacts (`dynamics.contacts.contact_impulses`) under some `loads`."""

    def __init__(self, loads: InstantLoads, inside: Inside) -> None:
        self.loads, self.places = loads, inside.places
        session = loads.session(impulse_step(inside.nodes, bool(loads.placed), loads.is_driven))
        self.b = session.buffers
        self.b["contacts"][0] = inside.whole.reshape(-1)
        session.piece(0, 0, ("contacts", *loads.constant), ())()
        bent = ("fields",) if self.places.on_fields else ()
        moving = ("q", "qd", "before", "moment", *bent, *loads.changing)
        self.play = session.piece(0, None, moving, tuple(session.program.tape.outputs))

    def step(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        gap: np.ndarray,
        last: np.ndarray,
        h: float,
        none: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the state q (nq,), v (nv,) after a step of h seconds from a time on, under control forces tau (nv,),
        from gaps (contacts,) and the impulses (contacts, 3) of the step before, and what contacts did (contacts, told);
        gaps up to `none` are none. None if impulses were not found."""
        b = self.b
        # All of the dry friction of joints is found here, together with contacts.
        smooth = self.places.smooth_friction(q[None], v[None])[1][0]
        self.loads.put(b, t + 0.5 * h, q, v, tau + smooth)
        b["q"][0], b["qd"][0], b["moment"][0, 0], b["moment"][0, 1] = q, v, h, none
        if self.places.on_fields:
            b["fields"][:] = self.places.fields(self.loads.acting.system.integrate(q, 0.5 * h * v)[None])
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
