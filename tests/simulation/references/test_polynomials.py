"""Cubic, quintic and spline references against closed forms and SciPy."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline

import catena as ct
from catena.simulation.references import constant, cubic, quintic, spline


def test_a_cubic_between_two_points_is_the_one_of_the_textbook():
    x = cubic([1.0, 3.0], [0.5, 2.5])
    t = np.linspace(1.0, 3.0, 9)
    s = (t - 1.0) / 2.0
    q, v, a = x.at(t)
    np.testing.assert_allclose(q[:, 0], 0.5 + 2.0 * (3 * s**2 - 2 * s**3), atol=1e-14)
    np.testing.assert_allclose(v[:, 0], 6 * s - 6 * s**2, atol=1e-14)
    np.testing.assert_allclose(a[:, 0], (6 - 12 * s) / 2.0, atol=1e-13)


def test_a_quintic_between_two_points_is_the_one_of_the_textbook():
    x = quintic([0.0, 2.0], [[1.0, 0.0], [1.0, -3.0]])
    t = np.linspace(0.0, 2.0, 9)
    s = t / 2.0
    q, v, a = x.at(t)
    np.testing.assert_allclose(q[:, 1], -3.0 * (10 * s**3 - 15 * s**4 + 6 * s**5), atol=1e-13)
    np.testing.assert_allclose(v[:, 1], -1.5 * (30 * s**2 - 60 * s**3 + 30 * s**4), atol=1e-13)
    np.testing.assert_allclose(a[:, 1], -0.75 * (60 * s - 180 * s**2 + 120 * s**3), atol=1e-12)
    np.testing.assert_allclose(q[:, 0], 1.0, atol=1e-15)


@pytest.mark.parametrize("make", [cubic, quintic])
def test_via_points_are_met_with_the_given_velocities(make):
    times, points, velocities = (
        [0.0, 1.0, 1.5, 4.0],
        [[0, 1], [2, 0], [2, -1], [0, 0]],
        np.arange(8.0).reshape(4, 2),
    )
    q, v, a = make(times, points, velocities).at(np.array(times))
    np.testing.assert_allclose(q, points, atol=1e-12)
    np.testing.assert_allclose(v, velocities, atol=1e-12)
    # The acceleration of a cubic jumps at its points; that of a quintic is what was asked for, zero.
    assert (np.abs(a).max() < 1e-12) == (make is quintic)


def test_the_acceleration_of_a_quintic_at_its_points_can_be_given():
    x = quintic([0.0, 0.7], [0.0, 1.0], [0.1, 0.2], [3.0, -4.0])
    np.testing.assert_allclose(x.at(np.array([0.0, 0.7])).vdot[:, 0], [3.0, -4.0], atol=1e-11)


def test_the_ends_are_held_at_rest():
    x = cubic([0.0, 1.0], [0.0, 2.0], [1.0, 1.0])
    q, v, a = x.at([-1.0, 1.5])
    np.testing.assert_array_equal(q[:, 0], [0.0, 2.0])
    assert not v.any() and not a.any()


def test_one_time_and_many_times_give_the_same_numbers():
    x = quintic([0.0, 1.0, 2.0], np.random.default_rng(0).normal(size=(3, 4)))
    t = np.linspace(-0.5, 2.5, 12).reshape(3, 4)
    many = x.at(t)
    assert many.q.shape == many.v.shape == many.vdot.shape == (3, 4, 4)
    np.testing.assert_array_equal(many.v[1, 2], x.at(t[1, 2]).v)


@pytest.mark.parametrize(
    ("ends", "theirs"), [("rest", "clamped"), ("natural", "natural"), ("free", "not-a-knot")]
)
def test_cubic_splines_are_those_of_another_implementation(ends, theirs):
    rng = np.random.default_rng(1)
    times, points = np.cumsum(rng.uniform(0.2, 1.0, 7)), rng.normal(size=(7, 3))
    ours, other = spline(times, points, ends=ends), CubicSpline(times, points, bc_type=theirs)
    t = np.linspace(times[0], times[-1], 50)
    for k, found in enumerate(ours.at(t)):
        np.testing.assert_allclose(found, other(t, k), atol=1e-9)


def test_a_spline_of_degree_five_has_four_continuous_derivatives_and_rests_at_its_ends():
    rng = np.random.default_rng(2)
    times, points = np.cumsum(rng.uniform(0.2, 1.0, 6)), rng.normal(size=(6, 2))
    x = spline(times, points, degree=5)
    q, v, a = x.at(times)
    np.testing.assert_allclose(q, points, atol=1e-10)
    np.testing.assert_allclose(v[[0, -1]], 0.0, atol=1e-10)
    np.testing.assert_allclose(a[[0, -1]], 0.0, atol=1e-9)
    rest = [(1, np.zeros(2)), (2, np.zeros(2))]
    other = make_interp_spline(times, points, k=5, bc_type=(rest, rest))
    t = np.linspace(times[0], times[-1], 40)
    np.testing.assert_allclose(x.at(t).vdot, other.derivative(2)(t), atol=1e-7)


@pytest.mark.parametrize("degree", [3, 5])
def test_a_periodic_spline_repeats_without_a_jump(degree):
    times, points = [0.0, 0.4, 1.1, 1.7, 2.0, 2.5, 3.0], [0.0, 1.0, -1.0, 2.0, 0.3, 0.1, 0.0]
    x = spline(times, points, degree=degree, ends="periodic")
    np.testing.assert_allclose(x.at(0.7).q, x.at(6.7).q, atol=1e-12)
    for before, after in zip(x.at(3.0 - 1e-9), x.at(3.0 + 1e-9)):
        np.testing.assert_allclose(before, after, atol=1e-5)


def test_a_constant_rests():
    q, v, a = constant([1.0, 2.0]).at([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(q, [[1.0, 2.0]] * 3)
    assert v.shape == a.shape == (3, 2) and not v.any() and not a.any()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cubic([0.0, 0.0], [1.0, 2.0]), "later than the one before"),
        (lambda: cubic([0.0], [1.0]), "at least two"),
        (lambda: cubic([0.0, 1.0], [1.0, 2.0, 3.0]), "shape"),
        (lambda: quintic([0.0, 1.0], [1.0, np.nan]), "finite"),
        (lambda: quintic([0.0, np.inf], [1.0, 2.0]), "finite"),
        (lambda: quintic([0.0, 1.0], [1.0, 2.0], velocities=[1.0]), "velocities have shape"),
        (lambda: cubic([0.0, 1.0], ["a", "b"]), "not numbers"),
        (lambda: spline([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], degree=4), "degree"),
        (lambda: spline([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], ends="open"), "choose rest"),
        (lambda: spline([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], ends="periodic"), "ends where it begins"),
        (lambda: spline([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], ends="free"), "too few"),
        (lambda: cubic([0.0, 1.0], [0.0, 1.0]).at(np.nan), "finite"),
        (lambda: constant("here"), "no position"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make, words):
    with pytest.raises(ct.StateError, match=words):
        make()
