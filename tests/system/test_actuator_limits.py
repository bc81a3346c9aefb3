"""Actuators give what they can in statics and linear motion as in runs: equilibria that runs stay at, linear systems
against differences of accelerations under limited forces, sensitivities against runs beside each other."""

import numpy as np
import pytest

import catena as ct
from benchmarks.states import random_states
from catena.mechanism.generators import four_bar, random_mechanism


def limited(m, seed, speed=True):
    """The mechanism with motors of small force through gears."""
    random = np.random.default_rng(seed)
    m = m.copy()
    for name, joint in m.joints.items():
        n = joint.kind.nv
        if n:
            fastest = random.uniform(1.0, 9.0, n) if speed else None
            bounds = np.abs(random.normal(size=(n, 2))) * [-1.0, 1.0]
            m.add_actuator(
                f"{name} motor", name, gear=random.choice([-3.0, 2.0]), limits=bounds, no_load_speed=fastest
            )
    return m


def force(m, s, tau, v):
    """What the motors give, motor by motor as `Actuator` describes it."""
    found = np.array(tau, dtype=float)
    for motor in m.actuators.values():
        if motor.joint not in s.joints:
            continue
        for k, gear, (low, high), fastest in zip(
            motor.components, motor.gear, motor.limits, motor.no_load_speed, strict=True
        ):
            at = range(s.nv)[s.slice_v(motor.joint)][k]
            turns = gear * v[at]
            low, high = (
                low * np.clip(1.0 + turns / fastest, 0.0, 1.0), high * np.clip(1.0 - turns / fastest, 0.0, 1.0)
            )  # fmt: skip
            found[at] = gear * np.clip(tau[at] / gear, low, high)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_linear_motion_is_that_of_limited_forces(seed, agree, derivative):
    m = limited(random_mechanism(seed, 3, ["Revolute", "Prismatic", "Universal"]), seed)
    s = m.system()
    q, v, tau, _ = (x[0] for x in random_states(s, 1, seed))
    tau = tau * np.where(np.arange(s.nv) % 2, 20.0, 0.1)
    linear = s.linearise(q, v, tau)

    def vdot(x, u):
        return s.forward_dynamics(s.integrate(q, x[: s.nv]), v + x[s.nv :], force(m, s, u, v + x[s.nv :]))

    start = np.zeros(2 * s.nv)
    A = [derivative(lambda h, e=e: vdot(start + h * e, tau), 1e-5) for e in np.eye(2 * s.nv)]
    B = [derivative(lambda h, e=e: vdot(start, tau + h * e), 1e-5) for e in np.eye(s.nv)]
    agree(linear.A[s.nv :], np.transpose(A), 1e-5)
    agree(linear.B[s.nv :], np.transpose(B), 1e-6, 1.0)
    agree(linear.vdot, vdot(start, tau), 1e-10)
    held = force(m, s, tau, v) != tau
    assert held.any() and not linear.B[:, held].any()


def test_an_equilibrium_is_where_a_run_stays():
    m = ct.Mechanism("pendulum")
    m.add_body("a", 1.0, com=(0, 0, -0.5), inertia=0.1)
    m.add_joint("A", "ground", "a", ct.Revolute("y"), damping=0.1)
    m.add_actuator("M", "A", limits=(-2.0, 2.0))
    s = m.system()
    found = s.equilibrium([0.1], tau=[3.0])
    assert found.stable and 9.81 * 0.5 * np.sin(found.q[0]) == pytest.approx(2.0)
    run = ct.simulate(s, found.q, [0.0], 1.0, control=lambda t, q, v: [3.0])
    assert np.abs(run.q - found.q).max() < 1e-9
    assert s.modes(found.q, tau=[3.0]).hertz == pytest.approx(s.modes(found.q, tau=[2.0]).hertz)
    with pytest.raises(ct.StateError, match="does not stay"):
        s.modes(found.q, tau=[1.0])


def test_an_equilibrium_with_loops_is_where_a_run_stays():
    m = four_bar()
    for name in m.joints:
        m.add_spring(f"{name} spring", name, 40.0)
    m.add_actuator("M", "A", limits=0.7)
    s = m.system()
    tau = np.zeros(s.nv)
    tau[s.slice_v("A")] = 5.0
    found = s.equilibrium(tau=tau, seek="any")
    run = ct.simulate(s, found.q, np.zeros(s.nv), 0.3, control=lambda t, q, v: tau)
    assert np.abs(run.q - found.q).max() < 1e-7


@pytest.mark.parametrize("asked", [0.5, 5.0])
def test_sensitivities_are_those_of_runs_under_limited_forces(asked):
    m = ct.Mechanism("pendulum")
    m.add_body("a", 1.0, com=(0, 0, -0.5), inertia=0.1)
    m.add_joint("A", "ground", "a", ct.Revolute("y"))
    m.add_actuator("M", "A", limits=(-2.0, 2.0), no_load_speed=9.0)
    s = m.system()
    found = ct.sensitivities(s, [0.3], [0.5], 0.5, tau=[asked])

    def end(v0, tau):
        run = ct.simulate(s, [0.3], [v0], 0.5, control=lambda t, q, v: [tau], check=False, samples=2)
        return np.array([run.q[-1, 0], run.v[-1, 0]])

    h = 1e-4
    by_tau, by_rate = (
        (end(0.5, asked + h) - end(0.5, asked - h)) / (2 * h),
        (end(0.5 + h, asked) - end(0.5 - h, asked)) / (2 * h),
    )
    np.testing.assert_allclose(found.by_tau[-1][:, 0], by_tau, atol=1e-5)
    np.testing.assert_allclose(found.by_start[-1][:, 1], by_rate, atol=1e-5)
    assert (np.abs(by_tau).max() < 1e-9) == (asked > 2.0)
