"""Tables in Denavit-Hartenberg and SDOF notation give the transforms and links that the notations define."""

import re

import numpy as np
import pytest

import catena as ct
from catena.errors import ModelError
from catena.joints import Prismatic, Revolute, Sdof
from catena.joints.sdof import MOTIONS
from catena.mechanism import Mechanism, from_denavit_hartenberg, from_sdof, sdof_coordinates, sdof_gammas
from catena.mechanism.notations import DenavitHartenberg, add_denavit_hartenberg_chain, add_sdof_chain
from catena.spatial import Pose, Transform

ZERO = (0.0, 0.0, 0.0)


def child_pose(m, joint, q):
    """Pose of the child in the parent of one joint."""
    j = m.joints[joint]
    return j.in_parent * j.kind.transform(np.asarray(q, float)).pose() * j.in_child.inverse()


# van der Merwe, tables 4.1 and 4.2: a Stanford arm
STANFORD_GAMMA = [(*ZERO, 0, 0.5, -0.15), (*ZERO, 0.8, 0, 0), (*ZERO, 0.2, 0, 0), (*ZERO, 0.05, 0, 0)]
STANFORD_PHI = [("ry",), ("rz", "dx"), ("rz",), ("rx",)]
STANFORD_MASS = [2.0, 2.0, 0.8, 0.5]
STANFORD_COM = [(0, 0.3, -0.07), (0.3, 0, 0), (0.12, 0, 0), (0.05, 0, 0)]
STANFORD_INERTIA = [(0.1, 0.02, 0.1), (0.002, 0.25, 0.25), (0.002, 0.008, 0.008), (0.001, 0.004, 0.004)]


def stanford():
    return from_sdof(STANFORD_GAMMA, STANFORD_PHI, STANFORD_MASS, STANFORD_COM, STANFORD_INERTIA)


def test_the_stanford_table_gives_the_printed_spatial_transforms():
    """Equations 4.46 to 4.49; their lower left blocks, everything else being the identity."""
    m = stanford()
    q = sdof_coordinates(STANFORD_GAMMA, STANFORD_PHI)
    lower_left = [
        np.zeros((3, 3)),
        [[0, -0.15, -0.5], [0.15, 0, 0], [0.5, 0, 0]],
        [[0, 0, 0], [0, 0, 0.8], [0, -0.8, 0]],
        [[0, 0, 0], [0, 0, 0.2], [0, -0.2, 0]],
    ]
    for i, block in enumerate(lower_left, 1):
        X = Transform.from_pose(child_pose(m, f"joint{i}", q[f"joint{i}"])).motion_matrix()
        expected = np.eye(6)
        expected[3:, :3] = block
        np.testing.assert_allclose(X, expected, atol=1e-15)


def test_the_coordinates_of_a_table_are_its_moving_entries():
    q = sdof_coordinates(STANFORD_GAMMA, STANFORD_PHI)
    assert {name: value.tolist() for name, value in q.items()} == {
        "joint1": [0.0],
        "joint2": [0.0, 0.8],
        "joint3": [0.0],
        "joint4": [0.0],
    }


def test_a_sliding_link_moves_through_its_gimbal_with_all_that_follows():
    m = stanford()
    at_table = child_pose(m, "joint2", (0.3, 0.8))
    further = child_pose(m, "joint2", (0.3, 1.0))
    slide = 0.2 * np.array([np.cos(0.3), np.sin(0.3), 0])
    np.testing.assert_allclose(further.p - at_table.p, slide, atol=1e-15)
    np.testing.assert_allclose(further.R, at_table.R, atol=1e-15)
    # The gimbal of joint 3 stays 0.8 m along the sliding link, so it is 1.0 m from gimbal 2 now.
    third = further * child_pose(m, "joint3", (0.0,))
    np.testing.assert_allclose(np.linalg.norm(third.p - [0, 0.5, -0.15]), 1.0)


def test_the_inertia_of_the_first_stanford_link_is_the_printed_one():
    """Equation 4.37: about the link frame origin."""
    body = stanford().bodies["link1"]
    c = body.com
    about_origin = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(
        about_origin, [[0.2898, 0, 0], [0, 0.0298, 0.042], [0, 0.042, 0.28]], atol=1e-15
    )


