"""The forces of actuated joints that hold a mechanism at rest, as a formula: what `GravityCompensation` finds by
numbers, without branches, for the compiled step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.simulation.control.mobility import JointMobility
from catena.simulation.control.straight_algebra import Singular, among, dot, largest
from catena.spatial.scalars import absolute, array, less, where
from catena.thresholds import RANK_ACTUATED


def holding_forces(
    mobility: JointMobility, lever: Sequence[float], acting: Sequence[int], most_left: float
) -> Any:
    """Return tau (nv,) of the components `acting`, the smallest beside levers (nv,), under which a mechanism with loops
    accelerates least at rest; not a number where more than the part `most_left` of the load is left."""
    n, per = len(mobility.load), mobility.per
    units = [a * b for a, b in zip(lever, per, strict=True)]
    effect = [mobility.in_energy(among(n, [i], [units[i]])) for i in acting]
    wanted = mobility.in_energy(mobility.load)
    found = Singular([[column[i] for column in effect] for i in range(n)], wanted)
    most = largest([*found.squares, *(x * x for x in units)])
    kept = [less(RANK_ACTUATED**2 * most, square) for square in found.squares]
    x, _ = found.smallest(kept, 0.0)
    tau = among(n, acting, [a * lever[i] for a, i in zip(x, acting, strict=True)])
    left = [a - dot([column[i] for column in effect], x) for i, a in enumerate(wanted)]
    load = mobility.unheld(mobility.load)
    return _held(tau, dot(left, left), dot(load, load), most_left**2)


def held_in_tree(load: Sequence[Any], actuated: np.ndarray, most_left: float) -> Any:
    """Return the load (nv,) of a tree where joints are `actuated` (nv,); not a number where more than the part
    `most_left` of the largest is elsewhere."""
    tau = [x if a else 0.0 for x, a in zip(load, actuated, strict=True)]
    if actuated.all() or not np.isfinite(most_left):
        return array(tau)
    idle = largest([absolute(x) for x, a in zip(load, actuated, strict=True) if not a])
    return _held(tau, idle, largest([absolute(x) for x in load]), most_left)


def _held(tau: Sequence[Any], missing: Any, load: Any, most_left: float) -> Any:
    """Return forces, or what is not a number where too much is missing: who asks then asks Python, which has words."""
    if not np.isfinite(most_left):
        return array(list(tau))
    lost = less(most_left * load, missing)
    return array([where(lost, np.nan, x) for x in tau])
