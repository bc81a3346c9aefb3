"""A user's law with symbols, feedforward, sums and sampling as laws."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, chain
from catena.simulation.control import (
    PID,
    Feedforward,
    GravityCompensation,
    SymbolicControl,
    sampled,
    symbols,
)
from catena.simulation.references import JointPath, cubic
from tests.simulation.control.laws import traced


def swing(t, q, v, memory, inputs):
    """A law of everything there is: a filtered velocity in memory, a push known ahead, a soft limit."""
    slow = memory + 0.1 * (v[..., :1] - memory)
    push = symbols.where(symbols.less(q[..., 0], 0.2), inputs[..., 0], -inputs[..., 1])
    force = 3.0 * symbols.tanh(push - slow[..., 0]) + symbols.sin(t)
    return [force, symbols.minimum(q[..., 1], 0.5)], slow


def law():
    return SymbolicControl(swing, memory=1, inputs=lambda t: [1.0 + t, 2.0], rate=100.0)


def two_links():
    return chain(2).system()


def test_a_law_with_memory_and_inputs_is_the_same_in_symbols_and_numbers():
    s, control = two_links(), law()
    compiled = traced(control, s)
    rng = np.random.default_rng(0)
    for _ in range(20):
        t, q, v, m = rng.uniform(0, 3), rng.normal(size=2), rng.normal(size=2), rng.normal(size=1)
        tau, memory = control.evaluate(t, q, v, m, control.inputs(t))
        for found, expected in zip(compiled(t, q, v, m, control.inputs(t)), (tau, memory)):
            np.testing.assert_allclose(found, expected, atol=1e-14)


def test_the_memory_goes_from_sample_to_sample_in_batches():
    control = law()
    q, v = np.zeros((3, 2)), np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    filtered = np.zeros(3)
    for k in range(4):
        tau = control(k / 100.0, q, v)
        filtered += 0.1 * (v[:, 0] - filtered)
        np.testing.assert_allclose(
            tau[:, 0], 3.0 * np.tanh(1.0 + k / 100.0 - filtered) + np.sin(k / 100.0), atol=1e-14
        )
    assert tau.shape == (3, 2)


def test_a_sum_of_laws_is_a_law_and_adds_up():
    s = two_links()
    first, second = s.joints
    path = JointPath(s, {first: cubic([0, 1], [0, 1]), second: 0.2})
    parts = PID(s, path, 9.0, 3.0, 1.0, rate=100.0), Feedforward(s, path), law()
    total = parts[0] + parts[1] + parts[2]
    assert total.rate == 100.0 and total.compiles
    q, v, rng = np.array([0.1, -0.3]), np.array([0.5, 0.2]), np.random.default_rng(0)
    expected = sum(part(0.3, q, v) for part in parts)
    np.testing.assert_allclose(total(0.3, q, v), expected, atol=1e-13)
    compiled = traced(total, s)
    for _ in range(5):
        memory = rng.normal(size=total.memory(s))
        inputs = total.inputs(0.3)
        for found, wanted in zip(
            compiled(0.3, q, v, memory, inputs), total.evaluate(0.3, q, v, memory, inputs)
        ):
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_sum_with_a_plain_function_works_and_does_not_compile():
    s = arm7().system()
    total = GravityCompensation(s) + (lambda t, q, v: -2.0 * v)
    assert not total.compiles and total.rate is None
    q, v = np.full(7, 0.3), np.full(7, 0.1)
    np.testing.assert_allclose(total(0.0, q, v), s.inverse_dynamics(q, 0 * v, 0 * v) - 0.2)
    reverse = (lambda t, q, v: -2.0 * v) + GravityCompensation(s)
    np.testing.assert_array_equal(reverse(0.0, q, v), total(0.0, q, v))
    with pytest.raises(ct.StateError, match="because Sampled"):
        total.memory(s)


def test_a_sampled_function_carries_its_rate_and_is_started():
    class Counting:
        def __init__(self):
            self.calls, self.started = 0, []

        def start(self, system, batch):
            self.calls, self.started = 0, [system, batch]

        def __call__(self, t, q, v):
            self.calls += 1
            return np.full(v.shape, float(self.calls))

    s, count = two_links(), Counting()
    control = sampled(count, 100.0)
    control.start(s, (4,))
    assert control.rate == 100.0 and count.started == [s, (4,)]
    assert control(0.0, np.zeros(2), np.zeros(2))[0] == 1.0
    pd = sampled(PID(s, {s.joints[0]: 0.0}, 1.0, rate=None), 50.0)
    assert pd.compiles and pd.rate == 50.0 and pd.memory(s) == 0


def test_sampling_at_100_hz_differs_from_continuous_control_as_much_as_it_must():
    """A mass on a spring made by control: holding the force for h is a delay of h / 2, which feeds the oscillation with
    a growth rate of w^2 h / 4, and the sampled oscillator is known in closed form."""
    m = ct.Mechanism("slider")
    m.add_body("cart", mass=1.0, inertia=0.1)
    m.add_joint("x", "ground", "cart", ct.Prismatic("x"))
    s = m.system()
    w, h = 4.0, 0.01
    control = sampled(lambda t, q, v: -(w**2) * q, 1.0 / h)
    run = ct.simulate(s, [1.0], [0.0], 2.0, control=control, integrator="rk4", step=h, samples=21)
    A = np.array([[1.0 - (w * h) ** 2 / 2, h], [-(w**2) * h, 1.0]])
    exact = [(np.linalg.matrix_power(A, round(t / h)) @ [1.0, 0.0])[0] for t in run.t]
    np.testing.assert_allclose(run.q[:, 0], exact, atol=1e-11)
    continuous = np.cos(w * run.t)
    assert 0.02 < np.abs(run.q[:, 0] - continuous).max() < np.exp(w**2 * h / 4 * 2.0) - 1.0 + 0.03


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SymbolicControl(3.0), "cannot be called"),
        (lambda: SymbolicControl(swing, memory=-1), "memory is -1"),
        (lambda: SymbolicControl(swing, memory=1), "needs a rate"),
        (lambda: SymbolicControl(swing, inputs="x"), "give numbers, a reference, or a function"),
        (lambda: SymbolicControl(lambda t, q, v: 3.0)(0.0, np.zeros(2), np.zeros(2)), "give tau as an array"),
        (
            lambda: SymbolicControl(lambda t, q, v, m: v, memory=1, rate=1.0)(0.0, np.zeros(2), np.zeros(2)),
            "returns \\(tau, memory\\)",
        ),
        (
            lambda: SymbolicControl(lambda t, q, v, m: (v, v), memory=1, rate=1.0)(
                0.0, np.zeros(2), np.zeros(2)
            ),
            "2 memory entries",
        ),
        (
            lambda: SymbolicControl(lambda t, q, v, i: v, inputs=lambda t: [np.nan]).inputs(0.5),
            "t = 0.5 s.*not finite",
        ),
        (lambda: sampled(1.0, 100.0), "cannot be called"),
        (lambda: sampled(np.sin, 0.0), "rate is 0.0"),
        (lambda: sampled(law(), 50.0), "has the rate 100 Hz"),
        (lambda: law() + sampled(lambda t, q, v: v, 50.0), "50, 100 Hz"),
        (lambda: sampled(lambda t, q, v: v, 50.0).inputs(0.0), "does not compile"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make, words):
    with pytest.raises(ct.StateError, match=words):
        make()
