"""Constraints that are redundant up to the accuracy of the model: one verdict for a mechanism, the same wherever its
loops are computed with. Each mechanism is compared with the one whose pin is where it should be."""

import warnings

import numpy as np
import pytest

import catena as ct
from catena.dynamics.loops import closed_chains
from catena.dynamics.loops.closed_chains import FORMULATIONS
from catena.kernels.evaluation import Evaluator
from catena.mechanism.generators import four_bar, n_four_bars, spatial_four_bar
from catena.spatial import Pose

OFF = (1e-9, 1e-7)


def rounder(m):
    """The mechanism with bodies that have some inertia about every axis."""
    for name, body in m.bodies.items():
        if name != "ground":
            m = m.with_body(name, inertia=body.inertia + 1e-3 * np.eye(3))
    return m


def planar_four_bar(tilt):
    """The planar four-bar with the axis of joint D tilted by `tilt` rad about the line from D to C."""
    tilted = ct.Revolute((0.0, -np.cos(tilt), np.sin(tilt)))
    return rounder(four_bar().copy("planar four-bar")).with_joint("D", kind=tilted)


def pin_off_along_its_axis(distance):
    """The planar four-bar with joint D moved by so many metres along its axis: its loop never closes."""
    m = rounder(four_bar().copy("four-bar with a gap"))
    where = m.joints["D"].in_parent
    return m.with_joint("D", in_parent=Pose(R=where.R, p=where.p + np.array([0.0, distance, 0.0])))


def bennett(misalignment):
    return spatial_four_bar(misalignment=misalignment)


def row_of_four_bars(tilt):
    """Two four-bars in a row with the middle pin tilted by `tilt` rad about its rod."""
    tilted = ct.Revolute((np.sin(tilt), np.cos(tilt), 0.0))
    return rounder(n_four_bars(2).copy("row")).with_joint("pin1", kind=tilted)


