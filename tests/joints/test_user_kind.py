"""A kind of joint written outside the package, with nothing but nq, nv and transform."""

import math
import warnings
from dataclasses import dataclass

import casadi
import numpy as np
import pytest

import catena as ct
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


@dataclass(frozen=True)
class Waves(JointKind):
    """A carriage on a wavy rail, written with NumPy's sine."""

    height: float = 0.1
    nq = 1
    nv = 1

    def transform(self, q):
        return Transform(np.eye(3), array([q[0], 0.0, self.height * np.sin(q[0])]))


@dataclass(frozen=True)
class Kinked(Waves):
    """One on a rail that rises on one side only, written with a branch."""

    def transform(self, q):
        return Transform(np.eye(3), array([q[0], 0.0, self.height * q[0] if q[0] > 0.0 else 0.0]))


@dataclass(frozen=True)
class Clipped(Waves):
    """One whose ends are level, written with a method that NumPy's numbers have."""

    def transform(self, q):
        return Transform(np.eye(3), array([q[0], 0.0, self.height * q[0].clip(-1.0, 1.0)]))


CALLS = {
    "check": lambda s, kind: check_joint_kind(kind),
    "forward dynamics": lambda s, kind: s.forward_dynamics([0.1], [0.2], [0.3]),
    "mass matrix of a batch": lambda s, kind: s.mass_matrix([[0.1], [0.2]]),
    "jacobian": lambda s, kind: s.jacobian([0.1], "car"),
    "equations": lambda s, kind: s.equations("inverse_dynamics"),
    "a run": lambda s, kind: ct.simulate(s, [0.1], [0.0], 0.01),
}


def on_rail(kind):
    m = ct.Mechanism("rail")
    m.add_body("car", mass=1.0, inertia=0.1)
    m.add_joint("rail", "ground", "car", kind)
    return m.system()


@pytest.mark.parametrize("call", CALLS)
def test_numpys_functions_of_symbols_are_taken_without_a_word(call):
    """CasADi announces that they will work another way some day."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call](on_rail(Waves()), Waves())


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kinked(), "Kinked.* has a branch that depends on the state.*`where`"),
        (Clipped(), "Clipped.* has a formula that does not work on symbols"),
    ],
)
def test_a_formula_that_does_not_work_on_symbols_is_told_in_words(call, kind, words):
    with pytest.raises(ct.CatenaError, match=words):
        CALLS[call](on_rail(kind), kind)
