"""Motions of driven joints by formulas, functions and polynomials: the same motion in three ways is the same run."""

import numpy as np
import pytest

import catena as ct
from catena.simulation.references import function
from tests.mechanisms import slider_crank

# A quintic and its derivatives in powers of the time.
C = np.array([0.1, 0.4, -0.7, 0.9, 0.3, -0.2])
POWERS = np.arange(6)


def polynomial(end):
    t = np.array([0.0, end])
    at = [np.array([by_function(x)[k] for x in t]) for k in range(3)]
    return ct.quintic(t, *at)


def by_function(t):
    c = np.polynomial.Polynomial(C)
    return float(c(t)), float(c.deriv()(t)), float(c.deriv(2)(t))


FORMULA = function(lambda t: [sum(c * t**k for k, c in zip(POWERS.tolist(), C.tolist(), strict=True))])
WAYS = {"formula": FORMULA, "function": by_function, "polynomial": polynomial(1.0)}


def arm():
    """A driven slide that carries two links, of which the last is driven too."""
    m = ct.Mechanism("arm")
    m.add_body("cart", 2.0, inertia=0.1)
    m.add_body("upper", 1.0, com=(0, 0, -0.4), inertia=0.05)
    m.add_body("lower", 0.7, com=(0, 0.1, -0.3), inertia=(0.03, 0.02, 0.01))
    m.add_joint("x", "ground", "cart", ct.Prismatic("x"), damping=0.2)
    m.add_joint("A", "cart", "upper", ct.Revolute("y"), damping=0.1)
    m.add_joint("B", "upper", "lower", ct.Universal("y", "x"), in_parent=ct.Pose(p=(0, 0, -0.8)))
    return m.system()


def compare(runs, rtol=1e-9):
    first = runs[0]
    for run in runs[1:]:
        for name in ("t", "q", "v", "tau", "energy"):
            a, b = getattr(first, name), getattr(run, name)
            np.testing.assert_allclose(a, b, atol=rtol * max(1.0, np.abs(b).max()))
        for name, done in run.work.items():
            np.testing.assert_allclose(first.work[name], done, atol=rtol * 100.0)
        for joint, wrench in run.reactions().items():
            np.testing.assert_allclose(
                first.reaction(joint), wrench, atol=100 * rtol * max(1.0, np.abs(wrench).max())
            )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"integrator": "rk4", "step": 5e-3},
        {"integrator": "leapfrog", "step": 1e-3},
        {"integrator": "abm4", "step": 5e-3},
        {"control": ct.SymbolicControl(lambda t, q, v: -0.5 * v)},
    ],
    ids=lambda x: "_".join(x) or "dopri5",
)
def test_three_ways_to_say_a_motion_are_one_motion(options):
    s = arm()
    q, v = [C[0], 0.3, 0.2, -0.1], [C[1], 0.0, 0.0, 0.0]
    runs = {
        name: ct.simulate(s, q, v, 1.0, motion={"x": way}, samples=11, check=False, **options)
        for name, way in WAYS.items()
    }
    compare(list(runs.values()))
    by = {name: run.settings["steps taken by"] for name, run in runs.items()}
    assert by["formula"] == by["polynomial"] == "the compiled loop"
    assert by["function"] == "pieces, with Python in between"


def test_formulas_beside_polynomials_and_of_joints_with_two_freedoms():
    s = arm()

    def swing(t):
        return [0.2 + 0.3 * ct.symbols.sin(2.0 * t), 0.5 * ct.symbols.cos(3.0 * t) - 0.6]

    def swing_by_function(t):
        return (
            (0.2 + 0.3 * np.sin(2 * t), 0.5 * np.cos(3 * t) - 0.6),
            (0.6 * np.cos(2 * t), -1.5 * np.sin(3 * t)),
            (-1.2 * np.sin(2 * t), -4.5 * np.cos(3 * t)),
        )

    q, v = [C[0], 0.3, 0.2, -0.1], [C[1], 0.0, 0.6, 0.0]
    runs = [
        ct.simulate(s, q, v, 1.0, motion={"x": way, "B": other}, samples=11)
        for way, other in (
            (WAYS["polynomial"], function(swing)),
            (FORMULA, function(swing)),
            (by_function, swing_by_function),
        )
    ]
    compare(runs)
    assert all(run.settings["steps taken by"] == "the compiled loop" for run in runs[:2])
    batch = ct.simulate(s, np.array([q, q]), v, 1.0, motion={"x": FORMULA, "B": function(swing)}, samples=11)
    np.testing.assert_allclose(batch.q[1], runs[0].q, atol=1e-10)


def test_a_driven_crank_of_a_loop_and_a_formula_with_conditions():
    s = slider_crank().system()
    crank = s.joints[0]

    def ramp(t):
        return [0.3 + ct.symbols.where(ct.symbols.less(t, 0.2), 2.5 * t**4, 0.004 + 0.08 * (t - 0.2))]

    def ramp_by_function(t):
        if t < 0.2:
            return 0.3 + 2.5 * t**4, 10.0 * t**3, 30.0 * t**2
        return 0.304 + 0.08 * (t - 0.2), 0.08, 0.0

    q = s.assemble({crank: 0.3})
    runs = [
        ct.simulate(s, q, s.velocity(q, {crank: 0.0}), 0.5, motion={crank: way}, samples=11, check=False)
        for way in (function(ramp), ramp_by_function)
    ]
    compare(runs, 1e-8)
    assert runs[0].settings["steps taken by"] == "the compiled loop"
    assert runs[0].closure_error < 1e-10


def test_plain_numbers_follow_formulas_too():
    s = arm()
    q, v = [C[0], 0.3, 0.2, -0.1], [C[1], 0.0, 0.0, 0.0]
    options = {"motion": {"x": FORMULA}, "integrator": "rk4", "step": 0.05, "samples": 3, "check": False}
    compiled = ct.simulate(s, q, v, 0.1, **options)
    with ct.plain_numbers():
        plain = ct.simulate(arm(), q, v, 0.1, **options)
    np.testing.assert_allclose(plain.q, compiled.q, atol=1e-12)


def test_a_formula_that_does_not_fit_its_joint_is_named():
    with pytest.raises(ct.SimulationError, match="motion of joint 'B' has 1, 1 and 1 components"):
        ct.simulate(arm(), [0.0, 0, 0, 0], [0.0, 0, 0, 0], 1.0, motion={"B": FORMULA})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "dop853"])
def test_a_stepper_moves_driven_joints_as_a_run_does(way, integrator):
    s = arm()
    q, v = np.array([C[0], 0.3, 0.2, -0.1]), np.array([C[1], 0.0, 0.0, 0.0])
    stepper = ct.Stepper(s, q, v, step=2e-3, integrator=integrator, motion={"x": WAYS[way]})
    for _ in range(50):
        there, rates = stepper.step()
    run = ct.simulate(s, q, v, 0.1, motion={"x": WAYS[way]}, samples=2)
    np.testing.assert_allclose(there, run.q[-1], atol=1e-9)
    np.testing.assert_allclose(rates, run.v[-1], atol=1e-9)
