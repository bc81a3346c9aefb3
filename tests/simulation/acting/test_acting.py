"""What acts during a run: prescribed motion, moving bases, wrenches as functions of time, actuators, elements."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import catena as ct
from catena.mechanism.generators import four_bar

A, W = 0.1, 3.0


def shaken(t):
    """A sine as position, velocity and acceleration."""
    return A * np.sin(W * t), A * W * np.cos(W * t), -A * W * W * np.sin(W * t)


def cart():
    """A point mass of 1 kg on 1 m that hangs from a cart."""
    m = ct.Mechanism("cart")
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_body("rod", 1.0, com=(0, 0, -1.0), inertia=0.0)
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("pin", "cart", "rod", ct.Revolute("-y"))
    return m


def test_a_pendulum_on_a_shaken_cart():
    s = cart().system()
    run = ct.simulate(s, [0.0, 0.2], [0.0, 0.0], 3.0, motion={"slide": shaken})
    exact = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0]) + A * W * W * np.sin(W * t) * np.cos(y[0])],
        (0.0, 3.0), [0.2, 0.0], rtol=1e-12, atol=1e-13,
    ).y  # fmt: skip
    np.testing.assert_allclose(run.q[-1], [shaken(3.0)[0], exact[0, -1]], atol=1e-9)
    np.testing.assert_allclose(run.v[-1, 0], shaken(3.0)[1], atol=1e-12)
    assert tuple(run.driven) == ("slide",)


def test_a_moving_base_is_a_prescribed_free_joint():
    """A pendulum on a ship that rolls about x and pitches, against the same pendulum with the ship's joints as plain
    rotations that are prescribed one by one."""
    roll, pitch = (ct.quintic([0.0, 1.0], [0.0, angle]) for angle in (0.4, -0.3))
    split = ct.Mechanism("split")
    for name in ("frame", "ship"):
        split.add_body(name, 10.0, inertia=1.0)
    split.add_body("bob", 1.0, com=(0, 0, -1.0), inertia=0.01)
    split.add_joint("roll", "ground", "frame", ct.Revolute("x"))
    split.add_joint("pitch", "frame", "ship", ct.Revolute("y"))
    split.add_joint("ball", "ship", "bob", ct.Spherical())
    s = split.system()
    reference = ct.simulate(s, s.neutral(), np.zeros(s.nv), 1.0, motion={"roll": roll, "pitch": pitch})

    free = ct.Mechanism("free")
    free.add_body("ship", 10.0, inertia=1.0)
    free.add_body("bob", 1.0, com=(0, 0, -1.0), inertia=0.01)
    free.add_joint("base", "ground", "ship", ct.Free())
    free.add_joint("ball", "ship", "bob", ct.Spherical())
    f = free.system()

    def base(t):
        (a, da, dda), (b, db, ddb) = ([float(x[0]) for x in r.at(t)] for r in (roll, pitch))
        half = (
            np.array([np.cos(a / 2), np.sin(a / 2), 0.0, 0.0]),
            np.array([np.cos(b / 2), 0.0, np.sin(b / 2), 0.0]),
        )
        w, x, y, z = half[0]
        e, f_, g, h = half[1]
        quat = [w * e - y * g, x * e + z * g, w * g + y * e, x * g + z * e]
        # Angular velocity in the ship's axes: Ry(b)^T (da, 0, 0) + (0, db, 0).
        omega = [da * np.cos(b), db, da * np.sin(b)]
        alpha = [dda * np.cos(b) - da * db * np.sin(b), ddb, dda * np.sin(b) + da * db * np.cos(b)]
        return [0.0, 0.0, 0.0, *quat], [*omega, 0.0, 0.0, 0.0], [*alpha, 0.0, 0.0, 0.0]

    run = ct.simulate(f, f.neutral(), np.zeros(f.nv), 1.0, motion={"base": base})
    for k, (one, other) in enumerate(
        ((reference.q[-1, 2:], run.q[-1, 7:]), (reference.v[-1, 2:], run.v[-1, 6:]))
    ):
        np.testing.assert_allclose(one, other, atol=1e-8, err_msg=str(k))


def test_a_driven_crank_moves_its_linkage():
    s = four_bar().system()
    q = s.neutral()
    crank = lambda t: (2.0 * t, 2.0, 0.0)  # noqa: E731
    run = ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 1.0, motion={"A": crank}, samples=11)
    assert run.closure_error < 1e-10
    for k, t in enumerate(run.t):
        expected = s.assemble({"A": 2.0 * t}, guess=run.q[k])
        np.testing.assert_allclose(run.q[k], expected, atol=1e-9)
        np.testing.assert_allclose(run.v[k], s.velocity(run.q[k], {"A": 2.0}), atol=1e-7)


def test_a_wrench_that_varies_with_time():
    """A free cart under sin(t) N: x = (t - sin t) F / m."""
    m = ct.Mechanism("block", gravity=(0, 0, 0))
    m.add_body("block", 2.0, inertia=1.0)
    m.add_joint("slide", "ground", "block", ct.Prismatic("x"))
    run = ct.simulate(m.system(), [0.0], [0.0], 5.0, forces={"block": lambda t: [0, 0, 0, np.sin(t), 0, 0]})
    np.testing.assert_allclose(run.q[:, 0], (run.t - np.sin(run.t)) / 2.0, atol=1e-10)
    np.testing.assert_allclose(run.wrenches["block"][:, 3], np.sin(run.t), atol=1e-12)


def test_springs_act_the_same_in_the_loop_and_stage_by_stage():
    m = cart()
    m.add_spring("spring", "slide", stiffness=50.0, rest=0.1, damping=0.2)
    s = m.system()
    inside = ct.simulate(s, [0.0, 0.5], [0.0, 0.0], 2.0)
    outside = ct.simulate(s, [0.0, 0.5], [0.0, 0.0], 2.0, control=lambda t, q, v: np.zeros(2))
    assert inside.settings["steps taken by"] != outside.settings["steps taken by"]
    np.testing.assert_allclose(inside.q[-1], outside.q[-1], atol=1e-11)


def test_an_oscillator_has_its_closed_form():
    m = ct.Mechanism("oscillator", gravity=(0, 0, 0))
    m.add_body("mass", 2.0, inertia=1.0)
    m.add_joint("slide", "ground", "mass", ct.Prismatic("x"))
    m.add_spring("spring", "slide", stiffness=18.0, rest=0.0, damping=0.8)
    run = ct.simulate(m.system(), [1.0], [0.0], 3.0)
    decay, omega = 0.2, np.sqrt(9.0 - 0.04)
    exact = np.exp(-decay * run.t) * (np.cos(omega * run.t) + decay / omega * np.sin(omega * run.t))
    np.testing.assert_allclose(run.q[:, 0], exact, atol=1e-9)


def test_coulomb_friction_stops_a_block_and_lets_it_rest():
    """v^2 / (2 mu g) as the way, and a load below the limit that does not move it on but for creeping."""
    m = ct.Mechanism("block", gravity=(0, 0, 0))
    m.add_body("block", 1.0, inertia=1.0)
    m.add_joint("slide", "ground", "block", ct.Prismatic("x"), friction=2.0)
    s = m.system()
    run = ct.simulate(s, [0.0], [3.0], 3.0, rtol=1e-8, atol=1e-10)
    assert run.q[-1, 0] == pytest.approx(9.0 / 4.0, abs=2e-3)
    held = ct.simulate(s, [0.0], [0.0], 2.0, forces={"block": lambda t: [0, 0, 0, 1.0, 0, 0]}, rtol=1e-6)
    assert abs(held.q[-1, 0]) < 2e-3


def test_without_a_state_the_mechanisms_own_is_taken():
    m = cart()
    m.set_initial({"pin": 0.4}, {"slide": 1.0})
    s = m.system()
    run = ct.simulate(s, duration=0.1)
    np.testing.assert_allclose(run.q[0], [0.0, 0.4])
    np.testing.assert_allclose(run.v[0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"motion": {"slid": shaken}}, "slide"),
        ({"motion": {"slide": lambda t: (0.0, 0.0)}}, "position, velocity and acceleration"),
        ({"motion": {"slide": lambda t: (np.nan, 0.0, 0.0)}}, "not finite"),
        ({"motion": {"slide": lambda t: np.zeros((3, 2, 1))}}, "the same for all states"),
        ({"forces": {"card": lambda t: np.zeros(6)}}, "cart"),
        ({"forces": {"cart": lambda t: np.zeros(5)}}, "six finite numbers"),
        ({"control": 3.0}, "control is 3.0"),
        ({"control": lambda t, q, v: np.zeros(3)}, "must end in 2"),
    ],
)
def test_bad_input_is_refused_by_name(given, message):
    with pytest.raises(ct.CatenaError, match=message):
        ct.simulate(cart().system(), [0.0, 0.2], [0.0, 0.0], 1.0, **given)
