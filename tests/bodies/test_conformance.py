"""The contract of flexible bodies, which every kind keeps, and what is said where one does not."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

import catena as ct
from benchmarks.blocks import bar
from catena.bodies import FlexibleBody, Particles, Points, Shapes, check_flexible_body, few_points

SLENDER = {"length": 1.0, "area": 1e-4, "inertia": 1e-9, "density": 2700.0, "young": 7e10}
ANGLE = {"a": (0.0, 0.0, 0.0), "b": (1.0, 0.0, 0.0), "c": (1.0, 0.6, 0.0)}
MEMBER = {"area": 1e-4, "inertia": (1e-9, 2e-9), "density": 2700.0, "young": 7e10, "torsion": 30.0}


@dataclass(frozen=True)
class Dumbbell(FlexibleBody):
    """Two balls of equal mass on a rod without mass that stretches: one mode, in which they part."""

    mass: float
    length: float
    pull: float

    @property
    def frequencies(self):
        return np.sqrt(self.stiffness / (0.5 * self.mass))

    @property
    def stiffness(self):
        return np.array([self.pull])

    @property
    def damping(self):
        return np.zeros(1)

    @cached_property
    def _points(self):
        s = np.array([[0.0, 0.0, 0.0], [self.length, 0.0, 0.0]])
        S = np.array([[[-0.5], [0.0], [0.0]], [[0.5], [0.0], [0.0]]])
        return Points(self.mass, s, S, np.zeros((2, 3, 1, 1)))

    def points(self):
        return self._points

    @property
    def turning_inertia(self):
        return np.diag([1e-3 * self.mass * self.length**2] * 3)

    def shapes(self, p):
        S = np.array([[p[0] / self.length - 0.5], [0.0], [0.0]])
        return Shapes(S, np.zeros((3, 1)), np.zeros((3, 1, 1)))

    def reach(self):
        return self.length

    def outline(self, count=33):
        return [np.linspace([0.0, 0.0, 0.0], [self.length, 0.0, 0.0], count)]


def blocks():
    M, K, nodes, root, tip = bar(3, (0.1, 0.02, 0.03), 2e9, 0.3, 1200.0)
    return ct.FiniteElements(M, K, nodes, {"near": root, "far": tip}, modes=1)


KINDS = {
    "cantilever": lambda: ct.Beam(**SLENDER, modes={"y": 2, "z": 1}, damping=0.01),
    "all directions": lambda: ct.Beam(
        **SLENDER, modes={"y": 1, "z": 1, "x": 1, "rx": 1}, torsion=50.0, rotary=True
    ),
    "timoshenko": lambda: ct.Beam(**SLENDER, modes={"y": 2}, shear=1e6),
    "free": lambda: ct.Beam(**SLENDER, modes={"y": 3}, ends="free-free"),
    "pinned": lambda: ct.Beam(**SLENDER, modes=2, ends="pinned-pinned"),
    "held at its far end": lambda: ct.Beam(**SLENDER, modes={"y": 2}, ends="free-clamped"),
    "stations": lambda: ct.Beam(
        1.0, (1e-4, 5e-5, 3e-5), (1e-9, 5e-10, 3e-10), 2700.0, 7e10, modes={"y": 2}, stations=(0.4, 0.8)
    ),
    "interface": lambda: ct.Beam(**SLENDER, modes={"y": 4}, interface=True),
    "many": lambda: ct.Beam(**SLENDER, modes=8),
    "frame": lambda: ct.BeamFrame(
        ANGLE, [ct.Member("a", "b", **MEMBER), ct.Member("b", "c", **MEMBER)], interfaces=["a", "c"], modes=2
    ),
    "blocks": blocks,
    "one's own": lambda: Dumbbell(1.0, 0.5, 300.0),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_keeps_the_contract(name):
    check_flexible_body(KINDS[name]())


def test_a_kind_of_ones_own_swings_as_it_must():
    m = ct.Mechanism("dumbbell", gravity=(0.0, 0.0, 0.0))
    m.add_body("bell", flexible=Dumbbell(1.5, 0.5, 300.0))
    m.add_joint("fly", "ground", "bell", ct.Free())
    s = m.system()
    assert s.modes(s.neutral()).frequencies[-1] == pytest.approx(np.sqrt(2.0 * 300.0 / 1.5), rel=1e-9)


class Wrong(Dumbbell):
    """A dumbbell with something changed."""

    def __init__(self, **changes):
        super().__init__(1.0, 0.5, 300.0)
        object.__setattr__(self, "changes", changes)

    def points(self):
        return replace(self._points, **self.changes.get("points", {}))

    @property
    def stiffness(self):
        return np.array(self.changes.get("stiffness", [300.0]))

    @property
    def frequencies(self):
        return np.array(self.changes.get("frequencies", [np.sqrt(600.0)]))

    def shapes(self, p):
        return replace(super().shapes(p), **self.changes.get("shapes", {}))

    @property
    def hardening(self):
        return self.changes.get("hardening", {})

    def particles(self):
        s = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
        S = self._points.S
        return Particles(np.array(self.changes.get("particles", [1.0, 1.0])), s, S, np.zeros((2, 3, 1, 1)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stiffness": [-1.0]}, "stiffness are"),
        ({"frequencies": [1.0, 2.0]}, "frequencies has shape"),
        ({"frequencies": [20.0]}, "stiffness and inertia of points"),
        ({"points": {"S": np.zeros((2, 3, 1))}}, "mode 1 moves no mass"),
        ({"points": {"S": np.array([[[0.5], [0], [0]], [[0.5], [0], [0]]])}}, "as a rigid body does"),
        ({"points": {"mass": 0.0}}, "some with mass are needed"),
        ({"points": {"B": np.zeros((2, 3, 1))}}, "B of points"),
        ({"particles": [1.0, 1.1]}, "do not weigh what particles"),
        ({"hardening": {(0, 0, 0, 1): 1.0}}, "names no product"),
        ({"shapes": {"S": np.zeros((3, 2))}}, "S of shapes"),
        ({"shapes": {"R": np.full((3, 1), np.nan)}}, "not finite"),
    ],
)
def test_what_does_not_keep_it_is_told(changes, words):
    check_flexible_body(Wrong())
    with pytest.raises(AssertionError, match=words):
        check_flexible_body(Wrong(**changes))


def test_points_of_few_modes_have_the_inertia_of_shortening():
    """The kinetic energy of a beam that bends, along its axis too, against that of all its particles."""
    beam = ct.Beam(**SLENDER, modes={"y": 1}, ends="free-free")
    some, points = beam.particles(), beam.points()
    own = [np.einsum("n,nab,ncd->abcd", w, b[:, 0], b[:, 0])[0, 0, 0, 0] for w, b in (
        (some.mass, some.B), (np.full(len(points.s), points.mass), points.B)
    )]  # fmt: skip
    assert own[1] == pytest.approx(own[0], rel=1e-3)
    without = few_points(some)
    left_out = without.mass * np.sum(without.B[:, 0, 0, 0] ** 2)
    assert left_out < 0.99 * own[0]


def test_points_keep_the_moments_of_the_displacement_of_fourth_order():
    beam = ct.Beam(**SLENDER, modes={"y": 2, "z": 1})
    some, points = beam.particles(), beam.points()
    assert np.count_nonzero(np.any(points.F != 0.0, axis=(1, 2))) == 2
    for power in (0, 1):
        expected = np.einsum("n,nip->ip", some.mass * some.s[:, 0] ** power, some.F)
        found = points.mass * np.einsum("n,nip->ip", points.s[:, 0] ** power, points.F)
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
