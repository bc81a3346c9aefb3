"""Writing URDF and MJCF: what is written and read again moves as the mechanism it came from, and others agree."""

import warnings

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import catena as ct
from catena import generators as g
from catena.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere


def again(m, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatenaWarning)
        m.save(path)
        return ct.load(path)


def same_motion(m, n, by_name=True):
    """Both have the same inertia, weight and accelerations at a state that is told by the joints of the first."""
    a, b = m.system(), n.system()
    random = np.random.default_rng(3)
    q = a.integrate(a.neutral(), random.normal(size=a.nv), 0.3)
    v = random.normal(size=a.nv)
    if a.constrained:
        q = a.assemble(guess=q)
        v = np.zeros(a.nv)
    given = {name: a.joint_position(q, name) for name in m.joints if m.joints[name].dof and name in n.joints}
    for name in m.joints:
        if f"{name} 1" in n.joints and m.joints[name].dof > 1:
            given |= {f"{name} {k + 1}": x for k, x in enumerate(a.joint_position(q, name))}
    p = b.assemble(given, slack=1e-6)
    w = np.zeros(b.nv)
    for name in a.joints if not a.constrained else ():
        speeds = v[a.slice_v(name)]
        if name in b.joints:
            w[b.slice_v(name)] = speeds
        for k, speed in enumerate(speeds):
            if f"{name} {k + 1}" in b.joints:
                w[b.slice_v(f"{name} {k + 1}")] = speed
    for name in m.bodies:
        if name != "ground":
            assert a.pose(q, name).allclose(b.pose(p, name), atol=1e-8), name
    assert b.kinetic_energy(p, w) == pytest.approx(a.kinetic_energy(q, v), rel=1e-8)
    da, db = a.forward_dynamics(q, v, np.zeros(a.nv)), b.forward_dynamics(p, w, np.zeros(b.nv))
    for name in a.joints:
        if name in b.joints and m.joints[name].kind.nv == n.joints[name].kind.nv == 1:
            x, y = da[a.slice_v(name)], db[b.slice_v(name)]
            np.testing.assert_allclose(y, x, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(da).max()))


@pytest.mark.parametrize("name", ["arm6", "four_bar", "stewart", "humanoid"])
def test_a_mechanism_written_as_urdf_moves_as_before(name, tmp_path):
    m = getattr(g, name)()
    n = again(m, tmp_path / "m.urdf")
    same_motion(m, n)
    assert (tmp_path / "m.loops.toml").exists() == bool(m.system().loops or m.frames or m.initial.q)


@pytest.mark.parametrize("name", ["arm6", "humanoid"])
def test_a_mechanism_written_as_mjcf_moves_as_before(name, tmp_path):
    m = getattr(g, name)()
    same_motion(m, again(m, tmp_path / "m.xml"))


def test_a_loop_written_as_mjcf_is_closed_by_points(tmp_path):
    m = g.four_bar()
    bars = ct.Mechanism("bars of some thickness", m.gravity)
    for body in m.bodies.values():
        if body.name != "ground":
            bars.add_body(body.name, body.mass, body.com, body.inertia + 0.01 * np.eye(3))
    for j in m.joints.values():
        bars.add_joint(j.name, j.parent, j.child, j.kind, j.in_parent, j.in_child)
    n = again(bars, tmp_path / "m.xml")
    assert sum(isinstance(j.kind, ct.Spherical) for j in n.joints.values()) == 2
    same_motion(bars, n)


