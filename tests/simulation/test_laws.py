"""Control laws compiled into the loop do what the same laws do when they are asked from Python."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, chain, hslm

SLIDES = {"slide1": 0.0, "slide2": 0.0, "slide3": 0.0}


class FromPython:
    """The same controller, but not known to be a formula."""

    def __init__(self, law):
        self.law, self.rate = law, law.rate
        self.start = law.start

    def __call__(self, t, q, v):
        return self.law(t, q, v)


@pytest.mark.parametrize(("integrator", "step"), [("rk4", 1e-3), ("rk4", 5e-4), ("semi_implicit", 1e-3)])
def test_a_sampled_law_in_a_closed_mechanism(integrator, step):
    s = hslm().system()
    pid = ct.PID(s, SLIDES, 800.0, 1000.0, 50.0, rate=1000.0)
    chosen = {"duration": 0.05, "integrator": integrator, "step": step}
    inside = ct.simulate(s, s.neutral(), np.zeros(s.nv), control=pid, **chosen)
    outside = ct.simulate(s, s.neutral(), np.zeros(s.nv), control=FromPython(pid), **chosen)
    np.testing.assert_allclose(inside.q, outside.q, atol=1e-11)
    np.testing.assert_allclose(inside.tau, outside.tau, atol=1e-8)


def test_a_law_that_is_always_asked_runs_in_adaptive_steps():
    s = arm7().system()
    law = ct.SymbolicControl(lambda t, q, v: -20.0 * q - 5.0 * v + ct.symbols.sin(3.0 * t))
    q = 0.2 * np.ones(7)
    inside = ct.simulate(s, q, np.zeros(7), 0.2, control=law)
    outside = ct.simulate(
        s, q, np.zeros(7), 0.2, control=lambda t, q, v: -20.0 * q - 5.0 * v + np.sin(3.0 * t)
    )
    assert inside.settings["steps taken by"] == "the compiled loop"
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-11)
    expected = -20.0 * inside.q - 5.0 * inside.v + np.sin(3.0 * inside.t)[:, None]
    np.testing.assert_allclose(inside.tau, expected, atol=1e-12)


def test_actuators_limit_a_law_in_the_loop():
    m = chain(1)
    joint = next(iter(m.joints))
    m.add_actuator("motor", joint, limits=(-0.5, 0.5))
    s = m.system()
    law = ct.SymbolicControl(lambda t, q, v: 100.0 + 0.0 * q, rate=100.0)
    inside = ct.simulate(s, [0.3], [0.0], 0.2, control=law, integrator="rk4", step=1e-3)
    outside = ct.simulate(s, [0.3], [0.0], 0.2, control=lambda t, q, v: np.array([100.0]))
    assert np.all(inside.tau == 0.5) and np.all(outside.tau == 0.5)
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-10)


def test_states_of_a_batch_have_their_own_memory():
    s = chain(2).system()
    pid = ct.PID(s, dict.fromkeys(s.joints, 0.5), 2.0, 1.0, 0.02, rate=200.0)
    q = np.array([[0.0, 0.0], [0.4, -0.3], [1.0, 0.2]])
    chosen = {"duration": 0.5, "integrator": "rk4", "step": 1e-3, "samples": 6, "control": pid}
    run = ct.simulate(s, q, np.zeros_like(q), **chosen)
    for k in range(3):
        alone = ct.simulate(s, q[k], np.zeros(2), **chosen)
        np.testing.assert_allclose(run.q[k], alone.q, atol=1e-13)


def test_new_gains_compile_nothing():
    s = hslm().system()
    chosen = {"duration": 0.01, "integrator": "rk4", "step": 1e-3}
    ct.simulate(s, s.neutral(), np.zeros(s.nv), control=ct.PID(s, SLIDES, 800.0, 1000.0, 50.0), **chosen)
    before = ct.compilations()
    ct.simulate(s, s.neutral(), np.zeros(s.nv), control=ct.PID(s, SLIDES, 900.0, 500.0, 60.0), **chosen)
    assert ct.compilations() == before


def test_laws_hold_where_the_loop_hands_steps_over():
    """Upright four-bars under a law pass flat configurations, with sampled forces that are the same either way."""
    s = ct.generators.n_four_bars(2).system()
    q = s.neutral()
    v = s.velocity(q, {"pin0": 1.0})
    pid = ct.PID(s, {"pin0": 0.0}, 0.0, 0.0, 0.1, rate=100.0)
    chosen = {"duration": 2.0, "integrator": "rk4", "step": 2e-3}
    inside = ct.simulate(s, q, v, control=pid, **chosen)
    outside = ct.simulate(s, q, v, control=FromPython(pid), **chosen)
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-8)
