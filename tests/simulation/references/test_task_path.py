"""Frames that follow paths: a Stewart platform's legs by its geometry, arms by their own kinematics."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm6, arm7, four_bar, stewart
from catena.mechanism.generators.arms import bent_posture
from catena.simulation.acting import symbols
from catena.simulation.references import PosePath, TaskPath, constant, cubic, function, quintic

STEP = 1e-5


def derivatives_agree(s, path, t, tolerance):
    q, v, a = path.at(t)
    before, after = path.at(t - STEP), path.at(t + STEP)
    np.testing.assert_allclose(s.difference(before.q, after.q) / (2 * STEP), v, atol=tolerance)
    np.testing.assert_allclose((after.v - before.v) / (2 * STEP), a, atol=10 * tolerance)


def test_the_legs_of_a_platform_are_as_long_as_its_pose_makes_them():
    """The distance from each foot to its point on the platform, from the poses alone."""
    m = stewart()
    s = m.system()
    poses = [
        ct.Pose(p=(0, 0, 1.0)),
        ct.Pose(p=(0.1, 0.05, 1.1), rpy=(0.1, -0.1, 0.2)),
        ct.Pose(p=(0, 0, 0.95)),
    ]
    path = PosePath.through([0.0, 1.0, 2.0], poses)
    legs = TaskPath(s, "platform", path)
    t = np.array([0.0, 0.4, 1.0, 1.33, 2.0, 2.5])
    q, v, _ = legs.at(t)
    for row, wanted in zip(q, path.at(t).q):
        pose = ct.Pose(p=wanted[:3], quat=wanted[3:])
        for k in range(1, 7):
            foot = m.joints[f"base{k}"].in_parent.p
            length = np.linalg.norm(pose * m.joints[f"ball{k}"].in_child.p - foot)
            start = m.joints[f"leg{k}"].in_parent.p[2]
            assert abs(row[s.slice_q(f"leg{k}")][0] - (length - start)) < 1e-12
    np.testing.assert_allclose(s.closure(q, v)[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(s.closure(q, v)[1], 0.0, atol=1e-12)
    derivatives_agree(s, legs, np.array([0.3, 1.2, 1.9]), 1e-7)
    assert not v[-1].any()


@pytest.mark.parametrize("whole", [True, False])
def test_a_redundant_arm_follows_exactly_and_its_elbow_smoothly(whole):
    s = arm7().system()
    q0 = np.array(bent_posture(7)) + 0.1
    start = s.pose(q0, "tool")
    if whole:
        end = ct.Pose(p=start.p + [0.1, 0.2, -0.1], quat=start.quat) * ct.Pose(rpy=(0.3, 0.2, -0.1))
        path = PosePath.through([0.0, 1.0], [start, end])
    else:
        path = quintic([0.0, 1.0], [start.p, start.p + [0.1, 0.2, -0.1]])
    joints = TaskPath(s, "tool", path, guess=q0)
    t = np.array([0.11, 0.5, 0.77])
    q, v, a = joints.at(t)
    np.testing.assert_allclose(s.pose(q, "tool")[:, :3, 3], path.at(t).q[:, :3], atol=1e-12)
    twist = s.twist(q, v, "tool")
    rate = np.einsum("sij,sj->si", s.jacobian(q, "tool"), a) + s.bias_acceleration(q, v, "tool")
    if whole:
        np.testing.assert_allclose(twist, path.at(t).v, atol=1e-10)
        np.testing.assert_allclose(rate, path.at(t).vdot, atol=1e-9)
    else:
        R = s.pose(q, "tool")[:, :3, :3]
        np.testing.assert_allclose(np.einsum("sij,sj->si", R, twist[:, 3:]), path.at(t).v, atol=1e-10)
    # The interpolation between the kept configurations is of third order in their distance.
    derivatives_agree(s, joints, t, 1e-6)


def test_a_path_without_an_end_is_followed_as_far_as_it_is_asked_for():
    s = arm6().system()
    q0 = np.array(bent_posture(6))
    p = s.pose(q0, "tool").p
    circle = function(lambda t: [p[0] + 0.1 * symbols.cos(t) - 0.1, p[1] + 0.1 * symbols.sin(t), p[2]])
    joints = TaskPath(s, "tool", circle, guess=q0, step=0.02)
    np.testing.assert_allclose(s.pose(joints.at(1.234).q, "tool").p, circle.at(1.234).q, atol=1e-12)
    np.testing.assert_allclose(joints.at([0.2, 1.234]).q[1], joints.at(1.234).q, atol=1e-12)
    derivatives_agree(s, joints, np.array([0.5, 1.0]), 1e-5)


def test_a_guess_far_from_the_beginning_will_do():
    s = arm6().system()
    wanted = s.pose(np.array(bent_posture(6)), "tool")
    joints = TaskPath(s, "tool", PosePath(wanted.p, wanted.quat))
    assert s.pose(joints.at(0.0).q, "tool").allclose(wanted)


def test_a_pose_out_of_reach_is_named_with_its_frame_and_time():
    s = arm7().system()
    q0 = np.array(bent_posture(7))
    p = s.pose(q0, "tool").p
    with pytest.raises(ct.StateError, match=r"frame 'tool' of 'arm7'.*t = 0\.\d+ s.* m away"):
        TaskPath(s, "tool", cubic([0.0, 1.0], [p, p + [3.0, 0.0, 0.0]]), guess=q0)
    bars = four_bar().system()
    body = bars.mechanism.joints["A"].child
    p = bars.pose(bars.neutral(), body).p
    with pytest.raises(ct.StateError, match=rf"frame '{body}'.*t = 0 s.* m away"):
        TaskPath(bars, body, constant(p + [0.0, 0.1, 0.1]))


def test_a_path_that_leaves_a_singular_configuration_the_wrong_way_is_named():
    s = arm7().system()
    p = s.pose(s.neutral(), "tool").p
    with pytest.raises(ct.StateError, match="frame 'tool'.*t = 0 s.*singular configuration"):
        TaskPath(s, "tool", function(lambda t: [p[0], p[1], p[2] - 0.1 * t]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("hand", cubic([0, 1], [[0, 0, 0], [1, 1, 1]])), "named 'hand'"),
        (("tool", cubic([0, 1], [0, 1])), "1 coordinates"),
        (("tool", [0.1, 0.2, 0.3]), "give a reference"),
        (("tool", constant([0.1, 0.2, 0.3]), [np.nan] * 7), "nan"),
        (("tool", constant([0.1, 0.2, 0.3]), np.zeros((2, 7))), "one configuration"),
        (("tool", constant([0.1, 0.2, 0.3]), None, 0.0), "step is 0.0"),
    ],
)
def test_what_is_no_path_is_refused_in_words(arguments, words):
    with pytest.raises(ct.CatenaError, match=words):
        TaskPath(arm7().system(), *arguments)


def arm_and_its_path():
    s, q0 = arm7().system(), np.array(bent_posture(7)) + 0.1
    start = s.pose(q0, "tool")
    end = ct.Pose(p=start.p + [0.05, 0.1, -0.05], quat=start.quat) * ct.Pose(rpy=(0.2, 0.1, -0.1))
    return s, q0, TaskPath(s, "tool", PosePath.through([0.0, 0.4, 1.0], [start, end, start]), guess=q0)


def test_polynomials_for_the_compiled_step_are_what_inverse_kinematics_gives():
    """Of a redundant arm whose path has a corner, at times that nobody looked at, and after the end."""
    _, _, path = arm_and_its_path()
    t = np.concatenate([np.random.default_rng(0).uniform(0.0, 1.0, 100), [1.5]])
    told = path.in_step.table.at(t)
    for k, (x, tolerance) in enumerate(zip(path.at(t), (1e-11, 1e-8, 1e-5), strict=True)):
        np.testing.assert_allclose(told[:, 7 * k : 7 * k + 7], x, atol=tolerance)


def test_paths_without_an_end_stay_in_python():
    s = arm6().system()
    q0 = np.array(bent_posture(6))
    p = s.pose(q0, "tool").p
    endless = TaskPath(s, "tool", function(lambda t: [p[0], p[1] + 0.01 * symbols.sin(t), p[2]]), guess=q0)
    assert endless.in_step is None


@pytest.mark.parametrize("make", [ct.PID, ct.ComputedTorque])
def test_a_controller_follows_a_frame_inside_the_compiled_step(make):
    s, q0, path = arm_and_its_path()
    inertia = np.diagonal(s.mass_matrix(q0))
    gains = (100.0 * inertia, 0.0, 20.0 * inertia) if make is ct.PID else (100.0,)
    law = make(s, path, *gains, rate=1000.0)
    inside = ct.simulate(s, q0, np.zeros(7), 0.05, control=law, rtol=1e-9, check=False)
    assert inside.settings["control"].endswith("compiled")

    class Asked:
        rate = 1000.0

        def __call__(self, t, q, v):
            motion = path.at(t)
            if make is ct.PID:
                return inertia * (100.0 * (motion.q - q) + 20.0 * (motion.v - v))
            wanted = motion.vdot + 100.0 * (motion.q - q) + 20.0 * (motion.v - v)
            return s.inverse_dynamics(q, v, wanted)

    outside = ct.simulate(s, q0, np.zeros(7), 0.05, control=Asked(), rtol=1e-9, check=False)
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-9)
    np.testing.assert_allclose(inside.tau[-1], outside.tau[-1], rtol=1e-6, atol=1e-6)
