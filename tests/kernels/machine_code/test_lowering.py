"""Every operation that can be lowered, computed in lanes, against the same operation in NumPy."""

import ctypes
import math

import casadi
import numpy as np
import pytest

from catena.errors import KernelError
from catena.kernels import target
from catena.kernels.machine_code import lowering
from catena.kernels.machine_code.engine import compile_object, load_object
from catena.kernels.program import aligned

RANDOM = np.random.default_rng(11)
REAL = np.concatenate([RANDOM.normal(size=37) * 3.0, [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5]])
OTHER = np.concatenate([RANDOM.normal(size=37) * 3.0, [0.0, 1.0, -2.0, 1.0, 2.0, 3.0, -0.5]])
POSITIVE = np.abs(REAL) + 0.01
UNIT = np.tanh(REAL)
FLAGS = np.where(REAL > 0.5, 1.0, np.where(REAL < -1.0, -3.0, 0.0))

UNARY = {
    "OP_NEG": (lambda x: -x, np.negative, REAL),
    "OP_SQ": (lambda x: x * x, np.square, REAL),
    "OP_TWICE": (lambda x: x + x, lambda x: 2.0 * x, REAL),
    "OP_INV": (lambda x: 1.0 / x, np.reciprocal, POSITIVE),
    "OP_SIN": (casadi.sin, np.sin, REAL),
    "OP_COS": (casadi.cos, np.cos, REAL),
    "OP_SQRT": (casadi.sqrt, np.sqrt, POSITIVE),
    "OP_FLOOR": (casadi.floor, np.floor, REAL),
    "OP_CEIL": (casadi.ceil, np.ceil, REAL),
    "OP_FABS": (casadi.fabs, np.abs, REAL),
    "OP_SIGN": (casadi.sign, np.sign, REAL),
    "OP_NOT": (casadi.logic_not, np.logical_not, FLAGS),
    "OP_EXP": (casadi.exp, np.exp, REAL),
    "OP_LOG": (casadi.log, np.log, POSITIVE),
    "OP_TAN": (casadi.tan, np.tan, REAL),
    "OP_ASIN": (casadi.asin, np.arcsin, UNIT),
    "OP_ACOS": (casadi.acos, np.arccos, UNIT),
    "OP_ATAN": (casadi.atan, np.arctan, REAL),
    "OP_SINH": (casadi.sinh, np.sinh, REAL),
    "OP_COSH": (casadi.cosh, np.cosh, REAL),
    "OP_TANH": (casadi.tanh, np.tanh, REAL),
    "OP_ASINH": (casadi.asinh, np.arcsinh, REAL),
    "OP_ACOSH": (casadi.acosh, np.arccosh, POSITIVE + 1.0),
    "OP_ATANH": (casadi.atanh, np.arctanh, 0.9 * UNIT),
    "OP_EXPM1": (casadi.expm1, np.expm1, REAL),
    "OP_LOG1P": (casadi.log1p, np.log1p, POSITIVE),
    "OP_ERF": (casadi.erf, np.vectorize(math.erf), REAL),
    "OP_CONSTPOW": (lambda x: x**1.7, lambda x: np.power(x, 1.7), POSITIVE),
}
BINARY = {
    "OP_ADD": (lambda x, y: x + y, np.add, REAL, OTHER),
    "OP_SUB": (lambda x, y: x - y, np.subtract, REAL, OTHER),
    "OP_MUL": (lambda x, y: x * y, np.multiply, REAL, OTHER),
    "OP_DIV": (lambda x, y: x / y, np.divide, REAL, POSITIVE),
    "OP_FMIN": (casadi.fmin, np.fmin, REAL, OTHER),
    "OP_FMAX": (casadi.fmax, np.fmax, REAL, OTHER),
    "OP_COPYSIGN": (casadi.copysign, np.copysign, REAL, OTHER),
    "OP_LT": (lambda x, y: x < y, np.less, REAL, OTHER),
    "OP_LE": (lambda x, y: x <= y, np.less_equal, REAL, OTHER),
    "OP_EQ": (lambda x, y: x == y, np.equal, REAL, OTHER),
    "OP_NE": (lambda x, y: x != y, np.not_equal, REAL, OTHER),
    "OP_AND": (casadi.logic_and, np.logical_and, FLAGS, FLAGS[::-1].copy()),
    "OP_OR": (casadi.logic_or, np.logical_or, FLAGS, FLAGS[::-1].copy()),
    "OP_IF_ELSE_ZERO": (
        lambda x, y: casadi.if_else(x, y, 0.0), lambda x, y: np.where(x != 0.0, y, 0.0), FLAGS, REAL,
    ),
    "OP_POW": (lambda x, y: x**y, np.power, POSITIVE, OTHER),
    "OP_ATAN2": (casadi.atan2, np.arctan2, REAL, OTHER),
    "OP_HYPOT": (casadi.hypot, np.hypot, REAL, OTHER),
    "OP_FMOD": (casadi.fmod, np.fmod, REAL, POSITIVE),
}  # fmt: skip
# What a library function may differ from NumPy's own: one unit in the last place either way.
TOLERANCE = 4.5e-16


