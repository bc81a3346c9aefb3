"""Kinds of forces against formulas, and what they refuse."""

import re

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from catena.errors import CatenaError
from catena.forces import (
    AppliedWrench,
    AtJoint,
    Bushing,
    Cable,
    ConstantWrench,
    Drag,
    GasSpring,
    JointSpring,
    JointStop,
    PointSpring,
    Relative,
    Table,
    TabledJointSpring,
    TabledPointSpring,
)
from catena.forces.smooth import ONSET_DEPTH
from catena.joints import Planar, Revolute, Spherical
from catena.spatial import Motion, Transform, exp

TURNED = exp(Motion([0.3, -0.5, 0.8, 0.0, 0.0, 0.0])).R


def apart(length, rate=0.0):
    """Frame b at a distance along a direction, moving along it, with other axes than frame a."""
    direction = np.array([2.0, -1.0, 2.0]) / 3.0
    return Relative(
        Transform(TURNED, length * direction), Motion([0, 0, 0, *(TURNED @ (rate * direction))])
    ), direction


def tension(kind, length, rate=0.0):
    """The pull of a force along the line, which is all of it."""
    at, direction = apart(length, rate)
    load = kind.load(at)
    np.testing.assert_allclose(load.angular, 0.0, atol=1e-15)
    pull = -load.linear @ TURNED @ direction
    np.testing.assert_allclose(load.linear, -pull * (TURNED @ direction), atol=1e-12 * (1 + abs(pull)))
    return pull


def test_a_spring_pulls_along_the_line_and_does_nothing_where_there_is_none():
    kind = PointSpring(10.0, 0.4, 3.0)
    assert tension(kind, 1.0, 0.5) == pytest.approx(6.0 + 1.5)
    assert tension(kind, 0.1) == pytest.approx(-3.0)
    nowhere = Relative(Transform.identity(), Motion(np.ones(6)))
    np.testing.assert_array_equal(kind.load(nowhere).array, np.zeros(6))
    assert kind.outputs(apart(1.0, 0.5)[0]) == pytest.approx({"length": 1.0, "rate": 0.5, "tension": 7.5})


def test_a_cable_is_slack_or_pulls():
    kind = Cable(100.0, 0.5, 20.0)
    assert tension(kind, 0.4, 3.0) == 0.0
    assert tension(kind, 0.6, 0.1) == pytest.approx(10.0 + 2.0)
    assert tension(kind, 0.6, -5.0) == 0.0
    assert 0.0 < tension(kind, 0.5 + 0.5 * ONSET_DEPTH, 1.0) < 20.0
    assert kind.energy(apart(0.4)[0]) == 0.0
    assert kind.energy(apart(0.7)[0]) == pytest.approx(2.0)


@pytest.mark.parametrize("exponent", [1.0, 1.4])
def test_a_gas_spring_follows_the_polytrope(exponent):
    kind = GasSpring(300.0, 0.5, 0.2, exponent, outside=40.0, damping=7.0)
    assert tension(kind, 0.5) == pytest.approx(-260.0)
    assert tension(kind, 0.4, 2.0) == pytest.approx(40.0 - 300.0 * 2.0**exponent + 14.0)
    bottomed = [tension(kind, x) for x in (0.2, 0.3, 0.3002)]
    assert bottomed[0] == bottomed[1] == pytest.approx(40.0 - 300.0 * 1e3**exponent)
    assert bottomed[2] == pytest.approx(bottomed[0], rel=1e-6)


def test_drag_is_against_the_motion():
    kind = Drag(2.0, 3.0, 0.5, 0.25)
    load = kind.load(Relative(Transform.identity(), Motion([0.0, 2.0, 0.0, 0.0, 0.0, -4.0])))
    np.testing.assert_allclose(load.array, [0, -(0.5 + 0.5) * 2.0, 0, 0, 0, (2.0 + 12.0) * 4.0])


def test_a_bushing_is_its_matrix_for_small_motions_and_keeps_its_energy_for_large_ones():
    random = np.random.default_rng(0)
    root = random.normal(size=(6, 6))
    K, C = root @ root.T, np.diag(np.arange(1.0, 7.0))
    kind = Bushing(K, np.arange(1.0, 7.0))
    d, v = 1e-7 * random.normal(size=6), random.normal(size=6)
    small = Relative(exp(Motion(d)), Motion(v))
    np.testing.assert_allclose(kind.load(small).array, -K @ d - C @ v, atol=1e-12)
    far = Relative(exp(Motion([0.6, 1.2, -0.9, 1.0, 2.0, 3.0])), Motion(np.zeros(6)))
    x = np.array([0.6, 1.2, -0.9, 1.0, 2.0, 3.0])
    assert kind.energy(far) == pytest.approx(0.5 * x @ K @ x)


@pytest.mark.parametrize("axes", [np.eye(3), TURNED])
def test_wrenches_are_in_the_axes_of_frame_a(axes):
    moment, force = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    at = Relative(Transform(axes, np.ones(3)), Motion(np.ones(6)), np.array([1.0, 2, 3, 4, 5, 6]))
    expected = np.concatenate([axes @ moment, axes @ force])
    np.testing.assert_allclose(ConstantWrench(tuple(moment), tuple(force)).load(at).array, expected)
    np.testing.assert_allclose(AppliedWrench().load(at).array, expected)


X, Y = (-1.0, 0.0, 0.5, 2.0), (-3.0, 0.0, 1.0, 0.5)


