"""The spanning tree against brute force on small graphs: least weight, and no swap makes it shallower."""

from itertools import combinations

import numpy as np
import pytest

from catena.structure.spanning_tree import UNREACHED, VIRTUAL, least_dof_tree, preorder


def random_graph(seed):
    random = np.random.default_rng(seed)
    count = int(random.integers(2, 8))
    edges = [(int(random.integers(i)), i, int(random.integers(1, 4))) for i in range(1, count)]
    for _ in range(random.integers(0, 6)):
        a, b = random.choice(count, size=2, replace=False)
        edges.append((int(a), int(b), int(random.integers(1, 4))))
    order = random.permutation(len(edges))
    return count, [edges[k] for k in order]


def depths(count, edges, chosen):
    """Depths of the tree made of the chosen edges, or None if it does not reach every node."""
    depth, changed = {0: 0}, True
    while changed:
        changed = False
        for k in chosen:
            a, b, _ = edges[k]
            for near, far in ((a, b), (b, a)):
                if near in depth and far not in depth:
                    depth[far], changed = depth[near] + 1, True
    return depth if len(depth) == count else None


@pytest.mark.parametrize("seed", range(60))
def test_no_other_tree_is_cheaper_and_no_swap_makes_it_shallower(seed):
    count, edges = random_graph(seed)
    tree = least_dof_tree(count, edges)
    chosen = set(tree.via[1:])
    weight = sum(edges[k][2] for k in chosen)
    own = depths(count, edges, chosen)
    assert len(chosen) == count - 1
    assert [own[i] for i in range(count)] == tree.depth
    for other in combinations(range(len(edges)), count - 1):
        reach = depths(count, edges, other)
        if reach is None:
            continue
        cost = sum(edges[k][2] for k in other)
        assert cost >= weight
        if cost == weight and len(chosen - set(other)) == 1:
            assert sum(reach.values()) >= sum(own.values())


def test_equal_weights_give_the_breadth_first_tree():
    ring = [(i, (i + 1) % 9, 1) for i in range(9)]
    assert least_dof_tree(9, ring).depth == [0, 1, 2, 3, 4, 4, 3, 2, 1]


def test_an_exchange_lowers_a_tree_that_growing_alone_leaves_deep():
    """A chain 1-2-3-4 of cheap edges hangs on ground by one of three dear edges: the middle is best."""
    edges = [(0, 1, 2), (1, 2, 1), (2, 3, 1), (3, 4, 1), (0, 4, 2), (0, 2, 2)]
    tree = least_dof_tree(5, edges)
    assert tree.via[2] == 5 and tree.parent[2] == 0
    assert tree.depth == [0, 2, 1, 2, 3]
    assert tree.parent[1] == 2 and tree.via[1] == 1


def test_a_tie_goes_to_the_edge_that_was_added_first():
    assert least_dof_tree(2, [(0, 1, 1), (0, 1, 1)]).via[1] == 0


def test_nodes_without_a_path_stay_unreached():
    tree = least_dof_tree(4, [(0, 1, 1), (2, 3, 1)])
    assert tree.depth == [0, 1, UNREACHED, UNREACHED]
    assert tree.reached(1) and not tree.reached(2)


def test_a_pinned_node_hangs_from_ground_and_carries_all_it_reaches():
    edges = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 3, 1), (0, 4, 1)]
    tree = least_dof_tree(5, edges, pinned=3)
    assert tree.parent == [0, 2, 3, 0, 0]
    assert tree.via == [VIRTUAL, 1, 2, VIRTUAL, 4]


def test_the_exchange_does_not_bypass_a_pinned_node():
    """An edge from ground to node 3 would make node 3 shallower, but it has to hang on the pinned one."""
    edges = [(1, 2, 1), (2, 3, 1), (0, 3, 1), (0, 2, 1), (0, 4, 1)]
    tree = least_dof_tree(5, edges, pinned=1)
    assert tree.depth == [0, 1, 2, 3, 1]


def test_preorder_keeps_subtrees_together_and_children_in_edge_order():
    #      0 - 1 - 3
    #       \   \- 4
    #        2
    edges = [(0, 2, 1), (0, 1, 1), (1, 4, 1), (1, 3, 1)]
    assert preorder(least_dof_tree(5, edges)) == [0, 2, 1, 4, 3]
