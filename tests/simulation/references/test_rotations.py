"""Orientations over time: angular velocities and accelerations against rates of quaternions and another library."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import catena as ct
from catena.joints import Free, Spherical
from catena.simulation.acting import symbols
from catena.simulation.references import OrientationPath, PosePath, cubic, function

START = np.array([0.5, -0.5, 0.5, 0.5])
STEP = 1e-5


def wobble(size):
    """A rotation vector that changes its direction; its length passes zero."""
    return function(lambda t: [size * symbols.sin(t), 0.7 * size * t, size * (symbols.cos(2.0 * t) - 1.0)])


def as_scipy(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


@pytest.mark.parametrize("size", [1e-3, 1.0, 2.5])
def test_angular_velocity_and_acceleration_are_the_rates_of_the_orientation(size):
    """Central differences of the rotations themselves, from near zero to beyond half a turn."""
    x = OrientationPath(wobble(size), START)
    t = np.array([0.0, 1e-4, 0.01, 0.3, 0.8, 1.3])
    q, w, wdot = x.at(t)
    before, after = x.at(t - STEP), x.at(t + STEP)
    moved = (as_scipy(before.q).inv() * as_scipy(after.q)).as_rotvec() / (2 * STEP)
    np.testing.assert_allclose(w, moved, atol=1e-8 * size)
    np.testing.assert_allclose(wdot, (after.v - before.v) / (2 * STEP), atol=2e-8 * size)
    expected = as_scipy(START) * Rotation.from_rotvec(wobble(size).at(t).q)
    np.testing.assert_allclose((expected.inv() * as_scipy(q)).magnitude(), 0.0, atol=1e-12)


def test_the_rate_of_the_rotation_vector_is_the_local_rate_of_the_joint():
    """The joint's own series, used in integrators, is the inverse of what is used here."""
    vector = wobble(0.2)
    xi, rate, _ = vector.at(0.5)
    _, w, _ = OrientationPath(vector).at(0.5)
    np.testing.assert_allclose(Spherical().local_rate(xi, w), rate, atol=1e-12)


def test_turns_go_the_shortest_way_about_a_fixed_axis_and_rest_at_each_orientation():
    orientations = [[1, 0, 0, 0], [np.cos(0.6), 0, np.sin(0.6), 0], [-np.cos(0.6), 0, 0, -np.sin(0.6)]]
    x = OrientationPath.through([0.0, 1.0, 3.0], orientations)
    q, w, wdot = x.at(np.array([0.0, 1.0, 3.0, 5.0]))
    for found, wanted in zip(q, [*orientations, orientations[2]]):
        assert abs(abs(found @ np.array(wanted)) - 1.0) < 1e-14
    np.testing.assert_allclose(w, 0.0, atol=1e-12)
    np.testing.assert_allclose(wdot, 0.0, atol=1e-10)
    halfway = x.at(0.5)
    np.testing.assert_allclose(halfway.q, [np.cos(0.3), 0, np.sin(0.3), 0], atol=1e-14)
    np.testing.assert_allclose(halfway.v, [0.0, 1.2 * 15.0 / 8.0, 0.0], atol=1e-13)


def test_a_pose_path_is_a_reference_of_a_free_joint():
    """q' = rate(q, v) of the joint, and v' is the derivative of v."""
    path = PosePath(cubic([0.0, 1.0], [[0, 0, 0], [1, -2, 3]]), OrientationPath(wobble(1.0), START))
    t = 0.37
    q, v, vdot = path.at(t)
    before, after = path.at(t - STEP), path.at(t + STEP)
    np.testing.assert_allclose(Free().rate(q, v), (after.q - before.q) / (2 * STEP), atol=1e-8)
    np.testing.assert_allclose(vdot, (after.v - before.v) / (2 * STEP), atol=1e-8)


def test_a_path_through_poses_meets_them():
    poses = [ct.Pose(), ct.Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), ct.Pose(p=(0, 1, 0))]
    path = PosePath.through([0.0, 1.0, 2.0], poses, law="cubic")
    q = path.at([0.0, 1.0, 2.0]).q
    np.testing.assert_allclose(q[:, :3], [pose.p for pose in poses], atol=1e-14)
    np.testing.assert_allclose(np.abs(np.sum(q[:, 3:] * [pose.quat for pose in poses], -1)), 1.0, atol=1e-14)
    assert path.span == (0.0, 2.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: OrientationPath(cubic([0, 1], [0, 1])), "3 entries"),
        (lambda: OrientationPath(wobble(1.0), [1, 1, 0, 0]), "length"),
        (lambda: OrientationPath(wobble(1.0), [1, 0, 0]), "no quaternion"),
        (lambda: OrientationPath.through([0, 1], [[1, 0, 0, 0], [np.nan, 0, 0, 0]]), "finite"),
        (
            lambda: OrientationPath.through([0, 1], [[1, 0, 0, 0], [0, 1, 0, 0]], law="linear"),
            "choose quintic",
        ),
        (lambda: OrientationPath.through([0, 1], [[1, 0, 0], [0, 1, 0]]), "quaternions"),
        (lambda: PosePath([0, 0]), "position"),
        (lambda: PosePath([0, 0, 0], cubic([0, 1], [0, 1])), "rotation"),
        (lambda: PosePath.through([0, 1], [ct.Pose(), (0, 0, 0)]), "list of Pose"),
    ],
)
def test_what_is_no_orientation_is_refused_in_words(make, words):
    with pytest.raises(ct.StateError, match=words):
        make()
