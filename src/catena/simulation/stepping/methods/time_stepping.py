"""Steps of fixed size with contacts, stops and dry friction, in which contacts need not be known beforehand (Moreau).

With the configuration q0 (+) h/2 v0 in the middle of the step, the accelerations a there without contacts, and impulses
p along rows A of contacts (`dynamics.contacts.impulse_law`),

    v1 = v0 + h a + M^-1 A^T p,        q1 = q0 (+) h/2 (v0 + v1),

which is of second order while contacts go on as they do. What lands in a step would be of first order only: such a step
ends where the first contact lands, is followed by an impact of no duration, in which contacts bounce, and then by the
rest of the step. What lands so slowly that it would bounce for less than a step does so at once, and so does what
lands when a step has ended so a dozen times. So each state has steps of its own between the times that are asked for,
and some of them take a few more than others.

Through loops, couplings and flexible bodies the accelerations, the impulses and what these change come from the
elimination (`dynamics.contacts.impulse_elimination`), where modes are as the implicit leapfrog has them, and behind the
step positions and velocities go back to closed loops. A step that the elimination cannot vouch for, or whose loops are
not closed then, is not taken.

What the ground holds from step to step besides the time: the `part` of a step that is left, whether an impact is next
(`hit`), how often the step was cut (`cuts`), and what is `held`, a flag and forces of each unit.
"""

from typing import Any

import numpy as np

from catena.dynamics.contacts import contact_forces, impulse_elimination
from catena.dynamics.contacts.impulse_law import BIG, LEFT, MOMENT, StepImpulses, most_friction
from catena.dynamics.flexible.particles import but_particles
from catena.kernels import OnMatrices, Schedule, Sweep, at_ground, base_to_tip, each_body, with_ground
from catena.simulation.stepping.methods.adams import scaled
from catena.simulation.stepping.methods.decision import TWO_CORRECTIONS, certify
from catena.simulation.stepping.methods.evaluation import Stages
from catena.simulation.stepping.methods.implicit_leapfrog import drift_ahead, foretold
from catena.simulation.stepping.methods.variant import StepVariant
from catena.simulation.stepping.methods.work import SOURCES
from catena.spatial import Force
from catena.spatial.scalars import array, where

CONTACT_NUMBERS = ("part", "hit", "cuts")
"""What the ground keeps besides what is held."""
CLOSING = ("t", "part", "hit", "cuts", "halt")
"""What a step that is taken changes of the ground."""
# A step ends so often where contacts land; what lands then does so at once.
MOST_CUTS = 12


@at_ground
def open_step(ground: Any) -> None:
    """Choose the size of a step: what is left of one that was cut, none for an impact."""
    left, h = ground.end - ground.t, where(ground.part > 0.0, ground.part, ground.h)
    reaches = (1.0 + 1e-9) * h >= left
    whole = where(ground.halt > 0.5, 0.0, where(reaches, left, h))
    ground.last, ground.whole = where(reaches, 1.0, 0.0), whole
    ground.going = where(whole > 0.0, 1.0, 0.0)
    ground.dt = where(ground.hit > 0.5, 0.0, whole)
    moment = {
        "dt": ground.dt, "h": ground.h, "hits": ground.hit, "going": ground.going, "cut": BIG,
        "rushed": where(ground.cuts >= MOST_CUTS, 1.0, 0.0), "left": LEFT,
    }  # fmt: skip
    ground.moment = array([moment.get(name, 0.0) for name in MOMENT])
    ground.error_0 = ground.error_1 = ground.doubt = ground.first_doubt = ground.shift = 0.0


@with_ground
def go_to_middle(body: Any, ground: Any) -> None:
    """Let a joint go on to the middle of the step, as it moves and as it accelerated in the step before."""
    half = 0.5 * ground.dt
    body.q = body.joint.integrate(body.q0, scaled(half, body.v0))
    body.qd = body.v0 + scaled(half, body.a_past)
    body.resists = scaled(half, body.damping)


@with_ground
@but_particles
def drift_to_middle(body: Any, ground: Any) -> None:
    """The same through an elimination, which is implicit in modes."""
    drift_ahead.step(body, ground)
    body.resists = scaled(0.5 * ground.dt, body.damping)


def come_back(variant: StepVariant) -> Sweep:
    """Return the step that tells rows how joints stand in the middle, move at the start and accelerate."""
    dry = variant.rubs

    def come(body: Any) -> None:
        n = body.joint.nv
        body.qd = body.v0
        q = body.q if body.joint.nq == n else np.zeros(n)
        limits = _limits(body) if dry else np.zeros(n)
        rows = zip(q, body.v0, body.qdd, limits, strict=True)
        body.joint_rows = array([x for row in rows for x in row]).reshape(n, 4)

    return each_body(but_particles(come))


