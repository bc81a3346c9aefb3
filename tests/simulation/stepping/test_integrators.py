"""Every integrator against others: fitted orders on trees, manifolds and loops, and stiff problems."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, four_bar, humanoid, random_mechanism
from catena.simulation.stepping.faults import has_dependent_motions
from catena.simulation.stepping.methods.decision import larger

KINDS = ["Spherical", "Free", "Universal", "Planar", "Revolute"]


def curved():
    """A mechanism whose joints live on manifolds, somewhere and moving."""
    system = random_mechanism(3, bodies=4, kinds=KINDS).system()
    rng = np.random.default_rng(0)
    q = system.integrate(system.neutral(), 0.3 * rng.normal(size=system.nv))
    return system, q, 0.5 * rng.normal(size=system.nv), 0.4


def closed():
    """A four-bar linkage with its crank turning."""
    system = four_bar().system()
    q = system.neutral()
    return system, q, system.velocity(q, {"A": 3.0}), 1.0


def error(system, run, reference):
    """The largest error of positions and velocities at the end."""
    step = system.difference(run.q[-1], reference.q[-1])
    return max(np.abs(step).max(), np.abs(run.v[-1] - reference.v[-1]).max())


@pytest.fixture(scope="module", params=[curved, closed])
def problem(request):
    system, q, v, duration = request.param()
    exact = ct.simulate(system, q, v, duration, integrator="dop853", rtol=1e-13, atol=1e-14)
    return system, q, v, duration, exact


@pytest.mark.parametrize(
    ("integrator", "order", "steps"),
    [
        ("euler", 1, 200),
        ("semi_implicit", 1, 200),
        ("leapfrog", 1, 200),
        ("implicit_leapfrog", 2, 60),
        ("midpoint", 2, 60),
        ("rk4", 4, 60),
        ("abm4", 4, 100),
    ],
)
def test_methods_of_fixed_steps_have_their_order(problem, integrator, order, steps):
    system, q, v, duration, exact = problem
    counts = np.array([steps, 2 * steps, 4 * steps])
    errors = [
        error(system, ct.simulate(system, q, v, duration, integrator=integrator, step=duration / n), exact)
        for n in counts
    ]
    fitted = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert fitted == pytest.approx(order, abs=0.3)


def test_the_leapfrog_is_of_second_order_and_keeps_energy_where_velocities_do_not_matter():
    """A weight on a spring; up to a step of 2 / frequency its energy stays within bounds for ever."""
    m = ct.Mechanism("weight", gravity=(0.0, 0.0, -9.81))
    m.add_body("bob", mass=2.0, inertia=(1.0, 1.0, 1.0))
    m.add_joint("slide", "ground", "bob", ct.Prismatic("z"))
    m.add_spring("coil", "slide", stiffness=200.0)
    s, w, rest = m.system(), 10.0, -9.81 * 2.0 / 200.0
    counts, errors = np.array([50, 100, 200]), []
    for n in counts:
        run = ct.simulate(s, [0.1], [0.0], 1.0, integrator="leapfrog", step=1.0 / n, check=False)
        errors.append(abs(run.q[-1, 0] - rest - (0.1 - rest) * np.cos(w)))
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)
    long = ct.simulate(s, [0.1], [0.0], 200.0, integrator="leapfrog", step=0.15, samples=1001, check=False)
    assert np.abs(long.q - rest).max() < 2.0 * (0.1 - rest)


def test_steps_that_are_too_long_for_a_mode_are_told_so():
    m = ct.Mechanism("boom", gravity=(0.0, -9.81, 0.0))
    m.add_body("boom", flexible=ct.Beam(2.0, 1e-4, 2e-9, 2700.0, 7e10, modes={"y": 2}))
    m.add_joint("A", "ground", "boom", ct.Revolute("z"))
    s = m.system()
    # Where the modes are told from, at the root of the boom, they move nothing: that is no gimbal lock.
    assert not has_dependent_motions(s, "boom.modes", s.neutral())
    with pytest.raises(
        ct.SimulationError, match="too long for the fastest mode of a flexible body|smaller steps"
    ):
        ct.simulate(s, s.neutral(), np.ones(s.nv), 10.0, integrator="rk4", step=0.03)


@pytest.mark.parametrize(("integrator", "order", "first"), [("dopri5", 5, 0.05), ("dop853", 8, 0.25)])
def test_methods_of_adaptive_steps_have_their_order(integrator, order, first):
    """The error of single steps of a double pendulum, which shrinks with one power more than the order."""
    system = chain(2).system()
    q, v = np.array([0.5, 0.3]), np.array([1.0, -0.5])
    sizes = first * 0.8 ** np.arange(5)
    errors = []
    for h in sizes:
        exact = ct.simulate(system, q, v, float(h), integrator="dop853", rtol=1e-14, atol=1e-15)
        q_then, v_then = ct.Stepper(system, q, v, step=float(h), integrator=integrator).step()
        errors.append(max(np.abs(q_then - exact.q[-1]).max(), np.abs(v_then - exact.v[-1]).max()))
    fitted = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert order + 0.3 < fitted < order + 2.3


@pytest.mark.parametrize(
    "integrator", ["dopri5", "dop853", "rk4", "abm4", "midpoint", "semi_implicit", "leapfrog"]
)
def test_a_controller_that_gives_nothing_changes_nothing(problem, integrator):
    """A controller in Python makes the run go piece by piece; the bits are the same."""
    system, q, v, duration, _ = problem
    chosen = {} if integrator.startswith("dop") else {"step": duration / 50}
    compiled = ct.simulate(system, q, v, duration, integrator=integrator, **chosen)
    staged = ct.simulate(
        system, q, v, duration, integrator=integrator, control=lambda t, q, v: np.zeros(system.nv), **chosen
    )
    assert compiled.settings["steps taken by"] != staged.settings["steps taken by"]
    np.testing.assert_array_equal(compiled.q, staged.q)
    np.testing.assert_array_equal(compiled.v, staged.v)


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
def test_errors_follow_the_tolerance(problem, integrator):
    system, q, v, duration, exact = problem
    tolerances = (1e-5, 1e-7, 1e-9, 1e-11)
    runs = [ct.simulate(system, q, v, duration, integrator=integrator, rtol=r, atol=r) for r in tolerances]
    errors = [error(system, run, exact) for run in runs]
    assert all(e < 1000 * r for e, r in zip(errors, tolerances, strict=True))
    assert errors[-1] < 1e-4 * errors[0]


@pytest.mark.parametrize("integrator", ["radau", "bdf", "lsoda"])
def test_stiff_methods_reach_the_same_motion(integrator):
    """A pendulum on a stiff spring whose fast part has died out long before the end."""
    m = ct.Mechanism("stiff")
    m.add_body("a", mass=1.0, com=(0, 0, -1.0), inertia=0.01)
    m.add_body("b", mass=0.1, com=(0, 0, -0.1), inertia=1e-4)
    m.add_joint("A", "ground", "a", ct.Revolute("y"))
    m.add_joint("B", "a", "b", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, -1.0)))
    m.add_spring("rod", "B", stiffness=200.0, rest=0.0, damping=20.0)
    s = m.system()
    stiff = ct.simulate(s, [0.5, 0.1], [0.0, 0.0], 1.0, integrator=integrator, rtol=1e-8, atol=1e-10)
    exact = ct.simulate(s, [0.5, 0.1], [0.0, 0.0], 1.0)
    np.testing.assert_allclose(stiff.q[-1], exact.q[-1], atol=1e-6)
    # Explicit steps follow the fast part to the end, implicit ones do not have to.
    assert stiff.steps < exact.steps / 3


def test_stiff_methods_keep_loops_closed_and_quaternions_of_unit_length():
    system, q, v, duration = closed()
    run = ct.simulate(system, q, v, duration, integrator="radau", rtol=1e-8, atol=1e-10)
    exact = ct.simulate(system, q, v, duration)
    assert run.closure_error < 1e-10
    np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=1e-5)
    tumbling, q, v, duration = curved()
    run = ct.simulate(tumbling, q, 4.0 * v, 1.0, integrator="lsoda", rtol=1e-8, atol=1e-10)
    exact = ct.simulate(tumbling, q, 4.0 * v, 1.0)
    np.testing.assert_allclose(tumbling.difference(run.q[-1], exact.q[-1]), 0.0, atol=1e-5)
    tumbling.kinetic_energy(run.q, run.v)  # refuses quaternions that are not of unit length


def test_quaternions_stay_of_unit_length_over_many_steps():
    system = humanoid().system()
    rng = np.random.default_rng(1)
    run = ct.simulate(system, system.neutral(), rng.normal(size=system.nv), 1.0, integrator="rk4", step=1e-3)
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=-1) - 1.0).max() < 1e-13


def test_what_is_not_a_number_is_never_overlooked():
    """Errors are compared one after the other, so a NaN must win against whatever comes before or later."""
    assert larger(2.0, 1.0) == larger(1.0, 2.0) == 2.0
    assert np.isnan(larger(np.nan, 1.0)) and np.isnan(larger(1.0, np.nan))
