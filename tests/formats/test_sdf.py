"""Reading SDF: frames, axes, kinds, loops, gearboxes."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.shapes import Box, Mesh

INERTIAL = "<inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
FOUR_BAR = f"""<sdf version="1.6"><model name="bars"><pose>0 0 3 0 0 0</pose>
<link name="base">{INERTIAL}</link>
<link name="a"><pose>0 0 0 0 0 0.5</pose>{INERTIAL}
  <visual name="v"><pose>0 0 0.5 0 0 0</pose><geometry><box><size>0.1 0.1 1</size></box></geometry>
    <material><diffuse>1 0 0 1</diffuse></material></visual>
  <collision name="c"><geometry><mesh><uri>model://bars/a.stl</uri><scale>1 1 1</scale></mesh></geometry></collision>
</link>
<link name="b"><pose>-1 0 0 0 0 0</pose>{INERTIAL}</link>
<link name="c"><pose>-1 0 1 0 0 0</pose>{INERTIAL}</link>
<joint name="A" type="revolute"><parent>base</parent><child>a</child>
  <axis><xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame>
    <limit><lower>-1</lower><upper>1</upper><effort>5</effort><velocity>2</velocity></limit>
    <dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>3</spring_stiffness>
      <spring_reference>0.1</spring_reference></dynamics></axis></joint>
<joint name="B" type="revolute"><parent>base</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="C" type="revolute"><parent>b</parent><child>c</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="D" type="revolute"><pose>1 0 0 0 0 0</pose><parent>a</parent><child>c</child>
  <axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>
