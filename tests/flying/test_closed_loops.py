"""Free-flyers and identification with loops: momentum and motion as simulated, and inertias as the mechanism has
them."""

from dataclasses import replace

import numpy as np
import pytest

import catena as ct

AXES = "yzy"


def carrier(load=True):
    """A floating bus with two arms of three joints that hold one load: a loop inside of what floats."""
    m = ct.Mechanism("carrier", gravity=(0, 0, 0))
    m.add_body("bus", mass=20.0, com=(0.05, 0, 0.02), inertia=(2.0, 1.5, 1.2))
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    for side, y in (("left", 0.3), ("right", -0.3)):
        above, at = "bus", ct.Pose(p=(0.2, y, 0))
        for k, axis in enumerate(AXES):
            name = f"{side}{k}"
            m.add_body(name, mass=1.0 + 0.2 * k, com=(0.15, 0.01, 0), inertia=(0.01, 0.03, 0.03))
            m.add_joint(f"{name} turns", above, name, ct.Revolute(axis), in_parent=at)
            above, at = name, ct.Pose(p=(0.3, 0, 0))
    m.add_body("load", mass=6.0, com=(0.02, 0.05, -0.03), inertia=(0.3, 0.2, 0.25))
    grip = {"in_parent": ct.Pose(p=(0.3, 0, 0)), "actuated": False}
    m.add_joint("left grip", "left2", "load", ct.Spherical(), in_child=ct.Pose(p=(0, 0.3, 0)), **grip)
    m.add_joint(
        "right grip", "right2", "load", ct.Universal("x", "y"), in_child=ct.Pose(p=(0, -0.3, 0)), **grip
    )
    return m


@pytest.fixture(scope="module")
def robot():
    s = carrier().system()
    q = s.assemble({"left0 turns": 0.3, "left1 turns": 0.1}, guess={"left2 turns": -0.4, "right1 turns": 0.1})
    return s, q, ct.FreeFlyer(s, at=q)


def test_joints_that_follow_keep_loops_closed_and_momentum_zero(robot):
    s, q, flyer = robot
    mobility = s.diagnose(q).mobility
    rates = np.random.default_rng(0).normal(size=(3, len(flyer.components)))
    assert len(flyer.components) == mobility - 6
    v = flyer.full_velocity(np.tile(q, (3, 1)), rates)
    assert np.abs(s.momentum(np.tile(q, (3, 1)), v)).max() < 1e-11
    assert np.abs(s.closure(np.tile(q, (3, 1)), v)[1]).max() < 1e-11
    np.testing.assert_allclose(v[:, flyer.components], rates)
    h = np.array([0.3, -0.2, 0.5, 4.0, -3.0, 2.0])
    np.testing.assert_allclose(s.momentum(q, flyer.full_velocity(q, rates[0], h)), h, atol=1e-10)
    still = flyer.reaction_null(q)
    for k in range(still.shape[1]):
        assert np.abs(flyer.base_velocity(q, still[:, k])).max() < 1e-9


def steady(begin, rate):
    return lambda t: (begin + rate * t, rate, 0.0 * rate)


def test_the_generalised_jacobian_is_that_of_simulated_motions(robot):
    """Differences of the pose of the load in runs whose motors turn steadily either way and that keep their
    momentum."""
    s, q, flyer = robot
    motors = [name for name in flyer.joints if name != "left grip" and name != "right grip"]
    J = flyer.generalised_jacobian(q, "load")
    rate, dt = np.zeros(len(flyer.components)), 5e-4
    for k, name in enumerate(motors):
        rate[flyer.components.tolist().index(s.slice_v(name).start)] = 0.2 + 0.1 * k
    poses = []
    for sign in (1.0, -1.0):
        v = flyer.full_velocity(q, sign * rate)
        drives = {name: steady(q[s.slice_q(name)], v[s.slice_v(name)]) for name in motors}
        run = ct.simulate(s, q, v, dt, motion=drives, rtol=1e-10, atol=1e-13, check=False)
        poses.append(s.pose(run.q[-1], "load"))
        np.testing.assert_allclose(s.momentum(run.q[-1], run.v[-1]), 0.0, atol=1e-9)
    # Passive joints at the grips may accelerate either way alike, which differences leave out.
    there, back = poses
    R = s.pose(q, "load").R
    turned = back.R.T @ there.R
    angular = (
        np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]]) / 2
    )
    linear = R.T @ (there.p - back.p)
    np.testing.assert_allclose(J @ rate, np.concatenate([angular, linear]) / (2 * dt), atol=1e-5)


