"""The spanning tree of least total dof, and among those a shallow one. Integers only: nodes, edges,
weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

UNREACHED = -1
VIRTUAL = -1

Edge = tuple[int, int, int]


@dataclass
class Tree:
    """A rooted tree over nodes 0, 1, ...; node 0 is the root.

    `parent[i]` and `depth[i]` are UNREACHED for nodes that no edge connects; `via[i]` is the index of the
    edge from the parent to i, or VIRTUAL for the pinned node, which hangs from node 0 without an edge.
    """

    parent: list[int]
    depth: list[int]
    via: list[int]

    def reached(self, node: int) -> bool:
        """Return whether the tree contains the node."""
        return self.depth[node] != UNREACHED


def least_dof_tree(count: int, edges: Sequence[Edge], pinned: int | None = None) -> Tree:
    """Return a spanning tree of least total weight over `count` nodes, rooted at node 0.

    An edge is (a, b, weight). Prim's algorithm takes the cheapest edge that leaves the tree; of equally
    cheap ones that of the shallowest node, then the earliest in `edges`; a pass of exchanges then lowers
    the sum of the depths further where swapping two edges of equal weight does so. A `pinned` node hangs
    directly from node 0, and the nodes it reaches without passing through node 0 hang from it.
    """
    tree = Tree([UNREACHED] * count, [UNREACHED] * count, [VIRTUAL] * count)
    touching: list[list[int]] = [[] for _ in range(count)]
    for index, (a, b, _) in enumerate(edges):
        touching[a].append(index)
        touching[b].append(index)
    tree.parent[0], tree.depth[0] = 0, 0
    usable: Sequence[int] = range(len(edges))
    if pinned is not None and pinned != 0:
        tree.parent[pinned], tree.depth[pinned] = 0, 1
        _grow(tree, pinned, edges, touching)
        usable = [k for k in usable if not _bypasses_pinned(tree, edges[k])]
    _grow(tree, 0, edges, touching)
    if len(edges) >= count:  # fewer edges than nodes cannot close a cycle unless a node is left unreached
        _lower(tree, edges, usable)
    return tree


def _bypasses_pinned(tree: Tree, edge: Edge) -> bool:
    """Return whether an edge leads from ground into what hangs from the pinned node; asked before the rest of the
    tree grows."""
    a, b, _ = edge
    return (a == 0 and tree.reached(b)) or (b == 0 and tree.reached(a))


def _grow(tree: Tree, start: int, edges: Sequence[Edge], touching: Sequence[Sequence[int]]) -> None:
    """Extend the tree from `start` to every node its edges reach (Prim)."""
    depth, parent, via = tree.depth, tree.parent, tree.via
    heap: list[tuple[int, int, int, int, int]] = []
    node = start
    while True:
        for index in touching[node]:
            a, b, weight = edges[index]
            other = b if a == node else a
            if depth[other] == UNREACHED:
                heappush(heap, (weight, depth[node], index, node, other))
        while heap:
            _, _, index, source, node = heappop(heap)
            if depth[node] == UNREACHED:
                parent[node], depth[node], via[node] = source, depth[source] + 1, index
                break
        else:
            return


def _lower(tree: Tree, edges: Sequence[Edge], usable: Sequence[int]) -> None:
    """Swap edges of equal weight as long as a swap lowers the sum of the depths."""
    improved = True
    while improved:
        improved = False
        used = set(tree.via)
        for index in usable:
            a, b, weight = edges[index]
            if index in used or not (tree.reached(a) and tree.reached(b)):
                continue
            shallow, deep = (a, b) if tree.depth[a] < tree.depth[b] else (b, a)
            if tree.depth[shallow] + 1 >= tree.depth[deep]:
                continue  # hanging the deep end under the shallow one could not raise any node
            cut = _best_cut(tree, edges, shallow, deep, weight)
            if cut is not None:
                _rehang(tree, shallow, deep, cut, index)
                used = set(tree.via)
                improved = True


def _best_cut(tree: Tree, edges: Sequence[Edge], shallow: int, deep: int, weight: int) -> int | None:
    """Return the node above which to cut so that hanging `deep` under `shallow` lowers the depths most, or None if
    nothing does.

    Only tree edges of the given weight on the cycle may be cut, so that the total stays least.
    """
    ancestors = set()
    node = shallow
    while node != 0:
        ancestors.add(node)
        node = tree.parent[node]
    ancestors.add(0)
    sizes = _subtree_sizes(tree)
    shift = tree.depth[shallow] + 1 - tree.depth[deep]
    change, below, best, best_change = 0, 0, None, 0
    node = deep
    while node not in ancestors:
        change += shift * (sizes[node] - below)
        below = sizes[node]
        shift += 2
        edge = tree.via[node]
        if edge != VIRTUAL and edges[edge][2] == weight and change < best_change:
            best, best_change = node, change
        node = tree.parent[node]
    return best


def _subtree_sizes(tree: Tree) -> list[int]:
    sizes = [1] * len(tree.parent)
    for node in sorted(range(1, len(sizes)), key=lambda i: -tree.depth[i]):
        if tree.reached(node):
            sizes[tree.parent[node]] += sizes[node]
    return sizes


def _rehang(tree: Tree, shallow: int, deep: int, cut: int, index: int) -> None:
    """Reverse the path from `deep` up to `cut`, hang it under `shallow` by edge `index`, and renew the
    depths."""
    node, above, edge = deep, shallow, index
    while True:
        next_node, next_edge = tree.parent[node], tree.via[node]
        tree.parent[node], tree.via[node] = above, edge
        if node == cut:
            break
        above, edge, node = node, next_edge, next_node
    children: list[list[int]] = [[] for _ in tree.parent]
    for child in range(1, len(tree.parent)):
        if tree.reached(child):
            children[tree.parent[child]].append(child)
    tree.depth[deep] = tree.depth[shallow] + 1
    stack = [deep]
    while stack:
        node = stack.pop()
        for child in children[node]:
            tree.depth[child] = tree.depth[node] + 1
            stack.append(child)


def preorder(tree: Tree) -> list[int]:
    """Return the reached nodes so that a parent precedes its children and every subtree is contiguous; children in
    edge order."""
    children: list[list[int]] = [[] for _ in tree.parent]
    for node in range(1, len(tree.parent)):
        if tree.reached(node):
            children[tree.parent[node]].append(node)
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        below = children[node]
        if len(below) > 1:
            below.sort(key=lambda i: -tree.via[i])
        stack.extend(below)
    return order
