"""Reading MJCF: the dynamics is that of MuJoCo, joints of one body are merged where that is the same, loops close."""

import mujoco
import numpy as np
import pytest

import catena as ct
from catena.mechanism.shapes import Box, Capsule, Mesh

INERTIAL = '<inertial pos="0.1 0 -0.2" mass="1" fullinertia="0.1 0.2 0.15 0.01 0 0.02"/>'


def load(text, tmp_path, **options):
    (tmp_path / "m.xml").write_text(text)
    return ct.load(tmp_path / "m.xml", **options)


def body(joints, inside=""):
    return f'<body name="b" pos="0.1 0.2 0.3" euler="10 20 30">{joints}{INERTIAL}{inside}</body>'


def model_of(*bodies, rest=""):
    return f'<mujoco model="m"><worldbody>{"".join(bodies)}</worldbody>{rest}</mujoco>'


JOINTS = {
    "two hinges": ('<joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 1"/>', ct.Universal),
    "three hinges": (
        '<joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/><joint name="z" axis="0 0 1"/>',
        ct.Sdof,
    ),
    "slides and a hinge": (
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>'
        '<joint name="y" axis="0 1 0" pos="0 0.1 0.2" ref="10"/>',
        ct.Sdof,
    ),
    "turned": (
        '<joint name="x" axis="1 1 0"/><joint name="y" axis="-1 1 0"/><joint name="z" axis="0 0 1"/>',
        ct.Sdof,
    ),
    "left-handed": (
        '<joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/><joint name="z" axis="0 0 -1"/>',
        None,
    ),
    "apart": ('<joint name="x" axis="1 0 0" pos="0 0 0.1"/><joint name="y" axis="0 1 0"/>', None),
    "a slide and a ball": (
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="ball" pos="0 0.1 0"/>',
        None,
    ),
    "free": ('<freejoint name="x"/>', ct.Free),
}


@pytest.mark.parametrize("way", JOINTS)
def test_joints_of_a_body_are_merged_where_that_is_the_same(way, tmp_path):
    joints, kind = JOINTS[way]
    text = model_of(
        body(joints, f'<body name="c" pos="0 0 0.5"><joint name="w" axis="0 1 0" ref="20"/>{INERTIAL}</body>')
    )
    m = load(text, tmp_path)
    s = m.system()
    model = mujoco.MjModel.from_xml_string(text)
    if kind is not None:
        assert len(m.bodies) == 3 and any(isinstance(joint.kind, kind) for joint in m.joints.values())
    else:
        assert len(m.bodies) > 3
    data = mujoco.MjData(model)
    random = np.random.default_rng(0)
    data.qpos[:] = model.qpos0
    mujoco.mj_integratePos(model, data.qpos, random.normal(size=model.nv), 0.5)
    data.qvel[:] = random.normal(size=model.nv)
    data.qfrc_applied[:] = random.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    q = ct.from_mujoco_qpos(s, data.qpos, model)
    v = ct.from_mujoco_qvel(s, data.qpos, data.qvel, model)
    for name in ("b", "c"):
        pose = s.pose(q, name)
        np.testing.assert_allclose(pose.p, data.body(name).xpos, atol=1e-14)
        np.testing.assert_allclose(pose.R.ravel(), data.body(name).xmat, atol=1e-14)
    energy = 0.5 * data.qvel @ _mass(model, data) @ data.qvel
    assert s.kinetic_energy(q, v) == pytest.approx(energy, rel=1e-13)
    # Forces pair with velocities, so they translate by the transpose of what translates velocities.
    columns = np.array([ct.to_mujoco_qvel(s, q, e, model) for e in np.eye(s.nv)]).T
    vdot = s.forward_dynamics(q, v, columns.T @ data.qfrc_applied)
    ahead = 1e-6
    step = ct.to_mujoco_qvel(s, s.integrate(q, v, ahead), v + ahead * vdot, model)
    back = ct.to_mujoco_qvel(s, s.integrate(q, v, -ahead), v - ahead * vdot, model)
    np.testing.assert_allclose(
        (step - back) / (2 * ahead), data.qacc, atol=1e-6 * max(1, np.abs(data.qacc).max())
    )


