"""What a joint's friction takes: viscous damping and Coulomb friction, both against the motion.

Coulomb friction is friction sign(v), with a sign that goes smoothly through a short range of velocities around rest.
So integrators pass a reversal without a jump, and a joint that loops hold still, whose velocity is nothing but
rounding, has next to no friction instead of all of it in a random direction. A joint at rest on a slope creeps.
"""

from typing import Any

from catena.forces.smooth import smooth_sign, smooth_sign_slope


def friction_force(body: Any) -> Any:
    """The joint force, shape (nv,), that overcomes friction: damping v + friction smooth_sign(v)."""
    return friction_at(body.damping, body.friction, body.qd)


def friction_at(damping: Any, friction: Any, v: Any) -> Any:
    """The force that overcomes friction at velocities v, with coefficients of the same shape."""
    return damping * v + friction * smooth_sign(v)


def friction_slope(body: Any) -> Any:
    """The derivative (nv,) of `friction_force` by the velocities."""
    return body.damping + body.friction * smooth_sign_slope(body.qd)
