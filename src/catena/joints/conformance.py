"""The conformance check of the joint contract, for built-in kinds and for anyone's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.joints.contract import HINGE, SLIDE, JointKind
from catena.spatial import Transform, array, is_symbolic, log
from catena.spatial.on_symbols import on_symbols

STEP = 1e-5
"""Half width of central differences; their error is then about 1e-10 for coordinates of order one."""


def check_joint_kind(kind: JointKind, seed: int = 0) -> None:
    """Raise an AssertionError that says what is wrong unless `kind` keeps the joint contract.

    Motion space, bias and rate are compared with finite differences at random positions; integrate,
    difference and coordinates with each other; the flipped kind and the canonical kind with the kind itself;
    symbols with numbers.
    """
    rng = np.random.default_rng(seed)
    _check_sizes(kind)
    for _ in range(3):
        q = kind.integrate(kind.neutral(), rng.uniform(-0.7, 0.7, kind.nv))
        v = rng.uniform(-1.0, 1.0, kind.nv)
        _check_derivatives(kind, q, v)
        _check_constraint_space(kind, q)
        _check_positions(kind, q, v)
        _check_flip(kind, q, v)
        _check_canonical(kind, q, v)
        _check_params(kind, q, v)
        _check_simple_motions(kind, q)
    _check_symbols(kind, q, v)


def _say(kind: JointKind, sentence: str, error: float, tolerance: float) -> None:
    # Written so that NaN fails too.
    assert error <= tolerance, f"{kind!r}: {sentence} (error {error:.3g}, allowed {tolerance:.3g})."


def _gap(a: Any, b: Any) -> float:
    """Return the largest difference between two arrays, infinite when their shapes differ."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        return np.inf
    return float(np.abs(a - b).max(initial=0.0))


def _apart(X: Transform, Y: Transform) -> float:
    """Return how far two transforms are apart."""
    return max(_gap(X.R, Y.R), _gap(X.p, Y.p))


def _check_sizes(kind: JointKind) -> None:
    q = kind.neutral()
    assert q.shape == (kind.nq,), f"{kind!r}: neutral() has shape {q.shape}, not ({kind.nq},)."
    assert 0 <= kind.nv <= 6, f"{kind!r}: nv = {kind.nv}; a joint has at most six degrees of freedom."
    shape = kind.motion_space(q).array.shape
    assert shape == (6, kind.nv), f"{kind!r}: motion_space has shape {shape}, not (6, {kind.nv})."
    error = _apart(kind.transform(q), Transform.identity())
    _say(kind, "transform(neutral()) is not the identity", error, 1e-14)
    kind.check(q)
    hash(kind.signature)


def _check_simple_motions(kind: JointKind, q: np.ndarray) -> None:
    start = kind.quaternion_start
    if start is not None:
        off = abs(float(np.linalg.norm(q[start : start + 4])) - 1.0)
        _say(kind, "there is no unit quaternion in q where quaternion_start says", off, 1e-12)
    motions = kind.simple_motions
    if motions is None or any(one.type not in (HINGE, SLIDE) for one in motions):
        return
    X = Transform.identity()
    for one in motions:
        x = q[one.component]
        X = (
            Transform.rotation(one.axis.tolist(), x)
            if one.type == HINGE
            else Transform(np.eye(3), x * one.axis)
        ) * X
    _say(kind, "simple_motions one after the other are not transform(q)", _apart(X, kind.transform(q)), 1e-12)


def _check_derivatives(kind: JointKind, q: np.ndarray, v: np.ndarray) -> None:
    X = kind.transform(q)
    _say(kind, "the rotation of transform(q) is not orthonormal", _gap(X.R @ X.R.T, np.eye(3)), 1e-12)
    S = kind.motion_space(q)
    for k in range(kind.nv):
        e = np.eye(kind.nv)[k] * STEP
        moved = kind.transform(kind.integrate(q, e)) * kind.transform(kind.integrate(q, -e)).inverse()
        error = _gap(log(moved).array / (2.0 * STEP), S.array[:, k])
        _say(kind, f"column {k} of motion_space is not the derivative of transform", error, 1e-8)
    ahead, behind = kind.integrate(q, v * STEP), kind.integrate(q, -v * STEP)
    dS = (kind.motion_space(ahead).array - kind.motion_space(behind).array) / (2.0 * STEP)
    _say(kind, "bias is not the rate of motion_space times v", _gap(kind.bias(q, v).array, dS @ v), 1e-8)
    dq = (ahead - behind) / (2.0 * STEP)
    _say(kind, "rate is not the derivative of integrate", _gap(kind.rate(q, v), dq), 1e-8)


def _check_constraint_space(kind: JointKind, q: np.ndarray) -> None:
    S, C = kind.motion_space(q), kind.constraint_space(q)
    shape = C.array.shape
    assert shape == (6, 6 - kind.nv), f"{kind!r}: constraint_space has shape {shape}, not (6, {6 - kind.nv})."
    _say(kind, "motion_space^T constraint_space is not zero", _gap(S.T * C, np.zeros((kind.nv, C.n))), 1e-12)
    rank = int(np.linalg.matrix_rank(np.hstack([S.array, C.array]), tol=1e-6))
    assert rank == 6, f"{kind!r}: motion_space and constraint_space together have rank {rank}, not 6."