@with_ground
@but_particles
def expect_again(body: Any, ground: Any) -> None:
    """Let a joint move as it is expected to in the middle of the step, as it did before `come_back`."""
    body.qd = body.v0 + foretold(body, ground.dt)


def _limits(body: Any) -> list[Any]:
    """Return with how much the components of a joint rub at most."""
    numbers = zip(body.friction, body.excess, body.fading, body.fall, strict=True)
    return [most_friction(limits, v) for limits, v in zip(numbers, body.v0, strict=True)]


@base_to_tip
def gain(body: Any, parent: Any) -> None:
    """Joints gain speed by impulses."""
    body.gained = contact_forces.yielded(body, parent)


@base_to_tip
def gain_beside_drives(body: Any, parent: Any) -> None:
    """The same, and what drives joints along a given motion bears impulses."""
    gain.step(body, parent)
    felt = [
        body.gives_way.dot(Force(array(row[6:12]))) - pull[0]
        for row, pull in zip(body.ways, body.pulls, strict=True)
    ]
    body.borne = array([d * x for d, x in zip(body.driven, felt, strict=True)])


@with_ground
@but_particles
def count_borne(body: Any, ground: Any) -> None:
    """Add the work of the impulses that drives bear."""
    means = body.v0 + scaled(0.5, scaled(ground.dt, body.qdd) + body.gained)
    more, at = sum((x * y for x, y in zip(body.borne, means, strict=True)), 0.0), SOURCES.index("motion")
    ground.gain = array([g + (more if k == at else 0.0) for k, g in enumerate(ground.gain)])


@each_body
@but_particles
def gain_nothing(body: Any) -> None:
    """Nothing gives a joint an impulse."""
    body.gained = np.zeros(body.joint.nv)


def close_step(has_rows: bool, through: bool) -> Sweep:
    """Return what decides about a step: whether impulses were found, how much of it was taken, and what comes next;
    and `through` an elimination whether that can be trusted."""

    def close(ground: Any) -> None:
        if through:
            ground.begun = array([getattr(ground, name) for name in CLOSING])
        _close(ground, where(ground.doubt < 0.5, ground.going, 0.0) if through else ground.going)
        if has_rows:
            found, pairs = ground.found > 0.5, zip(ground.held, ground.held_before, strict=True)
            ground.held = array([where(found, x, y) for x, y in pairs])

    return at_ground(close)


def _close(ground: Any, sure: Any) -> None:
    moment = dict(zip(MOMENT, ground.moment, strict=True))
    found = where(moment["goes"] > 0.5, 0.0, sure)
    is_cut = where(moment["cut"] < ground.dt, 1.0, 0.0)
    ground.taken = where(is_cut > 0.5, moment["cut"] / where(ground.dt > 0.0, ground.dt, 1.0), 1.0)
    hits = where(ground.hit > 0.5, 1.0, 0.0)
    ends = where(ground.last > 0.5, ground.end, ground.t + ground.dt)
    goes = where(hits > 0.5, ground.t, where(is_cut > 0.5, ground.t + moment["cut"], ends))
    left = where(is_cut > 0.5, ground.whole - moment["cut"], where(hits > 0.5, ground.whole, 0.0))
    ground.found = found
    ground.accepted = found * (1.0 - is_cut) * (1.0 - hits)
    # A state that has nothing left to do is at its end, unless it has halted.
    stays = where(ground.halt > 0.5, ground.t, where(ground.going > 0.5, ground.t, ground.end))
    ground.t = where(found > 0.5, goes, stays)
    ground.part = where(found > 0.5, left, ground.part)
    ground.hit = where(found > 0.5, is_cut, ground.hit)
    ground.cuts = where(ground.accepted > 0.5, 0.0, ground.cuts + is_cut * found)
    ground.halt = where(ground.going > 0.5, where(found > 0.5, ground.halt, 1.0), ground.halt)


@at_ground
def heed_closing(ground: Any) -> None:
    """Take no step behind which loops are not closed."""
    is_open = where(ground.shift <= TWO_CORRECTIONS, 0.0, ground.found) > 0.5
    for name, before in zip(CLOSING, ground.begun, strict=True):
        setattr(ground, name, where(is_open, before, getattr(ground, name)))
    ground.halt = where(is_open, 1.0, ground.halt)
    ground.found = where(is_open, 0.0, ground.found)
    ground.accepted = where(is_open, 0.0, ground.accepted)