def test_joint_spaces_may_be_matrices_of_unit_columns():
    phi = np.zeros((6, 2))
    phi[2, 0] = phi[3, 1] = 1
    m = from_sdof(STANFORD_GAMMA[:2], [np.eye(6)[1], phi])
    assert m.joints["joint1"].kind == Sdof("ry")
    assert m.joints["joint2"].kind == Sdof("rz", "dx")


def coordinate_rotation(axis, angle):
    """Equations 2.20 to 2.22."""
    return getattr(Transform, f"rotation_{axis}")(angle).R


@pytest.mark.parametrize(
    "moving", [("rx", "ry", "rz"), ("ry", "rz"), ("rx",), ("ry",), ("rz",), ("rx", "ry"), ()]
)
def test_rotations_follow_the_order_x_y_z_whichever_of_them_move(moving):
    """Equation 2.26 with some of the angles as joint coordinates and the rest held."""
    gamma = np.array([0.3, -0.7, 1.1, 0.2, 0.4, -0.6])
    m = from_sdof([gamma, np.zeros(6)], [moving, ("rx",)])
    pose = child_pose(m, "joint1", sdof_coordinates([gamma], [moving])["joint1"])
    A = coordinate_rotation("z", 1.1) @ coordinate_rotation("y", -0.7) @ coordinate_rotation("x", 0.3)
    np.testing.assert_allclose(pose.R.T, A, atol=1e-15)
    np.testing.assert_allclose(pose.p, 0, atol=1e-15)
    np.testing.assert_allclose(child_pose(m, "joint2", (0.0,)).p, gamma[3:], atol=1e-15)


def link_by_link(gamma, order):
    """The pose of the next gimbal in this one: elementary poses in the order of their names."""
    pose = Pose()
    for name in order:
        x = np.where(np.arange(3) == "xyz".index(name[1]), gamma[MOTIONS.index(name)], 0.0)
        pose = pose * (Pose(rpy=x) if name[0] == "r" else Pose(p=x))
    return pose


@pytest.mark.parametrize(
    ("phi", "order"),
    [
        (("rx", "dx"), MOTIONS),  # rz = pi / 2 stands still between the two
        (("rx", "rz"), MOTIONS),
        (("rz", "rx"), ("rz", "ry", "rx", "dx", "dy", "dz")),
        (("dx", "ry"), ("rx", "dx", "rz", "ry", "dy", "dz")),
        (("dz", "dx", "rz"), ("rx", "ry", "dz", "dx", "dy", "rz")),
        ((), MOTIONS),
    ],
)
def test_what_stands_still_may_lie_between_and_motions_may_follow_each_other_in_any_order(phi, order):
    """At the table and away from it, where the moving entries have other values."""
    gamma = np.array([0.3, -0.7, np.pi / 2, 0.8, 0.4, -0.6])
    gammas, phis = [gamma, np.zeros(6)], [phi, ("rx",)]
    m = from_sdof(gammas, phis, dampings=[0.3, 0.1], frictions=[0.0, 0.2])
    q = sdof_coordinates(gammas, phis)["joint1"]
    np.testing.assert_array_equal(q, gamma[[MOTIONS.index(name) for name in phi]])
    at_table = child_pose(m, "joint1", q)
    np.testing.assert_allclose(at_table.p, 0.0, atol=1e-15)
    for moved in (q, q + 0.3):
        away = sdof_gammas(gammas, phis, {"joint1": moved})[0]
        held = [k for k in range(6) if MOTIONS[k] not in phi]
        np.testing.assert_array_equal(away[held], gamma[held])
        # A link that slides carries the next gimbal with it, from where the table has it.
        slid = link_by_link(away, order)
        next_gimbal = child_pose(m, "joint1", moved) * child_pose(m, "joint2", (0.0,))
        assert next_gimbal.allclose(slid, 1e-14)
    assert m.joints["joint2"].damping == 0.1 and m.joints["joint2"].friction == 0.2


