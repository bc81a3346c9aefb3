"""A leapfrog step that is implicit in the stiffness and the damping of modes, so that no mode bounds its size.

Positions go half a step, the acceleration a there changes the velocities, and positions go the other half:

    v1 = v0 + h a,    q1 = q0 + h (v0 + v1) / 2,    (M + F) a = f(q0 + h v0 / 2, v0 + h a_past / 2) + h C a_past / 2,
    F = h C / 2 + h^2 K / 4.

With the modal stiffness K and damping C in F, their forces are those of the mean of both ends, q0 + h v0 / 2 + h^2 a /
4 and v0 + h a / 2: the midpoint rule, which is stable for modes of any frequency and takes no energy from them. F is
diagonal and adds to the inertia of the modes, so a step costs what an explicit one costs. All other forces are
explicit. Those that depend on velocities have them from the acceleration of the step before, which makes the method one
of second order for them too; C a_past takes out what that would do to the damping of modes. Of modes that the step
passes over nothing can be foretold: their a_past counts for 1 / (1 + (2 h w)^2) with the frequency w of the mode in a
free body, the highest it may have.
"""

from typing import Any

from catena.dynamics.flexible.flexible_body import is_flexible
from catena.dynamics.flexible.particles import but_particles
from catena.kernels import Sweep, with_ground
from catena.simulation.stepping.methods.adams import scaled
from catena.simulation.stepping.methods.evaluation import Stages
from catena.spatial.scalars import array, where


@with_ground
@but_particles
def drift_ahead(body: Any, ground: Any) -> None:
    """Let a joint go on for half a step, and lend inertia to modes."""
    h = ground.dt
    body.q = body.joint.integrate(body.q0, scaled(0.5 * h, body.v0))
    faster, joint = foretold(body, h), getattr(body.joint, "kind", body.joint)
    if is_flexible(body.joint) and not body.joint.follows:
        body.lent_inertia = array(
            [0.5 * h * c + 0.25 * h * h * k for c, k in zip(body.damping, joint.stiffness, strict=True)]
        )
        body.lent_force = body.damping * faster
    body.qd = body.v0 + faster


def foretold(body: Any, h: Any) -> Any:
    """Return how much faster a joint is expected to be in the middle of a step."""
    faster, joint = scaled(0.5 * h, body.a_past), getattr(body.joint, "kind", body.joint)
    if not is_flexible(body.joint):
        return faster
    return array([x / (1.0 + 4.0 * h * h * w2) for x, w2 in zip(faster, joint.squares, strict=True)])


@with_ground
@but_particles
def leap_ahead(body: Any, ground: Any) -> None:
    """Take the step with the acceleration in its middle."""
    body.first = body.qdd
    body.qd = body.v0 + scaled(ground.dt, body.qdd)
    body.q = body.joint.integrate(body.q0, scaled(0.5 * ground.dt, body.v0 + body.qd))


@with_ground
@but_particles
def remember_acceleration(body: Any, ground: Any) -> None:
    """Keep the accelerations of a step that is accepted."""
    taken = ground.accepted > 0.5
    body.a_past = array([where(taken, x, y) for x, y in zip(body.first, body.a_past, strict=True)])


def sweeps(stages: Stages) -> list[Sweep]:
    """Return the sweeps of a step that `drift_ahead` has begun."""
    return [*stages.accelerations(0.5), leap_ahead]
