"""Loops in the files people have: companions of Extended URDF, elements, names of frames, and loops told in Python;
each against the mechanism that has the same joints by its builder, or against Pinocchio."""

import os
import sys
import time

import numpy as np
import pinocchio as pin
import pytest

import catena as ct

INERTIA = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/>'
ENDS = """<link name="end_c"/><link name="end_a"/>
<joint name="at c" type="fixed"><origin xyz="1 0 0" rpy="0 0.2 0"/><parent link="c"/><child link="end_c"/></joint>
<joint name="at a" type="fixed"><origin xyz="0 0 1"/><parent link="a"/><child link="end_a"/></joint>"""


def link(name, com):
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="1.3"/>{INERTIA}</inertial></link>'
    )


def hinge(name, parent, child, at, axis="0 1 0", more=""):
    return (
        f'<joint name="{name}" type="revolute"><origin xyz="{at}"/><parent link="{parent}"/><child link="{child}"/>'
        f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="20" velocity="9"/>{more}</joint>'
    )


# Ground, a up to (0, 0, 1) where the loop is; b up from (-1, 0, 0) to (-1, 0, 1); c from there to (0, 0, 1).
PARTS = [
    '<link name="base"/>', link("a", "0.1 0 0.5"), link("b", "0 0.1 0.4"), link("c", "0.5 0 0.1"),
    hinge("A", "base", "a", "0 0 0"), hinge("B", "base", "b", "-1 0 0"), hinge("C", "b", "c", "0 0 1"),
]  # fmt: skip


def robot(*more, parts=PARTS):
    return "\n".join(['<robot name="bars">', *parts, *more, "</robot>"])


def load(tmp_path, text, ending="urdf", companion=None, **options):
    (tmp_path / f"robot.{ending}").write_text(text)
    if companion is not None:
        (tmp_path / "robot.yaml").write_text(companion)
    return ct.load(tmp_path / f"robot.{ending}", **options)


def closed(m, kind, in_parent, in_child):
    m.add_joint("closes", "c", "a", kind, in_parent=in_parent, in_child=in_child, actuated=False)
    return m


def same_motion(m, n, rng, atol=1e-12):
    """Whether two mechanisms, whose tree joints are called alike, accelerate alike in a closed state."""
    s, t = m.system(), n.system()
    q = s.assemble({"A": rng.uniform(0.2, 0.5)})
    v = s.velocity(q, {"A": 0.7})
    p = t.assemble({name: s.joint_position(q, name) for name in t.joints if name in s.joints}, slack=1e-9)
    w = t.velocity(p, {"A": 0.7})
    own, other = s.forward_dynamics(q, v), t.forward_dynamics(p, w)
    for name in set(s.joints) & set(t.joints):
        np.testing.assert_allclose(own[s.slice_v(name)], other[t.slice_v(name)], rtol=0, atol=atol)
    assert s.diagnose(q).mobility == t.diagnose(p).mobility


POINT = "closed_loop: [[end_c, end_a]]\ntype: ['3D']\nname_mot: [A]\n"


def test_a_companion_of_extended_urdf_is_read_by_itself(tmp_path):
    pytest.importorskip("yaml")
    m = load(tmp_path, robot(ENDS), companion=POINT)
    joint = m.joints["end_c on end_a"]
    assert joint.kind == ct.Spherical() and (joint.parent, joint.child) == ("end_c", "end_a")
    assert [name for name, one in m.joints.items() if one.actuated] == ["A"] and list(m.actuators) == ["A"]
    tree = load(tmp_path, robot(ENDS), loops=False)
    assert not tree.system().loops and tree.joints["B"].actuated
    same_motion(
        m,
        closed(tree, ct.Spherical(), ct.Pose(p=(1, 0, 0)), ct.Pose(p=(0, 0, 1))),
        np.random.default_rng(0),
        atol=1e-11,
    )
    (note,) = [found for found in ct.check(tmp_path / "robot.urdf") if "read with the model" in found.message]
    assert "1 loops, 1 motors" in note.message and note.place.endswith("robot.yaml")
    assert str(note.severity) == "note"


KINDS = """
# The rod c has a ball at one end and a cardan joint at the other.
closed_loop: [["end_c", "end_a"]]
type: [6d]
joint_name:
  - pin
  - C
  - brace
joint_type: [UJOINT_YZ, SPHERICAL, FIXED]
name_mot: [A]
"""


