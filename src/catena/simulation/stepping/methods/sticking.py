"""Dry friction in joints of the tree that sticks, inside a step and in each lane by itself.

Every velocity component with friction has a `sense`: 0 where it sticks, and otherwise the sign of its slip, -1 or 1.
Within a step senses stay as they are. A component that sticks is one whose acceleration is given, as zero
(`hybrid_dynamics`), and the force that gives it, `drive - tau`, is what friction holds with. One that slips has a force
that is smooth, sense (friction + fading / (1 + fall v^2)), also a little beyond the end of the slip, where no step will
end.

A step is taken if its senses go on to its end:

    at its start   what sticks holds with no more than friction + excess; what slips from rest goes where its sense
                   says. Else the state stays, and senses change: all that are wrong at once, and the first one only
                   where that has not led to an end soon, which ends for every mass matrix (Murty's least index)
    on its way     a slip that has passed zero, or a force that has passed its limit, is where another, shorter step
                   ends: at the root of a polynomial through what is known of both ends
    at its end     a slip that has come to rest sticks from there on, and its velocity is zero and nothing else; what
                   holds with all that there is begins to slip

So what sticks neither moves nor creeps, and nothing is compiled when it does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.forces.smooth import smooth_sign
from catena.kernels import VELOCITY, Sweep, at_ground, each_body, with_ground
from catena.simulation.stepping.methods.conditions import both, larger
from catena.spatial.scalars import absolute, array, sqrt, where

STICKING_INPUTS = {"sense": VELOCITY, "excess": VELOCITY, "fading": VELOCITY, "fall": VELOCITY}
"""What joints are told: senses, by how much friction at rest is more than that of a slip, the part of this that fades
with the slip, and how fast it does, one over the square of Stribeck's velocity."""
STICKING_NUMBERS = ("cap", "part", "pivots")
"""What the ground keeps: the size of the next step that ends where senses change, what is left of a step of fixed size,
and how often senses have changed since a step was taken."""
FAR = 1e300
"""The size of the next step where no change is foreseen."""
# A force that holds is too large beyond the first part of its limit; a step ends at the second, and up to the third.
LOOSE, AIM, MOST = 1e-10, 5e-10, 1e-9
# Velocities [rad/s or m/s] from which nothing can slow down, and accelerations that are rounding.
REST, STILL = 1e-12, 1e-11
# A slip ends where it is slower than so many tolerances, of which this is the largest part of a velocity.
ENDED, FINE = 10.0, 1e-9
# All wrong senses change together so often, and then one at a time; after that no senses are found.
TOGETHER, PIVOTS = 8, 400
# A force that holds may bend within a step by these parts of its change, or of what it is from its limit.
STRAIGHT, FAR_OFF = 0.2, 0.1
# The least part of a step that is left of it, and how often the root of a polynomial is improved.
LEAST, NEWTON = 1e-3, 6


def is_dry(body: Any) -> bool:
    """Return whether a body's joint has velocity components of its own."""
    return not (body.joint.is_particle or body.joint.follows)


def hold_still(beside_drives: bool) -> Sweep:
    """Return the step that tells which components do not yield: those that stick, and with `beside_drives` those that
    are prescribed."""

    def hold(body: Any) -> None:
        stuck = array([where(sticks(s), 1.0, 0.0) for s in body.sense])
        body.qd = array([where(sticks(s), 0.0, v) for s, v in zip(body.sense, body.qd, strict=True)])
        if beside_drives:
            stuck = array([where(p > 0.5, 1.0, s) for p, s in zip(body.prescribed, stuck, strict=True)])
        else:
            body.qdd_given = np.zeros(body.joint.nv)
        body.driven = stuck

    return each_body(but_particles(hold))


@each_body
@but_particles
def take_over(body: Any) -> None:
    """Let control forces be all that acts at a joint, until it is known how it rubs."""
    body.tau = body.given


def rub(acts: str, beside_drives: bool) -> Sweep:
    """Return the step that puts friction with a sense in the place of the smooth one, which the dynamics takes off."""

    def act(body: Any) -> None:
        acting = getattr(body, acts)
        body.tau = acting if not is_dry(body) else acting + beyond_smooth(body, beside_drives)

    return each_body(but_particles(act))


def beyond_smooth(body: Any, beside_drives: bool) -> np.ndarray:
    """Return the joint force (nv,) by which friction with a sense differs from the smooth one."""
    found = []
    for k, v in enumerate(body.qd):
        sense = body.sense[k]
        if beside_drives:
            sense = where(body.prescribed[k] > 0.5, where(v > 0.0, 1.0, where(v < 0.0, -1.0, 0.0)), sense)
        fades = body.fading[k] / (1.0 + body.fall[k] * v * v)
        found.append(body.friction[k] * (smooth_sign(v) - sense) - sense * fades)
    return array(found)


