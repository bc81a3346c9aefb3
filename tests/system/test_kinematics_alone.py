"""Kinematics without forces: quick and careful assembly, branches, ranges and dead points, inverse kinematics."""

import numpy as np
import pytest

import catena as ct
from catena.kinematics.loops.assembly import assemble as careful
from catena.kinematics.loops.held import held_positions


def four_bar(crank=0.3, coupler=0.8, rocker=0.7, ground=1.0, **joint):
    """A planar four-bar in the x-z plane, its coordinates the angles about y."""
    m = ct.Mechanism("four-bar")
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        m.add_body(name, mass=length, com=(0.5 * length, 0, 0), inertia=(0.001, 0.01, 0.01))
    m.add_joint("A", "ground", "crank", ct.Revolute("-y"))
    m.add_joint("B", "crank", "coupler", ct.Revolute("-y"), in_parent=ct.Pose(p=(crank, 0, 0)))
    m.add_joint(
        "C",
        "coupler",
        "rocker",
        ct.Revolute("-y"),
        in_parent=ct.Pose(p=(coupler, 0, 0)),
        in_child=ct.Pose(p=(rocker, 0, 0)),
    )
    m.add_joint("D", "ground", "rocker", ct.Revolute("-y"), in_parent=ct.Pose(p=(ground, 0, 0)), **joint)
    m.add_frame("pin", "coupler", ct.Pose(p=(0.4, 0, 0.2)))
    return m


def circles(a, r, b, s, side):
    """Return where circles about a and b with radii r and s meet, on one side of the line from a to b."""
    d = np.linalg.norm(b - a)
    along = (r * r - s * s + d * d) / (2.0 * d)
    up = np.sqrt(r * r - along * along)
    e = (b - a) / d
    return a + along * e + side * up * np.array([-e[1], e[0]])


@pytest.mark.parametrize("make, joint, values", [
    (four_bar, "A", np.linspace(-2.0, 2.0, 9)),
    (ct.generators.andrews, None, None),
    (lambda: ct.generators.scissor_lift(2), None, None),
])  # fmt: skip
def test_quick_assembly_is_careful_assembly(make, joint, values):
    s = make().system()
    given = {} if joint is None else {joint: values[:, None]}
    found = np.atleast_2d(s.assemble(given))
    assert np.abs(s.closure(found)[0]).max() < 1e-11
    for k, q in enumerate(found):
        one = {} if joint is None else {joint: values[k]}
        held = held_positions(s.mechanism, s.mechanics.effective_plan, one)
        expected = careful(s.mechanics.evaluator, held, s.neutral(), 1e-5)
        np.testing.assert_allclose(q, expected, atol=1e-9)
        np.testing.assert_array_equal(s.assemble(one), s.assemble(one))
        np.testing.assert_allclose(s.assemble(one), expected, atol=1e-9)


def test_a_batch_and_its_states_agree_and_hold_what_is_given():
    s = four_bar().system()
    start = s.assemble({"A": 0.4})
    angles = np.radians(np.arange(0, 361, 15))[:, None]
    q = s.assemble({"A": angles}, guess=start)
    np.testing.assert_array_equal(q[:, s.slice_q("A")], angles)
    np.testing.assert_allclose(q, [s.assemble({"A": x}, guess=start) for x in angles], atol=1e-12)


def test_what_does_not_close_is_told_for_a_batch_too():
    s = four_bar(crank=0.3, coupler=0.35, rocker=0.7).system()
    with pytest.raises(ct.LoopError, match="cannot be closed|do not close"):
        s.assemble({"A": np.array([[0.0], [np.pi]])})


def test_a_guess_by_name_chooses_the_branch():
    s = four_bar().system()
    up, down = (s.assemble({"A": 0.5}, guess={"D": x}) for x in (1.5, -1.5))
    assert up[s.slice_q("D")][0] > 0.0 > down[s.slice_q("D")][0]
    other = s.assemble({"A": 0.5}, guess={"A": 0.5, s.loops[0]: s.joint_position(down, s.loops[0])[0]})
    np.testing.assert_allclose(other, down, atol=1e-9)
    with pytest.raises(ct.UnknownNameError, match="did you mean"):
        s.assemble({"A": 0.5}, guess={"DD": 1.0})


def test_branches_of_a_four_bar_are_where_circles_meet():
    s = four_bar().system()
    q = ct.branches(s, {"A": 0.5})
    tip = 0.3 * np.array([np.cos(0.5), np.sin(0.5)])
    expected = [circles(tip, 0.8, np.array([1.0, 0.0]), 0.7, side) for side in (1, -1)]
    found = [np.asarray(s.pose(x, "rocker").R @ [0.7, 0, 0] + [1.0, 0, 0])[[0, 2]] for x in q]
    assert len(found) == 2
    np.testing.assert_allclose(sorted(map(tuple, found)), sorted(map(tuple, expected)), atol=1e-12)
    with pytest.raises(ct.LoopError, match="1 degree of freedom"):
        ct.branches(s, {})


