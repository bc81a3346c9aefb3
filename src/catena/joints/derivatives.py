"""Exact derivatives of a kind's transform and motion space, for kinds that do not give them in closed form.

CasADi differentiates the kind's own code. For numbers the derivative is built once per kind and evaluated;
for symbols it is substituted into the caller's expression.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.spatial import Motion, MotionSpace, array, is_symbolic

if TYPE_CHECKING:
    from catena.joints.contract import JointKind


def motion_space(kind: JointKind, q: np.ndarray) -> MotionSpace:
    """Return S from the derivative of the transform: omega~ = -dR/dt R^T and the linear part R dp/dt."""
    if kind.nv == 0:
        return MotionSpace.zero(0)
    source = _motion_space_expression(kind) if is_symbolic(q) else _motion_space_function(kind)
    values = _evaluate(source, [q])
    return MotionSpace(values.reshape(kind.nv, 6).T)


def bias(kind: JointKind, q: np.ndarray, v: np.ndarray) -> Motion:
    """Return the derivative of S(q) v along dq/dt = rate(q, v) at constant v."""
    if kind.nv == 0:
        return Motion.zero()
    symbolic = is_symbolic(q) or is_symbolic(v)
    return Motion(_evaluate(_bias_expression(kind) if symbolic else _bias_function(kind), [q, v]))


def _symbols(name: str, n: int) -> tuple[Any, np.ndarray]:
    """Return a column of `n` symbols and the same symbols as an array."""
    import casadi

    column = casadi.SX.sym(name, n)
    return column, array([column[i] for i in range(n)])


def _column(entries: Any) -> Any:
    import casadi

    return casadi.vertcat(*[casadi.SX(entry) for entry in entries])


def _motion_space_expression(kind: JointKind) -> tuple[list[Any], Any]:
    """Return symbols [q] and the entries of S, column by column."""
    import casadi

    q_column, q = _symbols("q", kind.nq)
    X = kind.transform(q)
    R = casadi.reshape(_column(X.R.T.ravel()), 3, 3)
    p = _column(X.p)
    columns = []
    for k in range(kind.nv):
        direction = np.zeros(kind.nv)
        direction[k] = 1.0
        dq = _column(kind.rate(q, direction))
        dR = casadi.reshape(casadi.jtimes(casadi.vec(R), q_column, dq), 3, 3)
        w = -dR @ R.T
        linear = R @ casadi.jtimes(p, q_column, dq)
        columns.append(casadi.vertcat(w[2, 1], w[0, 2], w[1, 0], linear))
    return [q_column], casadi.cse(casadi.simplify(casadi.vertcat(*columns)))


def _bias_expression(kind: JointKind) -> tuple[list[Any], Any]:
    """Return symbols [q, v] and the six entries of Sdot v."""
    import casadi

    q_column, q = _symbols("q", kind.nq)
    v_column, v = _symbols("v", kind.nv)
    twist = _column((kind.motion_space(q) * v).array)
    return [q_column, v_column], casadi.cse(casadi.jtimes(twist, q_column, _column(kind.rate(q, v))))


@lru_cache(maxsize=256)
def _motion_space_function(kind: JointKind) -> Any:
    return _function(*_motion_space_expression(kind))


@lru_cache(maxsize=256)
def _bias_function(kind: JointKind) -> Any:
    return _function(*_bias_expression(kind))


def _function(symbols: list[Any], expression: Any) -> Any:
    import casadi

    return casadi.Function("derivative", symbols, [casadi.densify(expression)])


def _evaluate(source: Any, arguments: list[np.ndarray]) -> np.ndarray:
    """Return a function's values at numbers, or an expression with its symbols replaced by the arguments."""
    if not isinstance(source, tuple):
        return np.array(source(*arguments)).ravel()
    import casadi

    symbols, expression = source
    replaced = casadi.substitute([expression], symbols, [_column(argument) for argument in arguments])[0]
    replaced = casadi.densify(replaced)
    return array([_number_if_constant(replaced[i]) for i in range(replaced.numel())])


def _number_if_constant(entry: Any) -> Any:
    """Return a plain float for a constant entry, so that exact zeros stay recognisable."""
    return float(entry) if entry.is_constant() else entry
