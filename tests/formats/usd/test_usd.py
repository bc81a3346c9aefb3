"""USD physics: bodies, masses and joints against the same mechanism by its builder, and files that are traps."""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.shapes import Box, Cylinder
from tests.formats.usd.usd_texts import HEAD, PARTS

pytest.importorskip("pxr")


def load(tmp_path, text, unit="1", kilo="1", **options):
    text = HEAD.replace("UNIT", unit).replace("KILO", kilo) + text if not text.startswith("#usda") else text
    (tmp_path / "m.usda").write_text(text)
    return ct.load(tmp_path / "m.usda", **options)


def built(length=1.0, mass=1.0):
    """The same by hand, in other units of length and mass."""
    m = ct.Mechanism("bars", (0, 0, -9.81))
    R = ct.Pose(quat=(0.8, 0.6, 0, 0)).R
    inertia = mass * length**2 * R @ np.diag([0.02, 0.03, 0.01]) @ R.T
    m.add_body("crank", mass=mass, com=length * np.array([0.0, 0.1, 0.25]), inertia=inertia)
    block = Box(length * np.array([0.1, 0.2, 0.5]), pose=ct.Pose(p=(0, 0, 0.25 * length)))
    rod = Cylinder(0.05 * length, length, pose=ct.Pose(p=(0.5 * length, 0, 0), rpy=(0, np.pi / 2, 0)))
    m.add_body("rocker", density=2.0 * mass / (0.1 * 0.2 * 0.5 * length**3), visuals=block)
    m.add_body("coupler", density=500.0 * mass / length**3, visuals=rod)
    m.add_joint("A", "ground", "crank", ct.Revolute("y"))
    m.add_joint("B", "crank", "coupler", ct.Revolute("y"), ct.Pose(p=(0, 0, 0.5 * length)))
    m.add_joint(
        "C", "coupler", "rocker", ct.Revolute("y"), ct.Pose(p=(length, 0, 0)), ct.Pose(p=(0, 0, 0.5 * length))
    )
    m.add_joint("D", "ground", "rocker", ct.Revolute("y"), ct.Pose(p=(length, 0, 0)))
    return m


@pytest.mark.parametrize(("unit", "kilo"), [("1", "1"), ("0.01", "0.001")])
def test_a_loop_with_a_drive_moves_as_the_one_that_is_built(unit, kilo, tmp_path):
    m, n = load(tmp_path, PARTS, unit, kilo), built(float(unit), float(kilo))
    length, mass = float(unit), float(kilo)
    assert list(m.bodies) == list(n.bodies) and list(m.joints) == list(n.joints)
    for name in n.bodies:
        assert m.bodies[name].mass == pytest.approx(n.bodies[name].mass, rel=1e-6)
        np.testing.assert_allclose(
            m.bodies[name].inertia, n.bodies[name].inertia, rtol=1e-5, atol=1e-9 * mass * length**2
        )
    np.testing.assert_allclose(m.joints["A"].limits, [[-np.pi / 2, np.pi / 2]])
    np.testing.assert_allclose(m.actuators["A"].limits, [[-40 * mass * length**2, 40 * mass * length**2]])
    s, t = m.system(), n.system()
    assert len(s.loops) == 1 and s.diagnose(s.neutral()).mobility == 1
    q, p = s.assemble({"A": 0.3}), t.assemble({"A": 0.3})
    v, w = s.velocity(q, {"A": 0.7}), t.velocity(p, {"A": 0.7})
    stiffness, damping = 0.5 * 180 / np.pi * mass * length**2, 0.1 * 180 / np.pi * mass * length**2
    tau = stiffness * (np.deg2rad(20.0) - 0.3) - damping * 0.7
    np.testing.assert_allclose(
        s.acceleration(q, v, s.forward_dynamics(q, v), "rocker"),
        t.acceleration(p, w, t.forward_dynamics(p, w, {"A": tau}), "rocker"),
        rtol=1e-5, atol=1e-4,
    )  # fmt: skip
    assert m.bodies["rocker"].collisions[0].colour == (1, 0, 0, 1)
    m.save(tmp_path / "again.toml")
    assert ct.load(tmp_path / "again.toml").bodies["coupler"].mass == m.bodies["coupler"].mass


BODY = 'def Xform "NAME" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) { float physics:mass = 1\n' \
    'float3 physics:diagonalInertia = (1, 1, 1)\nMORE\n}\n'  # fmt: skip


