"""A kind of joint written outside the package, with nothing but nq, nv and transform."""

import math
from dataclasses import dataclass

import casadi
import numpy as np
import pytest

from catena.joints import Flipped, JointKind, check_joint_kind
from catena.spatial import Transform, array
from catena.spatial.scalars import cos, sin


@dataclass(frozen=True)
class Cam(JointKind):
    """A follower that turns by q while its origin runs twice as fast along a circle."""

    radius: float = 0.3
    nq = 1
    nv = 1

    def transform(self, q):
        p = [self.radius * (cos(2.0 * q[0]) - 1.0), self.radius * sin(2.0 * q[0]), 0.1 * q[0] * q[0]]
        return Transform(Transform.rotation_z(q[0]).R, array(p))


@dataclass(frozen=True)
class Wobble(JointKind):
    """Two coordinates that mix: the second axis leans by the square of the first angle."""

    nq = 2
    nv = 2

    def transform(self, q):
        lean = Transform.rotation_x(q[0] * q[0])
        slide = Transform.translation(array([q[1], 0.0, q[0] * q[1]]))
        return slide * lean * Transform.rotation_y(q[0]) * Transform.rotation_z(q[1])


@dataclass(frozen=True)
class AdjustableCam(Cam):
    """A cam whose radius is data, so that all of them share one compiled kernel."""

    def params(self):
        return (self.radius,)

    def with_params(self, params):
        return AdjustableCam(params[0])


class Plain(JointKind):
    """Not a dataclass, and no parameters."""

    nq = 1
    nv = 1

    def transform(self, q):
        return Transform.rotation_y(q[0])


@pytest.mark.parametrize(
    "kind", [Cam(), Cam(0.7), Wobble(), AdjustableCam(), Plain()], ids=lambda k: type(k).__name__
)
def test_user_kind_keeps_the_contract_and_so_does_its_flip(kind):
    check_joint_kind(kind)
    check_joint_kind(kind.flip(), seed=1)


def test_motion_space_and_bias_of_the_cam_by_hand():
    kind, q, v = Cam(0.3), 0.4, 1.7
    S = kind.motion_space(np.array([q])).array[:, 0]
    velocity = np.array([-0.6 * math.sin(2 * q), 0.6 * math.cos(2 * q), 0.2 * q])
    R = Transform.rotation_z(q).R
    np.testing.assert_allclose(S, [0, 0, 1, *(R @ velocity)], atol=1e-15)
    acceleration = np.array([-1.2 * math.cos(2 * q), -1.2 * math.sin(2 * q), 0.2])
    turning = np.cross([0, 0, 1], velocity)
    expected = R @ (acceleration - turning) * v * v
    np.testing.assert_allclose(
        kind.bias(np.array([q]), np.array([v])).array, [0, 0, 0, *expected], atol=1e-14
    )


def test_derived_motion_space_of_symbols_keeps_exact_zeros_and_ones():
    q = casadi.SX.sym("q", 1)
    S = Cam().motion_space(array([q[0]]))
    assert S.entries()[:3] == [0.0, 0.0, 1.0]


def test_coordinates_are_found_from_far_away():
    kind = Wobble()
    X = kind.transform(np.array([1.1, -0.8]))
    found = kind.transform(kind.coordinates(X))
    np.testing.assert_allclose(found.motion_matrix(), X.motion_matrix(), atol=1e-9)


def test_coordinates_of_an_unreachable_placement_come_near():
    kind = Cam(0.3)
    X = kind.transform(np.array([0.5]))
    pushed = Transform(X.R, X.p + [0.0, 0.0, 1e-3])
    assert kind.coordinates(pushed) == pytest.approx([0.5], abs=2e-3)


def test_signature_tells_instances_apart_unless_their_numbers_are_params():
    assert Cam(0.3).signature == Cam(0.3).signature
    assert Cam(0.3).signature != Cam(0.4).signature
    assert AdjustableCam(0.3).signature == AdjustableCam(0.4).signature
    assert Flipped(Cam()).signature != Cam().signature
    assert Cam().signature[0].endswith("test_user_kind.Cam")


def test_a_kind_with_more_coordinates_than_freedoms_must_say_how_they_move():
    class Incomplete(JointKind):
        nq = 2
        nv = 1

        def transform(self, q):
            return Transform.rotation_z(q[0])

    for call in (
        lambda k: k.rate(np.zeros(2), np.zeros(1)),
        lambda k: k.integrate(np.zeros(2), np.zeros(1)),
        lambda k: k.difference(np.zeros(2), np.zeros(2)),
    ):
        with pytest.raises(NotImplementedError, match="Incomplete has nq = 2 and nv = 1, so it must define"):
            call(Incomplete())


def test_a_kind_without_a_transform_cannot_be_made():
    class Nothing(JointKind):
        nq = 1
        nv = 1

    with pytest.raises(TypeError, match="transform"):
        Nothing()