CASES = {
    "planar": (planar_four_bar, "A", ()),
    "planar, cut at D": (planar_four_bar, "A", ("D",)),
    "gap": (pin_off_along_its_axis, "A", ()),
    "gap, cut at B": (pin_off_along_its_axis, "A", ("B",)),
    "bennett": (bennett, "A", ()),
    "bennett, cut at B": (bennett, "A", ("B",)),
    "bennett, cut at A": (bennett, "D", ("A",)),
    "row": (row_of_four_bars, "pin0", ()),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def planned(case, off):
    """The system with a pin off by so much, which says so, and the joint that drives it."""
    build, joint, cut = case
    s = build(off).system(cut=cut)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        s.diagnose(s.neutral())
    assert len(told) == (off > 0.0)
    assert not told or "redundant but for" in str(told[0].message)
    return s, joint


def moving(s, joint):
    q = s.assemble({joint: 0.4})
    return q, s.velocity(q, {joint: 1.5})


@pytest.mark.parametrize("off", OFF)
def test_the_verdict_is_the_same_everywhere(case, off):
    s, joint = planned(case, off)
    exact, _ = planned(case, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it was said once
        q, v = moving(s, joint)
        q0, v0 = moving(exact, joint)
        np.testing.assert_allclose(q, q0, atol=30 * off)
        np.testing.assert_allclose(v, v0, atol=100 * off)
        np.testing.assert_allclose(s.closure(q, v), 0.0, atol=1e-11)
        there, here = exact.diagnose(q0), s.diagnose(q)
        assert (here.mobility, here.rank, len(here.redundant)) == (1, there.rank, len(there.redundant))
        assert not here.singular and not here.shaky
        assert here.closure_error < 10 * off
        near, rates = s.project(q + 1e-4, v)
        np.testing.assert_allclose(s.closure(near, rates), 0.0, atol=1e-11)
        held, rates = s.project(q, v, held=[joint])
        np.testing.assert_allclose(held[s.slice_q(joint)], 0.4, atol=1e-15)
        np.testing.assert_allclose(s.closure(held, rates), 0.0, atol=1e-11)
        J = s.closure_jacobian(q)
        np.testing.assert_allclose(J @ v, 0.0, atol=1e-11)
        assert np.linalg.matrix_rank(J, tol=1e-12) == here.rank


@pytest.mark.parametrize("off", OFF)
def test_all_formulations_move_it_alike_and_as_the_exact_one(case, off):
    s, joint = planned(case, off)
    exact, _ = planned(case, 0.0)
    q, v = moving(s, joint)
    tau = np.linspace(-2.0, 3.0, s.nv)
    kkt = s.forward_dynamics(q, v, tau, method="kkt")
    for method in ("auto", *FORMULATIONS):
        vdot = s.forward_dynamics(q, v, tau, method=method)
        np.testing.assert_allclose(vdot, kkt, rtol=0.0, atol=1e-9 * np.abs(kkt).max(), err_msg=method)
    np.testing.assert_allclose(kkt, exact.forward_dynamics(*moving(exact, joint), tau), atol=1e3 * off)
    # What forward dynamics gives, inverse dynamics takes, and prescribed motion is no contradiction.
    back = s.forward_dynamics(q, v, s.inverse_dynamics(q, v, kkt))
    np.testing.assert_allclose(back, kkt, atol=1e-8 * np.abs(kkt).max())
    k = s.slice_v(joint)
    given, drive = s.hybrid_dynamics(q, v, tau, {joint: kkt[k]})
    np.testing.assert_allclose(given, kkt, atol=1e-8 * np.abs(kkt).max())
    np.testing.assert_allclose(drive[k], tau[k], atol=1e-6)


def test_reactions_are_those_of_the_exact_one(case):
    off = 1e-8
    s, joint = planned(case, off)
    exact, _ = planned(case, 0.0)
    ours, theirs = (x.reactions(*moving(x, joint)) for x in (s, exact))
    for name, wrench in theirs.items():
        np.testing.assert_allclose(ours[name], wrench, atol=3e3 * off + 1e-9, err_msg=name)


@pytest.mark.parametrize("method", ["auto", "kkt", "minimal"])
def test_it_does_not_matter_what_is_asked_first(case, method):
    exact, joint = planned(case, 0.0)
    q, v = moving(exact, joint)
    vdot = exact.forward_dynamics(q, v)
    build, _, cut = case
    for off in (1e-11, 1e-8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = build(off).system(cut=cut).forward_dynamics(q, v, method=method)
        np.testing.assert_allclose(found, vdot, atol=(30 * off + 1e-12) * np.abs(vdot).max())


def test_the_compiled_elimination_hands_nothing_over(case):
    s, joint = planned(case, 1e-8)
    q = np.array([s.assemble({joint: x}) for x in np.linspace(-0.4, 0.4, 9)])
    v = s.velocity(q, {joint: 1.0})
    problem = closed_chains.pose_problem(
        Evaluator(s.mechanism, s.mechanics.effective_plan),
        {"q": q, "qd": v},
    )
    assert len(closed_chains.solve(problem, "auto").handed_over) == 0


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("name", ["planar", "gap", "bennett", "bennett, cut at B"])
def test_it_is_simulated_as_the_exact_one(name, off):
    """Over more than a turn of the crank, in as many steps."""
    s, joint = planned(CASES[name], off)
    exact, _ = planned(CASES[name], 0.0)
    runs = []
    for system in (s, exact):
        q = system.assemble({joint: 0.4})
        runs.append(ct.simulate(system, q, system.velocity(q, {joint: 8.0}), 1.0, samples=21))
    ours, theirs = runs
    assert abs(ours.q[-1, s.slice_q(joint)][0]) > 2 * np.pi
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e3 * off + 1e-6)
    assert ours.steps < 2 * theirs.steps
    assert ours.closure_error < 1e-10
    energy = s.kinetic_energy(ours.q, ours.v) + s.potential_energy(ours.q)
    assert np.abs(energy - energy[0]).max() < (100 * off + 1e-7) * np.abs(energy).max()


def test_a_row_with_a_pin_that_is_off_comes_through_flat_configurations():
    """Singular configurations of a mechanism that is nearly redundant besides."""
    s, _ = planned(CASES["row"], 1e-8)
    exact, _ = planned(CASES["row"], 0.0)
    runs = [
        ct.simulate(x, x.neutral(), x.velocity(x.neutral(), {"pin0": 1.0}), 3.0, samples=31)
        for x in (s, exact)
    ]
    ours, theirs = (run.q[:, s.slice_q("pin0")] for run in runs)
    assert np.abs(theirs).max() > 2 * np.pi
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    for joint in ("pin1", "pin2"):
        np.testing.assert_allclose(runs[0].q[:, s.slice_q(joint)], ours, atol=1e-5)


def test_the_accuracy_is_for_the_user_to_set():
    m = bennett(1e-6)
    assert m.system().diagnose(np.zeros(3)).mobility == 0
    rough = m.system(accuracy=1e-5)
    with pytest.warns(ct.CatenaWarning, match="accuracy of 1e-05"):
        assert rough.diagnose(np.zeros(3)).mobility == 1
    by_the_letter = bennett(1e-8).system(accuracy=0.0)
    assert by_the_letter.diagnose(np.zeros(3)).mobility == 0
    assert bennett(1e-8).system().diagnose(np.zeros(3), tolerance=1e-10).mobility == 0
    for accuracy in (-1.0, np.nan, 0.1):
        with pytest.raises(ct.ModelError, match="accuracy"):
            m.system(accuracy=accuracy)


def test_a_gap_that_is_larger_than_the_accuracy_is_refused_unless_the_user_says_otherwise():
    m = pin_off_along_its_axis(1e-6)
    s, rough = m.system(), m.system(accuracy=1e-5)
    with pytest.warns(ct.CatenaWarning, match="stay open .* m.system"):
        q = s.assemble({"A": 0.4})
    with pytest.raises(
        ct.StateError, match="not closed at the start .* No closed state was found .* m.system"
    ):
        ct.simulate(s, q, s.velocity(q, {"A": 1.0}), 0.1)
    with pytest.warns(ct.CatenaWarning, match="a gap of 8.3e-07 .* accuracy of 1e-05"):
        q, v = moving(rough, "A")
    run = ct.simulate(rough, q, v, 0.1)
    assert run.audit().ok
    exact = pin_off_along_its_axis(0.0).system()
    np.testing.assert_allclose(run.q[-1], ct.simulate(exact, *moving(exact, "A"), 0.1).q[-1], atol=1e-10)


def test_what_is_seen_is_told():
    s = bennett(1e-8).system()
    with pytest.warns(
        ct.CatenaWarning, match=r"'spatial four-bar': 1 constraint is redundant but for .* loops of 'C'"
    ):
        text = str(s.diagnose(s.neutral()))
    assert "mobility 1" in text and "but for a singular value of 4" in text
    rigid = bennett(1e-6).system()
    with pytest.warns(ct.CatenaWarning, match="opens them at .* m.system\\(accuracy="):
        rigid.velocity(rigid.neutral(), {"A": 1.0})
    with pytest.warns(ct.CatenaWarning, match="stay open with the values given for 'A', .* m.system"):
        q = rigid.assemble({"A": 0.4})
    with pytest.raises(ct.StateError, match="not closed at the start .* m.system"):
        ct.simulate(rigid, q, rigid.velocity(q, {"A": 1.0}), 1.0)


@pytest.mark.parametrize("beside", [1e-3, 1e-6, 1e-7, 1e-8, 1e-9, 0.0])
def test_a_singular_configuration_is_not_mistaken(beside):
    """Rods that lie nearly flat hold each other weakly, but only there."""
    s = n_four_bars(2).system()
    q, turns = np.zeros(s.nq), {"pin": 1.0, "left": -1.0, "right": -1.0}
    for joint in s.joints:
        q[s.slice_q(joint)] = turns[joint.rstrip("0123456789")] * (np.pi / 2 - beside)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # As the first thing that is asked.
        s.forward_dynamics(q, np.zeros(s.nv), method="kkt")
        assert s.diagnose(q).mobility == (1 if beside else 3)
    assert s.mechanics.effective_plan is s.plan


def test_bars_that_cannot_get_anywhere_are_held_by_what_is_weak():
    """Two bars between pins 2 m less 1e-15 m apart: the constraint is weak, and there is nothing beside."""
    m = ct.Mechanism("two bars")
    for name in ("first", "second"):
        m.add_body(name, 1.0, (0.5, 0, 0), (0.001, 0.1, 0.1))
    m.add_joint("A", "ground", "first", ct.Revolute("y"))
    m.add_joint("B", "first", "second", ct.Revolute("y"), Pose(p=(1, 0, 0)))
    m.add_joint("C", "second", "ground", ct.Revolute("y"), Pose(p=(1, 0, 0)), Pose(p=(2.0 - 1e-15, 0, 0)))
    s = m.system()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.diagnose(s.assemble(guess=np.array([1e-8, -2e-8])))
    assert s.mechanics.effective_plan is s.plan


def test_constraints_of_several_joints_that_are_redundant_together():
    """A door on three hinges, one of them off, and a table on four feet, one of which is not level."""
    m = ct.Mechanism("door")
    m.add_body("door", 10.0, (0.5, 0, 1.0), (1, 1, 1))
    for k, off in enumerate((0.0, 1e-8, 0.0)):
        at = Pose(p=(off, 0, k))
        m.add_joint(f"hinge{k}", "ground", "door", ct.Revolute("z"), at, at)
    s = m.system()
    with pytest.warns(ct.CatenaWarning, match="'hinge1', 'hinge2'"):
        d = s.diagnose([0.0])
    assert (d.mobility, len(d.redundant)) == (1, 10)
    np.testing.assert_allclose(s.forward_dynamics([0.2], [1.0], [6.0]), 6.0 / (1.0 + 2.5), rtol=1e-6)
    m = ct.Mechanism("table")
    m.add_body("top", 10.0, (0, 0, 0), (1, 1, 1))
    m.add_joint("float", "ground", "top", ct.Free())
    for k, (x, y) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
        m.add_body(f"leg{k}", 0.1, (0, 0, 0), (0.01, 0.01, 0.01))
        m.add_joint(f"ball{k}", "top", f"leg{k}", ct.Spherical(), Pose(p=(x, y, 0)))
        normal = (1e-8 * (k == 2), 0.0, 1.0)
        m.add_joint(f"foot{k}", "ground", f"leg{k}", ct.Planar(normal), Pose(p=(x, y, 0)))
    s = m.system()
    with pytest.warns(ct.CatenaWarning, match="redundant but for"):
        d = s.diagnose(s.neutral())
    assert d.redundancy == 1 and d.mobility == 3 + 4
    # Gliding along x and turning, all feet stay on the ground, and the table does not fall.
    vdot = s.forward_dynamics(s.neutral(), np.zeros(s.nv))
    np.testing.assert_allclose(vdot, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["bennett, cut at B", pytest.param("planar, cut at D", marks=pytest.mark.slow)]
)
def test_equations_and_specialised_kernels_are_those_that_run(name):
    """Also where a loop is seen from its other side, and with a symbol in the plan."""
    s, joint = planned(CASES[name], 1e-8)
    q, v = moving(s, joint)
    tau = np.linspace(-2.0, 3.0, s.nv)
    vdot = s.forward_dynamics(q, v, tau)
    body = next(iter(set(s.mechanism.bodies) - {"ground"}))
    for method in ("elimination", "joint_multipliers", "minimal"):
        e = s.equations("forward_dynamics", symbols=[f"{body}.mass"], method=method, at=q)
        found = e(q, v, tau)
        found = found[0] if isinstance(found, tuple) else found
        np.testing.assert_allclose(found, vdot, atol=1e-8 * np.abs(vdot).max(), err_msg=method)
    position, rate = s.equations("closure")(q, v)
    np.testing.assert_allclose(np.concatenate([position, rate]), 0.0, atol=1e-11)
    assert len(position) == s.diagnose(q).rank
    special = s.specialise()
    np.testing.assert_allclose(special.forward_dynamics(q, v, tau), vdot, atol=1e-9 * np.abs(vdot).max())
    assert special.variants.specialiser.wait(600.0)
    np.testing.assert_allclose(special.forward_dynamics(q, v, tau), vdot, atol=1e-9 * np.abs(vdot).max())
    assert special.diagnose(q).mobility == 1


@pytest.mark.parametrize("name", ["planar, cut at D", "bennett, cut at B"])
def test_forces_at_a_loop_joint_act_as_on_the_exact_one(name):
    """A spring and a damper at the joint that is cut, which may be seen from its other side."""
    runs = []
    for off in (1e-8, 0.0):
        build, joint, cut = CASES[name]
        m = build(off)
        m.add_spring("spring", cut[0], stiffness=5.0, rest=0.2, damping=0.3)
        s = m.system(cut=cut)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            q = s.assemble({joint: 0.4})
            runs.append(ct.simulate(s, q, s.velocity(q, {joint: 3.0}), 0.3, samples=7))
    ours, theirs = runs
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-6)
    angles = [run.system.joint_position(run.q, cut[0]) for run in runs]
    np.testing.assert_allclose(*angles, atol=1e-6)
    assert np.ptp(angles[0]) > 0.2


def test_derivatives_and_equilibria_are_those_of_the_exact_one():
    """On a loop that is seen from its other side."""
    (s, joint), (exact, _) = (
        planned(CASES["bennett, cut at B"], 1e-8),
        planned(CASES["bennett, cut at B"], 0.0),
    )
    v = moving(s, joint)[1]
    ours, theirs = (x.linearise(*moving(x, joint)) for x in (s, exact))
    np.testing.assert_allclose(ours.A, theirs.A, atol=1e-5)
    ours, theirs = (x.forward_dynamics_derivatives(*moving(x, joint)) for x in (s, exact))
    # Along the motion, which keeps the loops closed.
    vdot = s.forward_dynamics(*moving(s, joint))
    along = [by_q @ v + by_v @ vdot for by_q, by_v, _ in (ours, theirs)]
    np.testing.assert_allclose(*along, atol=1e-5)
    np.testing.assert_allclose(ours[2], theirs[2], atol=1e-6)
    ours, theirs = (x.equilibrium(x.assemble({joint: 0.4}), seek="stable") for x in (s, exact))
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-6)
    assert ours.stable and len(ours.stiffness) == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.mechanics.settle(),
        lambda s: s.assemble({"A": 0.4}),
        lambda s: s.forward_dynamics(s.neutral(), np.zeros(s.nv), method="kkt"),
        lambda s: s.closure(s.neutral()),
    ],
    ids=["settle", "assemble", "forward dynamics", "closure"],
)
def test_the_warning_is_about_the_line_that_asked(ask):
    m = four_bar()
    with pytest.warns(ct.CatenaWarning, match="redundant but for") as told:
        ask(m.with_joint("D", in_parent=m.joints["D"].in_parent * ct.Pose(rpy=(1e-8, 0, 1e-8))).system())
    assert [w.filename for w in told] == [__file__]


