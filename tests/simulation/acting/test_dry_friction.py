"""Dry friction that sticks: runs against closed forms, against all choices of what sticks, and against each other."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
from catena.mechanism.generators import four_bar

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


def test_what_a_run_tells_of_a_joint_that_sticks():
    """A block that is pushed with 1 N against friction of 3 N: it slows down by 1 m/s^2 and stops, and where it is held
    the slide passes on nothing of the push, because friction takes all of it."""
    run = ct.simulate(block(3.0), [0.0], [1.2], 2.0, control=lambda t, q, v: np.array([1.0]), samples=5)
    np.testing.assert_allclose(run.acceleration[:, 0], [-1.0, -1.0, -1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(run.power["friction"], [-3.6, -2.1, -0.6, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(run.reaction("slide")[:, 3], [-2.0, -2.0, -2.0, 0.0, 0.0], atol=1e-9)
    held = run.system.sticking([0.0], [0.0], [[-2.0], [4.0], [3.0]])
    np.testing.assert_allclose(held.vdot, [[0.0], [0.5], [0.0]])
    np.testing.assert_array_equal(held.holds, [True, False, True])
    np.testing.assert_allclose(run.system.inverse_dynamics_interval([0.0], [-1e-9], [1.0]), [[-1.0, -1.0]])


def test_a_batch_does_what_its_states_do():
    """By itself, and under a function of the time that Python is asked for."""
    s, q = oscillator(), np.linspace(0.01, 0.2, 9)[:, None]
    together = ct.simulate(s, q, np.zeros((9, 1)), 2.0, samples=4)
    alone = [ct.simulate(s, x, [0.0], 2.0, samples=4).q for x in q]
    np.testing.assert_allclose(together.q, alone, atol=1e-13)

    def push(t, q, v):
        return np.full_like(v, 3.0 * np.sin(7.0 * t))

    q, options = q[::4], {"samples": 4, "control": push, "integrator": "dop853"}
    together = ct.simulate(s, q, np.zeros((3, 1)), 1.5, **options)
    alone = [ct.simulate(s, x, [0.0], 1.5, **options).q for x in q]
    np.testing.assert_allclose(together.q, alone, atol=1e-9)


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
    told = s.sticking(q, np.zeros(4))
    np.testing.assert_allclose(told.vdot, fitting[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(told.force, H @ fitting[0] + bias, rtol=1e-9, atol=1e-9)
    low, high = np.moveaxis(s.inverse_dynamics_interval(q, np.zeros(4), fitting[0]), -1, 0)
    assert np.all(low <= 1e-9) and np.all(high >= -1e-9)
    np.testing.assert_allclose(high - low, np.where(fitting[0] == 0.0, 2.0 * friction, 0.0), atol=1e-12)
    run = ct.simulate(s, q, np.zeros(4), 1e-4, samples=2)
    np.testing.assert_allclose(run.acceleration[0], fitting[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.v[-1] / 1e-4, fitting[0], rtol=5e-3, atol=1e-9)
    assert np.array_equal(run.v[-1] == 0.0, fitting[0] == 0.0)


def belt(static):
    """A block on a belt that moves along x, held to the ground by a spring."""
    m = ct.Mechanism("belt", gravity=(0.0, 0.0, 0.0))
    m.add_body("belt", mass=1.0, inertia=0.1)
    m.add_joint("drive", "ground", "belt", ct.Prismatic("x"))
    m.add_body("block", mass=1.0, inertia=0.1)
    m.add_joint("slip", "belt", "block", ct.Prismatic("x"), friction=1.0, static_friction=static)
    m.add_frame("wall", "ground", ct.Pose(p=(-1.0, 0.0, 0.0)))
    m.add_spring_between("spring", "wall", "block", stiffness=100.0, rest_length=1.0)
    return m.system()


def test_a_block_on_a_belt_sticks_and_slips_with_a_known_period():
    """Friction holds with 2 N and slips with 1 N, k = 100 N/m, m = 1 kg, belt u = 0.1 m/s. The block rides to x = 2 / k
    and slips along d + d cos(w s) + u / w sin(w s) with d = 1 / k, until its velocity is that of the belt again, which
    takes (2 pi - 2 atan(w d / u)) / w; the ride takes 2 d / u."""
    speed, w, d = 0.1, 10.0, 0.01
    s = belt(2.0)
    ride, slip = 2.0 * d / speed, (2.0 * np.pi - 2.0 * np.arctan(w * d / speed)) / w
    path = lambda t: (speed * t, speed, 0.0)  # noqa: E731
    run = ct.simulate(s, [0.0, 0.0], [speed, 0.0], 3.0, motion={"drive": path}, samples=301)
    first = 0.02 / speed
    expected = first + np.arange(4) * (ride + slip)
    sticks = run.v[:, 1] == 0.0
    for start in expected[:3]:
        at = (run.t > start + slip + 1e-6) & (run.t < start + slip + ride - 1e-6)
        assert at.sum() > 5 and sticks[at].all()
        assert not sticks[(run.t > start + 1e-6) & (run.t < start + slip - 1e-6)].any()
    x = run.q.sum(axis=1)
    during = (run.t > first) & (run.t < first + slip)
    s_t = run.t[during] - first
    closed = d + d * np.cos(w * s_t) + speed / w * np.sin(w * s_t)
    np.testing.assert_allclose(x[during], closed, atol=1e-9)
    assert run.audit().ok


def test_friction_that_falls_with_the_slip_is_that_of_the_law(tmp_path):
    """A block coasts under friction + rise / (1 + (v / w)^2): against SciPy on the law written out, and it stops."""
    m = ct.Mechanism("coasting", gravity=(0.0, 0.0, 0.0))
    m.add_body("block", mass=2.0, inertia=0.1)
    m.add_joint(
        "x", "ground", "block", ct.Prismatic("x"), friction=1.0, static_friction=3.0, stribeck_velocity=0.2
    )
    run = ct.simulate(m.system(), [0.0], [1.0], 2.5, samples=6)

    def law(t, y):
        return [y[1], -(1.0 + 2.0 / (1.0 + (y[1] / 0.2) ** 2)) / 2.0]

    stops = lambda t, y: y[1]  # noqa: E731
    stops.terminal = True
    exact = solve_ivp(law, (0.0, 5.0), [0.0, 1.0], rtol=1e-12, atol=1e-14, events=stops, dense_output=True)
    moving = run.t < exact.t[-1]
    np.testing.assert_allclose(run.v[moving, 0], exact.sol(run.t[moving])[1], atol=1e-9)
    np.testing.assert_allclose(run.q[~moving, 0], exact.y[0, -1], atol=1e-9)
    assert (~moving).any() and run.audit().ok
    m.save(tmp_path / "coasting.toml")
    again = ct.load(tmp_path / "coasting.toml").joints["x"]
    assert (again.friction, again.static_friction, again.stribeck_velocity) == (1.0, 3.0, 0.2)
    for wrong in (
        {"static_friction": 0.5},
        {"stribeck_velocity": 0.1},
        {"static_friction": 2.0, "stribeck_velocity": 0},
    ):
        with pytest.raises(ct.ModelError, match="joint 'x'"):
            m.with_joint("x", **{"static_friction": None, "stribeck_velocity": None, **wrong})


def test_loops_that_are_cut_elsewhere_stick_alike():
    """A four-bar with friction in two joints, which hold more than they can each, and which stop it and let it go."""
    base = four_bar()
    for friction, duration in ((0.3, 1.5), (10.0, 10.0)):
        ends = []
        for cut in "CD":
            m = base
            for joint in "AB":
                m = m.with_joint(joint, friction=friction)
            s = m.system(cut=[cut])
            q = s.assemble({"A": 0.6})
            v = s.velocity(q, {"A": 0.0 if friction > 1.0 else 1.0})
            run = ct.simulate(s, q, v, duration, samples=4)
            assert run.audit().ok
            ends.append(np.concatenate([run["A"], run["B"]], axis=-1))
            if friction > 1.0:
                assert np.abs(s.difference(run.q[0], run.q[-1])).max() < 1e-12 and run.steps < 100
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_sensitivities_are_right_or_refused():
    """Of a block that slows down, by its start; and one that stops is refused."""
    s = block(1.0)
    end = ct.sensitivities(s, [0.0], [3.0], 1.0)
    np.testing.assert_allclose(end.by_start[-1], [[1.0, 1.0], [0.0, 1.0]], atol=1e-9)
    with pytest.raises(ct.StateError, match="'slide' sticks or turns round"):
        ct.sensitivities(s, [0.0], [0.3], 1.0)


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_a_stepper_and_a_saved_one_stick_as_a_run_does(integrator):
    """Steps of 10 ms over four half swings and beyond; those of dopri5 are not made smaller in a stepper."""
    bound = 1e-9 if integrator == "rk4" else 1e-7
    s, options = oscillator(), {"step": 1e-2} if integrator == "rk4" else {}
    stepper = ct.Stepper(s, [0.105], [0.0], step=1e-2, integrator=integrator)
    run = ct.simulate(s, [0.105], [0.0], 2.0, samples=201, integrator=integrator, check=False, **options)
    for k in range(1, 201):
        stepper.step()
        np.testing.assert_allclose(stepper.q, run.q[k], atol=bound)
        if k == 60:
            saved = stepper.save_state()
    assert stepper.v == 0.0
    stepper.restore_state(saved)
    for _ in range(60, 200):
        stepper.step()
    np.testing.assert_allclose(stepper.q, run.q[-1], atol=bound)


@pytest.mark.parametrize("pushed", [False, True])
def test_between_samples_the_motion_is_that_of_a_run_that_ends_there(pushed):
    """Where a joint begins to stick, turns round or breaks loose between two samples, in a batch, and under forces
    that a controller holds from sample to sample and wrenches that vary."""
    m = ct.Mechanism("slide", gravity=(0, 0, 0))
    m.add_body("a", mass=2.0)
    m.add_body("b", mass=1.0, com=(0, 0, 0.3), inertia=(0.02, 0.02, 0.01))
    m.add_joint("x", "ground", "a", ct.Prismatic("x"), friction=3.0, actuated=True)
    m.add_joint("r", "a", "b", ct.Revolute("y"), friction=0.05)
    m.add_spring("k", "x", stiffness=20.0)
    s = m.system()
    acting = {}
    if pushed:
        held = ct.sampled(lambda t, q, v: np.stack([2.0 + q[..., 1], 0.0 * q[..., 1]], -1), rate=10.0)
        acting = {"control": held, "forces": {"b": lambda t: [0, 0.1 * t, 0, 2.0 * t * t, 0, 0]}}
    q, v = np.array([[0.3, 0.5], [0.1, 0.2]]), np.array([[0.8, -2.0], [0.9, 1.0]])
    run = ct.simulate(s, q, v, 1.0, samples=41, **acting)
    times = np.linspace(0.11, 0.93, 12)
    there = run.at(times)
    moving = np.sign(run.v[:, 1:]) != np.sign(run.v[:, :-1])
    assert moving.any(axis=(1, 2)).all()
    for k, t in enumerate(times):
        ends = ct.simulate(s, q, v, t, samples=2, check=False, **acting)
        np.testing.assert_allclose(there.q[:, k], ends.q[:, -1], atol=1e-7, rtol=0)
        np.testing.assert_allclose(there.v[:, k], ends.v[:, -1], atol=1e-6, rtol=0)
