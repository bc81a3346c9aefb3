"""What a joint's friction takes: viscous damping and Coulomb friction, both against the motion."""

from typing import Any

from catena.spatial.scalars import array, sign


def friction_force(body: Any) -> Any:
    """The joint force, shape (nv,), that overcomes friction: damping v + friction sign(v). At rest Coulomb
    friction takes nothing."""
    return body.damping * body.qd + body.friction * array([sign(x) for x in body.qd])
