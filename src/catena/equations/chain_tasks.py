"""A chain as a task: what Lilly and Orin, and Nikravesh et al., give to one processor each.

A chain is a row of bodies that hang on one another, up to a body that several of them or loops meet at (a *knot*: the
object that arms hold, the trunk of a humanoid, ground). All that is done for a chain until it needs something from
elsewhere is one task. What is summed up at a knot is tasks of its own, one for each set of chains that are in a sum,
so that sums as trees take a time that grows with the logarithm of how many chains there are.
"""

from collections.abc import Sequence

import numpy as np

from catena.equations.graph import ExpressionGraph
from catena.structure import Plan

_SUMS = ("add", "sub")


def chain_tasks(graph: ExpressionGraph, plan: Plan) -> tuple[np.ndarray, list[str], list[str]]:
    """Return the task of each operation of a graph (-1: none), in an order in which tasks can be done, and of each task
    the body that its chain begins with, or that is a knot, and "chain" or "knot"."""
    chain, is_knot, knot = _chains(plan)
    owners = _owners(graph, plan, chain, is_knot)
    where: dict[int, int] = {}
    turn: dict[int, int] = {}
    summed: dict[int, frozenset[int]] = {}
    keys: dict[int, tuple[int, int, tuple[int, ...], int]] = {}
    for k in graph.operations.tolist():
        needed = [o for o in graph.operands(k) if o in where]
        mine = where[k] = _place(graph.op[k] in _SUMS, owners[k], [where[o] for o in needed], is_knot, knot)
        # Whatever comes from elsewhere begins another turn, so no two tasks wait for each other.
        turn[k] = max((turn[o] + (where[o] != mine) for o in needed), default=0)
        inside = frozenset().union(*(summed[o] for o in needed))
        summed[k] = inside if is_knot[mine] else frozenset((mine,))
        keys[k] = (turn[k], len(inside) if is_knot[mine] else 0, tuple(sorted(summed[k])), mine)
    order = sorted(set(keys.values()))
    number = {key: task for task, key in enumerate(order)}
    task_of = np.full(len(graph), -1, dtype=np.int64)
    for k, key in keys.items():
        task_of[k] = number[key]
    names = ["/".join(plan.bodies[key[3]]) for key in order]
    return task_of, names, ["knot" if is_knot[key[3]] else "chain" for key in order]


def _chains(plan: Plan) -> tuple[list[int], list[bool], list[int]]:
    """Return the node that the chain of each node begins with, which nodes are knots, and the knot that each node hangs
    on or is held to; ground only if there is no other one."""
    meeting = np.bincount(plan.parent[1:], minlength=plan.n)
    for loop in plan.loop_joints:
        meeting[[loop.parent_node, loop.child_node]] += 1
    is_knot = [i == 0 or count > 1 for i, count in enumerate(meeting.tolist())]
    chain = list(range(plan.n))
    for i, p in enumerate(plan.parent.tolist()):
        if not is_knot[i] and not is_knot[p]:
            chain[i] = chain[p]
    knot = [0] * plan.n
    for a, b in [
        *enumerate(plan.parent.tolist()),
        *((j.child_node, j.parent_node) for j in plan.loop_joints),
    ]:
        for mine, other in ((a, b), (b, a)):
            if is_knot[other]:
                knot[chain[mine]] = knot[chain[mine]] or other
    return chain, is_knot, knot


def _owners(
    graph: ExpressionGraph, plan: Plan, chain: Sequence[int], is_knot: Sequence[bool]
) -> dict[int, int | None]:
    """Return the chain or the knot that each operation was made for, None where that was neither a body nor a loop."""
    of_loop = {}
    for loop in plan.loop_joints:
        ends = sorted((loop.child_node, loop.parent_node), key=lambda i: is_knot[i])
        of_loop[f"loop {loop.name}"] = chain[ends[0]]

    def owner(k: int) -> int | None:
        if graph.owner[k] < 0:
            return None
        call = graph.calls[graph.owner[k]]
        return chain[call.owner] if call.owner >= 0 else of_loop.get(call.who)

    return {k: owner(k) for k in graph.operations.tolist()}


def _place(
    is_sum: bool, owner: int | None, sources: Sequence[int], is_knot: Sequence[bool], knot: Sequence[int]
) -> int:
    """Return where an operation is done whose operands come from `sources`: by its owner, except that sums of what
    several chains bring, or of what is at a knot, are the knot's."""
    if owner is None:
        return sources[0] if len(set(sources)) == 1 else 0
    if not is_sum or is_knot[owner] or not sources:
        return owner
    knots = [i for i in sources if is_knot[i]]
    if len(knots) == len(sources):
        return knots[0]
    return owner if all(i == owner or is_knot[i] for i in sources) else (*knots, knot[owner])[0]