def test_kinds_of_a_companion_are_those_of_pinocchio(tmp_path):
    pytest.importorskip("yaml")
    # c ends on a cardan joint, whose outer half a holds wholly; the hinges of a and b are not parallel.
    parts = [
        *PARTS[:5], hinge("B", "base", "b", "-1 0 0", axis="0.2 1 0.1"), PARTS[6], link("knob", "0 0 0.05"),
        hinge("pin", "c", "knob", "1 0 0"), '<link name="end_c"/>', '<link name="end_a"/>',
        '<joint name="e" type="fixed"><parent link="knob"/><child link="end_c"/></joint>',
        '<joint name="f" type="fixed"><origin xyz="0 0 1"/><parent link="a"/><child link="end_a"/></joint>',
        link("brace", "0.1 0 0"), hinge("brace", "b", "brace", "0 0 0.5"),
    ]  # fmt: skip
    m = load(tmp_path, robot(parts=parts), companion=KINDS)
    assert m.joints["pin"].kind == ct.Universal("y", "z") and m.joints["C"].kind == ct.Spherical()
    assert m.joints["brace"].kind == ct.Fixed() and list(m.actuators) == ["A"]
    # With the weld cut, the tree is the one that Pinocchio has.
    s = m.system(cut=["end_c on end_a"])
    q = s.assemble({"A": 0.4})
    v = s.velocity(q, {"A": 0.8})
    assert s.diagnose(q).mobility == 1
    model, constraints = pinocchio_model(robot(parts=parts))
    data = model.createData()
    p, w = q.copy(), v.copy()
    p[s.slice_q("C")] = np.roll(q[s.slice_q("C")], -1)
    datas = pin.StdVec_RigidConstraintData()
    for one in constraints:
        datas.append(one.createData())
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-14, 1e-12, 200)
    expected = pin.constraintDynamics(model, data, p, w, np.zeros(model.nv), constraints, datas, settings)
    own = s.forward_dynamics(q, v, elements=False)
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def pinocchio_model(text):
    """The robot of the test above as its authors build it: each joint anew, with its own kind."""
    tree = pin.buildModelFromXML(text)
    tree = pin.buildReducedModel(tree, [tree.getJointId("brace")], pin.neutral(tree))
    model = pin.Model()
    for k in range(1, tree.njoints):
        name, place = tree.names[k], tree.jointPlacements[k]
        parent = model.getJointId(
            {"pin": "pin_Z"}.get(tree.names[tree.parents[k]], tree.names[tree.parents[k]])
        )
        kind = tree.joints[k]
        if name == "C":
            kind = pin.JointModelSpherical()
        if name == "pin":
            parent, place = model.addJoint(parent, pin.JointModelRY(), place, "pin_Y"), pin.SE3.Identity()
            name, kind = "pin_Z", pin.JointModelRZ()
        model.appendBodyToJoint(
            model.addJoint(parent, kind, place, name), tree.inertias[k], pin.SE3.Identity()
        )
    ends = []
    for name in ("end_c", "end_a"):
        frame = tree.frames[tree.getFrameId(name)]
        joint = tree.names[frame.parentJoint]
        ends += [model.getJointId({"pin": "pin_Z"}.get(joint, joint)), frame.placement]
    constraints = pin.StdVec_RigidConstraintModel()
    constraints.append(
        pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, *ends, pin.ReferenceFrame.LOCAL)
    )
    return model, constraints


FAULTS = {
    "closed_loop: [[end_c, end_b]]": r"robot\.yaml:1: joint 'end_c on end_b': no body is named 'end_b': did you mean",
    "closed_loop: [[end_c]]": r"robot\.yaml:1: closed_loop must hold pairs",
    "closed_loop: [end_c, end_a]": r"robot\.yaml:1: closed_loop must hold pairs",
    "closed_loop: end_c": r"robot\.yaml:1: closed_loop must be a list",
    "name_mot: [A]\nclosed_loop:\n- [end_c, [end_a]]": r"robot\.yaml:3: closed_loop must hold names",
    "closed_loop: [[end_c, end_a]]\ntype: [4d]": r"robot\.yaml:1: a loop is of type '4d'",
    "closed_loop: [[end_c, end_a]]\ntype: [6d, 6d]": r"robot\.yaml:2: closed_loop has 1 entries and type has 2",
    "joint_name: [A]\njoint_type: []": r"robot\.yaml:1: joint_name has 1 entries and joint_type has 0",
    "joint_name: [A]\njoint_type: [UJOINT_XX]": r"robot\.yaml:1: joint 'A': no type of joint is named 'UJOINT_XX'",
    "joint_name: [AA]\njoint_type: [FIXED]": r"robot\.yaml:1: no joint is named 'AA'",
    "closed_loop: [[end_c, end_a]\n": r"robot\.yaml:2: this is not YAML",
    "closed_loop: [[end_c, end_a]]\nx: !!python/object/apply:os.system [touch made]": None,
    "closed_loop: " + "[" * 100_000: r"robot\.yaml: brackets are nested too deeply",
    "a: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b]\nclosed_loop: *c": r"closed_loop must hold pairs",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: text[:40])
