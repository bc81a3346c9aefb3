"""PID control: closed forms of linear systems, wind-up, symbols against numbers, quaternions, and what is refused."""

import casadi
import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import arm7, four_bar, random_mechanism, stewart
from catena.simulation.control import PID, sampled
from catena.simulation.references import JointPath, cubic
from tests.simulation.control.laws import traced

MASS = 2.0


def slider(limits=None):
    """A mass on a level slide."""
    m = ct.Mechanism("slider")
    m.add_body("cart", mass=MASS, inertia=0.1)
    m.add_joint("x", "ground", "cart", ct.Prismatic("x"))
    if limits is not None:
        m.add_actuator("motor", "x", gear=2.0, limits=limits)
    return m.system()


def run(s, control, duration, step, samples):
    control.start(s, ())
    return ct.simulate(
        s, [0.0], [0.0], duration, control=control, integrator="rk4", step=step, samples=samples
    )


@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_the_step_response_is_that_of_the_sampled_linear_system(rate):
    """x = (position, velocity, integral) goes through one matrix for each sample, exactly."""
    kp, ki, kd, h = 60.0, 40.0, 18.0, 1.0 / rate
    s = slider()
    found = run(s, PID(s, {"x": 1.0}, kp, ki, kd, rate=rate), 2.0, h, 21)
    gain = np.array([-kp, -kd, 1.0])
    A = np.array([[1.0, h, 0.0], [0.0, 1.0, 0.0], [-h * ki, 0.0, 1.0]])
    A += np.outer([h * h / (2 * MASS), h / MASS, 0.0], gain)
    b = np.array([h * h / (2 * MASS), h / MASS, 0.0]) * kp + [0.0, 0.0, h * ki]
    rest = np.linalg.solve(np.eye(3) - A, b)
    for t, q, v in zip(found.t, found.q, found.v):
        x = rest + np.linalg.matrix_power(A, round(t * rate)) @ -rest
        np.testing.assert_allclose([q[0], v[0]], x[:2], atol=1e-9)
    np.testing.assert_allclose(rest, [1.0, 0.0, 0.0], atol=1e-12)


def test_fast_sampling_comes_near_the_continuous_closed_form():
    """The response of m x'' = kp (1 - x) - kd x', critically damped: 1 - (1 + w t) exp(-w t)."""
    w = 5.0
    s = slider()
    found = run(s, PID(s, {"x": 1.0}, MASS * w**2, kd=2 * MASS * w, rate=1000.0), 1.5, 1e-3, 16)
    exact = 1.0 - (1.0 + w * found.t) * np.exp(-w * found.t)
    np.testing.assert_allclose(found.q[:, 0], exact, atol=3e-3)
    assert np.abs(found.q[:, 0] - exact).max() > 1e-6


@pytest.mark.parametrize("way", ["clamping", "back_calculation"])
def test_the_integral_does_not_wind_up_at_the_limits_of_the_actuator(way):
    """A motor of 1 N through a gear of 2 saturates for long; without care the mass overshoots."""
    s = slider(limits=1.0)
    runs = {
        kind: run(s, PID(s, {"x": 1.0}, 20.0, 30.0, 15.0, anti_windup=kind, rate=250.0), 8.0, 4e-3, 81)
        for kind in (way, "none")
    }
    assert max(np.abs(r.tau).max() for r in runs.values()) <= 2.0
    overshoot = {kind: r.q.max() - 1.0 for kind, r in runs.items()}
    assert overshoot["none"] > 0.3
    assert overshoot[way] < 0.35 * overshoot["none"]
    assert abs(runs[way].q[-1, 0] - 1.0) < 0.02


def test_a_saturated_integral_stops_and_an_unsaturated_one_goes_on():
    """One sample of each kind by hand: u = 5 e + z against limits of 1 N."""
    s = slider()
    controls = {
        way: PID(s, {"x": 0.0}, 5.0, 2.0, limits=1.0, anti_windup=way, tracking=t, rate=10.0)
        for way, t in (("clamping", None), ("back_calculation", 0.5), ("none", None))
    }
    for q, z, expected in [
        (-1.0, 0.5, {"clamping": 0.5, "back_calculation": 0.5 + 0.1 * (2.0 - 9.0), "none": 0.7}),
        (-0.1, 0.0, {"clamping": 0.02, "back_calculation": 0.02, "none": 0.02}),
        (1.0, 9.0, {"clamping": 8.8, "back_calculation": 9.0 + 0.1 * (-2.0 - 6.0), "none": 8.8}),
    ]:
        for way, control in controls.items():
            tau, memory = control.evaluate(
                0.0, np.array([q]), np.zeros(1), np.array([z]), control.inputs(0.0)
            )
            np.testing.assert_allclose(memory, [expected[way]], atol=1e-12)
            assert tau[0] == np.clip(-5.0 * q + z, -1.0, 1.0)