def keep_hold(name: str) -> Sweep:
    """Return the step that keeps the forces of drives, and so of friction that holds, at a stage."""

    def keep(body: Any) -> None:
        setattr(body, name, held(body))

    return each_body(but_particles(keep))


def held(body: Any) -> np.ndarray:
    """Return the force (nv,) with which friction holds where a component sticks."""
    return array([a - b for a, b in zip(body.drive, body.tau, strict=True)])


@at_ground
def begin_judging(ground: Any) -> None:
    """Nothing is wrong, and nothing is passed yet."""
    ground.wrong, ground.goes_on, ground.rests_in, ground.pivoted = 0.0, 1.0, FAR, 0.0


@dataclass(frozen=True)
class Judging:
    """How senses are judged: `first` names the accelerations with which a step began, the part `middle` of the step is
    when forces were kept besides (zero where they are known at its start only), beside drives (`driven`) what is
    prescribed does not count, and `adaptive` steps are as short as forces that hold need it."""

    first: str
    middle: float
    driven: bool
    adaptive: bool

    def look(self, body: Any, ground: Any) -> None:
        """Look where the senses of a joint do not go on."""
        if not is_dry(body):
            return
        end = held(body)
        for k, s in enumerate(body.sense):
            v0, v1, a0, a1 = body.v0[k], body.qd[k], getattr(body, self.first)[k], body.qdd[k]
            rubs, limit = self._rubs(body, k)
            ground.wrong = ground.wrong + where(both(rubs, self._is_wrong(body, k, limit)), 1.0, 0.0)
            slow = _slow(ground, v0)
            back = both(both(rubs, slips(s)), s * v1 < -slow)
            ends = _slip_ends(s * v0, s * a0 * ground.dt, s * v1, s * a1 * ground.dt)
            part = where(back, ends, 1.0)
            if self.middle:
                torn = both(both(rubs, sticks(s)), absolute(end[k]) > (1.0 + MOST) * limit)
                way = where(end[k] > 0.0, 1.0, -1.0)
                over = [way * f - (1.0 + AIM) * limit for f in (body.hold_0[k], body.hold_1[k], end[k])]
                part = where(torn, _hold_ends(over, self.middle), part)
                if self.adaptive:
                    missed = where(both(rubs, sticks(s)), self._missed(body, k, end[k], limit), 0.0)
                    ground.error_0 = where(missed > ground.error_0, missed, ground.error_0)
            ground.goes_on = where(part < ground.goes_on, part, ground.goes_on)
            slows = both(both(rubs, slips(s)), both(s * v1 > slow, s * a1 < 0.0))
            left = where(slows, s * v1 / where(slows, -s * a1, 1.0), FAR)
            ground.rests_in = where(left < ground.rests_in, left, ground.rests_in)

    def change(self, body: Any, ground: Any) -> None:
        """Change senses of a joint: at the start, where a step was not taken because they are wrong, and at the end of
        one that was taken."""
        if not is_dry(body):
            return
        end, senses, rates = held(body), [], []
        taken, revised = ground.accepted > 0.5, both(ground.wrong > 0.5, ground.dt > 0.0)
        for k, s in enumerate(body.sense):
            rubs, limit = self._rubs(body, k)
            others = where(ground.pivots > TOGETHER, ground.pivoted, 0.0)
            wrong = both(both(revised, others < 0.5), both(rubs, self._is_wrong(body, k, limit)))
            ground.pivoted = where(wrong, 1.0, ground.pivoted)
            begins = where(body.hold_0[k] > 0.0, -1.0, 1.0)
            new = where(wrong, where(sticks(s), begins, 0.0), s)
            if self.middle:
                tears = both(both(taken, rubs), both(sticks(s), absolute(end[k]) > (1.0 + LOOSE) * limit))
                new = where(tears, where(end[k] > 0.0, -1.0, 1.0), new)
            at_rest = both(s * body.qd[k] <= _slow(ground, body.v0[k]), s * body.qdd[k] < -STILL)
            new = where(both(both(taken, rubs), both(slips(s), at_rest)), 0.0, new)
            senses.append(new)
            rates.append(where(sticks(new), 0.0, body.qd[k]))
        body.sense, body.qd = array(senses), array(rates)

    def _rubs(self, body: Any, k: int) -> tuple[Any, Any]:
        """Return whether a component may stick, and with how much it holds."""
        limit = body.friction[k] + body.excess[k]
        rubs = limit > 0.0
        return (both(rubs, body.prescribed[k] < 0.5) if self.driven else rubs), limit

    def _missed(self, body: Any, k: int, end: Any, limit: Any) -> Any:
        """Return how far a force that holds is from a straight line within a step, as a part of what is allowed: where
        nothing moves, only that tells whether the step has followed it, or passed over what it did."""
        change, left = end - body.hold_0[k], limit - absolute(body.hold_0[k])
        bends = absolute(body.hold_1[k] - body.hold_0[k] - self.middle * change)
        allowed = larger(STRAIGHT * absolute(change), FAR_OFF * left) + MOST * limit
        return bends / where(allowed > 0.0, allowed, 1.0)

    def _is_wrong(self, body: Any, k: int, limit: Any) -> Any:
        """Return whether a sense does not go on from the start of the step: more force is needed than there is, or a
        slip that begins would go the other way."""
        s, v0, a0 = body.sense[k], body.v0[k], getattr(body, self.first)[k]
        backwards = both(s * v0 <= REST, s * a0 < -STILL)
        too_much = absolute(body.hold_0[k]) > (1.0 + LOOSE) * limit
        return where(sticks(s), where(too_much, 1.0, 0.0), where(backwards, 1.0, 0.0)) > 0.5

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """Return what looks at senses before a step is decided about."""
        return begin_judging, with_ground(but_particles(self.look))

    @property
    def switch(self) -> Sweep:
        """Return what changes them afterwards."""
        return with_ground(but_particles(self.change))