def test_a_table_with_what_stands_still_goes_through_a_file(tmp_path):
    gamma, phi = (0.0, 0.0, np.pi / 2, 0.8, 0.0, 0.0), ("rx", "dx")
    made = from_sdof([gamma], [phi], masses=[1.0], inertias=[0.1], frictions=[(0.1, 0.2)])
    made.save(tmp_path / "made.toml")
    head = (
        '[mechanism]\nname = "sdof chain"\n[[chain]]\nnotation = "sdof"\nmasses = [1.0]\ninertias = [0.1]\n'
    )
    (tmp_path / "table.toml").write_text(
        f'{head}gammas = [{list(gamma)}]\nphis = [["rx", "dx"]]\nfrictions = [[0.1, 0.2]]\n'
    )
    for name in ("made", "table"):
        again = ct.load(tmp_path / f"{name}.toml")
        assert (
            again.joints["joint1"].kind == made.joints["joint1"].kind == Sdof("rx", ("rz", np.pi / 2), "dx")
        )
        np.testing.assert_array_equal(again.joints["joint1"].friction, (0.1, 0.2))
        np.testing.assert_array_equal(again.initial.q["joint1"], (0.0, 0.8))
    with pytest.raises(ModelError, match="positions name the joint 'elbow': there are joint1"):
        sdof_gammas([gamma], [phi], {"elbow": 0.0})


def test_high_stiffness_chain_reaches_its_tip():
    """Section 8.1: the first chain hangs from its base, y up, and its level last link points inward."""
    m = Mechanism("hslm", gravity=(0, -10, 0))
    gammas = [(0, -0.5235988, -1.1669367, 1.0874871, 0, 0), (0, 0, 1.1669367, 0.1, 0, 0)]
    phis = [("ry", "rz", "dx"), ("ry", "rz")]
    last = add_sdof_chain(m, gammas, phis, base=Pose(p=(-0.5066987, 1, -0.2886751)), prefix="chain1/")
    q = sdof_coordinates(gammas, phis, prefix="chain1/")
    first = child_pose(m, "chain1/joint1", q["chain1/joint1"])
    second = first * child_pose(m, "chain1/joint2", q["chain1/joint2"])
    tip = second * m.frames["chain1/tip"].pose
    assert last == "chain1/link2"
    np.testing.assert_allclose(
        first.p, [-0.5066987, 1, -0.2886751]
    )  # the sliding link's frame is on the gimbal
    np.testing.assert_allclose(tip.p, [-0.05, 0, -0.025], atol=1e-7)  # equation 8.1
    np.testing.assert_allclose(tip.R[:, 0], [np.cos(0.5235988), 0, np.sin(0.5235988)], atol=1e-7)


def test_the_tip_row_turns_and_shifts_the_tip_frame():
    m = from_sdof([(*ZERO, 1.5, 0, 0)], [("ry",)], tip=(0, 0, np.pi / 2, 0.5, 0, 0))
    tip = m.frames["tip"].pose
    np.testing.assert_allclose(tip.p, [1.5, 0.5, 0], atol=1e-15)
    np.testing.assert_allclose(tip.R[:, 0], [0, 1, 0], atol=1e-15)


BAD_SDOF = [
    ([], [], "SDOF table: 0 gammas and 0 phis"),
    ([np.zeros(6)], [], "SDOF table: 1 gammas and 0 phis"),
    ([np.zeros(5)], [("rx",)], "SDOF link 1: gamma has shape (5,): give 6 numbers"),
    ([np.zeros(6)], [("rw",)], "SDOF link 1: phi names the motion 'rw'"),
    ([np.zeros(6)], [("rx", "rx")], "phi lists rx, rx: list each motion once, as a gamma has one number"),
    ([np.zeros(6)], [np.ones((6, 1))], "SDOF link 1: phi has shape (6, 1): give 6 rows and columns of one 1"),
    ([np.zeros(6)], [np.eye(3)], "SDOF link 1: phi has shape (3, 3): give 6 rows"),
]


