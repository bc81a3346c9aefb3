"""Threads that share a system get their own results, as if each were alone."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.dynamics.loops import closed_chains
from catena.kernels import is_plain
from catena.kernels.evaluation import Evaluator
from catena.mechanism.generators import chain, n_four_bars


@pytest.fixture(autouse=True)
def restless():
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_single_states_of_a_long_chain():
    """NumPy gives its lock away while it copies more than 500 numbers."""
    system = chain(600).system()
    q, v, tau, _ = random_states(system, 40, seed=6)
    alone = [system.forward_dynamics(q[k], v[k], tau[k]) for k in range(40)]

    def is_same(k):
        return np.array_equal(system.forward_dynamics(q[k], v[k], tau[k]), alone[k])

    with ThreadPoolExecutor(4) as workers:
        assert all(workers.map(is_same, [*range(40)] * 75))


def test_single_states_with_certificates():
    """Two threads have a state that can be vouched for, and two a state next to a singular one, that cannot."""
    mechanism = n_four_bars(2)
    system = mechanism.system()
    shortest = closed_chains.shortest(Evaluator(mechanism, system.plan), frozenset({"f_ext", "a_base"}))
    v, tau = np.zeros(system.nv), np.ones(system.nv)
    sure, unsure = system.assemble({"pin0": 0.6}), system.assemble({"pin0": np.pi / 2 - 1e-9})
    expected = shortest(sure, v, tau)
    assert expected is not None and shortest(unsure, v, tau) is None

    def count_wrong(which):
        if which % 2:
            return sum(shortest(unsure, v, tau) is not None for _ in range(15000))
        found = (shortest(sure, v, tau) for _ in range(15000))
        return sum(x is None or not np.array_equal(x, expected) for x in found)

    with ThreadPoolExecutor(4) as workers:
        assert list(workers.map(count_wrong, range(4))) == [0, 0, 0, 0]


def test_two_functions_of_one_system_return_arrays_of_their_own():
    system = chain(5).system()
    q, v, tau, _ = random_states(system, 2, seed=1)
    first = system.forward_dynamics(q[0], v[0], tau[0])
    kept = first.copy()
    second = system.forward_dynamics(q[1], v[1], tau[1])
    first[:] = 7.0
    assert second.base is None and not np.shares_memory(first, second)
    assert np.array_equal(system.forward_dynamics(q[0], v[0], tau[0]), kept)


def test_plain_numbers_in_one_thread_are_not_plain_in_another():
    """The blocks of two threads overlap, and the one that began first ends first."""
    begun, both, ended = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def other():
        begun.wait()
        seen.append(is_plain())
        with ct.plain_numbers():
            both.set()
            ended.wait()
        seen.append(is_plain())

    thread = threading.Thread(target=other)
    thread.start()
    with ct.plain_numbers():
        begun.set()
        both.wait()
    ended.set()
    thread.join()
    assert seen == [False, False] and not is_plain()
