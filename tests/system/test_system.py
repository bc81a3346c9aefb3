"""What a system says about itself, and the shortest way for one state against the ordinary way."""

import sys
import tracemalloc

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.dynamics import articulated_body
from catena.dynamics.loops import closed_chains
from catena.mechanism.generators import arm7, four_bar, random_mechanism


def test_slices_follow_the_order_in_which_joints_were_added(mixed):
    for seed in range(4):
        mechanism = mixed(seed)
        system = mechanism.system()
        moving = [name for name, joint in mechanism.joints.items() if joint.kind.nv]
        assert list(system.joints) == moving
        q = v = 0
        for name in moving:
            kind = mechanism.joints[name].kind
            assert system.slice_q(name) == slice(q, q + kind.nq)
            assert system.slice_v(name) == slice(v, v + kind.nv)
            q, v = q + kind.nq, v + kind.nv
        assert (q, v) == (system.nq, system.nv)


def test_neutral_holds_the_neutral_position_of_every_joint(mixed):
    mechanism = mixed(1)
    system = mechanism.system()
    for name in system.joints:
        kind = mechanism.joints[name].kind
        assert np.array_equal(system.neutral()[system.slice_q(name)], kind.neutral())


def test_a_system_shows_what_it_planned():
    text = repr(arm7().system())
    assert "nq=7, nv=7" in text and "joints" in text


class Derived(np.ndarray):
    """A subclass that the shortest way must not take for a plain array."""


def variants(x):
    """The same numbers in every form that a user may have them in."""
    yield "list", x.tolist()
    yield "tuple", tuple(x.tolist())
    yield "strided", np.repeat(x, 2)[::2]
    yield "reversed", x[::-1].copy()[::-1]
    yield "subclass", x.view(Derived)
    yield "big endian", x.astype(">f8")
    yield "read-only", _read_only(x)
    yield "two-dimensional", x[None]
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    raw[1:] = np.frombuffer(x.tobytes(), dtype=np.uint8)
    yield "unaligned", raw[1:].view(np.float64)


def _read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_any_form_of_an_array_gives_the_same_numbers(mixed, seed, which):
    system = mixed(seed).system()
    state = [np.ascontiguousarray(x) for x in random_states(system, 1, seed).first()[:3]]
    forward, inverse = system.forward_dynamics(*state), system.inverse_dynamics(*state)
    for name, value in variants(state[which]):
        given = [value if k == which else x for k, x in enumerate(state)]
        assert np.array_equal(np.ravel(system.forward_dynamics(*given)), forward), name
        assert np.array_equal(np.ravel(system.inverse_dynamics(*given)), inverse), name


def test_single_precision_is_taken_as_it_is(mixed):
    system = mixed(0).system()
    q, v, tau, _ = random_states(system, 1, 0).first()
    v32 = v.astype(np.float32)
    expected = system.forward_dynamics(q, v32.astype(float), tau)
    assert np.array_equal(system.forward_dynamics(q, v32, tau), expected)


def test_one_state_again_and_again_gives_the_same_bits_and_keeps_earlier_results(mixed):
    system = mixed(3).system()
    q, v, tau, _ = random_states(system, 50, 3)
    first = [system.forward_dynamics(q[k], v[k], tau[k]) for k in range(50)]
    again = [system.forward_dynamics(q[k], v[k], tau[k]) for k in range(50)]
    batch = system.forward_dynamics(q, v, tau)
    assert np.array_equal(first, again) and np.array_equal(first, batch)


def test_two_systems_of_one_mechanism_do_not_disturb_each_other():
    mechanism = random_mechanism(2, 5, ["Revolute"])
    one, other = mechanism.system(), mechanism.lock("joint3").system()
    x = np.ones(5)
    before = one.forward_dynamics(x, x, x)
    other.forward_dynamics(np.ones(4), np.ones(4), np.ones(4))
    assert np.array_equal(one.forward_dynamics(x, x, x), before)


def test_results_outlive_their_system():
    system = arm7().system()
    x = np.ones(7)
    result = system.forward_dynamics(x, x, x)
    kept = result.copy()
    del system
    for _ in range(20):
        arm7().system().forward_dynamics(0.5 * x, x, x)
    assert np.array_equal(result, kept)


def test_a_locked_joint_holds(agree):
    """Locked at q, the mechanism moves as the free one does when that joint is held by its constraint force."""
    mechanism = random_mechanism(6, 6, ["Revolute", "Universal", "Prismatic"])
    free = mechanism.system()
    name = "joint3"
    part_q, part_v = free.slice_q(name), free.slice_v(name)
    q, v, tau, _ = random_states(free, 1, 6).first()
    v[part_v] = 0.0
    held = mechanism.lock(name, at=q[part_q]).system()
    rest = np.setdiff1d(np.arange(free.nv), np.arange(free.nv)[part_v])
    rest_q = np.setdiff1d(np.arange(free.nq), np.arange(free.nq)[part_q])
    H, bias = free.mass_matrix(q), free.bias_force(q, v)
    expected = np.linalg.solve(H[np.ix_(rest, rest)], (tau - bias)[rest])
    agree(held.forward_dynamics(q[rest_q], v[rest], tau[rest]), expected, 1e-12)
    assert isinstance(held, ct.System) and name not in held.joints


@pytest.mark.parametrize("make", [arm7, four_bar])
def test_calls_for_one_state_leave_nothing_behind(make):
    """Results that are taken, and those that are dropped because a number is not finite."""
    system = make().system()
    q = system.assemble() if system.loops else system.neutral()
    v, tau = np.zeros(system.nv), np.ones(system.nv)
    spoiled = np.full(system.nv, np.nan)
    system.forward_dynamics(q, v, tau)
    absent = frozenset({"f_ext", "a_base"})
    if system.loops:
        shortest = closed_chains.shortest(system.mechanics.evaluator, absent)
    else:
        shortest = system.mechanics.evaluator.shortest(articulated_body, absent)
    assert shortest(q, v, tau) is not None and shortest(q, v, spoiled) is None
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            shortest(q, v, tau)
            shortest(q, v, spoiled)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 2000
    assert sys.getrefcount(shortest(q, v, tau)) == sys.getrefcount(np.zeros(1))
