"""What contacts do from a state on: impacts of those that come together, then forces of those that stay.

All contacts that touch are decided about together (`coulomb`), impulses first (`restitution`), then forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import hypot, inf

import numpy as np

from catena.simulation.contacts.coulomb import (
    OPEN,
    SLIDE,
    STICK,
    JammedError,
    Pressed,
    pressed,
    told_by,
)
from catena.simulation.contacts.free_motion import FreeMotion
from catena.simulation.contacts.regular import least
from catena.simulation.contacts.restitution import impact
from catena.simulation.contacts.situation import (
    ByJoints,
    Compiled,
    ContactSituation,
    Decided,
    Mobile,
    picked,
)
from catena.simulation.contacts.standing import Decision, Standing, all_open

# Gaps [sizes of the mechanism] and velocities [sizes/s] that are none.
CLOSED, RESTS = 1e-8, 1e-7
# The part of a gap that is none up to which a contact may be in the other side.
SUNK = 0.1
# Gaps [sizes of the mechanism] of contacts that touch, by errors of steps.
DRIFTS = 1e-4
# Below this speed [m/s] nothing bounces or parts, so that bounces that become shorter and shorter come to an end.
DEAD = 1e-4
# A speed [m/s] that is larger than any.
ANY = 1e30
# Friction that accelerates a contact so many times as fast as gravity is that of a light body.
LIGHT = 2.0
# The part of a slip that friction stops within a careful step below which a slip is as good as none.
SLOWS = 0.3
# The way [sizes of the mechanism] within which a slip may be stopped, and what parts may be held, at once.
ENDS = 3e-7
# The part of a careful step within which friction would stop a slip that begins, up to which its direction stays.
BEGINS = 0.15
# Slips that are slow for careful steps, in what weight gives in one of them.
SLOW_SLIP = 10.0
# The part of its friction that a contact at the edge of its cone lacks.
EDGE = 1e-6
# The part of what contacts do without forces below which one that is pushed along its plane is held by others.
HELD_BY_OTHERS = 1e-9


def ends_at_once(speed: float, slower: float, length: float) -> bool:
    """Return whether a slip that becomes `slower` [m/s^2] ends within next to no way, at a mechanism of a size."""
    return speed * speed < 2.0 * ENDS * length * slower


@dataclass(eq=False)
class Deciding:
    """Decides about the contacts of a system of a size `length` [m], by compiled code (`mobile`) where that knows all
    that acts. `h` is a careful step [s]."""

    free_motion: FreeMotion
    length: float
    h: float
    mobile: Mobile | None = None

    def decide(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        parts: int = -1,
        slips: int = -1,
        rests: Sequence[int] = (),
        held: Sequence[int] = (),
        closed: Sequence[int] = (),
        hopping: bool = True,
        dull: Sequence[int] = (),
    ) -> Decision:
        """Return what contacts do from the state q (nq,), v (nv,) on. Control forces are those at the
        velocities behind an impact, where there is one. The contact `parts`, if there is one, has come to where it
        would pull, and `slips` to the edge of its cone; those in `rests` do not slip, and those in `held` do not part,
        but for errors of what found that; those in `closed` have touched up to now. Where they may be `hopping`, those
        that part and come back at once do not part; an impact is then one in which they are `dull`, without
        restitution, so that friction knows of no rebound either."""
        count = len(self.free_motion.places.contacts)
        q, now = self._lifted(t, q, v, closed)
        quick = self._at_once(now, t, q, v, parts, slips, rests) if hopping and not (held or dull) else None
        if quick is not None:
            found, slow = quick
            return self._stopped(t, found, rests, slow, held) if slow else found
        near = [k for k, gap in enumerate(now.gap.tolist()) if gap <= CLOSED * self.length]
        impulse, lost = np.zeros((count, 3)), 0.0
        before = v
        kept = [k for k in held if k in near]
        if kept:
            v, impulse[kept], lost = self._brought_to_rest(v, now, kept, rests)
            now = self._again(t, q, v, now, before)
            before = v
        rates = now.u[:, 2].tolist()
        coming, so_far = v, (lost, impulse.copy())
        if min((rates[k] for k in near), default=0.0) < -RESTS * self.length:
            hard = [k for k in near if not self._is_dry[k]]
            v, more, hit = self._impact(v, now, hard, dull)
            impulse[hard] += more
            lost += hit
            now = self._again(t, q, v, now, before)
            before, rates = v, now.u[:, 2].tolist()
        staying = [k for k in near if rates[k] <= DEAD]
        hops = self._hops(now, near, rates) if hopping else []
        staying = sorted({*staying, *hops})
        if v is not coming and hopping and not dull:
            last = [k for k in staying if rates[k] > 0.0 and self._restitution[k] > 0.0]
            then = self.decide(t, q, coming, parts, slips, rests, held, dull=last) if last else None
            if then is not None and all(then.standing.modes[k] != OPEN for k in last):
                return then._replace(lost=so_far[0] + then.lost, impulse=so_far[1] + then.impulse)
        if not staying:
            return Decision(all_open(now.u, now.gap), q, v, lost, impulse)
        landed = v
        v, more, stopped = self._brought_to_rest(v, now, staying, rests)
        if v is not before:
            now = self._again(t, q, v, now, before)
        standing, slow = self._forces(now, self._held_once(now, staying, parts), parts, slips)
        if any(standing.modes[k] == OPEN for k in hops):
            then = self.decide(t, q, landed, parts, slips, rests, hopping=False)
            return then._replace(lost=lost + then.lost, impulse=impulse + then.impulse)
        if v is not before:
            impulse[staying] += more
            lost += stopped
        return self._stopped(t, Decision(standing, q, v, lost, impulse), rests, slow, held)

    def _stopped(
        self, t: float, found: Decision, rests: Sequence[int], slow: Sequence[int], held: Sequence[int]
    ) -> Decision:
        """Return a decision behind which friction stops slips that are `slow` at once."""
        if not set(slow) - set(rests):
            return found
        then = self.decide(t, found.q, found.v, rests=(*rests, *slow), held=held)
        return then._replace(lost=found.lost + then.lost, impulse=found.impulse + then.impulse)

    def _at_once(
        self, now: ContactSituation, t: float, q: np.ndarray, v: np.ndarray, parts: int, slips: int,
        rests: Sequence[int],
    ) -> tuple[Decision, list[int]] | None:  # fmt: skip
        """Return what `decide` does by one call of compiled code, and which slips friction stops at once; None where
        contacts bounce, hop or are redundant, or joints rub."""
        if not isinstance(now, Compiled) or self.free_motion.places.dry:
            return None
        touches = CLOSED * self.length
        near = [k for k, gap in enumerate(now.gap.tolist()) if gap <= touches]
        if not near:
            return Decision(all_open(now.u, now.gap), q, v, 0.0, np.zeros_like(now.u)), []
        if any(self._restitution[k] > 0.0 for k in near) or not now.is_regular(near):
            return None

        found = self._struck(now, t, q, v, parts, rests)
        if found is None:
            return None
        rates = found.after.u[:, 2].tolist()
        hops = self._hops(found.after, near, rates)
        if hops:
            again = self._at(t, q, v)
            found = self._struck(again, t, q, v, parts, rests, hops) if isinstance(again, Compiled) else None
            if found is None:
                return None
            rates = found.after.u[:, 2].tolist()
        after, v = found.after, v + found.gained
        staying = [k for k in near if k != parts and (rates[k] <= DEAD or k in hops)]
        if not staying:
            return Decision(all_open(after.u, after.gap), q, v, found.lost, found.impulse), []
        c, sliding = after.accelerations(staying), self._directions(after, staying)
        mu, own = picked(self.free_motion.places.friction, staying), picked(found.borne, staying)
        bears = told_by(lambda: after.mobility(staying), c, mu, sliding, own[:, :3], own[:, 3:])
        try:
            bears, left = self._at_the_edge(after, c, sliding, bears, staying, -1, slips)
        except JammedError:
            return None
        standing, slow = self._with_forces(after, staying, sliding, bears, left)
        if any(standing.modes[k] == OPEN for k in hops):
            return None
        return Decision(standing, q, v, found.lost, found.impulse), slow

    def _struck(
        self, now: Compiled, t: float, q: np.ndarray, v: np.ndarray, parts: int, rests: Sequence[int],
        hops: Sequence[int] = (),
    ) -> Decided | None:  # fmt: skip
        """Return what an impact, and what brings to rest all that parts or slips next to nothing, lead to; those that
        hop stay."""

        def acts(gained: np.ndarray) -> None:
            tau = self.free_motion.command(t, q, v + gained)
            now.mobile.loads.put(now.mobile.b, t, q, v + gained, tau)

        touches, stays = CLOSED * self.length, [DEAD] * len(self._still)
        for k in hops:
            stays[k] = ANY
        rows = enumerate(zip(stays, self._still, strict=True))
        wishes = [(touches, dead, still, float(k in rests), float(k == parts)) for k, (dead, still) in rows]
        return now.decided(wishes, acts)

    def _held_once(self, now: ContactSituation, staying: list[int], parts: int) -> list[int]:
        """Return the contacts that hold, of those that stay: a joint that presses against a stop needs no friction
        there, and one that friction keeps from leaving its stop does not press."""
        for k, stops in self.free_motion.places.stops_of.items():
            stop = next((i for i in stops if i in staying and i != parts), None)
            if stop is None:
                continue
            without = [i for i in staying if i != k]
            sliding = self._directions(now, without)
            found = self._law(now, without, now.accelerations(without), sliding)
            presses = found.modes[without.index(stop)] != OPEN
            staying = without if presses else [i for i in staying if i != stop]
        return staying

    def _hops(self, now: ContactSituation, near: list[int], rates: list[float]) -> list[int]:
        """Return the contacts that part, to come back before they are away by more than next to nothing."""
        parting = [k for k in near if rates[k] > DEAD]
        if not parting:
            return []
        falls = now.accelerations(parting)[:, 2].tolist()
        pairs = zip(parting, falls, strict=True)
        return [k for k, a in pairs if rates[k] ** 2 < -2.0 * ENDS * self.length * a]

    def gaps(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the gaps (contacts,) at a time and a state q (nq,), v (nv,)."""
        found = None if self.mobile is None else self.mobile.at(t, q, v, np.zeros(len(v)))
        return self.free_motion.places.gaps(q[None])[0] if found is None else found.gap

    def _at(self, t: float, q: np.ndarray, v: np.ndarray) -> ContactSituation:
        tau = self.free_motion.command(t, q, v)
        found = None if self.mobile is None else self.mobile.at(t, q, v, tau)
        return ByJoints(self.free_motion, t, q, v, tau) if found is None else found

    def _again(
        self, t: float, q: np.ndarray, v: np.ndarray, now: ContactSituation, before: np.ndarray
    ) -> ContactSituation:
        """Return the situation at velocities v (nv,), that of those before if they are the same."""
        return now if v is before else self._at(t, q, v)

    def _lifted(
        self, t: float, q: np.ndarray, v: np.ndarray, closed: Sequence[int]
    ) -> tuple[np.ndarray, ContactSituation]:
        """Return a configuration in which contacts that are in the other side by no more than what counts as touching
        are not, so that they do not sink a little further with every touch, and those that are `closed` touch, from
        which steps have led them away a little; and how contacts stand there."""
        now = self._at(t, q, v)
        low, none = SUNK * CLOSED * self.length, CLOSED * self.length
        sunk = [
            k
            for k, gap in enumerate(now.gap.tolist())
            if -none <= gap < -low or (k in closed and none < abs(gap) <= DRIFTS * self.length)
        ]
        if not sunk:
            return q, now
        push = np.zeros((len(sunk), 3))
        push[:, 2] = least(now.mobility(sunk)[:, 2, :, 2], -now.gap[sunk])
        q = self.free_motion.integrated(q, now.pushed(sunk, push))
        return q, self._at(t, q, v)

    def _impact(
        self, v: np.ndarray, now: ContactSituation, near: list[int], dull: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the velocities after an impact in which some contacts are `dull`, the impulses (contacts, 3) and the
        energy lost."""
        places = self.free_motion.places
        W, u = now.mobility(near), picked(now.u, near)
        mu, names = picked(places.friction, near), [places.labels[k] for k in near]
        e = picked(places.restitution, near)
        if e.any():
            e = np.where((u[:, 2] < -max(RESTS * self.length, DEAD)) & ~np.isin(near, dull), e, 0.0)
        free = [None] * len(near)
        p = impact(W, u, mu, e, names, places.law, lambda c: now.pressed(near, c, mu, free))
        flat = p.reshape(-1)
        lost = -float(u.reshape(-1) @ flat + 0.5 * flat @ W.reshape(len(flat), -1) @ flat)
        return v + now.pushed(near, p), p, lost

    def _brought_to_rest(
        self, v: np.ndarray, now: ContactSituation, staying: list[int], rests: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return velocities with which contacts that part or slip so slowly that they do neither stay, the impulses
        (contacts, 3) that it takes, and the energy lost."""
        u, friction, still = picked(now.u, staying), self._friction, self._still
        some, most = list[int](), 0.0
        for i, (k, (x, y, z)) in enumerate(zip(staying, u.tolist(), strict=True)):
            if friction[k] > 0.0 and (k in rests or hypot(x, y) <= still[k]):
                some += [3 * i, 3 * i + 1]
                most = max(most, abs(x), abs(y))
            some.append(3 * i + 2)
            most = max(most, abs(z))
        if most <= 1e-3 * RESTS * self.length:
            return v, np.zeros_like(u), 0.0
        W, rate = now.mobility(staying).reshape(u.size, -1), u.reshape(-1)
        if len(some) == u.size:
            push = least(W, -rate)
        else:
            push = np.zeros(u.size)
            push[some] = least(W[some][:, some], -rate[some])
        lost = -float((rate + 0.5 * (W @ push)) @ push)
        impulse = push.reshape(-1, 3)
        return v + now.pushed(staying, impulse), impulse, max(0.0, lost)

    def _found(
        self, now: ContactSituation, staying: list[int], parts: int, slips: int
    ) -> tuple[Pressed, list[int], list[np.ndarray | None]]:
        """Return the forces of contacts that touch and do not part, which of them these are of, and the directions in
        which contacts slide already."""
        c, sliding = now.accelerations(staying), self._directions(now, staying)
        found = self._law(now, staying, c, sliding)
        found = self._begun(now, staying, c, sliding, found)
        return *self._at_the_edge(now, c, sliding, found, staying, parts, slips), sliding

    def _agree(self, now: ContactSituation, staying: list[int], parts: int, slips: int) -> None:
        """Let friction be what the loads make it that it makes itself."""
        bearing = self.free_motion.bearing
        if bearing is None or not isinstance(now, ByJoints):
            return

        def bears(load: np.ndarray) -> np.ndarray:
            bearing.load, forces = load, np.zeros((len(now.gap), 3))
            found, left, _ = self._found(now, staying, parts, slips)
            forces[left] = found.f
            return now.bears(forces[None])[0]

        rubs = self.free_motion.places.is_dry & np.isin(np.arange(len(now.gap)), staying)
        bearing.load = bearing.agreed(bears, bearing.load, rubs)

    def _forces(
        self, now: ContactSituation, staying: list[int], parts: int, slips: int
    ) -> tuple[Standing, list[int]]:
        """Return what contacts that touch and do not part do, and those whose slips friction stops at once."""
        try:
            self._agree(now, staying, parts, slips)
            found, left, sliding = self._found(now, staying, parts, slips)
        except JammedError:
            if np.hypot(*picked(now.u, staying)[:, :2].T).max() > SLOW_SLIP * self.h * self.weight:
                raise
            return self._seized(now, staying, self._directions(now, staying)), []
        return self._with_forces(now, staying, sliding, found, left)

    def _with_forces(
        self, now: ContactSituation, staying: list[int], sliding: list[np.ndarray | None], found: Pressed,
        left: list[int],
    ) -> tuple[Standing, list[int]]:  # fmt: skip
        """Return what `_forces` does from the forces that are found, of those that are `left`."""
        count, u = len(now.gap), picked(now.u, staying).tolist()
        modes, slip, slow = [OPEN] * count, [(0.0, 0.0)] * count, list[int]()
        yields, turns, rates, lasts = [0.0] * count, [0.0] * count, [0.0] * count, [inf] * count
        across = now.yields(staying)
        rows = zip(
            left, found.modes, found.slip.tolist(), found.f[:, 2].tolist(), found.r.tolist(), strict=True
        )
        for k, mode, along, presses, (rx, ry, _) in rows:
            i = staying.index(k)
            begun = sliding[i]
            if self._is_dry[k] and begun is not None:
                # What slips fast has all of its friction in the dynamics, and no pressure besides.
                mode, along = SLIDE, begun.tolist()
            modes[k] = mode
            yields[k] = across[i]
            if mode != SLIDE:
                continue
            slip[k] = along[0], along[1]
            if self._is_dry[k]:
                yields[k] = 0.0
                continue
            # Friction of light bodies stops slips at once, and would turn those that begin.
            rate, (x, y, _) = self._friction[k] * presses * yields[k], u[i]
            rates[k] = rate
            if sliding[i] is None:
                turns[k] = BEGINS * self.h * rate if rate > self._light else 0.0
                continue
            slower = -(rx * x + ry * y) / (speed := hypot(x, y))
            if rate > self._light and ends_at_once(speed, slower, self.length):
                slow.append(k)
            if slower > 0.0:
                lasts[k] = speed / slower
        return Standing(tuple(modes), slip, False, turns, yields, rates, lasts, now.u, now.gap), slow

    def _begun(
        self, now: ContactSituation, staying: list[int], c: np.ndarray, sliding: list[np.ndarray | None],
        found: Pressed,
    ) -> Pressed:  # fmt: skip
        """Return the forces of contacts where components with dry friction that hold more at rest begin to slip: they
        rub with less from there on."""
        places = self.free_motion.places
        more = {k for k, x in places.dry if x.excess + x.load_excess > 0.0}
        for _ in more:
            begun = [
                i for i, k in enumerate(staying)
                if k in more and sliding[i] is None and found.modes[i] == SLIDE
            ]  # fmt: skip
            if not begun:
                break
            for i in begun:
                sliding[i] = found.slip[i]
                sense, slips = np.zeros((2, len(now.gap)))
                sense[staying[i]], slips[staying[i]] = np.sign(found.slip[i][0]), 1.0
                c[i, 2] = places.pressed(now.u[:, 0], slips, sense, self.free_motion.load)[staying[i]]
            found = self._law(now, staying, c, sliding)
        return found

    def _law(
        self, now: ContactSituation, some: list[int], c: np.ndarray, sliding: list[np.ndarray | None],
        mu: np.ndarray | None = None, start: np.ndarray | None = None,
    ) -> Pressed:  # fmt: skip
        """Return the forces of some contacts by Coulomb's law, which accelerate by c (n, 3) without; with other
        coefficients mu (n,) than theirs, and from a `start` (n, 3), if these are given."""
        mu = picked(self.free_motion.places.friction, some) if mu is None else mu
        found = now.pressed(some, c, mu, sliding)
        if found is not None:
            return found
        names = [self.free_motion.places.labels[k] for k in some]
        return pressed(now.mobility(some), c, mu, sliding, names, start)

    def _seized(
        self, now: ContactSituation, staying: list[int], sliding: list[np.ndarray | None]
    ) -> Standing:
        """Return contacts of which one jams while it slips slowly: its friction is stiff, and stops it at once."""
        modes, slip = [OPEN] * len(now.gap), np.zeros((len(now.gap), 2))
        for k, d in zip(staying, sliding, strict=True):
            modes[k] = STICK if d is None else SLIDE
            slip[k] = 0.0 if d is None else d
        return Standing(tuple(modes), slip, True, u=now.u, gap=now.gap)

    @cached_property
    def _friction(self) -> list[float]:
        """Return the coefficients of friction as plain numbers."""
        return self.free_motion.places.friction.tolist()

    @cached_property
    def _restitution(self) -> list[float]:
        """Return the coefficients of restitution as plain numbers."""
        return self.free_motion.places.restitution.tolist()

    @cached_property
    def _still(self) -> list[float]:
        """Return the slips [m/s] that are none."""
        return self.free_motion.places.still.tolist()

    @cached_property
    def _is_dry(self) -> list[bool]:
        """Return which contacts are components with dry friction."""
        return self.free_motion.places.is_dry.tolist()

    @cached_property
    def _light(self) -> float:
        """Return the acceleration by friction above which a body is a light one."""
        return LIGHT * self.weight

    @cached_property
    def weight(self) -> float:
        """Return the acceleration [m/s^2] that others are compared with: gravity, if there is any."""
        return max(float(np.linalg.norm(self.free_motion.system.mechanics.gravity)), self.length)

    def _at_the_edge(
        self, now: ContactSituation, c: np.ndarray, sliding: list[np.ndarray | None], found: Pressed,
        staying: list[int], parts: int, slips: int,
    ) -> tuple[Pressed, list[int]]:  # fmt: skip
        """Return the forces of contacts, and which they are, where one has come to the edge of what it can hold and
        would be found to hold just so: it lets go, or begins to slide."""
        if parts in staying and found.modes[staying.index(parts)] != OPEN:
            rest = [i for i, k in enumerate(staying) if k != parts]
            if not rest:
                return Pressed(np.zeros((0, 3)), np.zeros((0, 3)), (), np.zeros((0, 2))), []
            left = [staying[i] for i in rest]
            return self._law(now, left, c[rest], [sliding[i] for i in rest]), left
        if slips in staying and found.modes[staying.index(slips)] == STICK:
            k = staying.index(slips)
            # With a little less friction it slides, and the direction is that in which it does.
            less = self.free_motion.places.friction[staying]
            less[k] *= 1.0 - EDGE
            again = self._law(now, staying, c, sliding, less, found.f)
            if again.modes[k] == SLIDE:
                return again, staying
            along = -found.f[k, :2]
            size = hypot(*along.tolist())
            if size > 0.0:
                pushed = [along / size if i == k else d for i, d in enumerate(sliding)]
                then = self._law(now, staying, c, pushed)
                # What others hold does not slide: they came to rest where it was at the edge.
                if float(then.r[k, :2] @ along) > HELD_BY_OTHERS * size * float(np.abs(c).max()):
                    return then, staying
        return found, staying

    def _directions(self, now: ContactSituation, some: list[int]) -> list[np.ndarray | None]:
        """Return the directions (2,) in which some contacts slide, None for those that do not."""
        still, found = self._still, list[np.ndarray | None]()
        for k, (x, y, _) in zip(some, picked(now.u, some).tolist(), strict=True):
            speed = hypot(x, y)
            found.append(np.array([x / speed, y / speed]) if speed > still[k] else None)
        return found
