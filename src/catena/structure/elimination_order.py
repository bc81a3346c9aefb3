"""In which order the accelerations of bodies and the multipliers of loops are eliminated.

Bodies go children first, as in a tree. A loop holds at most two bodies; when one of them is eliminated, the
loop holds its parent instead, until it holds one body only, or none but the ground. Then its multiplier can
go. Two loops that pass through the same joint act on each other from then on, which costs; so among the
bodies that are free to go, those held by the fewest loops go first, and a loop that holds only one body goes
before that body passes it on together with others. Chains that share a load form a star, four-bars in a row a
path: both are eliminated in linear time.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from catena.structure.branches import branches
from catena.structure.plan import Plan


@dataclass(frozen=True)
class BodyGoes:
    """A body is eliminated onto its parent; `carried` loops hold the parent from then on. A loop's hold on
    the parent, or the effect of two loops on each other, is new (True) or adds to what is there (False)."""

    node: int
    parent: int
    carried: tuple[tuple[int, bool], ...]
    crossed: tuple[tuple[int, int, bool], ...]


@dataclass(frozen=True)
class LoopGoes:
    """A multiplier is eliminated while its loop holds `node` (None: no body is left), and the ground or not.
    It acts on the loops `others`, whose hold on the node is new or not, and on what pairs of them do to each
    other."""

    loop: int
    node: int | None
    ground: bool
    others: tuple[tuple[int, bool], ...]
    pairs: tuple[tuple[int, int, bool], ...]


def elimination_order(plan: Plan) -> list[BodyGoes | LoopGoes]:
    """Return the order for a plan. Loops without constraints, or within one node, take no part. Couplings are counted
    after all loops; they may hold more than two bodies."""
    return _GraphElimination(plan).run()


class _GraphElimination:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        loops = [
            (k, j) for k, j in enumerate(plan.loop_joints) if j.constraints and j.parent_node != j.child_node
        ]
        joined: dict[int, frozenset[int]] = {k: frozenset({j.parent_node, j.child_node}) for k, j in loops}
        self.size = {k: j.constraints for k, j in loops}
        for c, coupling in enumerate(plan.couplings):
            nodes = coupling.nodes(plan)
            if coupling.acts and nodes:
                joined[len(plan.loop_joints) + c] = nodes
                self.size[len(plan.loop_joints) + c] = 1
        self.holds = {k: set(nodes - {0}) for k, nodes in joined.items()}
        self.links = {(k, i) for k, nodes in joined.items() for i in nodes}
        self.at: list[set[int]] = [set() for _ in range(plan.n)]
        for k, held in self.holds.items():
            for i in held:
                self.at[i].add(k)
        self.passed = dict.fromkeys(self.holds, 0)
        self.coupled: dict[int, set[int]] = {k: set() for k in self.holds}
        self.steps: list[BodyGoes | LoopGoes] = []

    def run(self) -> list[BodyGoes | LoopGoes]:
        parent = self.plan.parent.tolist()
        children = [0] * self.plan.n
        for i in range(1, self.plan.n):
            children[parent[i]] += 1
        # Among bodies held by as many loops the one that came up last goes first: it is near what was just
        # done.
        ready: list[tuple[bool, int, bool, int, int]] = []
        parts = branches(self.plan)

        def is_ready(i: int, time: int) -> None:
            # Where the halves of a long row meet is left for last, so that it is eliminated from both ends. The trunk
            # waits for all parts, which are then eliminated at the same time.
            heappush(ready, (i in parts.late, self.degree(i), bool(parts.part[i] == 0), time, i))

        for i in range(1, self.plan.n):
            if children[i] == 0:
                is_ready(i, parts.turn.get(i, 0))
        gone = [False] * self.plan.n
        while ready:
            _, degree, _, time, i = heappop(ready)
            if gone[i]:
                continue
            if degree != self.degree(i):
                is_ready(i, time)
                continue
            gone[i] = True
            self.release_single(i)
            touched = self.body_goes(i, parent[i])
            p = parent[i]
            children[p] -= 1
            now = -len(self.steps)
            if p and children[p] == 0:
                is_ready(p, now)
            for j in touched:
                if j and children[j] == 0 and not gone[j]:
                    is_ready(j, now)
        return self._oriented()

    def degree(self, i: int) -> int:
        """Return how many loops hold a body and another one."""
        return sum(len(self.holds[k]) > 1 for k in self.at[i])

    def release_single(self, i: int) -> None:
        """Let go of the loops that hold only this body, if several hold it or if their chain has moved enough
        to do without the body."""
        while True:
            single = [
                k for k in sorted(self.at[i])
                if len(self.holds[k]) == 1
                and (len(self.at[i]) > 1 or self.passed[k] >= self.size[k])
            ]  # fmt: skip
            if not single:
                return
            self.loop_goes(single[0], i)

    def body_goes(self, i: int, p: int) -> set[int]:
        carried = sorted(self.at[i])
        new_links = []
        touched = set()
        for k in carried:
            new_links.append((k, (k, p) not in self.links))
            if p:
                self.links.add((k, p))
            self.holds[k].discard(i)
            if p:
                self.holds[k].add(p)
                self.at[p].add(k)
            self.passed[k] += int(self.plan.v_size[i])
            touched |= self.holds[k]
        crossed = []
        for a, k in enumerate(carried):
            for other in carried[a + 1 :]:
                crossed.append((k, other, other not in self.coupled[k]))
                self.coupled[k].add(other)
                self.coupled[other].add(k)
        self.at[i].clear()
        self.steps.append(BodyGoes(i, p, tuple(new_links), tuple(crossed)))
        for k in carried:
            if k in self.holds and not self.holds[k]:
                self.loop_goes(k, None)
        return touched

    def loop_goes(self, k: int, node: int | None) -> None:
        others = sorted(self.coupled[k])
        new_links = []
        for other in others:
            self.coupled[other].discard(k)
            is_new = node is not None and (other, node) not in self.links
            new_links.append((other, is_new))
            if node is not None:
                self.links.add((other, node))
                self.holds[other].add(node)
                self.at[node].add(other)
        pairs = []
        for a, one in enumerate(others):
            for two in others[a + 1 :]:
                pairs.append((one, two, two not in self.coupled[one]))
                self.coupled[one].add(two)
                self.coupled[two].add(one)
        if node is not None:
            self.at[node].discard(k)
        del self.holds[k], self.coupled[k]
        self.steps.append(LoopGoes(k, node, (k, 0) in self.links, tuple(new_links), tuple(pairs)))

    def _oriented(self) -> list[BodyGoes | LoopGoes]:
        """Name the loop that goes first first in every pair, so that a pair is one block whoever looks at
        it."""
        rank = {step.loop: n for n, step in enumerate(self.steps) if isinstance(step, LoopGoes)}

        def sort(pairs: tuple[tuple[int, int, bool], ...]) -> tuple[tuple[int, int, bool], ...]:
            return tuple((a, b, new) if rank[a] < rank[b] else (b, a, new) for a, b, new in pairs)

        return [
            BodyGoes(s.node, s.parent, s.carried, sort(s.crossed)) if isinstance(s, BodyGoes)
            else LoopGoes(s.loop, s.node, s.ground, s.others, sort(s.pairs))
            for s in self.steps
        ]  # fmt: skip