def test_where_the_base_drifts_to_with_a_loop_agrees_with_the_simulated_motion():
    """A pantograph of four bars on a floating bus, driven by one motor; two rotations are coupled by a gear
    besides."""
    m = ct.Mechanism("pantograph", gravity=(0, 0, 0))
    m.add_body("bus", mass=5.0, com=(0.1, 0, 0), inertia=(0.3, 0.4, 0.5))
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    for name, above, at in (("a", "bus", (0, 0, 0)), ("b", "a", (0.5, 0, 0)), ("c", "bus", (0.6, 0, 0))):
        m.add_body(name, mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.03, 0.03))
        m.add_joint(
            f"{name} turns", above, name, ct.Revolute("z"), in_parent=ct.Pose(p=at), actuated=name == "a"
        )
    m.add_joint(
        "pin", "b", "c", ct.Revolute("z"), in_parent=ct.Pose(p=(0.6, 0, 0)), in_child=ct.Pose(p=(0.5, 0, 0))
    )
    m.add_body("wheel", mass=2.0, com=(0, 0.1, 0), inertia=0.05)
    m.add_joint("spin", "bus", "wheel", ct.Revolute("x"), actuated=False)
    m.add_coupling("gear", {"a turns": 3.0, "spin": -1.0}, offset=1.5)
    s = m.with_joint("pin", actuated=False).system(cut=["pin"])
    q0 = s.assemble({"a turns": 1.2}, guess={"a turns": 1.2, "b turns": -1.2, "c turns": 1.2})
    flyer = ct.FreeFlyer(s, at=q0)
    assert flyer.joints == ("a turns",)
    h = np.array([0.2, -0.1, 0.3, 0.5, 0.0, -0.4])

    def swung(t):
        return 1.2 + 0.4 * np.sin(2 * t), 0.8 * np.cos(2 * t), -1.6 * np.sin(2 * t)

    q, v = flyer.follow(lambda t: ([swung(t)[0]], [swung(t)[1]]), [0.0, 0.5], q0, momentum=h, step=0.02)
    run = ct.simulate(s, q0, v[0], 0.5, motion={"a turns": swung}, rtol=1e-9, atol=1e-11, check=False)
    np.testing.assert_allclose(q[-1], run.q[-1], atol=1e-6)
    np.testing.assert_allclose(v[-1], run.v[-1], atol=1e-5)
    held = m.attach("post", "ground", "c", ct.Spherical(), at=s.configuration(q0), in_child=ct.Pose())
    with pytest.raises(ct.ModelError, match="holds the robot on 'base'|needs one Free joint"):
        ct.FreeFlyer(held.system(keep=["base"]))


def closed_motions(s, q, count):
    """Closed states around q with forces of all motors, and the accelerations that the elimination gives them."""
    rng = np.random.default_rng(1)
    near = s.integrate(np.tile(q, (count, 1)), 0.15 * rng.normal(size=(count, s.nv)))
    q, v = s.project(near, rng.normal(size=(count, s.nv)))
    tau = 4.0 * rng.normal(size=(count, s.nv)) * s.plan.actuated
    return q, v, s.forward_dynamics(q, v, tau), tau


def test_a_load_that_two_arms_hold_is_learnt_in_the_loop(robot):
    """States and accelerations of the true mechanism; a guess with another load finds the true one, with forces of all
    motors measured, or of none: then the base tells it, in motions in which motors stand still."""
    s, q, _ = robot
    true = s.mechanism.bodies["load"]
    wrong = s.mechanism.copy()
    wrong.replace_body(replace(true, mass=9.0, com=true.com + 0.05, inertia=0.5 * true.inertia))
    guess = wrong.system()
    q, v, vdot, tau = closed_motions(s, q, 60)
    named = {name: tau[:, s.slice_v(name)] for name in s.joints if s.plan.actuated[s.slice_v(name)].all()}
    for forces in (tau, named, None):
        found = ct.identify_inertia(guess, q, v, vdot, ["load"], tau=forces)
        assert found.rank == 10 and found.residual < 1e-9 and np.isfinite(found.condition)
        assert found.mass("load") == pytest.approx(6.0, rel=1e-6)
        np.testing.assert_allclose(found.com("load"), true.com, atol=1e-6)
        np.testing.assert_allclose(found.inertia("load"), true.inertia, atol=1e-6)
    assert found.covariance.shape == (10, 10)
    scores = []
    rng = np.random.default_rng(2)
    for _ in range(30):
        noisy = ct.identify_inertia(s, q, v, vdot, ["load"], tau=tau + 0.05 * rng.normal(size=tau.shape))
        change = noisy.parameters["load"] - found.parameters["load"]
        scores.append(change @ np.linalg.solve(noisy.covariance, change))
    # The squared distances in units of the covariance are those of ten numbers that scatter by themselves.
    assert 6.0 < np.mean(scores) < 16.0


def test_masses_behind_a_gear_are_learnt_from_the_motor():
    m = ct.Mechanism("carts", gravity=(0, 0, 0))
    for name, mass in (("a", 1.0), ("b", 0.5)):
        m.add_body(name, mass=mass, inertia=0.1)
        m.add_joint(f"{name} slides", "ground", name, ct.Prismatic("x"), actuated=name == "a")
    m.add_coupling("gear", {"a slides": 2.0, "b slides": -1.0})
    x = np.linspace(0.0, 1.0, 20)[:, None]
    a = np.sin(7 * x) * [1.0, 2.0]
    wrong = m.with_body("b", mass=2.0).system()
    found = ct.identify_inertia(
        wrong, x * [1.0, 2.0], 0 * a, a, ["b"], tau={"a slides": (1.0 + 4 * 0.5) * a[:, :1]}
    )
    assert found.mass("b") == pytest.approx(0.5) and found.rank == 1 and found.condition == np.inf
