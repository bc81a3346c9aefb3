"""Flexible bodies of many modes, as compiled code has them: points that are told where they are.

The star of a flexible body (`expansion`) has points whose coordinates are the amplitudes of its modes, and compiled
code is made for their number. Here the points get six coordinates of their own (three, where they are particles), their
displacement and rotation (`joints.station`), and the amplitudes lie in blocks of a fixed size beside them, which have
stiffness and damping and move nothing. So the number of modes is data: more of them are more blocks and points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from catena.joints import Flipped, JointKind
from catena.joints.modal import Modal
from catena.joints.station import Station
from catena.structure.plan import Floats, Ints, Plan

FEW_MODES = 16
"""Bodies of up to so many modes have code of their own, which runs faster and compiles within some seconds."""
BLOCK = 8
"""How many amplitudes lie in a block."""


@dataclass(frozen=True, eq=False)
class ModalShapes:
    """The points of one flexible body with k modes: a points, each with three rows of displacement.

    `q_first` and `v_first` say where the amplitudes begin in q and v; `S` (3 a, k), `R` (3 a, k) and `B` (r, k, k) for
    the rows `bent` (r,) are displacements and rotations of points, `F` (f, m) for the rows `lifted` (f,) the
    coefficients of the `products` (m, 4) of amplitudes. `nodes` (a,) are the nodes of the points, `displaced` (3 a,),
    `turned` and `curved` their places in the q of `StationPlan.plan`, `moves` and `turns` in v; -1 where a point has no
    such entry.
    """

    q_first: int
    v_first: int
    S: Floats
    R: Floats
    B: Floats
    bent: Ints
    F: Floats
    lifted: Ints
    products: Ints
    nodes: Ints
    displaced: Ints
    turned: Ints
    curved: Ints
    moves: Ints
    turns: Ints

    @property
    def modes(self) -> int:
        """The number of modes."""
        return self.S.shape[1]

    @cached_property
    def factors(self) -> Floats:
        """Which amplitude is the first factor of each product, which the second, the third and the last: (4 m, k)."""
        found = np.zeros((self.products.size, self.modes))
        found[np.arange(self.products.size), self.products.T.ravel()] = 1.0
        return found


@dataclass(frozen=True, eq=False)
class StationPlan:
    """A plan whose flexible bodies are points that are told where they are: `plan`, with the nodes of the plan it was
    made from first and blocks of amplitudes behind them. `q_index` (nq,) and `v_index` (nv,) have the coordinate of
    each entry of its q and v, -1 for those of points and for what fills up blocks."""

    plan: Plan
    q_index: Ints
    v_index: Ints
    bodies: tuple[ModalShapes, ...]


@lru_cache(maxsize=64)
def has_many_modes(plan: Plan) -> bool:
    """Return whether some flexible body has more modes than code is made for."""
    return plan.owner is not None and any(
        int(plan.v_size[i]) > FEW_MODES
        for i in np.unique(plan.owner)
        if isinstance(_inner(plan.kind[i]), Modal)
    )


def stationed(plan: Plan) -> StationPlan:
    """Return the plan with stations in the place of modes."""
    return _Stationing(plan).made()


def _inner(kind: Any) -> Any:
    return getattr(kind, "kind", kind)


class _Stationing:
    """Makes the plan with stations: nodes as they were, then blocks."""

    def __init__(self, plan: Plan) -> None:
        assert plan.owner is not None
        self.plan, self.kind = plan, list(plan.kind)
        self.points: dict[int, list[int]] = {}
        for i, kind in enumerate(plan.kind):
            if isinstance(_inner(kind), Modal):
                self.points.setdefault(int(plan.owner[i]), []).append(i)
        self.blocks: list[tuple[int, list[int], Modal]] = []
        for owner, nodes in self.points.items():
            self.blocks += [(owner, modes, kind) for modes, kind in _blocks(_inner(plan.kind[owner]))]
            for i in nodes:
                self.kind[i] = _station(plan.kind[i])

    def made(self) -> StationPlan:
        plan, blocks = self.plan, self.blocks
        kinds = [*self.kind, *(kind for _, _, kind in blocks)]
        sizes = [[0 if kind is None else getattr(kind, n) for kind in kinds] for n in ("nq", "nv")]
        q_size, v_size = (np.array(size, dtype=np.int64) for size in sizes)
        q_start, v_start = (np.cumsum(size) - size for size in (q_size, v_size))
        q_index, v_index = (
            self._index(own, size) for own, size in ((plan.q_start, q_size), (plan.v_start, v_size))
        )
        known, count = v_index >= 0, len(blocks)
        parents = np.array([owner for owner, _, _ in blocks], dtype=np.int64)

        def by_coordinate(x: Any) -> Any:
            return np.where(known, x[..., v_index], 0)

        wide = replace(
            plan, nq=int(q_size.sum()), nv=int(v_size.sum()), owner=None, kind=kinds,
            q_start=q_start, q_size=q_size, v_start=v_start, v_size=v_size,
            parent=np.concatenate([plan.parent, parents]), depth=np.concatenate([plan.depth, plan.depth[parents] + 1]),
            joint=[*plan.joint, *(f"{plan.joint[owner]}[{k}]" for k, (owner, _, _) in enumerate(blocks))],
            params=[() if kind is None else kind.params() for kind in kinds],
            flipped=np.concatenate([plan.flipped, np.zeros(count, dtype=bool)]), bodies=(*plan.bodies, *[()] * count),
            placement_R=np.concatenate([plan.placement_R, np.tile(np.eye(3), (count, 1, 1))]),
            placement_p=np.concatenate([plan.placement_p, np.zeros((count, 3))]),
            inertia=np.concatenate([plan.inertia, np.zeros((count, 10))]),
            damping=by_coordinate(plan.damping), friction=by_coordinate(plan.friction),
            actuated=by_coordinate(plan.actuated).astype(bool),
            bearing=None if plan.bearing is None else by_coordinate(plan.bearing),
        )  # fmt: skip
        bodies = tuple(self._shapes(wide, owner, nodes) for owner, nodes in self.points.items())
        return StationPlan(wide, q_index, v_index, bodies)

    def _index(self, start: Ints, size: Ints) -> Ints:
        """Return the coordinates of all entries, whose nodes begin at `start` in the plan that this one is made
        from."""
        found: list[Any] = []
        stations = {i for nodes in self.points.values() for i in nodes}
        for i, n in enumerate(size[: self.plan.n]):
            found.append(np.full(n, -1) if i in stations else np.arange(start[i], start[i] + n))
        for owner, modes, _ in self.blocks:
            found.append(np.array([start[owner] + k if k >= 0 else -1 for k in modes]))
        return np.concatenate(found).astype(np.int64)

    def _shapes(self, wide: Plan, owner: int, nodes: list[int]) -> ModalShapes:
        kinds: list[Modal] = [_inner(self.plan.kind[i]) for i in nodes]
        k = kinds[0].modes
        S = np.concatenate([_rows(kind.moves, k) for kind in kinds])
        R = np.concatenate([_rows(kind.turns, k) for kind in kinds])
        B = np.concatenate([_bends(kind) for kind in kinds])
        bent = np.flatnonzero(B.any(axis=(1, 2)))
        products = next((kind.products for kind in kinds if kind.products), ())
        quartics = [
            (3 * a + i, kind.fourths[len(products) * j : len(products) * (j + 1)])
            for a, kind in enumerate(kinds)
            for j, i in enumerate(kind.lifted)
        ]
        q, v = wide.q_start[nodes][:, None], wide.v_start[nodes][:, None]
        turns = np.array([not kind.has_mass for kind in kinds])[:, None]
        three = np.arange(3)
        return ModalShapes(
            int(self.plan.q_start[owner]), int(self.plan.v_start[owner]), S, R, B[bent], bent,
            np.array([x for _, x in quartics]).reshape(len(quartics), len(products)),
            np.array([row for row, _ in quartics], dtype=np.int64),
            np.array(products, dtype=np.int64).reshape(len(products), 4), np.array(nodes),
            (q + three).ravel(), np.where(turns, q + 3 + three, -1).ravel(),
            (q + np.where(turns, 6, 3) + three).ravel(), (v + three).ravel(),
            np.where(turns, v + 3 + three, -1).ravel(),
        )  # fmt: skip


def _station(kind: Any) -> JointKind:
    if isinstance(kind, Flipped):
        return Flipped(_station(kind.kind))
    return Station(turns=not kind.has_mass)


def _blocks(kind: Modal) -> list[tuple[list[int], Modal]]:
    """Return the amplitudes of a body in blocks: the modes of each, -1 where it is filled up, and what holds them.
    Those whose energy has terms of fourth order lie together."""
    together = sorted({k for product in kind.products for k in product}) if kind.hardening else []
    rest = [k for k in range(kind.modes) if k not in together]
    parts = [together] if together else []
    parts += [rest[k : k + BLOCK] for k in range(0, len(rest), BLOCK)]
    found = []
    for number, part in enumerate(parts):
        hard = bool(together) and number == 0
        modes = part if hard else [*part, *[-1] * (BLOCK - len(part))]
        stiffness, squares = (
            tuple(x[k] if k >= 0 and x else 0.0 for k in modes) for x in (kind.stiffness, kind.squares)
        )
        # The motion of a block is none, but code must not know it: it would have no place for its forces.
        block = Modal(len(modes), moves=(0.0,) * (3 * len(modes)), stiffness=stiffness, squares=squares)
        if hard:
            place = {k: number for number, k in enumerate(modes)}
            products = tuple(tuple(place[k] for k in product) for product in kind.products)
            block = replace(block, hardening=kind.hardening, products=products)
        found.append((modes, block))
    return found


def _rows(part: tuple[Any, ...], k: int) -> Floats:
    return np.array(part, dtype=np.float64).reshape(3, k) if part else np.zeros((3, k))


def _bends(kind: Modal) -> Floats:
    """Return the matrices B (3, k, k) of a point."""
    k = kind.modes
    found = np.zeros((3, k, k))
    if kind.bends:
        r, c = np.triu_indices(k)
        found[:, r, c] = found[:, c, r] = np.array(kind.bends, dtype=np.float64).reshape(3, -1)
    return found
