"""What a joint's friction takes: viscous damping and Coulomb friction, both against the motion.

Coulomb friction is friction sign(v), with a sign that goes smoothly through a short range of velocities around rest.
So integrators pass a reversal without a jump, and a joint that loops hold still, whose velocity is nothing but
rounding, has next to no friction instead of all of it in a random direction. A joint at rest on a slope creeps.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from catena.forces.smooth import smooth_sign, smooth_sign_slope
from catena.structure import Plan


def friction_force(body: Any) -> Any:
    """Return the joint force, shape (nv,), that overcomes friction: damping v + friction smooth_sign(v)."""
    return friction_at(body.damping, body.friction, body.qd)


def passive_force(body: Any) -> Any:
    """Return the joint force, shape (nv,), that overcomes friction and the stiffness that the joint's kind has by
    itself."""
    force, joint = friction_force(body), body.joint
    if joint.restoring(joint.neutral()) is None:
        # Positions that nobody reads need not be kept until here.
        return force
    return force + joint.restoring(body.q)


def friction_at(damping: Any, friction: Any, v: Any) -> Any:
    """Return the force that overcomes friction at velocities v, with coefficients of the same shape."""
    return damping * v + friction * smooth_sign(v)


@lru_cache(maxsize=64)
def rubs(plan: Plan) -> bool:
    """Return whether joints have dampers or friction."""
    each = [plan.damping, plan.friction]
    each += [x for loop in plan.loop_joints for x in (loop.damping, loop.friction)]
    return any(x.any() for x in each)


def tree_friction(plan: Any, q: Any, v: Any) -> Any:
    """Return the forces (..., nv) that overcome the friction of all tree joints and the stiffness of modes."""
    force = friction_at(plan.damping, plan.friction, v)
    if plan.owner is None:
        return force
    force = np.array(np.broadcast_to(force, (*np.shape(q)[:-1], plan.nv)))
    for own, kind, eta in elastic(plan, q):
        force[..., own] += np.moveaxis(kind.restoring(eta), 0, -1)
    return force


def tree_stiffness(plan: Any, q: Any) -> Any:
    """Return the derivatives (..., nv, nv) of the forces of flexible bodies by their amplitudes."""
    found = np.zeros((*np.shape(q)[:-1], plan.nv, plan.nv))
    for own, kind, eta in elastic(plan, q):
        found[..., own, own] = np.moveaxis(kind.tangent(eta), (0, 1), (-2, -1))
    return found


def strain_energy(plan: Any, q: Any) -> Any:
    """Return the energy (...) stored in the modes of flexible bodies at q (..., nq)."""
    return sum((kind.energy(eta) for _, kind, eta in elastic(plan, q)), np.zeros(q.shape[:-1]))


def elastic(plan: Any, q: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Yield the velocity components of each flexible body, its kind, and its amplitudes (k, ...) in q (..., nq)."""
    for i in np.unique(plan.owner if plan.owner is not None else ())[1:].tolist():
        if plan.kind[i].restoring(plan.kind[i].neutral()) is not None:
            first, count = int(plan.q_start[i]), int(plan.q_size[i])
            eta = np.moveaxis(np.asarray(q)[..., first : first + count], -1, 0)
            yield slice(int(plan.v_start[i]), int(plan.v_start[i]) + count), plan.kind[i], eta


def friction_slope(body: Any) -> Any:
    """Return the derivative (nv,) of `friction_force` by the velocities."""
    return body.damping + body.friction * smooth_sign_slope(body.qd)
