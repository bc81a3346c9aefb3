"""What q and v mean for each kind, as users read them, and the kinds' own bad input."""

import math

import numpy as np
import pytest

from catena.errors import ModelError, StateError
from catena.joints import (
    Cylindrical,
    Fixed,
    Flipped,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Sdof,
    Spherical,
    Universal,
)
from catena.joints.axes import perpendicular
from catena.spatial import Pose, Transform, quaternion


def pose(kind, *q) -> Pose:
    """Return the pose of the child in the parent."""
    return kind.transform(np.array(q, dtype=float)).pose()


def about(axis, angle) -> np.ndarray:
    return quaternion.rotation(quaternion.exp(angle * np.asarray(axis, dtype=float)))


def test_revolute_turns_the_child_about_its_axis():
    np.testing.assert_allclose(pose(Revolute("y"), 0.3).R, about((0, 1, 0), 0.3), atol=1e-15)
    np.testing.assert_allclose(pose(Revolute("-x"), 0.3).R, about((-1, 0, 0), 0.3), atol=1e-15)
    np.testing.assert_allclose(pose(Revolute((0, 3, 4)), 0.3).R, about((0, 0.6, 0.8), 0.3), atol=1e-15)
    np.testing.assert_array_equal(pose(Revolute("y"), 0.3).p, np.zeros(3))


def test_prismatic_moves_the_child_along_its_axis():
    np.testing.assert_allclose(pose(Prismatic((0, 3, 4)), 2.0).p, [0, 1.2, 1.6])
    np.testing.assert_array_equal(pose(Prismatic("x"), 2.0).R, np.eye(3))


def test_helical_advances_by_the_pitch_per_radian():
    placed = pose(Helical("z", pitch=0.1), 3.0)
    np.testing.assert_allclose(placed.p, [0, 0, 0.3])
    np.testing.assert_allclose(placed.R, about((0, 0, 1), 3.0), atol=1e-15)


@pytest.mark.parametrize("q", [-20.0, -3.0, 0.0, 1.0, 7.0, 100.0])
def test_helical_coordinates_count_whole_turns(q):
    kind = Helical("y", pitch=-0.02)
    assert kind.coordinates(kind.transform(np.array([q]))) == pytest.approx([q], abs=1e-12)


def test_helical_without_pitch_is_revolute():
    kind = Helical("y")
    np.testing.assert_array_equal(
        kind.transform(np.array([0.4])).R, Revolute("y").transform(np.array([0.4])).R
    )
    assert kind.coordinates(kind.transform(np.array([0.4]))) == pytest.approx([0.4])


def test_cylindrical_has_angle_then_displacement():
    placed = pose(Cylindrical("x"), 0.5, 2.0)
    np.testing.assert_allclose(placed.p, [2.0, 0, 0])
    np.testing.assert_allclose(placed.R, about((1, 0, 0), 0.5), atol=1e-15)


def test_universal_turns_about_the_first_axis_then_the_second():
    placed = pose(Universal("x", "y"), 0.5, -0.3)
    np.testing.assert_allclose(placed.R, about((1, 0, 0), 0.5) @ about((0, 1, 0), -0.3), atol=1e-15)


