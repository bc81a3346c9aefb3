"""The functions for laws: the same numbers from NumPy and from symbols."""

import casadi
import numpy as np
import pytest

from catena.simulation.acting import symbols

ONE = ["sin", "cos", "tan", "tanh", "exp", "absolute", "sign"]
TWO = ["minimum", "maximum", "atan2"]


def evaluated(function, *arguments):
    """The function traced with symbols, one for each entry, and evaluated at the numbers."""
    names = [casadi.SX.sym(f"x{k}", len(x)) for k, x in enumerate(arguments)]
    arrays = []
    for name in names:
        array = np.empty(name.shape[0], dtype=object)
        for k in range(name.shape[0]):
            array[k] = name[k]
        arrays.append(array)
    result = function(*arrays)
    compute = casadi.Function("f", names, [casadi.vertcat(*result)])
    return np.array(compute(*arguments)).ravel()


@pytest.mark.parametrize("name", ONE + TWO)
def test_symbols_and_numbers_agree(name):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=5), rng.normal(size=5)
    given = (x,) if name in ONE else (x, y)
    function = getattr(symbols, name)
    np.testing.assert_allclose(evaluated(function, *given), function(*given), atol=1e-15)


def test_conditions_agree_and_single_numbers_go_with_every_entry():
    x, y = np.array([-2.0, 0.5, 3.0, -0.1]), np.array([1.0, -1.0, 2.0, 5.0])

    def law(x, y):
        outside = symbols.both(symbols.less(x, 1.0), symbols.less(0.0, y))
        return symbols.join([symbols.where(outside, 7.0, x * y), symbols.sqrt(x * x + 2.0)])

    np.testing.assert_allclose(evaluated(law, x, y), law(x, y), atol=1e-15)
    np.testing.assert_array_equal(law(x, y)[:4], [7.0, -0.5, 6.0, 7.0])


def test_entries_by_index_are_stacked_in_batches_and_of_symbols():
    def law(x):
        return symbols.stack([symbols.sin(x[..., 0]) * x[..., 1], 2.0, x[..., 2] - x[..., 0]])

    x = np.random.default_rng(1).normal(size=(4, 2, 3))
    assert law(x).shape == (4, 2, 3)
    np.testing.assert_allclose(evaluated(law, x[2, 1]), law(x)[2, 1], atol=1e-15)
