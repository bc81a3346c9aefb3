"""Forward dynamics over a step in time, implicit in the dampers of joints: three sweeps, cost O(N).

The velocities change from v0 by dt a, so that a damper d at a joint takes d (v0 + dt/2 a) in the mean: dt/2 d resists
accelerations as inertia does, and is added to D = S^T U. So dampers of light bodies do not bound the step, and the mean
over the step is of second order. Other forces that depend on the velocity do so at v0 + dt/2 a_past, with the
acceleration of the step before. Dry friction is left to rows of the step (`contacts.impulse_law`).
"""

from dataclasses import replace
from typing import Any

from catena.dynamics.tree.articulated_body import accelerations, articulated_body, pass_on, velocities
from catena.dynamics.tree.rotors import with_rotor
from catena.forces.placed import TREE
from catena.kernels import each_moving_force, tip_to_base
from catena.spatial import ArticulatedInertia, spd_inverse
from catena.spatial.scalars import array


@each_moving_force
def resist(force: Any, a: Any, b: Any, ground: Any) -> None:
    """Add what the damper of a spring at a joint resists with to that of the joint."""
    if force.site == TREE and force.acts and force.kind.dampers:
        half = 0.5 * ground.dt
        b.resists = array([r + half * d for r, d in zip(b.resists, force.kind.dampers, strict=True)])


@tip_to_base
def damped_inertias(body: Any, parent: Any) -> None:
    """What the parent feels of a body through a joint that yields and is damped."""
    IA, pA = body.IA + body.inertia, body.pA + body.p
    U, n = IA * body.S, body.joint.nv
    D = with_rotor(body.joint, body.S.T * U)
    D_inv = spd_inverse(
        array([[D[i, j] + (body.resists[i] if i == j else 0.0) for j in range(n)] for i in range(n)])
    )
    u = body.tau - body.damping * body.qd + body.resists * body.a_past - body.S.T * pA
    if body.joint.restoring(body.joint.neutral()) is not None:
        u = u - body.joint.restoring(body.q)
    pass_on(body, parent, IA - ArticulatedInertia.from_outer(U, D_inv), pA, U, D_inv, u)


damped_dynamics = replace(
    articulated_body, name="damped_dynamics", sweeps=(velocities, damped_inertias, accelerations)
)