def test_companions_of_strangers_do_nothing_and_faults_have_a_line(text, tmp_path, monkeypatch):
    pytest.importorskip("yaml")
    monkeypatch.chdir(tmp_path)
    start = time.process_time()
    if FAULTS[text] is None:
        assert len(load(tmp_path, robot(ENDS), companion=text).system().loops) == 1
    else:
        with pytest.raises(ct.FormatError, match=FAULTS[text]):
            load(tmp_path, robot(ENDS), companion=text)
    assert not (tmp_path / "made").exists() and time.process_time() - start < 5.0


def test_only_a_companion_that_lies_beside_the_model_is_read(tmp_path, monkeypatch):
    pytest.importorskip("yaml")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "robot.yaml").write_text(POINT)
    models = tmp_path / "models"
    models.mkdir()
    os.symlink(elsewhere / "robot.yaml", models / "robot.yaml")
    assert not load(models, robot(ENDS)).system().loops
    assert len(load(models, robot(ENDS), loops=elsewhere / "robot.yaml").system().loops) == 1
    (models / "robot.yaml").unlink()
    # Files of such names that have nothing to do with it are common.
    for text in ("controller:\n  gains: [1, 2]\n", "\x00\x01", "", "{{ template }}"):
        assert not load(models, robot(ENDS), companion=text).system().loops
    (models / "robot.yaml").unlink()
    with pytest.raises(ct.FormatError, match="rods.txt"):
        load(models, robot(ENDS), loops=models / "rods.txt")


def test_a_missing_reader_is_said_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ct.FormatError, match=r"robot\.yaml: .*catena-dynamics\[yaml\].*loops=False"):
        load(tmp_path, robot(ENDS), companion=POINT)
    assert not load(tmp_path, robot(ENDS), companion=POINT, loops=False).system().loops


def test_a_saved_tree_takes_its_own_side_file_before_a_companion(tmp_path):
    pytest.importorskip("yaml")
    m = load(tmp_path, robot(ENDS), companion=POINT)
    m.save(tmp_path / "robot.urdf")
    with pytest.warns(ct.CatenaWarning, match=r"'robot.yaml' lies beside it too and is not read"):
        again = ct.load(tmp_path / "robot.urdf")
    assert len(again.system().loops) == 1 and again.joints.keys() == m.joints.keys()
    with pytest.raises(ct.FormatError, match=r"beside it lies 'robot\.yaml'"):
        (tmp_path / "robot.loops.toml").unlink()
        load(tmp_path, robot(), ending="toml.urdf", loops=False).save(tmp_path / "robot.urdf")


def test_loops_are_told_in_python(tmp_path):
    built = closed(load(tmp_path, robot(ENDS)), ct.Revolute("y"), ct.Pose(p=(1, 0, 0)), ct.Pose(p=(0, 0, 1)))
    places = {"in_parent": ct.Pose(p=(1, 0, 0)), "in_child": ct.Pose(p=(0, 0, 1))}
    for loops in (
        {"D": ("c", "a", ct.Revolute("y"), places)},
        {"D": ("end_c", "end_a", ct.Revolute("y"))},
        [("end_c", "end_a", ct.Revolute("y"))],
    ):
        m = load(tmp_path, robot(ENDS), loops=loops)
        assert not m.joints[list(m.joints)[-1]].actuated
        same_motion(m, built, np.random.default_rng(2))
    welded = load(tmp_path, robot(ENDS), loops=[("end_c", "end_a")])
    assert welded.joints["end_c on end_a"].kind == ct.Fixed()
    for wrong in (
        7,
        True,
        [7],
        ["ab"],
        [("a",)],
        [("a", "b", ct.Fixed(), 3)],
        {"D": "ab"},
        [("a", "b", "c", {}, 5)],
    ):
        with pytest.raises(ct.FormatError, match="loops (are|hold)"):
            load(tmp_path, robot(), loops=wrong)
    with pytest.raises(ct.UnknownNameError, match="joint 'D': no body is named 'd'"):
        load(tmp_path, robot(), loops={"D": ("d", "a", ct.Fixed())})


