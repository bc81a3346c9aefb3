"""What the native file can say besides bodies and joints one by one: units, parameters, repetition, chains, includes,
density, couplings."""

import json

import casadi
import numpy as np
import pytest

import catena as ct
from catena import generators as g
from catena.formats.meshes import read_mesh
from catena.formats.source import Source
from catena.formats.toml import read, write
from catena.mechanism.merging import include
from catena.mechanism.shapes import Box, Mesh

HEAD = '[mechanism]\nname = "m"\n'


def made(text):
    return read(HEAD + text, Source("m.toml"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30 deg", np.pi / 6), ("-90deg", -np.pi / 2), ("2 * reach", 6.0), ("5 mm", 0.005), ("(1 / 4) m", 0.25),
        ("2 ** 3 ** 2", 512.0), ("-2 ** 2", -4.0), ("(1 + 2) * 3", 9.0), ("sin(30 deg)", 0.5), ("pi", np.pi),
        ("1e-3 + .5", 0.501), ("3 - -2", 5.0), ("sqrt(16) kg", 4.0), ("120 g", 0.12), ("abs(-reach)", 3.0),
    ],
)  # fmt: skip
def test_text_stands_for_a_number(text, value):
    m = made(f"[parameters]\nreach = 3\nfound = '{text}'\n[[body]]\nname = 'a'\ncom = ['found', 0, 0]\n")
    assert m.bodies["a"].com[0] == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    "text", ["", "x", "1 +", "1 2", "(1", "1)", "1/0", "sqrt(-1)", "2**9999", "nan", "inf", "__import__('os')", "a.b",
             "1e999", "(" * 100 + "1" + ")" * 100, "1" * 500, "lambda: 0", "sin", "deg", "10 ** 99 ** 9",
             "-1 ** 0.5 ** 9)"]
)  # fmt: skip
def test_other_text_is_no_number(text):
    with pytest.raises(ct.FormatError, match=r"m.toml:5:\d+: body 'a': mass is "):
        made(f"[[body]]\nname = 'a'\nmass = {json.dumps(text)}\n")


LEG = """
[[repeat]]
count = 6
let = { x = [0.3, 0.0, -0.3, 0.3, 0.0, -0.3] }
[[repeat.body]]
name = "thigh {k}"
mass = "0.5 + {k} / 10"
inertia = 0.1
[[repeat.joint]]
name = "hip {k}"
kind = "revolute"
parent = "ground"
child = "thigh {k}"
in_parent = { p = ["{x}", 0.0, 0.0], rpy = [0, 0, "{k} * 60 deg"] }
"""


def test_six_legs_are_written_once():
    m = made(LEG)
    assert list(m.joints) == [f"hip {k}" for k in range(6)]
    for k, x in enumerate([0.3, 0.0, -0.3, 0.3, 0.0, -0.3]):
        pose = m.joints[f"hip {k}"].in_parent
        assert pose.allclose(ct.Pose(p=(x, 0, 0), rpy=(0, 0, k * np.pi / 3)), 1e-14)
        assert m.bodies[f"thigh {k}"].mass == pytest.approx(0.5 + k / 10)


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("count = 6", "count = 6000", "give a whole number up to 1000", 5),
        ("count = 6", "count = 6\nvalues = [1]", "give either count = 6 or values", 4),
        ("count = 6", "values = [1, 2]", "give an array of 2 entries", 6),
        ('"thigh {k}"\nmass', '"thigh {n}"\nmass', "{n} is not known", 8),
        ('"{x}", 0.0, 0.0', '"{x} +", 0.0, 0.0', "p is '0.3 +'", 16),
        ('child = "thigh {k}"', 'child = "shin {k}"', "joint 'hip 0': no body is named 'shin 0'", 15),
        ('kind = "revolute"', 'kind = "revolut"', "did you mean 'revolute'", 13),
    ],
)  # fmt: skip
def test_faults_in_repeated_tables_are_told_with_their_line(old, new, message, line):
    with pytest.raises(ct.FormatError) as caught:
        made(LEG.replace(old, new, 1))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"m.toml:{line}: ")


