"""Batches: any number of states, any leading shape, any number of threads give what single states give."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.kernels import target
from catena.mechanism.generators import arm7


@pytest.fixture
def one_thread():
    """The number of threads, set back afterwards."""
    before = ct.threads()
    ct.set_threads(1)
    yield
    ct.set_threads(before)


@pytest.fixture(scope="module")
def arm():
    return arm7().system()


@pytest.mark.parametrize("extra", range(-1, 2))
def test_batches_that_do_not_fill_the_lanes_equal_single_states(arm, extra):
    for blocks in (1, 3):
        states = blocks * target().lanes + extra
        q, v, tau, vdot = random_states(arm, states, seed=states)
        forward, inverse = arm.forward_dynamics(q, v, tau), arm.inverse_dynamics(q, v, vdot)
        assert forward.shape == inverse.shape == (states, arm.nv)
        for k in range(states):
            assert np.array_equal(arm.forward_dynamics(q[k], v[k], tau[k]), forward[k])
            assert np.array_equal(arm.inverse_dynamics(q[k], v[k], vdot[k]), inverse[k])


def test_no_states_give_empty_results_of_the_right_shape(arm):
    q, v = np.zeros((0, arm.nq)), np.zeros((0, arm.nv))
    assert arm.forward_dynamics(q, v, v).shape == (0, 7)
    assert arm.mass_matrix(q).shape == (0, 7, 7)
    assert arm.jacobian(q, "tool").shape == (0, 6, 7)
    assert arm.pose(q, "tool").shape == (0, 4, 4)
    assert arm.kinetic_energy(q, v).shape == (0,)
    assert arm.forward_dynamics(q.reshape(3, 0, 7), v.reshape(3, 0, 7)).shape == (3, 0, 7)


def test_leading_dimensions_broadcast(arm):
    q, v, tau, _ = random_states(arm, 6, seed=1)
    Q, V = q.reshape(3, 2, 7), v[:2]
    ours = arm.forward_dynamics(Q, V, tau[0])
    assert ours.shape == (3, 2, 7)
    for i in range(3):
        for j in range(2):
            assert np.array_equal(ours[i, j], arm.forward_dynamics(Q[i, j], V[j], tau[0]))
    one_row = arm.forward_dynamics(q[:1], v, tau)
    assert np.array_equal(one_row, arm.forward_dynamics(np.repeat(q[:1], 6, axis=0), v, tau))


def test_results_have_the_batch_shape_in_front(arm):
    q, v, tau, vdot = (x.reshape(2, 3, 7) for x in random_states(arm, 6, seed=2))
    shapes = {
        (2, 3, 7): [arm.forward_dynamics(q, v, tau), arm.inverse_dynamics(q, v, vdot), arm.bias_force(q, v),
                    arm.integrate(q, v, 0.1), arm.difference(q, q), arm.rate(q, v)],
        (2, 3, 6): [arm.twist(q, v, "tool"), arm.bias_acceleration(q, v, "tool"), arm.momentum(q, v),
                    *arm.reactions(q, v, tau).values()],
        (2, 3, 7, 7): [arm.mass_matrix(q), arm.mass_matrix(q, "structurally_recursive")],
        (2, 3, 6, 7): [arm.jacobian(q, "tool")],
        (2, 3, 6, 6): [arm.operational_space(q, "tool")[0]],
        (2, 3, 7, 6): [arm.operational_space(q, "tool")[1]],
        (2, 3, 4, 4): [arm.pose(q, "tool"), *arm.body_poses(q).values()],
        (2, 3): [arm.kinetic_energy(q, v), arm.potential_energy(q)],
        (2, 3, 3): [arm.center_of_mass(q)],
    }  # fmt: skip
    for shape, results in shapes.items():
        assert {result.shape for result in results} == {shape}


def test_inputs_of_any_memory_layout_and_number_type_give_the_same(arm):
    q, v, tau, _ = random_states(arm, 5, seed=3)
    expected = arm.forward_dynamics(q, v, tau)
    wide = np.zeros((10, 14))
    wide[::2, ::2] = q
    assert np.array_equal(arm.forward_dynamics(wide[::2, ::2], np.asfortranarray(v), tau.tolist()), expected)
    whole = np.arange(7)
    floats = arm.forward_dynamics(whole.astype(float), np.zeros(7), np.zeros(7))
    assert np.array_equal(arm.forward_dynamics(whole, np.zeros(7, dtype=int), [0] * 7), floats)


def test_inputs_are_left_alone_and_results_are_the_callers_own(arm):
    q, v, tau, _ = random_states(arm, 1, seed=4).first()
    before = q.copy(), v.copy(), tau.copy()
    first = arm.forward_dynamics(q, v, tau)
    kept = first.copy()
    arm.forward_dynamics(-q, v, tau)
    assert np.array_equal(first, kept)
    assert all(np.array_equal(a, b) for a, b in zip((q, v, tau), before))


def test_several_threads_give_the_same_bits_as_one(one_thread, mixed):
    """Batches large enough to be shared out."""
    system = mixed(1).system()
    q, v, tau, _ = random_states(system, 10003, seed=5)
    alone = system.forward_dynamics(q, v, tau), system.mass_matrix(q[:3001]), system.momentum(q, v)
    for count in (2, 3, 5):
        ct.set_threads(count)
        shared = system.forward_dynamics(q, v, tau), system.mass_matrix(q[:3001]), system.momentum(q, v)
        assert all(np.array_equal(a, b) for a, b in zip(alone, shared))


def test_a_system_may_be_used_from_several_threads_at_once(arm):
    """Single states, small batches, and batches that are shared out among threads themselves."""
    q, v, tau, _ = random_states(arm, 4000, seed=6)
    expected = arm.forward_dynamics(q, v, tau)

    def one(k):
        return np.array_equal(arm.forward_dynamics(q[k], v[k], tau[k]), expected[k])

    def batch(n):
        return np.array_equal(arm.forward_dynamics(q[:n], v[:n], tau[:n]), expected[:n])

    with ThreadPoolExecutor(4) as workers:
        assert all(workers.map(one, range(800)))
        assert all(workers.map(batch, [40] * 1000))
        assert all(workers.map(batch, [4000, 40, 9] * 20))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_process_goes_on(fresh_process):
    """Helping threads do not come along into a child; batches must not wait for them."""
    program = """