"""


def load(text, tmp_path):
    (tmp_path / "m.sdf").write_text(text)
    return ct.load(tmp_path / "m.sdf")


@pytest.fixture
def bars(tmp_path):
    with pytest.warns(ct.CatenaWarning, match="model://bars/a.stl"):
        return load(FOUR_BAR, tmp_path)


def test_a_graph_with_a_loop_is_closed_where_the_file_has_it(bars):
    s = bars.system()
    assert len(s.loops) == 1
    assert np.abs(s.closure(s.neutral())[0]).max() < 1e-15
    q = s.assemble({"A": 0.4, **bars.initial.q})
    # The axis of A is told in the model, that of the others in frames that are parallel to it.
    assert s.joint_position(q, "B") == pytest.approx(0.4, abs=1e-8)
    assert s.pose(q, "base").p.tolist() == [0, 0, 3]


def test_an_empty_link_with_the_name_of_the_world_is_the_world(tmp_path):
    text = f"""<sdf version="1.6"><model name="m"><link name="world"/><link name="a">{INERTIAL}</link>
    <joint name="A" type="prismatic"><parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint>
    </model></sdf>"""
    m = load(text, tmp_path)
    assert list(m.bodies) == ["ground", "a"] and m.joints["A"].parent == "ground" and m.system().nv == 1


def test_what_a_joint_and_a_link_have_is_read(bars):
    joint = bars.joints["A"]
    assert (joint.damping, joint.friction, joint.velocity_limit) == (0.1, 0.2, 2.0)
    assert joint.limits.tolist() == [[-1, 1]] and bars.actuators["A"].limits.tolist() == [[-5, 5]]
    spring = bars.springs["A spring"]
    assert spring.stiffness == 3.0 and spring.rest == 0.1
    assert bars.joints["B"].limits is None
    assert bars.bodies["a"].visuals == (
        Box((0.1, 0.1, 1), pose=ct.Pose(p=(0, 0, 0.5)), colour=(1, 0, 0, 1), name="v"),
    )
    assert bars.bodies["a"].collisions == (Mesh("model://bars/a.stl", name="c"),)
    assert isinstance(bars.joints["root_joint"].kind, ct.Free)


KINDS = {
    "ball": ct.Spherical(),
    "fixed": ct.Fixed(),
    "universal": ct.Universal("z", "x"),
    "prismatic": ct.Prismatic("z"),
    "screw": ct.Helical("z", 0.1 / (2 * np.pi)),
}


@pytest.mark.parametrize("word", KINDS)
def test_types_of_joints(word, tmp_path):
    axes = "<axis><xyz>0 0 1</xyz></axis><axis2><xyz>1 0 0</xyz></axis2><screw_thread_pitch>0.1</screw_thread_pitch>"
    m = load(
        f'<sdf version="1.9"><model name="m"><link name="a">{INERTIAL}</link>'
        f'<joint name="j" type="{word}"><parent>world</parent><child>a</child>{axes}</joint></model></sdf>',
        tmp_path,
    )
    assert m.joints["j"].kind == KINDS[word] and list(m.joints) == ["j"]


def test_poses_may_be_relative_to_frames_in_any_order(tmp_path):
    m = load(
        f"""<sdf version="1.9"><model name="m">
        <link name="a"><pose relative_to="f">0 0 1 0 0 0</pose>{INERTIAL}</link>
        <frame name="f" attached_to="b"><pose>1 0 0 0 0 1.5707963267948966</pose></frame>
        <link name="b"><pose degrees="true">0 1 0 0 0 90</pose>{INERTIAL}</link>
        <joint name="j" type="fixed"><parent>b</parent><child>a</child></joint>
        <joint name="w" type="fixed"><parent>world</parent><child>b</child></joint></model></sdf>""",
        tmp_path,
    )
    s = m.system()
    assert s.pose([], "b").allclose(ct.Pose(p=(0, 1, 0), rpy=(0, 0, np.pi / 2)), 1e-15)
    assert s.pose([], "a").allclose(ct.Pose(p=(0, 2, 1), rpy=(0, 0, np.pi)), 1e-15)
    assert s.pose([], "f").allclose(ct.Pose(p=(0, 2, 0), rpy=(0, 0, np.pi)), 1e-15)


def test_a_gearbox_is_a_coupling_of_the_joints_about_its_reference(tmp_path):
    axis = "<axis><xyz>0 0 1</xyz></axis>"
    back = "<axis><xyz>0 0 -1</xyz></axis>"
    gear = (
        '<joint name="g" type="gearbox"><parent>a</parent><child>b</child><gearbox_ratio>4</gearbox_ratio>'
        f"<gearbox_reference_body>base</gearbox_reference_body>{axis}<axis2><xyz>0 0 1</xyz></axis2></joint>"
    )
    m = load(
        f'<sdf version="1.6"><model name="m"><static>true</static><link name="base">{INERTIAL}</link>'
        f'<link name="a">{INERTIAL}</link><link name="b">{INERTIAL}</link>{gear}'
        f'<joint name="A" type="revolute"><parent>base</parent><child>a</child>{axis}</joint>'
        f'<joint name="B" type="revolute"><parent>base</parent><child>b</child>{back}</joint></model></sdf>',
        tmp_path,
    )
    # The child turns at -4 times the rate of the parent, and B counts the other way round.
    assert m.couplings["g"].residual({"A": 0.1, "B": 0.4}) == pytest.approx(0.0, abs=1e-15)


FAULTS = [
    ("<parent>base</parent>", "<parent>bse</parent>", "no link is named 'bse'"),
    ('type="revolute"', 'type="hinge"', "no type of joint is named 'hinge'"),
    ("<mass>1</mass>", "<mass>heavy</mass>", "not made of numbers"),
    ("<pose>0 0 0 0 0 0.5</pose>", "<pose>0 0 0 0 0</pose>", "give 6 numbers"),
    ("<pose>0 0 0 0 0 0.5</pose>", '<pose relative_to="a">0 0 0 0 0 0</pose>', "relative to itself"),
    ('<link name="b">', '<link name="a">', "the name is taken"),
    ('<link name="b">', '<link name="world">', "the name is that of the world"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[fault[2][:30] for fault in FAULTS])
def test_a_fault_is_told_with_its_line(old, new, message, tmp_path):
    with pytest.raises(ct.FormatError) as caught:
        load(FOUR_BAR.replace(old, new, 1), tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'm.sdf'}:") and message in str(caught.value)
