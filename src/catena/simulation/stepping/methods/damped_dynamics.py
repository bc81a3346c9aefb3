"""Forward dynamics over a step in time, implicit in the dampers of joints: three sweeps, cost O(N).

The velocities change from v0 by dt a, so that a damper d at a joint takes d (v0 + dt/2 a) in the mean: dt/2 d resists
accelerations as inertia does, and is added to D = S^T U. So dampers of light bodies do not bound the step, and the mean
over the step is of second order. Other forces that depend on the velocity do so at v0 + dt/2 a_past, with the
acceleration of the step before. Dry friction is left to rows of the step (`contacts.impulse_law`). Joints that are
driven do not yield.
"""

from dataclasses import replace
from functools import cache
from typing import Any

from catena.dynamics.tree import hybrid_dynamics as hybrid
from catena.dynamics.tree.articulated_body import articulated_body, pass_on
from catena.dynamics.tree.friction import damped_force
from catena.dynamics.tree.rotors import with_rotor
from catena.forces.placed import TREE
from catena.kernels import Algorithm, Sweep, base_to_tip, each_moving_force, tip_to_base
from catena.spatial import ArticulatedInertia, spd_inverse
from catena.spatial.scalars import array


@each_moving_force
def resist(force: Any, a: Any, b: Any, ground: Any) -> None:
    """Add what the damper of a spring at a joint resists with to that of the joint."""
    if force.site == TREE and force.acts and force.kind.dampers:
        half = 0.5 * ground.dt
        b.resists = array([r + half * d for r, d in zip(b.resists, force.kind.dampers, strict=True)])


@cache
def damped_inertias(driven: bool) -> Sweep:
    """Return what the parent feels of a body through a joint that is damped, and yields unless it is `driven`."""

    def pass_to(body: Any, parent: Any) -> None:
        _damped(body, parent, driven)

    return tip_to_base(pass_to)


def _damped(body: Any, parent: Any, driven: bool) -> None:
    IA, pA = body.IA + body.inertia, body.pA + body.p
    U, n = IA * body.S, body.joint.nv
    D = with_rotor(body.joint, body.S.T * U)
    D = array([[D[i, j] + (body.resists[i] if i == j else 0.0) for j in range(n)] for i in range(n)])
    D_inv = hybrid.inverse_where_free(D.reshape(n, n), body.driven) if driven else spd_inverse(D)
    u = body.tau - damped_force(body) + body.resists * body.a_past - body.S.T * pA
    pass_on(body, parent, IA - ArticulatedInertia.from_outer(U, D_inv), pA, U, D_inv, u)


@base_to_tip
def damped_accelerations(body: Any, parent: Any) -> None:
    """As beside drives, which move dampers too."""
    hybrid.accelerations.step(body, parent)
    body.drive = body.drive + body.driven * body.resists * body.qdd


@cache
def damped_dynamics(driven: bool) -> Algorithm:
    """Return the dynamics in which some joints may be `driven`."""
    of = hybrid.hybrid_dynamics if driven else articulated_body
    velocities, _, accelerations = of.sweeps
    last = damped_accelerations if driven else accelerations
    name = f"damped_dynamics{'_driven' if driven else ''}"
    return replace(of, name=name, sweeps=(velocities, damped_inertias(driven), last))
