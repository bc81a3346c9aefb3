"""Reading SDF: frames, axes, kinds, loops, gearboxes; and writing it."""

import numpy as np
import pytest

import catena as ct
from catena import generators as g
from catena.mechanism.shapes import Box, Capsule, Ellipsoid, Mesh

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


def saved_and_loaded(m, tmp_path, beside=False):
    m.save(tmp_path / "m.sdf")
    assert (tmp_path / "m.loops.toml").exists() == beside
    return ct.load(tmp_path / "m.sdf")


@pytest.mark.parametrize(
    "made", [g.four_bar, g.stewart, g.hand, g.delta, g.arm6], ids=lambda made: made.__name__
)
def test_loops_that_are_closed_at_zero_stand_in_the_file_that_is_written(made, tmp_path):
    """Bodies accelerate as before, at random states that are told by the joints."""
    m = made()
    n = saved_and_loaded(m, tmp_path)
    assert n.joints.keys() == m.joints.keys() and n.frames.keys() == m.frames.keys()
    assert all(type(n.joints[name].kind) is type(joint.kind) for name, joint in m.joints.items())
    assert all(n.joints[name].actuated == joint.actuated for name, joint in m.joints.items())
    s, t = m.system(), n.system(cut=m.system().loops)
    q = s.assemble(guess=s.integrate(s.neutral(), 0.1 * np.ones(s.nv), 1.0))
    v = s.project(q, np.ones(s.nv), held=[])[1]
    p = t.assemble({name: s.joint_position(q, name) for name in t.joints}, slack=1e-9)
    w = t.velocity(p, {name: s.joint_velocity(q, v, name) for name in t.joints}, slack=1e-8)
    ours, theirs = s.forward_dynamics(q, v, elements=False), t.forward_dynamics(p, w, elements=False)
    for name in m.bodies:
        one, other = s.acceleration(q, v, ours, name), t.acceleration(p, w, theirs, name)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * max(1.0, np.abs(ours).max()))


def test_what_sdf_has_a_word_for_stands_in_the_file(tmp_path):
    m = ct.Mechanism("all of it", gravity=(0.1, 0.0, -1.6))
    look = [
        Box((0.1, 0.2, 0.3), colour=(1, 0, 0, 1), name="look"),
        Ellipsoid((0.1, 0.2, 0.3), pose=ct.Pose(p=(0, 0, 1), rpy=(0.1, 0.2, 0.3)), name="top"),
    ]
    m.add_body(
        "a", 2.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4), visuals=look, collisions=[Capsule(0.1, 0.4, name="skin")]
    )
    m.add_body("b", 1.0, inertia=0.1)
    m.add_body("loose", 1.0, inertia=0.1)
    m.add_joint(
        "A", "ground", "a", ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, 1)), damping=0.1, friction=0.2,
        limits=(-1.0, 2.0), armature=0.3, velocity_limit=4.0, actuated=False,
    )  # fmt: skip
    m.add_joint("B", "a", "b", ct.Helical("z", 0.3), in_child=ct.Pose(p=(0, 1, 0), rpy=(0, 0, 1.0)))
    m.add_joint("base", "ground", "loose", ct.Free(), actuated=False)
    m.add_spring("A spring", "A", 3.0, 0.1)
    m.add_actuator("B", "B", limits=5.0)
    m.add_coupling("B mimics A", {"B": 1.0, "A": -2.0}, 0.3)
    m.add_frame("eye", "ground", ct.Pose(p=(1, 2, 3)))
    m.set_initial(q={"base": [1.0, 2.0, 3.0, 0.6, 0.8, 0.0, 0.0]})
    n = saved_and_loaded(m, tmp_path)
    eye = n.frames["eye"]
    assert n.gravity.tolist() == m.gravity.tolist() and (eye.body, eye.pose) == (
        "ground",
        m.frames["eye"].pose,
    )
    (box, top), (skin,) = n.bodies["a"].visuals, n.bodies["a"].collisions
    assert box == look[0] and top.radii == look[1].radii and top.pose.allclose(look[1].pose, 1e-15)
    assert skin == Capsule(0.1, 0.4, name="skin")
    joint = n.joints["A"]
    assert (joint.damping, joint.friction, joint.armature, joint.velocity_limit) == (0.1, 0.2, 0.3, 4.0)
    assert joint.limits.tolist() == [[-1.0, 2.0]] and not joint.actuated and n.joints["B"].actuated
    assert n.joints["B"].kind.pitch == pytest.approx(0.3, rel=1e-15)
    assert n.joints["B"].in_parent.allclose(m.joints["B"].in_parent, 1e-15)
    assert n.springs["A spring"].stiffness == 3.0 and n.springs["A spring"].rest == 0.1
    assert n.actuators["B"].limits.tolist() == [[-5.0, 5.0]]
    assert (
        n.couplings["B mimics A"].coefficients == {"B": 1.0, "A": -2.0}
        and n.couplings["B mimics A"].offset == 0.3
    )
    np.testing.assert_allclose(n.initial.q["base"], m.initial.q["base"], rtol=1e-15)


def test_balls_that_are_open_at_zero_are_ball_constraints_and_other_joints_lie_beside(tmp_path):
    m = ct.Mechanism("open")
    m.add_body("a", 1.0, (0.5, 0, 0), 0.1)
    m.add_body("b", 1.0, (0.5, 0, 0), 0.1)
    m.add_joint("A", "ground", "a", ct.Revolute("y"))
    m.add_joint("B", "a", "b", ct.Revolute("y"), in_parent=ct.Pose(p=(1, 0, 0)))
    m.add_joint(
        "C", "ground", "b", ct.Spherical(), ct.Pose(p=(0.5, 0, 0)), ct.Pose(p=(1, 0, 0)), actuated=False
    )
    n = saved_and_loaded(m, tmp_path)
    assert '<drake:ball_constraint name="C">' in (tmp_path / "m.sdf").read_text()
    assert isinstance(n.joints["C"].kind, ct.Spherical) and n.joints["C"].in_parent == m.joints["C"].in_parent
    m.add_body("c", 1.0, (0.5, 0, 0), 0.1)
    m.add_joint("D", "ground", "c", ct.Planar("z"))
    m.add_joint("E", "b", "c", ct.Revolute("y"), ct.Pose(p=(0.2, 0, 0)), ct.Pose(p=(1, 0, 0)))
    m.add_joint("F", "a", "c", ct.Revolute("y"), ct.Pose(p=(0.1, 0, 0)))
    n = saved_and_loaded(m, tmp_path, beside=True)
    # What is written is all there is: the planar joint between ground and the tree that the others make, and F, open.
    assert isinstance(n.joints["D"].kind, ct.Planar) and n.joints["F"].in_parent == m.joints["F"].in_parent
    m.add_body("world", 1.0)
    m.add_joint("W", "ground", "world", ct.Fixed())
    with pytest.raises(ct.FormatError, match="called 'world', which is the ground of SDF: rename it"):
        m.save(tmp_path / "m.sdf")