def _mass(model, data):
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    return mass


EQUALITIES = model_of(
    '<body name="a"><joint name="A" axis="0 1 0"/>' + INERTIAL + '<site name="sa" pos="0 0 1"/></body>',
    '<body name="b" pos="-1 0 0"><joint name="B" axis="0 1 0"/>' + INERTIAL
    + '<body name="c" pos="0 0 1"><joint name="C" axis="0 1 0"/>' + INERTIAL + '<site name="sc" pos="1 0 0"/></body>'
    "</body>",
    '<body name="d" pos="0 3 0"><freejoint/>' + INERTIAL + '<body name="e" pos="0 0 1"><joint name="E"/>' + INERTIAL
    + "</body></body>",
    rest="<equality>LOOP</equality>",
)  # fmt: skip
WAYS = {
    "connect bodies": '<connect name="L" body1="a" body2="c" anchor="0 0 1"/>',
    "connect sites": '<connect name="L" site1="sa" site2="sc"/>',
    "weld bodies": '<weld name="L" body1="a" body2="c" relpose="-1 0 1 1 0 0 0"/>',
    "weld to world": '<weld name="L" body1="d"/>',
    "weld sites": '<weld name="L" site1="sa" site2="sc"/>',
}


@pytest.mark.parametrize("way", WAYS)
def test_equality_constraints_are_joints_that_close_exactly(way, tmp_path):
    m = load(EQUALITIES.replace("LOOP", WAYS[way]), tmp_path)
    kind = ct.Spherical if "connect" in way else ct.Fixed
    assert isinstance(m.joints["L"].kind, kind)
    s = m.system()
    given = {"A": 0.2} if "connect" in way else {}
    q = s.assemble({**m.initial.q, **given})
    assert np.abs(s.closure(q)[0]).max(initial=0.0) < 1e-12
    if way == "weld bodies":
        assert s.pose(q, "c").allclose(s.pose(q, "a") * ct.Pose(p=(-1, 0, 1)), 1e-12)
    if way.startswith("connect"):
        assert s.joint_position(q, "B") == pytest.approx(0.2, abs=1e-8)


def test_a_joint_equality_is_a_coupling_from_the_configuration_of_the_file(tmp_path):
    text = EQUALITIES.replace('<joint name="A"', '<joint name="A" ref="10"').replace(
        "LOOP",
        '<joint name="gear" joint1="A" joint2="C" polycoef="0.1 2 0 0 0"/>'
        '<joint name="cam" joint1="A" joint2="B" polycoef="0 1 0.5 0 0"/><joint name="stop" joint1="C"/>',
    )
    m = load(text, tmp_path)
    assert (
        dict(m.couplings["gear"].coefficients) == {"A": 1.0, "C": -2.0} and m.couplings["gear"].offset == 0.1
    )
    assert m.couplings["cam"].polynomial == (0.0, 1.0, 0.5)
    assert dict(m.couplings["stop"].coefficients) == {"C": 1.0}
    cam = m.couplings["cam"]
    x = {"A": 0.3, "B": 0.7}
    slopes = {
        k: (cam.residual({**x, k: x[k] + 1e-6}) - cam.residual({**x, k: x[k] - 1e-6})) / 2e-6 for k in x
    }
    assert cam.gradient(x) == pytest.approx(slopes, abs=1e-8)


