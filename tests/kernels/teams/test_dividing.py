"""One state on several threads: a tape that is divided into tasks gives the same to the last bit, in whatever order and
by however many threads the tasks are done."""

from dataclasses import replace

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena import dynamics
from catena.dynamics.loops.formulations.certified_elimination import elimination_of
from catena.kernels.program import Program
from catena.kernels.teams.team import Team
from catena.mechanism.generators import arms_on_object, n_four_bars, random_mechanism, tree
from catena.structure import branches

ABSENT = frozenset({"f_ext", "a_base"})
MACHINES = {
    "arms": lambda: arms_on_object(14),
    "four-bars": lambda: n_four_bars(40),
    "tree": lambda: tree(200),
    "bush": lambda: random_mechanism(
        3, bodies=100, kinds=("Revolute", "Prismatic", "Spherical"), friction=True
    ),
    "any bush": lambda: random_mechanism(3, bodies=120, floating=True),
    "bush with loops": lambda: random_mechanism(5, bodies=90, loops=6),
}
SLOW = {"any bush", "bush with loops"}
NAMES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in MACHINES]


@pytest.fixture
def threads_set_back():
    before = ct.threads()
    yield
    ct.set_threads(before)


def forward_dynamics_of(system, lanes=None):
    plan = system.plan
    algorithm = elimination_of(plan) if plan.loop_joints else dynamics.articulated_body
    return system.mechanics.evaluator.program(algorithm, ABSENT, None, lanes)


def in_random_order(tasks, random):
    """Return all calls in an order that keeps to what tasks wait for and to nothing else."""
    waits, ready, order = tasks.waits.copy(), list(np.flatnonzero(tasks.waits == 0)), []
    while ready:
        task = ready.pop(int(random.integers(len(ready))))
        order.extend(tasks.order[tasks.first[task] : tasks.first[task + 1]])
        for follower in tasks.followers[task]:
            waits[follower] -= 1
            if not waits[follower]:
                ready.append(follower)
    return np.array(order)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", (1, 2, 5))
def test_tasks_in_any_order_that_keeps_to_what_they_wait_for_give_the_same_bits(name, threads):
    system = MACHINES[name]().system()
    assert branches(system.plan).count > 1
    program = forward_dynamics_of(system)
    tape, random = program.tape, np.random.default_rng(0)
    q, v, tau, _ = random_states(system, 3, seed=1)
    inputs = {"q": q, "qd": v, "tau": tau}
    expected = program.run(inputs, 3)[1]
    tasks = tape.division.tasks(range(len(tape.calls)), threads)
    assert sorted(tasks.order) == list(range(len(tape.calls)))
    for _ in range(3):
        order = in_random_order(tasks, random)
        assert threads == 1 or not np.array_equal(order, np.arange(len(order)))
        found = Program(replace(tape, calls=np.ascontiguousarray(tape.calls[order]), division=None)).run(
            inputs, 3
        )[1]
        assert all(np.array_equal(found[key], expected[key]) for key in expected)


@pytest.mark.parametrize("name", NAMES)
def test_calls_for_one_state_do_not_depend_on_the_number_of_threads(name, threads_set_back):
    system = MACHINES[name]().system()
    q, v, tau, _ = random_states(system, 1, seed=2)
    if system.plan.loop_joints:
        q, v = system.assemble()[None], np.zeros((1, system.nv))
    ct.set_threads(1)
    expected = system.forward_dynamics(q[0], v[0], tau[0])
    ct.set_threads(2)
    # Enough for a team to be made, and for the trials alone and together.
    for _ in range(560):
        assert np.array_equal(system.forward_dynamics(q[0], v[0], tau[0]), expected)


@pytest.mark.parametrize("name", ("arms", "four-bars", "tree"))
def test_runs_do_not_depend_on_the_number_of_threads(name, threads_set_back):
    system = MACHINES[name]().system()
    q, found = system.assemble(), []
    for count in (1, 2):
        ct.set_threads(count)
        run = ct.simulate(system, q, np.zeros(system.nv), 0.53, integrator="rk4", step=1e-3, check=False)
        found.append((run.q, run.v))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


def test_few_lanes_of_one_large_state_agree_with_many():
    system = tree(200).system()
    q, v, tau, _ = random_states(system, 9, seed=4)
    together = system.forward_dynamics(q, v, tau)
    alone = np.array([system.forward_dynamics(*state) for state in zip(q, v, tau, strict=True)])
    assert np.allclose(alone, together, rtol=1e-10, atol=1e-10 * np.abs(together).max())


def test_small_mechanisms_are_not_divided():
    for mechanism in (tree(40), arms_on_object(3), n_four_bars(20)):
        assert branches(mechanism.system().plan).count == 0
        assert forward_dynamics_of(mechanism.system()).tape.division is None


def test_a_tree_leaves_two_threads_little_to_wait_for():
    tape = forward_dynamics_of(tree(1000).system()).tape
    assert Team(tape, 2).gain > 1.7
    assert Team(tape, 8).gain > 4.0
    assert tape.division.tasks(range(len(tape.calls)), 16).critical_path() < len(tape.calls) / 8


@pytest.mark.parametrize(("machine", "gain"), [(arms_on_object(32), 1.6), (n_four_bars(160), 1.8)])
def test_loops_leave_two_threads_little_to_wait_for(machine, gain):
    """By calls, with what messages from core to core cost: the sums over chains on an object are trees, and a row is
    eliminated from both its ends."""
    assert Team(forward_dynamics_of(machine.system(), lanes=2).tape, 2).gain > gain