@pytest.mark.parametrize(("gammas", "phis", "message"), BAD_SDOF)
def test_bad_sdof_tables_are_refused(gammas, phis, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        from_sdof(gammas, phis)


def test_columns_of_the_wrong_length_are_refused():
    with pytest.raises(ModelError, match="SDOF table: 2 values of mass for 1 links"):
        from_sdof([np.zeros(6)], [("rx",)], masses=[1.0, 2.0])
    with pytest.raises(ModelError, match="Denavit-Hartenberg table: 1 values of com for 2 links"):
        from_denavit_hartenberg([(0, 0, 0, 0)] * 2, coms=[(0, 0, 0)])


def test_a_denavit_hartenberg_row_gives_its_transform():
    """Equations 2.18 and 2.19, for a revolute and for a prismatic joint."""
    a, alpha, d, theta, q = 0.3, -0.6, 0.25, 0.4, 0.7
    for joint, angle, distance in (("revolute", theta + q, d), ("prismatic", theta, d + q)):
        m = from_denavit_hartenberg([DenavitHartenberg(a, alpha, d, theta, joint)])
        pose = child_pose(m, "joint1", (q,))
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
        A = [[c, s * ca, s * sa], [-s, c * ca, c * sa], [0, -sa, ca]]
        np.testing.assert_allclose(pose.R.T, A, atol=1e-15)
        np.testing.assert_allclose(pose.p, [a, -distance * sa, distance * ca], atol=1e-15)


def test_a_denavit_hartenberg_chain_reaches_where_trigonometry_says():
    """A planar arm of two links, then a slide straight down, on a raised base, with a tool."""
    rows = [(0, 0, 0, 0), (0.5, 0, 0, 0), (0.4, np.pi, 0.1, 0, "prismatic")]
    m = from_denavit_hartenberg(
        rows,
        masses=[3, 2, 1],
        coms=[(0.25, 0, 0), (0.2, 0, 0), (0, 0, 0)],
        base=Pose(p=(0, 0, 1)),
        tool=Pose(p=(0, 0, 0.2)),
    )
    tip = child_pose(m, "joint1", (0.3,)) * child_pose(m, "joint2", (0.5,)) * child_pose(m, "joint3", (0.05,))
    tip = tip * m.frames["tip"].pose
    expected = [0.5 * np.cos(0.3) + 0.4 * np.cos(0.8), 0.5 * np.sin(0.3) + 0.4 * np.sin(0.8), 1 - 0.15 - 0.2]
    np.testing.assert_allclose(tip.p, expected, atol=1e-15)
    assert [type(j.kind) for j in m.joints.values()] == [Revolute, Revolute, Prismatic]
    assert [b.mass for b in m.bodies.values()] == [0, 3, 2, 1]


def test_a_denavit_hartenberg_chain_may_stand_on_another_body():
    m = Mechanism("cart")
    m.add_body("cart", mass=1.0)
    last = add_denavit_hartenberg_chain(m, [(0, 0, 0, 0)] * 2, on="cart", prefix="left/")
    assert last == "left/link2" and m.joints["left/joint1"].parent == "cart" and "left/tip" in m.frames


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "Denavit-Hartenberg table: it has no rows"),
        ([(0, 0, 0)], "Denavit-Hartenberg row 1: 3 entries: give a, alpha, d, theta"),
        ([(0, 0, 0, 0), (0, 0, 0, np.nan)], "Denavit-Hartenberg row 2: (a, alpha, d, theta) is"),
        (
            [(0, 0, 0, 0, "ball")],
            "Denavit-Hartenberg row 1: joint type is 'ball': give 'revolute' or 'prismatic'",
        ),
    ],
)
def test_bad_denavit_hartenberg_tables_are_refused(rows, message):
    with pytest.raises(ModelError, match=re.escape(message)):
        from_denavit_hartenberg(rows)


def test_a_chain_begins_at_its_table_in_python_and_in_a_file(tmp_path):
    """Joints without freedom have no coordinates, and what was there before stays."""
    gammas, phis = (
        [(0, 0.4, 0, 0.8, 0, 0), (0.2, 0, 0, 0, 0, 0), (0, 0, 0.3, 0, 0, 0)],
        [("ry", "dx"), (), ("rz",)],
    )
    rows = ", ".join(str([float(x) for x in row]) for row in gammas)
    head = '[mechanism]\nname = "c"\n[[chain]]\nnotation = "sdof"\n'
    (tmp_path / "c.toml").write_text(f'{head}gammas = [{rows}]\nphis = [["ry", "dx"], [], ["rz"]]\n')
    written, loaded = from_sdof(gammas, phis), ct.load(tmp_path / "c.toml")
    assert written.initial.q.keys() == loaded.initial.q.keys() == {"joint1", "joint3"}
    for name, q in sdof_coordinates(gammas, phis).items():
        if len(q):
            np.testing.assert_array_equal(written.initial.q[name], q)
            np.testing.assert_array_equal(loaded.initial.q[name], q)