def test_chains_are_those_of_the_notations(same):
    rows = [(0.0, 0.0, 0.4, 0.0), (0.1, -np.pi / 2, 0.0, 0.3, "prismatic")]
    text = '[[chain]]\nnotation = "denavit_hartenberg"\n'
    text += 'rows = [[0, 0, 0.4, 0], [0.1, "-90 deg", 0, 0.3, "prismatic"]]\n'
    text += "masses = [1, 2]\ncoms = [[0, 0, 0.1], [0, 0, 0.2]]\ninertias = [0.1, 0.2]\n"
    other = ct.notations.from_denavit_hartenberg(
        rows, [1, 2], [(0, 0, 0.1), (0, 0, 0.2)], [0.1, 0.2], name="m"
    )
    same(made(text), other)
    gammas, phis = [[0.3, 0, 0, 0.5, 0, 0], [0, 0, 0.2, 0.4, 0, 0]], [["rx"], ["rz", "dx"]]
    m = made(f'[[chain]]\nnotation = "sdof"\ngammas = {gammas}\nphis = [["rx"], ["rz", "dx"]]\n')
    other = ct.notations.from_sdof(gammas, phis, name="m")
    other.set_initial(q=ct.notations.sdof_coordinates(gammas, phis))
    same(m, other)
    for wrong, message in (
        ('notation = "dh"', "no notation is named 'dh'"),
        ('notation = "sdof"', "the key 'gammas' is missing"),
        ('notation = "denavit_hartenberg"\nrows = [[1, 2]]', "give a, alpha, d, theta"),
        ('notation = "denavit_hartenberg"\nrows = []', "it has no rows"),
        ('notation = "denavit_hartenberg"\nrows = [[0, 0, 0, 0]]\nmasses = 3', "give an array"),
        ('notation = "sdof"\ngammas = [[0, 0, 0, 0, 0, 0]]\nphis = ["rx"]', "give the names of motions"),
    ):
        with pytest.raises(ct.FormatError, match=message):
            made(f"[[chain]]\n{wrong}\n")


def test_an_included_mechanism_hangs_where_it_is_put(same):
    whole = ct.Mechanism("whole")
    whole.add_body("trunk", mass=3.0, inertia=1.0)
    whole.add_joint("base", "ground", "trunk", ct.Revolute("z"))
    bars = g.four_bar()
    bars.add_frame("mark", "ground", ct.Pose(p=(0, 0, 1)))
    body = list(bars.bodies)[1]
    bars.add_spring_between("spring", "ground", body, stiffness=1.0, rest_length=0.1)
    bars.add_wrench("push", body, force=(1, 0, 0))
    bars.set_initial(q={next(iter(bars.joints)): 0.1})
    place = ct.Pose(p=(1, 2, 3), rpy=(0.1, 0.2, 0.3))
    include(whole, bars, "left ", "trunk", place)
    include(whole, bars, "right ", "trunk", place)
    s, alone = whole.system(), bars.system()
    assert len(s.loops) == 2 * len(alone.loops)
    q = s.assemble({"base": 0.4})
    assert np.abs(s.closure(q)[0]).max() < 1e-9
    p = alone.assemble(
        {name.removeprefix("left "): s.joint_position(q, name) for name in s.joints if "left" in name}
    )
    for name in (body, "mark"):
        assert s.pose(q, f"left {name}").allclose(s.pose(q, "trunk") * place * alone.pose(p, name), 1e-9)
    assert (
        set(whole.springs) == {"left spring", "right spring"}
        and whole.wrenches["left push"].axes in whole.frames
    )
    assert len(whole.initial.q) == 2
    with pytest.raises(ct.ModelError, match="taken"):
        include(whole, bars, "left ", "trunk")
    twin = ct.Mechanism(bars.name, bars.gravity)
    include(twin, bars)
    same(twin, bars)


CUBE = "\n".join(f"v {x} {y} {z}" for x in (0, 2) for y in (0, 1) for z in (0, 1)) + (
    "\nf 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
)


