"""Motions and forces against plain arrays."""

import casadi
import numpy as np
import pytest

from catena.spatial import Force, ForceSpace, Motion, MotionSpace, cross, cross3, skew


def motion_cross_matrix(v):
    w, u = skew(v[:3]), skew(v[3:])
    return np.block([[w, np.zeros((3, 3))], [u, w]])


@pytest.mark.parametrize("kind", [Motion, Force])
def test_sums_and_multiples_are_those_of_arrays(kind, random):
    a, b = random.vector(6), random.vector(6)
    np.testing.assert_array_equal((kind(a) + kind(b)).array, a + b)
    np.testing.assert_array_equal((kind(a) - kind(b)).array, a - b)
    np.testing.assert_array_equal((-kind(a)).array, -a)
    np.testing.assert_array_equal((kind(a) * 2.5).array, 2.5 * a)
    np.testing.assert_array_equal((2.5 * kind(a)).array, 2.5 * a)
    np.testing.assert_array_equal(kind.zero().array, np.zeros(6))
    np.testing.assert_array_equal(kind(a).angular, a[:3])
    np.testing.assert_array_equal(kind(a).linear, a[3:])


def test_a_symbol_multiplies_a_motion_from_either_side():
    x = casadi.SX.sym("x")
    right, left = Motion(np.arange(6.0)) * x, x * Motion(np.arange(6.0))
    for motion in (right, left):
        values = casadi.Function("f", [x], [casadi.vertcat(*motion.entries())])(3.0)
        np.testing.assert_array_equal(np.array(values).ravel(), 3.0 * np.arange(6.0))


def test_motions_and_forces_do_not_mix():
    with pytest.raises(TypeError):
        Motion(np.zeros(6)) + Force(np.zeros(6))
    with pytest.raises(TypeError):
        Motion(np.zeros(6)) * Motion(np.zeros(6))
    with pytest.raises(TypeError):
        MotionSpace(np.zeros((6, 2))).T * Motion(np.zeros(6))
    with pytest.raises(TypeError):
        ForceSpace(np.zeros((6, 2))).T * Force(np.zeros(6))


def test_power_is_the_dot_product(random):
    v, f = random.vector(6), random.vector(6)
    assert Motion(v).dot(Force(f)) == Force(f).dot(Motion(v)) == pytest.approx(v @ f)


def test_spaces_multiply_as_matrices(random):
    A, B, x, D = random.vector((6, 3)), random.vector((6, 2)), random.vector(3), random.vector((3, 3))
    S, U, W = MotionSpace(A), ForceSpace(A), ForceSpace(B)
    f, v = random.vector(6), random.vector(6)
    np.testing.assert_allclose((S * x).array, A @ x)
    np.testing.assert_allclose((U * x).array, A @ x)
    np.testing.assert_allclose((U * D).array, A @ D)
    np.testing.assert_allclose(S.T * Force(f), A.T @ f)
    np.testing.assert_allclose(S.T * W, A.T @ B)
    np.testing.assert_allclose(U.T * Motion(v), A.T @ v)
    np.testing.assert_allclose(W.T * S, B.T @ A)
    assert isinstance(S * x, Motion)
    assert isinstance(U * x, Force)
    assert isinstance(U * D, ForceSpace)


def test_spaces_without_columns_multiply_to_zero():
    S = MotionSpace.zero(0)
    np.testing.assert_array_equal((S * np.zeros(0)).array, np.zeros(6))
    assert (S.T * Force.zero()).shape == (0,)


def test_entries_of_spaces_go_column_by_column(random):
    A = random.vector((6, 2))
    entries = MotionSpace(A).entries()
    assert entries == [*A[:, 0], *A[:, 1]]
    np.testing.assert_array_equal(MotionSpace.from_entries(entries).array, A)
    assert len(entries) == MotionSpace.size(2)


def test_cross_products_equal_their_matrices(random, traced):
    v, m, f = random.vector(6), random.vector(6), random.vector(6)
    C = motion_cross_matrix(v)
    np.testing.assert_allclose(cross(Motion(v), Motion(m)).array, C @ m, atol=1e-14)
    np.testing.assert_allclose(cross(Motion(v), Force(f)).array, -C.T @ f, atol=1e-14)
    np.testing.assert_allclose(cross(Motion(v), MotionSpace(C)).array, C @ C, atol=1e-14)
    symbolic = cross(traced.twin(Motion(v)), traced.twin(Force(f)))
    np.testing.assert_allclose(traced.evaluate(symbolic.entries()), -C.T @ f, atol=1e-14)
    assert traced.operations(symbolic.entries()) <= 30


def test_skew_multiplies_as_the_vector_product(random):
    a, b = random.vector(3), random.vector(3)
    np.testing.assert_allclose(skew(a) @ b, np.cross(a, b))
    np.testing.assert_allclose(cross3(a, b), np.cross(a, b))