def everything():
    m = ct.Mechanism("everything", gravity=(0, 0, -5))
    shapes = (
        Box((0.1, 0.2, 0.3), colour=(1, 0, 0, 1), name="box", pose=ct.Pose(p=(0, 0, 1), rpy=(0.1, 0.2, 0.3))),
        Sphere(0.1),
        Cylinder(0.1, 0.2),
        Capsule(0.1, 0.2),
    )
    m.add_body(
        "a", mass=1.0, com=(0.1, 0, 0), inertia=[[0.1, 0.01, 0], [0.01, 0.1, 0], [0, 0, 0.1]], visuals=shapes
    )
    m.add_body("b", mass=1.0, inertia=0.1, collisions=Sphere(0.1))
    m.add_body("c", mass=1.0, inertia=0.1)
    m.add_joint(
        "j", "ground", "a", ct.Revolute((0, 1, 1)), in_parent=ct.Pose(p=(1, 0, 0), rpy=(0, 0.5, 0)),
        in_child=ct.Pose(p=(0, 0.1, 0), rpy=(0.5, 0, 0)), damping=0.1, friction=0.2, limits=(-1, 2), velocity_limit=3.0,
        armature=0.01,
    )  # fmt: skip
    m.add_joint("k", "a", "b", ct.Universal("x", "y"), in_parent=ct.Pose(p=(0, 0, 1)), actuated=False)
    m.add_joint("l", "b", "c", ct.Prismatic("z"))
    m.add_actuator("j", "j", limits=10.0)
    m.add_actuator("motor", "l", gear=5.0, limits=(-1.0, 2.0))
    m.add_coupling("l mimics j", {"l": 1.0, "j": -0.5}, 0.25)
    m.add_frame("tool", "c", ct.Pose(p=(0, 0, 0.3)))
    return m


def test_urdf_keeps_what_it_can_say_and_the_side_file_the_rest(tmp_path):
    m = everything()
    n = again(m, tmp_path / "m.urdf")
    same_motion(m, n)
    j = n.joints["j"]
    assert (j.damping, j.friction, j.velocity_limit, j.armature) == (0.1, 0.2, 3.0, 0.01)
    assert j.limits.tolist() == [[-1, 2]]
    assert n.actuators["j"].limits.tolist() == [[-10, 10]]
    assert n.actuators["motor"].gear == 5.0 and n.actuators["motor"].limits.tolist() == [[-1, 2]]
    assert dict(n.couplings["l mimics j"].coefficients) == {"l": 1.0, "j": -0.5}
    assert n.couplings["l mimics j"].offset == 0.25
    assert n.gravity.tolist() == [0, 0, -5] and n.frames["tool"].body == "c"
    assert not n.joints["k 1"].actuated and n.joints["j"].actuated
    box = n.bodies["a"].visuals[0]
    assert box.size == (0.1, 0.2, 0.3) and box.colour == (1, 0, 0, 1) and box.name == "box"
    assert box.pose.allclose(m.bodies["a"].visuals[0].pose, atol=1e-15)
    assert n.bodies["a"].visuals[1:] == m.bodies["a"].visuals[1:]
    assert n.bodies["b"].collisions == (Sphere(0.1),)