def test_density_fills_shapes_and_meshes(tmp_path):
    (tmp_path / "cube.obj").write_text(CUBE)
    text = HEAD + '[[body]]\nname = "b"\ndensity = 1000\nvisual = [VISUAL]\n'
    pose = "pose = { p = [1, 2, 3], rpy = [0, 0, 0.5] }"
    found = {}
    for word, visual in (
        ("mesh", f'{{ shape = "mesh", path = "cube.obj", scale = [0.5, 1, 2], {pose} }}'),
        ("box", '{ shape = "box", size = [1, 1, 2], pose = { p = [P], rpy = [0, 0, 0.5] } }'),
    ):
        centre = ct.Pose(p=(1, 2, 3), rpy=(0, 0, 0.5)) * (0.5, 0.5, 1.0)
        visual = visual.replace("P]", ", ".join(map(repr, centre.tolist())) + "]")
        (tmp_path / "m.toml").write_text(text.replace("VISUAL", visual))
        with pytest.warns(ct.CatenaWarning, match="no joint connects it"):
            found[word] = ct.load(tmp_path / "m.toml").bodies["b"]
    placed = ct.Pose(p=(1, 2, 3), rpy=(0, 0, 0.5))
    mesh = Mesh("cube.obj", scale=(0.5, 1.0, 2.0), pose=placed, file=tmp_path / "cube.obj")
    in_python = ct.Mechanism("m").add_body("b", density=1000.0, visuals=mesh)
    np.testing.assert_allclose(in_python.inertia, found["mesh"].inertia, rtol=1e-14)
    assert found["mesh"].mass == in_python.mass == pytest.approx(2000.0)
    np.testing.assert_allclose(found["mesh"].com, found["box"].com, atol=1e-14)
    np.testing.assert_allclose(found["mesh"].inertia, found["box"].inertia, atol=1e-10)


def test_meshes_are_read_from_text_and_binary_stl(tmp_path):
    (tmp_path / "cube.obj").write_text(CUBE)
    cube = read_mesh(tmp_path / "cube.obj").joined()
    corners = cube.vertices[cube.triangles]
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in three)
        + "endloop\nendfacet\n"
        for three in corners
    )
    (tmp_path / "text.stl").write_text(f"solid cube\n{facets}endsolid\n")
    record = np.zeros(len(corners), np.dtype([("n", "<f4", 3), ("c", "<f4", (3, 3)), ("r", "<u2")]))
    record["c"] = corners
    (tmp_path / "binary.stl").write_bytes(bytes(80) + len(corners).to_bytes(4, "little") + record.tobytes())
    whole = Box((2, 1, 1), pose=ct.Pose(p=(1, 0.5, 0.5))).mass_properties(3.0)
    for name in ("text.stl", "binary.stl", "cube.obj"):
        found = Mesh(name, file=tmp_path / name).mass_properties(3.0)
        assert found.mass == pytest.approx(whole.mass) and np.allclose(found.inertia, whole.inertia)
    for name, content in (("a.stl", b"solid"), ("b.stl", b"\0" * 100), ("c.obj", b"f 1 2 3"), ("d.dae", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ct.FormatError, match=name):
            read_mesh(tmp_path / name)


def test_shapes_couplings_and_what_joints_keep_survive_to_the_last_digit(same, tmp_path):
    m = g.four_bar()
    body = list(m.bodies)[1]
    a, b, c = list(m.joints)[:3]
    m.add_visual(
        body, Box((0.1, 0.2, 1 / 3), pose=ct.Pose(rpy=(0.1, 0.2, 0.3)), colour=(0.1, 0.2, 0.3, 0.4), name="x")
    )
    m.add_collision("ground", Mesh("package://a/b.stl", (1, 2, 3)))
    m.add_coupling("gear", {a: 1.0, b: -1 / 3}, 0.1)
    m.add_polynomial_coupling("cam", c, a, (0.0, 1.0, 1 / 7))
    m.add_body("extra", mass=1.0, inertia=1.0)
    m.add_joint("e", body, "extra", ct.Universal(), armature=(0.1, 0.2), velocity_limit=(1.0, np.inf))
    again = read(write(m, ""), Source("m.toml"))
    same(again, m)
    assert again.bodies[body].visuals == m.bodies[body].visuals
    assert again.bodies["ground"].collisions == m.bodies["ground"].collisions
    assert (
        dict(again.couplings["gear"].coefficients) == {a: 1.0, b: -1 / 3}
        and again.couplings["gear"].offset == 0.1
    )
    assert again.couplings["cam"].polynomial == (0.0, 1.0, 1 / 7)
    assert again.joints["e"].armature.tolist() == [0.1, 0.2]
    assert again.joints["e"].velocity_limit.tolist() == [1.0, np.inf]
    assert not m.detach(a).couplings.get("gear") and set(m.copy().couplings) == {"gear", "cam"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.add_coupling("x", {}), "give a mapping"),
        (lambda m: m.add_coupling("x", {"nobody": 1.0}), "no joint is named 'nobody'"),
        (lambda m: m.add_coupling("x", {"A": 0.0}), "not zero"),
        (lambda m: m.add_coupling("x", {"A": 1.0}, np.inf), "offset"),
        (lambda m: m.add_coupling("gear", {"A": 1.0}), "taken"),
        (lambda m: m.add_polynomial_coupling("x", "A", "A", (1.0,)), "to itself"),
        (lambda m: m.add_polynomial_coupling("x", "A", "B", ()), "polynomial"),
        (lambda m: m.add_polynomial_coupling("x", "A", "B", 3), "polynomial"),
        (lambda m: m.add_coupling("x", {"ball": 1.0}), "couple joints that have one"),
    ],
)
def test_couplings_that_say_nothing_are_refused(call, message):
    m = ct.Mechanism("m")
    for name, kind in (("A", ct.Revolute()), ("B", ct.Prismatic()), ("ball", ct.Spherical())):
        m.add_body(name)
        m.add_joint(name, "ground", name, kind)
    m.add_coupling("gear", {"A": 1.0, "B": 2.0})
    with pytest.raises(ct.CatenaError, match=message):
        call(m)