import json, os
import numpy as np
import catena as ct
from catena.mechanism.generators import arm7
ct.set_threads(2)
s = arm7().system()
x = np.random.default_rng(0).normal(size=(4000, 7))
a = s.forward_dynamics(x, x, x)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(s.forward_dynamics(x, x, x), a) else 1)
print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
"""
    assert fresh_process(program) == 0


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_a_number_of_threads_must_be_positive_and_whole(count):
    with pytest.raises(ct.KernelError, match="positive whole number; found"):
        ct.set_threads(count)


@pytest.mark.parametrize("value", ["two", "-1", "0"])
def test_the_environment_cannot_ask_for_no_threads(fresh_process, value):
    program = """
import json
import catena as ct
try:
    ct.threads()
except ct.KernelError as error:
    print(json.dumps(str(error)))
"""
    assert "positive whole number" in fresh_process(program, CATENA_THREADS=value)


def test_one_state_that_is_not_finite_is_found_in_any_lane_and_thread(arm):
    q, v, tau, _ = random_states(arm, 5000, seed=7)
    for state in (0, 7, 2501, 4999):
        spoiled = tau.copy()
        spoiled[state, 3] = np.nan
        with pytest.raises(ct.StateError, match=rf"tau\[3\] \(joint '\w+'\) is nan in state \({state},\)"):
            arm.forward_dynamics(q, v, spoiled)
