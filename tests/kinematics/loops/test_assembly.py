"""Closing loops: positions and velocities of closed mechanisms from values of any of their joints."""

import numpy as np
import pytest

import catena as ct
from catena.kernels.evaluation import Evaluator
from catena.mechanism.generators import arm7, four_bar, n_four_bars, random_mechanism, stewart
from catena.spatial import Pose, quaternion
from tests.mechanisms import two_bars


def opening(system, q, v=None):
    position, velocity = system.closure(q, v)
    return max(np.abs(position).max(initial=0.0), np.abs(velocity).max(initial=0.0))


def slanted_four_bar(tilt):
    """The four-bar with the axis of joint D tilted out of the plane's normal, closed at the neutral configuration."""
    return four_bar().copy("slanted").with_joint("D", kind=ct.Revolute((tilt, -1.0, 0.0)))


# Positions.


def test_four_bar_agrees_with_the_one_built_at_that_angle():
    q = four_bar().system().assemble({"A": 0.3})
    built = four_bar(angle=np.pi / 3 + 0.3).system()
    for body in ("crank", "coupler", "rocker"):
        here, there = four_bar().system().pose(q, body), built.pose(built.neutral(), body)
        np.testing.assert_allclose(here.matrix(), there.matrix(), atol=1e-14)


@pytest.mark.parametrize("joint", ["A", "B", "C", "D"])
def test_any_joint_can_be_held(joint):
    s = four_bar().system()
    assert s.loops == ("C",)
    moved = s.assemble({"A": 0.4})
    np.testing.assert_allclose(s.assemble({joint: s.joint_position(moved, joint)}), moved, atol=1e-13)


def test_given_values_are_held_exactly_and_turns_are_kept():
    s = four_bar().system()
    once, more = s.assemble({"A": 0.3}), s.assemble({"A": 0.3 + 8 * np.pi})
    assert more[0] == 0.3 + 8 * np.pi
    np.testing.assert_allclose(more[1:], once[1:], atol=1e-13)


def test_branch_is_that_of_the_guess():
    s = four_bar().system()
    upper = s.assemble({"A": 0.1})
    lower = s.assemble({"A": 0.1}, guess=[0.0, -2.5, -2.5])
    assert opening(s, lower) < 1e-14 and np.abs(upper - lower).max() > 1.0
    for start in (upper, lower):
        q = start
        for angle in np.arange(0.2, 2 * np.pi, 0.1):
            q = s.assemble({"A": angle}, guess=q)
        # In one go, far from the guess, the same branch is found.
        jump = s.assemble({"A": angle}, guess=start)
        step = np.angle(np.exp(1j * (jump - q)))
        np.testing.assert_allclose(step, 0.0, atol=1e-12)


def test_stewart_platform_from_its_legs_and_back():
    s = stewart().system()
    legs = {f"leg{k}": 0.04 * (-1) ** k * k / 2 for k in range(1, 7)}
    q = s.assemble(legs)
    assert opening(s, q) < 1e-14
    for name, value in legs.items():
        assert q[s.slice_q(name)] == value
    # The attitude of a ball joint and the legs of one side say the same as all six legs.
    ball = {"ball1": q[s.slice_q("ball1")], **{n: legs[n] for n in ("leg1", "leg2", "leg4")}}
    np.testing.assert_allclose(s.pose(s.assemble(ball), "platform").p, s.pose(q, "platform").p, atol=1e-9)


def test_loop_joint_of_several_dof_can_be_held():
    s = stewart().system()
    loop = next(name for name in s.loops if name.startswith("ball"))
    turn = quaternion.exp(np.array([0.05, -0.1, 0.08]))
    q = s.assemble({loop: turn})
    np.testing.assert_allclose(np.abs(s.joint_position(q, loop) @ turn), 1.0, atol=1e-13)
    assert opening(s, q) < 1e-13


def test_some_coordinates_of_a_joint_can_be_held():
    s = stewart().system()
    q = s.assemble({"base1": (0.1, None)})
    assert q[s.slice_q("base1")][0] == 0.1 and abs(q[s.slice_q("base1")][1]) > 1e-6
    assert opening(s, q) < 1e-13


@pytest.mark.parametrize("n", [1, 8])
def test_rows_of_four_bars(n):
    s = n_four_bars(n).system()
    q = s.assemble({"pin0": 0.7})
    expected = {"pin": 0.7, "lef": -0.7, "rig": -0.7}
    np.testing.assert_allclose(q, [expected[name[:3]] for name in s.joints], atol=1e-12)


def test_starts_at_a_singular_configuration():
    s = n_four_bars(1).system()
    flat = s.assemble({"pin0": np.pi / 2})
    q = s.assemble({"pin0": 0.3}, guess=flat)
    assert opening(s, q) < 1e-13 and q[0] == 0.3


