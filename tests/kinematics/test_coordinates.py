"""Steps on the manifold of q: there and back, small and large, and their rate."""

import numpy as np
import pytest

from benchmarks.states import random_states

SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [1e-12, 1e-6, 0.1, 0.7])
def test_difference_undoes_integrate(mixed, agree, seed, size):
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 4, seed)
    back = system.difference(q, system.integrate(q, v, size))
    # q itself is known to a rounding error of its own size only.
    agree(back, size * v, 1e-14, scale=np.abs(q).max() * 0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_integrate_undoes_difference(mixed, agree, seed):
    """Up to the sign of a quaternion: both ends have the same poses."""
    system = mixed(seed).system()
    q0 = random_states(system, 4, seed).q
    q1 = random_states(system, 4, seed + 100).q
    reached = system.body_poses(system.integrate(q0, system.difference(q0, q1)))
    for name, expected in system.body_poses(q1).items():
        agree(reached[name], expected, 1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_rate_is_the_derivative_of_integrate(mixed, agree, derivative, seed):
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 4, seed)
    agree(derivative(lambda t: system.integrate(q, v, t)), system.rate(q, v), 1e-11)


@pytest.mark.parametrize("seed", [1, 3])
def test_quaternions_stay_of_unit_length_over_many_steps(mixed, seed):
    system = mixed(seed).system()
    q, v, _, _ = random_states(system, 1, seed)
    for _ in range(2000):
        q = system.integrate(q, v, 0.01)
    system.twist(q, v, "body9")  # refuses a quaternion that is off by 1e-6
    lengths = [
        np.linalg.norm(q[0, system.slice_q(name)][-4:])
        for name in system.joints
        if type(system.mechanism.joints[name].kind).__name__ in ("Free", "Spherical")
    ]
    assert lengths and np.max(np.abs(np.array(lengths) - 1.0)) < 1e-12


def test_no_step_changes_nothing(mixed, agree):
    system = mixed(5).system()
    q = random_states(system, 3, 5).q
    agree(system.integrate(q, np.zeros((3, system.nv))), q, 4e-16)
    assert np.max(np.abs(system.difference(q, q))) < 1e-15


def test_the_step_may_differ_from_state_to_state(mixed, agree):
    system = mixed(5).system()
    q, v, _, _ = random_states(system, 3, 5)
    steps = np.array([0.1, 0.2, 0.3])
    together = system.integrate(q, v, steps)
    for k in range(3):
        assert np.array_equal(together[k], system.integrate(q[k], v[k], steps[k]))


@pytest.mark.parametrize("seed", SEEDS)
def test_joints_do_not_move_at_neutral(mixed, agree, seed):
    """The two frames of every joint coincide."""
    mechanism = mixed(seed)
    system = mechanism.system()
    poses = system.body_poses(system.neutral())
    for joint in mechanism.joints.values():
        parent_side = poses[joint.parent] @ joint.in_parent.matrix()
        agree(poses[joint.child] @ joint.in_child.matrix(), parent_side, 1e-14)
