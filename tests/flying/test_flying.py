"""Free-flying robots: momentum that stays, the generalised Jacobian, motion without reaction, identification."""

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import free_flyer


@pytest.fixture(scope="module")
def robot():
    """A base and one arm of seven joints that moves: what is left of the robot of the paper."""
    m = free_flyer()
    m.gravity = (0, 0, 0)
    s = m.reduce_to(["base", "arm1/*"]).system()
    rng = np.random.default_rng(3)
    return s, ct.FreeFlyer(s), s.integrate(s.neutral(), 0.5 * rng.normal(size=s.nv)), rng.normal(size=7)


def test_the_base_moves_so_that_momentum_stays(robot):
    s, flyer, q, v_m = robot
    assert np.abs(s.momentum(q, flyer.full_velocity(q, v_m))).max() < 1e-12
    h = np.array([0.3, -0.2, 0.5, 4.0, -3.0, 2.0])
    np.testing.assert_allclose(s.momentum(q, flyer.full_velocity(q, v_m, h)), h, atol=1e-11)
    c, speed = flyer.centre_of_mass(q, flyer.full_velocity(q, v_m, h))
    spin = flyer.momentum(q, flyer.full_velocity(q, v_m, h))
    np.testing.assert_allclose(spin[:3], h[:3] - np.cross(c, h[3:]), atol=1e-11)
    mass = sum(body.mass for body in s.mechanism.bodies.values())
    np.testing.assert_allclose(speed, h[3:] / mass, rtol=1e-12)


def test_the_generalised_jacobian_is_the_twist_without_momentum(robot):
    s, flyer, q, v_m = robot
    np.testing.assert_allclose(
        flyer.generalised_jacobian(q, "arm1/tool") @ v_m,
        s.twist(q, flyer.full_velocity(q, v_m), "arm1/tool"),
        atol=1e-12,
    )
    batch = np.tile(q, (3, 1))
    assert flyer.generalised_jacobian(batch, "arm1/tool").shape == (3, 6, 7)


def test_reaction_null_motion_leaves_the_base_alone(robot):
    s, flyer, q, _ = robot
    basis = flyer.reaction_null(q)
    assert basis.shape == (7, 1)
    assert np.abs(flyer.base_velocity(q, basis[:, 0])).max() < 1e-12


def test_a_wheel_turns_the_base_by_the_ratio_of_inertias():
    m = ct.Mechanism("wheel", gravity=(0, 0, 0))
    m.add_body("bus", mass=10.0, inertia=(1.0, 1.0, 2.0))
    m.add_body("wheel", mass=1.0, inertia=(0.05, 0.05, 0.1))
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    m.add_joint("spin", "bus", "wheel", ct.Revolute("z"))
    s = m.system()
    q, v = ct.FreeFlyer(s).follow(lambda t: ([3.0 * t], [3.0]), np.linspace(0, 2, 5), s.neutral())
    turned = 2.0 * np.arctan2(q[-1, 6], q[-1, 3])
    assert turned == pytest.approx(-0.1 / 2.1 * 6.0, rel=1e-12)
    with pytest.raises(ct.ModelError, match="needs one Free joint"):
        ct.FreeFlyer(m.fix_base().system())


def test_where_the_base_drifts_to_agrees_with_the_simulated_motion(robot):
    s, flyer, _, _ = robot
    amplitude = np.linspace(0.3, 0.9, 7)

    def path(t):
        return amplitude * (1 - np.cos(2 * t)), 2 * amplitude * np.sin(2 * t)

    times = np.linspace(0.0, 1.5, 4)
    q, v = flyer.follow(path, times, s.neutral(), step=2e-3)

    def swinging(a):
        return lambda t: (a * (1 - np.cos(2 * t)), 2 * a * np.sin(2 * t), 4 * a * np.cos(2 * t))

    motion = {name: swinging(a) for name, a in zip(flyer.joints, amplitude)}
    run = ct.simulate(s, s.neutral(), np.zeros(s.nv), 1.5, motion=motion, rtol=1e-10, atol=1e-12, check=False)
    np.testing.assert_allclose(q[-1], run.q[-1], atol=1e-8)
    np.testing.assert_allclose(v[-1], run.v[-1], atol=1e-7)


