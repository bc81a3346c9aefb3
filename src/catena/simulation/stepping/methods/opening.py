"""Where a step begins: how large it is, and what is kept of its start."""

from typing import Any

import numpy as np

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import at_ground, with_ground
from catena.spatial.scalars import where


@at_ground
def open_step(ground: Any) -> None:
    """Choose the size of a step: zero where the end is reached or the motion halted."""
    ground.goal = ground.end
    _open(ground)


@at_ground
def open_timed_step(ground: Any) -> None:
    """Choose the size of a step that does not pass the next sample of a controller."""
    sample = ground.sample / ground.rate
    ground.goal = where(sample < ground.end, sample, ground.end)
    _open(ground)


def _open(ground: Any) -> None:
    left = ground.goal - ground.t
    reaches = (1.0 + 1e-9) * ground.h >= left
    ground.last = where(reaches, 1.0, 0.0)
    ground.dt = where(ground.halt > 0.5, 0.0, where(reaches, left, ground.h))
    ground.error_0 = ground.error_1 = ground.doubt = ground.first_doubt = ground.shift = 0.0


@with_ground
@but_particles
def begin(body: Any, ground: Any) -> None:
    """Keep the state of a joint at the start of the step."""
    body.q0, body.v0 = body.q, body.qd
    body.xi = np.zeros(body.joint.nv)
