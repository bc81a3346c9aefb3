"""Planned motions: conditions met, the same motion when simulated, and a solver that fails and says why."""

import signal
import threading

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


def test_an_arm_in_gravity_needs_no_limits_to_be_planned_for():
    s = chain(3, axes="zyy").system()
    goal = s.pose([0.6, -0.5, 0.8], "link3")
    for options in ({"reach": goal.p}, {"reach": goal}, {"reach": goal.p, "rates": 3.0, "nodes": 25}):
        plan = ct.plan_motion(s, np.zeros(3), 1.0, frame="link3", **({"nodes": 7} | options))
        assert plan.success and plan.missed < 1e-6 and plan.iterations < 50, (options, plan)


def test_springs_act_on_planned_motions():
    """A cart carries a mass on a spring, which nothing drives: the mass moves as in the plan when the cart does."""
    m = ct.Mechanism("carts", gravity=(0, 0, 0))
    for name, below in (("cart", "ground"), ("mass", "cart")):
        m.add_body(name, mass=1.0, inertia=0.1)
        m.add_joint(f"{name} slides", below, name, ct.Prismatic("x"), actuated=name == "cart")
    m.add_spring("spring", "mass slides", stiffness=30.0, damping=0.3)
    s = m.system()
    plan = ct.plan_motion(s, [0.0, 0.0], 2.0, end={"cart slides": 1.0, "mass slides": 0.0}, nodes=81)
    assert plan.success and np.abs(plan.q[:, 1]).max() > 0.05
    cart = plan.motion("cart slides")
    run = ct.simulate(s, plan.q[0], plan.v[0], 2.0, motion={"cart slides": cart}, check=False)
    np.testing.assert_allclose(run.q[-1], plan.q[-1], atol=1e-4)
    np.testing.assert_allclose(run.v[-1], plan.v[-1], atol=3e-3)


def test_nobody_swims_against_momentum():
    """The bus of a robot cannot be brought 1 m away by moving its arms: their mass allows half of that. Accelerations
    that change sign from node to node seemed to do it."""
    m = ct.Mechanism("flyer", gravity=(0, 0, 0))
    m.add_body("bus", mass=10.0, inertia=1.0)
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    above, at = "bus", ct.Pose(p=(0.3, 0, 0))
    for k in (1, 2):
        m.add_body(f"link{k}", mass=2.0, com=(0.3, 0, 0), inertia=(0.01, 0.06, 0.06))
        m.add_joint(f"joint{k}", above, f"link{k}", ct.Revolute("z"), in_parent=at)
        above, at = f"link{k}", ct.Pose(p=(0.6, 0, 0))
    s = m.system()
    q0 = s.integrate(s.neutral(), np.r_[np.zeros(6), 0.5, 0.6])
    with pytest.warns(ct.CatenaWarning, match="missed most is that bus reaches its goal"):
        plan = ct.plan_motion(s, q0, 2.0, frame="bus", reach=(1, 0, 0), nodes=11, rates=3.0, iterations=120)
    assert not plan.success and plan.missed > 0.4
    # What was found can be looked at all the same.
    assert s.pose(plan.q, "bus").shape == (21, 4, 4)


def test_a_spherical_joint_ends_as_told_by_either_quaternion():
    m = ct.Mechanism("ball", gravity=(0, 0, 0))
    m.add_body("arm", mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.2, 0.3))
    m.add_joint("ball", "ground", "arm", ct.Spherical())
    s = m.system()
    goal = s.integrate(s.neutral(), [0.5, -0.4, 0.3])
    plans = [ct.plan_motion(s, s.neutral(), 1.0, end={"ball": q}, nodes=9) for q in (goal, -goal)]
    for plan in plans:
        assert plan.success
        np.testing.assert_allclose(plan.q[-1], goal, atol=1e-8)
    with pytest.raises(ct.StateError, match="must have length 1"):
        ct.plan_motion(s, s.neutral(), 1.0, end={"ball": 2.0 * goal}, nodes=9)


def test_a_motor_has_less_force_at_speed():
    """Against its no-load speed the motor's force shrinks in proportion, and the plan keeps to that at all nodes."""
    m = ct.Mechanism("cart", gravity=(0, 0, 0))
    m.add_body("cart", mass=2.0, inertia=0.1)
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_actuator("motor", "rail", gear=2.0, limits=(-2.0, 2.5), no_load_speed=3.0)
    s = m.system()
    plan = ct.plan_motion(s, [0.0], 2.0, end={"rail": 1.5}, nodes=41, smooth=0.0)
    assert plan.success
    v, tau = plan.v[:, 0], plan.tau[:, 0]
    assert (tau <= 5.0 * (1.0 - np.maximum(v, 0.0) / 1.5) + 1e-6).all() and v.max() > 1.0
    # Without this, the least forces would be straight in time.
    assert np.ptp(np.diff(tau)) > 1e-2


def test_of_all_it_had_the_solver_returns_what_misses_least():
    s = chain(3, axes="zyy").system()
    missed = []
    for most in (0, 3, 6, 12):
        with pytest.warns(ct.CatenaWarning, match="iterations allowed|no motion meets|no step|no way back"):
            plan = ct.plan_motion(
                s,
                np.zeros(3),
                1.0,
                frame="link3",
                reach=(0.2, 0.3, 0.1),
                torques=0.3,
                nodes=9,
                iterations=most,
            )
        missed.append(plan.missed)
    assert missed == sorted(missed, reverse=True) and missed[-1] < missed[0]


