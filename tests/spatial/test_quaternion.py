"""Quaternions against rotation matrices, everywhere from zero to a full half turn."""

import math

import numpy as np
import pytest

from catena.spatial import quaternion, skew

ANGLES = [0.0, 1e-200, 1e-12, 1e-5, 0.5, 2.0, math.pi - 1e-5, math.pi - 1e-9, math.pi]


def unit(rng, n):
    x = rng.normal(size=n)
    return x / np.linalg.norm(x)


def test_rotation_of_a_product_is_the_product_of_rotations(random):
    a, b = unit(random.rng, 4), unit(random.rng, 4)
    product = quaternion.rotation(quaternion.multiply(a, b))
    np.testing.assert_allclose(product, quaternion.rotation(a) @ quaternion.rotation(b), atol=1e-14)
    np.testing.assert_allclose(
        quaternion.rotation(quaternion.conjugate(a)), quaternion.rotation(a).T, atol=1e-15
    )


def test_exponential_is_the_matrix_exponential(random):
    w = random.vector(3)
    series, term = np.eye(3), np.eye(3)
    for k in range(1, 60):
        term = term @ skew(w) / k
        series = series + term
    np.testing.assert_allclose(quaternion.rotation(quaternion.exp(w)), series, atol=1e-13)


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithm_undoes_the_exponential(angle, random):
    w = angle * unit(random.rng, 3)
    q = quaternion.exp(w)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    sign = -1.0 if angle == math.pi and quaternion.log(q) @ w < 0 else 1.0
    np.testing.assert_allclose(sign * quaternion.log(q), w, rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(
        quaternion.log(-q), quaternion.log(q), rtol=1e-14, atol=1e-15 if angle else 0.0
    )


@pytest.mark.parametrize("angle", ANGLES)
def test_quaternion_of_a_rotation_matrix_at_every_angle(angle, random):
    for axis in [*np.eye(3), *-np.eye(3), unit(random.rng, 3)]:
        R = quaternion.rotation(quaternion.exp(angle * axis))
        q = quaternion.from_rotation(R)
        assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(quaternion.rotation(q), R, atol=1e-15)


def test_symbols_give_the_numbers(random, traced):
    a, b, w = unit(random.rng, 4), unit(random.rng, 4), random.vector(3)
    R = quaternion.rotation(a)
    sa, sb, sw, sR = (traced.twin_array(x) for x in (a, b, w, R))
    pairs = [
        (quaternion.multiply(sa, sb), quaternion.multiply(a, b)),
        (quaternion.rotation(sa), quaternion.rotation(a)),
        (quaternion.exp(sw), quaternion.exp(w)),
        (quaternion.log(sa), quaternion.log(a)),
        (quaternion.from_rotation(sR), quaternion.from_rotation(R)),
        (quaternion.normalise(sa * 2.0), a),
    ]
    for symbolic, number in pairs:
        np.testing.assert_allclose(traced.evaluate(symbolic), number, atol=1e-14)
