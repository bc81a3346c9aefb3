"""Whole turns of loop joints that forces look at, counted through a step.

Where the two sides of a loop joint are tells its angle up to whole turns. So a force there carries from step to step a
position `near` that its joint is near, and at each stage counts on from it: from where the step began, by the rates of
the stages so far, as the method moves the joints of the tree. The angle itself always comes from the bodies, so that
nothing drifts. Where it is far from what the rates lead to, the step was too long to tell, and is not accepted.
"""

from typing import Any

import numpy as np

from catena.kernels import Sweep, each_moving_force
from catena.simulation.stepping.methods.adams import scaled
from catena.simulation.stepping.methods.conditions import larger
from catena.simulation.stepping.methods.tableaus import Tableau
from catena.spatial.scalars import absolute, array, where

# What the rates lead to may be off by so much [rad]: half a turn could not be told from another one.
FAR = 1.0


def count_stage(method: Tableau, stage: int) -> Sweep:
    """Keep the rate of a stage, and go on to where joints are near in the next one, or at the end of the step."""
    last = stage + 1 == method.stages
    weights = method.b if last else method.a[stage + 1]

    def count(force: Any, a: Any, b: Any, ground: Any) -> None:
        if force.near is None:
            return
        if not stage:
            force.near_start = force.seen
        elif method.is_adaptive:
            for k in force.joint.wraps:
                ground.error_0 = larger(ground.error_0, absolute(force.seen[k] - force.near[k]) / FAR)
        setattr(force, f"seen_rate_{stage}", force.seen_rate)
        total: Any = np.zeros(len(force.seen))
        for j, weight in enumerate(weights):
            if weight:
                total = total + weight * getattr(force, f"seen_rate_{j}")
        force.near = force.near_start + scaled(ground.dt, total)

    return each_moving_force(count)


def count_once(part: float) -> Sweep:
    """Go on from where joints are at a part of the step, with their rates there, to where they are near at its end."""

    def count(force: Any, a: Any, b: Any, ground: Any) -> None:
        if force.near is not None:
            force.near = force.seen + scaled((1.0 - part) * ground.dt, force.seen_rate)

    return each_moving_force(count)


@each_moving_force
def begin_count(force: Any, a: Any, b: Any, ground: Any) -> None:
    """Keep where joints are near when the step begins."""
    if force.near is not None:
        force.near_start = force.near


@each_moving_force
def settle_count(force: Any, a: Any, b: Any, ground: Any) -> None:
    """Keep what was counted if the step is accepted, and where it began otherwise."""
    if force.near is not None:
        taken = ground.accepted > 0.5
        force.near = array([where(taken, x, y) for x, y in zip(force.near, force.near_start, strict=True)])
