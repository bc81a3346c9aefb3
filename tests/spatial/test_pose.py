"""Poses: three ways to give the axes, products, and every input that is refused."""

import math

import numpy as np
import pytest

from catena.errors import ModelError
from catena.spatial import Pose


def rotation(axis, a):
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    R = np.eye(3)
    R[j, j] = R[k, k] = math.cos(a)
    R[k, j], R[j, k] = math.sin(a), -math.sin(a)
    return R


def test_default_is_the_identity():
    np.testing.assert_array_equal(Pose().matrix(), np.eye(4))
    np.testing.assert_array_equal(Pose().quat, [1, 0, 0, 0])


def test_rpy_turns_about_fixed_x_then_y_then_z():
    pose = Pose(rpy=(0.3, -0.4, 0.5))
    np.testing.assert_allclose(
        pose.R, rotation("z", 0.5) @ rotation("y", -0.4) @ rotation("x", 0.3), atol=1e-15
    )


def test_quaternion_and_matrix_give_the_same_axes():
    by_quat = Pose(quat=(math.cos(0.35), 0, 0, math.sin(0.35)))
    by_R = Pose(R=rotation("z", 0.7))
    assert by_quat.allclose(by_R, atol=1e-15)
    np.testing.assert_allclose(by_R.quat, by_quat.quat, atol=1e-15)


def test_nearly_unit_quaternion_and_nearly_orthonormal_matrix_are_made_exact():
    pose = Pose(quat=np.array([1, 2, 3, 4]) / math.sqrt(30) * (1 + 5e-7))
    assert np.linalg.norm(pose.quat) == pytest.approx(1, abs=1e-15)
    rough = rotation("x", 0.3) + 3e-7
    np.testing.assert_allclose(Pose(R=rough).R @ Pose(R=rough).R.T, np.eye(3), atol=1e-15)


def test_products_and_inverse_are_those_of_the_matrices():
    a, b = Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), Pose(p=(-1, 0, 2), quat=(0.5, 0.5, -0.5, 0.5))
    np.testing.assert_allclose((a * b).matrix(), a.matrix() @ b.matrix(), atol=1e-14)
    np.testing.assert_allclose(a.inverse().matrix(), np.linalg.inv(a.matrix()), atol=1e-14)
    np.testing.assert_allclose(a * (1.0, 1.0, 0.5), (a.matrix() @ [1, 1, 0.5, 1])[:3], atol=1e-15)


def test_equality_and_hash_go_by_value():
    a, b = Pose(p=(1, 2, 3), rpy=(0, 0, 1)), Pose(p=(1, 2, 3), rpy=(0, 0, 1))
    assert a == b
    assert hash(a) == hash(b)
    assert a != Pose(p=(1, 2, 3))
    assert a != "pose"
    assert hash(Pose(p=(0.0, 0, 0))) == hash(Pose(p=(-0.0, 0, 0)))
    assert a.allclose(Pose(p=(1, 2, 3 + 1e-10), rpy=(0, 0, 1)))
    assert not a.allclose(Pose(p=(1, 2, 3 + 1e-8), rpy=(0, 0, 1)))


def test_poses_cannot_be_changed_and_do_not_follow_their_input():
    p = np.array([1.0, 2.0, 3.0])
    pose = Pose(p=p)
    p[0] = 9.0
    assert pose.p[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        pose.p[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        pose.R[0, 0] = 5.0
    with pytest.raises(AttributeError):
        pose.p = p


def test_repr_makes_the_pose_again():
    pose = Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3))
    assert eval(repr(pose)).allclose(pose, atol=1e-15)
    assert repr(Pose()) == "Pose(p=(0.0, 0.0, 0.0))"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quat": (1, 0, 0, 0), "rpy": (0, 0, 0)}, "got quat and rpy together; give the axes one way only"),
        ({"rpy": (0, 0, 0), "R": np.eye(3)}, "got rpy and R together"),
        ({"p": (1, 2)}, r"p has shape \(2,\); it must have shape \(3,\)"),
        (
            {"p": (1, 2, math.nan)},
            r"p = \[1.0, 2.0, nan\] is not finite; every entry must be a finite number",
        ),
        ({"p": ("a", 0, 0)}, r"p = \('a', 0, 0\) is not made of real numbers"),
        ({"quat": (1, 0, 0)}, r"quat has shape \(3,\); it must have shape \(4,\)"),
        (
            {"quat": (1, 1, 0, 0)},
            r"quat = .* has length 1.41421356; a rotation .* has length 1: normalise it",
        ),
        ({"quat": (0, 0, 0, 0)}, "has length 0; a rotation"),
        ({"quat": (1, 0, 0, math.inf)}, "quat = .* is not finite"),
        ({"rpy": (0, 0)}, r"rpy has shape \(2,\)"),
        ({"rpy": (0, 0, math.nan)}, "rpy = .* is not finite"),
        ({"R": np.eye(2)}, r"R has shape \(2, 2\); it must have shape \(3, 3\)"),
        (
            {"R": np.eye(3) * 1.1},
            r"columns of R are not orthonormal \(R\^T R differs from the identity by 0.21\)",
        ),
        ({"R": np.diag([1, 1, -1])}, "R has determinant -1, which is a reflection; give right-handed axes"),
        ({"R": np.full((3, 3), math.nan)}, "R = .* is not finite"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, message):
    with pytest.raises(ModelError, match=message) as caught:
        Pose(**arguments)
    assert str(caught.value).startswith("Pose: ")