def sticks(sense: Any) -> Any:
    """Return whether a component of this sense sticks."""
    return absolute(sense) < 0.5


def slips(sense: Any) -> Any:
    """Return whether a component of this sense slips."""
    return absolute(sense) > 0.5


def weigh_senses(ground: Any, is_adaptive: bool, planned: Any) -> None:
    """Decide besides about a step: it is taken only if its senses go on, and what it was rejected for says nothing
    about the size `planned` before; the next one ends where the first of them changes."""
    right = both(ground.wrong < 0.5, ground.goes_on >= 1.0)
    if is_adaptive:
        says_nothing = where(ground.wrong > 0.5, 1.0, where(right, 0.0, ground.accepted))
        ground.h = where(says_nothing > 0.5, planned, ground.h)
    ground.accepted = where(right, ground.accepted, 0.0)
    taken, cut, moving = ground.accepted > 0.5, ground.capped > 0.5, ground.dt > 0.0
    sooner = where(ground.goes_on < 1.0, ground.goes_on * ground.dt, ground.cap)
    cap = where(taken, where(cut, ground.rests_in, FAR), where(ground.wrong > 0.5, FAR, sooner))
    ground.cap = where(moving, cap, ground.cap)
    pivots = where(taken, 0.0, where(ground.wrong > 0.5, ground.pivots + 1.0, ground.pivots))
    ground.pivots = where(moving, pivots, ground.pivots)
    if not is_adaptive:
        ground.part = where(both(moving, taken), where(cut, ground.whole - ground.dt, 0.0), ground.part)
    ground.halt = where(ground.pivots > PIVOTS, 1.0, ground.halt)


def _slow(ground: Any, v: Any) -> Any:
    """Return the velocity at which a slip that began with v is at rest, whatever errors are allowed besides."""
    tolerance, least = ground.atol + ground.rtol * absolute(v), REST + FINE * absolute(v)
    return ENDED * where(tolerance < least, tolerance, least)


def _slip_ends(f0: Any, d0: Any, f1: Any, d1: Any) -> Any:
    """Return the part of a step at which the cubic with these values and slopes at both ends vanishes last, by Newton's
    method from the end, where it is negative."""
    c2, c3 = 3.0 * (f1 - f0) - 2.0 * d0 - d1, 2.0 * (f0 - f1) + d0 + d1
    x = 1.0
    for _ in range(NEWTON):
        value, slope = f0 + x * (d0 + x * (c2 + x * c3)), d0 + x * (2.0 * c2 + x * 3.0 * c3)
        falls = slope < 0.0
        x = _within(where(falls, x - value / where(falls, slope, -1.0), 0.5 * x))
    return x


def _hold_ends(over: list[Any], middle: float) -> Any:
    """Return the part of a step at which the quadratic through values at its start, at the part `middle` and at its end
    vanishes; the first is negative, and the last is not."""
    first, between, last = over
    slope = (between - first) / middle
    a = (last - between) / (1.0 - middle) - slope
    b = slope - a * middle
    square = b * b - 4.0 * a * first
    below = b + sqrt(where(square > 0.0, square, 0.0))
    # Of a quadratic that only touches, and of rounding, half of the step is left.
    return _within(where(below > 0.0, -2.0 * first / where(below > 0.0, below, 1.0), 0.5))


def _within(part: Any) -> Any:
    return where(part < LEAST, LEAST, where(part > 1.0, 1.0, part))
