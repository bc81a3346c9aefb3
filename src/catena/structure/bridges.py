"""The joints of a plan that no loop moves: bridges of the graph, on which two parts of the mechanism hang together.

Velocities of the other joints depend on each other, those of bridges on nothing. Which joints are bridges is a matter
of the mechanism: however it is planned, they are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from catena.structure.plan import Plan

# What the name of the joint that pins a root begins with; nobody described it.
_PIN = "root:"


def bridge_joints(plan: Plan) -> tuple[str, ...]:
    """Return the names of the joints, of the tree or left out of it, that are on no cycle of constraints.

    A joint of six degrees of freedom constrains nothing, so a cycle that it closes is none. A coupled joint depends on
    those that it is coupled to. The modes of flexible bodies are not among them.
    """
    arms = set() if plan.parts is None else {*plan.joint} - {*plan.parts.described}
    edges = [
        (int(plan.parent[i]), i, plan.joint[i], 0 if plan.joint[i] in arms else int(plan.v_size[i]))
        for i in range(1, plan.n)
        if not plan.joint[i].startswith(_PIN)
    ]
    edges += [(loop.parent_node, loop.child_node, loop.name, loop.kind.nv) for loop in plan.loop_joints]
    alone = set(bridges(plan.n, [edge[:2] for edge in edges]))
    edges = [edge for k, edge in enumerate(edges) if k in alone or edge[3] < 6]
    tied = {term.joint for coupling in plan.couplings for term in coupling.terms} | arms
    found = bridges(plan.n, [edge[:2] for edge in edges])
    return tuple(edges[k][2] for k in found if edges[k][2] not in tied)


def bridges(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of the edges without which the graph falls into more parts than with them.

    Tarjan: in a walk that goes deep first, an edge is a bridge if nothing beyond it leads back before it.
    """
    around: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for number, (a, b) in enumerate(edges):
        around[a].append((b, number))
        around[b].append((a, number))
    reached, back = [0] * nodes, [0] * nodes
    found, count = [], 0
    for start in range(nodes):
        if reached[start]:
            continue
        count += 1
        reached[start] = back[start] = count
        way = [(start, -1, iter(around[start]))]
        while way:
            node, by, rest = way[-1]
            other, number = next(rest, (-1, -1))
            if other < 0:
                way.pop()
                if way:
                    before = way[-1][0]
                    back[before] = min(back[before], back[node])
                    if back[node] > reached[before]:
                        found.append(by)
            elif number == by:
                continue
            elif reached[other]:
                back[node] = min(back[node], reached[other])
            else:
                count += 1
                reached[other] = back[other] = count
                way.append((other, number, iter(around[other])))
    return sorted(found)
