"""Quick arithmetic of symbols against CasADi's own, and that it is gone afterwards."""

import casadi
import numpy as np
import pytest

from catena.equations.quick_symbols import quick_symbols


def arithmetic(x, y):
    """Every operator with symbols, numbers and matrices on either side."""
    values = [
        x + y,
        x - y,
        x * y,
        x / y,
        2.0 + x,
        x + 2,
        3.0 - x,
        x - 3.0,
        2.0 * x,
        x * 0.0,
        x * 1.0,
        1.0 / x,
        x / 4.0,
    ]
    values += [np.float64(2.0) * x, x * casadi.DM([1.0, 2.0]), casadi.SX([[1.0, 2.0]]) + x]
    return [str(value) for value in values]


def test_quick_arithmetic_makes_the_same_expressions():
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")

    expected = arithmetic(x, y)
    with quick_symbols():
        assert arithmetic(x, y) == expected
        with quick_symbols():
            assert arithmetic(x, y) == expected
        assert arithmetic(x, y) == expected


def test_the_usual_operators_come_back():
    usual = {name: getattr(casadi.SX, name) for name in ("__add__", "__rsub__", "__mul__", "__truediv__")}
    with pytest.raises(ZeroDivisionError), quick_symbols():
        assert casadi.SX.__add__ is not usual["__add__"]
        1 / 0  # noqa: B018
    assert {name: getattr(casadi.SX, name) for name in usual} == usual
