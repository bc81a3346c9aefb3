"""Derivatives of constrained dynamics against Pinocchio's `computeConstraintDynamicsDerivatives`, gains zero.

Where loops are welds, the two agree in every direction. Points that hold a body to the ground agree along changes of q
and v together that keep the loops closed; across them the two describe an open loop differently. Between two moving
bodies, and with joints that are composites, Pinocchio 4.1's derivatives by q are not those of its own
`constraintDynamics` (off by 0.3 to 5 of the largest entry), so there Catena's are held against differences of that.
"""

import numpy as np
import pinocchio as pin
import pytest

from benchmarks.peers.pinocchio_loops import pinocchio_loops
from benchmarks.states import closed_states
from catena.mechanism.generators import arms_on_object, four_bar, hand, stewart, walker


class Peer:
    """Pinocchio's constrained dynamics in Catena's coordinates."""

    def __init__(self, system, planar):
        self.system, self.loops = system, pinocchio_loops(system, planar)
        self.data = self.loops.model.createData()
        pin.initConstraintDynamics(self.loops.model, self.data, self.loops.constraints, self.loops.datas)
        self.settings = pin.ProximalSettings(1e-14, 1e-10, 100)

    def vdot(self, q, v, tau):
        """The accelerations (nv,) of one state."""
        loops, state = self.loops, (q[None], v[None], tau[None])
        theirs = [x[0] for x in (loops.to.configuration(state[0]), loops.to.velocity(*state[:2]))]
        theirs.append(loops.to.effort(*state)[0])
        found = pin.constraintDynamics(
            loops.model, self.data, *theirs, loops.constraints, loops.datas, self.settings
        )
        return loops.to.catena_acceleration(*state[:2], np.array(found)[None])[0]

    def derivatives(self, q, v, tau):
        """vdot by q, v and tau, each (nv, nv)."""
        loops, n, data = self.loops, self.system.nv, self.data
        self.vdot(q, v, tau)
        pin.computeConstraintDynamicsDerivatives(
            loops.model, data, loops.constraints, loops.datas, self.settings
        )
        T = np.stack([loops.to.velocity(q[None], e[None])[0] for e in np.eye(n)], axis=-1)
        by_q, by_v, by_tau = (np.linalg.solve(T, x) for x in (data.ddq_dq, data.ddq_dv, data.ddq_dtau))
        return by_q @ T, by_v @ T, by_tau @ np.linalg.inv(T).T


def differences(f, n, h):
    """The derivative (..., n) of f at zero by differences of sixth order; f takes arrays (n,)."""
    columns = []
    for e in np.eye(n):
        d = [f(k * h * e) - f(-k * h * e) for k in (1, 2, 3)]
        columns.append((45.0 * d[0] - 9.0 * d[1] + d[2]) / (60.0 * h))
    return np.stack(columns, axis=-1)


def closed_changes(system, q, v):
    """Changes (nv, d) of q and of v, together and of v alone, that keep the loops closed in position and velocity."""
    J = system.closure_jacobian(q)
    _, sigma, Vt = np.linalg.svd(J)
    N = Vt[np.count_nonzero(sigma > 1e-9 * sigma[0]) :].T
    opening = differences(lambda x: system.closure(system.integrate(q, N @ x), v)[1], N.shape[1], 2e-3)
    return N, -np.linalg.pinv(J, rcond=1e-9) @ opening


CUT = {2: ("grip2",), 6: tuple(f"grip{k}" for k in range(2, 7))}


@pytest.mark.parametrize("arms, joints", [(2, 7), (6, 6)])
def test_welded_loops(arms, joints, agree):
    s = arms_on_object(arms, joints).system(cut=CUT[arms])
    q, v, tau, _ = closed_states(s, 2)
    peer = Peer(s, planar=False)
    for k in range(2):
        ours = s.forward_dynamics_derivatives(q[k], v[k], tau[k])
        for x, y in zip(ours, peer.derivatives(q[k], v[k], tau[k])):
            agree(x, y, 1e-11)


def test_feet_that_stand_on_points(agree):
    s = walker(4).system()
    q, v, tau, _ = (x[0] for x in closed_states(s, 1))
    ours, theirs = s.forward_dynamics_derivatives(q, v, tau), Peer(s, planar=False).derivatives(q, v, tau)
    N, turned = closed_changes(s, q, v)
    agree(ours[0] @ N + ours[1] @ turned, theirs[0] @ N + theirs[1] @ turned, 1e-10)
    agree(ours[1] @ N, theirs[1] @ N, 1e-11)
    agree(ours[2], theirs[2], 1e-11)


@pytest.mark.parametrize("make, planar", [(four_bar, True), (stewart, False), (hand, False)])
def test_points_between_moving_bodies(make, planar, agree):
    s = make().system()
    q, v, tau, _ = (x[0] for x in closed_states(s, 1))
    peer, ours = Peer(s, planar), s.forward_dynamics_derivatives(q, v, tau)
    N, turned = closed_changes(s, q, v)
    moved = differences(lambda x: peer.vdot(s.integrate(q, N @ x), v + turned @ x, tau), N.shape[1], 1e-4)
    agree(ours[0] @ N + ours[1] @ turned, moved, 1e-8)
    agree(ours[1] @ N, differences(lambda x: peer.vdot(q, v + N @ x, tau), N.shape[1], 1e-2), 1e-8)
    agree(ours[2], peer.derivatives(q, v, tau)[2], 1e-11)
