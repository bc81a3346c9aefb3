"""Small linear systems against NumPy."""

import numpy as np
import pytest

from catena.spatial import ldl_factor, ldl_solve, orthogonal_complement, spd_inverse


@pytest.mark.parametrize("n", range(7))
def test_inverse_of_numbers_and_of_symbols(n, random, traced):
    D = random.spd(n)
    np.testing.assert_allclose(spd_inverse(D), np.linalg.inv(D), atol=1e-12)
    if n:
        symbolic = spd_inverse(traced.twin_array(D))
        np.testing.assert_allclose(traced.evaluate(symbolic), np.linalg.inv(D), atol=1e-12)


def test_inverse_reads_the_upper_triangle_only(random):
    for n in range(1, 7):
        D = random.spd(n)
        np.testing.assert_allclose(spd_inverse(np.triu(D)), np.linalg.inv(D), atol=1e-12)


@pytest.mark.parametrize("n", range(2, 7))
def test_an_inverse_loses_no_more_digits_than_the_condition_has(n, random):
    """All eigenvalues but one are small, as where a chain of one joint meets a loop of n constraints. Cofactors lose
    the condition squared then: with n = 3 eigenvalues came out negative."""
    e = np.linalg.qr(random.vector((n, n)))[0][:, :1]
    D = 1e-10 * np.eye(n) + e @ e.T
    values = np.linalg.eigvalsh(spd_inverse(D))
    np.testing.assert_allclose(values, [1.0, *[1e10] * (n - 1)], rtol=1e-4)


@pytest.mark.parametrize(("n", "most"), [(1, 1), (2, 7), (3, 29), (6, 221)])
def test_inverse_takes_few_operations(n, most, random, traced):
    symbolic = spd_inverse(traced.twin_array(random.spd(n)))
    assert traced.operations(symbolic) <= most


@pytest.mark.parametrize("n", range(7))
def test_solution_of_one_and_of_several_right_hand_sides(n, random, traced):
    D, b, B = random.spd(n), random.vector(n), random.vector((n, 2))
    np.testing.assert_allclose(ldl_solve(D, b), np.linalg.solve(D, b), atol=1e-12)
    np.testing.assert_allclose(ldl_solve(D, B), np.linalg.solve(D, B), atol=1e-12)
    if n:
        symbolic = ldl_solve(traced.twin_array(D), traced.twin_array(b))
        np.testing.assert_allclose(traced.evaluate(symbolic), np.linalg.solve(D, b), atol=1e-12)


def test_factors_multiply_to_the_matrix(random):
    D = random.spd(5)
    rows, reciprocals = ldl_factor(D)
    L = np.eye(5)
    for i, row in enumerate(rows):
        L[i, :i] = row
    np.testing.assert_allclose(L @ np.diag(1 / np.array(reciprocals)) @ L.T, D, atol=1e-12)


def test_singular_matrix_gives_infinity_not_an_error():
    assert np.isinf(spd_inverse(np.zeros((1, 1)))).all()


@pytest.mark.parametrize("n", range(7))
def test_complement_is_orthonormal_and_orthogonal(n, random, traced):
    A = random.vector((6, n))
    C = orthogonal_complement(A)
    assert C.shape == (6, 6 - n)
    np.testing.assert_allclose(C.T @ C, np.eye(6 - n), atol=1e-14)
    np.testing.assert_allclose(A.T @ C, 0.0, atol=1e-13)
    if 0 < n < 6:
        symbolic = orthogonal_complement(traced.twin_array(A))
        np.testing.assert_allclose(traced.evaluate(symbolic), C, atol=1e-13)


@pytest.mark.parametrize("A", [np.zeros((6, 2)), np.ones((6, 2)), np.eye(6)[:, [3, 3, 0]]])
def test_complement_of_dependent_columns_still_has_full_rank(A):
    C = orthogonal_complement(A)
    np.testing.assert_allclose(C.T @ C, np.eye(6 - A.shape[1]), atol=1e-14)
    np.testing.assert_allclose(A.T @ C, 0.0, atol=1e-14)
