"""Parts of a mechanism that can be computed at the same time: sub-trees on a common trunk, and what loops join to them.

Lilly and Orin give every chain of a simple closed chain a processor of its own, and one more to the reference member.
Here the trunk is whatever large sub-trees hang on, and every body that loops join with several others (an object that
many arms hold) with all that carries it. What is left are sub-trees of moderate size. Those that loops join to each
other belong together; where so many do that they would be too large, as four-bars in a row, they are cut into pieces
along the row, and the row is eliminated from both its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.structure.plan import Plan

# A mechanism is divided into about so many parts, enough for a dozen threads, if it has at least so many bodies.
PARTS, LEAST_BODIES = 16, 48
# Neighbouring parts make a wing; what wings do to one body is summed up in pairs.
PARTS_OF_A_WING = 2
# A body that loops join with at least so many other sub-trees belongs to the trunk.
MANY = 3
# A trunk with more than this part of the bodies leaves nothing worth sharing.
MOST_OF_IT = 0.6


@dataclass(frozen=True, eq=False)
class Branches:
    """The part (n,) that each node belongs to, 0 for the trunk and the ground; `turn` maps nodes of sub-trees in a row
    to when they are best eliminated: from one end to the middle, then from the other end; `late` has those where the
    halves meet."""

    part: np.ndarray
    turn: dict[int, int]
    late: frozenset[int]

    @property
    def count(self) -> int:
        """Return the number of parts beside the trunk."""
        return int(self.part.max(initial=0))

    @property
    def wings(self) -> tuple[int, ...]:
        """Return the wing of each node, from 1 on, 0 for the trunk; nothing where there are no parts."""
        return tuple(wing_of(self.part).tolist()) if self.count else ()


def wing_of(part: np.ndarray) -> np.ndarray:
    """Return the wings that parts belong to."""
    return (part + PARTS_OF_A_WING - 1) // PARTS_OF_A_WING


def branches(plan: Plan) -> Branches:
    """Return the parts of a plan. A small mechanism, or one whose trunk is most of it, is trunk altogether."""
    n = plan.n
    whole = Branches(np.zeros(n, dtype=np.int64), {}, frozenset())
    if n <= LEAST_BODIES:
        return whole
    parent = plan.parent.tolist()
    pairs = _joined(plan)
    target = max(1, (n - 1) // PARTS)
    trunk = _trunk(parent, pairs, target)
    if sum(trunk) > MOST_OF_IT * n:
        return whole
    # The lowest node of the sub-tree that each node belongs to.
    base = list(range(n))
    for i in range(1, n):
        if not trunk[i] and not trunk[parent[i]]:
            base[i] = base[parent[i]]
    size = np.bincount(base, minlength=n)
    rows, turns, late = _rows(
        [i for i in range(1, n) if base[i] == i and not trunk[i]], base, trunk, pairs, size
    )
    part = np.zeros(n, dtype=np.int64)
    number, filled = 1, 0
    for row in rows:
        # What loops join stays in one part if it is not too large.
        joined = sum(size[b] for b in row)
        if filled and filled + min(joined, target) > 1.25 * target:
            number, filled = number + 1, 0
        for b in row:
            if filled >= target and joined > 1.5 * target:
                number, filled = number + 1, 0
            part[b], filled = number, filled + size[b]
    part = np.where(trunk, 0, part[base])
    turn = {i: turns[base[i]] for i in range(n) if base[i] in turns}
    return Branches(part, turn, frozenset(late)) if part.max() > 1 else whole


def _joined(plan: Plan) -> list[tuple[int, int]]:
    """Return the pairs of nodes that loops and couplings join, without the ground."""
    found = [(j.parent_node, j.child_node) for j in plan.loop_joints]
    for coupling in plan.couplings:
        nodes = sorted(coupling.nodes(plan))
        found += list(zip(nodes, nodes[1:], strict=False))
    return [(a, b) for a, b in found if a and b and a != b]


def _trunk(parent: Sequence[int], pairs: Sequence[tuple[int, int]], target: int) -> list[bool]:
    """Return which nodes are of the trunk: what more than `target` bodies hang on, and what loops join with many."""
    n = len(parent)
    hanging, root = [1] * n, list(range(n))
    for i in range(1, n):
        root[i] = i if parent[i] == 0 else root[parent[i]]
    for i in range(n - 1, 0, -1):
        hanging[parent[i]] += hanging[i]
    others: list[set[int]] = [set() for _ in range(n)]
    for a, b in pairs:
        others[a].add(b if root[a] == root[b] else -root[b])
        others[b].add(a if root[a] == root[b] else -root[a])
    trunk = [i == 0 or hanging[i] > target or len(others[i]) >= MANY for i in range(n)]
    for i in range(n - 1, 0, -1):
        if trunk[i]:
            trunk[parent[i]] = True
    return trunk


def _rows(
    bases: Sequence[int], base: Sequence[int], trunk: Sequence[bool], pairs: Sequence[tuple[int, int]], size: np.ndarray
) -> tuple[list[list[int]], dict[int, int], set[int]]:  # fmt: skip
    """Return sub-trees, known by their bases, in rows of those that loops join, each from one of its ends to the other;
    their turns; and the nodes behind the middles that loops join to what is before."""
    beside: dict[int, list[int]] = {b: [] for b in bases}
    across = [(a, b) for a, b in pairs if not trunk[a] and not trunk[b] and base[a] != base[b]]
    for a, b in across:
        beside[base[a]].append(base[b])
        beside[base[b]].append(base[a])
    rows, turns, behind = list[list[int]](), dict[int, int](), set[int]()
    late, seen = set[int](), set[int]()
    for b in bases:
        if b in seen:
            continue
        # What is reached last from anywhere is an end.
        row = _reached(_reached(b, beside)[-1], beside)
        seen.update(row)
        rows.append(row)
        ends = np.cumsum([size[x] for x in row])
        if len(row) > 1:
            behind |= {x for x, end in zip(row, ends, strict=True) if 2 * end > ends[-1]}
            turns |= {x: 2 * len(row) - k if x in behind else k for k, x in enumerate(row)}
    for pair in across:
        for x, y in (pair, pair[::-1]):
            if base[x] in behind and base[y] not in behind:
                late.add(x)
    return rows, turns, late


def _reached(start: int, beside: dict[int, list[int]]) -> list[int]:
    """Return what is reached from a sub-tree over loops, the nearest first."""
    row, seen = [start], {start}
    for x in row:
        for y in beside[x]:
            if y not in seen:
                seen.add(y)
                row.append(y)
    return row