def test_universal_canonical_kind_holds_only_the_angle_between_the_axes():
    R, kind = Universal("x", (1.0, 1.0, 0.0)).canonical()
    assert kind.signature == ("Universal",)
    assert kind.params() == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)))
    np.testing.assert_allclose(R @ [0, 0, 1], [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(R @ kind.axis2, np.array([1, 1, 0]) / math.sqrt(2), atol=1e-15)
    other = Universal("z", "-x").canonical()
    np.testing.assert_allclose(other[0] @ other[1].axis2, [-1, 0, 0], atol=1e-15)


def test_spherical_holds_the_quaternion_and_the_childs_own_angular_velocity():
    kind = Spherical()
    q = quaternion.exp([0.1, -0.2, 0.3])
    placed = kind.transform(q).pose()
    np.testing.assert_allclose(placed.R, quaternion.rotation(q), atol=1e-15)
    w, h = np.array([0.5, -1.0, 2.0]), 1e-6
    moved = kind.transform(kind.integrate(q, w * h)).pose()
    np.testing.assert_allclose(moved.R, placed.R @ about(w * h, 1.0), atol=1e-15)


@pytest.mark.parametrize(
    ("normal", "e1", "e2"),
    [
        ("z", (1, 0, 0), (0, 1, 0)),
        ("x", (0, 1, 0), (0, 0, 1)),
        ("y", (0, 0, 1), (1, 0, 0)),
        ("-z", (1, 0, 0), (0, -1, 0)),
        ((1, 2, 2), (-2 / math.sqrt(45), -4 / math.sqrt(45), 5 / math.sqrt(45)), None),
    ],
)
def test_planar_moves_along_directions_fixed_to_the_parent(normal, e1, e2):
    kind = Planar(normal)
    if e2 is None:
        e2 = np.cross(kind.normal, e1)
    placed = pose(kind, 2.0, 3.0, 0.7)
    np.testing.assert_allclose(placed.p, 2.0 * np.array(e1) + 3.0 * np.array(e2), atol=1e-14)
    np.testing.assert_allclose(placed.R, about(kind.normal, 0.7), atol=1e-15)


def test_free_holds_position_and_quaternion_and_the_childs_own_twist():
    kind = Free()
    q = np.array([1.0, 2.0, 3.0, *quaternion.exp([0.1, -0.2, 0.3])])
    placed = kind.transform(q).pose()
    np.testing.assert_array_equal(placed.p, [1, 2, 3])
    np.testing.assert_allclose(placed.R, quaternion.rotation(q[3:]), atol=1e-15)
    rate = kind.rate(q, np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]))
    np.testing.assert_allclose(rate[:3], placed.R[:, 0], atol=1e-15)
    np.testing.assert_array_equal(rate[3:], np.zeros(4))


def test_sdof_composes_left_to_right_and_carries_the_child_with_all():
    placed = pose(Sdof("ry", "rz", "dx"), 0.3, 0.4, 2.0)
    R = about((0, 1, 0), 0.3) @ about((0, 0, 1), 0.4)
    np.testing.assert_allclose(placed.R, R, atol=1e-15)
    np.testing.assert_allclose(placed.p, 2.0 * R[:, 0], atol=1e-15)
    slid_first = pose(Sdof("dx", "ry", "rz"), 2.0, 0.3, 0.4)
    np.testing.assert_allclose(slid_first.p, [2, 0, 0])


def test_sdof_of_one_motion_is_the_simple_joint():
    for name, kind in (("ry", Revolute("y")), ("dz", Prismatic("z"))):
        q = np.array([0.6])
        np.testing.assert_array_equal(Sdof(name).transform(q).entries(), kind.transform(q).entries())
        np.testing.assert_array_equal(Sdof(name).motion_space(q).array, kind.motion_space(q).array)


def test_sdof_at_gimbal_lock_keeps_position_and_constraints():
    kind = Sdof("rz", "ry", "rx", "dx")
    q = np.array([0.3, math.pi / 2, 0.4, 0.5])
    X = kind.transform(q)
    found = kind.transform(kind.coordinates(X))
    np.testing.assert_allclose(found.motion_matrix(), X.motion_matrix(), atol=1e-12)
    S, C = kind.motion_space(q).array, kind.constraint_space(q).array
    assert np.linalg.matrix_rank(S, tol=1e-9) == 3
    np.testing.assert_allclose(S.T @ C, 0.0, atol=1e-14)
    np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-14)


@pytest.mark.parametrize("kind", [Revolute("x"), Prismatic("-z"), Cylindrical((1, 1, 1)), Helical("y", 0.3)])
def test_flip_of_an_axis_negates_it(kind):
    flipped = kind.flip()
    assert type(flipped) is type(kind)
    np.testing.assert_array_equal(flipped.axis, -np.array(kind.axis))
    assert flipped.flip() == kind


@pytest.mark.parametrize("kind", [Universal(), Spherical(), Planar("x"), Free(), Sdof("rx", "dy")])
def test_flip_of_the_others_wraps_and_unwraps(kind):
    assert kind.flip() == Flipped(kind)
    assert kind.flip().flip() is kind


def test_fixed_has_no_coordinates_and_flips_to_itself():
    kind = Fixed()
    assert (kind.nq, kind.nv) == (0, 0)
    assert kind.flip() is kind
    assert kind.coordinates(Transform.identity()).shape == (0,)


