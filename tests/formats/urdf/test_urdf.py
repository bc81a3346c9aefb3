"""Reading URDF: every element that is read, what closes loops, and faults by line."""

import numpy as np
import pinocchio as pin
import pytest

import catena as ct
from catena.mechanism.shapes import Box, Capsule, Cylinder, Mesh, Sphere

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base">
    <visual name="foot"><origin xyz="0 0 0.1"/><geometry><box size="1 2 3"/></geometry><material name="blue"/></visual>
    <visual><geometry><cylinder radius="0.1" length="0.5"/></geometry></visual>
    <collision><geometry><capsule radius="0.1" length="0.5"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0 0.2" rpy="0.1 0.2 0.3"/>
      <mass value="2"/><inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/>
    </inertial>
    <visual><geometry><mesh filename="meshes/upper.stl" scale="1 1 0.5"/></geometry></visual>
  </link>
  <link name="fore">
    <inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><geometry><sphere radius="0.2"/></geometry></visual>
  </link>
  <link name="hand"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="finger"><inertial><mass value="0.1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 0.5" rpy="0 0.3 0"/><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <origin xyz="0 0 1"/><parent link="upper"/><child link="fore"/><axis xyz="0 1 1"/>
  </joint>
  <joint name="wrist" type="prismatic">
    <parent link="fore"/><child link="hand"/><axis xyz="1 0 0"/><limit lower="0" upper="0.1" effort="0" velocity="0"/>
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="hand"/><child link="finger"/><axis xyz="0 1 0"/><limit lower="0" upper="0.1" effort="0" velocity="0"/>
    <mimic joint="wrist" multiplier="-2" offset="0.1"/>
  </joint>