@pytest.mark.parametrize("way", ["clamping", "back_calculation", "none"])
def test_symbols_give_the_numbers_of_the_plain_call(way):
    """Random states, references and integrals, many of them at a limit."""
    s = arm7().system()
    reference = {f"joint{k}": cubic([0, 1], [0.0, 0.3 * k]) for k in (1, 2, 4, 7)}
    law = PID(
        s, reference, kp={"joint1": 30.0, "joint2": 20.0, "joint4": 9.0, "joint7": 5.0}, ki=7.0, kd=2.0, bias=0.3,
        limits={"joint1": 15.0, "joint4": (-4.0, 9.0)}, anti_windup=way, rate=500.0,
    )  # fmt: skip
    compiled = traced(law, s)
    rng = np.random.default_rng(0)
    saturated = 0
    for _ in range(40):
        t, q, v, z = rng.uniform(0, 1.2), rng.normal(size=7), rng.normal(size=7), 5.0 * rng.normal(size=4)
        tau, memory = law.evaluate(t, q, v, z, law.inputs(t))
        symbolic = compiled(t, q, v, z, law.inputs(t))
        np.testing.assert_allclose(symbolic[0], tau, atol=1e-12)
        np.testing.assert_allclose(symbolic[1], memory, atol=1e-12)
        saturated += tau[0] in (-15.0, 15.0)
        assert not tau[[2, 4, 5]].any()
    assert 10 < saturated < 40


@pytest.mark.parametrize("kind", ["Spherical", "Free"])
def test_quaternions_are_led_to_their_reference_in_numbers_and_symbols(kind):
    m = random_mechanism(5, bodies=3, kinds=[kind, "Revolute"])
    s = m.system()
    rng = np.random.default_rng(0)
    goal = s.integrate(s.neutral(), rng.normal(size=s.nv))
    law = PID(s, {j: goal[s.slice_q(j)] for j in s.joints}, kp=2.0, kd=0.5, rate=None)
    assert law.compiles and any(type(m.joints[j].kind).__name__ == kind for j in s.joints)
    q = s.integrate(s.neutral(), rng.normal(size=(6, s.nv)))
    v = rng.normal(size=(6, s.nv))
    expected = 2.0 * s.difference(q, np.broadcast_to(goal, q.shape)) - 0.5 * v
    np.testing.assert_allclose(law(0.0, q, v), expected, atol=1e-12)
    compiled = traced(law, s)
    np.testing.assert_allclose(compiled(0.0, q[3], v[3], [], law.inputs(0.0))[0], expected[3], atol=1e-9)


def test_a_batch_is_the_same_as_its_states_and_each_may_have_its_own_gains():
    s = arm7().system()
    rng = np.random.default_rng(1)
    q, v, kp = rng.normal(size=(3, 7)), rng.normal(size=(3, 7)), rng.uniform(1, 9, size=(3, 7))
    reference = dict.fromkeys(s.joints, 0.2)
    together = PID(s, reference, kp, 2.0, 1.0)
    alone = [PID(s, reference, row, 2.0, 1.0) for row in kp]
    for k in range(3):
        tau = together(k / 1000.0, q, v)
        for row, control in enumerate(alone):
            np.testing.assert_allclose(tau[row], control(k / 1000.0, q[row], v[row]), atol=1e-14)


def test_inputs_of_many_times_are_those_of_each():
    s = arm7().system()
    law = PID(s, {"joint3": cubic([0, 1], [0, 2])}, 3.0)
    t = np.array([0.0, 0.25, 0.9])
    np.testing.assert_allclose(law.inputs(t), [law.inputs(float(x)) for x in t], atol=1e-15)


def test_a_sample_asked_for_twice_counts_once_and_a_new_run_forgets():
    s = slider()
    control = PID(s, {"x": 1.0}, 0.0, ki=10.0, rate=100.0)
    q, v = np.zeros(1), np.zeros(1)
    assert [control(t, q, v)[0] for t in (0.0, 0.0, 0.01, 0.01, 0.02)] == pytest.approx([0, 0, 0.1, 0.1, 0.2])
    control.start(s, ())
    assert control(0.0, q, v)[0] == 0.0


def test_only_actuated_joints_of_a_closed_mechanism_are_driven():
    s = stewart().system()
    q = s.neutral()
    path = JointPath(s, {f"leg{k}": 0.1 for k in range(1, 7)})
    tau = PID(s, path, 800.0)(0.0, q, np.zeros(s.nv))
    legs = np.concatenate([np.arange(s.nv)[s.slice_v(f"leg{k}")] for k in range(1, 7)])
    np.testing.assert_allclose(tau[legs], 80.0)
    assert not np.delete(tau, legs).any()
    one = PID(s, path, 800.0, joints=["leg3"])(0.0, q, np.zeros(s.nv))
    assert one[s.slice_v("leg3")] == 80.0 and np.count_nonzero(one) == 1


