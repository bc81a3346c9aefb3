"""Threads that help with batches: as many as are of use, for as long as they are, also after a fork."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")

# As on a machine of many cores: no batch is split over more threads than there are.
BEGIN = """
import json, os, threading, time
os.sched_getaffinity = lambda pid: set(range(16))
import numpy as np
import catena as ct
from catena.mechanism.generators import arm7
s = arm7().system()
x = np.random.default_rng(0).normal(size=(40000, 7))
ct.set_threads(1)
alone = s.forward_dynamics(x, x, x)

def is_right(n):
    return bool(np.array_equal(s.forward_dynamics(x[:n], x[:n], x[:n]), alone[:n]))
"""


@pytest.mark.slow
def test_batches_of_all_sizes_share_one_crew_whose_idle_helpers_end(fresh_process):
    program = (
        BEGIN
        + """
ct.set_threads(16)
right, most = True, 0
for n in range(500, 40000, 500):
    right = is_right(n) and right
    most = max(most, threading.active_count())
ct.set_threads(3)
until = time.monotonic() + 300.0
while threading.active_count() > 3 and time.monotonic() < until:
    right = is_right(40000) and right
    time.sleep(0.05)
few = threading.active_count()
while threading.active_count() > 1 and time.monotonic() < until:
    time.sleep(0.05)
none = threading.active_count()
print(json.dumps([right and is_right(40000), 8 < most <= 16, few <= 3, none, threading.active_count() > 1]))
"""
    )
    assert fresh_process(program) == [True, True, True, 1, True]


def test_a_system_without_threads_to_give_leaves_the_work_to_one(fresh_process):
    program = (
        BEGIN
        + """
def refuse(*arguments):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
ct.set_threads(4)
print(json.dumps([is_right(40000), is_right(20000)]))
"""
    )
    assert fresh_process(program) == [True, True]


def test_a_forked_process_has_helpers_of_its_own(fresh_process):
    """Another thread has the crew at work when the fork comes."""
    program = (
        BEGIN
        + """
ct.set_threads(3)
stop = threading.Event()
def keep_busy():
    while not stop.is_set():
        is_right(40000)
busy = threading.Thread(target=keep_busy)
busy.start()
results = []
for _ in range(10):
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        before = threading.active_count()
        good = all(is_right(n) for n in (40000, 3000, 40000))
        os._exit(0 if good and before == 1 and threading.active_count() == 3 else 1)
    results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
busy.join()
print(json.dumps(results))
"""
    )
    assert fresh_process(program) == [0] * 10


@pytest.mark.slow
def test_helpers_that_stay_with_a_state_leave_it_for_others_and_for_nothing(fresh_process):
    """Calls for one state of two systems and batches in turns, in two threads at once, and in a child that knows no
    helper; who has nothing to do sleeps soon."""
    program = (
        BEGIN
        + """
from catena.mechanism.generators import arms_on_object, tree
systems = [arms_on_object(12).system(), tree(300).system()]
states = [(t.assemble(), np.full(t.nv, 0.1)) for t in systems]
expected = [t.forward_dynamics(q, v, v) for t, (q, v) in zip(systems, states)]

def are_right(calls):
    good = True
    for k in range(calls):
        which = k // 7 % 2
        q, v = states[which]
        good = good and np.array_equal(systems[which].forward_dynamics(q, v, v), expected[which])
        if k % 100 == 50:
            good = good and is_right(20000)
    return bool(good)

ct.set_threads(3)
results = [are_right(1500)]
child = os.fork()
if child == 0:
    os._exit(0 if are_right(200) else 1)
results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0)
other = threading.Thread(target=lambda: results.append(are_right(500)))
other.start()
results.append(are_right(500))
other.join()
time.sleep(0.1)
began = time.process_time()
time.sleep(0.3)
results.append(time.process_time() - began < 0.1)
print(json.dumps(results))
"""
    )
    assert fresh_process(program) == [True] * 5


def test_a_fork_waits_until_no_thread_compiles(fresh_process, tmp_path):
    """A child would wait for ever for a lock that a thread of its parent held."""
    program = (
        BEGIN
        + """
import signal
go = threading.Event()
def compile_things():
    go.set()
    arm.mass_matrix(y)
    arm.momentum(y, y)
    arm.inverse_dynamics(y, y, y)
arm, y = arm7().system(), np.zeros(7)
compiling = threading.Thread(target=compile_things)
compiling.start()
go.wait()
results = []
for _ in range(4):
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        signal.alarm(200)
        os._exit(0 if np.isfinite(arm.potential_energy(y)) else 1)
    results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
compiling.join()
print(json.dumps(results))
"""
    )
    assert fresh_process(program, CATENA_CACHE=str(tmp_path / "cache")) == [0] * 4
