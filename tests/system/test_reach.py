"""Goals of frames in and out of reach: masks, nearest configurations and words, against geometry."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm6, delta


def planar_arm(**limits):
    m = ct.Mechanism("planar arm")
    for name in ("upper", "lower"):
        m.add_body(name, 1.0, (0.5, 0, 0), 0.1)
    m.add_joint("shoulder", "ground", "upper", ct.Revolute("z"), ct.Pose(p=(0.2, 0.1, 0)))
    m.add_joint("elbow", "upper", "lower", ct.Revolute("z"), ct.Pose(p=(1, 0, 0)), **limits)
    m.add_frame("tip", "lower", ct.Pose(p=(0.6, 0, 0)))
    return m.system()


def test_a_workspace_is_what_the_links_allow():
    s = planar_arm()
    grid = np.linspace(-2.5, 2.5, 21)
    points = np.stack([*np.meshgrid(grid, grid), np.zeros((21, 21))], axis=-1)
    found = ct.reach(s, {"tip": points}, guess=[0.3, 0.4])
    far = np.linalg.norm(points - [0.2, 0.1, 0.0], axis=-1)
    left = np.maximum(np.maximum(far - 1.6, 0.4 - far), 0.0)
    assert found.q.shape == (21, 21, 2) and found.reached.shape == (21, 21)
    np.testing.assert_array_equal(found.reached, left == 0.0)
    np.testing.assert_allclose(found.distance, left, atol=1e-4)
    told = np.linalg.norm(s.pose(found.q, "tip")[..., :3, 3] - points, axis=-1)
    np.testing.assert_allclose(found.distance, told, atol=1e-12)


def test_joint_limits_bound_a_workspace():
    s = planar_arm(limits=(0.5, 2.0))
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.uniform(-1.8, 1.8, (60, 2)), np.zeros((60, 1))], axis=1)
    found = ct.reach(s, {"tip": points})
    far = np.linalg.norm(points - [0.2, 0.1, 0.0], axis=-1)
    nearest, furthest = (abs(1.0 + 0.6 * np.exp(1j * x)) for x in (2.0, 0.5))
    np.testing.assert_array_equal(found.reached, (far >= nearest) & (far <= furthest))
    assert (found.q[:, 1] >= 0.5 - 1e-9).all() and (found.q[:, 1] <= 2.0 + 1e-9).all()
    left = np.maximum(np.maximum(far - furthest, nearest - far), 0.0)
    np.testing.assert_allclose(found.distance, left, atol=1e-3)


def test_one_of_many_goals_is_found_as_it_is_alone():
    s = arm6().system()
    rng = np.random.default_rng(3)
    poses = np.asarray(s.pose(rng.uniform(-1.5, 1.5, (24, 6)), "tool")).copy()
    poses[::4, :3, 3] += rng.normal(size=(6, 3))
    found = ct.reach(s, {"tool": poses})
    assert found.reached[np.arange(24) % 4 != 0].all() and not found.reached.all()
    np.testing.assert_allclose(s.pose(found.q, "tool")[found.reached], poses[found.reached], atol=1e-9)
    for k in range(8):
        alone = ct.reach(s, {"tool": poses[k]})
        assert alone.reached == found.reached[k]
        np.testing.assert_allclose(alone.q, found.q[k], atol=1e-8)
    with pytest.raises(
        ct.LoopError, match=r"in \d of 24 states, in state \d+ that .* ask ct\.reach"
    ) as caught:
        s.inverse_kinematics({"tool": poses})
    np.testing.assert_array_equal(caught.value.reach.reached, found.reached)
    np.testing.assert_array_equal(caught.value.reach.q, found.q)


def test_what_is_out_of_reach_keeps_loops_closed():
    s = delta().system()
    inside = np.array([0.03, -0.02, -0.45])
    found = ct.reach(s, {"platform": np.array([inside, inside + [2.0, 0, 0], inside + [0, 0, -3.0]])})
    np.testing.assert_array_equal(found.reached, [True, False, False])
    assert np.abs(s.closure(found.q)[0]).max() < 1e-9
    np.testing.assert_allclose(s.pose(found.q[0], "platform").p, inside, atol=1e-9)
    assert (found.distance[1:] > 1.0).all()


@pytest.mark.parametrize("R, words", [
    (2.0 * np.eye(3), "not orthonormal .* by 3"), (np.zeros((3, 3)), "not orthonormal .* by 1"),
    (np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1.0]]), "not orthonormal"), (np.diag([1.0, 1.0, -1.0]), "mirrors"),
])  # fmt: skip
def test_a_goal_that_is_no_pose_is_refused(R, words):
    s = arm6().system()
    X = np.tile(np.eye(4), (3, 1, 1))
    X[:, :3, 3] = (0.3, 0.2, 0.4)
    X[1, :3, :3] = R
    for ask in (ct.System.inverse_kinematics, ct.reach):
        with pytest.raises(ct.StateError, match=rf"'tool' is no pose in state \(1,\): .*{words}"):
            ask(s, {"tool": X})
        with pytest.raises(ct.StateError, match=f"'tool' is no pose: .*{words}"):
            ask(s, {"tool": X[1]})
    X[1] = np.eye(4)
    X[1, 3, 3] = 2.0
    with pytest.raises(ct.StateError, match="last row"):
        ct.reach(s, {"tool": X})
