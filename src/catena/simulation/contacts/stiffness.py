"""Springs, dampers, modes and continuous controllers that are too stiff for a careful step, as a part of its inertia.

With forces that change by -C dv and -K dq, C and K symmetric, a step of h seconds that is implicit in them moves like
one whose inertia is

    M + h C + h^2 / 4 K,

with C at the end of the step, which quiets what is damped quickly, and K in its middle, which keeps the energy of what
swings quickly. Only what resists is taken: what drives stays explicit. Both are found by differences of accelerations,
along motions of unit energy that loops and prescribed joints allow, whatever the forces come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.kinematics.loops.scales import scales_of
from catena.simulation.contacts.free_motion import FreeMotion

# Steps are implicit where the resistance within a step is more than this part of the inertia.
STIFF = 0.5
# So many steps that are not stiff are taken before resistance is looked at again, and twice as many each time.
SURE = 20
# Explicit steps so many times as large, so many of them in a row, would have swung by what is stiff: within a step they
# are stable up to a damping of 3.3 and of 6.4, and up to an angle of 1.0 and of 6.0 by which something swings.
LARGER, MANY = {"dopri5": 7.0, "dop853": 15.0}, 10
# The increment of difference quotients, in radians, lengths, and those per second where velocities are lower.
INCREMENT = 1e-6
# Motions that are less mobile than this part of the most mobile one are not allowed by loops or prescribed joints.
FIXED = 1e-12


@dataclass(frozen=True, eq=False)
class Stiffness:
    """The resistance at a state: motions L (nv, r) of unit energy, their inverse (r, nv), and how forces change along
    them with velocities, C (r, r), and positions, K (r, r)."""

    L: np.ndarray
    inverse: np.ndarray
    C: np.ndarray
    K: np.ndarray

    @cached_property
    def damping(self) -> np.ndarray:
        """Return what resists of C, (r, r)."""
        return _resisting(self.C)

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Return what resists of K, (r, r)."""
        return _resisting(self.K)

    def resistance(self, h: float) -> np.ndarray:
        """Return how much of the inertia, (r, r), resistance adds to it in a step of h seconds."""
        return h * self.damping + 0.25 * h * h * self.stiffness

    def is_stiff(self, h: float) -> bool:
        """Return whether a step of h seconds should be implicit."""
        if not self.L.size:
            return False
        # A sum resists no more than its parts.
        C, K = (max(0.0, float(np.linalg.eigvalsh(0.5 * (A + A.T))[-1])) for A in (self.C, self.K))
        if h * C + 0.25 * h * h * K <= STIFF:
            return False
        return bool(np.linalg.norm(self.resistance(h), 2) > STIFF)

    def softened(self, change: np.ndarray, h: float) -> np.ndarray:
        """Return changes (..., nv) of velocities of what they would be without resistance in a step of h seconds."""
        R = self.resistance(h)
        lost = np.linalg.solve(np.eye(len(R)) + R, R)
        found: np.ndarray = change - change @ (self.L @ lost @ self.inverse).T
        return found

    def lost(self, before: np.ndarray, after: np.ndarray, h: float) -> float:
        """Return the work that damping does in a step from velocities (nv,) to others, beyond that of the forces with
        which it begins."""
        y, mean = self.inverse @ (after - before), 0.5 * self.inverse @ (before + after)
        return -h * float(mean @ self.damping @ y)


