"""Closing loops with gears, rotors, dead points and small sizes in the way: against the same linkage without them."""

from time import process_time

import numpy as np
import pytest

import catena as ct

BARS = (0.3, 0.8, 0.7, 1.0)


def four_bar(bars=BARS, size=1.0, prefix="", m=None, at=(0.0, 0.0, 0.0), **options):
    """A four-bar linkage of a crank, a coupler, a rocker and the ground; options are those of its joint A."""
    a, b, c, d = (size * x for x in bars)
    m = ct.Mechanism("four-bar") if m is None else m
    crank, coupler, rocker = (prefix + name for name in ("crank", "coupler", "rocker"))
    for name, length in ((crank, a), (coupler, b), (rocker, c)):
        m.add_body(name, 1.0, (0.5 * length, 0, 0), np.array([1e-3, 0.1, 0.1]) * size**2)
    m.add_joint(f"{prefix}A", "ground", crank, ct.Revolute("y"), ct.Pose(p=at), **options)
    m.add_joint(f"{prefix}B", crank, coupler, ct.Revolute("y"), ct.Pose(p=(a, 0, 0)))
    m.add_joint(f"{prefix}D", "ground", rocker, ct.Revolute("y"), ct.Pose(p=(at[0] + d, at[1], at[2])))
    m.add_joint(f"{prefix}C", coupler, rocker, ct.Revolute("y"), ct.Pose(p=(b, 0, 0)), ct.Pose(p=(c, 0, 0)))
    return m


def add_rotor(m, name, gear):
    """A wheel on the ground that a coupling ties to joints: the coefficients in `gear` besides its own 1."""
    m.add_body(name, 1.0, (0, 0, 0), 0.01)
    m.add_joint(name, "ground", name, ct.Revolute("y"))
    m.add_coupling(f"{name} gear", {name: 1.0, **gear})


def plain(angles):
    """The linkage alone at these angles of its crank, q (n, 3) of A, B and D."""
    s = four_bar().system()
    start = s.assemble({"A": 0.3})
    return s.assemble({"A": np.asarray(angles)[:, None]}, guess=start)


ANGLES = 0.3 + np.linspace(-3.0, 6.0, 19)


@pytest.mark.parametrize("ratio", [1.0, 5.0, -37.0, 400.0])
@pytest.mark.parametrize("how", ["quick", "careful"])
def test_a_geared_motor_changes_nothing(ratio, how):
    m = four_bar()
    add_rotor(m, "motor", {"A": -ratio})
    s = m.system()
    start = s.assemble({"A": 0.3})
    angles = ANGLES if how == "quick" else ANGLES[::6]
    # Without compiled code every state goes through the careful search.
    with ct.plain_numbers(how == "careful"):
        by_crank = s.assemble({"A": angles[:, None]}, guess=start)
        by_motor = s.assemble({"motor": ratio * angles[:, None]}, guess=start)
    for found in (by_crank, by_motor):
        np.testing.assert_allclose(found[:, 0], angles, atol=1e-9)
        np.testing.assert_allclose(found[:, 3], ratio * angles, rtol=1e-9)
        # A crank that is coupled keeps its turns, and so do the joints after it.
        np.testing.assert_allclose(np.exp(1j * found[:, 1:3]), np.exp(1j * plain(angles)[:, 1:]), atol=1e-9)


def test_a_train_of_gears_is_followed_from_any_of_its_wheels():
    m = four_bar()
    add_rotor(m, "first", {"A": -12.0})
    add_rotor(m, "second", {"first": 7.0})
    add_rotor(m, "sum", {"first": -1.0, "A": 3.0})
    s = m.system()
    start = s.assemble({"A": 0.3})
    angles = 0.3 + np.linspace(-2.0, 2.0, 9)
    expected = np.column_stack([plain(angles), 12.0 * angles, -84.0 * angles, 9.0 * angles])
    for joint, column in (("A", 0), ("first", 3), ("second", 4), ("sum", 5)):
        found = s.assemble({joint: expected[:, [column]]}, guess=start)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
@pytest.mark.parametrize("joint", ["B", "C"])
def test_a_motor_at_any_joint_is_followed_whichever_joint_closes_the_loop(joint, cut):
    ratio, angles = 150.0, 0.3 + np.linspace(-0.9, 1.5, 9)
    m = four_bar()
    add_rotor(m, "motor", {joint: -ratio})
    s = m.system(cut=[cut])
    assert s.loops == (cut,)
    alone = four_bar().system(cut=[cut])
    # Guesses by name, so that all plans begin on the same branch.
    begin = dict(zip("ABD", plain([0.3])[0]))
    begin = {name: x for name, x in begin.items() if name in s.joints}
    start = s.assemble({"A": 0.3}, guess=begin)
    expected = alone.assemble({"A": angles[:, None]}, guess=alone.assemble({"A": 0.3}, guess=begin))
    found = s.assemble({"A": angles[:, None]}, guess=start)
    for name in "ABCD":
        here, there = s.joint_position(found, name), alone.joint_position(expected, name)
        np.testing.assert_allclose(np.exp(1j * here), np.exp(1j * there), atol=1e-9)
    turned = s.joint_position(found, "motor") / ratio - s.joint_position(found, joint)
    np.testing.assert_allclose(np.exp(1j * turned), 1.0, atol=1e-9)
    if cut != "A":
        assert s.drive("A", guess=start, samples=5).turns