def nodding_head(digits):
    """A head that a rocker on it nods by two parallel rods, as one would do: three parallelograms of which one is
    redundant. Dimensions are rounded to so many digits."""
    base, link, turn = np.array([0.0724444, 0.0, 0.019411]), np.array([-0.27, 0.0, 0.326157]), 3.64e-3
    m = ct.Mechanism("nodding head")
    for name, mass in (("head", 1.0), ("rocker", 0.1), ("front rod", 0.05), ("back rod", 0.05)):
        m.add_body(name, mass, (0.0, 0.0, 0.05), (2e-3, 2e-3, 2e-3))
    m.add_joint("nod", "ground", "head", ct.Revolute("y"))
    m.add_joint("motor", "head", "rocker", ct.Revolute("y"), in_parent=ct.Pose(p=link))
    for side, sign in (("front", 1.0), ("back", -1.0)):
        arm = sign * ct.Pose(rpy=(0.0, turn, 0.0)).R @ base
        rod, arm = np.round(sign * base - link - arm, digits), np.round(arm, digits)
        m.add_joint(f"{side} pin", "rocker", f"{side} rod", ct.Revolute("y"), in_parent=ct.Pose(p=arm))
        m.add_joint(
            f"{side} end", f"{side} rod", "ground", ct.Spherical(), in_parent=ct.Pose(p=rod),
            in_child=ct.Pose(p=sign * base),
        )  # fmt: skip
    return m


def test_a_dead_point_on_the_way_does_not_make_a_redundant_loop_count():
    """Near the dead point of a parallelogram errors of the dimensions are enlarged: the mobility is 1 all the same, and
    the motion is that of the head with one rod, which has no loop too many."""
    m = nodding_head(7)
    with pytest.warns(ct.CatenaWarning, match="redundant but for"):
        s = m.system()
        q = s.assemble()
    v = s.velocity(q, {"nod": 1.0})
    assert s.diagnose(q).mobility == 1
    run = ct.simulate(s, q, v, 0.2, samples=5)
    assert run.audit().ok
    # A rod without mass that is one too many does nothing, and may as well be gone.
    alone = m.detach("back end").lock("back pin").with_body("back rod", mass=0.0, inertia=0.0)
    light = m.with_body("back rod", mass=0.0, inertia=0.0)
    runs = []
    for one in (light, alone):
        s = one.system()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ct.CatenaWarning)
            q = s.assemble()
            runs.append(ct.simulate(s, q, s.velocity(q, {"nod": 1.0}), 0.2, samples=5)["nod"])
    assert np.abs(runs[0] - runs[1]).max() < 1e-5