@with_ground
@but_particles
def settle(body: Any, ground: Any) -> None:
    """Leave a joint where it was unless the step is taken."""
    found = ground.found > 0.5
    body.q = array([where(found, x, y) for x, y in zip(body.q, body.q0, strict=True)])
    body.qd = array([where(found, x, y) for x, y in zip(body.qd, body.v0, strict=True)])


@at_ground
def keep_held(ground: Any) -> None:
    """Keep what was held when the step began."""
    ground.held_before = ground.held


@with_ground
@but_particles
def land(body: Any, ground: Any) -> None:
    """Let a joint go to the end of what is taken of the step."""
    dt, part, found = ground.dt, ground.taken, ground.found > 0.5
    body.first = body.qdd
    gains = scaled(dt, body.qdd) + body.gained
    moves = ground.dt > 0.0
    rate = where(moves, 1.0 / where(moves, dt, 1.0), 0.0)
    v = body.v0 + scaled(part, gains)
    q = body.joint.integrate(body.q0, scaled(0.5 * part * dt, body.v0 + v))
    past = [where(moves, rate * x, y) for x, y in zip(gains, body.a_past, strict=True)]
    body.a_past = array([where(found, x, y) for x, y in zip(past, body.a_past, strict=True)])
    body.qd = array([where(found, x, y) for x, y in zip(v, body.v0, strict=True)])
    body.q = array([where(found, x, y) for x, y in zip(q, body.q0, strict=True)])


@with_ground
@but_particles
def correct_damper(body: Any, ground: Any) -> None:
    """Let dampers have worked with the mean velocity of the step, with which they act, and not with the one that was
    expected."""
    more: Any = 0.0
    faster = foretold(body, ground.dt)
    for k, gained in enumerate(scaled(ground.dt, body.qdd) + body.gained):
        expected, mean = body.v0[k] + faster[k], body.v0[k] + 0.5 * gained
        more = more + 2.0 * body.resists[k] * (expected * expected - mean * mean)
    at = SOURCES.index("friction")
    ground.gain = array([g + (more if k == at else 0.0) for k, g in enumerate(ground.gain)])


@at_ground
def keep_work(ground: Any) -> None:
    """Add the work of what is taken of a step to the work done so far: that of contacts as wrenches do it, that of rows
    at joints as friction does."""
    moment, found = dict(zip(MOMENT, ground.moment, strict=True)), ground.found > 0.5
    besides = {"wrenches": moment["work"], "friction": moment["rubbed"]}
    done = [ground.taken * (g + besides.get(name, 0.0)) for name, g in zip(SOURCES, ground.gain, strict=True)]
    ground.work = array([w + where(found, x, 0.0) for w, x in zip(ground.work, done, strict=True)])


def sweeps(stages: Stages) -> list[Sweep]:
    """Return the sweeps of a step; one through an elimination has gone to its middle already (`drift_to_middle`)."""
    variant, through = stages.variant, stages.variant.shape is not None
    found = [*([keep_held] if variant.rows else []), *([] if through else [go_to_middle])]
    found += stages.accelerations(0.5)
    if variant.rows:
        found += _through(stages) if through else [
            come_back(variant), contact_forces.see, OnMatrices(StepImpulses(variant.rows)),
            gain_beside_drives if variant.driven else gain,
        ]  # fmt: skip
        found += [count_borne] if variant.driven and variant.counts else []
    else:
        found.append(gain_nothing)
    found.append(close_step(bool(variant.rows), through))
    return [*found, *([correct_damper] if variant.counts else []), land]


def _through(stages: Stages) -> list[Sweep]:
    """Return the sweeps that find impulses through an elimination, and what they change."""
    (eliminating,) = (sweep for sweep in stages.dynamics.sweeps if isinstance(sweep, Schedule))
    impulses, driven = (
        impulse_elimination.ImpulsesThroughElimination(stages.variant.rows),
        stages.variant.driven,
    )
    return [
        impulse_elimination.keep_free, *([impulse_elimination.keep_drive] if driven else []),
        come_back(stages.variant), impulse_elimination.see, expect_again,
        *impulses.sweeps(eliminating.order, stages.dynamics.ground), certify_impulses,
        impulse_elimination.gain(driven),
    ]  # fmt: skip


@at_ground
def certify_impulses(ground: Any) -> None:
    """Count what impulses change as doubtful where the elimination cannot certify it."""
    before = ground.doubt
    certify.step(ground)
    ground.doubt = where(ground.holds > 0.5, ground.doubt, before)