def test_frames_close_loops_by_their_names(tmp_path):
    text = robot(ENDS).replace("end_c", "closing_rod_1").replace("end_a", "closing_rod_2")
    with pytest.warns(ct.CatenaWarning, match="'closing_rod_1' and 'closing_rod_2' close a loop, by a point"):
        m = load(tmp_path, text)
    assert (
        m.joints["closing_rod"].kind == ct.Spherical()
        and m.system().diagnose(m.system().assemble()).mobility == 1
    )
    assert not load(tmp_path, text, loops=False).system().loops
    hinged = load(tmp_path, text, loops={"pin": ("closing_rod_1", "closing_rod_2", ct.Revolute("y"))})
    assert "closing_rod" not in hinged.joints
    same_motion(m, hinged, np.random.default_rng(3))
    # A pair of which one is missing, and one on the same body, close nothing.
    assert not load(tmp_path, text.replace("closing_rod_2", "closing_rod_3")).system().loops
    m.save(tmp_path / "again.urdf")
    again = ct.load(tmp_path / "again.urdf")
    assert list(again.system().loops) == list(m.system().loops)


GEARED = (
    """<coupling name="gear"><predecessor link="b"/><successor link="rotor"/><ratio value="6"/></coupling>"""
)


def test_couplings_of_urdf_plus_tie_the_ways_from_where_they_part(tmp_path):
    parts = [
        '<link name="base"/>', link("a", "0.1 0 0.5"), link("b", "0 0.1 0.4"), link("rotor", "0 0 0"),
        link("lid", "0 0 0"),
        hinge("A", "base", "a", "0 0 0"), hinge("B", "a", "b", "0 0 1"), hinge("R", "a", "rotor", "0 0 1"),
        hinge("L", "rotor", "lid", "0 0 0"),
    ]  # fmt: skip
    m = load(tmp_path, robot(GEARED, parts=parts))
    assert dict(m.couplings["gear"].coefficients) == {"B": 6.0, "R": -1.0}
    m = load(tmp_path, robot(GEARED.replace('"rotor"', '"lid"'), parts=parts))
    assert dict(m.couplings["gear"].coefficients) == {"B": 6.0, "R": -1.0, "L": -1.0}
    rolling = GEARED.replace("<coupling ", '<constraint type="rolling" ').replace(
        "</coupling", "</constraint"
    )
    assert dict(load(tmp_path, robot(rolling, parts=parts)).couplings["gear"].coefficients) == {
        "B": 6.0,
        "R": -1.0,
    }
    assert not load(tmp_path, robot(GEARED, parts=parts), mimic=False).couplings
    with pytest.raises(ct.FormatError, match="coupling 'gear': coefficients are"):
        load(tmp_path, robot(GEARED.replace('"rotor"', '"b"'), parts=parts))


def test_a_cross_of_two_axes_closes_a_loop(tmp_path):
    # The same cross, told in frames that are turned against each other on the two links.
    cross = """<constraint name="D" type="universal"><parent link="c"/><parent_origin xyz="1 0 0" rpy="0 0 AWAY"/>
    <parent_axis xyz="SIN COS 0"/><child link="a"/><child_origin xyz="0 0 1" rpy="0.3 0 0"/>
    <child_axis xyz="0 0.29552020666133955 0.955336489125606"/></constraint>"""
    parts = [
        *PARTS[:6],
        hinge("C", "b", "c", "0 0 1", more="").replace('type="revolute"', 'type="spherical"'),
    ]
    built = load(tmp_path, robot(parts=parts))
    closed(built, ct.Universal("y", "z"), ct.Pose(p=(1, 0, 0)), ct.Pose(p=(0, 0, 1)))
    for away in (0.0, 0.7):
        sine, cosine = float(np.sin(away)), float(np.cos(away))
        text = cross.replace("AWAY", repr(away)).replace("SIN", repr(sine)).replace("COS", repr(cosine))
        m = load(tmp_path, robot(text, parts=parts))
        assert len(m.system().loops) == 1
        same_motion(m, built, np.random.default_rng(4), atol=1e-10)


@pytest.mark.parametrize("way", ["element", "drake"])
def test_mimic_joints_of_sdf(way, tmp_path):
    mimic = (
        "<mimic joint='A'><multiplier>2</multiplier><offset>0.1</offset><reference>0.3</reference></mimic>"
    )
    inside, outside = (
        (mimic, "") if way == "element" else ("", "<drake:mimic joint='A' multiplier='2' offset='-0.5'/>")
    )
    text = f"""<sdf version="1.11"><model name="m"><link name="a"/><link name="b"/>
    <joint name="A" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz></axis></joint>
    <joint name="B" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>{inside}</axis>{outside}
    </joint></model></sdf>"""
    with pytest.warns(ct.CatenaWarning, match="no <inertial>"):
        m = load(tmp_path, text, "sdf")
    assert m.couplings["B mimics A"].residual({"A": 0.8, "B": 2 * (0.8 - 0.3) + 0.1}) == pytest.approx(
        0.0, abs=1e-15
    )
    with pytest.warns(ct.CatenaWarning, match="no <inertial>"):
        assert not load(tmp_path, text, "sdf", mimic=False).couplings


