"""Dry friction that sticks: runs against closed forms, against all choices of what sticks, and against each other."""

from itertools import product

import numpy as np
import pytest

import catena as ct

G = 9.81


def block(friction, mass=2.0, slope=0.0):
    """A block on an incline, which slides along x downhill."""
    m = ct.Mechanism("block", gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    m.add_body("block", mass=mass, inertia=0.1)
    m.add_joint("slide", "ground", "block", ct.Prismatic("x"), friction=friction)
    return m.system()


def oscillator(friction=1.0, stiffness=100.0):
    m = ct.Mechanism("oscillator", gravity=(0.0, 0.0, 0.0))
    m.add_body("block", mass=1.0, inertia=0.1)
    m.add_joint("x", "ground", "block", ct.Prismatic("x"), friction=friction)
    m.add_spring("spring", "x", stiffness=stiffness)
    return m.system()


def test_a_block_on_an_incline_sticks_below_its_friction_and_slips_above():
    """Sticks under half its friction without moving at all; slips above, with the difference; and one that is pushed
    uphill stops at v / (g sin + f / m) and slips back, or stays, by what holds it."""
    weight = 2.0 * G * np.sin(0.2)
    for part in (2.0, 1.0 + 1e-8):
        run = ct.simulate(block(part * weight, slope=0.2), [0.0], [0.0], 10.0, samples=11)
        assert run.steps < 20 and np.all(run.q == 0.0) and np.all(run.v == 0.0)
    run = ct.simulate(block(0.6 * weight, slope=0.2), [0.0], [0.0], 2.0, samples=5)
    np.testing.assert_allclose(run.v[:, 0], 0.4 * G * np.sin(0.2) * run.t, rtol=1e-12, atol=1e-15)
    for part, back in ((0.6, 0.4), (1.2, 0.0)):
        stops = 1.5 / ((1.0 + part) * G * np.sin(0.2))
        run = ct.simulate(block(part * weight, slope=0.2), [0.0], [-1.5], 2.0, samples=9)
        gone = -0.5 * 1.5 * stops + 0.5 * back * G * np.sin(0.2) * np.maximum(run.t - stops, 0.0) ** 2
        np.testing.assert_allclose(run.q[run.t > stops, 0], gone[run.t > stops], atol=1e-11)
        assert run.audit().ok
        lost = -part * weight * (0.5 * 1.5 * stops + run.q[-1, 0] + 0.5 * 1.5 * stops)
        assert run.work["friction"][-1] == pytest.approx(lost, abs=1e-10)


@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({}, 1e-10), ({"integrator": "dop853"}, 1e-10), ({"integrator": "rk4", "step": 1e-2}, 1e-6),
        ({"integrator": "leapfrog", "step": 1e-3}, 1e-6),
        ({"integrator": "semi_implicit", "step": 1e-3, "check": False}, 1e-4),
    ],
)  # fmt: skip
def test_an_oscillator_loses_the_same_with_every_half_swing(options, bound):
    """2 f / k for each half swing of pi / omega, until the spring is weaker than friction; then it stays."""
    s, half = oscillator(), np.pi / 10.0
    run = ct.simulate(
        s, [0.105], [0.0], 5.5 * half, samples=np.append(np.arange(6) * half, 5.5 * half), **options
    )
    swings = (0.105 - 0.02 * np.arange(6)) * (-1.0) ** np.arange(6)
    np.testing.assert_allclose(run.q[:6, 0], swings, atol=bound)
    assert run.v[-1, 0] == 0.0 and run.q[-1, 0] == pytest.approx(-0.005, abs=bound)
    later = ct.simulate(s, run.q[-1], run.v[-1], 10.0, samples=2, **options)
    assert np.all(later.q[-1] == run.q[-1])


def test_a_pendulum_comes_to_rest_where_friction_holds_it():
    """Every reversal has less height than the one before, by the work of friction on the way, and at rest m g l sin q
    is no more than friction."""
    m = ct.Mechanism("pendulum", gravity=(0.0, 0.0, -G))
    m.add_body("rod", mass=1.0, com=(0, 0, -1.0), inertia=0.0)
    m.add_joint("pin", "ground", "rod", ct.Revolute("y"), friction=0.5)
    s = m.system()
    turns = ct.Event(lambda t, q, v: v[0])
    run = ct.simulate(s, [0.9], [0.0], 20.0, samples=3, events=[turns])
    q = np.array([0.9, *(hit.q[0] for hit in run.events)])
    lost = G * (np.cos(q[1:]) - np.cos(q[:-1])) - 0.5 * np.abs(np.diff(q))
    assert len(q) > 5
    np.testing.assert_allclose(lost, 0.0, atol=1e-9)
    assert run.v[-1, 0] == 0.0 and G * abs(np.sin(run.q[-1, 0])) <= 0.5
    assert np.all(run.q[-1] == run.q[-2])


def test_a_batch_does_what_its_states_do():
    s, q = oscillator(), np.linspace(0.01, 0.2, 9)[:, None]
    together = ct.simulate(s, q, np.zeros((9, 1)), 2.0, samples=4)
    alone = [ct.simulate(s, x, [0.0], 2.0, samples=4).q for x in q]
    np.testing.assert_allclose(together.q, alone, atol=1e-13)


def hanging(friction, seed):
    """A chain of four joints that friction holds at rest in part, at a random configuration."""
    m = ct.Mechanism("chain", gravity=(0.0, 0.0, -G))
    below = "ground"
    for k, axis in enumerate("yxyx"):
        m.add_body(f"b{k}", mass=1.0 + 0.2 * k, com=(0.1, 0.05, -0.2), inertia=(0.02, 0.03, 0.01))
        m.add_joint(f"j{k}", below, f"b{k}", ct.Revolute(axis), in_parent=ct.Pose(p=(0, 0, -0.4 * (k > 0))),
                    friction=friction[k])  # fmt: skip
        below = f"b{k}"
    s = m.system()
    return s, np.random.default_rng(seed).uniform(-1.0, 1.0, 4)


@pytest.mark.parametrize("seed", range(6))
def test_which_of_several_joints_stick_is_the_choice_that_fits(seed):
    """All 3^4 choices of sticking and slipping are tried with the mass matrix: just one of them has forces within
    limits and slips along their senses, and a run begins with its accelerations."""
    friction = np.random.default_rng(seed + 100).uniform(0.5, 8.0, 4)
    s, q = hanging(friction, seed)
    free = hanging(np.zeros(4), seed)[0]
    H, bias = free.mass_matrix(q), free.inverse_dynamics(q, np.zeros(4), np.zeros(4))
    fitting = []
    for sense in product((-1, 0, 1), repeat=4):
        sense = np.array(sense)
        slips, a = sense != 0, np.zeros(4)
        force = -bias - friction * sense
        a[slips] = np.linalg.solve(H[np.ix_(slips, slips)], force[slips])
        hold = H @ a + bias
        if np.all(np.abs(hold[~slips]) <= friction[~slips]) and np.all(a[slips] * sense[slips] > 0.0):
            fitting.append(a)
    assert len(fitting) == 1
    run = ct.simulate(s, q, np.zeros(4), 1e-4, samples=2)
    np.testing.assert_allclose(run.v[-1] / 1e-4, fitting[0], rtol=5e-3, atol=1e-9)
    assert np.array_equal(run.v[-1] == 0.0, fitting[0] == 0.0)
