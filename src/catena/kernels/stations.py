"""Bodies of many modes on the way in and out of compiled code that knows their points and no modes.

Points of a flexible body have coordinates y = (u, psi) of their own there (`structure.stations`). On the way in they
are told what the amplitudes eta make of them,

    y = f(eta),     dy/dt = G d eta/dt,     d2y/dt2 = G d2 eta/dt2 + g,

and on the way out what each of them contributes to a force, a Jacobian or a matrix is summed up: G^T tau, J G, G^T H G.
This is `share_modes` (`flattening`) with a T that depends on the state. It is done in NumPy, for all states at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from catena.kernels.algorithm import COLUMNS, MATRIX, POSITION, ROWS, VELOCITY, Algorithm, Extent
from catena.kernels.sharing import WORD, is_summed
from catena.kernels.tape import Tape
from catena.structure import Plan
from catena.structure.stations import ModalShapes, StationPlan

MOVING = frozenset({"qd", "qdd"})
"""Inputs that are velocities or accelerations, which points have too; forces act on amplitudes alone."""
MOST_ENTRIES = 4_000_000
"""So many entries the matrices over all coordinates have at most in states that are computed together."""


def suits(algorithm: Algorithm) -> bool:
    """Return whether an algorithm works by points: one that goes from motions to forces, and finds no accelerations."""
    return algorithm.use_constants and not (algorithm.replayed or "qdd" in algorithm.outputs)


def folded(tape: Tape, algorithm: Algorithm, at: StationPlan, described: Plan) -> Tape:
    """Return the tape of an algorithm that knows coordinates alone with inputs and results by the coordinates and nodes
    of the plan that was described; points stay where they are."""
    inputs, outputs = dict(tape.inputs), dict(tape.outputs)
    for name, extent in algorithm.inputs.items():
        if name in inputs:
            shape, table = _kept(inputs[name][1], extent, at, described)
            inputs[name] = (prod(shape), table)
    for name, extent in algorithm.outputs.items():
        outputs[name] = _kept(outputs[name][1], extent, at, described)
    return replace(tape, inputs=inputs, outputs=outputs)


def _kept(
    table: np.ndarray, extent: Any, at: StationPlan, described: Plan
) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the shape of an input or a result, and its pairs of columns and slots."""
    if extent in (POSITION, VELOCITY):
        index, size = (at.q_index, described.nq) if extent is POSITION else (at.v_index, described.nv)
        columns = index[table[:, 0] // WORD]
        return (size,), np.stack([columns * WORD, table[:, 1]], axis=1)[columns >= 0]
    shape = (described.n, extent.size)
    return shape, table[table[:, 0] < prod(shape) * WORD]


def portions(at: StationPlan, states: int) -> Iterator[slice]:
    """Yield the states that are computed together."""
    some = max(1, MOST_ENTRIES // len(at.v_index) ** 2)
    for first in range(0, max(1, states), some):
        yield slice(first, min(states, first + some))


class PointMotions:
    """Where points are and how they move in states q (n, nq), with velocities qd (n, nv) or at rest.

    `G` has the motions (n, r, k) of the points of each body by its amplitudes, at the places `rows` (r,) of v.
    """

    def __init__(self, at: StationPlan, described: Plan, q: np.ndarray, qd: np.ndarray | None) -> None:
        self.at, self.described = at, described
        self.own = np.flatnonzero(at.v_index >= 0)
        self.columns = at.v_index[self.own]
        self.q = _gathered(q, at.q_index)
        self.G: list[tuple[ModalShapes, slice, np.ndarray, np.ndarray]] = []
        for body in at.bodies:
            eta = q[:, body.q_first : body.q_first + body.modes]
            amplitudes = slice(body.v_first, body.v_first + body.modes)
            u, L, g = _shaped(body, eta, None if qd is None else qd[:, amplitudes])
            turns = body.turns >= 0
            R = np.broadcast_to(body.R[turns], (len(q), int(turns.sum()), body.modes))
            rows = np.concatenate([body.moves, body.turns[turns]])
            self.G.append((body, amplitudes, rows, np.concatenate([L, R], axis=1)))
            self.q[:, body.displaced], self.q[:, body.curved] = u, g
            self.q[:, body.turned[turns]] = eta @ body.R[turns].T

    def moving(self, x: np.ndarray) -> np.ndarray:
        """Return velocities (n, nv) as points have them too."""
        found = np.zeros((len(x), self.at.plan.nv))
        found[:, self.own] = x[:, self.columns]
        for _, amplitudes, rows, G in self.G:
            found[:, rows] = np.matmul(G, x[:, amplitudes, None])[:, :, 0]
        return found

    def contributed(self, algorithm: Algorithm, name: str, y: np.ndarray) -> np.ndarray:
        """Return what nodes contribute to a result, summed up by coordinates."""
        extent, wide = algorithm.outputs.get(name), self.at.plan.nv
        if extent is VELOCITY:
            return self._summed(y[:, None, :])[:, 0, :]
        if extent in (COLUMNS, MATRIX, None) and y.shape[-1] == wide:
            y = self._summed(y)
        if extent in (ROWS, MATRIX, None) and y.shape[-2] == wide:
            y = np.swapaxes(self._summed(np.swapaxes(y, -1, -2)), -1, -2)
        return y

    def _summed(self, y: np.ndarray) -> np.ndarray:
        """Return y T (n, ..., nv) for y (n, ..., wide)."""
        found = np.zeros((*y.shape[:-1], self.described.nv))
        found[..., self.columns] = y[..., self.own]
        for _, amplitudes, rows, G in self.G:
            found[..., amplitudes] += y[..., rows] @ G.reshape(len(y), *[1] * (y.ndim - 3), *G.shape[1:])
        return found

    def by_node(self, y: np.ndarray) -> np.ndarray:
        """Return rows (n, nv, 6) of nodes, each of which has the amplitudes for its own, as `Plan.spread` has them."""
        plan, wide = self.described, self.at.plan
        found = np.zeros((len(y), plan.spread.nv, y.shape[-1]))
        points = {int(i) for body, *_ in self.G for i in body.nodes}
        for i in set(range(1, plan.n)) - points:
            found[:, plan.rows(i)] = y[:, wide.v_of(i)]
        for body, _, rows, G in self.G:
            for i in body.nodes.tolist():
                own = (rows >= wide.v_start[i]) & (rows < wide.v_start[i] + wide.v_size[i])
                found[:, plan.rows(i)] = np.swapaxes(G[:, own], -1, -2) @ y[:, rows[own]]
        return found


def point_inputs(
    algorithm: Algorithm, at: StationPlan, described: Plan, inputs: Mapping[str, np.ndarray], states: int
) -> tuple[dict[str, np.ndarray], PointMotions]:
    """Return the inputs of states, (n, ...) each, as points have them, and the motions of the points."""
    rows = {n: np.broadcast_to(x, (states, x.shape[-1])) for n, x in inputs.items()}
    q = rows["q"] if "q" in rows else np.zeros((states, described.nq))
    points = PointMotions(at, described, q, rows.get("qd"))
    found = {}
    for name, x in rows.items():
        extent = algorithm.inputs.get(name)
        if name == "q":
            x = points.q
        elif extent is POSITION:
            x = PointMotions(at, described, x, None).q
        elif extent is VELOCITY:
            x = points.moving(x) if name in MOVING else _gathered(x, at.v_index)
        elif extent is not None and not isinstance(extent, Extent):
            x = np.pad(x, ((0, 0), (0, (at.plan.n - described.n) * extent.size)))
        found[name] = np.ascontiguousarray(x)
    return found, points


def results_by_coordinates(
    algorithm: Algorithm, points: PointMotions, outputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return results by coordinates and nodes of the plan that was described."""
    found = {}
    at, described = points.at, points.described
    for name, y in outputs.items():
        extent = algorithm.outputs.get(name)
        if name in algorithm.per_node:
            y = (
                np.swapaxes(points.by_node(np.swapaxes(y, 1, 2)), 1, 2)
                if extent is COLUMNS
                else points.by_node(y)
            )
        elif is_summed(algorithm, name):
            y = points.contributed(algorithm, name, y)
        elif extent in (POSITION, VELOCITY):
            index = at.q_index if extent is POSITION else at.v_index
            x, own = np.zeros((len(y), int(index.max(initial=-1)) + 1)), index >= 0
            x[:, index[own]] = y[:, own]
            y = x
        elif extent is not None:
            y = y[:, : described.n]
        found[name] = np.ascontiguousarray(y)
    return found


def _gathered(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return entries by their coordinates, zeros where there is none."""
    found = np.zeros((len(x), len(index)))
    own = index >= 0
    found[:, own] = x[:, index[own]]
    return found


def _shaped(
    body: ModalShapes, eta: np.ndarray, rate: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the displacements u (n, 3 a) of points for amplitudes (n, k), their derivatives (n, 3 a, k), and the
    accelerations g (n, 3 a) that they have while amplitudes change at constant rates (n, k)."""
    n, k = eta.shape
    L = np.array(np.broadcast_to(body.S, (n, *body.S.shape)))
    u, g = eta @ body.S.T, np.zeros((n, len(body.S)))
    if len(body.bent):
        flat = body.B.reshape(-1, k).T
        by_eta = (eta @ flat).reshape(n, -1, k)
        L[:, body.bent] += by_eta
        u[:, body.bent] += 0.5 * np.matmul(by_eta, eta[:, :, None])[:, :, 0]
        if rate is not None:
            by_rate = (rate @ flat).reshape(n, -1, k)
            g[:, body.bent] += np.matmul(by_rate, rate[:, :, None])[:, :, 0]
    if len(body.lifted):
        value, slopes, curving = _quartic(body, eta, rate)
        u[:, body.lifted] += value
        L[:, body.lifted] += slopes
        g[:, body.lifted] += curving
    return u, L, g


def _quartic(
    body: ModalShapes, eta: np.ndarray, rate: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the terms of fourth order (n, f), their derivatives (n, f, k), and their accelerations (n, f) while
    amplitudes change at constant rates."""
    x0, x1, x2, x3 = (eta[:, body.products[:, a]] for a in range(4))
    first, last = x0 * x1, x2 * x3
    others = np.concatenate([x1 * last, x0 * last, first * x3, first * x2], axis=1)
    slopes = (np.tile(body.F, 4) * others[:, None, :]) @ body.factors
    second = np.zeros_like(first)
    if rate is not None:
        v0, v1, v2, v3 = (rate[:, body.products[:, a]] for a in range(4))
        second = 2.0 * (v0 * v1 * last + first * v2 * v3 + (v0 * x1 + x0 * v1) * (v2 * x3 + x2 * v3))
    return (first * last) @ body.F.T, slopes, second @ body.F.T