@pytest.mark.parametrize("seed", range(8))
def test_random_mechanisms_close_again(seed):
    s = random_mechanism(seed, bodies=6, loops=1 + seed % 3).system()
    q = s.integrate(s.neutral(), 0.2 * np.random.default_rng(seed).normal(size=s.nv))
    assert opening(s, s.assemble(guess=q)) < 1e-12


def test_roots_and_cuts_assemble_the_same_mechanism():
    m = four_bar()
    plain = m.system()
    expected = plain.pose(plain.assemble({"A": 0.3}), "coupler").matrix()
    for s in (m.system(cut=["A"]), m.system(cut=["B"]), m.system(cut=["D"])):
        np.testing.assert_allclose(s.pose(s.assemble({"A": 0.3}), "coupler").matrix(), expected, atol=1e-13)
    rooted = m.system(root="rocker")
    q = rooted.assemble({"A": 0.3})
    np.testing.assert_allclose(rooted.pose(q, "coupler").matrix(), expected, atol=1e-12)


def test_batches_are_assembled_state_by_state():
    s = four_bar().system()
    angles = np.array([[0.1], [0.2], [0.5]])
    q = s.assemble({"A": angles})
    assert q.shape == (3, 3)
    np.testing.assert_array_equal(q[1], s.assemble({"A": 0.2}))
    assert opening(s, q) < 1e-13


def test_trees_hold_what_is_given():
    m = ct.Mechanism("arm")
    m.add_body("link", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "link", ct.Revolute("y"))
    np.testing.assert_array_equal(m.system().assemble({"A": 0.7}), [0.7])
    np.testing.assert_array_equal(m.system().velocity([0.7], {"A": 2.0}), [2.0])


# Given values that do not fit.


def test_rounded_values_give_way_by_the_least_amount():
    s = four_bar().system()
    exact = s.assemble({"A": 0.3})
    rounded = np.round(exact, 6)
    q = s.assemble(dict(zip(s.joints, rounded)))
    assert opening(s, q) < 1e-13
    change = np.linalg.norm(q - rounded)
    assert 0.0 < change <= np.linalg.norm(exact - rounded)
    # Least: the change is orthogonal to the motion of the mechanism.
    assert abs((q - rounded) @ s.velocity(q, {"A": 1.0})) < 1e-10


def test_slack_decides_between_giving_way_and_an_error():
    s = four_bar().system()
    given = dict(zip(s.joints, np.round(s.assemble({"A": 0.3}), 4)))
    with pytest.raises(ct.LoopError, match=r"'A', 'B', 'D'.*loop 'C' [\d.e-]+ m and"):
        s.assemble(given)
    assert opening(s, s.assemble(given, slack=1e-3)) < 1e-13


def test_inconsistent_values_are_told_with_the_residual_of_each_loop():
    s = n_four_bars(2).system()
    with pytest.raises(ct.LoopError) as error:
        s.assemble({"pin0": 0.3, "pin1": 0.6})
    text = str(error.value)
    for part in (
        *(f"loop {name!r}" for name in s.loops),
        "'pin0', 'pin1'",
        "They close when those values change",
    ):
        assert part in text


def test_loops_that_cannot_be_closed_are_told_with_their_residual():
    s = two_bars(3.0).system()
    with pytest.raises(ct.LoopError, match=rf"cannot be closed.*loop '{s.loops[0]}' 1 m"):
        s.assemble()
    with pytest.raises(ct.LoopError, match="with or without the values given for 'A'"):
        s.assemble({"A": 0.2})


def test_dimensions_that_are_off_by_less_than_the_slack_close_as_well_as_they_can():
    s = slanted_four_bar(1e-6).system()
    with pytest.warns(ct.CatenaWarning, match="stay open with the values given for 'A'") as told:
        q = s.assemble({"A": 0.3})
    assert [w.filename for w in told] == [__file__]
    assert q[0] == 0.3 and 1e-8 < opening(s, q) < 1e-5
    with pytest.raises(ct.LoopError, match="slack"):
        s.assemble({"A": 0.3}, slack=1e-9)
    v = s.velocity(q, {"A": 1.0})
    assert v[0] == pytest.approx(1.0) and np.abs(s.closure(q, v)[1]).max() < 1e-5


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"X": 0.1}, ct.UnknownNameError, "no joint is named 'X'"),
        ({"A": (0.1, 0.2)}, ct.StateError, "joint 'A' has 1 coordinate"),
        ({"A": "much"}, ct.StateError, "joint 'A': 'much' is not a number"),
        ({"A": np.inf}, ct.StateError, "joint 'A'"),
        ([0.1], ct.StateError, "mapping"),
    ],
)
def test_values_that_are_none(given, error, message):
    with pytest.raises(error, match=message):
        four_bar().system().assemble(given)


