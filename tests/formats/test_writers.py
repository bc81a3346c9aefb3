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
    if a.mechanics.constrained:
        q = a.assemble(guess=q)
        v = np.zeros(a.nv)
    given = {name: a.joint_position(q, name) for name in m.joints if m.joints[name].dof and name in n.joints}
    for name in m.joints:
        if f"{name} 1" in n.joints and m.joints[name].dof > 1:
            given |= {f"{name} {k + 1}": x for k, x in enumerate(a.joint_position(q, name))}
    p = b.assemble(given, slack=1e-6)
    w = np.zeros(b.nv)
    for name in a.joints if not a.mechanics.constrained else ():
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


def chain(*kinds, **options):
    """Bodies on joints j1, j2, ... in a row, a quarter metre apart and each turned against the one before."""
    m = ct.Mechanism("chain")
    last = "ground"
    for k, kind in enumerate(kinds):
        m.add_body(f"b{k + 1}", 1.0, (0.1, 0.02, -0.1), (0.1, 0.12, 0.15))
        place = ct.Pose(p=(0.25, 0.0, 0.1), rpy=(0.3, -0.2, 0.5))
        m.add_joint(f"j{k + 1}", last, f"b{k + 1}", kind, in_parent=place, **options)
        last = f"b{k + 1}"
    return m


@pytest.mark.parametrize("ending", ["urdf", "xml"])
@pytest.mark.parametrize(
    "kind", [ct.Revolute("y"), ct.Spherical(), ct.Universal("x", "y"), ct.Planar("z")], ids=str
)
def test_a_locked_joint_is_written_as_a_fixed_one_where_it_is_locked(kind, ending, tmp_path):
    m = chain(ct.Revolute("z"), kind, ct.Revolute("x"))
    m = m.lock("j2", kind.integrate(kind.neutral(), np.full(kind.nv, 0.4)))
    n = again(m, tmp_path / f"m.{ending}")
    assert [name for name, joint in n.joints.items() if joint.dof] == ["j1", "j3"]
    same_motion(m, n)


@pytest.mark.parametrize("ending", ["toml", "urdf", "xml"])
def test_couplings_of_locked_joints_hold_what_is_left_of_them(ending, tmp_path):
    m = chain(*[ct.Revolute("y")] * 5)
    m.add_coupling("three", {"j1": 2.0, "j2": 1.0, "j3": -1.0}, 0.3)
    m.add_polynomial_coupling("curve", "j4", "j2", (0.1, 0.5, 0.3))
    m.add_coupling("all locked", {"j2": 1.0}, 0.2)
    m = m.lock("j2", 0.2)
    n = again(m, tmp_path / f"m.{ending}")
    s, t = m.system(), n.system()
    q = s.assemble({"j1": 0.25, "j5": 0.4})
    p = t.assemble({"j1": 0.25, "j5": 0.4})
    assert s.joint_position(q, "j3") == pytest.approx(0.4) and s.joint_position(q, "j4") == pytest.approx(
        0.212
    )
    for name in ("b4", "b5"):
        assert s.pose(q, name).allclose(t.pose(p, name), 1e-9)


def test_a_curve_whose_follower_is_locked_is_told(tmp_path):
    m = chain(*[ct.Revolute("y")] * 2)
    m.add_polynomial_coupling("curve", "j1", "j2", (0.1, 0.5, 0.3))
    m = m.lock("j1", 0.1)
    for ending in ("urdf", "xml"):
        with pytest.warns(ct.CatenaWarning, match="couplings by curves to joints that are locked 'curve'"):
            m.save(tmp_path / f"m.{ending}")
        ct.load(tmp_path / f"m.{ending}")


def test_helical_joints_with_couplings_are_refused_in_words(tmp_path):
    m = chain(ct.Helical("y", 0.1), ct.Revolute("y"))
    m.add_coupling("gear", {"j1": 1.0, "j2": 1.0})
    with pytest.raises(ct.FormatError, match="joint 'j1' is Helical, which MuJoCo has not"):
        m.save(tmp_path / "m.xml")


THIN = {
    "rod": (1 / 12, 1 / 12, 0.0),
    "point": (0.0, 0.0, 0.0),
    "turned rod": None,
    "flat": (1e2 / 3, 2e2 / 3, 1e2),
}


