"""Massless bodies that only loops move, and parts that loops hold still: solved in lanes, and refused where nothing
determines how they move."""

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops.closed_chains import pose_problem, solve
from catena.dynamics.loops.closing.projection import project
from catena.dynamics.loops.elimination import borrowers
from catena.dynamics.loops.formulations.certified_elimination import doubt, elimination_of, is_trusted
from catena.kernels.evaluation import Evaluator
from catena.mechanism.generators import n_four_bars, stewart
from tests.fuzz.builder import built
from tests.fuzz.test_mechanisms import Subject


def slider_crank(on_crank: ct.JointKind) -> ct.Mechanism:
    """A crank, a rod without mass, and a slider that is not in the plane of the crank."""
    m = ct.Mechanism("rod without mass")
    m.add_body("crank", 1.0, (0.2, 0.0, 0.0), (0.01, 0.1, 0.1))
    m.add_body("rod")
    m.add_body("slider", 2.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("B", "crank", "rod", on_crank, ct.Pose(p=(0.5, 0.0, 0.0)))
    m.add_joint("S", "ground", "slider", ct.Prismatic("x"), ct.Pose(p=(0.0, 0.1, 0.2)))
    m.add_joint("C", "rod", "slider", ct.Spherical(), ct.Pose(p=(2.0, 0.0, 0.0)))
    return m


def closed_states(s: ct.System, count: int) -> tuple[np.ndarray, np.ndarray]:
    q = np.array([s.assemble({"A": angle}) for angle in np.linspace(0.1, 6.0, count)])
    return q, np.array([s.velocity(one, {"A": 1.0 + k}) for k, one in enumerate(q)])


def test_a_rod_that_only_loops_move():
    s = slider_crank(ct.Universal("y", "z")).system(cut=["C"])
    assert borrowers(s.plan)
    q, v = closed_states(s, 12)
    tau = np.zeros_like(v)
    tau[:, s.slice_v("A")] = 3.0
    found = s.mechanics.evaluator.evaluate(
        elimination_of(s.plan), {"q": q, "qd": v, "tau": tau}, finite=False
    )
    assert is_trusted(*(found[name][:, 0] for name in ("defect", "change", "before", "size"))).all()
    expected = s.forward_dynamics(q, v, tau, method="kkt")
    np.testing.assert_allclose(found["qdd"], expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(s.forward_dynamics(q, v, tau), expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(s.forward_dynamics(q[3], v[3], tau[3]), expected[3], rtol=1e-9)


def test_a_run_with_such_a_rod_is_one_with_hardly_any_mass():
    """Its energy stays, it moves as with a rod of a microgram, and Python takes no part in its steps."""
    s = slider_crank(ct.Universal("y", "z")).system(cut=["C"])
    q = s.assemble({"A": 0.5})
    v = s.velocity(q, {"A": 5.0})
    run = ct.simulate(s, q, v, 1.0, progress=False)
    assert run.settings["steps taken by"] == "the compiled loop"
    energy = run.energy
    assert np.ptp(energy) < 1e-8 * np.abs(energy).max() + 1e-8
    m = slider_crank(ct.Universal("y", "z"))
    heavy = ct.Mechanism("hardly any mass")
    for body in list(m.bodies.values())[1:]:
        mass = body.mass or 1e-9
        heavy.add_body(body.name, mass, body.com, body.inertia if body.mass else 1e-10 * np.ones(3))
    for j in m.joints.values():
        heavy.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child)
    other = ct.simulate(heavy.system(cut=["C"]), q, v, 1.0, samples=[0.0, 1.0], progress=False)
    np.testing.assert_allclose(run.q[-1], other.q[-1], atol=1e-7)


@pytest.mark.parametrize("way", ["auto", "kkt", "batch", "simulate"])
def test_a_rod_that_may_spin_is_refused_in_every_way(way):
    s = slider_crank(ct.Spherical()).system(cut=["C"])
    q = s.assemble({"A": 0.7})
    v = s.velocity(q, {"A": 1.0})
    with pytest.raises(ct.SingularDynamicsError, match="'rod'"):
        if way == "simulate":
            ct.simulate(s, q, v, 0.1, progress=False)
        elif way == "batch":
            s.forward_dynamics(np.stack([q, q]), np.stack([v, v]))
        else:
            s.forward_dynamics(q, v, method=way)


def test_a_part_that_loops_hold_still_is_not_judged_by_rounding():
    """Without gravity nothing is at work in it but the rounding of its velocities."""
    m = ct.Mechanism("held and free", gravity=(0.0, 0.0, 0.0))
    m.add_body("held", 100.0, (0.1, 0.2, 0.3), (40.0, 50.0, 60.0))
    m.add_body("free", 1.0, (0.0, 0.1, 0.0), (0.1, 0.2, 0.25))
    m.add_joint("pin", "ground", "held", ct.Revolute("z"), damping=1e5)
    m.add_joint(
        "ball", "ground", "held", ct.Spherical(), ct.Pose(p=(1.0, 0.0, 0.0)), ct.Pose(p=(1.0, 0.0, 0.0))
    )
    m.add_joint("float", "ground", "free", ct.Free(), damping=10.0)
    s = m.system(cut=["ball"])
    rng = np.random.default_rng(0)
    q, v = s.neutral(), np.zeros((50, s.nv))
    v[:, s.slice_v("float")] = rng.normal(size=(50, 6))
    v[:, s.slice_v("pin")] = 1e-17 * rng.normal(size=(50, 1))
    found = s.mechanics.evaluator.evaluate(
        elimination_of(s.plan), {"q": np.tile(q, (50, 1)), "qd": v}, finite=False
    )
    assert is_trusted(*(found[name][:, 0] for name in ("defect", "change", "before", "size"))).all()


@pytest.mark.parametrize("seed", [7, 910])
def test_turns_of_a_part_that_loops_hold_still_are_not_judged_by_rounding(seed):
    """Nothing turns there but by rounding, 1e-18 to 1e-16 rad/s^2, which was judged beside 1e-9: next to the threshold,
    so that it hung on the processor whether states were solved by singular values."""
    case = Subject(built(seed))
    s, rng = case.system, np.random.default_rng(0)
    q = s.integrate(case.q, 1e-15 * case.units * rng.normal(size=(50, s.nv)))
    tau = 1e-3 * rng.normal(size=(50, s.nv))
    inputs = {"q": q, "qd": np.zeros_like(tau), "tau": tau}
    found = s.mechanics.evaluator.evaluate(elimination_of(s.plan), inputs, finite=False)
    assert doubt(*(found[name][:, 0] for name in ("defect", "change", "before", "size"))).max() < 0.02
    np.testing.assert_allclose(found["qdd"], 0.0, atol=1e-10)


def test_a_massless_body_that_nothing_acts_on_is_not_judged_by_rounding():
    """No force passes through its joint but rounding, which was missed by a third of itself: accelerations right to
    1e-14 were solved again by singular values in every state."""
    case = Subject(built(1297))
    s, units = case.system, case.units
    assert borrowers(s.plan)
    _, sigma, Vt = np.linalg.svd(s.closure_jacobian(case.q) * units)
    free = Vt[int((sigma > 1e-8 * sigma.max()).sum()) :].T
    v = units * (np.random.default_rng(0).normal(size=(12, free.shape[1])) @ free.T)
    q, v = s.project(s.integrate(case.q, 0.02 * v), v)
    found = s.mechanics.evaluator.evaluate(
        elimination_of(s.mechanics.effective_plan),
        {"q": q, "qd": v},
        finite=False,
    )
    assert is_trusted(*(found[name][:, 0] for name in ("defect", "change", "before", "size"))).all()


def test_a_joint_that_feels_nothing_but_rounding_feels_nothing():
    """A massless body in two hinges on an arm, and another one that slides on it in the plane in which it turns: what
    the hinges feel is zero but for rounding, and that was once divided by. Velocities came back to the loop by leaps of
    1e6 rad/s, and the run was off and away after two steps."""
    case = Subject(built(2674))
    s, q = case.system, case.q
    assert borrowers(s.plan)
    v = s.velocity(
        q, {s.joints[0]: -0.5, s.joints[1]: -0.6, s.joints[3]: -0.6, s.joints[4]: (-0.2, 0.01, -2.0)}
    )
    run = ct.simulate(s, q, v, 0.05, integrator="rk4", step=1e-3, progress=False)
    assert run.audit().ok and run.audit()["energy"].value < 1e-9, str(run.audit())
    kkt = s.forward_dynamics(run.q, run.v, method="kkt")
    np.testing.assert_allclose(s.forward_dynamics(run.q, run.v), kkt, atol=1e-9 * np.abs(kkt).max())


@pytest.mark.parametrize("seed", [672, 826, 1084, 2459, 2689, 2692, 3037])
def test_loops_that_pass_through_bodies_which_others_hold_are_solved_in_lanes(seed):
    """What they felt there were the rounding errors of something stiff by eleven orders of magnitude: every state of
    a run was solved by singular values, and loops stayed open by 1e-10. In 3037 a massless body hangs on a light
    one, and was lent inertia by the measure of the heavy ones."""
    case = Subject(built(seed))
    s, q = case.system, case.q
    s.mechanics.settle(q)
    # Only redundant constraints that pass through a body which is lent inertia need softening.
    assert s.mechanics.effective_plan.soft == (seed in (2692, 3037))
    J = s.closure_jacobian(q)
    _, sigma, Vt = np.linalg.svd(J * case.units)
    free = Vt[int((sigma > 1e-8 * sigma.max()).sum()) :].T
    v = case.units * (np.random.default_rng(0).normal(size=(12, free.shape[1])) @ free.T)
    near, rates = s.project(s.integrate(q, v, 1e-4), v)
    problem = pose_problem(s.mechanics.evaluator, {"q": near, "qd": rates})
    solution, kkt = solve(problem, "auto"), solve(problem, "kkt").vdot
    np.testing.assert_allclose(solution.vdot, kkt, atol=1e-8 * np.abs(kkt).max())
    # Where inertia is lent, the first state is always solved by singular values as well.
    assert list(solution.handed_over) == ([0] if borrowers(s.mechanics.effective_plan) else [])
    assert np.abs(s.closure(near)[0]).max() < 1e-12 * max(1.0, case.made.size)


@pytest.mark.parametrize("seed", [52, 89, 749, 872, 993, 2692, 3037])
def test_lanes_vouch_for_soft_loops_with_a_margin(seed):
    """Whether they did hung on the last digits of positions, which processors round differently: seed 2692 was solved
    in lanes by some and by singular values by others."""
    case = Subject(built(seed))
    s, units = case.system, case.units
    s.mechanics.settle(case.q)
    assert s.mechanics.effective_plan.soft and borrowers(s.plan)
    rng = np.random.default_rng(seed)
    _, sigma, Vt = np.linalg.svd(s.closure_jacobian(case.q) * units)
    free = Vt[int((sigma > 1e-8 * sigma.max()).sum()) :].T
    v = units * (rng.normal(size=(100, free.shape[1])) @ free.T)
    q = s.integrate(case.q, 1e-15 * units * rng.normal(size=(100, s.nv)))
    found = s.mechanics.evaluator.evaluate(
        elimination_of(s.mechanics.effective_plan),
        {"q": q, "qd": v},
        finite=False,
    )
    certificate = [found[name][:, 0] for name in ("defect", "change", "before", "size")]
    assert is_trusted(*certificate).all() and doubt(*certificate).max() < 0.1


@pytest.mark.parametrize("seed", [64, 319, 2692])
def test_hard_or_soft_does_not_hang_on_the_last_digits_of_a_position(seed):
    """In one state hard loops of the first two are trusted or not by chance, by four orders of magnitude."""
    case = Subject(built(seed))
    rng = np.random.default_rng(seed)
    for _ in range(10):
        s = case.made.mechanism.system()
        s.mechanics.settle(s.integrate(case.q, 1e-15 * case.units * rng.normal(size=s.nv)))
        assert s.mechanics.effective_plan.soft


def held_screw() -> ct.System:
    """An arm with a massless body that a screw and a ball joint hold on it."""
    m = ct.Mechanism("held screw")
    m.add_body("arm", 18.0, (2.0, 1.0, -3.0), (200.0, 600.0, 700.0))
    m.add_body("held")
    m.add_joint("pin", "ground", "arm", ct.Revolute("y"))
    at = ct.Pose(p=(3.0, -4.0, 5.0), rpy=(0.3, -0.7, 1.1))
    m.add_joint("screw", "arm", "held", ct.Helical((0.57, 0.82, 0.03), 3.0), at)
    ball = ct.Pose(p=(-6.0, 7.0, 2.0), rpy=(0.5, 0.2, -0.4))
    m.add_joint("ball", "arm", "held", ct.Spherical(), ball, at.inverse() * ball)
    return m.system(cut=["ball"])


def test_a_massless_body_that_a_ball_joint_holds_is_solved_in_lanes():
    """Of the three constraints of the ball joint one holds the body in its screw and two are redundant. The inverse of
    what they yield by lost all digits, every state of a run was solved by singular values, and `project`, which did
    not, gave velocities that closed the loop and were off by a sixth: a run ended with another energy."""
    s = held_screw()
    q = np.stack([np.linspace(-1.0, 1.0, 50), np.zeros(50)], axis=1)
    given = np.random.default_rng(0).normal(size=q.shape) * [1.0, 1e-9]
    expected = s.forward_dynamics(q, given * [1.0, 0.0], method="kkt")
    solution = solve(pose_problem(s.mechanics.evaluator, {"q": q, "qd": given * [1.0, 0.0]}), "auto")
    assert list(solution.handed_over) == [0] and s.mechanics.effective_plan.soft
    np.testing.assert_allclose(solution.vdot, expected, atol=1e-9)
    near, v = s.project(q, given)
    np.testing.assert_allclose(v, given * [1.0, 0.0], atol=1e-9)
    run = ct.simulate(s, q[7], given[7] * [1.0, 0.0], 1.0, progress=False)
    assert run.audit()["energy"].value < 1e-8, str(run.audit())


@pytest.mark.parametrize("seed", [632, 749, 2674])
def test_states_are_not_projected_by_corrections_that_cannot_be_vouched_for(seed):
    """With hard loops the elimination is lost in rounding in these mechanisms. Its corrections closed the loops all the
    same, and changed velocities by a thousand times as much as they need be."""
    case = Subject(built(seed))
    s, units = case.system, case.units
    assert not s.plan.soft
    rng = np.random.default_rng(seed)
    _, sigma, Vt = np.linalg.svd(s.closure_jacobian(case.q) * units)
    free = Vt[int((sigma > 1e-8 * sigma.max()).sum()) :].T
    v = units * (rng.normal(size=(32, free.shape[1])) @ free.T)
    q, v = s.project(s.integrate(case.q, 0.1 * v), v, held=())
    v = v + 1e-8 * rng.normal(size=v.shape) * units
    rates = project(Evaluator(s.mechanism, s.plan), q, v)[1]
    assert rates is not None
    expected = s.project(q, v, held=())[1]
    np.testing.assert_allclose(rates / units, expected / units, atol=2e-9)


def test_a_compiled_step_closes_loops_as_project_does():
    """It corrects velocities once, without refinements, and trusts that where accelerations can be vouched for. So a
    step that closes loops is one that does not, projected afterwards; what is left is the second order of the way."""
    s = slider_crank(ct.Universal("y", "z")).system(cut=["C"])
    q, v = closed_states(s, 12)
    given = {
        "integrator": "semi_implicit",
        "step": 1e-4,
        "samples": [0.0, 1e-4],
        "check": False,
        "progress": False,
    }
    closed, opened = (ct.simulate(s, q, v, 1e-4, drift=drift, **given) for drift in ("projection", "none"))
    near, rates = s.project(opened.q[:, -1], opened.v[:, -1], held=())
    corrected = np.abs(rates - opened.v[:, -1]).max()
    assert corrected > 1e-6
    np.testing.assert_allclose(closed.q[:, -1], near, atol=1e-5 * np.abs(near - opened.q[:, -1]).max())
    np.testing.assert_allclose(closed.v[:, -1], rates, atol=1e-5 * corrected)


def test_what_forces_would_do_to_a_loan_excuses_no_error():
    """They would move the massless body of this mechanism, if it were alone with its loan, millions of times as fast as
    anything moves. Accelerations that were off by 5e-6 passed for exact beside that."""
    case = Subject(built(1023))
    s, q = case.system, np.stack([case.q, case.q])
    assert borrowers(s.plan)
    tau = 100.0 * np.cos(1.0 + np.arange(2 * s.nv).reshape(2, -1))
    # Only the second state is solved in lanes.
    kkt = s.forward_dynamics(q, np.zeros_like(tau), tau, method="kkt")[1]
    vdot = s.forward_dynamics(q, np.zeros_like(tau), tau)[1]
    np.testing.assert_allclose(vdot, kkt, atol=1e-10 * np.abs(kkt).max())


def test_other_loops_are_not_softened():
    """It would cost digits next to singular configurations."""
    for m in (n_four_bars(4), stewart()):
        s = m.system()
        s.mechanics.settle(s.neutral())
        s.forward_dynamics(s.neutral(), np.zeros(s.nv))
        assert s.mechanics.effective_plan is s.plan


@pytest.mark.parametrize("method", ["auto", "kkt"])
def test_a_massless_slide_that_only_rounding_holds_is_refused(method):
    """It slides within the plane of the joint that closes the loop. Frames that are turned leave rounding across that
    plane, which is no constraint."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        quat = rng.normal(size=4)
        tilt = ct.Pose(quat=quat / np.linalg.norm(quat))
        m = ct.Mechanism("sleeve in a plane", gravity=(0, 0, 0))
        m.add_body("sleeve", mass=0.0, inertia=0.0)
        m.add_body("plate", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.2, 0.3, 0.4))
        axis = (*rng.normal(size=2), 0.0)
        m.add_joint("slides", "ground", "sleeve", ct.Prismatic(axis), in_parent=tilt)
        m.add_joint("turns", "ground", "plate", ct.Revolute("z"), in_parent=tilt)
        m.add_joint("lies", "sleeve", "plate", ct.Planar("z"))
        s = m.system()
        assert s.loops == ("lies",)
        with pytest.raises(ct.SingularDynamicsError):
            s.forward_dynamics(np.zeros(2), np.zeros(2), np.ones(2), method=method)
