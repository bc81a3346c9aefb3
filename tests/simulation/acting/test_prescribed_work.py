"""Works of what acts on driven joints, against potentials and quadratures that know nothing of steps."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad

import catena as ct
from catena.simulation.references import function


def slide():
    m = ct.Mechanism("slide", gravity=(0, 0, 0))
    m.add_body("s", 1.0, inertia=0.1)
    m.add_joint("x", "ground", "s", ct.Prismatic("x"))
    return m.system()


def along_x(force):
    """A wrench on a body that slides: a force along x, a function of where it is."""

    def wrench(t, q, v):
        f = force(q[..., 0])
        return np.stack([0 * f, 0 * f, 0 * f, f, 0 * f, 0 * f], axis=-1)

    return wrench


def pulse(place, width, size=1e5):
    return along_x(lambda x: -size * np.exp(-(((x - place) / width) ** 2)))


STEADY = {
    "function": lambda t: (t, 1.0, 0.0),
    "formula": function(lambda t: [1.0 * t]),
    "polynomial": ct.spline([0.0, 0.75, 1.5], [0.0, 0.75, 1.5]),
}


@pytest.mark.parametrize("motion", STEADY)
@pytest.mark.parametrize("options", [{}, {"samples": 1501}, {"integrator": "dop853", "rtol": 1e-7}])
def test_a_short_pulse_on_a_slide_against_its_integral(motion, options):
    for place, width in ((0.73, 0.005), (0.3123, 0.02)):
        run = ct.simulate(
            slide(),
            [0.0],
            [1.0],
            1.5,
            motion={"x": STEADY[motion]},
            forces={"s": pulse(place, width)},
            **options,
        )
        exact = -1e5 * width * np.sqrt(np.pi)
        assert run.work["wrenches"][-1] == pytest.approx(exact, rel=1e-5)
        assert run.work["motion"][-1] == pytest.approx(-exact, rel=1e-5)
        assert run.audit().ok
        # The steps that are kept show the force at its largest.
        assert np.min(run.wrenches["s"][:, 3]) < -0.8e5


@pytest.mark.parametrize("integrator", ["radau", "lsoda"])
def test_stiff_methods_resolve_it_too(integrator):
    run = ct.simulate(
        slide(), [0.0], [1.0], 1.0, motion={"x": STEADY["function"]}, forces={"s": pulse(0.41, 0.01)},
        integrator=integrator, rtol=1e-6, check=False,
    )  # fmt: skip
    assert run.work["wrenches"][-1] == pytest.approx(-1e3 * np.sqrt(np.pi), rel=1e-5)


def test_a_force_that_jumps_does_not_stop_the_run():
    where, push = 0.614159, 3e5
    force = along_x(lambda x: np.where(x > where, -push, 0.0))
    run = ct.simulate(slide(), [0.0], [1.0], 1.5, motion={"x": STEADY["function"]}, forces={"s": force})
    assert run.work["wrenches"][-1] == pytest.approx(-push * (1.5 - where), rel=1e-7)


def test_a_batch_and_parameters_and_a_sampled_controller_beside():
    masses = np.array([0.5, 2.0])
    run = ct.simulate(
        slide(), [0.0], [1.0], 1.5, motion={"x": STEADY["formula"]}, parameters={"s.mass": masses},
        forces={"s": pulse(0.73, 0.005)},
    )  # fmt: skip
    np.testing.assert_allclose(run.work["wrenches"][:, -1], -500.0 * np.sqrt(np.pi), rtol=1e-6)
    m = slide().mechanism
    m.add_body("arm", 1.0, com=(0, 0, -0.5), inertia=0.1)
    m.add_joint("A", "s", "arm", ct.Revolute("y"))
    s = m.system()
    control = ct.sampled(lambda t, q, v: np.array([0.0, -2.0 * v[..., 1]]), 20.0)
    run = ct.simulate(
        s, [0.0, 0.3], [1.0, 0.0], 1.5, motion={"x": STEADY["formula"]}, control=control,
        forces={"s": pulse(0.73, 0.005)},
    )  # fmt: skip
    assert run.work["wrenches"][-1] == pytest.approx(-500.0 * np.sqrt(np.pi), rel=1e-6)
    assert run.audit().ok


def press():
    """A crank press: the ram stands at x, 0.5 m at its dead point."""
    m = ct.Mechanism("press")
    m.add_body("crank", 2.0, com=(0.05, 0, 0), inertia=0.01)
    m.add_body("rod", 3.0, com=(0.2, 0, 0), inertia=0.03)
    m.add_body("ram", 20.0, inertia=0.1)
    m.add_joint("A", "ground", "crank", ct.Revolute("y"), damping=0.3)
    m.add_joint("B", "crank", "rod", ct.Revolute("y"), in_parent=ct.Pose(p=(0.1, 0, 0)))
    m.add_joint("S", "ground", "ram", ct.Prismatic("x"))
    m.add_joint("C", "rod", "ram", ct.Revolute("y"), in_parent=ct.Pose(p=(0.4, 0, 0)))
    return m


@pytest.mark.parametrize("cut", ["B", "C", "S"])
@pytest.mark.parametrize("speed", [-5.0, -60.0])
def test_a_press_against_the_potential_of_its_work_piece(cut, speed):
    """The force of a work piece that is pressed by up to 2 mm, at all cuts of the loop."""
    s = press().system(cut=[cut])
    q = s.assemble({"A": 1.0}, guess={"S": 0.45} if cut != "S" else {"B": -1.2})
    v, depth = s.velocity(q, {"A": speed}), 2e-3

    def wrench(t, q, v):
        x = np.asarray(s.pose(q, "ram"))[..., 0, 3]
        f = -1e6 * np.clip((x - 0.5 + depth) / depth, 0.0, None)
        return np.stack([0 * f, 0 * f, 0 * f, f, 0 * f, 0 * f], axis=-1)

    end = 0.95 / abs(speed)
    run = ct.simulate(
        s, q, v, end, motion={"A": function(lambda t: [1.0 + speed * t])}, forces={"ram": wrench}, samples=41
    )
    beyond = np.clip((run.position("ram")[:, 0] - 0.5 + depth) / depth, 0.0, None)
    exact = -0.5e6 * depth * beyond**2
    assert exact[-1] < -100.0
    np.testing.assert_allclose(run.work["wrenches"], exact, atol=1e-6 * abs(exact[-1]))
    np.testing.assert_allclose(run.work["friction"], -0.3 * speed**2 * run.t, rtol=1e-6, atol=1e-9)
    gained = run.energy - run.energy[0]
    np.testing.assert_allclose(sum(run.work.values()), gained, atol=1e-6 * np.abs(gained).max())
    assert run.audit().ok


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_of_driven_joints_against_quadratures(seed):
    """Wrenches that come and go on a tool whose motion is known: the integral of their power by QUADPACK."""
    m = ct.generators.random_mechanism(seed, 3, kinds=["Revolute", "Prismatic"])
    s, random = m.system(), np.random.default_rng(seed)
    amount, rate = random.uniform(0.3, 1.0, s.nv), random.uniform(1.0, 4.0, s.nv)
    motion = {
        joint: function(lambda t, k=k: [amount[k] * ct.symbols.sin(rate[k] * t)])
        for k, joint in enumerate(s.joints)
    }
    axis = random.normal(size=6)

    def wrench(t, q, v):
        return 300.0 * np.exp(-(((t - 1.234) / 0.01) ** 2)) * axis

    def power(t):
        q, v = amount * np.sin(rate * t), amount * rate * np.cos(rate * t)
        return wrench(t, q, v) @ s.twist(q, v, "tool3")

    exact, _ = quad(power, 1.1, 1.4, epsabs=1e-12, epsrel=1e-12, limit=200)
    run = ct.simulate(s, np.zeros(s.nq), amount * rate, 2.0, motion=motion, forces={"tool3": wrench})
    assert run.work["wrenches"][-1] == pytest.approx(exact, rel=1e-6)
    gained = run.energy[-1] - run.energy[0]
    assert sum(x[-1] for x in run.work.values()) == pytest.approx(gained, abs=1e-7 * abs(exact))
    assert run.audit().ok


def test_the_audit_tells_where_fixed_steps_overlook_a_force():
    options = {"motion": {"x": STEADY["function"]}, "forces": {"s": pulse(0.73, 0.005)}, "integrator": "rk4"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatenaWarning)
        coarse = ct.simulate(slide(), [0.0], [1.0], 1.5, samples=1501, step=0.25, **options)
    assert abs(coarse.work["wrenches"][-1] + 886.2) > 1.0
    assert not coarse.audit().ok and "wrenches" in coarse.audit()["work"].text
    fine = ct.simulate(slide(), [0.0], [1.0], 1.5, samples=1501, step=1e-3, **options)
    assert fine.audit().ok
    # Samples that are too far apart to tell say nothing.
    few = ct.simulate(slide(), [0.0], [1.0], 1.5, samples=11, step=1e-3, **options)
    assert few.audit().ok