@pytest.mark.parametrize("ending", ["toml", "urdf", "xml"])
@pytest.mark.parametrize("body", THIN)
def test_thin_bodies_are_loaded_again(body, ending, tmp_path):
    R = ct.Pose(rpy=(0.3, 0.5, 0.7)).R
    inertia = THIN[body] or R @ np.diag([1 / 12, 1 / 12, 0.0]) @ R.T
    m = ct.Mechanism("pendulum")
    for name, parent in (("upper", "ground"), ("lower", "upper")):
        m.add_body(name, 1e2 if body == "flat" else 1.0, (0, 0, -0.5), inertia)
        m.add_joint(
            f"to {name}", parent, name, ct.Revolute("y"), in_parent=ct.Pose(p=(0, 0, -1)), damping=0.1
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.save(tmp_path / f"m.{ending}")
        n = ct.load(tmp_path / f"m.{ending}")
    np.testing.assert_allclose(n.bodies["upper"].inertia, m.bodies["upper"].inertia, rtol=1e-12, atol=1e-16)
    same_motion(m, n)


def test_springs_with_dampers_are_summed_up_in_mjcf(tmp_path):
    m = chain(ct.Revolute("y"), ct.Universal("x", "y"), damping=0.5)
    m.add_spring("one", "j1", 4.0, 0.3, 2.0)
    m.add_spring("two", "j1", 2.0, -0.6, 1.0)
    m.add_spring("three", "j2", (1.0, 3.0), (0.2, 0.4), (0.1, 0.2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.save(tmp_path / "m.xml")
    n = ct.load(tmp_path / "m.xml")
    assert n.joints["j1"].damping == 3.5 and n.springs["j1 spring"].stiffness == 6.0
    assert n.springs["j1 spring"].rest == pytest.approx(0.0)
    assert n.joints["j2 1+j2 2"].damping.tolist() == [0.6, 0.7]
    assert n.springs["j2 1+j2 2 spring"].rest.tolist() == [0.2, 0.4]


TOLD = {
    "damping by axis of spherical and free joints 'j1'": lambda m: m.with_joint(
        "j1", damping=(0.0, 0.3, 0.9)
    ),
    "friction by axis of spherical and free joints 'j1'": lambda m: m.with_joint(
        "j1", friction=(0.0, 0.3, 0.9)
    ),
    "springs by axis of spherical joints, and springs of free joints 'j1'": lambda m: m.add_spring(
        "s", "j1", (1.0, 2.0, 3.0)
    ),
    "springs and forces at joints 'stop'": lambda m: m.add_force(
        "stop", ct.forces.JointStop((-0.2,), (0.1,), (30.0,), (2.0,)), joint="j2"
    ),
    "no-load speeds of the actuators 'motor'": lambda m: m.add_actuator(
        "motor", "j2", limits=3.0, no_load_speed=9.0
    ),
    "elastic stops of the joints 'j2'": lambda m: m.with_joint("j2", limits=(-1.0, 1.0), limit_stiffness=9.0),
}


@pytest.mark.parametrize("what", TOLD)
def test_mjcf_says_by_name_what_it_loses(what, tmp_path):
    m = chain(ct.Spherical(), ct.Revolute("y"))
    changed = TOLD[what](m)
    with pytest.warns(ct.CatenaWarning, match="MJCF gets no") as caught:
        (changed if isinstance(changed, ct.Mechanism) else m).save(tmp_path / "m.xml")
    assert what in str(caught[0].message)


@pytest.mark.parametrize("what", ["damping", "friction", "armature"])
def test_joints_of_which_there_is_something_to_say_are_kept_in_the_tree_of_mjcf(what, tmp_path):
    m = g.four_bar()
    name = m.system().loops[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.with_joint(name, **{what: 0.7}).save(tmp_path / "m.xml")
    assert float(getattr(ct.load(tmp_path / "m.xml").joints[name], what)[0]) == 0.7
    for name in m.joints:
        m = m.with_joint(name, **{what: 0.7})
    with pytest.warns(ct.CatenaWarning, match="damping, friction and armature of joints that close loops '"):
        m.save(tmp_path / "m.xml")


def test_urdf_keeps_one_sided_limits_motors_in_loops_and_second_couplings(tmp_path):
    m = chain(*[ct.Revolute("y")] * 3)
    m = m.with_joint("j1", limits=(-np.inf, 1.0)).with_joint("j2", limits=(-0.5, np.inf))
    m.add_coupling("j3 mimics j2", {"j3": 1.0, "j2": -0.5})
    m.add_coupling("another", {"j3": 1.0, "j1": 0.3})
    n = again(m, tmp_path / "m.urdf")
    assert n.joints["j1"].limits.tolist() == [[-np.inf, 1.0]] and n.joints["j2"].limits.tolist() == [
        [-0.5, np.inf]
    ]
    assert list(n.couplings) == ["j3 mimics j2", "another"]
    m = g.four_bar()
    for name in m.joints:
        m.add_actuator(name, name, limits=5.0)
    n = again(m, tmp_path / "loop.urdf")
    assert {name: a.limits.tolist() for name, a in n.actuators.items()} == {
        name: [[-5.0, 5.0]] for name in m.joints
    }


def test_a_side_file_belongs_to_urdf_and_to_nothing_else_of_that_name(tmp_path):
    m = g.four_bar()
    m.save(tmp_path / "m.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m.save(tmp_path / "m.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n = ct.load(tmp_path / "m.xml")
    assert len(n.joints) == len(m.joints) + 1, "MJCF closes a revolute loop by two points"
    assert set(ct.load(tmp_path / "m.urdf").joints) >= set(m.joints)
    asked = ct.load(tmp_path / "m.xml", loops=tmp_path / "m.loops.toml")
    assert len(asked.joints) == len(n.joints) + 1, "a side file that is named is read with any format"