</robot>
"""


def load(text, tmp_path, name="m.urdf", **options):
    (tmp_path / name).write_text(text)
    return ct.load(tmp_path / name, **options)


@pytest.fixture
def arm(tmp_path):
    return load(ARM, tmp_path)


def test_everything_in_a_urdf_file_is_read(arm, tmp_path):
    assert arm.name == "arm" and list(arm.bodies) == ["ground", "base", "upper", "fore", "hand", "finger"]
    assert isinstance(arm.joints["root_joint"].kind, ct.Fixed)
    shoulder = arm.joints["shoulder"]
    assert shoulder.kind == ct.Revolute("y") and shoulder.in_parent == ct.Pose(p=(0, 0, 0.5), rpy=(0, 0.3, 0))
    assert (shoulder.damping, shoulder.friction, shoulder.velocity_limit) == (0.5, 0.1, 4.0)
    assert shoulder.limits.tolist() == [[-1, 2]] and arm.actuators["shoulder"].limits.tolist() == [[-30, 30]]
    assert arm.joints["elbow"].limits is None and isinstance(arm.joints["wrist"].kind, ct.Prismatic)
    assert arm.joints["wrist"].actuated and not arm.joints["grip"].actuated
    coupling = arm.couplings["grip mimics wrist"]
    assert coupling.residual({"grip": 0.1 - 2 * 0.03, "wrist": 0.03}) == pytest.approx(0.0, abs=1e-15)
    box, tube = arm.bodies["base"].visuals
    assert box == Box((1, 2, 3), pose=ct.Pose(p=(0, 0, 0.1)), colour=(0, 0, 1, 1), name="foot")
    assert tube == Cylinder(0.1, 0.5) and arm.bodies["base"].collisions == (Capsule(0.1, 0.5),)
    assert arm.bodies["fore"].visuals == (Sphere(0.2),)
    (mesh,) = arm.bodies["upper"].visuals
    assert mesh == Mesh("meshes/upper.stl", (1, 1, 0.5)) and mesh.file == tmp_path / "meshes" / "upper.stl"


def test_the_dynamics_is_that_of_pinocchio(arm, tmp_path):
    model = pin.buildModelFromXML(ARM)
    s = arm.system()
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    mass = pin.crba(model, model.createData(), q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    own = s.mass_matrix(ct.from_pinocchio_q(s, q, model))
    np.testing.assert_allclose(own, mass, rtol=0, atol=1e-14 * np.abs(mass).max())


LOOPS = {
    "links": '<loop_joint name="D" type="revolute"><link1 link="c" xyz="1 0 0" rpy="0 0 0"/>'
    '<link2 link="a" xyz="0 0 1"/><axis xyz="0 1 0"/></loop_joint>',
    "the same link twice": '<loop_joint name="D" type="revolute"><link1 link="c" xyz="1 0 0"/>'
    '<link1 link="a" xyz="0 0 1"/><axis xyz="0 1 0"/></loop_joint>',
    "origins": '<loop_joint name="D" type="revolute"><parent link="c"/><child link="a"/>'
    '<parent_origin xyz="1 0 0"/><child_origin xyz="0 0 1"/><axis xyz="0 1 0"/></loop_joint>',
    "predecessor": '<loop name="D" type="revolute"><predecessor link="c"><origin xyz="1 0 0"/></predecessor>'
    '<successor link="a"><origin xyz="0 0 1"/></successor><axis xyz="0 1 0"/></loop>',
    "constraint": '<constraint name="D" type="revolute"><predecessor link="c"><origin xyz="1 0 0"/></predecessor>'
    '<successor link="a"><origin xyz="0 0 1"/></successor><axis xyz="0 1 0"/></constraint>',
    "urdfdom": '<constraint name="D" type="revolute"><parent link="c"/><parent_origin xyz="1 0 0" rpy="0 0 0.4"/>'
    '<parent_axis xyz="0.3894183423086505 0.9210609940028851 0"/><child link="a"/>'
    '<child_origin xyz="0 0 1" rpy="1.5707963267948966 0 0"/><child_axis xyz="0 0 -2"/></constraint>',
    "urdfdom, one axis": '<constraint name="D" type="continuous"><parent link="c"/><parent_origin xyz="1 0 0"/>'
    '<parent_axis xyz="0 1 0"/><child link="a"/><child_origin xyz="0 0 1"/><child_axis xyz="0 1 0"/></constraint>',
    "a point": '<constraint name="D" type="position"><predecessor link="c"><origin xyz="1 0 0"/></predecessor>'
    '<successor link="a"><origin xyz="0 0 1"/></successor></constraint>',
    "without a type": '<loop_constraint name="D"><parent link="c"/><parent_origin xyz="1 0 0"/><child link="a"/>'
    '<child_origin xyz="0 0 1"/></loop_constraint>',
    "drake": '<drake:ball_constraint><drake:ball_constraint_body_A name="c"/>'
    '<drake:ball_constraint_p_AP value="1 0 0"/><drake:ball_constraint_body_B name="a"/>'
    '<drake:ball_constraint_p_BQ value="0 0 1"/></drake:ball_constraint>',
    "gazebo": '<gazebo><joint name="D" type="revolute"><parent>c</parent><child>a</child><pose>0 0 1 0 0 0</pose>'
    "<axis><xyz>0 1 0</xyz></axis></joint></gazebo>",
}
LINK = '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>'
# Ground, a up to (0, 0, 1) where the loop is; b up from (-1, 0, 0) to (-1, 0, 1); c from there to (0, 0, 1).
FOUR_BAR = f"""<robot name="bars">
<link name="base"/><link name="a">{LINK}<link name="b">{LINK}<link name="c">{LINK}
<joint name="A" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="B" type="continuous">
  <origin xyz="-1 0 0"/><parent link="base"/><child link="b"/><axis xyz="0 1 0"/></joint>
