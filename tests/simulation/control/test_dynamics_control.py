"""Gravity compensation, computed torque and control in task space: by inverse dynamics and by decaying errors."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, humanoid, stewart
from catena.mechanism.generators.arms import bent_posture
from catena.simulation.control import (
    ComputedTorque,
    Feedforward,
    GravityCompensation,
    TaskSpace,
    symbols,
)
from catena.simulation.control.following import Ahead
from catena.simulation.references import JointPath, PosePath, TaskPath, cubic, function, quintic

BENT = np.array(bent_posture(7))


def moved_platform():
    poses = [ct.Pose(p=(0, 0, 1.0)), ct.Pose(p=(0.1, 0.05, 1.1), rpy=(0.1, -0.1, 0.2))]
    return PosePath.through([0.0, 1.0], poses)


@pytest.mark.parametrize("make", [arm7, stewart, four_bar])
def test_gravity_compensation_holds_still(make):
    """Nothing accelerates, and a simulated second stays where it was."""
    s = make().system()
    q = BENT if make is arm7 else s.neutral()
    control = GravityCompensation(s)
    v = np.zeros(s.nv)
    tau = control(0.0, q, v)
    assert np.abs(tau).max() > 1.0
    np.testing.assert_allclose(s.forward_dynamics(q, v, tau), 0.0, atol=1e-9)
    run = ct.simulate(s, q, v, 0.1, control=control, integrator="rk4", step=1e-2, samples=3)
    np.testing.assert_allclose(run.q[-1], q, atol=1e-9)


def test_gravity_compensation_of_a_platform_is_its_static_equilibrium():
    """Virtual work: the legs' forces times their velocities are the rate of the potential energy."""
    s = stewart().system()
    path = TaskPath(s, "platform", moved_platform(), step=0.05)
    q = path.at(0.6).q
    tau = GravityCompensation(s)(0.0, q, np.zeros(s.nv))
    rng = np.random.default_rng(0)
    for _ in range(3):
        v = s.project(q, rng.normal(size=s.nv))[1]
        h = 1e-6
        rise = (s.potential_energy(s.integrate(q, v, h)) - s.potential_energy(s.integrate(q, v, -h))) / (
            2 * h
        )
        assert abs(tau @ v - rise) < 1e-6 * max(1.0, abs(rise))
    assert not tau[~s.plan.actuated].any()


def test_what_cannot_be_held_is_said_or_held_in_part():
    m = humanoid()
    s = m.system()
    free = [j for j in s.joints if not m.joints[j].actuated]
    q, v = s.neutral(), np.zeros(s.nv)
    with pytest.raises(ct.LoopError, match=f"cannot hold it.*{free[0]}"):
        GravityCompensation(s)(0.0, q, v)
    tau = GravityCompensation(s, partial=True)(0.0, q, v)
    assert not tau[s.slice_v(free[0])].any()


def test_computed_torque_makes_errors_decay_like_their_poles():
    """e'' + kd e' + kp e = 0 on every joint of the arm: at an instant, and over half a second."""
    s = arm7().system()
    w = 8.0
    reference = {f"joint{k}": quintic([0.0, 1.0], [BENT[k - 1], BENT[k - 1] + 0.4]) for k in range(1, 8)}
    control = ComputedTorque(s, reference, kp=w**2)
    rng = np.random.default_rng(0)
    q, v = BENT + 0.2 * rng.normal(size=(3, 7)), rng.normal(size=(3, 7))
    q_d, v_d, a_d = JointPath(s, reference).at(0.3)
    wanted = a_d + 2 * w * (v_d - v) + w**2 * (q_d - q)
    np.testing.assert_allclose(s.forward_dynamics(q, v, control(0.3, q, v)), wanted, rtol=1e-9, atol=1e-8)
    start = 0.1 * rng.normal(size=7)
    deviation = {}
    for rate in (None, 100.0, 200.0):
        sampled = ComputedTorque(s, reference, kp=w**2, rate=rate)
        run = ct.simulate(
            s, BENT + start, np.zeros(7), 0.5, control=sampled, integrator="rk4", step=5e-3, samples=6
        )
        error = run.q - JointPath(s, reference).at(run.t).q
        decay = (1.0 + w * run.t) * np.exp(-w * run.t)
        deviation[rate] = np.abs(error - decay[:, None] * start).max()
    assert deviation[None] < 1e-7
    # Holding forces for a sample is a disturbance of first order in its length.
    assert deviation[100.0] < 4e-3
    assert 1.8 < deviation[100.0] / deviation[200.0] < 2.2


