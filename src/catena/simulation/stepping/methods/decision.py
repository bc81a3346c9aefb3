"""Whether a step is taken, and how large the next one is: decided without branches, in each lane by itself."""

from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.magnitudes import TRUSTED_CHANGE, TRUSTED_DEFECT
from catena.kernels import Sweep, at_ground, with_ground
from catena.simulation.stepping.methods.conditions import both, larger
from catena.simulation.stepping.methods.step_size import GROW, SAFETY, SHRINK, error_ratio, root
from catena.simulation.stepping.methods.sticking import weigh_senses
from catena.simulation.stepping.methods.tableaus import Tableau
from catena.spatial.scalars import array, where

# A step that came too near to a singular configuration is tried again so much shorter. Rejected steps are counted: one
# that should have been good counts 1, one that could not be shortened enough counts half, and the motion halts here.
AVOIDING, ROW = 0.6, 1.75
# Errors below this part of the tolerance count as so much where the next one is foreseen.
LEAST = 1e-2
# Positions that loops are corrected by [rad or m]: Newton's method squares what is left, so that one correction is
# enough below the first, and two have converged where the second is below the second number.
ONE_CORRECTION, TWO_CORRECTIONS = 1e-5, 1e-6


@at_ground
def certify(ground: Any) -> None:
    """Count a stage as doubtful where the elimination cannot certify its accelerations, next to singular
    configurations."""
    allowed = TRUSTED_CHANGE * ground.size
    settled = ground.change * ground.change <= allowed * larger(ground.before, ground.change)
    sure = both(ground.defect < TRUSTED_DEFECT, settled)
    ground.doubt = ground.doubt + where(sure, 0.0, 1.0)


@at_ground
def keep_first_doubt(ground: Any) -> None:
    """Keep whether the accelerations at the start of the step are doubtful."""
    ground.first_doubt = ground.doubt


def decide(
    method: Tableau | None,
    corrections: int,
    foresees: bool = False,
    sticks: bool = False,
    bears: bool = False,
) -> Sweep:
    """Return the step of the ground that accepts or rejects the step of the method and chooses the next size. One that
    `foresees` goes on shrinking as it did (Gustafsson), towards the end of a slip for instance, where half of all
    steps were rejected otherwise; it needs no corrections. Where friction `sticks`, a step ends where it does so or
    gives way."""

    def judge_step(ground: Any) -> None:
        sure, before = ground.doubt < 0.5, {name: getattr(ground, name) for name in ("h", "row", "wish")}
        if method is None or not method.is_adaptive:
            if corrections:
                sure = both(sure, ground.shift <= TWO_CORRECTIONS)
            ground.accepted = where(sure, 1.0, 0.0)
        else:
            ratio = error_ratio([getattr(ground, f"error_{k}") for k in range(len(method.errors))])
            if corrections:
                ratio = larger(ratio, ground.shift / ONE_CORRECTION)
            good = ratio <= 1.0
            bounded = where(
                ratio >= 1e-10, where(ratio <= 1e10, ratio, 1e10), where(ratio <= 1.0, 1e-10, 1e10)
            )
            factor = SAFETY / root(bounded, method.error_order)
            factor = where(factor < SHRINK, SHRINK, where(factor > GROW, GROW, factor))
            # A step that only reached up to the end says nothing against the size planned before.
            planned = ground.dt * factor
            short = where(ground.capped > 0.5, 1.0, ground.last) if sticks else ground.last
            grown = where(both(short > 0.5, ground.h > planned), ground.h, planned)
            moving = ground.dt > 0.0
            ground.accepted = where(both(sure, good), 1.0, 0.0)
            shorter = where(sure, planned, AVOIDING * ground.dt)
            if corrections:
                # A stage that came too near to a singular configuration is avoided by a shorter step. The motion halts
                # where the step begins there, or where nothing helps, with the step that was wished for at first.
                ground.wish = where(ground.row > 0.5, ground.wish, ground.dt)
                counts = where(ratio < (SAFETY / SHRINK) ** method.error_order, 1.0, 0.5)
                ground.row = where(ground.accepted > 0.5, 0.0, ground.row + counts)
                lasts = both(ground.first_doubt < 0.5, ground.row < ROW)
                ground.h = where(
                    moving, where(ground.accepted > 0.5, grown, where(lasts, shorter, ground.wish)), ground.h
                )
                ground.row = where(lasts, ground.row, 0.0)
                sure = where(ground.accepted > 0.5, 1.0, where(lasts, 1.0, 0.0)) > 0.5
            else:
                if foresees:
                    # The size and the error of the last step that was accepted.
                    earlier, error = where(ground.wish > 0.0, ground.wish, ground.dt), ground.row
                    error = where(ground.wish > 0.0, error, bounded)
                    trend = bounded * bounded / larger(error, LEAST)
                    trend = where(trend > 1e10, 1e10, where(trend < 1e-10, 1e-10, trend))
                    foreseen = SAFETY * ground.dt / earlier / root(trend, method.error_order)
                    foreseen = ground.dt * where(foreseen < SHRINK, SHRINK, foreseen)
                    kept = where(ground.last > 0.5, grown, where(foreseen < grown, foreseen, grown))
                    grown = where(ground.wish > 0.0, kept, grown)
                    steps = both(moving, ground.accepted > 0.5)
                    ground.wish = where(steps, ground.dt, ground.wish)
                    ground.row = where(steps, bounded, ground.row)
                ground.h = where(moving, where(ground.accepted > 0.5, grown, shorter), ground.h)
                sure = ground.accepted >= 0.0
        if sticks:
            sure = weigh_senses(ground, method is not None and method.is_adaptive, before, sure, bears)
        # A state that has halted, or come to its end, takes no step, whatever a step of no length looks like.
        ground.accepted = where(ground.dt > 0.0, ground.accepted, 0.0)
        taken = ground.accepted > 0.5
        ground.t = where(taken, where(ground.last > 0.5, ground.goal, ground.t + ground.dt), ground.t)
        ground.halt = where(ground.dt > 0.0, where(sure, ground.halt, 1.0), ground.halt)
        ground.t = where(ground.dt > 0.0, ground.t, where(ground.halt > 0.5, ground.t, ground.end))

    return at_ground(judge_step)


@with_ground
@but_particles
def settle(body: Any, ground: Any) -> None:
    """Keep the new state of a joint if the step is accepted, and the old one otherwise."""
    taken = ground.accepted > 0.5
    body.q = array([where(taken, x, y) for x, y in zip(body.q, body.q0, strict=True)])
    body.qd = array([where(taken, x, y) for x, y in zip(body.qd, body.v0, strict=True)])


@with_ground
@but_particles
def recall_acceleration(body: Any, ground: Any) -> None:
    """Leave the accelerations of a joint where the next step begins: those of the last stage, or of the first one if
    the step is not accepted."""
    taken = ground.accepted > 0.5
    body.qdd = array([where(taken, x, y) for x, y in zip(body.qdd, body.rate_v_0, strict=True)])


def recall_force(target: str) -> Sweep:
    """Leave the control force of a joint where the next step begins."""

    def recall(body: Any, ground: Any) -> None:
        taken, now = ground.accepted > 0.5, getattr(body, target)
        force = array([where(taken, x, y) for x, y in zip(now, body.tau_start, strict=True)])
        setattr(body, target, force)

    return with_ground(but_particles(recall))
