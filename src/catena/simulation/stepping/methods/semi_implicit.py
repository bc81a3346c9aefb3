"""Euler's step with the new velocity."""

from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import Sweep, with_ground
from catena.simulation.stepping.methods.adams import scaled
from catena.simulation.stepping.methods.evaluation import Stages


@with_ground
@but_particles
def semi_implicit(body: Any, ground: Any) -> None:
    """Take Euler's step with the new velocity: symplectic where nothing depends on the velocity."""
    body.first = body.qdd
    body.qd = body.v0 + scaled(ground.dt, body.qdd)
    body.q = body.joint.integrate(body.q0, scaled(ground.dt, body.qd))


def sweeps(stages: Stages) -> list[Sweep]:
    """Return the sweeps of a step."""
    return [*stages.accelerations(0.0), semi_implicit]
