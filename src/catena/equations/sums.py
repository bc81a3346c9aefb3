"""Sums of an expression graph taken in another order: one term after the other, or in pairs as a tree.

Additions are the only operations whose order may be chosen, and the length of a critical path depends on it. A sum is a
group of additions and subtractions of which only the last is used by anything else.
"""

import heapq
from collections.abc import Callable, Mapping

import numpy as np

from catena.equations.building import GraphBuilder
from catena.equations.graph import CONSTANT, INPUT, ExpressionGraph

Cost = Callable[[str], float]
WRITTEN, IN_TURN, TREES = "written", "in turn", "trees"
ORDERS = (WRITTEN, IN_TURN, TREES)
"""As the source has them; one term after the other; the two terms that are there first, again and again."""


def with_sums(graph: ExpressionGraph, order: str, cost: Cost) -> ExpressionGraph:
    """Return the graph with its sums taken `in turn` or as `trees`; values change by rounding only. `cost` says how
    long an operation takes, which trees depend on."""
    if order == WRITTEN:
        return graph
    return _Resummed(graph, order == TREES, cost).graph()


class _Resummed:
    def __init__(self, graph: ExpressionGraph, trees: bool, cost: Cost) -> None:
        self.old, self.trees, self.cost = graph, trees, cost
        inputs = {n: np.zeros(size) for n, size in graph.inputs.items()}
        done = [(graph.op[k], *graph.operands(k)) for k in graph.operations.tolist()]
        # Where something is done twice because it was written twice, that stays so.
        self.builder = GraphBuilder(inputs, literal=True, shared=len(set(done)) == len(done))
        self.ready: list[float] = [0.0] * len(self.builder.op)
        uses = np.zeros(len(graph), dtype=np.int64)
        for k in graph.operations.tolist():
            for operand in graph.operands(k):
                uses[operand] += 1
        for where in graph.outputs.values():
            # A result is used by whoever asked for it.
            np.add.at(uses, where.ravel(), 2)
        self.inner = {
            o
            for k in graph.operations.tolist() if graph.op[k] in _SUMS
            for o in graph.operands(k) if graph.op[o] in _SUMS and uses[o] == 1
        }  # fmt: skip

    def graph(self) -> ExpressionGraph:
        """Return every operation again, sums in the order asked for."""
        old, new = self.old, {}
        for k, op in enumerate(old.op):
            self.builder.set_owner(int(old.owner[k]))
            if op == CONSTANT:
                new[k] = self._made(self.builder.constant(float(old.value[k])), 0.0)
            elif op == INPUT:
                new[k] = self.builder.entries[old.left[k]][old.right[k]]
            elif k in self.inner:
                continue
            elif op in _SUMS:
                new[k] = self._sum(self._terms(k, 1, new))
            else:
                new[k] = self._do(op, *(new[o] for o in old.operands(k)))
        shapes = {n: where.shape for n, where in old.outputs.items()}
        results = [new[int(k)] for where in old.outputs.values() for k in where.ravel()]
        return self.builder.finish(old.name, shapes, results, old.calls, old.parameters)

    def _terms(self, k: int, sign: int, new: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return the terms of a sum with their signs, in the order in which they are written."""
        op, terms = self.old.op[k], []
        for position, operand in enumerate(self.old.operands(k)):
            inner = -sign if op == "neg" or (op == "sub" and position == 1) else sign
            if operand in self.inner:
                terms += self._terms(operand, inner, new)
            else:
                terms.append((inner, new[operand]))
        return terms

    def _sum(self, terms: list[tuple[int, int]]) -> int:
        if not self.trees:
            # A sum that begins with a minus begins with its first plus, if it has one.
            first = next((i for i, (sign, _) in enumerate(terms) if sign > 0), 0)
            total = terms.pop(first)
            for term in terms:
                total = self._pair(total, term)
        else:
            heap = [(self.ready[node], i, (sign, node)) for i, (sign, node) in enumerate(terms)]
            heapq.heapify(heap)
            count = len(heap)
            while len(heap) > 1:
                _, _, a = heapq.heappop(heap)
                _, _, b = heapq.heappop(heap)
                both = self._pair(a, b)
                heapq.heappush(heap, (self.ready[both[1]], count, both))
                count += 1
            total = heap[0][2]
        sign, node = total
        return node if sign > 0 else self._do("neg", node)

    def _pair(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        (s, x), (t, y) = a, b
        if s == t:
            return s, self._do("add", x, y)
        return (1, self._do("sub", x, y)) if s > 0 else (1, self._do("sub", y, x))

    def _do(self, op: str, *operands: int) -> int:
        done = max(self.ready[o] for o in operands) + self.cost(op)
        return self._made(self.builder.node(op, *operands), done)

    def _made(self, node: int, done: float) -> int:
        while len(self.ready) <= node:
            self.ready.append(done)
        return node


_SUMS = frozenset({"add", "sub", "neg"})