def test_a_run_with_the_law_compiled_is_the_run_that_asks_python():
    """An arm falls and is caught by motors that are too weak at first, with the law in the loop and outside."""
    m = arm7()
    for k in range(1, 8):
        m.add_actuator(f"motor{k}", f"joint{k}", limits=40.0 if k < 5 else 3.0)
    s = m.system()
    kp = np.array([200.0, 200.0, 200.0, 200.0, 20.0, 20.0, 5.0])
    law = PID(s, {j: cubic([0, 0.2], [0.3, 0.6]) for j in s.joints}, kp, 5 * kp, 0.1 * kp, rate=500.0)
    q, v = np.full(7, 0.2), np.zeros(7)
    inside = ct.simulate(s, q, v, 0.3, control=law, integrator="rk4", step=2e-3)
    law.start(s, ())
    asked = sampled(lambda t, q, v: law(t, q, v), 500.0)
    outside = ct.simulate(s, q, v, 0.3, control=asked, integrator="rk4", step=2e-3)
    np.testing.assert_allclose(inside.q, outside.q, atol=1e-10)
    np.testing.assert_allclose(inside.tau[:-1], outside.tau[:-1], atol=1e-8)
    assert np.abs(inside.tau[:, :4]).max() == 40.0


def test_symbols_for_the_time_alone_do_not_hide_numbers():
    """A law that is traced with symbols has no number of the reference in it: all comes through the inputs."""
    s = slider()
    law = PID(s, {"x": cubic([0, 1], [0, 1])}, 5.0)
    names = [casadi.SX.sym(n, k) for n, k in (("q", 1), ("v", 1), ("i", law.inputs(0.0).shape[-1]))]
    arrays = [np.array([n[k] for k in range(n.shape[0])], dtype=object) for n in names]
    tau, _ = law.evaluate(0.0, arrays[0], arrays[1], np.zeros(0), arrays[2])
    assert casadi.depends_on(tau[0], names[2])


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (({"elbow": 0.0}, 1.0), {}, "no joint is named 'elbow'"),
        (({"joint1": 0.0}, -1.0), {}, "kp is -1.0 for joint 'joint1'; give 0 or more"),
        (({"joint1": 0.0}, np.nan), {}, "kp is nan"),
        (({"joint1": 0.0}, None), {}, "kp is None; give a number"),
        (({"joint1": 0.0}, 1.0), {"bias": None}, "bias is None; give a number"),
        (({"joint1": 0.0}, {"joint1": None}), {}, "kp of joint 'joint1' is None; give a number"),
        (({"joint1": 0.0}, 1.0), {"kd": [1.0, None]}, r"kd is \[1.0, None\]; give a number"),
        (({"joint1": 0.0}, [1.0, 2.0]), {}, "kp has shape"),
        (({"joint1": 0.0}, {"joint9": 1.0}), {}, "did you mean"),
        (({"joint1": 0.0}, {"joint1": [1.0, 2.0]}), {}, "kp of joint 'joint1' has shape"),
        (({"joint1": 0.0}, "high"), {}, "kp is 'high'"),
        (({"joint1": 0.0}, 1.0, 1.0), {"rate": None}, "needs a rate"),
        (({"joint1": 0.0}, 1.0), {"rate": -5.0}, "rate is -5.0"),
        (({"joint1": 0.0}, 1.0), {"rate": "fast"}, "rate is 'fast'"),
        (({"joint1": 0.0}, 1.0), {"limits": (3.0, 1.0)}, "low below high"),
        (({"joint1": 0.0}, 1.0), {"limits": "motor"}, "limits is 'motor'"),
        (({"joint1": 0.0}, 1.0), {"limits": {"joint1": "x"}}, "limits of joint 'joint1'"),
        (({"joint1": 0.0}, 1.0), {"anti_windup": "magic"}, "choose clamping"),
        (({"joint1": 0.0}, 0.0, 1.0), {"anti_windup": "back_calculation", "limits": 1.0}, "tracking="),
        (({"joint1": 0.0}, 1.0), {"joints": ["joint2"]}, "has no reference"),
        ((0.3, 1.0), {}, "the reference is 0.3"),
        (({"joint1": np.inf}, 1.0), {}, "finite"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(arguments, options, words):
    with pytest.raises(ct.CatenaError, match=words):
        PID(arm7().system(), *arguments, **options)


def test_joints_without_actuator_and_other_systems_are_refused_in_words():
    s = stewart().system()
    with pytest.raises(ct.StateError, match="'base1' is not actuated"):
        PID(s, {"base1": [0.0, 0.0]}, 1.0, joints=["base1"])
    with pytest.raises(ct.StateError, match="nothing to control"):
        PID(s, {"base1": [0.0, 0.0]}, 1.0)
    other = four_bar().system()
    with pytest.raises(ct.StateError, match="made for 'stewart'"):
        PID(s, {"leg1": 0.0}, 1.0).start(other, ())
    with pytest.raises(ct.StateError, match="another plan"):
        PID(other, JointPath(s, {"leg1": 0.0}), 1.0)