def test_computed_torque_of_a_platform_is_inverse_dynamics_of_its_legs():
    s = stewart().system()
    path = TaskPath(s, "platform", moved_platform(), step=0.05)
    q, v, a = path.at(0.37)
    expected = s.inverse_dynamics(q, v, a)
    for control in (ComputedTorque(s, path, 100.0), TaskSpace(s, "platform", moved_platform(), 100.0)):
        np.testing.assert_allclose(control(0.37, q, v), expected, atol=1e-9 * np.abs(expected).max())
    feedforward = Feedforward(s, path)
    np.testing.assert_allclose(feedforward(0.37, q, v), expected, atol=1e-9 * np.abs(expected).max())


def test_a_platform_driven_off_its_path_is_led_back():
    """Errors in the legs alone, as their references are given: each decays with its poles at this instant."""
    s = stewart().system()
    reference = {f"leg{k}": function(lambda t, k=k: 0.05 * symbols.sin(t + k)) for k in range(1, 7)}
    control = ComputedTorque(s, reference, kp=50.0, kd=9.0)
    q = TaskPath(s, "platform", moved_platform(), step=0.05).at(0.8).q
    v = s.project(q, np.random.default_rng(0).normal(size=s.nv))[1]
    vdot = s.forward_dynamics(q, v, control(0.2, q, v))
    for k in range(1, 7):
        e = 0.05 * np.sin(0.2 + k) - q[s.slice_q(f"leg{k}")][0]
        edot = 0.05 * np.cos(0.2 + k) - v[s.slice_v(f"leg{k}")][0]
        wanted = -0.05 * np.sin(0.2 + k) + 9.0 * edot + 50.0 * e
        assert abs(vdot[s.slice_v(f"leg{k}")][0] - wanted) < 1e-8 * max(1.0, abs(wanted))


def test_joints_without_reference_come_to_rest_under_computed_torque():
    s = four_bar().system()
    arm = arm7().system()
    control = ComputedTorque(arm, JointPath(arm, {"joint2": 0.5}), kp=4.0, damping=3.0)
    q, v = BENT, np.linspace(0.1, 0.7, 7)
    vdot = arm.forward_dynamics(q, v, control(0.0, q, v))
    expected = -3.0 * v
    expected[1] = 4.0 * (0.5 - q[1]) - 4.0 * v[1]
    np.testing.assert_allclose(vdot, expected, atol=1e-8)
    # A four-bar with three actuators in its tree and one degree of freedom: redundant, and as wanted.
    bars = ComputedTorque(s, {"A": 0.3}, kp=4.0)
    tau = bars(0.0, s.neutral(), np.zeros(3))
    assert abs(s.forward_dynamics(s.neutral(), np.zeros(3), tau)[0] - 1.2) < 1e-9