def spinner(gravity=(0, 0, 0), reverse=False):
    """A bus with an arm, whose mass centres are off their frames."""
    m = ct.Mechanism("spinner", gravity=gravity)
    m.add_body("bus", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    ends = ("bus", "ground") if reverse else ("ground", "bus")
    places = {"in_parent": ct.Pose(p=(0.2, 0.1, 0)), "in_child": ct.Pose(p=(0.5, 0.1, 0))}
    m.add_joint("base", *ends, ct.Free(), actuated=False, **places)
    m.add_body("arm", mass=1.0, com=(0.2, 0, 0.1), inertia=(0.1, 0.12, 0.13))
    m.add_joint("elbow", "bus", "arm", ct.Revolute("z"), in_parent=ct.Pose(p=(1, 0, 0)))
    m.add_frame("hand", "arm", ct.Pose(p=(0.3, 0, 0)))
    return m


MOMENTUM = np.array([1.0, 2.0, -1.0, 3.0, 2.0, 1.0])


def swung(t):
    return [np.sin(2 * t)], [2 * np.cos(2 * t)]


def test_where_the_base_drifts_to_is_found_to_the_fourth_order_with_momentum():
    s = spinner().system()
    flyer = ct.FreeFlyer(s)
    end = [
        flyer.follow(swung, [0.0, 1.0], s.neutral(), momentum=MOMENTUM, step=h)[0][-1]
        for h in (0.02, 0.01, 0.0025)
    ]
    errors = [np.abs(q - end[-1]).max() for q in end[:2]]
    assert errors[0] / errors[1] > 14.0


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"gravity": (0.3, -0.2, -9.81)}])
def test_drift_with_momentum_agrees_with_the_simulated_motion(options):
    """From any side of the joint of the base, and where gravity adds to the momentum."""
    s = spinner(**options).system()
    flyer = ct.FreeFlyer(s)
    q, v = flyer.follow(swung, [0.0, 1.0], s.neutral(), momentum=MOMENTUM, step=2e-3)
    elbow = {"elbow": lambda t: (np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t))}
    run = ct.simulate(s, s.neutral(), v[0], 1.0, motion=elbow, rtol=1e-10, atol=1e-12, check=False)
    np.testing.assert_allclose(q[-1], run.q[-1], atol=1e-7)
    np.testing.assert_allclose(v[-1], run.v[-1], atol=1e-6)


def test_the_robot_is_what_hangs_on_its_base():
    """Beside another that floats and one that stands, and on any root, it has its own momentum and centre of mass."""
    m = spinner()
    m.add_body("target", mass=40.0, inertia=3.0)
    m.add_joint("floats", "ground", "target", ct.Free(), actuated=False)
    m.add_body("post", mass=4.0, inertia=0.1)
    m.add_joint("turns", "ground", "post", ct.Revolute("z"))
    alone = spinner().system()
    s, rng = m.system(), np.random.default_rng(0)
    one, two = ct.FreeFlyer(alone), ct.FreeFlyer(s, "base")
    assert two.joints == one.joints == ("elbow",)
    q = s.integrate(s.neutral(), 0.5 * rng.normal(size=s.nv))
    v = rng.normal(size=s.nv)
    own = q[: alone.nq], v[: alone.nv]
    np.testing.assert_allclose(two.momentum(q, v), one.momentum(*own), atol=1e-12)
    for found, expected in zip(two.centre_of_mass(q, v), one.centre_of_mass(*own)):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert two.reaction_null(q).shape == one.reaction_null(own[0]).shape
    rooted = spinner().system(root="arm")
    other = ct.FreeFlyer(rooted)
    there = ct.transfer(alone, *own, rooted)
    np.testing.assert_allclose(other.momentum(*there), one.momentum(*own), atol=1e-12)
    np.testing.assert_allclose(
        other.generalised_jacobian(there.q, "hand"), one.generalised_jacobian(own[0], "hand"), atol=1e-12
    )
    masses = alone.vary({"bus.mass": [1.0, 3.0]})
    c, _ = ct.FreeFlyer(masses).centre_of_mass(*own)
    for found, mass in zip(c, (1.0, 3.0)):
        heavy = spinner().with_body("bus", mass=mass).system()
        np.testing.assert_allclose(found, heavy.center_of_mass(own[0]), atol=1e-12)
    with pytest.raises(ct.StateError, match="follow is for one robot"):
        ct.FreeFlyer(masses).follow(swung, [0.0, 1.0], alone.neutral())
    with pytest.raises(ct.StateError, match=r"momentum has shape \(2, 6\); give one of shape \(6,\)"):
        one.follow(swung, [0.0, 1.0], alone.neutral(), momentum=np.zeros((2, 6)))


def test_the_inertia_of_the_base_is_learnt_from_a_manoeuvre():
    """Example 3 of the paper: three joints of one arm move, nothing acts from outside, arms are known."""
    m = free_flyer()
    m.gravity = (0, 0, 0)
    s = m.reduce_to(["base", "arm1/joint1", "arm1/joint2", "arm1/joint4"]).system()
    assert s.nv == 9
    rng = np.random.default_rng(0)
    q = s.integrate(np.tile(s.neutral(), (60, 1)), 0.6 * rng.normal(size=(60, 9)))
    v, tau = rng.normal(size=(60, 9)), 20.0 * rng.normal(size=(60, 9))
    tau[:, :6] = 0.0
    vdot = s.forward_dynamics(q, v, tau)
    wrong = m.copy()
    bus = m.bodies["bus"]
    wrong.replace_body(replace(bus, mass=1.3 * bus.mass, inertia=0.7 * bus.inertia, com=bus.com + 0.05))
    guess = wrong.reduce_to(["base", "arm1/joint1", "arm1/joint2", "arm1/joint4"]).system()
    found = ct.identify_inertia(guess, q, v, vdot, ["bus"])
    at = [name for name in m.bodies if s.plan.body_node[name]].index("bus")
    exact = ct.inertial_parameters(s)[10 * at : 10 * at + 10]
    assert found.rank == 10
    np.testing.assert_allclose(found.parameters["bus"], exact, rtol=1e-8, atol=1e-8 * np.abs(exact).max())
    assert found.mass("bus") == pytest.approx(bus.mass, rel=1e-9) and found.residual < 1e-10
    noisy = ct.identify_inertia(guess, q, v, vdot + 1e-3 * rng.normal(size=vdot.shape), ["bus"])
    error = np.abs(noisy.parameters["bus"] - exact)
    assert (error < 5 * noisy.deviations["bus"]).all()
    with pytest.raises(ct.UnknownNameError, match="no body is named 'hull'"):
        ct.identify_inertia(guess, q, v, vdot, ["hull"])
    nothing = ct.Mechanism("nothing moves").system()
    with pytest.raises(ct.StateError, match="in 1 states; give at least one of each"):
        ct.identify_inertia(nothing, [], [], [], [])