<joint name="C" type="continuous"><origin xyz="0 0 1"/><parent link="b"/><child link="c"/><axis xyz="0 1 0"/></joint>
LOOP
</robot>
"""


@pytest.mark.parametrize("way", LOOPS)
def test_loops_are_read_in_every_way_that_is_in_use(way, tmp_path):
    s = load(FOUR_BAR.replace("LOOP", LOOPS[way]), tmp_path).system()
    assert len(s.loops) == 1 and s.diagnose(s.neutral()).mobility == 1
    assert np.abs(s.closure(s.neutral())[0]).max() < 1e-15
    q = s.assemble({"A": 0.3})
    assert s.joint_position(q, "B") == pytest.approx(0.3, abs=1e-8)


def test_a_side_file_adds_loops_to_a_tree(tmp_path):
    side = """
    [[joint]]
    name = "D"
    kind = "revolute"
    axis = "y"
    parent = "c"
    child = "a"
    in_parent = { p = [1, 0, 0] }
    in_child = { p = [0, 0, 1] }
    """
    (tmp_path / "m.loops.toml").write_text(side)
    assert len(load(FOUR_BAR.replace("LOOP", ""), tmp_path).system().loops) == 1
    (tmp_path / "other.toml").write_text(side)
    assert (
        len(
            load(FOUR_BAR.replace("LOOP", ""), tmp_path, "n.urdf", loops=tmp_path / "other.toml")
            .system()
            .loops
        )
        == 1
    )
    assert not load(FOUR_BAR.replace("LOOP", ""), tmp_path, "o.urdf").system().loops
    (tmp_path / "m.loops.toml").write_text(side.replace('"c"', '"d"'))
    with pytest.raises(ct.FormatError, match=r"m\.loops\.toml:6: joint 'D': no body is named 'd'"):
        ct.load(tmp_path / "m.urdf")


def test_a_link_with_two_parents_is_a_loop_and_is_told(tmp_path):
    text = FOUR_BAR.replace(
        "LOOP",
        '<link name="d"/><joint name="E" type="fixed"><origin xyz="0 0 1"/><parent link="a"/><child link="d"/></joint>'
        '<joint name="D" type="continuous"><origin xyz="1 0 0"/><parent link="c"/><child link="d"/>'
        '<axis xyz="0 1 0"/></joint>',
    )
    with pytest.warns(ct.CatenaWarning, match="link 'd': it is the child of the joints 'E', 'D'"):
        s = load(text, tmp_path).system()
    assert len(s.loops) == 1 and s.diagnose(s.neutral()).mobility == 1


def test_a_root_that_is_the_world_is_ground_and_floating_joints_float(tmp_path):
    m = load(
        f'<robot name="r"><link name="world"/><link name="a">{LINK}'
        '<joint name="float" type="floating"><parent link="world"/><child link="a"/></joint></robot>',
        tmp_path,
    )
    assert (
        list(m.joints) == ["float"]
        and m.joints["float"].parent == "ground"
        and m.frames["world"].body == "ground"
    )
    assert m.system().nq == 7


FAULTS = [
    ('<link name="fore">', '<link name="upper">', "the name is taken on line 9"),
    ('<child link="fore"/>', '<child link="four"/>', "joint 'elbow': no link is named 'four'"),
    ('type="continuous"', 'type="ball-ish"', "no type of joint is named 'ball-ish'"),
    ('<axis xyz="0 1 1"/>', '<axis xyz="0 0 0"/>', "joint 'elbow'"),
    ('<axis xyz="0 1 1"/>', '<axis xyz="0 1"/>', "give 3 numbers"),
    ('mass value="2"', 'mass value="-2"', "a mass cannot be negative"),
    ('mass value="2"', 'mass value="two"', "is not made of numbers"),
    ('mass value="2"', 'mass value="nan"', "give finite numbers"),
    ("<robot", "<model", "not XML: mismatched tag"),
    ('<parent link="base"/>', '<parent link="finger"/>', "it is its own ancestor"),
    ('<mimic joint="wrist"', '<mimic joint="grip"', "it mimics itself"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[fault[2][:40] for fault in FAULTS])
def test_a_fault_is_told_with_its_line(old, new, message, tmp_path):
    text = ARM.replace(old, new, 1)
    with pytest.raises(ct.FormatError) as caught:
        load(text, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'm.urdf'}:") and message in str(caught.value)
    line = int(str(caught.value).removeprefix(f"{tmp_path / 'm.urdf'}:").split(":")[0])
    assert 1 <= line <= text.count("\n") + 1


def test_packages_are_found_around_the_file_and_below_search_folders(tmp_path):
    text = ARM.replace("meshes/upper.stl", "package://robots/meshes/upper.stl")
    package = tmp_path / "robots"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "meshes" / "upper.stl").write_text("solid")
    (package / "urdf" / "m.urdf").write_text(text)

    def mesh(**options):
        return ct.load(package / "urdf" / "m.urdf", **options).bodies["upper"].visuals[0]

    with pytest.warns(ct.CatenaWarning, match="is not there"):
        assert mesh().file is None
    assert mesh(search=[tmp_path]).file == package / "meshes" / "upper.stl"
    assert mesh(search=str(package)).file == package / "meshes" / "upper.stl"
    (package / "package.xml").write_text("<package/>")
    assert (
        mesh().file == package / "meshes" / "upper.stl" and mesh().path == "package://robots/meshes/upper.stl"
    )


def test_xacro_is_expanded_only_for_those_who_trust_the_file(tmp_path):
    (tmp_path / "m.xacro").write_text(ARM)
    with pytest.raises(ct.FormatError, match="macros=True"):
        ct.load(tmp_path / "m.xacro")
    xacro = pytest.importorskip("xacro")
    assert xacro
    with pytest.warns(ct.CatenaWarning):
        assert len(ct.load(tmp_path / "m.xacro", macros=True).bodies) == 6


COSMETIC = {
    "a sphere: radius is 0.0: give metres above zero": ('<box size="1 2 3"/>', '<sphere radius="0"/>'),
    "scale is '1 1 1 1': give 3 numbers": ('<box size="1 2 3"/>', '<mesh filename="a.stl" scale="1 1 1 1"/>'),
    "size is '1 x 3', which is not made of numbers": ('<box size="1 2 3"/>', '<box size="1 x 3"/>'),
    "there is no <geometry> with a shape in it": ('<geometry><box size="1 2 3"/></geometry>', ""),
    "leads out of the folder of the model": ('<box size="1 2 3"/>', '<mesh filename="../../a.stl"/>'),
    "rgba is '1 0 0'": ('rgba="0.5 0.5 0.5 1"', 'rgba="1 0 0"'),
    "lower is 2, above upper, -1: they are taken the other way round": (
        'lower="-1" upper="2"',
        'lower="2" upper="-1"',
    ),
}
FACE = """<robot name="r"><material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
<link name="a"><visual><geometry><box size="1 2 3"/></geometry></visual>
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><collision><geometry><sphere radius="0.1"/></geometry></collision>
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit lower="-1" upper="2" effort="1" velocity="1"/>
</joint></robot>"""


@pytest.mark.parametrize("message", COSMETIC)
def test_faults_that_dynamics_does_not_see_are_told_and_the_mechanism_loads(message, tmp_path):
    old, new = COSMETIC[message]
    assert old in FACE
    with pytest.warns(ct.CatenaWarning) as caught:
        m = load(FACE.replace(old, new), tmp_path)
    (told,) = (str(one.message) for one in caught)
    assert message in told and told.count("link 'a'") <= 1 and told.count("m.urdf") == 1
    assert list(m.bodies) == ["ground", "a", "b"] and len(m.bodies["b"].collisions) == 1
    assert m.joints["j"].limits.tolist() == [[-1.0, 2.0]]


def test_moments_that_are_rounding_are_not_told(tmp_path, recwarn):
    moments = 'ixx="1e-35" iyy="1e-35" izz="-2e-35" ixy="1e-36" ixz="0" iyz="0"'
    load(FACE.replace('ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"', moments), tmp_path)
    assert not recwarn.list
    with pytest.warns(ct.CatenaWarning, match="negative principal moment -2e-05"):
        load(FACE.replace('izz="1"', 'izz="-2e-5"', 1), tmp_path)
