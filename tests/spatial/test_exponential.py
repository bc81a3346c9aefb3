"""Exponential and logarithm of motions, near zero, near half a turn, and against the matrix exponential."""

import math

import numpy as np
import pytest
import scipy.linalg

from catena.spatial import Motion, Transform, exp, log, skew


def generator(xi):
    G = np.zeros((4, 4))
    G[:3, :3], G[:3, 3] = skew(xi[:3]), xi[3:]
    return G


def test_exponential_is_the_matrix_exponential(random):
    xi = random.vector(6)
    np.testing.assert_allclose(exp(Motion(xi)).pose().matrix(), scipy.linalg.expm(generator(xi)), atol=1e-13)


def test_moving_on_with_the_same_twist_composes(random):
    xi = Motion(random.vector(6))
    there = exp(xi * 0.7) * exp(xi * 0.3)
    np.testing.assert_allclose(there.motion_matrix(), exp(xi).motion_matrix(), atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-180, 1e-9, 1e-4, 0.01, 1.0, 3.0, math.pi - 1e-6, math.pi - 1e-9])
def test_logarithm_undoes_the_exponential(angle, random):
    axis = random.vector(3)
    xi = np.concatenate([angle * axis / np.linalg.norm(axis), random.vector(3)])
    found = log(exp(Motion(xi))).array
    np.testing.assert_allclose(found[:3], xi[:3], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(found[3:], xi[3:], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("axis", [*np.eye(3), np.array([0.6, 0.0, -0.8]), np.ones(3) / math.sqrt(3)])
def test_half_a_turn_is_found_up_to_its_direction(axis):
    X = exp(Motion(np.concatenate([math.pi * axis, [0.3, -0.2, 0.5]])))
    xi = log(X)
    assert np.linalg.norm(xi.angular) == pytest.approx(math.pi, abs=1e-14)
    np.testing.assert_allclose(exp(xi).motion_matrix(), X.motion_matrix(), atol=1e-14)


def test_more_than_half_a_turn_comes_back_the_short_way():
    xi = log(Transform.rotation_z(4.0))
    np.testing.assert_allclose(xi.array, [0, 0, 4.0 - 2 * math.pi, 0, 0, 0], atol=1e-14)


def test_translation_is_its_own_logarithm():
    np.testing.assert_array_equal(
        log(Transform.translation(np.array([1.0, 2.0, 3.0]))).array, [0, 0, 0, 1, 2, 3]
    )


def test_symbols_give_the_numbers(random, traced):
    xi = Motion(random.vector(6))
    X = exp(xi)
    np.testing.assert_allclose(traced.evaluate(exp(traced.twin(xi)).entries()), X.entries(), atol=1e-14)
    np.testing.assert_allclose(traced.evaluate(log(traced.twin(X)).entries()), log(X).entries(), atol=1e-13)