def test_what_joints_motors_and_shapes_have_is_read(tmp_path):
    (tmp_path / "box.obj").write_text(
        "\n".join(f"v {x} {y} {z}" for x in (1, 2) for y in (0, 1) for z in (0, 1))
        + "\nf 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
    )
    text = model_of(
        '<geom type="box" size="1 2 3" rgba="1 0 0 1"/>',
        body(
            '<joint name="j" damping="0.1" frictionloss="0.2" armature="0.3" range="-90 45" stiffness="5" '
            'springref="30"/>',
            '<geom type="capsule" fromto="0 0 0 0 0 1" size="0.1" contype="0" conaffinity="0"/>'
            '<geom type="mesh" mesh="box" pos="0 0 1"/><site name="s" pos="1 2 3"/>',
        ),
        rest='<asset><mesh name="box" file="box.obj" scale="2 1 1"/>'
        '<texture type="2d" file="../none.png" name="t"/></asset>'
        '<actuator><motor name="m" joint="j" gear="50" ctrlrange="-2 2"/>'
        '<position name="p" joint="j" kp="3"/></actuator>',
    )
    m = load(text, tmp_path)
    joint = m.joints["j"]
    assert (joint.damping, joint.friction, joint.armature) == (0.1, 0.2, 0.3)
    np.testing.assert_allclose(joint.limits, [[-np.pi / 2, np.pi / 4]])
    assert m.springs["j spring"].stiffness == 5.0 and m.springs["j spring"].rest == pytest.approx(np.pi / 6)
    assert m.actuators["m"].gear == 50.0 and m.actuators["m"].limits.tolist() == [[-2, 2]]
    assert m.frames["s"].pose == ct.Pose(p=(1, 2, 3))
    assert m.bodies["ground"].collisions == (Box((2, 4, 6), colour=(1, 0, 0, 1)),)
    capsule, mesh = m.bodies["b"].visuals
    assert (
        isinstance(capsule, Capsule)
        and capsule.length == pytest.approx(1.0)
        and len(m.bodies["b"].collisions) == 1
    )
    assert isinstance(mesh, Mesh) and mesh.path == "box.obj" and mesh.scale == (2, 1, 1)
    # MuJoCo centres meshes; the file has its corner at (2, 0, 0) of the mesh frame.
    assert mesh.pose.allclose(ct.Pose(p=(0, 0, 1)), 1e-6)


def test_included_files_are_read_from_the_folder_only(tmp_path):
    (tmp_path / "inner.xml").write_text(
        f"<mujocoinclude><worldbody>{body('<joint/>')}</worldbody></mujocoinclude>"
    )
    m = load('<mujoco><include file="inner.xml"/></mujoco>', tmp_path)
    assert list(m.bodies) == ["ground", "b"]
    (tmp_path / "sub").mkdir()
    with pytest.raises(ct.FormatError, match="leads out of the folder"):
        load('<mujoco><include file="../inner.xml"/></mujoco>', tmp_path / "sub")
    with pytest.raises(ct.FormatError, match="MuJoCo refuses it"):
        load("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", tmp_path)


def test_included_files_find_their_own_beside_them_as_in_mujoco(tmp_path):
    (tmp_path / "parts").mkdir()
    inner = f"<mujocoinclude>{body('<joint/>')}</mujocoinclude>"
    (tmp_path / "parts" / "inner.xml").write_text(inner)
    (tmp_path / "parts" / "outer.xml").write_text(
        '<mujocoinclude><include file="inner.xml"/></mujocoinclude>'
    )
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "tip.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    (tmp_path / "parts" / "asset.xml").write_text(
        '<mujocoinclude><mesh file="../forms/tip.obj"/></mujocoinclude>'
    )
    assets = '<asset><include file="parts/asset.xml"/></asset>'
    shape = '<geom type="mesh" mesh="tip"/>'
    text = f'<mujoco>{assets}<worldbody>{shape}<include file="parts/outer.xml"/></worldbody></mujoco>'
    m = load(text, tmp_path)
    assert len(m.joints) == 1 and m.bodies["ground"].visuals[0].path == "forms/tip.obj"
    mujoco.MjModel.from_xml_path(str(next(tmp_path.glob("*.xml"))))


def test_plugins_are_left_out_and_told(tmp_path):
    text = (
        '<mujoco><extension><plugin plugin="mujoco.pid"><instance name="i"/></plugin></extension><worldbody>'
        + body('<joint name="j"/>')
        + '</worldbody><actuator><plugin name="p" joint="j" plugin="mujoco.pid" instance="i"/></actuator></mujoco>'
    )
    with pytest.warns(ct.CatenaWarning, match="the elements <extension>, <plugin>"):
        assert not load(text, tmp_path).servos
