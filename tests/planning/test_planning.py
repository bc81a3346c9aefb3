"""Planned motions: conditions met, the same motion when simulated, and a solver that fails and says why."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, free_flyer

pytest.importorskip("casadi")


def test_a_known_optimum_from_rest_to_rest():
    """A mass on a rail with least force: the cubic x = d (3 s^2 - 2 s^3), with the force 6 m d / T^2 (1 - 2 s)."""
    m = ct.Mechanism("cart", gravity=(0, 0, 0))
    m.add_body("cart", mass=2.0, inertia=0.1)
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    s = m.system()
    plan = ct.plan_motion(s, [0.0], 2.0, end={"rail": 1.5}, nodes=21, smooth=0.0)
    assert plan.success and plan.missed < 1e-7
    x = plan.t / 2.0
    np.testing.assert_allclose(plan.q[:, 0], 1.5 * (3 * x**2 - 2 * x**3), atol=1e-7)
    bounded = ct.plan_motion(s, [0.0], 2.0, end={"rail": 1.5}, nodes=41, smooth=0.0, torques=3.2, rates=1.4)
    assert bounded.success and np.abs(bounded.tau).max() < 3.2 + 1e-6 and np.abs(bounded.v).max() < 1.4 + 1e-6


def test_an_arm_reaches_a_pose_with_limits_and_moves_so_when_simulated():
    m = chain(3, axes="zyy")
    s = m.system()
    goal = s.pose([0.6, -0.5, 0.8], "link3")
    plan = ct.plan_motion(s, np.zeros(3), 1.0, frame="link3", reach=goal.p, nodes=21, rates=3.0)
    assert plan.success
    np.testing.assert_allclose(s.pose(plan.q[-1], "link3").p, goal.p, atol=1e-6)
    assert np.abs(plan.v[-1]).max() < 1e-6 and np.abs(plan.v).max() <= 3.0 + 1e-6
    np.testing.assert_allclose(plan.tau, s.inverse_dynamics(plan.q, plan.v, plan.vdot), atol=1e-8)
    motion = {name: plan.motion(name) for name in s.joints}
    run = ct.simulate(s, plan.q[0], plan.v[0], 1.0, motion=motion, check=False)
    np.testing.assert_allclose(run.q[-1], plan.q[-1], atol=1e-6)


def test_a_free_flyer_reaches_while_its_base_keeps_its_attitude():
    m = free_flyer()
    m.gravity = (0, 0, 0)
    s = m.reduce_to(["base", "arm1/joint1", "arm1/joint2", "arm1/joint4", "arm1/joint6"]).system()
    q0 = s.integrate(s.neutral(), np.r_[np.zeros(6), 0.2, 0.5, 0.6, 0.3])
    flyer = ct.FreeFlyer(s)
    q1 = flyer.follow(lambda t: (q0[7:] + t * 0.25, np.full(4, 0.25)), [0.0, 1.0], q0)[0][-1]
    goal = s.pose(q1, "arm1/tool").p
    plan = ct.plan_motion(s, q0, 3.0, frame="arm1/tool", reach=goal, nodes=17, attitude=0.2, torques=50.0)
    assert plan.success and plan.missed < 1e-6
    np.testing.assert_allclose(s.pose(plan.q[-1], "arm1/tool").p, goal, atol=1e-6)
    turned = 2 * np.arccos(np.clip(np.abs(plan.q[:, 3]), 0, 1))
    assert turned.max() <= 0.2 + 1e-4
    assert np.abs(plan.tau[:, :6]).max() < 1e-6
    assert np.abs(s.momentum(plan.q, plan.v)).max() < 0.3


def test_tracking_a_point():
    s = chain(4, axes="zyyy").system()
    q0, rate = np.array([0.4, 0.6, 0.5, 0.2]), np.array([0.3, -0.2, 0.4, 0.0])

    def point(t):
        return s.pose(q0 + rate * t, "link4").p

    plan = ct.plan_motion(s, q0, 1.0, velocity=rate, frame="link4", track=point, nodes=11)
    assert plan.success
    for t, q in zip(plan.t[1:], plan.q[1:]):
        np.testing.assert_allclose(s.pose(q, "link4").p, point(t), atol=1e-6)


def test_what_cannot_be_is_said_and_the_best_is_returned():
    s = chain(2, axes="yy").system()
    with pytest.warns(ct.CatenaWarning, match=r"missed most is that link2 reaches its goal"):
        plan = ct.plan_motion(s, np.zeros(2), 1.0, frame="link2", reach=(50.0, 0, 0), nodes=9, iterations=60)
    assert not plan.success and plan.q.shape == (9, 2) and np.isfinite(plan.q).all()
    with pytest.raises(ct.StateError, match="no frame was named"):
        ct.plan_motion(s, np.zeros(2), 1.0, reach=(1, 0, 0))
    with pytest.raises(ct.StateError, match="at least 3 nodes"):
        ct.plan_motion(s, np.zeros(2), 1.0, nodes=2)
