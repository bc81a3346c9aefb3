"""What a trajectory knows by name and what follows from it, against closed forms."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, humanoid, stewart
from catena.simulation import Trajectory

LENGTH, MASS, G = 0.8, 1.5, 9.81


def pendulum(**options):
    """A point mass on a rod; at q = 0 it hangs straight down."""
    m = ct.Mechanism("pendulum")
    m.add_body("bob", mass=MASS, com=(0, 0, -LENGTH), inertia=0.0)
    m.add_joint("pivot", "ground", "bob", ct.Revolute("-y"), **options)
    m.add_frame("tip", "bob", ct.Pose(p=(0, 0, -LENGTH)))
    return m.system()


@pytest.fixture(scope="module")
def swing():
    return ct.simulate(pendulum(), [1.0], [0.5], 1.5, samples=61)


@pytest.fixture(scope="module")
def bars():
    system = four_bar().system()
    q = system.neutral()
    return ct.simulate(system, q, system.velocity(q, {"A": 2.0}), 1.0, samples=41)


def test_joints_and_frames_are_found_by_name(swing):
    angle, speed = swing["pivot"][:, 0], swing.velocity("pivot")[:, 0]
    np.testing.assert_array_equal(angle, swing.q[:, 0])
    np.testing.assert_array_equal(speed, swing.v[:, 0])
    np.testing.assert_array_equal(swing.force("pivot"), np.zeros((61, 1)))
    tip = swing.position("tip")
    np.testing.assert_allclose(np.abs(tip[:, 0]), LENGTH * np.abs(np.sin(angle)), atol=1e-12)
    np.testing.assert_allclose(tip[:, 2], -LENGTH * np.cos(angle), atol=1e-12)
    assert swing.pose("tip").shape == (61, 4, 4)
    np.testing.assert_allclose(np.linalg.norm(swing.twist("tip")[:, 3:], axis=1), LENGTH * np.abs(speed))


def test_a_joint_that_closes_a_loop_has_coordinates_too(bars):
    (loop,) = bars.system.loops
    slope = np.gradient(bars[loop][:, 0], bars.t, edge_order=2)
    np.testing.assert_allclose(slope[5:-5], bars.velocity(loop)[5:-5, 0], atol=0.15)
    assert not bars.force(loop).any() and bars.force(loop).shape == bars.velocity(loop).shape


def test_unknown_names_get_a_suggestion(swing):
    for ask in (lambda: swing["pivto"], lambda: swing.velocity("pivto"), lambda: swing.reaction("pivto")):
        with pytest.raises(ct.UnknownNameError, match="did you mean 'pivot'"):
            ask()
    with pytest.raises(ct.UnknownNameError, match="did you mean 'tip'"):
        swing.position("tipp")


def test_a_fixed_joint_is_named_as_such():
    m = ct.Mechanism("two")
    for name in ("a", "b"):
        m.add_body(name, mass=1.0, inertia=0.1)
    m.add_joint("turn", "ground", "a", ct.Revolute("y"))
    m.add_joint("weld", "a", "b", ct.Fixed())
    run = ct.simulate(m.system(), [0.0], [1.0], 0.1, samples=3)
    with pytest.raises(ct.UnknownNameError, match="'weld' is fixed or locked"):
        run["weld"]


def test_energies_accelerations_and_reactions_of_a_pendulum(swing):
    q, v = swing.q[:, 0], swing.v[:, 0]
    np.testing.assert_allclose(swing.kinetic_energy, 0.5 * MASS * (LENGTH * v) ** 2, rtol=1e-12)
    np.testing.assert_allclose(swing.potential_energy, -MASS * G * LENGTH * np.cos(q), rtol=1e-12)
    np.testing.assert_allclose(swing.acceleration[:, 0], -G / LENGTH * np.sin(q), rtol=1e-10, atol=1e-12)
    assert swing.energy_drift < 1e-7
    rod = MASS * (G * np.cos(q) + LENGTH * v**2)
    np.testing.assert_allclose(swing.reaction("pivot")[:, 5], rod, rtol=1e-10)
    np.testing.assert_allclose(swing.reactions()["pivot"][:, 3], 0.0, atol=1e-9)
    momentum = MASS * LENGTH * np.abs(v)
    np.testing.assert_allclose(np.linalg.norm(swing.momentum[:, 3:], axis=1), momentum, atol=1e-12)


def test_springs_count_as_potential_energy_and_act_in_accelerations():
    m = ct.Mechanism("oscillator", gravity=(0, 0, 0))
    m.add_body("mass", mass=2.0)
    m.add_joint("x", "ground", "mass", ct.Prismatic("x"))
    m.add_spring("spring", "x", stiffness=8.0, damping=0.4)
    run = Trajectory.of(
        m.system(), np.array([0.0]), np.array([[0.5]]), np.array([[3.0]]), np.zeros((1, 1)), 0
    )
    np.testing.assert_allclose(run.potential_energy, [1.0])
    np.testing.assert_allclose(run.acceleration, [[(-8.0 * 0.5 - 0.4 * 3.0) / 2.0]])
    np.testing.assert_allclose(run.power["friction"], [-0.4 * 9.0])


def test_powers_of_control_friction_and_wrenches_are_force_times_speed():
    system = pendulum(damping=0.3, friction=0.2)
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, 4, 5, 1))
    wrench = rng.normal(size=(4, 5, 6))
    run = Trajectory.of(system, np.linspace(0, 1, 5), q, v, tau, 0, wrenches={"tip": wrench})
    np.testing.assert_allclose(run.power["actuators"], (tau * v)[..., 0])
    np.testing.assert_allclose(run.joint_power("pivot"), (tau * v)[..., 0])
    np.testing.assert_allclose(run.power["friction"], (-0.3 * v**2 - 0.2 * np.abs(v))[..., 0])
    np.testing.assert_allclose(run.power["wrenches"], np.sum(wrench * run.twist("tip"), axis=-1))
    total = run.power["actuators"] + run.power["friction"] + run.power["wrenches"]
    np.testing.assert_allclose(run.power["total"], total)


@pytest.mark.parametrize("generate", [four_bar, humanoid, stewart])
def test_the_total_power_is_the_rate_of_the_energy(generate, derivative):
    """Springs, constant wrenches, friction and control at once, at random states of closed and open mechanisms."""
    m = generate()
    body = list(m.bodies)[1]
    m.add_wrench("wind", body, moment=(0.3, 0.1, -0.2), force=(1.0, 2.0, 3.0))
    m.add_spring_between("cord", "ground", body, stiffness=30.0, rest_length=0.2, damping=2.0)
    system = m.system()
    rng = np.random.default_rng(0)
    q = system.integrate(system.neutral(), 0.01 * rng.normal(size=system.nv))
    v = 0.3 * rng.normal(size=system.nv)
    if system.loops:
        q, v = system.project(q, v)
    tau = rng.normal(size=system.nv)
    run = Trajectory.of(system, np.array([0.0]), q[None], v[None], tau[None], 0)

    def energy(h):
        # To first order in h, which is what counts for the rate.
        near = system.integrate(q, v, h), v + h * run.acceleration[0]
        there = run.with_(q=near[0][None], v=near[1][None])
        return there.energy[0]

    assert derivative(energy, 1e-4) == pytest.approx(run.power["total"][0], rel=1e-5, abs=1e-5)


def test_prescribed_joints_get_the_force_that_their_motion_takes():
    """A cart that is shaken with a pendulum on it: the drive carries out the work that the energy shows."""
    m = ct.Mechanism("shaken")
    m.add_body("cart", mass=2.0)
    m.add_body("bob", mass=1.0, com=(0, 0, -0.5), inertia=0.02)
    m.add_joint("x", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("pivot", "cart", "bob", ct.Revolute("y"))

    def shake(t):
        return 0.1 * np.sin(8.0 * t), 0.8 * np.cos(8.0 * t), -6.4 * np.sin(8.0 * t)

    run = ct.simulate(m.system(), [0.0, 0.4], [0.8, 0.0], 1.0, motion={"x": shake}, samples=101)
    np.testing.assert_allclose(run.acceleration[:, 0], [shake(t)[2] for t in run.t], atol=2e-3)
    inverse = run.system.inverse_dynamics(run.q, run.v, run.acceleration)
    np.testing.assert_allclose(inverse[:, 1], 0.0, atol=1e-9)
    np.testing.assert_allclose(run.power["motion"], inverse[:, 0] * run.v[:, 0], atol=1e-9)
    assert run.audit()["energy"].value < 1e-4


def test_times_between_samples_give_states_and_new_trajectories(swing):
    exact = ct.simulate(swing.system, [1.0], [0.5], 1.5, samples=121)
    q, v = swing.at(exact.t)
    np.testing.assert_allclose(q, exact.q, atol=2e-8)
    np.testing.assert_allclose(v, exact.v, atol=1e-6)
    one_q, one_v = swing.at(float(exact.t[5]))
    assert one_q.shape == one_v.shape == (1,)
    np.testing.assert_array_equal(one_q, q[5])
    finer = swing.resample(121)
    np.testing.assert_array_equal(finer.q, q)
    assert finer.energy_drift < 1e-5
    same = finer.resample(swing.t)
    np.testing.assert_allclose(same.q, swing.q, atol=1e-12)


def test_held_forces_stay_between_samples_and_others_vary():
    system = pendulum()
    t = np.array([0.0, 1.0, 2.0])
    run = Trajectory.of(
        system, t, np.zeros((3, 1)), np.zeros((3, 1)), np.array([[1.0], [3.0], [3.0]]), 0, held=True
    )
    np.testing.assert_array_equal(run.resample([0.0, 0.5, 1.0, 1.5])["pivot"].shape, (4, 1))
    np.testing.assert_array_equal(run.resample([0.0, 0.5, 1.0, 1.5]).tau[:, 0], [1.0, 1.0, 3.0, 3.0])
    smooth = run.with_(held=False).resample([0.0, 0.5, 1.0]).tau[:, 0]
    assert 1.0 < smooth[1] < 3.0


def test_works_are_resampled_with_their_powers_as_slopes():
    """Damping of a mass that coasts: v falls exponentially, and the work of friction is what the energy lost."""
    m = ct.Mechanism("coasting", gravity=(0, 0, 0))
    m.add_body("mass", mass=2.0)
    m.add_joint("x", "ground", "mass", ct.Prismatic("x"), damping=1.0)
    t = np.linspace(0.0, 2.0, 21)
    v, q = np.exp(-0.5 * t)[:, None], 2.0 * (1.0 - np.exp(-0.5 * t))[:, None]
    lost = np.exp(-t) - 1.0
    run = Trajectory.of(m.system(), t, q, v, np.zeros((21, 1)), 0, work={"friction": lost})
    fine = run.resample(101)
    np.testing.assert_allclose(fine.work["friction"], np.exp(-fine.t) - 1.0, atol=3e-7)


def test_drives_are_resampled_as_the_motion_is():
    """A cart that moves as prescribed under a pendulum: control forces are held, those of its drive are not."""
    m = ct.Mechanism("crane")
    m.add_body("cart", mass=2.0)
    m.add_body("load", mass=1.0, com=(0, 0, -0.5), inertia=0.01)
    m.add_joint("x", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("swing", "cart", "load", ct.Revolute("y"))
    s, accuracy = m.system(), {"rtol": 1e-9, "atol": 1e-11}
    motion = {"x": lambda t: ([0.1 * np.sin(5 * t)], [0.5 * np.cos(5 * t)], [-2.5 * np.sin(5 * t)])}
    times = np.linspace(0.0, 1.0, 41)
    for control in (None, Sampled()):
        run, there = (
            ct.simulate(
                s, [0, 0.3], [0.5, 0], 1.0, motion=motion, control=control, samples=samples, **accuracy
            )
            for samples in (None, times)
        )
        again = run.resample(times)
        np.testing.assert_allclose(again.work["motion"], there.work["motion"], atol=1e-6)
        assert np.abs(again.force("x") - there.force("x")).max() < 1e-3 * np.abs(there.force("x")).max()


class Sampled:
    """A torque that changes from sample to sample."""

    rate = 10.0

    def __call__(self, t, q, v):
        return np.array([0.0, np.sin(20 * t)])


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (1, "1 samples make no trajectory"),
        ([0.0, 0.0], "must increase"),
        ("soon", "give numbers"),
        ([[0.1]], "shape"),
    ],
)
def test_times_that_make_no_sense_are_refused(swing, times, message):
    with pytest.raises(ct.StateError, match=message):
        swing.resample(times)


def test_orientations_that_turn_too_far_between_samples_are_not_guessed():
    m = ct.Mechanism("top", gravity=(0, 0, 0))
    m.add_body("body", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("ball", "ground", "body", ct.Spherical())

    def spinning(samples):
        t = np.linspace(0.0, 1.0, samples)
        q = np.stack([np.cos(15 * t), 0 * t, 0 * t, np.sin(15 * t)], axis=-1)
        return Trajectory.of(
            m.system(), t, q, np.tile([0.0, 0.0, 30.0], (samples, 1)), np.zeros((samples, 3)), 0
        )

    with pytest.raises(ct.StateError, match="Joint 'ball' turns too far between t = 0 s"):
        spinning(6).at(0.5)
    q, _ = spinning(31).at(0.517)
    np.testing.assert_allclose(np.abs(q[[0, 3]]), np.abs([np.cos(15 * 0.517), np.sin(15 * 0.517)]), atol=1e-8)


def test_batches_keep_their_dimensions():
    system = arm7().system()
    rng = np.random.default_rng(0)
    run = ct.simulate(system, np.zeros((2, 3, 7)), rng.normal(size=(2, 3, 7)), 0.2, samples=5)
    assert run.batch == (2, 3)
    assert run["joint3"].shape == (2, 3, 5, 1)
    assert run.position(list(system.mechanism.bodies)[-1]).shape == (2, 3, 5, 3)
    assert run.acceleration.shape == (2, 3, 5, 7)
    assert run.reactions()["joint1"].shape == (2, 3, 5, 6)
    assert run.power["total"].shape == run.closure.shape == (2, 3, 5)
    alone = ct.simulate(system, np.zeros(7), run.v[1, 2, 0], 0.2, samples=5)
    np.testing.assert_allclose(run.at(0.13)[0][1, 2], alone.at(0.13)[0], atol=1e-7)
    assert run.resample(9).q.shape == (2, 3, 9, 7)


def test_a_trajectory_says_what_it_is(swing):
    assert repr(swing).startswith("Trajectory('pendulum', 61 samples from 0 s to 1.5 s")