@pytest.mark.parametrize("smooth", [False, True])
def test_tables_interpolate_as_numpy_and_scipy_do(smooth):
    table = Table(X, Y, smooth)
    at = np.linspace(-1.0, 2.0, 301)
    expected = PchipInterpolator(X, Y)(at) if smooth else np.interp(at, X, Y)
    np.testing.assert_allclose([table.value(x) for x in at], expected, atol=1e-14)
    if smooth:
        area = PchipInterpolator(X, Y).antiderivative()(at)
        np.testing.assert_allclose([table.integral(x) for x in at], area, atol=1e-14)


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("beyond", ["line", "hold"])
def test_tables_say_what_is_beyond_them(smooth, beyond):
    table = Table(X, Y, smooth, beyond)
    for x, outward in ((-1.0, -1.0), (2.0, 1.0)):
        inside = (table.value(x) - table.value(x - 1e-6 * outward)) / (1e-6 * outward)
        slope = inside if beyond == "line" else 0.0
        for far in (0.1, 10.0):
            there = table.value(x + far * outward)
            assert there == pytest.approx(table.value(x) + slope * far * outward, rel=1e-4, abs=1e-5)
            area = table.integral(x + far * outward) - table.integral(x)
            assert area == pytest.approx(0.5 * (there + table.value(x)) * far * outward, rel=1e-12)


def test_tabled_springs_are_their_tables():
    spring, damper = Table((0.0, 1.0, 2.0), (0.0, 1.0, 5.0)), Table((-1.0, 1.0), (-4.0, 4.0))
    assert tension(TabledPointSpring(spring, damper), 1.5, 0.25) == pytest.approx(3.0 + 1.0)
    assert tension(TabledPointSpring(damper=damper), 1.5, 0.25) == pytest.approx(1.0)
    at = AtJoint(Planar("z"), np.array([0.2, 0.3, 1.8]), np.array([1.0, 2.0, 0.5]))
    kind = TabledJointSpring(spring, damper, rest=(0.0, 0.0, 0.3), component=2)
    np.testing.assert_allclose(kind.load(at), [0, 0, -(3.0 + 2.0)])


def test_a_tabled_spring_with_straight_lines_is_a_linear_one():
    """At a ball too, where deflections and velocities differ."""
    random = np.random.default_rng(1)
    ball = Spherical()
    line = Table((-1.0, 1.0), (-3.0, 3.0))
    for _ in range(4):
        at = AtJoint(ball, ball.integrate(ball.neutral(), random.normal(size=3)), random.normal(size=3))
        total = sum(TabledJointSpring(line, component=k).load(at) for k in range(3))
        np.testing.assert_allclose(total, JointSpring((3.0,) * 3).load(at), atol=1e-13)


REFUSED = [
    (lambda: PointSpring(-1.0), "PointSpring: stiffness is -1.0: give 0 or more"),
    (lambda: PointSpring(), "PointSpring: stiffness and damping are both zero"),
    (lambda: PointSpring("soft"), "PointSpring: stiffness is 'soft', which are not numbers"),
    (lambda: Cable(0.0), "Cable: stiffness is zero"),
    (lambda: GasSpring(1.0, 1.0, 0.0), "GasSpring: column is zero"),
    (lambda: Drag(), "Drag: all coefficients are zero"),
    (lambda: Bushing(), "Bushing: it has neither stiffness nor damping"),
    (lambda: Bushing((1.0, 2.0)), "Bushing: stiffness has shape (2,)"),
    (lambda: Bushing(np.triu(np.ones((6, 6)))), "Bushing: stiffness is not symmetric"),
    (lambda: Bushing((-1.0,) * 6), "Bushing: stiffness has a negative eigenvalue"),
    (lambda: Bushing((np.nan,) * 6), "Bushing: stiffness holds NaN"),
    (lambda: ConstantWrench((1.0,)), "ConstantWrench: moment has shape (1,): give 3 numbers"),
    (
        lambda: Table((0.0, 0.0), (1.0, 2.0)),
        "Table: x is [0.0, 0.0]: give two or more points with x increasing",
    ),
    (lambda: Table((0.0, 1.0), (1.0,)), "Table: y has shape (1,): give 2 numbers"),
    (
        lambda: Table((0.0, 1.0), (1.0, 2.0), beyond="wrap"),
        "Table: beyond is 'wrap': choose one of line, hold",
    ),
    (lambda: TabledPointSpring(), "TabledPointSpring: it has neither a spring nor a damper"),
    (lambda: TabledJointSpring(), "TabledJointSpring: it has neither a spring nor a damper"),
    (lambda: JointSpring(), "JointSpring: it has neither stiffness nor damping"),
    (
        lambda: JointStop((0.0,), (1.0,), (1.0, 2.0), (0.0,)),
        "JointStop: stiffness has shape (2,): give 1 numbers",
    ),
    (
        lambda: JointSpring((1.0, 2.0)).check(Revolute(), "force 'f'"),
        "force 'f': stiffness has 2 numbers: give 1",
    ),
    (lambda: JointSpring((1.0,) * 3, (), (2.0, 0, 0, 0)).check(Spherical(), "force 'f'"), "quaternion"),
    (
        lambda: TabledJointSpring(Table((0, 1), (0, 1)), component=1).check(Revolute(), "f"),
        "f: component is 1",
    ),
    (
        lambda: JointStop((0.0,), (1.0,), (1.0,), (0.0,)).check(Spherical(), "f"),
        "f: the stops have 1 components",
    ),
    (lambda: AppliedWrench().with_params([1.0]), "AppliedWrench has 0 parameters, but 1 were given"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED, ids=[m[:40] for _, m in REFUSED])
def test_what_no_force_can_be_is_refused_with_its_reason(wrong, message):
    with pytest.raises(CatenaError, match=re.escape(message)):
        wrong()
