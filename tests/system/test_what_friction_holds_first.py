"""Which joints stick and which begin to slip, told for one instant: against all combinations of modes, each by dense
equations of the closed mechanism."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import catena as ct
from catena.mechanism.generators import four_bar, stewart

KINDS = ["Revolute", "Universal", "Cylindrical", "Prismatic"]


def rubbing(m, rng, slips, least=-0.5, most=1.2):
    """The mechanism with friction in all joints, that of slips a part of what holds."""
    for joint in [j.name for j in m.joints.values() if 0 < j.dof < 6]:
        holds = float(10.0 ** rng.uniform(least, most))
        m = m.with_joint(joint, friction=slips * holds, static_friction=holds)
    return m


class Reduced:
    """A closed mechanism at rest in independent velocities: inertia M, forces g, the velocities of all components with
    friction, R (c, d), and with how much these hold and slip."""

    def __init__(self, m, s, q, tau):
        bare = m
        for joint in m.joints:
            bare = bare.with_joint(joint, friction=0.0, static_friction=None)
        still = np.zeros(s.nv)
        closed = np.array([s.project(q, x)[1] for x in np.eye(s.nv)])
        _, sizes, ways = np.linalg.svd(closed)
        N = ways[: int((sizes > 1e-9).sum())].T
        at = bare.system(cut=s.plan.cut)
        self.M = N.T @ at.mass_matrix(q) @ N
        self.g = N.T @ (tau - at.bias_force(q, still))
        self.names = [name for name in m.joints if 0 < m.joints[name].dof < 6]
        rows = [np.stack([s.joint_velocity(q, n, name) for n in N.T], axis=-1) for name in self.names]
        self.R, self.N = np.concatenate(rows), N
        holds, slips = (
            np.concatenate([np.broadcast_to(getattr(m.joints[name], what), m.joints[name].dof) for name in self.names])
            for what in ("static_friction", "friction")
        )  # fmt: skip
        moves = np.linalg.norm(self.R, axis=1) > 1e-9
        self.R, self.holds, self.slips = self.R[moves], holds[moves], slips[moves]

    def answers(self):
        """Return the senses and the accelerations (nv,) of all combinations of modes that go on."""
        found = []
        for sense in product((0, -1, 1), repeat=len(self.R)):
            sense = np.array(sense)
            stuck = self.R[sense == 0]
            g = self.g - self.R.T @ (self.slips * sense)
            free = np.eye(len(g))
            if len(stuck):
                _, sizes, ways = np.linalg.svd(stuck)
                free = ways[int((sizes > 1e-9).sum()) :].T
            x = free @ np.linalg.solve(free.T @ self.M @ free, free.T @ g) if free.shape[1] else 0.0 * g
            if np.any(sense * (self.R @ x) < 1e-9 * np.abs(sense)):
                continue
            limits = self.holds[sense == 0]
            left = self.M @ x - g
            if len(limits):
                least = linprog(
                    np.zeros(len(limits)), A_eq=stuck.T, b_eq=left, bounds=list(zip(-limits, limits))
                )
                if not least.success:
                    continue
            elif np.abs(left).max() > 1e-8:
                continue
            found.append((sense, self.N @ x))
        return found


def at_rest(m, rng, cut=()):
    s = m.system(cut=cut)
    q, _ = s.project(s.integrate(s.neutral(), 0.3 * rng.standard_normal(s.nv)), np.zeros(s.nv))
    return s, q, 6.0 * rng.standard_normal(s.nv)


def ring(links):
    """A closed chain of links with parallel pins, ground among them, a regular polygon where all angles are zero: one
    joint more than bodies, and three freedoms less than joints."""
    m, corner = (
        ct.Mechanism("ring", gravity=(0.0, 0.0, -9.81)),
        ct.Pose(p=(1.0, 0, 0), rpy=(0, 2 * np.pi / links, 0)),
    )
    for k in range(1, links):
        m.add_body(f"link{k}", 1.0 + 0.2 * k, (0.5, 0, 0), (1e-3, 0.1, 0.1))
        m.add_joint(
            f"pin{k}", "ground" if k == 1 else f"link{k - 1}", f"link{k}", ct.Revolute("y"), in_parent=corner
        )
    m.add_joint("last", f"link{links - 1}", "ground", ct.Revolute("y"), in_parent=corner)
    return m


@pytest.mark.parametrize("slips", [1.0, 0.6])
@pytest.mark.parametrize("seed", [7, *(pytest.param(k, marks=pytest.mark.slow) for k in range(7))])
def test_one_instant_is_one_of_all_combinations_of_modes_and_the_holding_one_if_it_fits(seed, slips):
    rng = np.random.default_rng(seed)
    m = rubbing(ring(4 + seed % 2), rng, slips, 0.0, 1.2)
    s, q, tau = at_rest(m, rng)
    for force in (0.0 * tau, 0.3 * tau, tau, 3.0 * tau):
        reduced = Reduced(m, s, q, force)
        assert len(reduced.R) > len(reduced.g)
        answers = reduced.answers()
        found = s.sticking(q, np.zeros(s.nv), force)
        size = 1.0 + np.abs(found.vdot).max()
        near = [np.abs(x - found.vdot).max() / size for _, x in answers]
        assert min(near) < 1e-8
        if slips == 1.0:
            assert max(near) < 1e-6
        assert found.holds == any(not sense.any() for sense, _ in answers)


@pytest.mark.parametrize("seed", [6, *(pytest.param(k, marks=pytest.mark.slow) for k in range(7, 30))])
@pytest.mark.parametrize("slips", [1.0, 0.6])
def test_which_of_36_joints_of_a_platform_stick_is_found(seed, slips):
    """The forces that are told are within limits and against the slips, and do to a platform without friction what is
    told."""
    rng = np.random.default_rng(seed)
    m, bare = rubbing(stewart(), rng, slips, -1.0, 1.3), stewart()
    s = m.system()
    q, _ = s.project(s.integrate(s.neutral(), 0.1 * rng.standard_normal(s.nv)), np.zeros(s.nv))
    found = s.sticking(q, np.zeros(s.nv))
    forces = {**found.at_loops, **{j: found.force[s.slice_v(j)] for j in s.joints}}
    again = bare.system(cut=s.plan.cut).forward_dynamics(q, np.zeros(s.nv), forces)
    np.testing.assert_allclose(again, found.vdot, atol=1e-8 * np.abs(found.vdot).max())
    for joint, force in forces.items():
        rise, described = s.joint_velocity(q, found.vdot, joint), m.joints[joint]
        begins = np.abs(rise) > 1e-8
        assert np.all(np.abs(force) <= np.asarray(described.static_friction) * (1.0 + 1e-9))
        slip = -np.sign(rise) * np.asarray(described.friction)
        np.testing.assert_allclose(force[begins], slip[begins], rtol=1e-9)


@pytest.mark.parametrize("cut", "AD")
@pytest.mark.parametrize("slips", [0.9, 0.3])
def test_a_linkage_that_holds_together_is_held_where_slips_would_fit_too(cut, slips):
    """Up to the sum of what all joints hold times their velocities, by virtual power."""
    limits = {"A": 0.5, "B": 1.0, "C": 0.3, "D": 0.8}
    m = four_bar()
    for joint, limit in limits.items():
        m = m.with_joint(joint, friction=slips * limit, static_friction=limit)
    s = m.system(cut=[cut])
    q, still = s.assemble({"A": 0.9}), np.zeros(s.nv)
    low, high = s.inverse_dynamics_interval(q, still, still, actuated=["A"])["A"][0]
    for part in (0.5, 0.9, 1.0 - 1e-6):
        push = 0.5 * (low + high) + 0.5 * part * (high - low)
        assert s.sticking(q, still, {"A": push}).holds
    assert not s.sticking(q, still, {"A": high + 1e-6}).holds
