"""Edits: patterns, several at once, poses and positions from where the bodies are, and what they refuse."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import chain, free_flyer
from tests.changing.oracle import flyer, random_state


def test_a_pattern_locks_what_can_move_and_a_list_what_it_names():
    m = flyer()
    locked = m.lock("left/*")
    assert [n for n, j in locked.joints.items() if j.locked] == ["left/joint1", "left/joint2", "left/joint3"]
    two = m.lock(["left/joint1", "right/joint?"], at={"left/joint1": 0.3})
    assert two.joints["left/joint1"].locked_at == pytest.approx([0.3])
    assert two.joints["right/joint3"].locked_at == pytest.approx([0.0])
    assert list(locked.joints) == list(m.joints) and locked.unlock("*").system().nv == m.system().nv
    with pytest.raises(ct.ModelError, match="for 3 joints"):
        m.lock("left/*", at=0.3)
    with pytest.raises(ct.UnknownNameError, match="no joint is named 'elbow'"):
        m.lock("elbow")
    with pytest.raises(ct.UnknownNameError, match=r"looks like 'middle/\*'"):
        m.lock("middle/*")
    with pytest.raises(ct.UnknownNameError, match="no joint is named 'left/joint2'"):
        m.lock("right/*", at={"left/joint2": 0.1})
    with pytest.raises(ct.ModelError, match="not locked"):
        m.unlock("left/joint1")


def test_a_lock_holds_a_joint_where_it_is_now():
    m = chain(3, axes="y")
    s = m.system()
    q = np.array([0.3, -0.8, 0.5])
    held = m.lock(list(m.joints)[1:], at=s.configuration(q)).system()
    np.testing.assert_allclose(held.body_poses([0.3])["link3"], s.body_poses(q)["link3"], atol=1e-14)
    cut = m.attach("pin", "link3", "ground", ct.Revolute("y"), at=s.configuration(q))
    closed = cut.system(cut=["pin"])
    assert closed.configuration(q).position_of("pin") == pytest.approx([0.0], abs=1e-12)
    assert closed.configuration(q).position_of(list(m.joints)[1]) == pytest.approx([-0.8])


def test_attaching_takes_poses_from_where_bodies_are():
    m = flyer()
    s = m.system()
    q, _ = random_state(s, 3)
    here = s.configuration(q)
    gripped = m.attach("grip", "left/hand", "box", ct.Fixed(), at=here)
    assert gripped.joints["grip"].parent == "left/link3"
    new = gripped.system()
    q2, _ = ct.transfer(s, q, np.zeros(s.nv), new)
    for body, pose in s.body_poses(q).items():
        np.testing.assert_allclose(new.body_poses(q2)[body], pose, atol=1e-12)
    placed = m.attach("grip", "box", "left/link3", ct.Revolute("z"), in_child=ct.Pose(p=(0.4, 0, 0)), at=here)
    assert placed.joints["grip"].in_child == ct.Pose(p=(0.4, 0, 0))
    joined = placed.system()
    assert joined.configuration(ct.transfer(s, q, np.zeros(s.nv), joined).q).position_of(
        "grip"
    ) == pytest.approx([0.0])
    both = {"in_parent": ct.Pose(), "in_child": ct.Pose(p=(0.4, 0, 0))}
    with pytest.raises(ct.LoopError, match="bodies are apart at the joints 'grip'"):
        m.attach("grip", "box", "left/link3", ct.Fixed(), **both, at=here)


def test_bodies_a_little_apart_are_offered_together():
    m = chain(3, axes="y")
    s = m.system()
    q = np.array([0.3, -0.8, 0.5])
    tip = s.pose(q, "link3").p
    pin = ct.Pose(p=tip + np.array([0.01, 0.0, 0.005]))
    with pytest.raises(ct.LoopError, match="can be put together") as caught:
        m.attach(
            "pin",
            "ground",
            "link3",
            ct.Revolute("y"),
            in_parent=pin,
            in_child=ct.Pose(),
            at=s.configuration(q),
        )
    near = caught.value.assembled[0]
    closed = m.attach("pin", "ground", "link3", ct.Revolute("y"), in_parent=pin).system()
    assert np.abs(closed.closure(near)[0]).max() < 1e-10
    with pytest.raises(ct.LoopError, match="bodies are apart"):
        ct.transfer(s, q, np.zeros(3), closed)
    moved = ct.transfer(s, q, np.zeros(3), closed, assemble=True)
    np.testing.assert_allclose(moved.q, near, atol=1e-9)
    far = ct.Pose(p=tip + np.array([5.0, 0.0, 0.0]))
    with pytest.raises(ct.LoopError, match="no closed state is near"):
        m.attach(
            "pin",
            "ground",
            "link3",
            ct.Revolute("y"),
            in_parent=far,
            in_child=ct.Pose(),
            at=s.configuration(q),
        )


def test_an_over_determined_close_is_told():
    m = chain(1, axes="y")
    s = m.system()
    tip = s.pose([0.3], "link1").p
    with pytest.raises(ct.LoopError, match="'weld'.*contradict each other"):
        m.attach("weld", "ground", "link1", ct.Fixed(), in_parent=ct.Pose(p=tip + np.array([0, 0.02, 0])),
                 in_child=ct.Pose(), at=s.configuration([0.3]))  # fmt: skip


def test_several_edits_at_once_and_a_body_left_alone():
    m = flyer()
    s = m.system()
    here = s.configuration(s.neutral())
    changed = m.changed(
        detach="box floats",
        lock=["right/*"],
        attach={"grip": ("left/link3", "box", ct.Revolute("z"), {"damping": 0.1})},
        at=here,
    )
    assert "box floats" not in changed.joints and changed.joints["grip"].damping == pytest.approx([0.1])
    assert changed.system().nv == 6 + 3 + 1
    with pytest.raises(ct.PlanError, match="nothing connects 'box' to ground"):
        m.changed(detach="box floats")
    with pytest.raises(ct.PlanError, match="'box' is not connected to ground"):
        m.detach("box floats").system()
    with pytest.raises(ct.ModelError, match=r"give \(parent, child, kind\)"):
        m.changed(attach={"grip": "box"})


def test_rerooting_moves_the_free_joint_and_keeps_the_motion():
    m = flyer().detach("box floats").attach("box floats", "ground", "box", ct.Fixed())
    s = m.system()
    q, v = random_state(s, 1)
    other = m.reroot("left/link3").system()
    q2, v2 = ct.transfer(s, q, v, other)
    assert other.joints == s.joints and m.reroot("left/link3").joints["base"].child == "left/link3"
    np.testing.assert_allclose(other.kinetic_energy(q2, v2), s.kinetic_energy(q, v), rtol=1e-12)
    a = s.twist(q, v, "right/hand"), other.twist(q2, v2, "right/hand")
    np.testing.assert_allclose(*a, atol=1e-11)
    with pytest.raises(ct.ModelError, match="does not hang together"):
        m.reroot("box")
    assert flyer().reroot("left/link3").joints["base"].child == "left/link3"
    with pytest.raises(ct.ModelError, match="found 'base', 'box floats'"):
        flyer().reroot("ground")


def test_reducing_the_robot_of_the_paper_from_37_to_9():
    """Lampariello et al., example 3: a base, and three joints of one arm that move."""
    m = free_flyer()
    s = m.system()
    assert s.nv == 37
    kept = ["base", "arm1/joint1", "arm1/joint2", "arm1/joint4"]
    small = m.reduce_to(kept, at=s.configuration(s.neutral())).system()
    assert small.nv == 9 and not small.loops and small.joints == tuple(n for n in s.joints if n in kept)
    told = ct.compare_plans(s, small)
    with pytest.raises(ct.UnknownNameError, match="no joint is named 'nobody'"):
        told["nobody"]
    assert told.nv == (37, 9) and told["arm2/joint1"].after == "held" and told["base"].is_same
    assert "arm2/joint1: in the tree, v" in str(told) and "-> holds" in str(told)
    with pytest.raises(ct.ModelError, match="does not move"):
        m.lock("base").reduce_to("base")


def test_where_bodies_were_before_an_edit_in_place_is_no_place_to_hold_them():
    """A system that was planned before somebody edited its mechanism knows nothing of where things are now."""
    m = chain(2)
    s = m.system()
    here = s.configuration(np.zeros(2))
    m.gravity = (0, 0, -1.62)
    joint, body = list(m.joints)[0], list(m.bodies)[-1]
    for edit in (
        lambda: s.configuration(np.zeros(2)),
        lambda: m.lock(joint, at=here),
        lambda: m.attach("hold", "ground", body, ct.Fixed(), at=here),
    ):
        with pytest.raises(ct.StaleSystemError):
            edit()