def manoeuvred(s, count, seed=0):
    """States and accelerations of a mechanism under random forces of its motors."""
    rng = np.random.default_rng(seed)
    q = s.integrate(np.tile(s.neutral(), (count, 1)), 0.5 * rng.normal(size=(count, s.nv)))
    v, tau = rng.normal(size=(count, s.nv)), 3.0 * rng.normal(size=(count, s.nv)) * s.plan.actuated
    return q, v, s.forward_dynamics(q, v, tau), tau


def test_a_load_is_learnt_while_springs_act():
    """A load welded to a hand that hangs on a spring, without a motor: the inertia that the mechanism has is found."""
    m = spinner()
    m.add_body("gripper", mass=0.5, inertia=0.02)
    m.add_joint(
        "slide", "arm", "gripper", ct.Prismatic("x"), actuated=False, in_parent=ct.Pose(p=(0.3, 0, 0))
    )
    m.add_spring("soft", "slide", stiffness=50.0, damping=1.0)
    m.add_body("load", mass=5.0, com=(0.1, 0.05, 0.02), inertia=(0.2, 0.25, 0.3))
    m.add_joint(
        "grip", "gripper", "load", ct.Fixed(), in_parent=ct.Pose(p=(0.3, 0, 0.1), rpy=(0.2, 0.3, 0.4))
    )
    load = m.bodies["load"]
    wrong = m.copy()
    wrong.replace_body(replace(load, mass=8.0, com=load.com + 0.05, inertia=0.5 * load.inertia))
    found = ct.identify_inertia(wrong.system(), *manoeuvred(m.system(), 40)[:3], ["load"])
    assert found.rank == 10 and found.residual < 1e-12
    assert found.mass("load") == pytest.approx(5.0, rel=1e-10)
    np.testing.assert_allclose(found.com("load"), load.com, atol=1e-10)
    np.testing.assert_allclose(found.inertia("load"), load.inertia, atol=1e-10)
    with pytest.raises(ct.UnknownNameError, match="no body is named 'bus'"):
        found.mass("bus")


def test_what_a_motion_does_not_tell_has_no_deviation():
    """A link about a vertical axis tells its inertia about this axis, and nothing else."""
    m = ct.Mechanism("door")
    m.add_body("door", mass=2.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.1, 0.2))
    m.add_joint("hinge", "ground", "door", ct.Revolute("z"))
    s = m.system()
    q, v, vdot, tau = manoeuvred(s, 20)
    found = ct.identify_inertia(s, q, v, vdot, ["door"], tau=tau)
    assert found.rank == 1
    assert np.isfinite(found.deviations["door"]).tolist() == [False] * 9 + [True]
    loops = ct.generators.four_bar().system()
    q = loops.assemble({"A": 0.3})
    with pytest.raises(ct.StateError, match="'A', 'B', 'D', 'C' stand still, so their forces must be given"):
        ct.identify_inertia(loops, q, np.zeros(loops.nv), np.zeros(loops.nv), ["crank"])


def test_deviations_are_those_of_repeated_experiments():
    """Forces scatter ten times as much as moments; errors of mass and of inertia are as large as is told."""
    m = ct.Mechanism("bus", gravity=(0, 0, 0))
    m.add_body("bus", mass=20.0, com=(0.05, -0.02, 0.1), inertia=(2.0, 1.5, 1.2))
    m.add_body("wheel", mass=3.0, com=(0.2, 0, 0), inertia=(0.1, 0.12, 0.13))
    m.add_joint("base", "ground", "bus", ct.Free(), actuated=False)
    m.add_joint("spin", "bus", "wheel", ct.Universal(), in_parent=ct.Pose(p=(0.3, 0, 0)))
    s, rng = m.system(), np.random.default_rng(4)
    q, v, vdot, _ = manoeuvred(s, 200)
    exact = ct.inertial_parameters(s)[:10]
    scores = []
    for _ in range(40):
        found = ct.identify_inertia(s, q, v, vdot + 1e-3 * rng.normal(size=vdot.shape), ["bus"])
        scores.append((found.parameters["bus"] - exact) / found.deviations["bus"])
    spread = np.std(scores, axis=0)
    assert spread.min() > 0.7 and spread.max() < 1.4
