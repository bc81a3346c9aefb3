"""Contacts that friction may lift, so that each has several forces by itself: the law for all of them, and steps in
which contacts give."""

import numpy as np
import pytest

from catena.errors import SimulationError
from catena.simulation.contacts.careful import pressed_softly
from catena.simulation.contacts.coulomb import pressed
from catena.spatial.vectors import skew

FEET = np.array([[0.1, 0.1, -0.1], [0.1, -0.1, -0.1], [-0.1, 0.1, -0.1], [-0.1, -0.1, -0.1]])
NAMES, MU = tuple("abcd"), np.full(4, 0.9)


def four_feet(seed):
    """A light body that is hard to turn in some ways lands on four feet, which turn within a step besides: mobility and
    velocities."""
    rng = np.random.default_rng(seed)
    A = np.array([np.concatenate([-skew(p), np.eye(3)], axis=1) for p in FEET])
    held = rng.standard_normal((6, 2))
    M = np.diag(10.0 ** np.array([-2.5, -2.5, -2.5, 0.0, 0.0, 0.0])) + held @ held.T
    c = A @ rng.standard_normal(6)
    return np.einsum("iad,de,jbe->iajb", A, np.linalg.inv(M), A), c + 1e-5 * rng.standard_normal(c.shape)


def left_of_the_law(W, c, f):
    """What is left of Coulomb's law, as velocities."""
    r = c + np.einsum("iajb,jb->ia", W, f)
    onto = f - r
    n = np.maximum(onto[:, 2], 0.0)
    size = np.linalg.norm(onto[:, :2], axis=1)
    onto[:, :2] *= np.minimum(1.0, MU * n / np.maximum(size, 1e-300))[:, None]
    return np.abs(f - np.column_stack([onto[:, :2], n])).max()


@pytest.mark.parametrize("seed", [461, 2625])
def test_sweeps_that_go_round_are_followed_by_others(seed):
    W, c = four_feet(seed)
    found = pressed(W, c, MU, [None] * 4, NAMES)
    assert left_of_the_law(W, c, found.f) < 1e-9


def test_feet_that_contradict_each_other_give_a_little():
    W, c = four_feet(729)
    with pytest.raises(SimulationError, match="No forces were found"):
        pressed(W, c, MU, [None] * 4, NAMES)
    found, gives = pressed_softly(W, c, MU, NAMES, np.zeros((4, 3)))
    assert gives == 1e-6
    # What is left is what feet give.
    assert left_of_the_law(W, c, found.f) < 10.0 * gives * np.einsum("iaia->i", W).max() * found.f.max()
