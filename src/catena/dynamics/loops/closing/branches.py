"""All configurations that close the loops for given values: the branches of a linkage.

They are searched for from many starts at once, spread evenly over the turns and slides that are not given, always the
same ones. Whoever closes and was not met before is a branch. The search ends when as many starts again as it took to
meet the last one have met no other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catena.dynamics.loops.closing.quick_assembly import QuickAssembly
from catena.errors import LoopError
from catena.kinematics.extent import characteristic_length
from catena.kinematics.loops.held import Held, free_components
from catena.thresholds import RANK_SEARCHED

# Starts that are tried at once, and how often at most.
PORTION, PORTIONS = 64, 16
# Configurations that differ by no more than this [rad or characteristic lengths] are one.
SAME = 1e-6


def branches(quick: QuickAssembly, held: Sequence[Held], guess: np.ndarray) -> np.ndarray:
    """Return all closed configurations (n, nq) that the search finds for values held (nq of the joint,), those nearest
    to the guess (nq,) first."""
    plan = quick.plan
    for h in held:
        if h.node < 0:
            raise LoopError(
                f"Joint {h.name!r} closes a loop in this plan of {plan.name!r}: plan it with another cut to ask for "
                f"the branches with its position given."
            )
    free = free_components(plan, held)
    columns = np.flatnonzero(free & _on_loops(quick))
    length, rng = characteristic_length(plan), np.random.default_rng(0)
    found: list[np.ndarray] = []
    tried = last = 0
    for _ in range(PORTIONS):
        starts = np.tile(quick.put(guess[None], [_one(h) for h in held]), (PORTION, 1))
        steps = np.zeros((PORTION, plan.nv))
        reach = np.where(quick.turning[columns], np.pi, 2.0 * length)
        steps[:, columns] = reach * rng.uniform(-1.0, 1.0, (PORTION, len(columns)))
        steps[0] = 0.0 if not tried else steps[0]
        q, is_closed = quick.close(quick.moved(starts, steps), np.flatnonzero(free))
        if not found and is_closed.any():
            _require_isolated(quick, q[is_closed], columns)
        for one in q[is_closed]:
            tried += 1
            if not any(_same(quick, one, other) for other in found):
                found.append(one)
                last = tried
        if tried >= 2 * last + PORTION:
            break
    if not found:
        raise LoopError(
            f"No configuration of {plan.name!r} closes the loops with the values given; assemble tells what is left of "
            f"each loop."
        )
    order = np.argsort([np.abs(quick.between(guess[None], one[None]) / quick.units).max() for one in found])
    return np.array([_turned_near(quick, found[k], guess) for k in order])


def _one(h: Held) -> Held:
    return Held(h.name, h.kind, h.node, h.loop, np.atleast_2d(h.value), h.mask)


def _on_loops(quick: QuickAssembly) -> np.ndarray:
    """Return which velocity components move the two sides of a loop against each other."""
    plan = quick.plan
    moves = np.zeros(plan.nv, dtype=bool)
    for i in np.flatnonzero(quick.moves_loops):
        moves[plan.v_of(int(i))] = True
    return moves


def _same(quick: QuickAssembly, a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two configurations differ by whole turns only."""
    way = quick.between(a[None], b[None])[0] / quick.units
    way = np.where(quick.whole_turns, way - 2.0 * np.pi * np.round(way / (2.0 * np.pi)), way)
    return bool(np.abs(way).max(initial=0.0) < SAME)


def _turned_near(quick: QuickAssembly, q: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Return the same configuration with angles less than half a turn from those of the guess."""
    way = quick.between(guess[None], q[None])[0]
    turns = np.where(quick.whole_turns, 2.0 * np.pi * np.round(way / (2.0 * np.pi)), 0.0)
    return quick.moved(q[None], -turns[None])[0]


def _require_isolated(quick: QuickAssembly, found: Sequence[np.ndarray], free: np.ndarray) -> None:
    """Raise where the mechanism can still move with the given values."""
    left = []
    for q in found:
        J = quick.jacobian(q[None], free)[0] * quick.units[free]
        sigma = np.linalg.svd(J, compute_uv=False)
        left.append(len(free) - int(np.sum(sigma > RANK_SEARCHED * sigma.max(initial=1.0))))
    if min(left) > 0:
        raise LoopError(
            f"{quick.plan.name!r} still has {min(left)} degree{'s' if min(left) > 1 else ''} of freedom with what is "
            f"given, so its branches are no single configurations: give the positions of more joints."
        )
