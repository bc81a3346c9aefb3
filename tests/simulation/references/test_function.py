"""References from functions of time: exact differentiation against derivatives by hand."""

import numpy as np
import pytest

import catena as ct
from catena.simulation.acting import symbols
from catena.simulation.references import function

TIMES = np.linspace(-1.0, 2.0, 7)


def test_derivatives_of_a_formula_are_exact():
    x = function(lambda t: [0.3 * symbols.sin(2.0 * t), t**3 - 1.0, 5.0])
    q, v, a = x.at(TIMES)
    s, c, one = np.sin(2 * TIMES), np.cos(2 * TIMES), np.ones(7)
    np.testing.assert_allclose(q, np.stack([0.3 * s, TIMES**3 - 1, 5 * one], -1), atol=1e-15)
    np.testing.assert_allclose(v, np.stack([0.6 * c, 3 * TIMES**2, 0 * one], -1), atol=1e-14)
    np.testing.assert_allclose(a, np.stack([-1.2 * s, 6 * TIMES, 0 * one], -1), atol=1e-14)


def test_functions_of_numpy_can_be_differentiated_and_one_number_is_one_coordinate():
    q, v, a = function(lambda t: np.exp(-t) * np.cos(t)).at(0.4)
    assert q.shape == v.shape == a.shape == (1,)
    e, s, c = np.exp(-0.4), np.sin(0.4), np.cos(0.4)
    np.testing.assert_allclose([q[0], v[0], a[0]], [e * c, -e * (c + s), 2 * e * s], rtol=1e-14)


def test_given_derivatives_are_taken_as_they_are():
    x = function(lambda t: [t, 1.0], lambda t: [1.0, 7.0], lambda t: [0.0, 8.0])
    q, v, a = x.at(TIMES)
    np.testing.assert_array_equal(q[:, 0], TIMES)
    assert (v[:, 1] == 7.0).all() and (a[:, 1] == 8.0).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: function(lambda t: [t, [1.0, 2.0]]), "rows differ in length"),
        (lambda: function(lambda t: 1.0 if t > 0.5 else 0.0), "cannot be differentiated"),
        (lambda: function(lambda t: t, lambda t: 1.0), "together"),
        (lambda: function(3.0), "give a function"),
        (lambda: function(lambda t: 1.0 / t).at(0.0), "finite"),
        (lambda: function(lambda t: "far"), "give a number"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_words(make, words):
    with pytest.raises(ct.StateError, match=words):
        make()