def test_a_tool_is_led_to_its_path_in_space():
    """Its place obeys p'' + kd p' + kp p = 0 exactly, the free elbow comes to rest, and a batch is like its states."""
    s = arm7().system()
    p = s.pose(BENT, "tool").p
    path = cubic([0.0, 1.0], [p, p + [0.0, 0.2, 0.1]])
    control = TaskSpace(s, "tool", path, kp=30.0, kd=7.0)
    rng = np.random.default_rng(0)
    q, v = BENT + 0.1 * rng.normal(size=(4, 7)), rng.normal(size=(4, 7))
    tau = control(0.4, q, v)
    vdot = s.forward_dynamics(q, v, tau)
    pose, twist = s.pose(q, "tool"), s.twist(q, v, "tool")
    change = np.einsum("sij,sj->si", s.jacobian(q, "tool"), vdot) + s.bias_acceleration(q, v, "tool")
    R = pose[:, :3, :3]
    velocity = np.einsum("sij,sj->si", R, twist[:, 3:])
    acceleration = np.einsum("sij,sj->si", R, change[:, 3:] + np.cross(twist[:, :3], twist[:, 3:]))
    p_d, v_d, a_d = path.at(0.4)
    wanted = a_d + 7.0 * (v_d - velocity) + 30.0 * (p_d - pose[:, :3, 3])
    np.testing.assert_allclose(acceleration, wanted, atol=1e-7)
    np.testing.assert_allclose(control(0.4, q[2], v[2]), tau[2], atol=1e-9)


def test_a_tool_held_in_place_keeps_its_pose_while_the_elbow_finds_its_posture():
    s = arm7().system()
    pose = s.pose(BENT, "tool")
    posture = BENT + np.array([0.5, 0, -0.5, 0, 0, 0, 0])
    control = TaskSpace(s, "tool", pose, kp=400.0, posture=posture)
    run = ct.simulate(s, BENT, np.zeros(7), 0.5, control=control, integrator="rk4", step=5e-3, samples=6)
    for q in run.q:
        assert s.pose(q, "tool").allclose(pose, atol=2e-3)
    assert np.abs(run.q[-1] - BENT).max() > 0.05
    near = [np.linalg.norm(s.difference(q, posture)) for q in run.q]
    assert near[-1] < near[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s: ComputedTorque(s, {"joint1": 0.0}, -1.0), "kp is -1"),
        (lambda s: ComputedTorque(s, {"joint1": 0.0}, 1.0, [1.0]), "kd has shape"),
        (lambda s: ComputedTorque(s, {"joint1": 0.0}, 1.0, damping=np.nan), "damping is nan"),
        (lambda s: ComputedTorque(s, None, 1.0), "the reference is None"),
        (lambda s: TaskSpace(s, "hand", ct.Pose(), 1.0), "named 'hand'"),
        (lambda s: TaskSpace(s, "tool", [0.0, 1.0], 1.0), "2 coordinates"),
        (lambda s: TaskSpace(s, "tool", ct.Pose(), "stiff"), "kp is 'stiff'"),
        (lambda s: TaskSpace(s, "tool", ct.Pose(), 1.0, kd=-1.0), "kd is -1"),
        (lambda s: TaskSpace(s, "tool", ct.Pose(), 1.0, posture=[0.0]), "last dimension must be 7"),
        (lambda s: Feedforward(s, {"joint1": "up"}), "no position"),
        (lambda s: GravityCompensation(s, rate=np.inf), "rate is inf"),
        (lambda s: GravityCompensation(s).start(four_bar().system()), "made for 'arm7'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make, words):
    with pytest.raises(ct.CatenaError, match=words):
        make(arm7().system())


@pytest.mark.parametrize("rate", [0.1, 7.0, 1e3])
def test_a_slow_controller_asks_its_reference_for_no_more_than_a_second_ahead(rate):
    """At 0.1 Hz it asked for 64 samples, and the path of a four-bar was followed for ten minutes in steps of 5 ms."""
    asked: list[float] = []

    def compute(t):
        asked.extend(np.atleast_1d(t).tolist())
        return [10.0 * np.asarray(t)]

    s = four_bar().system()
    ahead = Ahead(JointPath(s, {"A": 0.1}), compute, rate)
    for k in (0, 1, 70):
        assert ahead.at(k / rate)[0] == pytest.approx(10.0 * k / rate)
        assert max(asked) <= k / rate + 1.0
    times = np.arange(5) / rate
    np.testing.assert_allclose(ahead.at(times)[0], 10.0 * times)
    assert len(asked) < 4 * 64
    Feedforward(s, {"A": 0.1}, rate=rate)(0.0, s.assemble({"A": 0.1}), np.zeros(s.nv))