@pytest.mark.parametrize("kind", [Revolute, Prismatic, Cylindrical, Planar, Helical])
def test_canonical_kinds_share_one_signature(kind):
    for axis in ("x", "-y", "z", (1.0, -2.0, 0.5)):
        R, simple = kind(axis).canonical()
        assert simple.signature == (kind.__name__,)
        direction = kind(axis).normal if kind is Planar else kind(axis).axis
        np.testing.assert_allclose(R[:, 2], direction, atol=1e-15)
        np.testing.assert_allclose(R[:, 0], perpendicular(direction)[0], atol=1e-15)


def test_equal_descriptions_are_equal_kinds():
    assert Revolute("z") == Revolute((0, 0, 2)) == Revolute(np.array([0.0, 0.0, 1.0]))
    assert hash(Revolute("z")) == hash(Revolute((0, 0, 2)))
    assert Revolute("z") != Revolute("x")
    assert Sdof("rx", "dy") != Sdof("dy", "rx")
    tilted = Revolute((1.0, 2.0, 3.0))
    assert Revolute(tilted.axis) == tilted


def test_parameters_are_data():
    kind = Helical("z", 0.2)
    assert kind.params() == (0.2,)
    assert kind.with_params([0.5]) == Helical("z", 0.5)
    with pytest.raises(ModelError, match="Revolute has no parameters, but 1 were given"):
        Revolute().with_params([1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sdof(), "Sdof: no motion was given; name one or more of rx ry rz dx dy dz, or use Fixed"),
        (
            lambda: Sdof("rz", "dz", "rz"),
            "Sdof: of the 3 motions rz dz rz some are the same wherever the joint stands",
        ),
        (lambda: Sdof("dx", "dx"), "Sdof: of the 2 motions dx dx some are the same"),
        (
            lambda: Sdof("rx", ("rz", math.pi / 2), "ry"),
            r"Sdof: of the 2 motions rx \(rz 1.5708\) ry some are the same",
        ),
        (lambda: Sdof("rx", "ry", "rz", "rx"), "Sdof: of the 4 motions rx ry rz rx some are the same"),
        (lambda: Sdof(("rz", 0.5)), "Sdof: no motion was given"),
        (
            lambda: Sdof("rx", ("rz", math.inf)),
            "Sdof: the value of rz, which stands still, = inf is not finite",
        ),
        (lambda: Sdof("rx", ("rw", 0.5)), "Sdof: motion .* is not known; .* or a pair such as"),
        (lambda: Sdof("rw"), "Sdof: motion 'rw' is not known; use rx, ry, rz, dx, dy or dz"),
        (lambda: Universal("x", "-x"), "Universal: the axes .* are parallel; give two different directions"),
        (lambda: Universal("x", (0, 0, 0)), r"Universal \(second axis\): axis \(0, 0, 0\) has no direction"),
        (lambda: Helical("x", math.nan), "Helical: pitch = nan is not finite; give a finite number"),
        (lambda: Helical("x", "steep"), "Helical: pitch = 'steep' is no real number"),
        (lambda: Planar("w"), "Planar: axis 'w' is not known"),
    ],
)
def test_bad_descriptions_are_refused_with_a_reason(make, message):
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize("kind", [Spherical(), Free(), Spherical().flip()], ids=repr)
def test_quaternions_that_are_not_of_unit_length_are_refused(kind):
    q = np.stack([kind.neutral()] * 3)
    kind.check(q, "hip")
    q[1] *= 1.0 + 5e-7
    kind.check(q, "hip")
    q[1] *= 2.0
    with pytest.raises(StateError, match="joint 'hip': the quaternion .* has length 2.00000.*normalise it"):
        kind.check(q, "hip")
    q[1] = 0.0
    with pytest.raises(StateError, match="has length 0; it must have length 1"):
        kind.check(q)


def test_positions_of_wrong_shape_or_not_finite_are_refused():
    with pytest.raises(StateError, match=r"joint 'knee': q has shape \(2,\); its last dimension must be 1"):
        Revolute().check(np.zeros(2), "knee")
    with pytest.raises(StateError, match="Revolute: q has an entry that is not finite"):
        Revolute().check(np.array([[0.0], [np.nan]]))
