"""Where a step begins: how large it is, and what is kept of its start."""

from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import Sweep, at_ground, with_ground
from catena.spatial.scalars import where


def open_step(is_timed: bool = False, sticks: bool = False) -> Sweep:
    """Return what chooses the size of a step: zero where the end is reached or the motion halted. One that `is_timed`
    does not pass the next sample of a controller, and where friction `sticks`, one does not pass where it is expected
    to do so or to give way; of a step of fixed size it leaves the rest for the next one."""

    def choose(ground: Any) -> None:
        ground.goal = ground.end
        if is_timed:
            sample = ground.sample / ground.rate
            ground.goal = where(sample < ground.end, sample, ground.end)
        _open(ground, where(ground.part > 0.0, ground.part, ground.h) if sticks else ground.h)
        if sticks:
            ground.whole = ground.dt
            ground.capped = where(ground.cap < ground.dt, 1.0, 0.0)
            ground.dt = where(ground.capped > 0.5, ground.cap, ground.dt)
            ground.last = where(ground.capped > 0.5, 0.0, ground.last)

    return at_ground(choose)


def _open(ground: Any, h: Any) -> None:
    left = ground.goal - ground.t
    reaches = (1.0 + 1e-9) * h >= left
    ground.last = where(reaches, 1.0, 0.0)
    ground.dt = where(ground.halt > 0.5, 0.0, where(reaches, left, h))
    ground.error_0 = ground.error_1 = ground.doubt = ground.first_doubt = ground.shift = 0.0


@with_ground
@but_particles
def begin(body: Any, ground: Any) -> None:
    """Keep the state of a joint at the start of the step."""
    body.q0, body.v0 = body.q, body.qd
    body.xi = np.zeros(body.joint.nv)