def test_values_for_joints_that_cannot_have_them():
    with pytest.raises(ct.StateError, match="joint 'B' is fixed or locked"):
        four_bar().lock("B", 0.1).system().assemble({"B": 0.1})
    with pytest.raises(ct.StateError, match="only make sense together"):
        stewart().system().assemble({"ball1": (1.0, 0.0, 0.0, None)})
    with pytest.raises(ct.StateError, match="length"):
        stewart().system().assemble({"ball1": (1.0, 1.0, 0.0, 0.0)})
    with pytest.raises(ct.StateError, match="slack"):
        four_bar().system().assemble({"A": 0.1}, slack=-1.0)


def test_loop_without_ground_is_refused_when_planned():
    m = ct.Mechanism("ring")
    for name in "abc":
        m.add_body(name, 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    for parent, child in ("ab", "bc", "ca"):
        m.add_joint(parent + child, parent, child, ct.Revolute("y"))
    with pytest.raises(ct.PlanError, match="'a'"):
        m.system()


def test_edited_mechanism_is_refused():
    m = four_bar()
    s = m.system()
    q = s.neutral()
    m.add_body("more", 1.0)
    for call in (lambda: s.assemble({"A": 0.1}), lambda: s.velocity(q, {"A": 1.0}), lambda: s.diagnose(q)):
        with pytest.raises(ct.StaleSystemError):
            call()


# Velocities.


@pytest.mark.parametrize("joint", ["A", "C"])
def test_velocity_is_the_derivative_of_assembly(joint, derivative):
    s = four_bar().system()
    q = s.assemble({"A": 0.3})
    at = {"A": 0.3, "C": q[2] - q[0] - q[1]}[joint]
    v = s.velocity(q, {joint: 1.0})
    np.testing.assert_allclose(v, derivative(lambda h: s.assemble({joint: at + h}, guess=q)), atol=1e-9)
    assert opening(s, q, v) < 1e-14


def test_velocity_of_least_kinetic_energy():
    s = stewart().system()
    q = s.assemble({f"leg{k}": 0.02 * k for k in range(1, 7)})
    v = s.velocity(q, {"leg1": 0.5})
    np.testing.assert_allclose(v[s.slice_v("leg1")], 0.5, atol=1e-14)
    assert opening(s, q, v) < 1e-13
    rng = np.random.default_rng(0)
    for _ in range(5):
        legs = {f"leg{k}": rng.normal() for k in range(2, 7)}
        other = s.velocity(q, {"leg1": 0.5, **legs})
        assert opening(s, q, other) < 1e-12
        assert s.kinetic_energy(q, v) < s.kinetic_energy(q, other)
    # It does not depend on the plan.
    cut = stewart().system(cut=["ball1"])
    q_cut = cut.assemble({f"leg{k}": 0.02 * k for k in range(1, 7)})
    v_cut = cut.velocity(q_cut, {"leg1": 0.5})
    np.testing.assert_allclose(cut.twist(q_cut, v_cut, "platform"), s.twist(q, v, "platform"), atol=1e-11)


def test_velocities_come_in_batches():
    s = four_bar().system()
    q = s.assemble({"A": np.array([[0.1], [0.4]])})
    v = s.velocity(q, {"A": np.array([[1.0], [2.0]])})
    np.testing.assert_allclose(v[1], 2.0 * s.velocity(q[1], {"A": 1.0}), atol=1e-14)


def test_velocities_without_masses():
    m = ct.Mechanism("massless")
    plain = four_bar()
    for name in ("crank", "coupler", "rocker"):
        m.add_body(name)
    for name, j in plain.joints.items():
        m.add_joint(name, j.parent, j.child, j.kind, j.in_parent, j.in_child)
    s, t = m.system(), plain.system()
    q = s.assemble({"A": 0.3})
    np.testing.assert_allclose(s.velocity(q, {"A": 1.0}), t.velocity(q, {"A": 1.0}), atol=1e-12)
    assert s.diagnose(q).mobility == 1


def test_inconsistent_velocities():
    s = four_bar().system()
    q = s.assemble({"A": 0.3})
    with pytest.raises(ct.LoopError, match=r"'A', 'D'.*loop 'C' at .*differs by"):
        s.velocity(q, {"A": 1.0, "D": 1.0})
    exact = s.velocity(q, {"A": 1.0})
    v = s.velocity(q, dict(zip(s.joints, np.round(exact, 6))))
    assert opening(s, q, v) < 1e-13
    np.testing.assert_allclose(v, exact, atol=1e-6)


def test_closure_of_a_tree_is_empty():
    m = ct.Mechanism("arm")
    m.add_body("link", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "link", ct.Revolute("y"))
    position, velocity = m.system().closure(np.zeros((4, 1)), np.zeros((4, 1)))
    assert position.shape == velocity.shape == (4, 0)


def test_velocity_of_a_joint_that_the_loops_hold():
    """Three parallel guides leave the hinge in one of them no freedom: nothing near to zero is taken for motion."""
    m = ct.Mechanism("guided")
    for name in ("slider", "arm"):
        m.add_body(name, 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("guide", "ground", "slider", ct.Prismatic("x"))
    m.add_joint("hinge", "slider", "arm", ct.Revolute("y"))
    m.add_joint("second guide", "ground", "arm", ct.Prismatic("x"))
    s = m.system(cut=["second guide"])
    with pytest.raises(ct.LoopError, match="differs by 1:"):
        s.velocity(s.neutral(), {"hinge": 1.0})
    np.testing.assert_allclose(s.velocity(s.neutral(), {"second guide": 2.0}), [2.0, 0.0], atol=1e-14)


# Bounds.


def slider_crank():
    """A crank of 0.4 m and a rod of 1 m that moves a piston along x."""
    m = ct.Mechanism("slider-crank")
    m.add_body("crank", 1.0, (0.2, 0, 0), (1e-3, 1e-2, 1e-2))
    m.add_body("rod", 1.0, (0.5, 0, 0), (1e-3, 1e-1, 1e-1))
    m.add_body("piston", 0.5, (0, 0, 0), (1e-3, 1e-3, 1e-3))
    m.add_joint("A", "ground", "crank", ct.Revolute("y"))
    m.add_joint("B", "crank", "rod", ct.Revolute("y"), Pose(p=(0.4, 0, 0)))
    m.add_joint("C", "rod", "piston", ct.Revolute("y"), Pose(p=(1.0, 0, 0)))
    m.add_joint("slide", "ground", "piston", ct.Prismatic("x"), Pose(p=(1.4, 0, 0)))
    return m


def counted(monkeypatch):
    """The evaluations of the loops that calls make from now on."""
    calls, evaluate = [], Evaluator.evaluate
    monkeypatch.setattr(Evaluator, "evaluate", lambda *a, **k: (calls.append(1), evaluate(*a, **k))[1])
    return calls


@pytest.mark.parametrize("far", [10.0, 1e4, 1e8, 1e15, 1e100, 1e300])
def test_a_slide_that_is_out_of_reach_is_told_in_bounded_time(monkeypatch, far):
    s = slider_crank().system()
    calls = counted(monkeypatch)
    with pytest.raises(ct.LoopError, match=r"'slide'.* are left open"):
        s.assemble({"slide": far})
    assert len(calls) < 2000


@pytest.mark.parametrize("angle", [1e4, 1e10, 1e15, 1e300])
def test_whole_turns_are_not_walked(monkeypatch, angle):
    s = slider_crank().system()
    calls = counted(monkeypatch)
    q = s.assemble({"A": angle})
    assert q[s.slice_q("A")] == angle and opening(s, q) < 1e-13
    assert len(calls) < 1000


def test_joints_that_move_no_loop_are_put_where_they_should_be(monkeypatch):
    arm = arm7().system()
    calls = counted(monkeypatch)
    np.testing.assert_array_equal(arm.assemble({"joint1": 1e10}), [1e10, 0, 0, 0, 0, 0, 0])
    m = slider_crank()
    m.add_body("load", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("rope", "piston", "load", ct.Prismatic("z"))
    s = m.system()
    q = s.assemble({"rope": -1e12, "A": 0.3})
    assert q[s.slice_q("rope")] == -1e12
    np.testing.assert_allclose(q[s.slice_q("B")], slider_crank().system().assemble({"A": 0.3})[1], atol=1e-12)
    assert len(calls) < 200


@pytest.mark.parametrize("far", [1.0, 1e4, 1e7, 1e10])
def test_slides_that_reach_far_close_as_exactly_as_numbers_are(far):
    """Two carts on rails with a sliding bar across: wherever one is put, the other follows."""
    m = ct.Mechanism("rails")
    for name in ("one", "two"):
        m.add_body(name, 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("first", "ground", "one", ct.Prismatic("x"))
    m.add_joint("second", "ground", "two", ct.Prismatic("x"), Pose(p=(0, 1, 0)))
    m.add_joint("bar", "one", "two", ct.Prismatic("y"), Pose(p=(0, 1, 0)))
    s = m.system(cut=["bar"])
    np.testing.assert_allclose(s.assemble({"first": far}), [far, far], rtol=1e-14)
