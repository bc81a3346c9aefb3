"""Reactions in compiled lanes against those that NumPy finds with a rank-revealing solution."""

import numpy as np
import pytest

from catena.dynamics.loops import closed_chains
from catena.mechanism.generators import arm7, humanoid, n_four_bars, random_mechanism, stewart
from catena.system import reaction_forces

UNIQUE = {
    "arm": arm7(),
    "humanoid": humanoid(),
    "stewart": stewart(),
    "tree with friction": random_mechanism(3, bodies=6, loops=0, friction=True),
    "loop": random_mechanism(12, bodies=6, loops=1),
}


def closed_states(system, states=5):
    rng = np.random.default_rng(0)
    q = system.integrate(system.neutral(), 0.02 * rng.normal(size=(states, system.nv)))
    q, v = system.project(q, 0.3 * rng.normal(size=(states, system.nv)))
    return q, v, rng.normal(size=(states, system.nv))


def problem(system, q, v, tau):
    return closed_chains.pose_problem(system.mechanics.evaluator, {"q": q, "qd": v, "tau": tau})


def by_numpy(system, *state, monkeypatch, **outside):
    with monkeypatch.context() as patch:
        patch.setattr(reaction_forces, "unique_wrenches", lambda *arguments: None)
        return system.reactions(*state, **outside)


@pytest.mark.parametrize("name", UNIQUE)
def test_unique_reactions_are_found_in_lanes_and_agree(name, monkeypatch):
    mechanism = UNIQUE[name]
    system = mechanism.system()
    state = closed_states(system)
    body = list(mechanism.bodies)[-1]
    outside = {
        "f_ext": {body: [1.0, -2.0, 0.5, 3.0, 1.0, -1.0]},
        "base_acceleration": [0.1, 0, 0.2, 1.0, 0, 0],
    }
    assert reaction_forces.unique_wrenches(problem(system, *state), mechanism) is not None
    fast, slow = (
        system.reactions(*state, **outside),
        by_numpy(system, *state, monkeypatch=monkeypatch, **outside),
    )
    assert list(fast) == list(slow)
    scale = max(np.abs(wrench).max() for wrench in slow.values())
    for joint, wrench in slow.items():
        np.testing.assert_allclose(fast[joint], wrench, rtol=0.0, atol=1e-11 * scale)


def test_reactions_of_redundant_loops_are_left_to_the_rank_revealing_solution():
    mechanism = n_four_bars(2)
    system = mechanism.system()
    posed = problem(system, *closed_states(system))
    assert reaction_forces.unique_wrenches(posed, mechanism) is None