def operations(expression, symbols):
    """The names of CasADi's operations in an expression."""
    f = casadi.Function("f", symbols, [expression])
    return {lowering.operation_name(f.instruction_id(i)) for i in range(f.n_instructions())}


@pytest.mark.parametrize("name", UNARY)
def test_an_operation_on_one_number(name, compile_expressions):
    symbolic, numeric, x = UNARY[name]
    s = casadi.SX.sym("x")
    assert name in operations(symbolic(s), [s])
    ours = compile_expressions([symbolic(s)], [s])(x)[0]
    np.testing.assert_allclose(ours, numeric(x).astype(float), rtol=TOLERANCE, atol=0.0)


@pytest.mark.parametrize("name", BINARY)
def test_an_operation_on_two_numbers(name, compile_expressions):
    symbolic, numeric, x, y = BINARY[name]
    s, t = casadi.SX.sym("x"), casadi.SX.sym("y")
    assert name in operations(symbolic(s, t), [s, t])
    ours = compile_expressions([symbolic(s, t)], [s, t])(x, y)[0]
    np.testing.assert_allclose(ours, numeric(x, y).astype(float), rtol=TOLERANCE, atol=0.0)


def test_every_operation_that_has_a_table_entry_is_tested():
    calls = lowering.UNARY_CALLS, lowering.BINARY_CALLS, lowering.INTRINSICS
    tables = *calls, lowering.ARITHMETIC, lowering.COMPARISONS
    assert {name for table in tables for name in table} <= {*UNARY, *BINARY}


def test_a_branch_that_is_not_taken_may_be_infinite(compile_expressions):
    """where(x > 0, 1/x, 0) is 0 at x = 0, though 1/0 was computed."""
    x = casadi.SX.sym("x")
    ours = compile_expressions([casadi.if_else(x > 0.0, 1.0 / x, 0.0)], [x])(np.array([0.0, 2.0, -4.0]))
    assert ours[0].tolist() == [0.0, 0.5, 0.0]


def test_nan_passes_through_arithmetic(compile_expressions):
    x = casadi.SX.sym("x")
    ours = compile_expressions([x * x + 1.0], [x])(np.array([np.nan, 1.0]))[0]
    assert np.isnan(ours[0]) and ours[1] == 2.0


def test_constants_come_out_to_the_last_bit(compile_expressions):
    values = [0.1, -1e-300, 1e300, 1 / 3, -0.0, 5e-324]
    x = casadi.SX.sym("x")
    ours = compile_expressions([x * 0.0 + v if v else x * v for v in values], [x])(np.array([1.0]))
    assert ours[:, 0].tolist() == values


def test_an_operation_without_lanes_is_refused_by_name():
    x = casadi.SX.sym("x")
    slot = lowering.Slot(0, 0)
    with pytest.raises(KernelError, match="uses the operation erfinv, which cannot be compiled"):
        lowering.lower("f", [(slot, x)], [(slot, casadi.erfinv(x))], 4)


def test_a_slot_that_is_read_and_written_is_read_first():
    """Exchange of two slots in place; each result needs the other's old value."""
    lanes = target().lanes
    a, b = casadi.SX.sym("a"), casadi.SX.sym("b")
    slots = [lowering.Slot(0, 0), lowering.Slot(0, 1)]
    text = lowering.lower("swap", list(zip(slots, [a, b])), list(zip(slots, [b + 1.0, a - 1.0])), lanes)
    loaded = load_object("test swap", compile_object(lowering.prelude(lanes) + text), ["swap"])
    record = aligned(2 * lanes)
    record[:lanes], record[lanes:] = 5.0, 7.0
    pointers = lowering.RECORDS + 1
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * pointers)(loaded["swap"])(*[record.ctypes.data] * pointers)
    assert record.tolist() == [8.0] * lanes + [4.0] * lanes
