"""Small steps that need no modes: Coulomb's law for impulses in each of them (Moreau's time stepping).

Contacts that stick and slip in turns without end, or slip so slowly that the direction of their friction turns at once,
are too stiff for steps that find each change. Here the velocity at the end of a step decides,

    v+ = v + h M^-1 (forces at the middle) + M^-1 A^T p,   u+ = A v+ + h/2 b,

with A and b = A' v of the middle of the step, and impulses p that obey the law with u+ (for a gap g, with u_n + g / h):
whatever sticks, slides, opens or touches within a step is found by itself. The error is of first order in h. Where
springs, dampers, modes or controllers are stiff for such a step, it is implicit in them (`stiffness`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from catena.errors import SimulationError
from catena.simulation.acting import loads
from catena.simulation.contacts.coulomb import Pressed, pressed
from catena.simulation.contacts.deciding import CLOSED, DEAD
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.impulses import ImpulseSteps
from catena.simulation.contacts.regular import within_reach
from catena.simulation.contacts.stiffness import Stiffness, StiffnessWatch
from catena.simulation.following import nobody_follows
from catena.simulation.lanes import Going, alone
from catena.simulation.results.on_demand import OnDemand
from catena.simulation.results.segment import Segment
from catena.simulation.stepping.methods.work import SOURCES

# Contacts nearer than this many times the way of a step [m] are looked at.
REACH = 2.0
# Contacts that come together faster than this many times what gravity gives in a step, or what does not bounce, hit.
HARD = 20.0
# What contacts give where they cannot be held together, as parts of what they yield by themselves.
GIVES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
# So many steps are taken whatever hits: contacts of light bodies rattle.
UNASKED = 20


@dataclass(frozen=True, eq=False)
class _Taken:
    """A step: the state q (nq,), v (nv,) at its end with gaps (contacts,) and velocities u (contacts, 3) of contacts,
    their impulses p (contacts, 3), the control forces, the state at its start, the work of contacts, what friction
    does beyond the forces with which it begins, the work of dry friction in joints, and how contacts yield along
    their planes (contacts,)."""

    q: np.ndarray
    v: np.ndarray
    gap: np.ndarray
    u: np.ndarray
    p: np.ndarray
    tau: np.ndarray
    start: tuple[np.ndarray, np.ndarray]
    done: tuple[float, float, float]
    yields: np.ndarray


@dataclass(eq=False)
class CarefulSteps:
    """Moves one state of a system of a size `length` [m] by steps of h seconds, `compiled` ones where they do; `watch`
    says where these do not. The first ones, so many as are `unasked`, are taken whatever hits. Who follows the run is
    told by `tick` how far it is, and may cancel it."""

    free_motion: FreeMotion
    length: float
    h: float
    compiled: ImpulseSteps | None
    watch: StiffnessWatch
    tick: Callable[[float], None] = nobody_follows
    unasked: int = UNASKED

    def __post_init__(self) -> None:
        self.pushes = np.zeros((0, 0, 3))
        """The forces (samples, contacts, 3) of the last steps in the axes of the contacts."""
        self.last = np.zeros((len(self.free_motion.places.contacts), 3))
        self.gives = 0.0
        """Which part of what they yield by themselves contacts gave where they could not be held together."""
        self.weight = float(np.linalg.norm(self.free_motion.system.mechanics.gravity))

    @cached_property
    def rubs(self) -> bool:
        """Return whether joints do."""
        plan = self.free_motion.system.plan
        return bool(plan.damping.any() or plan.friction.any() or any(loop.rubs for loop in plan.loop_joints))

    def go(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        end: float,
        stays: Callable[[np.ndarray, np.ndarray, np.ndarray], bool],
        gap: np.ndarray | None = None,
    ) -> tuple[Segment, np.ndarray]:
        """Do what `going` does, alone."""
        return alone(self.going(t, q, v, end, stays, gap))

    def going(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        end: float,
        stays: Callable[[np.ndarray, np.ndarray, np.ndarray], bool],
        gap: np.ndarray | None = None,
    ) -> Going[tuple[Segment, np.ndarray]]:
        """Return the motion from a state q (nq,), v (nv,), with gaps (contacts,) if they are known, at the time t to
        `end`, or to where such steps are not needed any more (`stays`, asked with impulses and velocities (contacts, 3)
        and how contacts yield along their planes (contacts,), says so), and the forces (samples, contacts, 3) in the
        axes of the planes, held from each sample on. An impact ends it just before."""
        times, states, taken, told = [t], [(q, v)], list[_Taken](), list[np.ndarray]()
        if gap is None:
            gap = self.free_motion.places.gaps(q[None])[0]
        while end - times[-1] > 1e-9 * self.h:
            self.tick(times[-1])
            yield from self.free_motion.waiting(times[-1], q, v)
            self.free_motion.keep_time(times[-1], q, v)
            h = min(self.h, self.free_motion.until(end) - times[-1])
            looks = len(times) > self.unasked
            made, resists = None, self.watch.at(times[-1], q, v, h)
            if self.compiled is not None and resists is None:
                made = self._quick_step(times[-1], q, v, gap, h, looks)
            if made is None:
                made = self._step(times[-1], q, v, gap, h, looks, resists)
            if made is None:
                break
            told.append(self.free_motion.commands(times[-1], q, v))
            q, v, gap = made.q, made.v, made.gap
            times.append(times[-1] + h)
            if self.free_motion.turns.joints:
                self.free_motion.turns.know(np.array(times[-1:]), q[None], v[None])
            states.append((q, v))
            taken.append(made)
            if not stays(made.p, made.u, made.yields):
                break
        steps = np.diff(times)
        nothing = np.zeros((len(self.free_motion.places.contacts), 3))
        forces = [one.p / h for one, h in zip(taken, steps, strict=True)]
        taus = [one.tau for one in taken]
        forces.append(forces[-1] if forces else nothing)
        taus.append(taus[-1] if taus else self.free_motion.command(t, q, v))
        told.append(told[-1] if told else self.free_motion.commands(t, q, v))
        motors = self.free_motion.acting.loop_forces(np.array(told))
        if motors:
            taus = [x[: self.free_motion.system.nv] for x in told]
        return self._trajectory(
            np.array(times), states, np.array(taus), np.array(forces), taken, steps, motors
        )

    def _step(
        self, t: float, q: np.ndarray, v: np.ndarray, gap: np.ndarray, h: float, looks: bool,
        resists: Stiffness | None,
    ) -> _Taken | None:  # fmt: skip
        """Return a step from gaps (contacts,), implicit in what `resists`; None if it `looks` for an impact and finds
        one that is worth telling."""
        free_motion, system = self.free_motion, self.free_motion.system
        tau = free_motion.command(t, q, v)
        middle = free_motion.integrated(q, 0.5 * h * v)
        touches = free_motion.places.at(middle[None], v[None])
        acting = tau + free_motion.places.smooth_friction(middle[None], v[None])[1][0]
        vdot, response, W = (
            x[0]
            for x in free_motion.both(np.array([t + 0.5 * h]), middle[None], v[None], acting[None], touches)
        )
        if resists is not None:
            vdot, response = resists.softened(vdot, h), resists.softened(response, h)
            W = np.tensordot(response, touches.A[0], axes=(2, 2))
        free = v + h * vdot
        A, turns = touches.A[0], 0.5 * h * touches.b[0]
        p, u = np.zeros((len(gap), 3)), A @ free + turns
        none = 10.0 * CLOSED * self.length
        near = np.flatnonzero(gap + REACH * h * np.minimum(u[:, 2], 0.0) <= none)
        after = free
        near = self._held_once(near, u)
        if len(near):
            hits = (gap[near] > none) & (gap[near] + h * u[near, 2] <= 0.0)
            if looks and np.any(hits & (u[near, 2] < -HARD * max(DEAD, h * self.weight))):
                return None
            own, apart = W[near][:, :, near], np.zeros((len(near), 3))
            apart[:, 2] = np.where(gap[near] > none, gap[near], 0.0) / h
            # Points of one body cannot turn, or come near, in all ways: what no impulse stops is not asked for.
            turns[near] = within_reach(own, turns[near] + apart) - apart
            c = A[near] @ free + turns[near] + apart
            pressed_now = free_motion.places.pressed_now(touches.u[0, :, 0], free_motion.load, whole=True)
            c[:, 2] += h * pressed_now[near]
            names = [free_motion.places.labels[k] for k in near]
            found, gives = pressed_softly(own, c, free_motion.places.friction[near], names, self.last[near])
            p[near], self.gives = found.f, max(self.gives, gives)
            after = free + np.tensordot(p, response, axes=2)
        self.last = p
        if free_motion.bearing is not None:
            bears = free_motion.bears(np.array([t + 0.5 * h]), middle[None], v[None], acting[None])
            free_motion.bearing.load = bears(p[None] / h)[0]
        mean = 0.5 * (v + after)
        q_new = free_motion.integrated(q, h * mean)
        if free_motion.acting.motion:
            q_new, after = (
                x[0] for x in free_motion.acting.prescribed.imposed(t + h, q_new[None], after[None])[:2]
            )
            mean = 0.5 * (v + after)
        if system.mechanics.constrained:
            q_new, after = system.project(q_new, after)
        q_new, gap = self._mended(q_new, after, p[:, 2] > 0.0, response, W)
        lost = 0.0 if resists is None else resists.lost(v, after, h)
        of_each = (p * (A @ mean)).sum(axis=-1)
        dry = free_motion.places.is_dry
        done = float(of_each[~dry].sum()), lost, float(of_each[dry].sum())
        yields = 0.5 * np.einsum("kaka->k", W[:, :2, :, :2])
        return _Taken(q_new, after, gap, A @ after + turns, p, tau, (q, v), done, yields)

    def _held_once(self, near: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the contacts that may hold, of those that are `near` and would move by u (contacts, 3): a joint that
        goes against its stop needs no friction, and one that leaves it no stop."""
        left = near.tolist()
        for k, stops in self.free_motion.places.stops_of.items():
            for stop in (i for i in stops if i in left):
                left.remove(k if u[stop, 2] < 0.0 else stop)
                break
        return np.array(left, dtype=int)

    def _quick_step(
        self, t: float, q: np.ndarray, v: np.ndarray, gap: np.ndarray, h: float, looks: bool
    ) -> _Taken | None:
        """Return a step as `_step` does, by compiled code; None if that cannot vouch for it, or an impact was found."""
        assert self.compiled is not None
        none = 10.0 * CLOSED * self.length
        tau = self.free_motion.command(t, q, v)
        found = self.compiled.step(t, q, v, tau, gap, self.last, h, none)
        if found is None:
            return None
        after, rate, told = found
        if self.free_motion.acting.motion:
            after, rate = (
                x[0] for x in self.free_motion.acting.prescribed.imposed(t + h, after[None], rate[None])[:2]
            )
        p, u, yields, left = told[:, :3], told[:, 3:6], told[:, 9], told[:, 10]
        sunk, hard = 0.1 * CLOSED * self.length, HARD * max(DEAD, h * self.weight)
        for one, comes, pushes, after_it in zip(
            gap.tolist(), told[:, 6].tolist(), p[:, 2].tolist(), left.tolist(), strict=True
        ):
            if looks and one > none and one + h * comes <= 0.0 and comes < -hard:
                return None
            if after_it < -sunk or (pushes > 0.0 and after_it > sunk):
                return None
        self.last = p
        dry = self.free_motion.places.is_dry
        done = float(told[~dry, 7].sum()), 0.0, float(told[dry, 7].sum())
        return _Taken(after, rate, left, u, p, tau, (q, v), done, yields)

    def _mended(
        self, q: np.ndarray, v: np.ndarray, pushed: np.ndarray, response: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a configuration in which contacts that are `pushed` (contacts,) touch, and none is in its plane, and
        the gaps there; `response` and `W` are mobilities of the step."""
        free_motion, none = self.free_motion, 0.1 * CLOSED * self.length
        gap = free_motion.places.at(q[None], v[None]).gap[0]
        for _ in range(6):
            wrong = np.where(pushed, gap, np.minimum(gap, 0.0))
            if np.all(np.abs(wrong) <= none):
                break
            near = np.flatnonzero(pushed | (wrong < 0.0))
            push = np.linalg.lstsq(W[near, 2][:, near, 2], -wrong[near], rcond=1e-11)[0]
            q = free_motion.integrated(q, push @ response[near, 2])
            gap = free_motion.places.at(q[None], v[None]).gap[0]
        return q, gap

    def _middles(self, taken: list[_Taken], h: np.ndarray) -> np.ndarray:
        """Return the configurations (steps, nq) in the middle of steps of h (steps,) seconds."""
        q, v = (np.array([one.start[k] for one in taken]) for k in range(2))
        return self.free_motion.system.integrate(q, 0.5 * h[:, None] * v)

    def _works(self, taken: list[_Taken], t: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the works (steps + 1, sources) up to each sample, by what happens in the middle of steps that begin at
        the times t (steps,)."""
        system = self.free_motion.system
        total = np.zeros((len(taken) + 1, len(SOURCES)))
        if not taken:
            return total
        tau = np.array([one.tau for one in taken])
        if self.rubs or not system.mechanics.elements.is_empty or self.free_motion.has_others or tau.any():
            q, v = self._middles(taken, h), np.array([one.start[1] for one in taken])
            mean = np.array([0.5 * (one.start[1] + one.v) for one in taken])
            given, driven = self.free_motion.outside(t + 0.5 * h, q, v)
            besides = self.free_motion.besides(t + 0.5 * h, q, v)
            if driven:
                forces = np.array([one.p for one in taken]) / h[:, None, None]
                pushed = self.free_motion.with_contacts(given, q, v, forces)
                tau = loads.with_drives(system, q, v, tau, pushed, driven, besides)
            powers = loads.powers(system, q, mean, tau, given, driven, besides)
            besides_contacts = self.free_motion.places.smooth_friction(q, v)[1]
            powers["friction"] = system.mechanics.elements.power_against(q, v, mean)
            powers["friction"] += (besides_contacts * mean).sum(axis=-1)
            total[1:] = np.stack([h * powers[name] for name in SOURCES], axis=-1)
        resists = "actuators" if self.free_motion.acting.is_asked_always else "friction"
        for k, name in enumerate(("wrenches", resists, "friction")):
            total[1:, SOURCES.index(name)] += [one.done[k] for one in taken]
        return np.cumsum(total, axis=0)

    def _trajectory(
        self, t: np.ndarray, states: list[tuple[np.ndarray, np.ndarray]], tau: np.ndarray, forces: np.ndarray,
        taken: list[_Taken], steps: np.ndarray, motors: dict[str, np.ndarray],
    ) -> tuple[Segment, np.ndarray]:  # fmt: skip
        """Return the run, whose wrenches and works are computed when somebody looks at them, and what is told of
        forces."""
        places, system = self.free_motion.places, self.free_motion.system
        q, v = np.array([x for x, _ in states]), np.array([x for _, x in states])
        given, driven = self.free_motion.outside(t, q, v)
        if places.dry:
            # The dynamics have friction that goes smoothly through rest, and what is told acts besides.
            forces[..., 0] += places.smooth_friction(q, v)[0]

        def wrenches() -> dict[str, np.ndarray]:
            return self.free_motion.with_contacts(given, q, v, forces)

        def works() -> dict[str, np.ndarray]:
            work = self._works(taken, t[:-1], steps)
            return {name: work[:, k] for k, name in enumerate(SOURCES)}

        settings = {"integrator": f"careful steps of {self.h:.3g} s", "steps taken by": "Python"}
        if self.compiled is not None:
            settings["steps taken by"] = "compiled steps, one by one"
        if self.gives:
            settings["contacts gave"] = f"up to {self.gives:g} of what they yield"
        near = self.free_motion.besides(t, q, v).near
        self.pushes = forces
        names = tuple(dict.fromkeys((*given, *places.bodies)))
        run = Segment(
            system, t, q, v, tau, len(t) - 1, work=OnDemand(SOURCES, works),
            wrenches=OnDemand(names, wrenches), driven=driven, settings=settings, held=True, loop_forces=motors,
            loop_positions=near,
        )  # fmt: skip
        return run, places.at(q, v).in_frame_axes(forces) if places.turns.any() else forces


def pressed_softly(
    W: np.ndarray, c: np.ndarray, mu: np.ndarray, names: Sequence[str], start: np.ndarray
) -> tuple[Pressed, float]:
    """Return what `pressed` does for contacts none of which slides already, and which part of what each yields by
    itself it gives besides: none where they can be held together, as little as possible otherwise."""
    yields = np.einsum("kaka->k", W)
    for gives in (0.0, *GIVES):
        own = W.copy()
        for k, more in enumerate(gives * yields):
            own[k, :, k] += more * np.eye(3)
        try:
            return pressed(own, c, mu, [None] * len(c), names, start), gives
        except SimulationError as error:
            last = error
    raise last