def body(name, more=""):
    return BODY.replace("NAME", name).replace("MORE", more)


def test_what_hangs_on_nothing_floats_where_it_is_and_kinematic_bodies_stand(tmp_path):
    place = (
        'double3 xformOp:translate = (1, 2, 3)\nquatd xformOp:orient = (0.6, 0, 0, 0.8)\n'
        'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]'
    )  # fmt: skip
    text = body("a", place) + body("b", place + "\nbool physics:kinematicEnabled = 1")
    text += 'def PhysicsScene "scene" { vector3f physics:gravityDirection = (0, 1, 0)\n'
    text += "float physics:gravityMagnitude = 3\n}"
    m = load(tmp_path, text)
    s = m.system()
    assert m.gravity.tolist() == [0, 3, 0] and type(m.joints["a root"].kind) is ct.Free
    q = s.assemble(m.initial.q)
    for name in "ab":
        assert s.pose(q, name).allclose(ct.Pose(p=(1, 2, 3), quat=(0.6, 0, 0, 0.8)), 1e-12)


KINDS = {
    "PhysicsSphericalJoint": ct.Spherical,
    "PhysicsFixedJoint": ct.Fixed,
    "PhysicsPrismaticJoint": ct.Prismatic,
    "PhysicsJoint": ct.Free,
}


@pytest.mark.parametrize("word", KINDS)
def test_kinds_of_joints_and_positions_at_the_start(word, tmp_path):
    more = 'double3 xformOp:translate = (0.3, 0, 0)\nuniform token[] xformOpOrder = ["xformOp:translate"]'
    text = body("a", more if word in ("PhysicsPrismaticJoint", "PhysicsJoint") else "")
    m = load(tmp_path, text + f'def {word} "J" {{ rel physics:body1 = </a>\n}}')
    assert type(m.joints["J"].kind) is KINDS[word]
    if word == "PhysicsPrismaticJoint":
        assert m.initial.q["J"] == pytest.approx(0.3)


def limited(*freedoms):
    schemas = ", ".join(f'"PhysicsLimitAPI:{one}"' for one in freedoms)
    rows = "".join(
        f"float limit:{one}:physics:low = 1\nfloat limit:{one}:physics:high = -1\n" for one in freedoms
    )
    return (
        body("a")
        + f'def PhysicsJoint "J" (prepend apiSchemas = [{schemas}]) {{ rel physics:body1 = </a>\n{rows}}}'
    )


def test_limits_the_wrong_way_round_take_freedoms_away(tmp_path):
    m = load(tmp_path, limited("transX", "transY", "transZ", "rotX", "rotY"))
    assert m.joints["J"].kind == ct.Revolute("z")
    assert load(tmp_path, limited("transX", "transY", "transZ")).joints["J"].kind == ct.Spherical()


TRAPS = {
    "is no joint here": body("a") + 'def PhysicsDistanceJoint "J" { rel physics:body1 = </a>\n}',
    "leave rotX, rotY, rotZ, transZ|leave transZ, rotX": limited("transX", "transY"),
    "no rigid body": 'def Xform "a" {}',
    "composed of other files.*passwd": 'def "a" (references = @/etc/passwd.usda@) {}',
    "composed of other files.*other": 'def "a" (payload = @./other.usda@</a>) {}',
    "composed of other files.*clips": 'def "a" (clips = {dictionary d = {asset[] assetPaths = [@./c.usda@]}}) {}',
    "nested deeper": 'def "a" {' * 200 + "}" * 200,
    r"m.usda:\d+: this is not USD": "def nonsense",
    "there is no prim": body("a") + 'def PhysicsFixedJoint "J" { rel physics:body1 = </b>\n}',
    "a shear or a mirror": body(
        "a", "float3 xformOp:scale = (1, 1, -1)\nuniform token[] xformOpOrder = [\"xformOp:scale\"]"
    ),
    "no USD text": "#usdz",
}  # fmt: skip


@pytest.mark.parametrize("message", TRAPS)
def test_traps_end_in_words(message, tmp_path):
    text = TRAPS[message]
    with pytest.raises(ct.FormatError, match=message) as caught:
        if text.startswith("#usdz"):
            (tmp_path / "m.usda").write_text(text)
            ct.load(tmp_path / "m.usda")
        load(tmp_path, text)
    assert "m.usda" in str(caught.value)
