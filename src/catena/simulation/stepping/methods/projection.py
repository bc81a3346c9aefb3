"""The way back to closed states: least changes of position and velocity, in the sense of kinetic energy."""

from functools import partial
from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.dynamics.loops.elimination.least_change import stand, start_open, start_opening
from catena.dynamics.loops.elimination.schedule import schedule
from catena.dynamics.loops.elimination.steps import rest as rest_ground
from catena.dynamics.loops.elimination.ties import leave_open, leave_opening
from catena.kernels import OnCall, Schedule, at_ground, with_ground
from catena.simulation.stepping.methods.conditions import larger
from catena.spatial.scalars import absolute

rest = at_ground(rest_ground)


def closing_sweeps(go: OnCall, implicit: bool) -> tuple[Schedule, Schedule]:
    """Return the sweeps that find the least changes of position and of velocity; `go` says how bodies yield, and with
    `implicit` modes are lent what the step lends them."""
    close = partial(schedule, move=stand, rub=False, refine=False, go=go, rests=True, implicit=implicit)
    return (
        Schedule(partial(close, begin_loop=start_open, finish=leave_open)),
        Schedule(partial(close, begin_loop=start_opening, finish=leave_opening)),
    )


@at_ground
def forget_shift(ground: Any) -> None:
    """Set `shift` to zero, because only the last correction of positions is measured."""
    ground.shift = 0.0


@with_ground
@but_particles
def shift_positions(body: Any, ground: Any) -> None:
    """Correct the positions of a joint and keep the largest change in `shift`."""
    body.q = body.joint.integrate(body.q, body.qdd)
    for x in body.qdd:
        ground.shift = larger(ground.shift, absolute(x))


@with_ground
@but_particles
def shift_velocities(body: Any, ground: Any) -> None:
    """Correct the velocities of a joint."""
    body.qd = body.qd + body.qdd
