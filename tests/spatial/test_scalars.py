"""Elementary functions: the same value from a number and from a symbol."""

import math
import subprocess
import sys

import casadi
import numpy as np
import pytest

from catena.spatial import scalars


def evaluate(expression, symbol, value):
    return float(casadi.Function("f", [symbol], [expression])(value))


@pytest.mark.parametrize("name", ["sin", "cos", "absolute", "sign", "sqrt", "reciprocal"])
def test_function_of_symbol_equals_function_of_number(name):
    function = getattr(scalars, name)
    x = casadi.SX.sym("x")
    for value in (0.3, 2.0, 7.5):
        assert evaluate(function(x), x, value) == pytest.approx(function(value), rel=1e-15)


def test_sign_and_absolute_of_negative_numbers():
    assert scalars.sign(-3.0) == -1.0
    assert scalars.sign(0.0) == 0.0
    assert scalars.absolute(-3.0) == 3.0


def test_atan2_of_symbols_equals_atan2_of_numbers():
    x = casadi.SX.sym("x")
    assert evaluate(scalars.atan2(x, -1.0), x, 0.5) == math.atan2(0.5, -1.0) == scalars.atan2(0.5, -1.0)


def test_where_takes_the_branch_of_its_condition():
    x = casadi.SX.sym("x")
    expression = scalars.where(scalars.less(x, 1.0), x * 10.0, x + 100.0)
    assert evaluate(expression, x, 0.5) == 5.0 == scalars.where(scalars.less(0.5, 1.0), 5.0, 100.5)
    assert evaluate(expression, x, 2.0) == 102.0 == scalars.where(scalars.less(2.0, 1.0), 20.0, 102.0)


def test_reciprocal_of_zero_is_infinite_not_an_error():
    assert scalars.reciprocal(0.0) == math.inf
    assert scalars.reciprocal(np.float64(0.0)) == math.inf


def test_array_is_of_floats_unless_a_symbol_is_inside():
    x = casadi.SX.sym("x")
    assert scalars.array([1, 2.0]).dtype == np.float64
    mixed = scalars.array([[1.0, x], [0.0, 2.0]])
    assert mixed.dtype == object
    assert mixed.shape == (2, 2)
    assert isinstance(mixed[1, 0], float)


def test_is_symbolic_looks_inside_arrays_and_lists():
    x = casadi.SX.sym("x")
    assert scalars.is_symbolic(x)
    assert scalars.is_symbolic([1.0, x])
    assert scalars.is_symbolic(scalars.array([0.0, x]))
    assert not scalars.is_symbolic(np.zeros(3))
    assert not scalars.is_symbolic(np.zeros(3).astype(object))
    assert not scalars.is_symbolic(1)
    assert not scalars.is_symbolic("x")
    assert not scalars.is_symbolic(None)


def test_importing_spatial_and_joints_does_not_import_casadi_or_scipy():
    code = (
        "import sys, catena.spatial, catena.joints; "
        "print([m for m in ('casadi', 'scipy', 'llvmlite', 'matplotlib') if m in sys.modules])"
    )
    path = [p for p in sys.path if p]
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {code}"], capture_output=True, text=True
    )
    assert result.stdout.strip() == "[]", result.stderr