def test_cams_and_speeds_of_motors_survive_and_a_cam_of_code_is_refused(tmp_path):
    m = g.chain(3)
    a, b, c = list(m.joints)[:3]
    x = np.linspace(0.0, 2.0 * np.pi, 7)
    m.add_cam("cam", b, a, ct.profiles.Spline(x, 1.0 - np.cos(x), "periodic"))
    m.add_cam("bend", c, a, ct.profiles.Polynomial((0.1, 1 / 3)))
    m.add_actuator("motor", a, gear=50.0, limits=2.0, no_load_speed=300.0)
    m.save(tmp_path / "m.toml")
    again = ct.load(tmp_path / "m.toml")
    assert again.couplings["cam"].profile == m.couplings["cam"].profile
    assert again.couplings["bend"].polynomial == (0.1, 1 / 3)
    assert again.actuators["motor"].no_load_speed == 300.0
    m.add_cam("code", c, b, lambda x: x * x)
    with pytest.raises(ct.FormatError, match="'code': its profile is code"):
        m.save(tmp_path / "m.toml")


CAM = """
[parameters]
lift = "20 mm"
[[body]]
name = "shaft"
mass = 1.0
inertia = 0.1
[[body]]
name = "valve"
mass = 0.3
[[joint]]
name = "turn"
kind = "revolute"
axis = "y"
parent = "ground"
child = "shaft"
[[joint]]
name = "rise"
kind = "prismatic"
axis = "z"
parent = "ground"
child = "valve"
[[coupling]]
name = "cam"
joint = "rise"
of = "turn"
formula = "lift * (1 - cos(x)) / 2 + if(sin(x) > 0, lift * sin(x)^4, 0)"   # smooth enough
"""


def test_a_cam_by_a_formula_is_the_cam_by_a_function(tmp_path):
    (tmp_path / "cam.toml").write_text(HEAD + CAM)
    m = ct.load(tmp_path / "cam.toml", parameters={"lift": -0.05})
    by_function = m.without_coupling("cam")

    def profile(x):
        return -0.05 * (1 - casadi.cos(x)) / 2 + casadi.if_else(
            casadi.sin(x) > 0, -0.05 * casadi.sin(x) ** 4, 0
        )

    by_function.add_cam("cam", "rise", "turn", profile)
    m.save(tmp_path / "saved.toml")
    assert (tmp_path / "saved.toml").read_text() == HEAD + CAM.replace('"20 mm"', "-0.05")
    written = read(write(m, ""), Source(""))
    assert written.couplings["cam"].profile == m.couplings["cam"].profile and "lift" not in write(m, "")
    results = []
    for one in (m, by_function, written):
        s = one.system()
        q = s.assemble({"turn": 1.2})
        v = s.velocity(q, {"turn": 3.0})
        results.append(np.concatenate([q, v, s.forward_dynamics(q, v, {"turn": 0.4})]))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12)
    np.testing.assert_array_equal(results[0], results[2])
    for wrong, message in (
        ('"lift * y"', "m.toml:29:19: coupling 'cam': formula is .*nothing is called 'y' here"),
        ('"1 / x"', "has no finite value"),
        ('"x" \npolynomial = [1]', "it has a polynomial and formula"),
    ):
        with pytest.raises(ct.FormatError, match=message):
            made(CAM.replace(CAM[CAM.index('"lift *') : CAM.index("   # smooth")], wrong))
