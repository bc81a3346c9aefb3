"""Van der Merwe, section 6.5: two links and a load, to the printed digits; and where the printed recipe ends.

The accelerations by all formulations are among the tests of closed dynamics; here are the printed forces, the recipe of
sections 6.4.4 and 6.4.5 as printed, and the motion, which is that of one pendulum.
"""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import catena as ct
from catena.spatial import Pose, RigidInertia, Transform

CENTRES = [(0, 0, 0), (0.2, 0, 0), (0.2, 0, 0.1)]
WEIGHT = np.array([0.0, 0.0, -50.0])


def released(com=(0, 0, 0)):
    """The system and its initial state."""
    system = ct.generators.two_links_and_load(com).system()
    return system, system.assemble(system.mechanism.initial.q), np.zeros(system.nv)


def printed_recipe(com):
    """The acceleration of the load, and those of the two links, by the printed equations.

    One link cannot move its tip in four of the five directions that it holds. There M_k would be infinite, and the
    recipe puts zero; the load is projected on what is left.
    """
    m = ct.Mechanism("one link", gravity=(0, 0, -10))
    m.add_body("link", 1.0, (0.75, 0, 0), (0.025, 0.25, 0.25))
    m.add_joint("base", "ground", "link", ct.Revolute("y"))
    m.add_frame("tip", "link", Pose(p=(1.5, 0, 0)))
    link, q = m.system(), np.array([np.pi / 4])
    lambda_inverse, omega = link.operational_space(q, "tip")
    qdd_open = link.forward_dynamics(q, np.zeros(1))
    held = np.ix_([0, 2, 3, 4, 5], [0, 2, 3, 4, 5])
    M = np.zeros((6, 6))  # between phi_k^c and its transpose
    M[held] = np.linalg.pinv(lambda_inverse[held], rcond=1e-9)  # (6.59), (6.60)
    P = M @ link.jacobian(q, "tip") @ qdd_open  # (6.118)
    turn = Pose(R=link.pose(q, "tip").R)
    X = [Transform.from_pose(Pose(p=(x, 0, 0)) * turn).motion_matrix() for x in (-0.4, 0.4)]
    I_r = RigidInertia.from_com(5.0, np.array(com), 0.5 * np.eye(3)).matrix()
    chains = sum(x.T @ M @ x for x in X)
    force = sum(x.T @ P for x in X) + np.concatenate([np.cross(com, WEIGHT), WEIGHT])
    directions, sizes, _ = np.linalg.svd(chains)
    b = directions[:, sizes > 1e-9]  # (6.63)
    a_r = np.linalg.solve(I_r + chains, b @ (b.T @ force))  # (6.64), (6.65)
    return a_r, [float((qdd_open - omega @ (P - M @ x @ a_r))[0]) for x in X]  # (6.141)


def test_the_recipe_gives_what_is_printed():
    a_r, links = printed_recipe((0, 0, 0))
    np.testing.assert_allclose(a_r, [0, 0, 0, -5.2427184, 0, -5.2427184], atol=0.6e-7)  # (6.138)
    np.testing.assert_allclose(links, 4.9428824, atol=0.6e-7)  # (6.142)


def test_the_recipe_turns_a_load_that_cannot_turn_when_its_mass_centre_moves():
    """What the links block is a constraint on the load and not a lack of inertia: the load must stay level, and the
    motion must not change."""
    a_r, links = printed_recipe((0.2, 0, 0))
    assert a_r[1] > 8.0
    np.testing.assert_allclose(links, [2.683, 5.828], atol=0.6e-3)
    system, q, v = released((0.2, 0, 0))
    vdot = system.forward_dynamics(q, v)
    np.testing.assert_allclose(
        vdot[[system.slice_v(f"base{k}").start for k in (1, 2)]], 4.9428824, atol=0.6e-7
    )
    np.testing.assert_allclose((system.jacobian(q, "load") @ vdot)[:3], 0.0, atol=1e-12)


def test_the_printed_tip_forces_are_those_across_the_links():
    """(6.140); what pulls along them is left open there, and is m (a - g) / 2 along a link by Newton's law."""
    system, q, v = released()
    reactions = system.reactions(q, v)
    across, along = np.array([1, 0, 1]) / np.sqrt(2), np.array([1, 0, -1]) / np.sqrt(2)
    for k in (1, 2):
        force = reactions[f"tip{k}"][3:]
        np.testing.assert_allclose(force @ across, -0.8581393, atol=0.6e-7)
        np.testing.assert_allclose(force @ along, -0.5 * WEIGHT @ along, atol=1e-12)


@pytest.mark.parametrize("com", CENTRES)
def test_the_printed_moments_hold_the_load(com):
    """(6.148)"""
    system, q, v = released(com)
    tau = np.zeros(system.nv)
    tau[[system.slice_v(f"base{k}").start for k in (1, 2)]] = -31.819805
    np.testing.assert_allclose(system.forward_dynamics(q, v, tau), 0.0, atol=1e-7)


@pytest.mark.parametrize("com", CENTRES)
def test_five_seconds_are_those_of_one_pendulum(com):
    """12.875 phi'' = -90 sin phi from 45 degrees, by Jacobi's elliptic functions."""
    system, q, v = released(com)
    run = ct.simulate(system, q, v, 5.0, rtol=1e-11, atol=1e-12, samples=201)
    k, rate = np.sin(np.pi / 8), np.sqrt(90 / 12.875)
    sn = ellipj(ellipk(k**2) - rate * run.t, k**2)[0]
    exact = np.pi / 2 - 2 * np.arcsin(k * sn)
    for joint in ("base1", "base2"):
        np.testing.assert_allclose(run[joint][:, 0], exact, atol=1e-9)
    assert run.closure_error < 1e-12


@pytest.mark.parametrize("com", CENTRES)
def test_the_tips_carry_the_load_in_force_and_moment(com):
    """Newton's and Euler's laws for a load that translates: the forces add up to m (a - g), without moment about its
    mass centre."""
    system, q, v = released(com)
    run = ct.simulate(system, q, v, 2.0, samples=21)
    reactions = system.reactions(run.q, run.v)
    vdot = system.forward_dynamics(run.q, run.v)
    twist_rate = (system.jacobian(run.q, "load") @ vdot[..., None])[..., 0]
    a = (twist_rate + system.bias_acceleration(run.q, run.v, "load"))[:, 3:]
    tips = [reactions[f"tip{k}"][:, 3:] for k in (1, 2)]
    np.testing.assert_allclose(sum(tips), 5.0 * a - WEIGHT, atol=1e-11)
    arms = [np.array([x, 0, 0]) - com for x in (-0.4, 0.4)]
    moment = sum(np.cross(arm, tip) for arm, tip in zip(arms, tips, strict=True))
    np.testing.assert_allclose(moment[:, 1], 0.0, atol=1e-11)
