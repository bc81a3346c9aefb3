"""The work of all that exchanges energy with the mechanism, integrated along with the motion.

At every stage the powers of actuators, friction, wrenches and prescribed drives are summed up at the ground, and each
step adds their integral by the weights of its own method. What springs and gravity store is in none of them: energy
changes by these works, up to the error of the integration.

Where joints are driven along prescribed motions, these know nothing of forces, and steps that follow them may pass over
whatever acts. There the error of the works counts as that of the motion does: the method's own estimate of it, as a
part of all the energy that has been moved about so far.
"""

from typing import Any

import numpy as np

from catena.dynamics.elements.force_sweeps import forget_power
from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.tree.friction import friction_force
from catena.kernels import Sweep, at_ground, with_ground
from catena.simulation.stepping.methods.conditions import larger
from catena.simulation.stepping.methods.method import CORRECT
from catena.simulation.stepping.methods.sticking import beyond_smooth, is_dry
from catena.spatial.scalars import absolute, array, where

# Works need not be better than to this part of the energy that is moved about: steps that meet a force that jumps would
# otherwise shrink to the rounding of the time.
EXACT = 1e-9
# Steps shorter than this part of the longest are good enough for any power, and for one that jumps.
SHORT = 1e-7

SOURCES = ("actuators", "friction", "wrenches", "motion")

__all__ = [
    "SOURCES",
    "count",
    "count_damped",
    "forget_gain",
    "forget_errors",
    "gain",
    "judge",
    "keep_power",
    "keep_turnover",
    "keep_work",
    "no_longer",
    "recall_power",
    "weighted_past",
]


@at_ground
def forget_gain(ground: Any) -> None:
    """Set the work of a step to zero at its start."""
    ground.gain = np.zeros(len(SOURCES))
    ground.power_start = np.zeros(len(SOURCES))


@at_ground
def _no_drive(ground: Any) -> None:
    ground.power_motion = 0.0


def _count_given(target: str) -> Sweep:
    """Add the power of control forces at a joint, where no other forces act."""

    def count(body: Any, ground: Any) -> None:
        if not body.joint.follows:
            ground.power_actuators = ground.power_actuators + getattr(body, target) @ body.qd

    return with_ground(but_particles(count))


def _count_joint(driven: bool, beside_forces: bool, sticks: bool, bears: bool) -> Sweep:
    """Add the power of friction in a joint and, where joints are `driven`, that of its drive: where control forces are
    all of tau, their share of it at driven joints counts as the drive's; `beside_forces` the others are no work of
    drives. What `sticks` rubs by its sense, as a part of tau."""

    def count(body: Any, ground: Any) -> None:
        rubbing = friction_force(body)
        if sticks and is_dry(body):
            rubbing = rubbing - beyond_smooth(body, driven)
            rubbing = rubbing + body.load_slope * body.by_load if bears else rubbing
        ground.power_friction = ground.power_friction - rubbing @ body.qd
        if driven:
            _count_drive(body, ground, body.prescribed if sticks else body.driven, beside_forces)

    return with_ground(but_particles(count))


def _count_drive(body: Any, ground: Any, driven: Any, beside_forces: bool) -> None:
    own = driven * body.qd
    if beside_forces:
        ground.power_actuators = ground.power_actuators - body.given @ own
        ground.power_motion = ground.power_motion + (body.drive - body.tau + body.given) @ own
    else:
        ground.power_actuators = ground.power_actuators - body.tau @ own
        ground.power_motion = ground.power_motion + body.drive @ own


def _count_damped_joint(driven: bool, beside_forces: bool) -> Sweep:
    """Add the power of the damper of a joint and, where joints are `driven`, that of its drive."""

    def count(body: Any, ground: Any) -> None:
        ground.power_friction = ground.power_friction - (body.damping * body.qd) @ body.qd
        if driven:
            _count_drive(body, ground, body.driven, beside_forces)

    return with_ground(but_particles(count))


def count_damped(forces: bool, driven: bool, loops: bool) -> list[Sweep]:
    """Return the sweeps that find the powers of a step whose dry friction is counted elsewhere."""
    begun: list[Sweep] = [] if forces else [forget_power, _count_given("tau")]
    return [*begun, _no_drive, _count_damped_joint(driven, forces), *([_rub_in_loops] if loops else [])]


@at_ground
def _rub_in_loops(ground: Any) -> None:
    """Add the power of friction in joints that close loops."""
    ground.power_friction = ground.power_friction - ground.lost


