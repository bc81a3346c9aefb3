"""The generators: what they contain, and that their loops are closed where the docstrings say."""

import numpy as np
import pytest

from catena.errors import ModelError
from catena.joints import Free, Revolute, Spherical
from catena.mechanism.generators import (
    arm6,
    arm7,
    arms_on_object,
    chain,
    four_bar,
    free_flyer,
    humanoid,
    n_four_bars,
    random_mechanism,
    stewart,
    tree,
)
from catena.spatial import Pose


def neutral_poses(m):
    """Pose of every body in ground with every joint at its neutral position, and the worst gap."""
    poses = {"ground": Pose()}
    while len(poses) < len(m.bodies):
        before = len(poses)
        for joint in m.joints.values():
            step = joint.in_parent * joint.in_child.inverse()
            if joint.parent in poses and joint.child not in poses:
                poses[joint.child] = poses[joint.parent] * step
            elif joint.child in poses and joint.parent not in poses:
                poses[joint.parent] = poses[joint.child] * step.inverse()
        assert len(poses) > before, "a body is connected to nothing"
    gap = 0.0
    for joint in m.joints.values():
        near = poses[joint.parent] * joint.in_parent
        far = poses[joint.child] * joint.in_child
        gap = max(gap, np.abs(near.matrix() - far.matrix()).max())
    return poses, gap


def dof(m):
    return sum(joint.dof for joint in m.joints.values())


# name, mechanism, moving bodies, joints, sum of joint dof
CASES = [
    ("chain", chain(5), 5, 5, 5),
    ("tree", tree(7, 3), 7, 7, 7),
    ("arm6", arm6(), 6, 6, 6),
    ("arm7", arm7(), 7, 7, 7),
    ("humanoid", humanoid(), 31, 31, 36),
    ("four_bar", four_bar(), 3, 4, 4),
    ("four_bar wide", four_bar(0.4, 1.0, 0.8, 1.2, angle=2.5), 3, 4, 4),
    ("n_four_bars", n_four_bars(4), 9, 13, 13),
    ("stewart", stewart(), 13, 18, 36),
    ("arms6 on object", arms_on_object(3, 6), 19, 21, 18),
    ("arms7 on object", arms_on_object(2, 7), 15, 16, 14),
    ("arms4 on object", arms_on_object(2, 4, grip=Spherical()), 9, 10, 14),
    ("free_flyer", free_flyer(), 32, 32, 37),
    ("free_flyer small", free_flyer(arms=1, dof=6, wheels=4), 11, 11, 16),
    ("random", random_mechanism(1, bodies=9, kinds=["Revolute"], loops=4), 9, 13, 13),
    ("random floating", random_mechanism(2, bodies=5, kinds=[Revolute("x")], floating=True), 5, 5, 10),
]


@pytest.mark.parametrize(("name", "m", "bodies", "joints", "total"), CASES, ids=[c[0] for c in CASES])
def test_counts_and_closure_at_the_neutral_configuration(name, m, bodies, joints, total):
    assert len(m.bodies) - 1 == bodies
    assert len(m.joints) == joints
    assert dof(m) == total
    _, gap = neutral_poses(m)
    assert gap < 1e-14
    assert all(body.mass > 0.0 for body in m.bodies.values() if body.name != "ground")


