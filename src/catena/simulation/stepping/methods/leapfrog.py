"""The method of Stoermer and Verlet: half a step of positions, one of velocities, and the other half."""

from typing import Any

from catena.dynamics.flexible.particles import but_particles
from catena.kernels import Sweep, with_ground
from catena.simulation.stepping.methods.adams import scaled
from catena.simulation.stepping.methods.evaluation import Stages


@with_ground
@but_particles
def drift(body: Any, ground: Any) -> None:
    """Let a joint go on for half a step as it moves."""
    body.q = body.joint.integrate(body.q0, scaled(0.5 * ground.dt, body.v0))


@with_ground
@but_particles
def leap(body: Any, ground: Any) -> None:
    """Take a step with the acceleration in its middle (Stoermer and Verlet): symplectic and of second order where
    nothing depends on the velocity, which is that of the start there."""
    body.first = body.qdd
    body.qd = body.v0 + scaled(ground.dt, body.qdd)
    body.q = body.joint.integrate(body.q0, scaled(0.5 * ground.dt, body.v0 + body.qd))


def sweeps(stages: Stages) -> list[Sweep]:
    """Return the sweeps of a step."""
    begins = stages.accelerations(0.0) if stages.variant.touches else []
    return [*begins, drift, *stages.accelerations(0.5), leap]
