"""Dry friction in joints that sticks, inside a step and in each lane by itself.

Every velocity component with friction has a `sense`: 0 where it sticks, and otherwise the sign of its slip, -1 or 1.
Within a step senses stay as they are. A component that sticks is one whose acceleration is given, as zero
(`hybrid_dynamics`), and the force that gives it, `drive - tau`, is what friction holds with. One that slips has a force
that is smooth, sense (friction + fading / (1 + fall v^2)), also a little beyond the end of the slip, where no step will
end. Joints that close loops do the same: what sticks there is held by one more column of the loop (`dry_loops`).

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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.blocks import ArrayView
from catena.dynamics.loops.elimination.dry_loops import COMPONENTS, at_dry_loops, dry_loops, padded, tell_rate
from catena.dynamics.loops.elimination.least_change import stand
from catena.dynamics.tree.friction import passive_force
from catena.forces.dry import load_slope, slip_friction, slips, sticks
from catena.forces.load_friction import NUMBERS
from catena.forces.smooth import smooth_sign
from catena.kernels import (
    VELOCITY,
    Entry,
    OnCall,
    Schedule,
    Sweep,
    at_ground,
    each_body,
    on_call,
    with_ground,
)
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
# Velocities [rad/s or m/s] from which nothing can slow down, and accelerations that are rounding; with loops as a part
# of all that were summed up too.
REST, STILL, ROUNDED = 1e-12, 1e-11, 1e-12
# A slip ends where it is slower than so many tolerances, of which this is the largest part of a velocity.
ENDED, FINE = 10.0, 1e-9
# All wrong senses change together so often, and then one at a time; after that no senses are found.
TOGETHER, PIVOTS = 8, 400
UNFIT = 1e6
"""What stands for as many changes where no friction fits the loads that it makes."""
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


def rub(acts: str, beside_drives: bool, bears: bool) -> Sweep:
    """Return the step that puts friction with a sense in the place of the smooth one, which the dynamics takes off, and
    where a joint `bears` some load tells how friction goes with it."""

    def act(body: Any) -> None:
        acting = getattr(body, acts)
        body.tau = acting if not is_dry(body) else acting + beyond_smooth(body, beside_drives)
        if bears and is_dry(body):
            body.unloaded, body.load_slope = body.tau, load_slopes(body, beside_drives)
            body.resists = passive_force(body)
            body.tau = body.unloaded - body.load_slope * body.by_load

    return each_body(but_particles(act))


def beyond_smooth(body: Any, beside_drives: bool) -> np.ndarray:
    """Return the joint force (nv,) by which friction with a sense differs from the smooth one, without that of load."""
    found, senses = [], _senses(body, beside_drives)
    for k, (v, sense) in enumerate(zip(body.qd, senses, strict=True)):
        slipping = slip_friction(body.friction[k], body.fading[k], body.fall[k], v)
        found.append(body.friction[k] * smooth_sign(v) - sense * slipping)
    return array(found)


def load_slopes(body: Any, beside_drives: bool) -> np.ndarray:
    """Return how much friction (nv,) acts for that which loads make."""
    told = zip(_senses(body, beside_drives), body.bear_fading, body.fall, body.qd, strict=True)
    return array([load_slope(*each) for each in told])


def _senses(body: Any, beside_drives: bool) -> Any:
    """Return the senses (nv,) of a joint: those that are prescribed rub against their velocity."""
    if not beside_drives:
        return body.sense
    driven = [where(v > 0.0, 1.0, where(v < 0.0, -1.0, 0.0)) for v in body.qd]
    components = zip(body.prescribed, driven, body.sense, strict=True)
    return array([where(prescribed > 0.5, own, sense) for prescribed, own, sense in components])


def keep_hold(name: str, bears: bool) -> Sweep:
    """Return the step that keeps the forces of drives, and so of friction that holds, at a stage."""

    def keep(body: Any) -> None:
        setattr(body, name, held(body, bears))

    return each_body(but_particles(keep))


def held(body: Any, bears: bool) -> np.ndarray:
    """Return the force (nv,) with which friction holds where a component sticks, as a part of what it can hold where
    that comes from load."""
    force = array([a - b for a, b in zip(body.drive, body.tau, strict=True)])
    if not bears or not is_dry(body):
        return force
    return _of_limit(force, body.friction, body.excess, body.bears, body.bear_static)


def held_in_loop(loop: Any, bears: bool) -> Any:
    """Return that of a joint that closes a loop."""
    if not bears:
        return loop.hold
    state = loop.loop_excess, loop.loop_bears, loop.loop_bear_static
    return padded(_of_limit(loop.hold, loop.friction, *state))


def _of_limit(force: Any, friction: Any, excess: Any, load: Any, static: Any) -> np.ndarray:
    found = []
    for k in range(len(friction)):
        limit = friction[k] + excess[k] + (1.0 + static[k]) * load[k]
        found.append(force[k] / where(limit > 0.0, limit, 1.0))
    return array(found)


@at_ground
def leave_still(ground: Any) -> None:
    """Tell which accelerations are rounding."""
    ground.still = STILL


@at_ground
def leave_still_with_loops(ground: Any) -> None:
    """Tell which accelerations are rounding of those that were summed up: joints that loops hold have others."""
    ground.still = STILL + ROUNDED * ground.size


@at_ground
def begin_judging(ground: Any) -> None:
    """Nothing is wrong, and nothing is passed yet."""
    ground.wrong, ground.goes_on, ground.rests_in, ground.pivoted = 0.0, 1.0, FAR, 0.0


@dataclass(frozen=True)
class Component:
    """A velocity component with dry friction in a step: its sense, how much it can hold, and whether it rubs at all;
    velocities and accelerations at the start and at the end of the step, and the forces with which it holds at the
    start, in the middle, and at the end."""

    sense: Any
    limit: Any
    rubs: Any
    v0: Any
    v1: Any
    a0: Any
    a1: Any
    hold_0: Any
    hold_1: Any
    hold: Any

    def is_wrong(self, still: Any) -> Any:
        """Return whether the sense does not go on from the start of the step: more force is needed than there is, or a
        slip that begins would go the other way, beyond accelerations that are `still`."""
        backwards = both(self.sense * self.v0 <= REST, self.sense * self.a0 < -still)
        too_much = absolute(self.hold_0) > (1.0 + LOOSE) * self.limit
        wrong = where(sticks(self.sense), where(too_much, 1.0, 0.0), where(backwards, 1.0, 0.0)) > 0.5
        return both(self.rubs, wrong)

    @property
    def holds(self) -> Any:
        """Return whether it sticks."""
        return both(self.rubs, sticks(self.sense))

    @property
    def slides(self) -> Any:
        """Return whether it slips."""
        return both(self.rubs, slips(self.sense))


@dataclass(frozen=True)
class Judging:
    """How senses are judged: `first` and `last` name the accelerations with which a step began and ended, the part
    `middle` of the step is when forces were kept besides (zero where they are known at its start only), beside drives
    (`driven`) what is prescribed does not count, `adaptive` steps are as short as forces that hold need it, with
    `loops` the joints of loops are judged too, and where friction comes from load (`bears`) forces that hold are parts
    of what can be held."""

    first: str
    last: str
    middle: float
    driven: bool
    adaptive: bool
    loops: bool
    bears: bool

    def look(self, body: Any, ground: Any) -> None:
        """Look where the senses of a joint do not go on."""
        for component in self._of_body(body):
            self._look_at(component, ground)

    def look_at_loop(self, loop: Any, child: Any, parent: Any, ground: Any) -> None:
        """Look where the senses of a joint that closes a loop do not go on."""
        for component in self._of_loop(loop):
            self._look_at(component, ground)

    def change(self, body: Any, ground: Any) -> None:
        """Change senses of a joint: at the start, where a step was not taken because they are wrong, and at the end of
        one that was taken."""
        if not is_dry(body):
            return
        senses = [self._changed(component, ground) for component in self._of_body(body)]
        body.sense = array(senses)
        body.qd = array([where(sticks(new), 0.0, v) for new, v in zip(senses, body.qd, strict=True)])

    def change_in_loop(self, loop: Any, child: Any, parent: Any, ground: Any) -> None:
        """Change senses of a joint that closes a loop; what is left of its velocity goes when loops are closed."""
        senses = [self._changed(component, ground) for component in self._of_loop(loop)]
        loop.loop_sense = array([*senses, *loop.loop_sense[len(senses) :]])

    def _of_body(self, body: Any) -> list[Component]:
        """Return the components of a joint of the tree."""
        if not is_dry(body):
            return []
        end, found = held(body, self.bears), []
        for k, sense in enumerate(body.sense):
            limit, at_all = self._limit(body, "", body.friction[k] + body.excess[k], k)
            rubs = both(at_all, body.prescribed[k] < 0.5) if self.driven else at_all
            between = body.hold_1[k] if self.middle else 0.0
            found.append(
                Component(
                    sense, limit, rubs, body.v0[k], body.qd[k], getattr(body, self.first)[k],
                    getattr(body, self.last)[k], body.hold_0[k], between, end[k],
                )
            )  # fmt: skip
        return found

    def _of_loop(self, loop: Any) -> list[Component]:
        """Return the components of a joint that closes a loop."""
        end, found = held_in_loop(loop, self.bears), []
        for k in range(loop.joint.nv):
            limit, rubs = self._limit(loop, "loop_", loop.friction[k] + loop.loop_excess[k], k)
            found.append(
                Component(
                    loop.loop_sense[k], limit, rubs, loop.rate_0[k], loop.rate[k], loop.rise_0[k], loop.rise[k],
                    loop.loop_hold_0[k], loop.loop_hold_1[k], end[k],
                )
            )  # fmt: skip
        return found

    def _limit(self, owner: Any, prefix: str, constant: Any, k: int) -> tuple[Any, Any]:
        """Return up to what the force of a component counts that holds, and whether it has friction at all."""
        if not self.bears:
            return constant, constant > 0.0
        by_load = sum(getattr(owner, f"{prefix}{name}")[k] for name in NUMBERS[:3])
        return 1.0, constant + by_load > 0.0

    def _look_at(self, own: Component, ground: Any) -> None:
        s, dt = own.sense, ground.dt
        ground.wrong = ground.wrong + where(own.is_wrong(ground.still), 1.0, 0.0)
        slow = _slow(ground, own.v0)
        back = both(own.slides, s * own.v1 < -slow)
        part = where(back, _slip_ends(s * own.v0, s * own.a0 * dt, s * own.v1, s * own.a1 * dt), 1.0)
        if self.middle:
            torn = both(own.holds, absolute(own.hold) > (1.0 + MOST) * own.limit)
            way = where(own.hold > 0.0, 1.0, -1.0)
            over = [way * f - (1.0 + AIM) * own.limit for f in (own.hold_0, own.hold_1, own.hold)]
            part = where(torn, _hold_ends(over, self.middle), part)
            if self.adaptive:
                missed = where(own.holds, self._missed(own), 0.0)
                ground.error_0 = where(missed > ground.error_0, missed, ground.error_0)
        ground.goes_on = where(part < ground.goes_on, part, ground.goes_on)
        slows = both(own.slides, both(s * own.v1 > slow, s * own.a1 < 0.0))
        left = where(slows, s * own.v1 / where(slows, -s * own.a1, 1.0), FAR)
        ground.rests_in = where(left < ground.rests_in, left, ground.rests_in)

    def _changed(self, own: Component, ground: Any) -> Any:
        """Return the sense of a component behind a step."""
        s = own.sense
        taken, revised = ground.accepted > 0.5, both(ground.wrong > 0.5, ground.dt > 0.0)
        others = where(ground.pivots > TOGETHER, ground.pivoted, 0.0)
        wrong = both(both(revised, others < 0.5), own.is_wrong(ground.still))
        ground.pivoted = where(wrong, 1.0, ground.pivoted)
        begins = where(own.hold_0 > 0.0, -1.0, 1.0)
        new = where(wrong, where(sticks(s), begins, 0.0), s)
        if self.middle:
            tears = both(both(taken, own.holds), absolute(own.hold) > (1.0 + LOOSE) * own.limit)
            new = where(tears, where(own.hold > 0.0, -1.0, 1.0), new)
        at_rest = both(s * own.v1 <= _slow(ground, own.v0), s * own.a1 < -ground.still)
        return where(both(both(taken, own.slides), at_rest), 0.0, new)

    def _missed(self, own: Component) -> Any:
        """Return how far a force that holds is from a straight line within a step, as a part of what is allowed: where
        nothing moves, only that tells whether the step has followed it, or passed over what it did."""
        change, left = own.hold - own.hold_0, own.limit - absolute(own.hold_0)
        bends = absolute(own.hold_1 - own.hold_0 - self.middle * change)
        allowed = larger(STRAIGHT * absolute(change), FAR_OFF * left) + MOST * own.limit
        return bends / where(allowed > 0.0, allowed, 1.0)

    @cached_property
    def looking_at_loops(self) -> OnCall:
        """Return the step by which senses of loops are looked at."""
        return on_call(self.look_at_loop)

    @cached_property
    def changing_loops(self) -> OnCall:
        """Return the step by which senses of loops change."""
        return on_call(self.change_in_loop)

    @property
    def sweeps(self) -> tuple[Sweep, ...]:
        """Return what looks at senses before a step is decided about."""
        own = begin_judging, with_ground(but_particles(self.look))
        return (*own, Schedule(partial(at_dry_loops, self.looking_at_loops))) if self.loops else own

    @property
    def switch(self) -> tuple[Sweep, ...]:
        """Return what changes them afterwards."""
        own = (with_ground(but_particles(self.change)),)
        return (*own, Schedule(partial(at_dry_loops, self.changing_loops))) if self.loops else own


LOOP_VIEW = dict.fromkeys(("rate_0", "rise_0", "loop_hold_0", "loop_hold_1"), ArrayView((COMPONENTS,)))
"""What loops keep of the start and the middle of a step."""


@on_call
def keep_rate(loop: Any) -> None:
    """Keep how a loop joint moves where a step begins."""
    loop.rate_0 = loop.rate


def keeping(bears: bool) -> tuple[OnCall, OnCall]:
    """Return the steps that keep how a loop joint accelerates and holds where a step begins, and how it holds in the
    middle of one."""
    return (_keep_loaded_start, _keep_loaded_middle) if bears else (keep_start, keep_middle)


@on_call
def keep_start(loop: Any) -> None:
    """Keep how a loop joint accelerates and holds where a step begins."""
    loop.rise_0, loop.loop_hold_0 = loop.rise, loop.hold


@on_call
def keep_middle(loop: Any) -> None:
    """Keep how a loop joint holds in the middle of a step."""
    loop.loop_hold_1 = loop.hold


@on_call
def _keep_loaded_start(loop: Any) -> None:
    loop.rise_0, loop.loop_hold_0 = loop.rise, held_in_loop(loop, True)


@on_call
def _keep_loaded_middle(loop: Any) -> None:
    loop.loop_hold_1 = held_in_loop(loop, True)


@each_body
@but_particles
def keep_last(body: Any) -> None:
    """Keep the accelerations of the last stage before loops are closed."""
    body.qdd_last = body.qdd


def measured_rates(at: Any) -> list[Entry]:
    """Return the calls that find how loop joints move that may stick."""
    plan = at.plan
    bodies = [
        Entry(stand, i, (at.body(i), at.flows(i), at.flows(int(plan.parent[i]))))
        for i in range(1, plan.n)
        if not plan.kind[i].is_particle
    ]
    return [*bodies, *at_dry_loops(tell_rate, at)] if dry_loops(plan) else []


def weigh_senses(
    ground: Any, is_adaptive: bool, before: Mapping[str, Any], sure: Any, bears: bool = False
) -> Any:
    """Decide besides about a step: it is taken only if its senses go on, and what it was rejected for says nothing
    about the sizes planned `before`; the next one ends where the first of them changes. Return whether the step can be
    vouched for: it can where its senses are wrong anyway, as of a joint that sticks where it turns round while others
    go on."""
    is_wrong = ground.wrong > 0.5
    right = both(ground.wrong < 0.5, ground.goes_on >= 1.0)
    if is_adaptive:
        says_nothing = where(is_wrong, 1.0, where(right, 0.0, ground.accepted))
        ground.h = where(says_nothing > 0.5, before["h"], ground.h)
        for name in ("row", "wish"):
            setattr(ground, name, where(is_wrong, before[name], getattr(ground, name)))
    ground.accepted = where(right, ground.accepted, 0.0)
    taken, cut, moving = ground.accepted > 0.5, ground.capped > 0.5, ground.dt > 0.0
    sooner = where(ground.goes_on < 1.0, ground.goes_on * ground.dt, ground.cap)
    cap = where(taken, where(cut, ground.rests_in, FAR), where(ground.wrong > 0.5, FAR, sooner))
    ground.cap = where(moving, cap, ground.cap)
    pivots = where(taken, 0.0, where(ground.wrong > 0.5, ground.pivots + 1.0, ground.pivots))
    if bears:
        # A step that would be taken whose friction does not fit its loads ends in words.
        pivots = where(both(taken, ground.unfit > 0.5), UNFIT, pivots)
        ground.accepted = where(pivots > PIVOTS, 0.0, ground.accepted)
    ground.pivots = where(moving, pivots, ground.pivots)
    if not is_adaptive:
        ground.part = where(both(moving, taken), where(cut, ground.whole - ground.dt, 0.0), ground.part)
    ground.halt = where(ground.pivots > PIVOTS, 1.0, ground.halt)
    return where(is_wrong, 1.0, where(sure, 1.0, 0.0)) > 0.5


def _slow(ground: Any, v: Any) -> Any:
    """Return the velocity at which a slip that began with v is at rest, whatever errors are allowed besides; what
    rounding of accelerations makes of it counts."""
    tolerance, least = ground.atol + ground.rtol * absolute(v), REST + FINE * absolute(v)
    return ENDED * where(tolerance < least, tolerance, least) + ground.still * ground.dt


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