def test_chain_is_straight_along_x_with_its_tip_at_the_end():
    m = chain(4, axes=("y",), length=0.5)
    poses, _ = neutral_poses(m)
    tip = poses[m.frames["tip"].body] * m.frames["tip"].pose
    np.testing.assert_allclose(tip.p, [2.0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(m.bodies["link2"].com, [0.25, 0, 0])


def test_tree_hangs_every_link_on_the_one_its_docstring_names():
    m = tree(13, 3)
    parents = [int(j.parent.removeprefix("link")) for j in list(m.joints.values())[1:]]
    assert parents == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]


def test_a_posture_turns_the_neutral_configuration():
    upright, _ = neutral_poses(arm7())
    np.testing.assert_allclose(upright["link7"].p, [0, 0, 1.261], atol=1e-12)
    bent, _ = neutral_poses(arm7(posture=(0, np.pi / 2, 0, 0, 0, 0, 0)))
    np.testing.assert_allclose(bent["link7"].p, [0.901, 0, 0.36], atol=1e-12)
    with pytest.raises(ModelError, match="posture has 2 angles: give 7"):
        arm7(posture=(0, 1))


def test_humanoid_is_symmetric_and_as_heavy_and_tall_as_documented():
    m = humanoid()
    poses, _ = neutral_poses(m)
    for name in m.bodies:
        if name.startswith("left_"):
            twin = name.replace("left_", "right_")
            np.testing.assert_allclose(poses[name].p * (1, -1, 1), poses[twin].p, atol=1e-15)
            assert m.bodies[name].mass == m.bodies[twin].mass
    assert sum(b.mass for b in m.bodies.values()) == pytest.approx(68.3)
    top = (poses["head"] * Pose(p=(0, 0, 0.2))).p[2]
    sole = (poses["left_foot"] * m.frames["left_sole"].pose).p[2]
    assert top - sole == pytest.approx(1.8, abs=0.1)
    assert isinstance(m.joints["base"].kind, Free) and not m.joints["base"].actuated
    assert next(iter(m.joints)) == "base"


def test_four_bar_has_its_crank_at_the_angle_and_its_coupler_on_the_upper_side():
    poses, _ = neutral_poses(four_bar())
    b = poses["coupler"].p
    np.testing.assert_allclose(b, [0.2, 0, 0.4 * np.sin(np.pi / 3)], atol=1e-15)
    c = (poses["coupler"] * Pose(p=(1.2, 0, 0))).p
    np.testing.assert_allclose(
        c, b + 1.2 * np.array([np.cos(0.4355350087278136), 0, np.sin(0.4355350087278136)])
    )
    np.testing.assert_allclose(c, [1 + 0.9 * np.cos(1.2450980995937442), 0, 0.9 * np.sin(1.2450980995937442)])
    np.testing.assert_allclose(poses["rocker"].p, [1.0, 0, 0], atol=1e-15)


def test_a_positive_four_bar_angle_raises_the_crank():
    crank = four_bar(angle=0.3).joints["A"]
    pose = crank.in_parent * crank.kind.transform(np.array([0.2])).pose()
    np.testing.assert_allclose((pose * Pose(p=(1, 0, 0))).p, [np.cos(0.5), 0, np.sin(0.5)], atol=1e-15)


def test_a_four_bar_that_cannot_close_is_refused():
    with pytest.raises(ModelError, match="coupler 0.1 and rocker 0.1 cannot span"):
        four_bar(coupler=0.1, rocker=0.1)


def test_n_four_bars_stands_upright():
    poses, _ = neutral_poses(n_four_bars(3))
    for i in range(4):
        np.testing.assert_array_equal(poses[f"rod{i}"].p, [i, 0, 0])
    for i in range(1, 4):
        np.testing.assert_array_equal(poses[f"bar{i}"].p, [i - 1, 0, 1])


def test_stewart_stands_level_at_its_height_with_legs_of_equal_length():
    m = stewart(height=1.3)
    poses, _ = neutral_poses(m)
    assert poses["platform"].allclose(Pose(p=(0, 0, 1.3)), atol=1e-14)
    lengths = [np.linalg.norm(poses[f"upper{k}"].p - poses[f"lower{k}"].p) for k in range(1, 7)]
    np.testing.assert_allclose(lengths, lengths[0])
    np.testing.assert_allclose(sum(poses[f"upper{k}"].p for k in range(1, 7)), [0, 0, 6 * 1.3], atol=1e-14)
    assert {name[:-1] for name, j in m.joints.items() if j.actuated} == {"leg"}


@pytest.mark.parametrize("dof", [6, 7])
def test_arms_hold_the_object_from_a_symmetric_circle(dof):
    m = arms_on_object(4, dof)
    poses, _ = neutral_poses(m)
    tools = np.array(
        [(poses[m.frames[f"arm{k}/tool"].body] * m.frames[f"arm{k}/tool"].pose).p for k in range(1, 5)]
    )
    np.testing.assert_allclose(tools[:, 2], poses["object"].p[2])
    np.testing.assert_allclose(np.hypot(tools[:, 0], tools[:, 1]), 0.25)
    np.testing.assert_allclose(tools.mean(axis=0), poses["object"].p, atol=1e-12)
    down = [poses[f"arm{k}/link{dof}"].R[:, 2] for k in range(1, 5)]
    np.testing.assert_allclose(down, [[0, 0, -1]] * 4, atol=1e-12)


def test_free_flyer_floats_without_gravity():
    m = free_flyer()
    assert not m.gravity.any()
    assert isinstance(m.joints["base"].kind, Free)
    spins = [
        np.argmax(np.abs(m.joints[f"spin{k}"].kind.motion_space(np.zeros(1)).array[:3, 0])) for k in (1, 2, 3)
    ]
    assert spins == [0, 1, 2]


def test_the_same_seed_gives_the_same_mechanism_and_another_seed_another():
    a, b, c = random_mechanism(5, loops=2), random_mechanism(5, loops=2), random_mechanism(6, loops=2)
    same = [x.in_parent == y.in_parent for x, y in zip(a.joints.values(), b.joints.values(), strict=True)]
    assert all(same)
    assert [j.kind for j in a.joints.values()] == [j.kind for j in b.joints.values()]
    assert a.bodies["body1"].mass != c.bodies["body1"].mass


def test_random_mechanisms_draw_from_all_kinds_and_reverse_some_joints():
    drawn, reversed_joints = set(), 0
    for seed in range(30):
        m = random_mechanism(seed, loops=2)
        assert neutral_poses(m)[1] < 1e-12
        for joint in m.joints.values():
            drawn.add(type(joint.kind).__name__)
            number = joint.name.removeprefix("joint")
            reversed_joints += joint.parent == f"body{number}"
    everything = {
        "Fixed",
        "Revolute",
        "Prismatic",
        "Helical",
        "Cylindrical",
        "Universal",
        "Spherical",
        "Planar",
    }
    assert drawn >= everything | {"Free", "Sdof"}
    assert 50 < reversed_joints < 200
    m = random_mechanism(0, reversed_joints=False)
    assert all(j.child == f"body{j.name.removeprefix('joint')}" for j in m.joints.values())


def test_random_mechanisms_have_friction_when_asked():
    m = random_mechanism(0, friction=True, kinds=["Cylindrical"])
    assert all((j.damping > 0).all() and (j.friction > 0).all() for j in m.joints.values())
    assert all((j.damping == 0).all() for j in random_mechanism(0).joints.values())


def test_impossible_counts_are_refused():
    for make in (chain, tree, n_four_bars, arms_on_object):
        with pytest.raises(ModelError, match="1 or more"):
            make(0)
    with pytest.raises(ModelError, match="0 degrees of freedom"):
        arms_on_object(1, 0)
    with pytest.raises(ModelError, match="no kind is named 'Hinge'"):
        random_mechanism(0, kinds=["Hinge"])
    with pytest.raises(ModelError, match="no joint kind to draw from"):
        random_mechanism(0, kinds=[])
    with pytest.raises(ModelError, match="0 bodies"):
        random_mechanism(0, bodies=0)
