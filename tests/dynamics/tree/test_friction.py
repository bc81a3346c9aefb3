"""The smooth sign of Coulomb friction: its definition, the same on numbers, arrays and symbols, and what it is for."""

import casadi
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
from catena.forces.smooth import STANDSTILL, smooth_sign
from catena.mechanism.generators import four_bar
from catena.spatial.scalars import array


def test_it_is_the_sign_from_the_standstill_on():
    v = np.array([1.0, 1e-3, 1.7, 1e300, 3e-3])
    np.testing.assert_array_equal(smooth_sign(v), np.ones(5))
    np.testing.assert_array_equal(smooth_sign(-v), -np.ones(5))
    assert smooth_sign(0.0) == 0.0
    assert 0.0 < smooth_sign(0.5 * STANDSTILL) < 1.0


def test_it_is_odd_and_twice_continuously_differentiable():
    """By differences within the polynomial, up to its ends: slope 15/8, then slope and curvature vanish."""
    x, h = np.linspace(0.0, 1.2, 25), 1e-3
    f = [smooth_sign((x + k * h) * STANDSTILL) for k in (-1, 0, 1)]
    np.testing.assert_allclose(f[1], -smooth_sign(-x * STANDSTILL), atol=1e-16)
    slope, curvature = (f[2] - f[0]) / (2 * h), (f[2] - 2 * f[1] + f[0]) / h**2
    inside = x < 1.0
    np.testing.assert_allclose(slope[0], 15 / 8, rtol=1e-5)
    np.testing.assert_allclose(slope[inside], 15 / 8 * (1 - x[inside] ** 2) ** 2, atol=1e-5)
    np.testing.assert_allclose(curvature[inside], -15 / 2 * (x * (1 - x**2))[inside], atol=2e-2)
    np.testing.assert_allclose(slope[~inside], 0.0, atol=1e-5)


def test_numbers_arrays_and_symbols_agree():
    values = np.concatenate([np.linspace(-2e-3, 2e-3, 41), [0.3, -0.3]])
    v = casadi.SX.sym("v", 2)
    function = casadi.Function("s", [v], [casadi.vertcat(*smooth_sign(array([v[0], v[1]])))])
    for x in values:
        assert smooth_sign(float(x)) == pytest.approx(smooth_sign(values[values == x])[0], abs=1e-16)
        np.testing.assert_allclose(
            np.array(function([x, -x])).ravel(), [smooth_sign(x), -smooth_sign(x)], atol=1e-15
        )


def test_a_sliding_block_stops_and_stays():
    """v = v0 - F t / m until it stops, where the integrator passes without trouble and the block stays."""
    m = ct.Mechanism("block", gravity=(0, 0, 0))
    m.add_body("block", mass=2.0, inertia=0.1)
    m.add_joint("floor", "ground", "block", ct.Prismatic("x"), friction=3.0)
    s = m.system()
    run = solve_ivp(
        lambda t, y: [y[1], *s.forward_dynamics(y[:1], y[1:])], (0.0, 2.0), [0.0, 1.2], "DOP853",
        t_eval=[0.5, 0.75, 2.0], rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    assert run.success and run.nfev < 10_000
    np.testing.assert_allclose(run.y[1], [1.2 - 0.75, 1.2 - 1.125, 0.0], atol=1e-8)
    np.testing.assert_allclose(run.y[0, -1], 1.2**2 / (2 * 1.5), atol=1e-5)


def test_a_joint_that_loops_hold_still_has_no_friction():
    """A sliding tube around the coupler's pin of a planar four-bar: the loop cannot move it along the pin, and its
    velocity is rounding. Whatever its friction there, the motion is the same; about the pin friction counts."""
    accelerations = []
    for along, about in ((0.0, 0.0), (1e3, 0.0), (0.0, 0.5)):
        base = four_bar()
        m = ct.Mechanism("tube", base.gravity)
        for body in list(base.bodies.values())[1:]:
            m.add_body(body.name, body.mass, body.com, body.inertia)
        for j in base.joints.values():
            pin = j.name == "C"
            kind = ct.Cylindrical(j.kind.axis) if pin else j.kind
            m.add_joint(j.name, j.parent, j.child, kind, j.in_parent, j.in_child,
                        friction=(about, along) if pin else 0.0)  # fmt: skip
        s = m.system(cut=["C"])
        q = s.assemble({"A": 0.4})
        v = s.velocity(q, {"A": 1.3})
        slide = s.joint_velocity(q, v, "C")[1]
        assert abs(slide) < 1e-12
        both = [s.forward_dynamics(q, v, method=method) for method in ("elimination", "kkt")]
        np.testing.assert_allclose(both[0], both[1], rtol=1e-9)
        accelerations.append(both[0])
    np.testing.assert_allclose(accelerations[1], accelerations[0], rtol=1e-9)
    assert np.abs(accelerations[2] - accelerations[0]).max() > 1e-2
