"""Solving with triangular factors, against rational numbers."""

from fractions import Fraction

import numpy as np
import pytest

from catena.dynamics.loops.square_root import divide_lower, divide_upper


def substituted(L, b):
    """L^-1 b without rounding."""
    x = []
    for i, row in enumerate(L):
        known = sum((Fraction(float(row[j])) * x[j] for j in range(i)), Fraction(0))
        x.append((Fraction(float(b[i])) - known) / Fraction(float(row[i])))
    return np.array([float(y) for y in x])


@pytest.mark.parametrize("seed", range(10))
def test_every_digit_of_a_graded_triangular_system_is_right(seed):
    """Rows and columns of sizes from 1e-6 to 1e6, as bodies of a milligram and of a tonne in one mechanism make them:
    a solver that exchanges rows loses the small unknowns."""
    random = np.random.default_rng(seed)
    n = 5
    L = np.tril(random.uniform(0.5, 2.0, (n, n)) * random.choice([-1.0, 1.0], (n, n)))
    L *= 10.0 ** random.uniform(-6, 6, (n, 1)) * 10.0 ** random.uniform(-6, 6, n)
    b = random.normal(size=n)
    np.testing.assert_allclose(divide_lower(L, b[:, None])[:, 0], substituted(L, b), rtol=1e-12)
    backward = substituted(L.T[::-1, ::-1], b[::-1])[::-1]
    np.testing.assert_allclose(divide_upper(L, b[:, None])[:, 0], backward, rtol=1e-12)
