"""Catena against Pinocchio and MuJoCo: forward and inverse dynamics of random trees over the kinds they
share.

Joints are declared in both directions, bases are fixed or free, and two thirds of the trees have viscous
and Coulomb friction. That the two engines agree with each other is tested in test_peers_agree.py.
"""

import numpy as np
import pytest

from benchmarks.peers import mujoco_calls, pinocchio_calls
from benchmarks.peers.mujoco_model import to_mujoco
from benchmarks.peers.pinocchio_model import to_pinocchio
from benchmarks.states import random_states
from catena.mechanism.generators import arm7, humanoid, random_mechanism

MUJOCO = ["Fixed", "Revolute", "Prismatic", "Cylindrical", "Universal", "Spherical", "Planar", "Free", "Sdof"]
PINOCCHIO = [*MUJOCO, "Helical"]
BATCH = 5


def random_tree(seed, kinds):
    if seed < 2:
        return (arm7, humanoid)[seed]()
    # The first seeds give every kind a tree of its own, so that a failure names it.
    chosen = [kinds[seed - 2]] if seed - 2 < len(kinds) and kinds[seed - 2] != "Fixed" else kinds
    return random_mechanism(seed, 10, chosen, floating=bool(seed % 2), friction=bool(seed % 3))


def relative_error(ours, theirs):
    return np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))


@pytest.mark.parametrize("seed", range(60))
def test_pinocchio_forward_and_inverse_dynamics(seed):
    mechanism = random_tree(seed, PINOCCHIO)
    system = mechanism.system()
    q, v, tau, vdot = random_states(system, BATCH, seed)
    _, to = to_pinocchio(mechanism)
    theirs = to.catena_acceleration(q, v, pinocchio_calls.forward_batch(mechanism, q, v, tau)().T)
    assert relative_error(system.forward_dynamics(q, v, tau), theirs) < 1e-10
    theirs = to.catena_effort(q, v, pinocchio_calls.inverse_batch(mechanism, q, v, vdot)().T)
    assert relative_error(system.inverse_dynamics(q, v, vdot), theirs) < 1e-10


@pytest.mark.parametrize("seed", range(60))
def test_mujoco_forward_and_inverse_dynamics(seed):
    mechanism = random_tree(seed, MUJOCO)
    system = mechanism.system()
    q, v, tau, vdot = random_states(system, BATCH, seed)
    _, to = to_mujoco(mechanism)
    theirs = to.catena_acceleration(q, v, mujoco_calls.forward_batch(mechanism, q, v, tau)())
    assert relative_error(system.forward_dynamics(q, v, tau), theirs) < 1e-10
    theirs = to.catena_effort(q, v, mujoco_calls.inverse_batch(mechanism, q, v, vdot)())
    assert relative_error(system.inverse_dynamics(q, v, vdot), theirs) < 1e-10