class StiffnessWatch:
    """Says which steps are stiff. Where they are not, resistance is looked at ever more rarely, and when velocities
    swing to and fro more and more from step to step, as they do where steps are too large for what resists."""

    def __init__(self, free_motion: FreeMotion) -> None:
        self.free_motion, plan, acting = free_motion, free_motion.system.plan, free_motion.acting
        self.may_resist = bool(
            not free_motion.system.mechanics.elements.is_empty
            or acting.forces
            or acting.is_asked_always
            or plan.damping.any()
            or plan.friction.any()
            or any(loop.rubs for loop in plan.loop_joints)
            or plan.owner is not None
        )
        self.left, self.sure = 0, SURE
        self.v, self.change = np.zeros(plan.nv), np.zeros(plan.nv)

    def begin(self, v: np.ndarray) -> None:
        """Begin a row of steps at velocities v (nv,): what happened since the last row was no step."""
        self.v, self.change = v, np.zeros(len(v))

    def passed(self, times: np.ndarray, h: float) -> None:
        """Take account of the times of explicit steps that went on while no contact touched: where they were much
        larger than steps of h seconds, these are not stiff."""
        larger = LARGER.get(self.free_motion.problem.integrator)
        if self.left > 0 or larger is None or len(times) < MANY + 2:
            return
        # The last step was made to end where something touches.
        if np.diff(times[-MANY - 2 : -1]).min() > larger * h:
            self.left, self.sure = self.sure, 2 * self.sure

    def at(self, t: float, q: np.ndarray, v: np.ndarray, h: float) -> Stiffness | None:
        """Return the resistance at a state q (nq,), v (nv,) and a time t from which a step of h seconds is stiff; None
        where it is not."""
        if not self.may_resist:
            return None
        change, past = v - self.v, self.change
        self.v, self.change = v, change
        self.left -= 1
        if self.left > 0 and change @ past >= -(past @ past):
            return None
        found = stiffness_at(self.free_motion, t, q, v)
        if found.is_stiff(h):
            self.left, self.sure = 0, SURE
            return found
        self.left, self.sure = self.sure, 2 * self.sure
        return None


def stiffness_at(free_motion: FreeMotion, t: float, q: np.ndarray, v: np.ndarray) -> Stiffness:
    """Return the resistance at a state q (nq,), v (nv,) and a time t."""
    nv, units = free_motion.system.nv, scales_of(free_motion.system.plan).units
    tau = free_motion.command(t, q, v)
    when, pushed = np.array([t]), np.diag(1.0 / units)[None]
    found = free_motion.accelerations(when, q[None], v[None], tau[None], pushed)[0]
    Y = (found[1:] - found[0]) / units
    mobile, V = np.linalg.eigh(0.5 * (Y + Y.T))
    keep = mobile > FIXED * mobile.max(initial=0.0)
    root = np.sqrt(mobile[keep])
    L, inverse = units[:, None] * V[:, keep] * root, (V[:, keep] / root).T / units
    r = L.shape[1]
    length = np.abs(L / units[:, None]).max(axis=0, initial=0.0)
    speed = max(1.0, float(np.abs(v / units).max(initial=0.0)))
    at, by = INCREMENT * (L / length).T, INCREMENT * speed * (L / length).T
    none, here = np.zeros((2 * r, nv)), np.repeat(q[None], 2 * r, axis=0)
    states = np.concatenate([free_motion.system.integrate(here, np.concatenate([at, -at])), here])
    rates = v + np.concatenate([none, by, -by])
    if free_motion.acting.is_asked_always:
        told = np.array([free_motion.command(t, *row) for row in zip(states, rates, strict=True)])
    else:
        told = np.repeat(tau[None], 4 * r, axis=0)
    # Dry friction that is found together with contacts does not resist: careful steps are implicit in it anyway.
    told = told + free_motion.places.smooth_friction(states, rates)[1]
    a = free_motion.accelerations(np.full(4 * r, t), states, rates, told, np.zeros((4 * r, 0, nv)))[:, 0]
    more = 0.5 * length / INCREMENT
    K = -((a[:r] - a[r : 2 * r]) * more[:, None]) @ inverse.T
    C = -((a[2 * r : 3 * r] - a[3 * r :]) * more[:, None] / speed) @ inverse.T
    return Stiffness(L, inverse, C, K)


def _resisting(A: np.ndarray) -> np.ndarray:
    """Return the part of a matrix (r, r) that is symmetric and positive."""
    w, V = np.linalg.eigh(0.5 * (A + A.T))
    found: np.ndarray = (V * np.maximum(w, 0.0)) @ V.T
    return found
