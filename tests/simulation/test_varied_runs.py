"""Runs whose mechanism differs from state to state: in lanes against one run after the other."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import random_mechanism

MASS, LENGTH = np.array([0.1, 0.3, 0.5, 0.9, 0.2]), np.array([0.3, 0.5, 1.0, 0.8, 0.4])


def cart_pole():
    m = ct.Mechanism("cart-pole")
    m.add_body("cart", mass=1.0)
    m.add_body("pole", mass=0.2, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0.001))
    m.add_joint("rail", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("hinge", "cart", "pole", ct.Revolute("y"))
    return m


def own(m, k):
    return m.with_body("pole", mass=MASS[k], com=(0, 0, LENGTH[k])).system()


PARAMETERS = {"pole.mass": MASS, "pole.com.z": LENGTH}


@pytest.mark.parametrize("options", [{}, {"integrator": "rk4", "step": 0.01}])
def test_cart_poles_in_lanes_are_cart_poles_one_after_the_other(options):
    m = cart_pole()
    run = ct.simulate(m.system(), [0, 0.3], [0, 0], 2.0, parameters=PARAMETERS, samples=21, **options)
    for k in range(len(MASS)):
        alone = ct.simulate(own(m, k), [0, 0.3], [0, 0], 2.0, samples=21, **options)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(run.v[k], alone.v, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(run.energy[k], alone.energy, rtol=1e-11)
        np.testing.assert_allclose(run.position("pole")[k], alone.position("pole"), atol=1e-12)
    assert run.audit().ok


def test_a_solver_of_scipy_takes_each_state_by_itself():
    m = cart_pole()
    options = {"integrator": "lsoda", "rtol": 1e-6, "atol": 1e-8, "samples": 4, "check": False}
    given = {name: x[:2] for name, x in PARAMETERS.items()}
    run = ct.simulate(m.system(), [0, 0.3], [0, 0], 0.2, parameters=given, **options)
    for k in range(2):
        alone = ct.simulate(own(m, k), [0, 0.3], [0, 0], 0.2, **options)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=1e-12, atol=1e-12)


def test_springs_stops_and_events_are_those_of_each_state():
    m = cart_pole().with_joint("hinge", limits=(-0.6, 0.6))
    m.add_spring("coil", "rail", stiffness=4.0, damping=0.2)
    stiff = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    up = ct.Event(lambda t, q, v: q[..., 0] - 0.02)
    given = {**PARAMETERS, "coil.stiffness": stiff}
    run = ct.simulate(
        m.system(), [0, 0.3], [0, 0], 1.0, parameters=given, samples=11, events=[up], check=False
    )
    for k in range(len(MASS)):
        system = own(m.with_spring("coil", stiffness=stiff[k]), k)
        alone = ct.simulate(system, [0, 0.3], [0, 0], 1.0, samples=11, events=[up], check=False)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            [e.t for e in run.events if e.state == (k,)], [e.t for e in alone.events], rtol=1e-9
        )


def test_loops_with_other_lengths_run_in_lanes():
    m = ct.generators.four_bar()
    s = m.system()
    longer = np.array([0.0, 0.02, 0.05])
    varied = s.vary({"B.in_child.p.x": longer, "coupler.mass": np.array([1.0, 1.5, 2.0])})
    q = varied.assemble({"A": 0.7})
    v = varied.velocity(q, {"A": 1.0})
    run = ct.simulate(varied, q, v, 1.0, samples=11)
    assert run.closure_error < 1e-9
    for k in range(3):
        alone = ct.simulate(varied.variants.state(k), q[k], v[k], 1.0, samples=11)
        np.testing.assert_allclose(run.q[k], alone.q, rtol=1e-9, atol=1e-10)
    assert run.audit().ok


def test_a_grid_of_parameters_and_a_controller_made_for_the_described_system():
    m = cart_pole()
    s = m.system()
    held = ct.PID(s, {"rail": 0.0}, kp=[30.0, 0.0], kd=[8.0, 0.0])
    grid = {"pole.mass": MASS[:, None], "pole.com.z": LENGTH[:2]}
    run = ct.simulate(s, [0.1, 0.3], [0, 0], 0.5, control=held, parameters=grid, samples=6)
    assert run.q.shape == (5, 2, 6, 2)
    system = m.with_body("pole", mass=MASS[3], com=(0, 0, LENGTH[1])).system()
    law = ct.PID(system, {"rail": 0.0}, kp=[30.0, 0.0], kd=[8.0, 0.0])
    alone = ct.simulate(system, [0.1, 0.3], [0, 0], 0.5, control=law, samples=6)
    np.testing.assert_allclose(run.q[3, 1], alone.q, rtol=1e-9, atol=1e-11)


def test_a_varied_run_is_kept_and_comes_apart(tmp_path):
    run = ct.simulate(cart_pole().system(), [0, 0.3], [0, 0], 0.2, parameters=PARAMETERS, samples=5)
    run.save(tmp_path / "run.nc")
    kept = ct.load_run(tmp_path / "run.nc")
    np.testing.assert_array_equal(kept.q, run.q)
    np.testing.assert_allclose(kept.energy, run.energy, rtol=1e-13)
    one = run.state(3)
    alone = ct.simulate(own(cart_pole(), 3), [0, 0.3], [0, 0], 0.2, samples=5)
    np.testing.assert_allclose(one.energy, alone.energy, rtol=1e-12)
    assert one.system.mechanism.bodies["pole"].mass == MASS[3] and one.audit().ok
    with pytest.raises(ct.CatenaError, match="no state"):
        run.state(7)


def test_a_stepper_moves_varied_states():
    s = cart_pole().system()
    options = {"integrator": "rk4", "step": 0.01}
    stepper = ct.Stepper(s.vary(PARAMETERS), [0, 0.3], [0, 0], **options)
    for _ in range(5):
        q, v = stepper.step(np.zeros((5, 2)))
    run = ct.simulate(s, [0, 0.3], [0, 0], 0.05, parameters=PARAMETERS, samples=2, **options)
    np.testing.assert_allclose(q, run.q[:, -1], atol=1e-14)
    np.testing.assert_allclose(v, run.v[:, -1], atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_values_between_samples_of_varied_loops_are_those_of_each_state(seed):
    """Loops of any joints, closed again at every time that is asked for: in a batch of two dimensions against the run
    of each state by itself, and against runs that have those times among their samples."""
    m = random_mechanism(seed, 4, kinds=["Revolute", "Spherical"], loops=1 + seed % 2)
    s = m.system()
    body = list(m.bodies)[1]
    q = s.neutral()
    v = 0.3 * s.project(q, np.random.default_rng(seed).normal(size=s.nv))[1]
    masses = m.bodies[body].mass * np.array([[1.0, 1.4, 2.0], [0.9, 1.1, 3.0]])
    times = np.array([0.0, 0.05, 0.0731, 0.1])
    options = {"parameters": {f"{body}.mass": masses}, "check": False}
    run = ct.simulate(s, q, v, 0.1, samples=21, **options)
    exact = ct.simulate(s, q, v, 0.1, samples=times, **options)
    there, rates = run.at(times)
    np.testing.assert_allclose(there, exact.q, atol=1e-7)
    np.testing.assert_allclose(rates, exact.v, atol=1e-5)
    finer = run.resample(33)
    assert finer.closure_error < 1e-11 and run.audit() is not None
    np.testing.assert_allclose(run.at(0.0731)[0], there[..., 2, :], atol=1e-14)
    for index in np.ndindex(masses.shape):
        alone = run.state(*index).resample(33)
        np.testing.assert_allclose(finer.q[index], alone.q, atol=1e-11)
        np.testing.assert_allclose(finer.energy[index], alone.energy, rtol=1e-9, atol=1e-9)


def test_loops_of_several_lengths_are_audited_between_their_samples():
    """Works that are estimated between samples are looked at where each state's own loop is closed."""
    m = ct.generators.four_bar()
    s = m.with_joint("C", damping=0.2).system(cut=["C"])
    length = float(np.linalg.norm(m.joints["B"].in_parent.p)) * np.array([1.0, 1.05, 0.97])
    varied = s.vary({"B.in_parent.p.length": length, "crank.mass": [1.0, 1.2, 0.8]})
    q = varied.assemble({"A": 0.5})
    run = ct.simulate(varied, q, varied.velocity(q, {"A": 3.0}), 0.5, samples=51)
    finer = run.resample(101)
    assert finer.closure_error < 1e-11
    for k in range(3):
        alone = ct.simulate(varied.variants.state(k), q[k], run.v[k, 0], 0.5, samples=101)
        np.testing.assert_allclose(finer.q[k], alone.q, atol=1e-6)
    assert run.audit().ok and finer.audit().ok
