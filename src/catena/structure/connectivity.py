"""The connectivity of a mechanism as Lampariello, Abiko and Hirzinger print it (section II and Tables II and III).

Links are numbered from the base outwards, each before the links beyond it, and the base is link 0. For each link the
table has its parent, a number for those at the end of a chain (1, 2, ... in their order), how many links are connected
together there, and the link that it forms a loop with, -1 if none.

Two things about `connect` are not said in words in the paper and are read off its tables: of links that are locked to
each other in a row each has the number of locked joints among them, and a link that closes a loop has 2, itself and the
other one. (In Table III link 4 must have 2 like link 5, because only two joints of that arm are left afterwards.) The
paper has no link that closes several loops: here `connect` counts all of their links, `cflag` is the first, and `loops`
has all, which the table prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catena.errors import PlanError
from catena.mechanism import GROUND, Mechanism
from catena.mechanism.validation import known
from catena.structure.plan import Plan
from catena.structure.planning import plan as planned
from catena.validation import shown

NO_LOOP = -1


@dataclass(frozen=True)
class Link:
    """A row of the table: the `number` of the link, its bodies by name, and the four indices; `loops` are the numbers
    of all links, smaller than its own, that it closes a loop with."""

    number: int
    bodies: tuple[str, ...]
    parent: int
    end_effector: int
    connect: int
    cflag: int
    loops: tuple[int, ...] = ()


@dataclass(frozen=True)
class Connectivity:
    """The links of a mechanism, without the base, which is link 0; print it for the table."""

    links: tuple[Link, ...]

    def column(self, name: str) -> tuple[int, ...]:
        """Return one of parent, end_effector, connect and cflag for all links."""
        return tuple(getattr(link, name) for link in self.links)

    def __str__(self) -> str:
        heads = ("link", "parent", "end-effector", "connect", "cflag")
        lines = ["  ".join(heads) + "  bodies"]
        for link in self.links:
            closed = ",".join(map(str, link.loops or (link.cflag,)))
            row = (link.number, link.parent, link.end_effector, link.connect, closed)
            cells = (f"{x:>{len(head)}}" for x, head in zip(row, heads, strict=True))
            lines.append("  ".join(cells) + "  " + ", ".join(link.bodies))
        return "\n".join(lines)


def connectivity(plan: Plan, base: str = GROUND) -> Connectivity:
    """Return the table of a plan: one link for each node, as the bodies move now. `base` is the body of link 0; links
    between it and ground, such as the ground itself under a floating base, are left out."""
    return _table(plan, base, {})


def connectivity_before(mechanism: Mechanism, base: str = GROUND) -> Connectivity:
    """Return the table of a mechanism before locked joints are taken out: one link for each body, with `connect`
    telling which ones are going to be one. `base` is that of `connectivity`."""
    if not isinstance(mechanism, Mechanism):
        raise PlanError(f"connectivity_before needs a mechanism, found {shown(mechanism)}: give a Mechanism")
    locked = {name for name, joint in mechanism.joints.items() if joint.locked}
    whole = mechanism.unlock(tuple(locked)) if locked else mechanism
    cut = tuple(loop for loop in planned(mechanism).loops if loop not in locked)
    plan = planned(whole, cut=cut)
    parents = {i: int(plan.parent[i]) for i in range(1, plan.n) if plan.joint[i] in locked}
    return _table(plan, base, _runs(parents))


def _runs(parents: dict[int, int]) -> dict[int, int]:
    """Return for each locked node how many locked nodes hang together with it, given the parents of those."""
    first: dict[int, int] = {}
    for i in sorted(parents):
        first[i] = first[parents[i]] if parents[i] in parents else i
    sizes: dict[int, int] = {}
    for i in first.values():
        sizes[i] = sizes.get(i, 0) + 1
    return {i: sizes[first[i]] for i in parents}


def _table(plan: Plan, base: str, connected: dict[int, int]) -> Connectivity:
    known("body", base, plan.body_node, "connectivity")
    zero = plan.body_node[base]
    nodes = [i for i in range(1, plan.n) if i == zero or zero in _path(plan, i)] if zero else range(1, plan.n)
    number = {node: k for k, node in enumerate([zero, *(i for i in nodes if i != zero)])}
    if zero:
        number[0] = 0  # what the base itself hangs on
    closed = _closed(plan, number)
    parents = {int(plan.parent[i]) for i in nodes}
    ends = [i for i in nodes if i not in parents]
    links = [
        Link(
            number[i],
            plan.bodies[i],
            number[int(plan.parent[i])],
            ends.index(i) + 1 if i in ends else 0,
            1 + len(closed[number[i]]) if number[i] in closed else connected.get(i, 0),
            closed.get(number[i], (NO_LOOP,))[0],
            closed.get(number[i], ()),
        )
        for i in nodes
        if i != zero
    ]
    return Connectivity(tuple(links))


def _closed(plan: Plan, number: dict[int, int]) -> dict[int, tuple[int, ...]]:
    """Return for each link that closes loops the links, of smaller numbers, that it closes them with, each once."""
    found: dict[int, tuple[int, ...]] = {}
    for loop in plan.loop_joints:
        if loop.constraints and {loop.parent_node, loop.child_node} <= number.keys():
            a, b = sorted((number[loop.parent_node], number[loop.child_node]))
            if a != b and a not in found.get(b, ()):
                found[b] = (*found.get(b, ()), a)
    return found


def _path(plan: Plan, node: int) -> Sequence[int]:
    """Return the nodes on the way from a node to ground, itself excepted."""
    way = []
    while node:
        node = int(plan.parent[node])
        way.append(node)
    return way


@dataclass(frozen=True, eq=False)
class Interconnection:
    """The `bodies` (n,) of a plan, those welded together as one entry and ground left out, its tree `joints` (n,) and
    its `loops` (k,) by name. `S0` (n,) and `S` (n, n) are the incidence of tree joints with ground and with bodies, `T`
    (n, n) the path matrix: T[a, i] is -1 where joint a leads to body i. `S0_loops` (k,) and `S_loops` (n, k) are the
    incidence of joints that close loops, from parent to child."""

    bodies: tuple[tuple[str, ...], ...]
    joints: tuple[str, ...]
    loops: tuple[str, ...]
    S0: np.ndarray
    S: np.ndarray
    T: np.ndarray
    S0_loops: np.ndarray
    S_loops: np.ndarray


def interconnection(plan: Plan) -> Interconnection:
    """Return the incidence and path matrices of a plan, those of Wittenburg (van der Merwe, section 1.3).

        S[i, a] = +1 where arc a leaves body i, -1 where it arrives there, T S = 1 in a tree

    An arc is a joint from its parent in the plan to its child; T has of each joint a column with -1 (arcs away from
    ground) for every body beyond it.
    """
    n, k = plan.n, len(plan.loop_joints)
    S, T = np.zeros((n, n), dtype=np.int64), np.zeros((n, n), dtype=np.int64)
    for i in range(1, n):
        S[int(plan.parent[i]), i] += 1
        S[i, i] -= 1
        # What leads to the parent leads here, and its own joint does.
        T[:, i] = T[:, int(plan.parent[i])]
        T[i, i] = -1
    loops = np.zeros((n, k), dtype=np.int64)
    for a, loop in enumerate(plan.loop_joints):
        loops[loop.parent_node, a] += 1
        loops[loop.child_node, a] -= 1
    return Interconnection(
        plan.bodies[1:],
        tuple(plan.joint[1:]),
        plan.loops,
        S[0, 1:],
        S[1:, 1:],
        T[1:, 1:],
        loops[0],
        loops[1:],
    )
