"""Bridges of graphs, against the definition: without a bridge the graph falls into more parts."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, four_bar, free_flyer, nested_loops, stewart
from catena.structure.bridges import bridge_joints, bridges


def parts(nodes, edges):
    group = list(range(nodes))
    for a, b in edges:
        group = [group[a] if g == group[b] else g for g in group]
    return len(set(group))


@pytest.mark.parametrize("seed", range(30))
def test_without_a_bridge_a_graph_falls_into_more_parts(seed):
    random = np.random.default_rng(seed)
    nodes = int(random.integers(1, 9))
    edges = [tuple(int(k) for k in random.integers(nodes, size=2)) for _ in range(random.integers(0, 12))]
    whole = parts(nodes, edges)
    expected = [k for k in range(len(edges)) if parts(nodes, edges[:k] + edges[k + 1 :]) > whole]
    assert bridges(nodes, edges) == expected


def test_joints_of_a_tree_are_bridges_and_those_of_loops_are_none():
    assert set(bridge_joints(chain(2000).system().plan)) == set(chain(2000).joints)
    for mechanism in (four_bar(), stewart(), nested_loops(2)):
        assert bridge_joints(mechanism.system().plan) == ()


def test_which_joints_are_bridges_does_not_depend_on_the_plan():
    mechanism = four_bar()
    mechanism.add_body("tip", 1.0, inertia=0.1)
    mechanism.add_joint("wrist", "coupler", "tip", ct.Spherical())
    for options in ({}, {"root": "tip"}, {"cut": ["A"]}, {"root": "rocker", "cut": ["B"]}):
        assert bridge_joints(mechanism.system(**options).plan) == ("wrist",)
    floating = free_flyer()
    for root in (None, list(floating.bodies)[3]):
        assert set(bridge_joints(floating.system(root=root).plan)) == set(floating.joints)