def test_of_conditions_with_one_name_the_worst_counts():
    """The path leaves what the arm can reach and comes back: what is missed on the way is told."""
    s = chain(2, axes="yy").system()
    here, there = s.pose([0.4, 0.6], "link2").p, np.array([9.0, 0.0, 0.0])
    with pytest.warns(ct.CatenaWarning, match="missed most is that link2 tracks"):
        plan = ct.plan_motion(
            s, [0.4, 0.6], 1.0, frame="link2", nodes=5,
            track=lambda t: there if t == 0.5 else here,
        )  # fmt: skip
    assert plan.missed > 5.0


def test_a_motion_that_ends_moving_is_simulated_to_its_end():
    m = ct.Mechanism("cart", gravity=(0, 0, 0))
    m.add_body("cart", mass=2.0, inertia=0.1)
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    s = m.system()
    plan = ct.plan_motion(s, [0.0], 2.0, frame="cart", reach_twist=[0, 0, 0, 0.7, np.nan, np.nan], nodes=9)
    assert plan.success and plan.v[-1, 0] == pytest.approx(0.7)
    run = ct.simulate(s, plan.q[0], plan.v[0], 2.0, motion={"rail": plan.motion("rail")}, check=False)
    assert run.v[-1, 0] == pytest.approx(0.7)
    assert [float(x[0]) for x in plan.motion("rail")(-1.0)] == [0.0, 0.0, 0.0]


def test_ctrl_c_ends_a_search():
    """The solver took it for a failure, and a plan was returned."""
    m = free_flyer()
    m.gravity = (0, 0, 0)
    s = m.reduce_to(["base", "arm1/*"]).system()
    q = s.integrate(s.neutral(), np.r_[np.zeros(6), 0.1, 0.7, 0.1, 0.7, 0.1, 0.7, 0.1])
    main = threading.main_thread().ident
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            ct.plan_motion(s, q, 2.0, frame="arm1/tool", reach=(9.0, 0, 0), nodes=41)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_cannot_be_is_said_and_the_best_is_returned():
    s = chain(2, axes="yy").system()
    with pytest.warns(ct.CatenaWarning, match=r"missed most is that link2 reaches its goal"):
        plan = ct.plan_motion(s, np.zeros(2), 1.0, frame="link2", reach=(50.0, 0, 0), nodes=9, iterations=60)
    assert not plan.success and plan.q.shape == (9, 2) and np.isfinite(plan.q).all()
    with pytest.raises(ct.StateError, match="no frame was named"):
        ct.plan_motion(s, np.zeros(2), 1.0, reach=(1, 0, 0))
    with pytest.raises(ct.StateError, match="no frame was named"):
        ct.plan_motion(s, np.zeros(2), 1.0, reach_twist=np.zeros(6))
    with pytest.raises(ct.StateError, match="nothing is asked of 'link2'"):
        ct.plan_motion(s, np.zeros(2), 1.0, frame="link2")
    with pytest.raises(ct.StateError, match="no floating base"):
        ct.plan_motion(s, np.zeros(2), 1.0, attitude=0.1)
    with pytest.raises(ct.StateError, match="reach is .*give a Pose or 3 finite numbers"):
        ct.plan_motion(s, np.zeros(2), 1.0, frame="link2", reach=(1, 0))
    with pytest.raises(
        ct.StateError, match="the speed of joint 'joint1' begins at 2, outside its limits -1 to 1"
    ):
        ct.plan_motion(s, np.zeros(2), 1.0, velocity=[2, 0], rates=1.0)
    with pytest.raises(ct.StateError, match="parameters link2.mass differ from state to state"):
        ct.plan_motion(s.vary({"link2.mass": [1.0, 2.0]}), np.zeros(2), 1.0, end={"joint1": 0.1})
    with pytest.raises(ct.StateError, match="nothing is tracked"):
        ct.plan_motion(s, np.zeros(2), 1.0, frame="link2", track=lambda t: (0, 0, 0), track_from=2.0)
    with pytest.raises(ct.StateError, match="at least 3 nodes"):
        ct.plan_motion(s, np.zeros(2), 1.0, nodes=2)


def test_a_base_in_a_plane_is_planned_as_one_in_space():
    """Arms across the plane leave it no other way to move; at rest in the end it is by itself."""
    plans = []
    for kind in (ct.Planar("z"), ct.Free()):
        m = ct.Mechanism("bus", gravity=(0, 0, 0))
        m.add_body("bus", 5.0, inertia=1.0)
        m.add_joint("base", "ground", "bus", kind, actuated=False)
        for side, y in (("left", 0.2), ("right", -0.2)):
            m.add_body(side, 1.0, (0.2, 0, 0), 0.02)
            m.add_joint(f"{side} turns", "bus", side, ct.Revolute("z"), in_parent=ct.Pose(p=(0.3, y, 0)))
        s = m.system()
        end = {"left turns": 0.6, "right turns": 0.6}
        plans.append(ct.plan_motion(s, s.neutral(), 2.0, end=end, rest="all", attitude=0.05))
    flat, free = plans
    assert flat.success and free.success
    assert flat.cost == pytest.approx(free.cost, rel=1e-3)
    assert np.abs(flat.q[:, 2]).max() == pytest.approx(0.05, abs=1e-6)
