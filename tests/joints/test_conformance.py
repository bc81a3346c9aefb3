"""Every kind keeps the joint contract, and a kind that breaks it is told how."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from catena.joints import (
    KINDS,
    Flipped,
    JointKind,
    Planar,
    Reduced,
    Revolute,
    Sdof,
    Spherical,
    Universal,
    WithRotor,
    check_joint_kind,
    described,
)
from catena.joints.modal import Modal
from catena.joints.station import Station
from catena.spatial import ForceSpace, Motion, MotionSpace, Transform

MOTIONS = ("rx", "ry", "rz", "dx", "dy", "dz")

SUBSETS = [
    *((motion,) for motion in MOTIONS),
    *itertools.permutations(("rx", "ry", "rz")),
    ("rz", "rx"),
    ("dz", "dx"),
    ("dx", "rz", "dy"),
    ("rx", "dz", "ry"),
    ("dy", "dx", "dz", "rz"),
    ("rz", "dz", "ry", "dx", "rx"),
    MOTIONS,
    ("dz", "rx", "dy", "rz", "dx", "ry"),
]


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_built_in_kind_keeps_the_contract(kind):
    check_joint_kind(kind)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_built_in_kind_seen_from_the_child_keeps_the_contract(kind):
    check_joint_kind(kind.flip(), seed=1)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_the_general_flip_keeps_the_contract_and_equals_the_closed_form(kind):
    general, closed = Flipped(kind), kind.flip()
    check_joint_kind(general, seed=2)
    q = kind.integrate(kind.neutral(), np.linspace(0.3, -0.4, kind.nv))
    np.testing.assert_allclose(general.motion_space(q).array, closed.motion_space(q).array, atol=1e-14)


@pytest.mark.parametrize("motions", SUBSETS, ids="-".join)
def test_sdof_of_any_ordered_subset_keeps_the_contract(motions):
    check_joint_kind(Sdof(*motions), seed=3)


@pytest.mark.parametrize("motions", [("ry", "rz", "dx"), MOTIONS], ids="-".join)
def test_flipped_sdof_keeps_the_contract(motions):
    check_joint_kind(Sdof(*motions).flip(), seed=4)


def test_every_built_in_kind_has_an_example():
    known = {type(kind) for kind in KINDS}
    built_in = {c for c in JointKind.__subclasses__() if c.__module__.startswith("catena.joints.")}
    assert built_in - {Flipped, Modal, Reduced, Station, WithRotor} == known


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.nv], ids=repr)
def test_a_kind_with_rotors_is_a_kind_that_moves_as_the_plain_one(kind):
    geared = WithRotor(kind, tuple(0.1 * (k + 1) for k in range(kind.nv)))
    check_joint_kind(geared)
    assert kind.rotor is None and geared.rotor.tolist() == list(geared.armature)
    again = geared.with_params([2.0 * x for x in geared.params()])
    assert again.armature == tuple(2.0 * x for x in geared.armature)
    flipped = geared.flip()
    assert isinstance(flipped, WithRotor) and flipped.armature == geared.armature
    assert described(WithRotor(kind.flip(), geared.armature)) == described(kind.flip())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.nv < 6], ids=repr)
def test_a_reduced_kind_moves_as_the_whole_one_and_keeps_a_part_of_what_it_resists(kind):
    rng = np.random.default_rng(7)
    kind = kind.canonical()[1]  # as plans have it
    whole = kind.constraint_space(kind.neutral()).n
    for k in range(whole + 1):
        kept = rng.normal(size=(whole, k))
        reduced = Reduced(kind, tuple(map(tuple, kept.tolist())), k)
        again = reduced.with_params(reduced.params())
        np.testing.assert_allclose(again.params(), reduced.params(), atol=1e-15)
        assert again.signature == reduced.signature and reduced.signature[:2] == ("Reduced", k)
        q, v = kind.integrate(kind.neutral(), rng.uniform(-1, 1, kind.nv)), rng.uniform(-1, 1, kind.nv)
        space = reduced.constraint_space(q).array
        np.testing.assert_allclose(space, kind.constraint_space(q).array @ kept, atol=1e-15)
        np.testing.assert_array_equal(reduced.motion_space(q).array, kind.motion_space(q).array)
        np.testing.assert_array_equal(reduced.bias(q, v).array, kind.bias(q, v).array)
        X = reduced.transform(q)
        found = reduced.transform(reduced.coordinates(X))
        np.testing.assert_allclose([*found.entries()], [*X.entries()], atol=1e-9)
        assert (reduced.has_constant_constraint_space, reduced.has_constant_motion_space) == (
            kind.has_constant_constraint_space,
            kind.has_constant_motion_space,
        )


def test_closed_derivatives_equal_the_derived_ones():
    """The defaults of the contract are exact, so closed forms must agree with them to rounding."""
    rng = np.random.default_rng(5)
    for kind in KINDS:
        q = kind.integrate(kind.neutral(), rng.uniform(-1, 1, kind.nv))
        v = rng.uniform(-1, 1, kind.nv)
        derived = JointKind.motion_space(kind, q).array
        np.testing.assert_allclose(derived, kind.motion_space(q).array, atol=1e-13, err_msg=repr(kind))
        derived = JointKind.bias(kind, q, v).array
        np.testing.assert_allclose(derived, kind.bias(q, v).array, atol=1e-13, err_msg=repr(kind))


@dataclass(frozen=True)
class WrongMotionSpace(Revolute):
    def motion_space(self, q):
        return MotionSpace(np.array([[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]]).T)


@dataclass(frozen=True)
class WrongBias(Universal):
    def bias(self, q, v):
        return Motion.zero()


@dataclass(frozen=True)
class WrongConstraintSpace(Revolute):
    def constraint_space(self, q):
        return ForceSpace(np.eye(6)[:, :5])


@dataclass(frozen=True)
class DeficientConstraintSpace(Revolute):
    def constraint_space(self, q):
        return ForceSpace(np.eye(6)[:, [0, 1, 3, 4, 4]])


@dataclass(frozen=True)
class WrongRate(Spherical):
    def rate(self, q, v):
        return super().rate(q, v) * 2.0


@dataclass(frozen=True)
class WrongDifference(Revolute):
    def difference(self, q0, q1):
        return q0 - q1


@dataclass(frozen=True)
class WrongCoordinates(Planar):
    def coordinates(self, X):
        return -super().coordinates(X)


@dataclass(frozen=True)
class WrongFlip(Spherical):
    def flip(self):
        return self


@dataclass(frozen=True)
class WrongCanonical(Revolute):
    def canonical(self):
        return np.eye(3), Revolute("z")


@dataclass(frozen=True)
class WrongNeutral(Revolute):
    def neutral(self):
        return np.array([0.1])


@dataclass(frozen=True)
class NumbersOnly(Revolute):
    def transform(self, q):
        angle = float(q[0]) if isinstance(q[0], float) else 0.0
        return Transform.rotation_z(angle)


@dataclass(frozen=True)
class WrongShape(Revolute):
    def motion_space(self, q):
        return MotionSpace.zero(2)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (WrongMotionSpace(), "column 0 of motion_space is not the derivative of transform"),
        (WrongBias("x", "y"), "bias is not the rate of motion_space times v"),
        (WrongConstraintSpace(), r"motion_space\^T constraint_space is not zero"),
        (DeficientConstraintSpace(), "together have rank 5, not 6"),
        (WrongRate(), "rate is not the derivative of integrate"),
        (WrongDifference(), r"difference\(q, integrate\(q, v\)\) is not v"),
        (WrongCoordinates(), r"transform\(coordinates\(X\)\) is not X"),
        (WrongFlip(), r"flip\(\) has not the inverse transform"),
        (WrongCanonical("x"), r"canonical\(\) has another transform"),
        (WrongNeutral(), r"transform\(neutral\(\)\) is not the identity"),
        (NumbersOnly(), "transform of symbols differs from transform of numbers"),
        (WrongShape(), r"motion_space has shape \(6, 2\), not \(6, 1\)"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, JointKind) else "",
)
def test_a_kind_that_breaks_the_contract_is_told_how(kind, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_joint_kind(kind)