def test_the_fast_side_of_a_gear_may_be_in_a_loop_of_its_own():
    m = four_bar()
    four_bar(prefix="fast ", m=m, at=(0.0, 1.0, 0.0))
    m.add_coupling("gear", {"fast A": 1.0, "A": -8.0}, offset=0.3 - 8 * 0.3)
    s = m.system()
    start = s.assemble({"A": 0.3}, guess=np.concatenate([plain([0.3])[0]] * 2))
    angles = 0.3 + np.linspace(-1.5, 1.5, 7)
    fast = 0.3 + 8.0 * (angles - 0.3)
    found = s.assemble({"A": angles[:, None]}, guess=start)
    np.testing.assert_allclose(found[:, :3], plain(angles), atol=1e-9)
    np.testing.assert_allclose(found[:, 3], fast, atol=1e-9)
    np.testing.assert_allclose(np.cos(found[:, 4:]), np.cos(plain(fast)[:, 1:]), atol=1e-9)


@pytest.mark.parametrize("ratio", [1.0, 20.0, 300.0])
def test_a_drive_with_a_geared_motor_takes_the_steps_of_one_without(ratio):
    m = four_bar()
    add_rotor(m, "motor", {"A": -ratio})
    s = m.system()
    guess = s.assemble({"A": 0.3})
    began = process_time()
    found = s.drive("A", guess=guess, samples=25, rate=2.0)
    geared = process_time() - began
    alone = four_bar().system()
    began = process_time()
    expected = alone.drive("A", guess=guess[:3], samples=25, rate=2.0)
    assert found.turns and geared < 5.0 * (process_time() - began)
    np.testing.assert_allclose(found.q[:, :3], expected.q, atol=1e-9)
    np.testing.assert_allclose(found.v[:, :3], expected.v, atol=1e-8)
    np.testing.assert_allclose(found.vdot[:, :3], expected.vdot, atol=1e-7)
    np.testing.assert_allclose(found.v[:, 3], 2.0 * ratio)


def test_rotors_leave_assembly_and_drives_as_they_are():
    bare, geared = four_bar().system(), four_bar(armature=0.2).system()
    start = bare.assemble({"A": 0.3})
    angles = 0.3 + np.linspace(-3.0, 6.0, 400)[:, None]
    times, found = [], []
    for s in (bare, geared):
        s.assemble({"A": angles[:5]}, guess=start)
        began = process_time()
        found.append(s.assemble({"A": angles}, guess=start))
        times.append(process_time() - began)
    np.testing.assert_array_equal(found[0], found[1])
    assert times[1] < 5.0 * times[0]
    assert geared.drive("A", guess=start, samples=9).turns
    np.testing.assert_array_equal(ct.branches(geared, {"A": 0.3}), ct.branches(bare, {"A": 0.3}))


@pytest.mark.parametrize("bars", [(0.7, 0.5, 0.6, 1.0), (0.5, 0.6, 0.65, 1.1), (0.9, 0.4, 0.6, 0.8)])
@pytest.mark.parametrize("size", [1.0, 3e-5])
def test_past_a_dead_point_within_the_slack_the_dead_point_is_returned(bars, size):
    s = four_bar(bars, size).system()
    drive = s.drive("A", guess=s.assemble({"A": 0.8}), samples=9)
    dead = next(end for end in drive.ends if end.reason == "dead point")
    sign = 1.0 if dead is drive.ends[1] else -1.0
    near = drive.q[-2] if sign > 0 else drive.q[1]
    for beyond in (1e-9, 1e-6):
        q = s.assemble({"A": dead.value + sign * beyond}, guess=near)
        assert np.abs(s.closure(q)[0]).max() < 1e-11 * size
        assert abs(q[0] - dead.value) < 1e-9
        np.testing.assert_allclose(q, dead.q, atol=1e-5)
    with pytest.raises(ct.LoopError, match="more than the slack"):
        s.assemble({"A": dead.value + sign * 1e-3}, guess=near)


@pytest.mark.parametrize("size", [1e4, 1e-3, 1e-5, 1e-7])
def test_size_makes_no_difference(size):
    large, small = four_bar().system(), four_bar(size=size).system()
    for given in ({"A": 0.3}, {"A": 2.0}, {}):
        np.testing.assert_allclose(small.assemble(given), large.assemble(given), atol=1e-9)
    assert small.diagnose(small.assemble({"A": 0.3})).mobility == 1
    found, expected = small.drive("A", samples=7), large.drive("A", samples=7)
    assert found.turns
    np.testing.assert_allclose(found.q, expected.q, atol=1e-8)