def test_pinocchio_reads_what_is_written_as_urdf(tmp_path):
    m = everything()
    again(m, tmp_path / "m.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "m.urdf"))
    s = m.system()
    q = {"j": 0.3, "k": (0.2, -0.4), "l": 0.4}
    theirs = np.zeros(model.nq)
    for k in range(1, model.njoints):
        name, at = model.names[k], model.idx_qs[k]
        value = q[name] if name in q else q[name[0]][int(name[-1]) - 1]
        theirs[at : at + model.nqs[k]] = value if model.nqs[k] == 1 else (np.cos(value), np.sin(value))
    mass = pin.crba(model, model.createData(), theirs)
    mass = np.triu(mass) + np.triu(mass, 1).T
    order = [model.idx_vs[model.getJointId(name)] for name in ("j", "k 1", "k 2", "l")]
    # Pinocchio reads no armature from URDF files.
    own = s.mass_matrix(s.assemble(q)) - np.diag([0.01, 0, 0, 0])
    np.testing.assert_allclose(own, mass[np.ix_(order, order)], atol=1e-13)


def test_mujoco_reads_what_is_written_as_mjcf(tmp_path):
    m = everything()
    n = again(m, tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    data = mujoco.MjData(model)
    s = m.system()
    q = s.assemble({"j": 0.3, "k": (0.2, -0.4), "l": 0.4})
    data.qpos[:] = [0.3, 0.2, -0.4, 0.4]
    mujoco.mj_forward(model, data)
    mass = np.zeros((4, 4))
    mujoco.mj_fullM(model, data, mass)
    np.testing.assert_allclose(s.mass_matrix(q), mass, atol=1e-12)
    assert n.joints["j"].armature == 0.01 and n.joints["j"].limits.tolist() == [[-1, 2]]
    assert isinstance(n.joints["k 1+k 2"].kind, ct.Universal)
    assert n.actuators["motor"].gear == 5.0
    (coupling,) = n.couplings.values()
    assert dict(coupling.coefficients) == {"l": 1.0, "j": -0.5} and coupling.offset == 0.25
    assert n.frames["tool"].body == "c" and n.gravity.tolist() == [0, 0, -5]
    np.testing.assert_allclose(data.site("tool").xpos, s.pose(q, "tool").p, atol=1e-12)


def test_what_a_format_cannot_say_is_told(tmp_path):
    m = everything()
    m.add_wrench("push", "c", force=(1, 0, 0))
    m.add_visual("c", Ellipsoid((0.1, 0.2, 0.3)))
    with pytest.warns(ct.CatenaWarning, match="MJCF gets no .*wrenches"):
        m.save(tmp_path / "m.xml")
    with pytest.warns(ct.CatenaWarning, match="URDF has no place for ellipsoids"):
        m.save(tmp_path / "m.urdf")


def test_mjcf_refuses_loops_that_mujoco_has_not(tmp_path):
    m = ct.Mechanism("slider")
    for name in "ab":
        m.add_body(name, mass=1.0, inertia=1.0)
    m.add_joint("p", "ground", "a", ct.Prismatic("x"))
    m.add_joint("q", "a", "b", ct.Prismatic("y"))
    m.add_joint("r", "b", "ground", ct.Cylindrical("x"))
    with pytest.raises(
        ct.FormatError, match="joint 'r' closes a loop and is Cylindrical, which MuJoCo has not"
    ):
        m.save(tmp_path / "m.xml")
    assert not (tmp_path / "m.xml").exists()


def test_a_side_file_of_another_mechanism_is_not_read_by_mistake(tmp_path):
    g.four_bar().save(tmp_path / "m.urdf")
    with pytest.raises(ct.FormatError, match=r"beside it lies 'm.loops.toml'"):
        m = ct.Mechanism("m")
        m.add_body("a")
        m.add_joint("j", "ground", "a", ct.Revolute())
        m.save(tmp_path / "m.urdf")


def test_convert_reads_one_format_and_writes_another(tmp_path):
    g.four_bar().save(tmp_path / "m.toml")
    m = ct.convert(tmp_path / "m.toml", tmp_path / "m.urdf")
    assert list(m.bodies) == list(g.four_bar().bodies)
    same_motion(m, ct.load(tmp_path / "m.urdf"))


def test_meshes_are_named_from_the_folder_of_the_file(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_text("solid\nendsolid\n")
    m = ct.Mechanism("m")
    m.add_body("a", mass=1.0, inertia=1.0, visuals=Mesh("x.stl", (1, 2, 3), tmp_path / "meshes" / "a.stl"))
    m.add_joint("j", "ground", "a", ct.Revolute())
    for ending in ("toml", "urdf"):
        m.save(tmp_path / f"m.{ending}")
        (mesh,) = ct.load(tmp_path / f"m.{ending}").bodies["a"].visuals
        assert mesh == Mesh("meshes/a.stl", (1, 2, 3)) and mesh.file == tmp_path / "meshes" / "a.stl"
    (tmp_path / "sub").mkdir()
    with pytest.warns(ct.CatenaWarning, match="outside of its folder"):
        m.save(tmp_path / "sub" / "m.toml")
    with pytest.raises(ct.FormatError, match="leads out of the folder"):
        ct.load(tmp_path / "sub" / "m.toml")
    (mesh,) = ct.load(tmp_path / "sub" / "m.toml", search=tmp_path).bodies["a"].visuals
    assert mesh.file == tmp_path / "meshes" / "a.stl"


def test_names_that_xml_cannot_hold_are_refused_and_others_survive(tmp_path):
    odd = "a <\"&'>\n\t\u00e9\U0001f600"
    m = ct.Mechanism(odd)
    m.add_body(odd, mass=1.0, inertia=1.0)
    m.add_joint(odd, "ground", odd, ct.Revolute())
    for name in ("m.urdf", "m.xml"):
        n = again(m, tmp_path / name)
        assert odd in n.bodies and odd in n.joints
    m.add_body("b\x01", mass=1.0)
    m.add_joint("k", "ground", "b\x01", ct.Revolute())
    with pytest.raises(ct.FormatError, match="holds a character that XML has not"):
        m.save(tmp_path / "n.urdf")
