"""Small steps that need no modes: Coulomb's law for impulses in each of them (Moreau's time stepping).

Contacts that stick and slip in turns without end, or slip so slowly that the direction of their friction turns at once,
are too stiff for steps that find each change. Here the velocity at the end of a step decides,

    v+ = v + h M^-1 (forces at the middle) + M^-1 A^T p,   u+ = A v+,

with impulses p that obey the law with u+ (for a gap g, with u_n + g / h): whatever sticks, slides, opens or touches
within a step is found by itself. Energy never grows by contacts, and the error is of first order in h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from catena.simulation.contacts.acting import Acting
from catena.simulation.contacts.coulomb import pressed
from catena.simulation.contacts.deciding import CLOSED, DEAD
from catena.simulation.contacts.geometry import Touches
from catena.simulation.steps.work import SOURCES
from catena.simulation.trajectory import Trajectory

# Contacts nearer than this many times the way of a step [m] are looked at.
REACH = 2.0
# Contacts that come together faster than this many times what gravity gives in a step, or what does not bounce, hit.
HARD = 20.0
# So many steps are taken whatever hits: contacts of light bodies rattle.
UNASKED = 20


@dataclass(eq=False)
class CarefulSteps:
    """Moves one state of a system of a size `length` [m] by steps of h seconds."""

    acting: Acting
    length: float
    h: float

    def __post_init__(self) -> None:
        plan = self.acting.system.plan
        self.rubs = bool(
            plan.damping.any() or plan.friction.any() or any(loop.rubs for loop in plan.loop_joints)
        )
        self.last = np.zeros((len(self.acting.places.contacts), 3))

    def go(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        end: float,
        stays: Callable[[np.ndarray, np.ndarray], bool],
    ) -> tuple[Trajectory, np.ndarray]:
        """Return the motion from a state q (nq,), v (nv,) at the time t to `end`, or to where such steps are not needed
        any more (`stays`, asked with impulses and velocities (contacts, 3), says so), and the forces (samples,
        contacts, 3) in the axes of the planes, held from each sample on. An impact ends it just before."""
        times, states, forces, taus = [t], [(q, v)], [], []
        work = [np.zeros(len(SOURCES))]
        here = self.acting.places.at(q[None], v[None])
        while end - times[-1] > 1e-9 * self.h:
            h = min(self.h, end - times[-1])
            made = self._step(times[-1], q, v, here.gap[0], h, len(times) > UNASKED)
            if made is None:
                break
            q, v, here, p, tau, done = made
            times.append(times[-1] + h)
            states.append((q, v))
            forces.append(p / h)
            taus.append(tau)
            work.append(work[-1] + done)
            if not stays(p, here.A[0] @ v):
                break
        forces.append(forces[-1] if forces else np.zeros((len(self.acting.places.contacts), 3)))
        taus.append(taus[-1] if taus else self.acting.command(t, q, v))
        return self._trajectory(np.array(times), states, np.array(taus), np.array(forces), np.array(work))

    def _step(
        self, t: float, q: np.ndarray, v: np.ndarray, gap: np.ndarray, h: float, looks: bool
    ) -> tuple[np.ndarray, np.ndarray, Touches, np.ndarray, np.ndarray, np.ndarray] | None:
        """Return the state after a step from gaps (contacts,), how contacts stand then, the impulses (contacts, 3), the
        control forces and works in it; None if it `looks` for an impact and finds one that is worth telling."""
        acting, system = self.acting, self.acting.system
        tau = acting.command(t, q, v)
        middle = system.integrate(q, v, 0.5 * h)
        free = v + h * acting.free(np.array([t + 0.5 * h]), middle[None], v[None], tau[None])[0]
        touches = acting.places.at(middle[None], free[None])
        p, u = np.zeros((len(gap), 3)), touches.u[0]
        none, weight = 10.0 * CLOSED * self.length, float(np.linalg.norm(system.gravity))
        near = np.flatnonzero(gap + REACH * h * np.minimum(u[:, 2], 0.0) <= none)
        after = free
        if len(near):
            hits = (gap[near] > none) & (gap[near] + h * u[near, 2] <= 0.0)
            if looks and np.any(hits & (u[near, 2] < -HARD * max(DEAD, h * weight))):
                return None
            some = touches.only([int(k) for k in near])
            response, W = (x[0] for x in acting.mobility(middle[None], some))
            c = some.u[0].copy()
            c[:, 2] += np.where(gap[near] > none, gap[near], 0.0) / h
            names = [acting.places.labels[k] for k in near]
            p[near] = pressed(
                W, c, acting.places.friction[near], [None] * len(near), names, self.last[near]
            ).f
            after = free + np.einsum("ka,kan->n", p[near], response)
        self.last = p
        q_new = system.integrate(q, 0.5 * (v + after), h)
        if acting.excitation.motion:
            q_new, after = (x[0] for x in acting.excitation.imposed(t + h, q_new[None], after[None])[:2])
        q_new, after, here = self._mended(q_new, after, p[:, 2] > 0.0)
        mean = 0.5 * (v + after)
        done = self._works(middle, mean, tau, h)
        done[SOURCES.index("wrenches")] += float((p * (touches.A[0] @ mean)).sum())
        return q_new, after, here, p, tau, done

    def _mended(
        self, q: np.ndarray, v: np.ndarray, pushed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Touches]:
        """Return a state in which contacts that are `pushed` (contacts,) touch, and none is in its plane, and how they
        stand there."""
        acting, system = self.acting, self.acting.system
        if system.constrained:
            q, v = system.project(q, v)
        none = 0.1 * CLOSED * self.length
        touches = acting.places.at(q[None], v[None])
        for _ in range(4):
            wrong = np.where(pushed, touches.gap[0], np.minimum(touches.gap[0], 0.0))
            if np.all(np.abs(wrong) <= none):
                break
            near = [int(k) for k in np.flatnonzero(pushed | (wrong < 0.0))]
            response, W = (x[0] for x in acting.mobility(q[None], touches.only(near)))
            push = np.linalg.lstsq(W[:, 2, :, 2], -wrong[near], rcond=1e-11)[0]
            q = system.integrate(q, push @ response[:, 2])
            touches = acting.places.at(q[None], v[None])
        return q, v, touches

    def _works(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float) -> np.ndarray:
        """Return the works (sources,) in a step, by what happens in its middle."""
        system = self.acting.system
        own = {} if system.elements.is_empty and not self.rubs else system.force_powers(q[None], v[None])
        done = np.array([h * float(own[name][0]) if name in own else 0.0 for name in SOURCES])
        done[SOURCES.index("actuators")] += h * float(tau @ v)
        return done

    def _trajectory(
        self, t: np.ndarray, states: list[tuple[np.ndarray, np.ndarray]], tau: np.ndarray, forces: np.ndarray,
        work: np.ndarray,
    ) -> tuple[Trajectory, np.ndarray]:  # fmt: skip
        places, system = self.acting.places, self.acting.system
        q, v = np.array([x for x, _ in states]), np.array([x for _, x in states])
        touches = places.at(q, v)
        wrenches = places.wrenches(touches, forces)
        settings = {"integrator": f"careful steps of {self.h:.3g} s", "steps taken by": "Python"}
        done = {name: work[:, k] for k, name in enumerate(SOURCES)}
        run = Trajectory(
            system, t, q, v, tau, len(t) - 1, work=done, wrenches=wrenches, settings=settings, held=True
        )
        return run, touches.told(forces)
