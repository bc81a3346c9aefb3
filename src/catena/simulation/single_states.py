"""The states of a batch one by one, for motions that give each of them a structure of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from catena.simulation.turns import near_rows
from catena.system import System


class SingleState(NamedTuple):
    """One state q (nq,), v (nv,) of a system, whose parameters are those of this state, with the positions that joints
    are said to be near; `every` is the system of all states of a batch, None for a state alone."""

    system: System
    every: System | None
    q: np.ndarray
    v: np.ndarray
    near: Mapping[str, Any]


def single_states(
    system: System, q: np.ndarray, v: np.ndarray, near: Mapping[str, Any]
) -> tuple[tuple[int, ...], list[SingleState]]:
    """Return the batch that states q (..., nq), v (..., nv) and the parameters of a system have in common, and its
    states one behind the other."""
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], system.variants.shape)
    over = system.variants.over(batch)
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v)]
    known, every = near_rows(system, near, batch), over if batch else None
    return batch, [
        SingleState(over.variants.state(k), every, q_k, v_k, {joint: x[k] for joint, x in known.items()})
        for k, (q_k, v_k) in enumerate(zip(*rows, strict=True))
    ]
