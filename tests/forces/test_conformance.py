"""Every kind of force keeps the contract, and the check finds those that do not."""

from dataclasses import dataclass

import numpy as np
import pytest

from catena.forces import KINDS, AtJoint, FrameForce, JointForce, Relative, Table, check_force_kind
from catena.forces.line import LineOfAction
from catena.joints import Planar, Revolute
from catena.spatial import Force
from catena.spatial.scalars import array


def named(kind):
    return type(kind).__name__


@pytest.mark.parametrize("kind", KINDS, ids=named)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_kind_keeps_the_contract(kind, seed):
    check_force_kind(kind, seed=seed)


@dataclass(frozen=True)
class Rope(FrameForce):
    """A spring between points that the following spoil."""

    stiffness: float

    stores = True
    spends = False

    def load(self, at):
        line = LineOfAction.between(at)
        return line.pull(self.stiffness * line.length)

    def energy(self, at):
        length = LineOfAction.between(at).length
        return 0.5 * self.stiffness * length * length


class TwiceTheEnergy(Rope):
    def energy(self, at):
        return 2.0 * super().energy(at)


class EnergyThatIsNotSaid(Rope):
    stores = False


class Pushes(Rope):
    """Against a damper: it gives."""

    stores = False

    def load(self, at):
        return Force(self.stiffness * at.v.array)

    def energy(self, at):
        return 0.0


class DampedInSecret(Rope):
    def load(self, at):
        return super().load(at) - Force(0.1 * at.v.array)


class LoadAsArray(Rope):
    def load(self, at):
        return super().load(at).array


class OutputThatIsNoNumber(Rope):
    def outputs(self, at):
        return {"span": at.span}


class ForgetsParameters(Rope):
    def with_params(self, params):
        return ForgetsParameters(1.0)


class CodeFromParameters(Rope):
    @property
    def signature(self):
        return ("CodeFromParameters", self.stiffness)


class WrongForSymbols(Rope):
    def load(self, at):
        if isinstance(self.stiffness, float):
            return super().load(at)
        return super().load(at) * 2.0


@dataclass(frozen=True)
class OneTooMany(JointForce):
    """A joint force of the wrong size."""

    def load(self, at):
        return np.zeros(at.joint.nv + 1)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (TwiceTheEnergy(3.0), "not what the energy loses"),
        (EnergyThatIsNotSaid(3.0), "say `stores = True`"),
        (Pushes(3.0), "its dampers give energy"),
        (DampedInSecret(3.0), "it says that it spends nothing"),
        (LoadAsArray(3.0), "load gives a ndarray, not a Force"),
        (OutputThatIsNoNumber(3.0), "the output 'span' has shape"),
        (ForgetsParameters(3.0), "has other parameters"),
        (CodeFromParameters(3.0), "other parameters change the signature"),
        (WrongForSymbols(3.0), "load of symbols differs from load of numbers"),
        (OneTooMany(), "load has shape"),
        ("a string", "is no FrameForce and no JointForce"),
    ],
    ids=lambda x: named(x) if not isinstance(x, str) else "",
)
def test_the_check_finds_what_is_wrong(wrong, complaint):
    check_force_kind(Rope(3.0))
    with pytest.raises(AssertionError, match=complaint):
        check_force_kind(wrong)


@dataclass(frozen=True)
class Magnet(JointForce):
    """A force at the second component of a planar joint, with an input from outside."""

    gain: float

    inputs = 1
    source = "wrenches"

    def load(self, at: AtJoint):
        return array([0.0, self.gain * at.inputs[0], 0.0])


def test_a_force_of_ones_own_is_checked_at_the_joint_it_is_made_for():
    check_force_kind(Magnet(2.0), joint=Planar("z"))
    with pytest.raises(AssertionError, match=r"load has shape \(3,\), not \(1,\)"):
        check_force_kind(Magnet(2.0), joint=Revolute("z"))


@dataclass(frozen=True)
class Several(JointForce):
    """A pull on so many components of a joint, with one that is looked at."""

    gain: float
    count: tuple[int, ...] = (1,)
    looked_at: tuple[int, ...] = (0,)

    source = "wrenches"

    def load(self, at: AtJoint):
        return array([self.gain * at.v[self.looked_at[0]]] * len(self.count))


@dataclass(frozen=True)
class Forgetful(JointForce):
    """A force for any joint that has too few numbers at joints with many freedoms."""

    gain: float
    source = "wrenches"

    def load(self, at: AtJoint):
        return array([self.gain] * min(at.joint.nv, 3))


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_a_force_for_joints_of_some_freedoms_is_tried_at_those(count):
    """Nobody has to say which joint, and those with other freedoms do not count against it."""
    check_force_kind(Several(2.0, (0,) * count, (count - 1,)))


def test_a_force_that_fits_no_usual_joint_asks_for_the_joint():
    with pytest.raises(AssertionError, match=r"its load has 4 entries at every usual joint.*joint=\.\.\."):
        check_force_kind(Several(2.0, (0,) * 4))
    with pytest.raises(AssertionError, match=r"load has shape \(3,\), not \(6,\)"):
        check_force_kind(Forgetful(2.0))


def test_parameters_are_told_by_annotations():
    @dataclass(frozen=True)
    class Mixed(FrameForce):
        stiffness: float
        gains: tuple[float, ...]
        table: Table
        sides: int = 2
        damping: float | None = None
        way: str = "up"

        def load(self, at: Relative):
            return Force.zero()

    kind = Mixed(3.0, (1.0, 2.0), Table((0.0, 1.0), (5.0, 7.0)))
    assert kind.params()[:5] == (3.0, 1.0, 2.0, 0.0, 1.0)
    changed = kind.with_params([2.0 * p for p in kind.params()])
    assert (changed.stiffness, changed.gains, changed.table.y) == (6.0, (2.0, 4.0), (10.0, 14.0))
    assert changed.signature == kind.signature and changed.sides == 2
    for other in (
        Mixed(3.0, (1.0,), kind.table), Mixed(3.0, kind.gains, kind.table, sides=3),
        Mixed(3.0, kind.gains, kind.table, damping=1.0), Mixed(3.0, kind.gains, kind.table, way="down"),
        Mixed(3.0, kind.gains, Table((0.0, 1.0), (5.0, 7.0), smooth=True)),
    ):  # fmt: skip
        assert other.signature != kind.signature
