"""Two ways to say the same thing give the same motion: a law and the same formula as a plain function, a sample and a
step that ends there, an event and the motion, one state and a batch."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar

FIXED = {
    "rk4": 1e-3,
    "abm4": 1e-3,
    "midpoint": 1e-3,
    "semi_implicit": 1e-3,
    "leapfrog": 1e-3,
    "implicit_leapfrog": 1e-3,
    "euler": 1e-4,
}
SETTINGS = {
    **{name: {"integrator": name, "step": step} for name, step in FIXED.items()},
    "dopri5, loose": {"rtol": 1e-6, "atol": 1e-8},
    "dopri5, tight": {"rtol": 1e-10, "atol": 1e-12},
    "dop853": {"integrator": "dop853", "rtol": 1e-10, "atol": 1e-12},
}
GAIN, DAMPING, GOAL = 2e4, 5.0, 1.5


def moving_four_bar():
    system = four_bar().system()
    q = system.assemble({"A": 0.3})
    return system, q, system.velocity(q, {"A": 3.0})


def as_law(system):
    return ct.PID(system, {"A": GOAL}, kp={"A": GAIN}, ki=0.0, kd={"A": DAMPING}, rate=None)


def as_function(system):
    own = system.slice_v("A").start

    def control(t, q, v):
        tau = np.zeros_like(v)
        tau[..., own] = GAIN * (GOAL - q[..., own]) - DAMPING * v[..., own]
        return tau

    return control


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_law_and_the_same_formula_as_a_function(settings):
    system, q, v = moving_four_bar()
    runs = [
        ct.simulate(system, q, v, 0.04, control=way(system), samples=8, check=False, **SETTINGS[settings])
        for way in (as_law, as_function)
    ]
    assert [run.settings["steps taken by"] for run in runs] == [
        "the compiled loop",
        "pieces, with Python in between",
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(runs[0].v, runs[1].v, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(runs[0].work["actuators"], runs[1].work["actuators"], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("way", [as_law, as_function])
def test_a_stiff_law_moves_as_exactly_as_the_tolerance_says(way):
    """The force of the last sample once stood in for the law where the loop handed a step to Python."""
    system, q, v = moving_four_bar()
    exact = ct.simulate(
        system, q, v, 0.2, control=as_function(system), integrator="dop853", rtol=1e-13, atol=1e-14
    )
    run = ct.simulate(system, q, v, 0.2, control=way(system), rtol=1e-9, atol=1e-11)
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 1e-8


def test_a_law_keeps_the_order_of_a_method_with_a_past():
    system, q, v = moving_four_bar()
    law = ct.PID(system, {"A": 0.8}, kp={"A": 200.0}, ki=0.0, kd={"A": 5.0}, rate=None)
    exact = ct.simulate(system, q, v, 0.4, control=law, integrator="dop853", rtol=1e-13, atol=1e-14)
    counts = np.array([100, 200, 400])
    errors = [
        np.abs(
            ct.simulate(system, q, v, 0.4, control=law, integrator="abm4", step=0.4 / n, check=False).q[-1]
            - exact.q[-1]
        ).max()
        for n in counts
    ]
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] > 3.7


@pytest.mark.parametrize("settings", ["dopri5, tight", "dop853", "rk4"])
def test_an_event_is_met_at_the_same_time_by_law_and_function(settings):
    system, q, v = moving_four_bar()
    event = ct.Event(lambda t, q, v: q[system.slice_q("A").start] - 1.0, "passes", direction=1)
    times = [
        ct.simulate(system, q, v, 0.1, control=way(system), events=event, check=False, **SETTINGS[settings])
        .events[0]
        .t
        for way in (as_law, as_function)
    ]
    assert times[0] == pytest.approx(times[1], abs=1e-12)


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
def test_samples_are_as_exact_as_steps_that_end_there(integrator):
    """Interpolation once cost velocities at samples four digits."""
    system = arm7().system()
    rng = np.random.default_rng(3)
    q, v = rng.normal(size=7), rng.normal(size=7)
    times = np.linspace(0.0, 0.5, 7)
    sampled = ct.simulate(system, q, v, 0.5, samples=times, integrator=integrator, rtol=1e-10, atol=1e-12)
    for k in (2, 4):
        ended = ct.simulate(
            system, q, v, float(times[k]), integrator=integrator, rtol=1e-13, atol=1e-14, check=False
        )
        np.testing.assert_allclose(sampled.q[k], ended.q[-1], rtol=0.0, atol=3e-9)
        np.testing.assert_allclose(sampled.v[k], ended.v[-1], rtol=0.0, atol=3e-8)


def test_events_are_as_exact_as_the_motion():
    """A pendulum passes its lowest point at a time that an elliptic integral tells."""
    from scipy.special import ellipk

    system = ct.generators.chain(1).system()
    mass, lever = system.mass_matrix(np.zeros(1))[0, 0], system.inverse_dynamics([0.0], [0.0], [0.0])[0]
    start = np.pi / 2 + 2.0
    event = ct.Event(lambda t, q, v: q[0] - np.pi / 2, "lowest")
    quarter = ellipk(np.sin(1.0) ** 2) / np.sqrt(abs(lever) / mass)
    run = ct.simulate(
        system, [start], [0.0], 1.5 * quarter, integrator="dop853", rtol=1e-12, atol=1e-13, events=event
    )
    assert run.events[0].t == pytest.approx(quarter, abs=2e-11)


def test_one_state_and_a_batch_under_a_law():
    system, q, v = moving_four_bar()
    batch = np.repeat(v[None], 3, axis=0) * np.array([[1.0], [0.5], [-1.0]])
    together = ct.simulate(system, q, batch, 0.05, control=as_law(system), samples=5, check=False)
    for k in range(3):
        alone = ct.simulate(system, q, batch[k], 0.05, control=as_law(system), samples=5, check=False)
        np.testing.assert_array_equal(together.q[k], alone.q)
        np.testing.assert_array_equal(together.v[k], alone.v)


def test_a_wrench_as_a_function_and_as_a_part_of_the_mechanism():
    q, v = np.full(7, 0.3), np.zeros(7)
    pushed = arm7()
    tip = list(pushed.frames)[-1] if pushed.frames else list(pushed.bodies)[-1]
    pushed.add_wrench("push", tip, moment=(0.1, 0.0, 0.2), force=(3.0, -1.0, 2.0), axes=tip)
    inside = ct.simulate(pushed.system(), q, v, 0.3)
    told = ct.simulate(arm7().system(), q, v, 0.3, forces={tip: lambda t: [0.1, 0.0, 0.2, 3.0, -1.0, 2.0]})
    np.testing.assert_allclose(inside.q[-1], told.q[-1], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(inside.work["wrenches"][-1], told.work["wrenches"][-1], rtol=1e-10)
    assert inside.settings["steps taken by"] == "the compiled loop"


def test_single_steps_are_those_of_a_run():
    system, q, v = moving_four_bar()
    run = ct.simulate(system, q, v, 0.02, integrator="rk4", step=1e-3)
    stepper = ct.Stepper(system, q, v, step=1e-3, integrator="rk4")
    for k in range(20):
        q_then, v_then = stepper.step(np.zeros(system.nv))
        np.testing.assert_allclose(q_then, run.q[k + 1], rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(v_then, run.v[k + 1], rtol=0.0, atol=1e-12)
