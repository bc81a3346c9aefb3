"""A joint kind evaluated for many states at once.

The methods of a kind take one state of numbers or symbols. Here they are put into one CasADi function for each
kind, which runs over a whole batch; nothing is compiled. Rows are read and written where they lie.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from catena.joints import JointKind
from catena.kinematics import stacks
from catena.spatial import Transform
from catena.spatial.on_symbols import on_symbols

# As many states are computed at a time.
PORTION = 1024


def formula_rows(function: Any, *arguments: np.ndarray) -> np.ndarray:
    """Return the results (states, m) of a CasADi function with one dense output, for arguments (states, n). To hand
    over matrices of CasADi's own costs many times as much."""
    out = np.empty((len(arguments[0]), function.nnz_out(0)))
    for first in range(0, len(out), PORTION):
        some = slice(first, first + PORTION)
        buffer, evaluate = _mapped(function, len(out[some])).buffer()
        rows = [np.ascontiguousarray(x[some], dtype=np.float64) for x in arguments]
        for k, x in enumerate(rows):
            buffer.set_arg(k, x.data)
        buffer.set_res(0, out[some].data)
        evaluate()
    return out


@lru_cache(maxsize=512)
def _mapped(function: Any, states: int) -> Any:
    return function.map(states)


@dataclass(frozen=True)
class KindValues:
    """The transform X (..., 6, 6) as a motion matrix, motion space S (..., 6, nv), bias (..., 6) and constraint
    space Phi (..., 6, m) of a kind."""

    X: np.ndarray
    S: np.ndarray
    bias: np.ndarray
    Phi: np.ndarray


def kind_values(kind: JointKind, q: np.ndarray, v: np.ndarray) -> KindValues:
    """Everything about a kind at positions q (..., nq) and velocities v (..., nv)."""
    batch = q.shape[:-1]
    nv = kind.nv
    if kind.nq == 0:
        # No coordinates, so no states to run over either.
        X = stacks.motion_matrices(np.eye(3), np.zeros(3))
        Phi = np.asarray(kind.constraint_space(np.zeros(0)).array, dtype=np.float64)
        return KindValues(
            np.broadcast_to(X, (*batch, 6, 6)), np.zeros((*batch, 6, 0)), np.zeros((*batch, 6)),
            np.broadcast_to(Phi, (*batch, *Phi.shape)),
        )  # fmt: skip
    rows_q, rows_v = q.reshape(-1, kind.nq), np.broadcast_to(v, (*batch, nv)).reshape(-1, nv)
    if len(rows_q) == 0:
        m = kind.constraint_space(kind.neutral()).n
        out = np.zeros((0, 12 + 6 * nv + 6 + 6 * m))
    else:
        out = formula_rows(_function(kind), rows_q, rows_v)
    X, S, bias, Phi = (
        out[:, :12],
        out[:, 12 : 12 + 6 * nv],
        out[:, 12 + 6 * nv : 18 + 6 * nv],
        out[:, 18 + 6 * nv :],
    )
    return KindValues(
        stacks.from_entries(X).reshape(*batch, 6, 6), S.reshape(*batch, 6, nv), bias.reshape(*batch, 6),
        Phi.reshape(*batch, 6, Phi.shape[1] // 6),
    )  # fmt: skip


def nearest_coordinates(kind: JointKind, X: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
    """Return the coordinates (..., nq) of the configurations nearest to relative transforms X (..., 6, 6); angles with
    the whole turns that bring them next to the positions `near` (..., nq), where these are given."""
    batch = X.shape[:-2]
    R, p = stacks.parts(X.reshape(-1, 6, 6))
    q = np.zeros((len(R), kind.nq))
    there = None
    if near is not None and kind.wraps:
        there = np.broadcast_to(near, (*batch, kind.nq)).reshape(-1, kind.nq)
    if kind.nq and len(R) and kind.finds_coordinates_of_symbols:
        entries = np.concatenate([R.reshape(-1, 9), p], axis=-1)
        q = formula_rows(_coordinates(kind, there is not None), entries, *([] if there is None else [there]))
    elif kind.nq:
        for k in range(len(R)):
            at = Transform(R[k], p[k])
            q[k] = kind.coordinates(at) if there is None else kind.coordinates_near(at, there[k])
    return q.reshape(*batch, kind.nq)


def _function(kind: JointKind) -> Any:
    try:
        return _remembered(kind)
    except TypeError:  # a user's kind that cannot be hashed
        return _build(kind)


def _build(kind: JointKind) -> Any:
    import casadi

    from catena.spatial.scalars import array

    q, v = casadi.SX.sym("q", kind.nq), casadi.SX.sym("v", kind.nv)
    qs = array([q[i] for i in range(kind.nq)])
    vs = array([v[i] for i in range(kind.nv)]) if kind.nv else np.zeros(0)
    with on_symbols(f"joint kind {type(kind).__name__}"):
        entries = [
            *kind.transform(qs).entries(),
            *kind.motion_space(qs).array.ravel().tolist(),
            *kind.bias(qs, vs).array.tolist(),
            *kind.constraint_space(qs).array.ravel().tolist(),
        ]
    column = casadi.densify(casadi.vertcat(*[casadi.SX(x) for x in entries]))
    return casadi.Function("kind", [q, v], [column])


_remembered = lru_cache(maxsize=512)(_build)


@lru_cache(maxsize=512)
def _coordinates(kind: JointKind, counts: bool) -> Any:
    """Return the coordinates of a kind as a function of the twelve entries of a transform; where turns are counted,
    also of a position that they are near."""
    import casadi

    from catena.spatial.scalars import array

    entries, near = casadi.SX.sym("X", 12), casadi.SX.sym("near", kind.nq)
    X = Transform.from_entries([entries[i] for i in range(12)])
    q = kind.coordinates_near(X, array([near[i] for i in range(kind.nq)])) if counts else kind.coordinates(X)
    arguments = [entries, near] if counts else [entries]
    return casadi.Function(
        "coordinates", arguments, [casadi.densify(casadi.vertcat(*[casadi.SX(x) for x in q]))]
    )