def count(forces: bool, driven: bool, loops: bool, sticks: bool = False, bears: bool = False) -> list[Sweep]:
    """Return the sweeps that find the powers of a stage once its accelerations are known. Where `forces` act,
    `force_sweeps` has begun to count; `driven` joints, friction in `loops` and friction that `sticks` are counted where
    there are any; with `bears` friction comes from load too."""
    begun: list[Sweep] = [] if forces else [forget_power, _count_given("given" if sticks else "tau")]
    moving = _count_joint(driven, forces or sticks, sticks, bears)
    return [*begun, _no_drive, moving, *([_rub_in_loops] if loops else [])]


def gain(weight: float, is_first: bool = False, errors: tuple[float, ...] = ()) -> Sweep:
    """Add the powers of a stage to what the step gains, with the stage's weight, and to the `errors` of that, with the
    weights that the method's estimates have for this stage."""

    def add(ground: Any) -> None:
        power = _powers(ground)
        ground.gain = array([g + ground.dt * weight * p for g, p in zip(ground.gain, power, strict=True)])
        if is_first:
            ground.power_start = power
        if errors:
            ground.turned = ground.turned + abs(weight) * ground.dt * sum(absolute(p) for p in power)
        for k, share in enumerate(errors):
            name = f"missed_{k}"
            missed = zip(getattr(ground, name), power, strict=True)
            setattr(ground, name, array([m + share * ground.dt * p for m, p in missed]))

    return at_ground(add)


def forget_errors(count: int) -> Sweep:
    """Set so many estimates of the error of works, and the energy turned over in a step, to zero at its start."""

    def forget(ground: Any) -> None:
        ground.turned = 0.0
        for k in range(count):
            setattr(ground, f"missed_{k}", np.zeros(len(SOURCES)))

    return at_ground(forget)


def judge(count: int) -> Sweep:
    """Let so many estimates of the error of works count among those of the motion, as parts of the `energy` at the
    start of the run and of what has been turned over since."""

    def heed(ground: Any) -> None:
        scale = ground.atol + larger(ground.rtol, EXACT) * (ground.energy + ground.turnover + ground.turned)
        counts = ground.dt > SHORT * ground.longest
        for k in range(count):
            worst = getattr(ground, f"error_{k}")
            for missed in getattr(ground, f"missed_{k}"):
                worst = larger(worst, where(counts, absolute(missed) / scale, 0.0))
            setattr(ground, f"error_{k}", worst)

    return at_ground(heed)


@at_ground
def keep_turnover(ground: Any) -> None:
    """Add what a step turns over to what has been turned over so far, if the step is accepted."""
    ground.turnover = ground.turnover + where(ground.accepted > 0.5, ground.turned, 0.0)


@at_ground
def no_longer(ground: Any) -> None:
    """Plan no step that is longer than the longest, so that none passes over forces that act for a while."""
    ground.h = where(ground.h > ground.longest, ground.longest, ground.h)


def _powers(ground: Any) -> np.ndarray:
    return array([getattr(ground, f"power_{source}") for source in SOURCES])


@at_ground
def weighted_past(ground: Any) -> None:
    """Add the powers at past steps to the work of a step, with the weights of the Adams-Moulton method."""
    ground.gain = array(
        [
            g + ground.dt * (CORRECT[2] * p1 + CORRECT[3] * p2)
            for g, p1, p2 in zip(ground.gain, ground.power_past_1, ground.power_past_2, strict=True)
        ]
    )


@at_ground
def keep_power(ground: Any) -> None:
    """Move the present powers to the past ones, if the step is accepted."""
    taken = ground.accepted > 0.5
    older = [where(taken, x, y) for x, y in zip(ground.power_past_1, ground.power_past_2, strict=True)]
    ground.power_past_1 = array(
        [where(taken, x, y) for x, y in zip(ground.power_start, ground.power_past_1, strict=True)]
    )
    ground.power_past_2 = array(older)


@at_ground
def keep_work(ground: Any) -> None:
    """Add the work of a step to the work done so far, if the step is accepted."""
    taken = ground.accepted > 0.5
    ground.work = array([w + where(taken, g, 0.0) for w, g in zip(ground.work, ground.gain, strict=True)])


@at_ground
def recall_power(ground: Any) -> None:
    """Leave the powers where the next step begins: those of the last stage, or of the first one if the step is not
    accepted."""
    taken = ground.accepted > 0.5
    for source, start in zip(SOURCES, ground.power_start, strict=True):
        name = f"power_{source}"
        setattr(ground, name, where(taken, getattr(ground, name), start))