def test_a_crank_turns_and_its_frames_move_as_circles_say():
    s = four_bar().system()
    cycle = s.drive("A", samples=73, rate=2.0)
    assert cycle.turns and cycle.range == pytest.approx((cycle.values[0], cycle.values[0] + 2.0 * np.pi))
    tip = 0.3 * np.stack([np.cos(cycle.values), np.sin(cycle.values)], axis=1)
    joint = np.array([circles(x, 0.8, np.array([1.0, 0.0]), 0.7, 1) for x in tip])
    e = (joint - tip) / 0.8
    pin = tip + 0.4 * e + 0.2 * np.stack([-e[:, 1], e[:, 0]], axis=1)
    if np.abs(cycle.position("pin")[:, [0, 2]] - pin).max() > 1e-3:
        pytest.fail("the cycle is on the other branch than the neutral guess leads to")
    np.testing.assert_allclose(cycle.position("pin")[:, [0, 2]], pin, atol=1e-10)
    near = s.drive("A", samples=3601, rate=2.0)
    h = (near.values[1] - near.values[0]) / 2.0
    x, v = near.position("pin"), near.velocity("pin")
    np.testing.assert_allclose(v[1:-1], (x[2:] - x[:-2]) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(near.acceleration("pin")[1:-1], (v[2:] - v[:-2]) / (2 * h), atol=1e-4)
    angle = cycle.transmission_angle("C")
    d2 = np.sum((tip - [1.0, 0.0]) ** 2, axis=1)
    np.testing.assert_allclose(np.cos(angle), (0.8**2 + 0.7**2 - d2) / (2 * 0.8 * 0.7), atol=1e-10)


def test_a_rocker_stops_where_crank_and_coupler_are_in_line():
    cycle = four_bar().system().drive("D")
    assert [end.reason for end in cycle.ends] == ["dead point", "dead point"] and len(cycle.dead_points) == 2
    expected = []
    for length in (0.8 - 0.3, 0.8 + 0.3):
        expected.append(np.pi - np.arccos((1.0 + 0.7**2 - length**2) / (2.0 * 0.7)))
    np.testing.assert_allclose(sorted(np.abs(cycle.range)), sorted(expected), atol=1e-10)
    assert np.isnan(cycle.v[[0, -1]]).all() and np.isfinite(cycle.v[1:-1]).all()


def test_limits_and_what_was_asked_for_end_the_way():
    s = four_bar(limits=(1.2, 2.6)).system()
    cycle = s.drive("A", guess={"D": 1.6})
    assert {end.reason for end in cycle.ends} == {"limit"} and {end.joint for end in cycle.ends} == {"D"}
    assert cycle["D"].min() > 1.2 - 1e-9 and cycle["D"].max() < 2.6 + 1e-9
    some = four_bar().system().drive("A", to=(-0.2, 0.3), samples=6)
    np.testing.assert_allclose(some.values, np.linspace(-0.2, 0.3, 6))
    twice = four_bar().system().drive("A", to=(0.0, 4.0 * np.pi), samples=9)
    assert twice.range == (0.0, 4.0 * np.pi) and twice.ends[1].reason == "asked for"


@pytest.mark.parametrize("ask, words", [
    (lambda s: s.drive("C"), "closes a loop"),
    (lambda s: s.drive("A", to=(1, 0)), "lower one first"),
    (lambda s: s.drive("A", samples=1), "at least 2"),
    (lambda s: s.drive("A").transmission_angle("X"), "no joint"),
    (lambda s: s.inverse_kinematics({"pin": (9.0, 0, 0)}), "'pin' .* m"),
    (lambda s: s.inverse_kinematics({"pim": (0.1, 0, 0)}), "did you mean 'pin'"),
    (lambda s: s.inverse_kinematics({"pin": (0.1, 0)}), "shape"),
    (lambda s: s.inverse_kinematics({}), "mapping"),
    (lambda s: s.jacobian(s.neutral(), "pin", axes="world"), "'aligned'"),
])  # fmt: skip
def test_what_cannot_be_asked_is_said(ask, words):
    with pytest.raises(ct.CatenaError, match=words):
        ask(four_bar().system())


def test_inverse_kinematics_of_an_arm_and_of_a_loop():
    s = ct.generators.arm6().system()
    q = np.random.default_rng(1).uniform(-0.8, 0.8, (5, s.nq))
    frame = next(iter(s.mechanism.frames))
    goals = s.pose(q, frame)
    np.testing.assert_allclose(s.pose(s.inverse_kinematics({frame: goals}), frame), goals, atol=1e-10)
    bar = four_bar().system()
    there = bar.assemble({"A": 0.9})
    point = bar.pose(there, "pin").p
    found = bar.inverse_kinematics({"pin": point})
    np.testing.assert_allclose(bar.pose(found, "pin").p, point, atol=1e-10)
    assert np.abs(bar.closure(found)[0]).max() < 1e-11
    held = s.inverse_kinematics({frame: goals[0][:3, 3]}, hold={s.joints[0]: q[0, 0]}, guess=q[0] + 0.05)
    assert held[0] == q[0, 0]


def test_limits_of_joints_are_respected():
    m = ct.Mechanism("arm")
    for k in range(2):
        m.add_body(f"link{k}", mass=1.0, inertia=0.1)
        parent = "ground" if k == 0 else "link0"
        m.add_joint(
            f"j{k}",
            parent,
            f"link{k}",
            ct.Revolute("y"),
            in_parent=ct.Pose(p=(0.5 * k, 0, 0)),
            limits=(0.0, 3.0),
        )
    m.add_frame("tip", "link1", ct.Pose(p=(0.5, 0, 0)))
    s = m.system()
    q = s.inverse_kinematics({"tip": s.pose([0.2, 1.0], "tip").p}, guess=[1.0, -1.0])
    np.testing.assert_allclose(q, [0.2, 1.0], atol=1e-9)
    with pytest.raises(ct.LoopError, match="stands? at the limit"):
        s.inverse_kinematics({"tip": s.pose([-1.0, -0.5], "tip").p})
