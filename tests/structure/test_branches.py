"""Parts of a mechanism that are computed at the same time."""

import numpy as np
import pytest

from catena.mechanism.generators import arms_on_object, chain, n_four_bars, random_mechanism, tree
from catena.structure import BodyGoes, branches, elimination_order


@pytest.mark.parametrize("seed", range(6))
def test_a_part_is_left_only_for_the_trunk(seed):
    plan = random_mechanism(seed, bodies=150, loops=seed).system().plan
    part = branches(plan).part
    for i in range(1, plan.n):
        below = part[plan.parent[i]]
        assert below in (0, part[i])


def test_an_object_that_many_hold_is_of_the_trunk():
    system = arms_on_object(20).system()
    plan, part = system.plan, branches(system.plan).part
    held = plan.body_node["object"]
    assert part[held] == 0 and branches(plan).count >= 8
    # Every arm but that which carries the object is in one part.
    for k in range(20):
        nodes = [plan.body_node[f"arm{k + 1}/link{i}"] for i in range(1, 6)]
        assert len({int(part[i]) for i in nodes}) == 1


def test_a_chain_has_no_parts():
    assert branches(chain(200).system().plan).count == 0


def test_parts_are_about_as_large():
    sizes = np.bincount(branches(tree(1000).system().plan).part)[1:]
    assert len(sizes) > 8 and sizes.max() < 2 * sizes.mean()


def test_four_bars_in_a_row_are_eliminated_from_both_ends():
    plan = n_four_bars(60).system().plan
    order = elimination_order(plan)
    bodies = [step.node for step in order if isinstance(step, BodyGoes)]
    first, last = plan.body_node["rod0"], plan.body_node["rod60"]
    middle = {plan.body_node[f"rod{k}"] for k in range(25, 36)}
    assert {first, last} & set(bodies[:3])
    assert max(bodies.index(first), bodies.index(last)) < 70
    assert bodies[-1] in middle | {plan.body_node[f"bar{k}"] for k in range(25, 36)}
    # Still linear: no loop ever acts on another.
    assert not any(step.crossed for step in order if isinstance(step, BodyGoes))
