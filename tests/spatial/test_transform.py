"""Transforms against dense 6x6 matrices, on numbers and on symbols, and how many operations they take."""

import math

import numpy as np
import pytest

from catena.spatial import ArticulatedInertia, Force, ForceSpace, Motion, MotionSpace, Pose, Transform, skew


def dense(X):
    return np.block([[X.R, np.zeros((3, 3))], [-X.R @ skew(X.p), X.R]])


def test_matrices_are_the_textbook_ones_and_dual_to_each_other(random):
    X = random.transform()
    np.testing.assert_allclose(X.motion_matrix(), dense(X), atol=1e-14)
    np.testing.assert_allclose(X.force_matrix(), np.linalg.inv(dense(X)).T, atol=1e-13)


def test_motions_and_forces_go_as_their_matrices_say(random, traced):
    X, v, A = random.transform(), random.vector(6), random.vector((6, 3))
    D, F = X.motion_matrix(), X.force_matrix()
    expected = {
        "motion": D @ v,
        "force": F @ v,
        "pulled force": D.T @ v,
        "pulled motion": np.linalg.solve(D, v),
    }
    symbolic_X, m, f = traced.twin(X), traced.twin(Motion(v)), traced.twin(Force(v))
    found = {
        "motion": (X * Motion(v), symbolic_X * m),
        "force": (X * Force(v), symbolic_X * f),
        "pulled force": (X.pull(Force(v)), symbolic_X.pull(f)),
        "pulled motion": (X.pull_motion(Motion(v)), symbolic_X.pull_motion(m)),
    }
    for name, (number, symbol) in found.items():
        np.testing.assert_allclose(number.array, expected[name], atol=1e-13, err_msg=name)
        np.testing.assert_allclose(
            traced.evaluate(symbol.entries()), expected[name], atol=1e-13, err_msg=name
        )
        assert traced.operations(symbol.entries()) <= 42, name
    np.testing.assert_allclose((X * MotionSpace(A)).array, D @ A, atol=1e-13)
    np.testing.assert_allclose((X * ForceSpace(A)).array, F @ A, atol=1e-13)
    np.testing.assert_allclose(X.pull(ForceSpace(A)).array, D.T @ A, atol=1e-13)
    np.testing.assert_allclose(X.pull_motion(MotionSpace(A)).array, np.linalg.solve(D, A), atol=1e-12)


def test_power_does_not_depend_on_the_frame(random):
    X, v, f = random.transform(), Motion(random.vector(6)), Force(random.vector(6))
    assert (X * v).dot(X * f) == pytest.approx(v.dot(f), rel=1e-12)


def test_composition_and_inverse_are_those_of_the_matrices(random):
    X, Y = random.transform(), random.transform()
    np.testing.assert_allclose((X * Y).motion_matrix(), dense(X) @ dense(Y), atol=1e-13)
    np.testing.assert_allclose(X.inverse().motion_matrix(), np.linalg.inv(dense(X)), atol=1e-13)


@pytest.mark.parametrize("make", ["rigid", "articulated"])
def test_inertias_go_as_their_matrices_say(make, random, traced):
    X, inertia = random.transform(), getattr(random, make)()
    D = X.motion_matrix()
    expected = D.T @ inertia.matrix() @ D
    np.testing.assert_allclose(X.pull(inertia).matrix(), expected, atol=1e-12)
    np.testing.assert_allclose(X.push(X.pull(inertia)).matrix(), inertia.matrix(), atol=1e-12)
    symbolic = traced.twin(X).pull(traced.twin(inertia))
    np.testing.assert_allclose(traced.evaluate(symbolic.matrix()), expected, atol=1e-12)
    # Rigid: 57 to turn, 15 to turn h, 30 to move. Articulated: 57 + 57 + 68 to turn, 76 to move.
    assert traced.operations(symbolic.entries()) <= (102 if make == "rigid" else 258)


def test_pull_of_an_inertia_felt_through_a_revolute_joint_takes_fewer_operations(random, traced):
    X, inertia = traced.twin(random.transform()), traced.twin(random.articulated())
    S = MotionSpace(np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]).T)
    felt = inertia.felt_through(S, inertia * S, traced.twin_array(np.ones((1, 1))))
    general = traced.operations(X.pull(inertia).entries())
    through = traced.operations(X.pull(felt).entries()) - traced.operations(felt.entries())
    assert through <= general - 40


def test_a_shift_alone_and_a_turn_alone_drop_the_other_half(random, traced):
    inertia = traced.twin(random.articulated())
    shift = Transform.translation(traced.twin_array(random.vector(3)))
    assert traced.operations(shift.pull(inertia).entries()) < 100
    turn = Transform.rotation_z(traced.twin_array(random.vector(1))[0])
    assert traced.operations(turn.pull(inertia).entries()) < 130


@pytest.mark.parametrize(
    ("axis", "make"),
    [((1, 0, 0), Transform.rotation_x), ((0, 1, 0), Transform.rotation_y), ((0, 0, 1), Transform.rotation_z)],
)
def test_rotation_about_a_coordinate_axis_is_a_coordinate_transform(axis, make):
    a = 0.4
    X = make(a)
    u = np.roll(axis, 1).astype(float)
    turned = math.cos(a) * u + math.sin(a) * np.cross(axis, u)
    # The turned frame sees a turned vector as the frame before saw the vector.
    np.testing.assert_allclose(X.R @ turned, u, atol=1e-15)
    np.testing.assert_array_equal(Transform.rotation(tuple(map(float, axis)), a).R, X.R)
    np.testing.assert_array_equal(Transform.rotation(tuple(-float(x) for x in axis), a).R, make(-a).R)


def test_rotation_about_any_axis_keeps_it_and_turns_by_the_angle(random):
    n = random.vector(3)
    n /= np.linalg.norm(n)
    X = Transform.rotation(n, 0.9)
    np.testing.assert_allclose(X.R @ n, n, atol=1e-15)
    assert np.trace(X.R) == pytest.approx(1 + 2 * math.cos(0.9))
    np.testing.assert_allclose(Transform.rotation(n, 1e-9).R, np.eye(3) - 1e-9 * skew(n), atol=1e-16)


def test_pose_and_transform_of_the_same_placement(random):
    pose = random.transform().pose()
    X = Transform.from_pose(pose)
    np.testing.assert_array_equal(X.R, pose.R.T)
    np.testing.assert_array_equal(X.p, pose.p)
    assert X.pose() == pose
    other = Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3))
    chained = Transform.from_pose(other) * Transform.from_pose(pose)
    assert chained.pose().allclose(pose * other, atol=1e-14)


def test_entries_make_the_same_transform_again(random):
    X = random.transform()
    again = Transform.from_entries(X.entries())
    np.testing.assert_array_equal(again.R, X.R)
    np.testing.assert_array_equal(again.p, X.p)
    assert len(X.entries()) == Transform.size
    np.testing.assert_array_equal(Transform.identity().motion_matrix(), np.eye(6))


def test_pull_says_what_it_takes():
    with pytest.raises(
        TypeError, match="Transform.pull takes a force, a force space or an inertia, not Motion"
    ):
        Transform.identity().pull(Motion.zero())
    assert isinstance(Transform.identity().pull(ArticulatedInertia.zero()), ArticulatedInertia)