def test_ball_constraints_of_drake_in_sdf(tmp_path):
    inertial = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
    text = f"""<sdf version="1.9"><model name="m"><link name="a">{inertial}</link>
    <link name="b"><pose>1 0 0 0 0 0</pose>{inertial}</link>
    <joint name="A" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz></axis></joint>
    <drake:ball_constraint><drake:ball_constraint_body_A>a</drake:ball_constraint_body_A>
    <drake:ball_constraint_body_B>b</drake:ball_constraint_body_B>
    <drake:ball_constraint_p_AP>0.5 0 0.2</drake:ball_constraint_p_AP>
    <drake:ball_constraint_p_BQ>-0.5 0 0.2</drake:ball_constraint_p_BQ></drake:ball_constraint></model></sdf>"""
    m = load(tmp_path, text, "sdf")
    joint = m.joints["a on b"]
    assert joint.kind == ct.Spherical() and joint.in_parent.p.tolist() == [0.5, 0, 0.2]
    assert joint.in_child.p.tolist() == [-0.5, 0, 0.2] and m.system().nv == 4
    with pytest.raises(ct.FormatError, match="no link is named 'x'"):
        load(tmp_path, text.replace("_A>a<", "_A>x<"), "sdf")


def test_joints_that_mimic_others_move_by_themselves_if_asked(tmp_path):
    mimic = [
        *PARTS[:5],
        hinge("B", "base", "b", "-1 0 0", more='<mimic joint="A" multiplier="2"/>'),
        *PARTS[6:],
    ]
    m = load(tmp_path, robot(parts=mimic))
    assert list(m.couplings) == ["B mimics A"] and not m.joints["B"].actuated
    free = load(tmp_path, robot(parts=mimic), mimic=False)
    assert not free.couplings and free.joints["B"].actuated and "B" in free.actuators
    same = load(tmp_path, robot())
    s, t = free.system(), same.system()
    q, v = [0.1, 0.2, 0.3], [0.5, -0.4, 0.3]
    np.testing.assert_array_equal(s.forward_dynamics(q, v), t.forward_dynamics(q, v))
    m.save(tmp_path / "m.toml")
    assert not ct.load(tmp_path / "m.toml", mimic=False).couplings
    assert [found for found in ct.check(tmp_path / "m.toml", mimic=False) if "error" in found.severity] == []


@pytest.mark.parametrize("kind", [
    ct.Revolute("y"), ct.Cylindrical("y"), ct.Spherical(), ct.Prismatic((0.3, 0, 1)), ct.Fixed(),
], ids=repr)  # fmt: skip
def test_loops_are_saved_as_elements(kind, tmp_path):
    places = ct.Pose(p=(1, 0, 0), rpy=(0.1, 0, 0.2)), ct.Pose(p=(0, 0, 1), rpy=(0.1, 0, 0.2))
    m = closed(load(tmp_path, robot()), kind, *places)
    m.save(tmp_path / "saved.urdf", loops="elements")
    assert not (tmp_path / "saved.loops.toml").exists()
    joint, again = m.joints["closes"], ct.load(tmp_path / "saved.urdf").joints["closes"]
    assert (joint.parent, joint.child) == (again.parent, again.child) and not again.actuated
    assert type(again.kind) is type(kind) and again.kind.signature == kind.signature
    for side in ("in_parent", "in_child"):
        np.testing.assert_allclose(getattr(again, side).p, getattr(joint, side).p, rtol=0, atol=1e-15)
        np.testing.assert_allclose(getattr(again, side).R, getattr(joint, side).R, rtol=0, atol=1e-15)


def test_what_an_element_cannot_say_goes_beside_the_file(tmp_path):
    m = load(tmp_path, robot())
    m.add_joint(
        "rubs",
        "c",
        "a",
        ct.Revolute("y"),
        ct.Pose(p=(1, 0, 0)),
        ct.Pose(p=(0, 0, 1)),
        damping=0.3,
        actuated=False,
    )
    m.save(tmp_path / "saved.urdf", loops="elements")
    again = ct.load(tmp_path / "saved.urdf")
    assert again.joints["rubs"].damping == 0.3 and (tmp_path / "saved.loops.toml").exists()
    with pytest.raises(ct.FormatError, match="loops is 'x': give one of 'beside', 'elements'"):
        m.save(tmp_path / "saved.urdf", loops="x")
