"""Axes by name and by vector, and those that are refused."""

import math

import numpy as np
import pytest

from catena.errors import ModelError
from catena.joints import Cylindrical, Helical, Prismatic, Revolute, axis
from catena.joints.axes import canonical_frame, direction, perpendicular


@pytest.mark.parametrize(
    ("spec", "vector"),
    [
        ("x", (1, 0, 0)),
        ("y", (0, 1, 0)),
        ("z", (0, 0, 1)),
        ("-x", (-1, 0, 0)),
        ("-y", (0, -1, 0)),
        ("-z", (0, 0, -1)),
        ((0, 3, 4), (0, 0.6, 0.8)),
        ([0, 0, 1e-200], (0, 0, 1)),
        (np.array([1e200, 0, 0]), (1, 0, 0)),
    ],
)
def test_axis_is_a_unit_vector(spec, vector):
    np.testing.assert_allclose(axis(spec), vector, atol=1e-16)


def test_a_unit_vector_is_kept_digit_by_digit():
    rng = np.random.default_rng(0)
    for _ in range(100):
        once = direction(rng.normal(size=3))
        assert direction(once) == once


@pytest.mark.parametrize("kind", [Revolute, Prismatic, Cylindrical, Helical])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("w", "axis 'w' is not known; use one of x, y, z, -x, -y, -z, or a 3-vector"),
        ((0, 0, 0), r"axis \(0, 0, 0\) has no direction; give a vector that is not zero"),
        ((1, math.nan, 0), "axis .* has an entry that is not finite; all must be finite"),
        ((1, math.inf, 0), "has an entry that is not finite"),
        ((1, 0), r"axis \(1, 0\) has shape \(2,\); a direction has shape \(3,\)"),
        (3.0, r"axis 3.0 has shape \(\); a direction has shape \(3,\)"),
        (("a", "b", "c"), "is not made of real numbers"),
    ],
)
def test_bad_axis_is_refused_with_a_reason(kind, spec, message):
    with pytest.raises(ModelError, match=message) as caught:
        kind(spec)
    assert str(caught.value).startswith(kind.__name__)


def test_perpendicular_directions_make_a_right_handed_frame():
    rng = np.random.default_rng(1)
    for n in [*np.eye(3), *-np.eye(3), *rng.normal(size=(20, 3))]:
        n = direction(n)
        e1, e2 = perpendicular(n)
        frame = canonical_frame(n)
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-15)
        assert np.linalg.det(frame) == pytest.approx(1.0)
        np.testing.assert_array_equal(frame, np.array([e1, e2, n]).T)
