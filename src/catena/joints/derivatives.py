"""Exact derivatives of a kind's transform and motion space, for kinds that do not give them in closed form.

CasADi differentiates the kind's own code. For numbers the derivative is built once per kind and evaluated;
for symbols it is substituted into the caller's expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.spatial import Motion, MotionSpace, array, is_symbolic
from catena.spatial.on_symbols import on_symbols

if TYPE_CHECKING:
    from catena.joints.contract import JointKind


def motion_space(kind: JointKind, q: np.ndarray) -> MotionSpace:
    """Return S from the derivative of the transform: omega~ = -dR/dt R^T and the linear part R dp/dt."""
    if kind.nv == 0:
        return MotionSpace.zero(0)
    with on_symbols(f"joint kind {type(kind).__name__}"):
        source = _motion_space_expression(kind) if is_symbolic(q) else _motion_space_function(kind)
    values = _evaluate(source, [q])
    return MotionSpace(values.reshape(kind.nv, 6).T)


def bias(kind: JointKind, q: np.ndarray, v: np.ndarray) -> Motion:
    """Return the derivative of S(q) v along dq/dt = rate(q, v) at constant v."""
    if kind.nv == 0:
        return Motion.zero()
    symbolic = is_symbolic(q) or is_symbolic(v)
    with on_symbols(f"joint kind {type(kind).__name__}"):
        source = _bias_expression(kind) if symbolic else _bias_function(kind)
    return Motion(_evaluate(source, [q, v]))


def motion_space_rate(kind: JointKind, q: np.ndarray, v: np.ndarray) -> MotionSpace:
    """Return Sdot, the derivative of S(q) along dq/dt = rate(q, v)."""
    if kind.nv == 0:
        return MotionSpace.zero(0)
    symbolic = is_symbolic(q) or is_symbolic(v)
    with on_symbols(f"joint kind {type(kind).__name__}"):
        source = _motion_space_rate_expression(kind) if symbolic else _motion_space_rate_function(kind)
    return MotionSpace(_evaluate(source, [q, v]).reshape(kind.nv, 6).T)


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


def _motion_space_rate_expression(kind: JointKind) -> tuple[list[Any], Any]:
    """Return symbols [q, v] and the entries of Sdot, column by column."""
    import casadi

    q_column, q = _symbols("q", kind.nq)
    v_column, v = _symbols("v", kind.nv)
    S = _column(kind.motion_space(q).array.T.ravel())
    return [q_column, v_column], casadi.cse(casadi.jtimes(S, q_column, _column(kind.rate(q, v))))


@lru_cache(maxsize=256)
def _motion_space_rate_function(kind: JointKind) -> Any:
    return _function(*_motion_space_rate_expression(kind))


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


@dataclass(frozen=True)
class Tangents:
    """How a kind's motions change along its own directions, in child-side coordinates: for each velocity component the
    derivative of S v, of S w, and of the bias by a step along it, and of the bias by that component of v."""

    motion_by_q: list[Motion]
    push_by_q: list[Motion]
    bias_by_q: list[Motion]
    bias_by_v: list[Motion]


def tangents(kind: JointKind, q: np.ndarray, v: np.ndarray, w: np.ndarray) -> Tangents:
    """Return the derivatives of S v, of S w, and of the bias by steps along each component, and of the bias by v."""
    n = kind.nv
    symbolic = is_symbolic(q) or is_symbolic(v) or is_symbolic(w)
    source = _tangent_expression(kind) if symbolic else _tangent_function(kind)
    columns = _evaluate(source, [q, v, w]).reshape(4, n, 6)
    return Tangents(*([Motion(x) for x in block] for block in columns))


def force_tangent(kind: JointKind, q: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return the derivative (nv, nv) of S^T f, f (6,) in child-side coordinates, by steps along each component
    (columns)."""
    n = kind.nv
    symbolic = is_symbolic(q) or is_symbolic(force)
    source = _force_expression(kind) if symbolic else _force_function(kind)
    return _evaluate(source, [q, force]).reshape(n, n)


def _along(kind: JointKind, expression: Any, q_column: Any, q: np.ndarray) -> list[Any]:
    """Return the derivative of an expression of q along each velocity component."""
    import casadi

    return [
        casadi.jtimes(expression, q_column, _column(kind.rate(q, np.eye(kind.nv)[c]))) for c in range(kind.nv)
    ]


def _tangent_expression(kind: JointKind) -> tuple[list[Any], Any]:
    import casadi

    q_column, q = _symbols("q", kind.nq)
    v_column, v = _symbols("v", kind.nv)
    w_column, w = _symbols("w", kind.nv)
    S = kind.motion_space(q)
    bias = _column(kind.bias(q, v).array)
    by_v = [casadi.jtimes(bias, v_column, _column(np.eye(kind.nv)[c])) for c in range(kind.nv)]
    parts = [_along(kind, _column((S * x).array), q_column, q) for x in (v, w)]
    entries = casadi.vertcat(*parts[0], *parts[1], *_along(kind, bias, q_column, q), *by_v)
    return [q_column, v_column, w_column], casadi.cse(casadi.densify(entries))


def _force_expression(kind: JointKind) -> tuple[list[Any], Any]:
    import casadi

    q_column, q = _symbols("q", kind.nq)
    f_column, f = _symbols("f", 6)
    columns = _along(kind, _column(kind.motion_space(q).array.T @ f), q_column, q)
    # Row by row, as NumPy reads it back.
    matrix = casadi.densify(casadi.horzcat(*columns)).T
    return [q_column, f_column], casadi.cse(casadi.vec(matrix))


@lru_cache(maxsize=256)
def _tangent_function(kind: JointKind) -> Any:
    return _function(*_tangent_expression(kind))


@lru_cache(maxsize=256)
def _force_function(kind: JointKind) -> Any:
    return _function(*_force_expression(kind))