def _check_positions(kind: JointKind, q: np.ndarray, v: np.ndarray) -> None:
    there = kind.integrate(q, v)
    kind.check(there)
    _say(kind, "difference(q, integrate(q, v)) is not v", _gap(kind.difference(q, there), v), 1e-12)
    _say(kind, "integrate(q, 0) is not q", _gap(kind.integrate(q, 0.0 * v), q), 1e-14)
    xi = 0.3 * v[::-1]
    reached = kind.integrate(q, xi)
    ends = [kind.difference(q, kind.integrate(reached, sign * STEP * v)) for sign in (1.0, -1.0)]
    dxi = (ends[0] - ends[1]) / (2.0 * STEP)
    _say(kind, "local_rate is not the rate of local coordinates", _gap(kind.local_rate(xi, v), dxi), 1e-7)
    X = kind.transform(there)
    found = kind.transform(kind.coordinates(X))
    _say(kind, "transform(coordinates(X)) is not X", _apart(found, X), 1e-9)
    if kind.wraps:
        turned = there.copy()
        turned[list(kind.wraps)] += 2.0 * np.pi * np.arange(-1.0, len(kind.wraps) - 1.0)
        X = kind.transform(turned)
        near = kind.coordinates_near(X, kind.integrate(turned, 0.2 * v))
        _say(kind, "coordinates_near(X, q) is not next to q", _gap(near, turned), 1e-7)


def _check_flip(kind: JointKind, q: np.ndarray, v: np.ndarray) -> None:
    flipped = kind.flip()
    assert (flipped.nq, flipped.nv) == (kind.nq, kind.nv), f"{kind!r}: flip() changes nq or nv."
    X = kind.transform(q)
    _say(kind, "flip() has not the inverse transform", _apart(flipped.transform(q), X.inverse()), 1e-14)
    _say(kind, "flip() has another rate", _gap(flipped.rate(q, v), kind.rate(q, v)), 1e-14)
    _say(kind, "flip() has another neutral()", _gap(flipped.neutral(), kind.neutral()), 0.0)
    _check_derivatives(flipped, q, v)
    _check_constraint_space(flipped, q)
    _check_positions(flipped, q, v)
    again = flipped.flip().transform(q)
    _say(kind, "flip().flip() has another transform", _apart(again, X), 1e-14)


def _check_canonical(kind: JointKind, q: np.ndarray, v: np.ndarray) -> None:
    R, simple = kind.canonical()
    _say(kind, "the rotation of canonical() is not orthonormal", _gap(R @ R.T, np.eye(3)), 1e-14)
    assert np.linalg.det(R) > 0, f"{kind!r}: the rotation of canonical() is a reflection."
    turn = Transform(R.T, np.zeros(3))
    X = turn.inverse() * simple.transform(q) * turn
    _say(kind, "canonical() has another transform", _apart(X, kind.transform(q)), 1e-12)
    S = turn.inverse() * simple.motion_space(q)
    _say(kind, "canonical() has another motion_space", _gap(S.array, kind.motion_space(q).array), 1e-12)
    _say(kind, "canonical() has another rate", _gap(simple.rate(q, v), kind.rate(q, v)), 1e-12)
    again, same = simple.canonical()
    assert same.signature == simple.signature, f"{kind!r}: canonical() of the canonical kind is another kind."
    _say(kind, "canonical() of the canonical kind turns it", _gap(again, np.eye(3)), 1e-12)


def _check_params(kind: JointKind, q: np.ndarray, v: np.ndarray) -> None:
    simple = kind.canonical()[1]
    code = simple.with_params(simple.params()).signature
    assert code == simple.signature, f"{kind!r}: with_params(params()) changes the canonical signature."
    same = kind.with_params(kind.params())
    error = _apart(same.transform(q), kind.transform(q))
    _say(kind, "with_params(params()) has another transform", error, 1e-14)
    _say(kind, "with_params(params()) has other params()", _gap(same.params(), kind.params()), 1e-14)
    error = _gap(same.bias(q, v).array, kind.bias(q, v).array)
    _say(kind, "with_params(params()) has another bias", error, 1e-12)


def _check_symbols(kind: JointKind, q: np.ndarray, v: np.ndarray) -> None:
    """Trace the canonical kind with symbols for q, v and its parameters, and evaluate that at numbers."""
    import casadi

    simple = kind.canonical()[1]
    params = np.array(simple.params())
    columns = [casadi.SX.sym(name, n) for name, n in (("q", kind.nq), ("v", kind.nv), ("p", len(params)))]
    arrays = [array([column[i] for i in range(column.numel())]) for column in columns]
    with on_symbols(repr(kind)):
        symbolic = _everything(simple.with_params(arrays[2].tolist()), arrays[0], arrays[1])
    numeric = _everything(simple, q, v)
    for name, entries in symbolic.items():
        outputs = casadi.vertcat(*[casadi.SX(x) for x in entries])
        function = casadi.Function("traced", columns, [casadi.densify(outputs)])
        values = np.array(function(q, v, params)).ravel()
        _say(kind, f"{name} of symbols differs from {name} of numbers", _gap(values, numeric[name]), 1e-12)
        assert not is_symbolic(numeric[name]), f"{kind!r}: {name} of numbers contains symbols."


def _everything(kind: JointKind, q: np.ndarray, v: np.ndarray) -> dict[str, list[Any]]:
    """Return the entries of every result that may be traced."""
    return {
        "transform": kind.transform(q).entries(),
        "motion_space": kind.motion_space(q).entries(),
        "bias": kind.bias(q, v).entries(),
        "constraint_space": kind.constraint_space(q).entries(),
        "rate": list(kind.rate(q, v)),
        "integrate": list(kind.integrate(q, v)),
        "difference": list(kind.difference(kind.neutral(), q)),
    }
