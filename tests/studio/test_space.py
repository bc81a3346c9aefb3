"""Building in space by features that are pointed at, against mechanisms made by the library's own calls."""

import numpy as np
import pytest

import catena as ct
from catena.errors import StateError
from catena.studio import EditingSession
from catena.studio.session import BLANK

UP = {"body": "ground", "p": [0, 0, 0], "z": [0, 0, 1]}


@pytest.fixture
def session(tmp_path):
    return EditingSession(BLANK.format(name="space"), "space.toml", tmp_path)


def act(session, what, **arguments):
    session.act(what, arguments, session.revision)
    return session.state()


def scenario_of(session):
    return session.reading.scenario


def test_a_shape_with_a_density_is_the_body_that_the_library_fills(session):
    act(session, "add solid", shape="box", at=UP, name="arm", kind="revolute", along="x", length="0.5 m", width=0.04,
        height="20 mm", density="2700 kg/m^3")  # fmt: skip
    body = scenario_of(session).mechanism.bodies["arm"]
    m = 0.5 * 0.04 * 0.02 * 2700.0
    assert body.mass == pytest.approx(m, rel=1e-12)
    np.testing.assert_allclose(body.com, [0.25, 0, 0], atol=1e-12)
    expected = m / 12.0 * np.diag([0.04**2 + 0.02**2, 0.5**2 + 0.02**2, 0.5**2 + 0.04**2])
    np.testing.assert_allclose(body.inertia, expected, rtol=1e-12)
    act(session, "add solid", shape="cylinder", at={"body": "arm", "p": [0.5, 0, 0], "z": [0, 1, 0]}, name="rod",
        along="z", length=0.4, width="6 cm", density=1000.0)  # fmt: skip
    rod = scenario_of(session).mechanism.bodies["rod"]
    assert rod.mass == pytest.approx(np.pi * 0.03**2 * 0.4 * 1000.0, rel=1e-12)
    np.testing.assert_allclose(rod.com, [0, 0, 0.2], atol=1e-12)
    # The axis of its joint is the direction that was pointed at.
    joint = scenario_of(session).mechanism.joints["joint2"]
    np.testing.assert_allclose(joint.in_parent.R[:, 2], [0, 1, 0], atol=1e-12)
    act(session, "add solid", shape="sphere", at={"body": "rod", "p": [0, 0, 0.4], "z": [0, 0, 1]}, kind="spherical",
        length=0.1, centred=True, density=500.0)  # fmt: skip
    ball = scenario_of(session).mechanism.bodies["sphere1"]
    assert ball.mass == pytest.approx(4.0 / 3.0 * np.pi * 0.05**3 * 500.0, rel=1e-12)
    assert scenario_of(session).system.nv == 5


@pytest.mark.parametrize("kind", ["fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "spherical",
                                  "planar", "free"])  # fmt: skip
def test_joints_of_every_kind_are_placed_by_a_feature(session, kind):
    direction = np.array([0.6, 0.0, 0.8])
    act(session, "add solid", shape="box", at={"body": "ground", "p": [0.1, 0.2, 0.3], "z": list(direction)}, kind=kind,
        pitch="5 mm")  # fmt: skip
    joint = scenario_of(session).mechanism.joints["joint1"]
    assert type(joint.kind).__name__.lower() == kind
    pose = scenario_of(session).system.body_poses(scenario_of(session).system.neutral())["box1"]
    np.testing.assert_allclose(pose[:3, 3], [0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(pose[:3, 2], direction, atol=1e-12)


def test_two_bodies_are_joined_where_they_are_pointed_at_and_the_loop_closes(session):
    """A spatial RSSR linkage; its mobility is that of the same one written down in Python."""
    act(session, "add solid", shape="cylinder", at=UP, name="crank", along="x", length=0.3, width=0.04)
    act(session, "add solid", shape="cylinder", at={"body": "ground", "p": [1.0, 0, 0.4], "z": [1, 0, 0]},
        name="rocker", along="y", length=0.5, width=0.04)  # fmt: skip
    act(session, "add solid", shape="cylinder", at={"body": "crank", "p": [0.3, 0, 0], "z": [0, 0, 1]}, name="coupler",
        kind="spherical", along="x", length=0.95, width=0.03)  # fmt: skip
    system, q = scenario_of(session).system, session.reading.q
    poses = system.body_poses(q)
    turned = poses["rocker"][:3, :3].T @ poses["coupler"][:3, :3]
    act(session, "join features", one={"body": "rocker", "p": [0, 0.5, 0], "z": [0, 0, 1]},
        two={"body": "coupler", "p": [0.95, 0, 0], "z": [1, 0, 0]}, kind="spherical",
        turned=turned.ravel().tolist())  # fmt: skip
    system, q = scenario_of(session).system, session.reading.q
    assert "2 independent ways" in session.state()["words"]
    poses = system.body_poses(q)
    a = poses["rocker"] @ [0, 0.5, 0, 1]
    b = poses["coupler"] @ [0.95, 0, 0, 1]
    np.testing.assert_allclose(a[:3], b[:3], atol=1e-9)

    m = ct.Mechanism("rssr", gravity=(0, 0, 0))
    for name in ("crank", "rocker", "coupler"):
        m.add_body(name, mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "crank", ct.Revolute("z"))
    m.add_joint("D", "ground", "rocker", ct.Revolute("x"), in_parent=ct.Pose(p=(1, 0, 0.4)))
    m.add_joint("B", "crank", "coupler", ct.Spherical(), in_parent=ct.Pose(p=(0.3, 0, 0)))
    m.add_joint(
        "C",
        "rocker",
        "coupler",
        ct.Spherical(),
        in_parent=ct.Pose(p=(0, 0.5, 0)),
        in_child=ct.Pose(p=(0.95, 0, 0)),
    )
    other = m.system()
    assert other.diagnose(other.assemble()).mobility == system.diagnose(q).mobility == 2


def test_axes_that_are_joined_come_together(session):
    act(session, "add solid", shape="box", at=UP, name="a")
    act(
        session,
        "add solid",
        shape="box",
        at={"body": "a", "p": [0.5, 0, 0], "z": [0, 0, 1]},
        name="b",
        kind="spherical",
    )
    act(session, "join features", one={"body": "ground", "p": [0.6, 0.4, 0], "z": [0, 0, 1]},
        two={"body": "b", "p": [0.5, 0, 0], "z": [0, 0.6, 0.8]}, kind="revolute")  # fmt: skip
    system, q = scenario_of(session).system, session.reading.q
    pose = system.body_poses(q)["b"]
    np.testing.assert_allclose(pose[:3, :3] @ [0, 0.6, 0.8], [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose((pose @ [0.5, 0, 0, 1])[:3], [0.6, 0.4, 0], atol=1e-9)


def test_gears_belts_pushes_contacts_and_controllers_are_those_of_the_library(session):
    for k, x in enumerate((0.0, 1.0, 2.0), 1):
        act(
            session,
            "add solid",
            shape="box",
            at={"body": "ground", "p": [x, 0, 1], "z": [0, 0, 1]},
            name=f"wheel{k}",
        )
    act(session, "add gear", one="joint1", two="joint2", first=20, second=40)
    act(session, "add gear", one="joint2", two="joint3", first="10 cm", second="0.3 m", sort="belt")
    system = scenario_of(session).system
    v = system.velocity(session.reading.q, {"joint1": 6.0})
    assert v[system.slice_v("joint2")] == pytest.approx(-3.0) and v[
        system.slice_v("joint3")
    ] == pytest.approx(-1.0)
    act(session, "add push", at={"body": "wheel1", "p": [0.5, 0, 0], "z": [0, 0, 1]}, force=[0, "10 N", 0])
    s = scenario_of(session)
    vdot = s.system.forward_dynamics(session.reading.q, np.zeros(s.system.nv), np.zeros(s.system.nv))
    # Power of the push against that of all inertias: 5 N m at wheel1 turn three alike wheels at 1, -1/2 and -1/6.
    inertia = s.system.mass_matrix(session.reading.q)[0, 0]
    assert vdot[0] == pytest.approx(5.0 / (inertia * (1.0 + 0.25 + 1.0 / 36.0)), rel=1e-9)
    act(session, "set controller", joint="joint1", target="30 deg", kp=50, kd=5)
    act(session, "set controller", joint="joint3", target="0.1 * t", kp=20)
    assert session.state()["parts"]["controllers"] == [
        {"joint": "joint1", "target": "30 deg", "kp": "50.0", "ki": "0.0", "kd": "5.0"},
        {"joint": "joint3", "target": "0.1 * t", "kp": "20.0", "ki": "0.0", "kd": "10.0"},
    ]
    act(session, "remove controller", joint="joint3")
    act(
        session,
        "add contact at",
        at={"body": "wheel2", "p": [0.5, 0, 0], "z": [0, 0, 1]},
        friction=0.4,
        radius="2 cm",
    )
    (contact,) = scenario_of(session).contacts
    assert contact.friction == 0.4 and contact.radius == 0.02
    act(session, "set start", joint="joint2", velocity="10 rpm")
    assert scenario_of(session).state[1][system.slice_v("joint2")] == pytest.approx(10.0 * 2.0 * np.pi / 60.0)


@pytest.mark.parametrize(
    ("what", "arguments", "words"),
    [
        ("add solid", {"shape": "cone", "at": UP}, "one of box"),
        ("add solid", {"shape": "box", "at": {"body": "nobody", "p": [0, 0, 0]}}, "no body"),
        ("add solid", {"shape": "box", "at": UP, "length": "-3"}, "greater than 0"),
        ("add solid", {"shape": "box", "at": UP, "density": "3 kg"}, "a density such as"),
        ("add solid", {"shape": "box", "at": {"body": "ground", "p": [0, 0, 0], "z": [0, 0, 0]}}, "not zero"),
        ("add solid", {"shape": "mesh", "at": UP}, "drop an"),
        ("add gear", {"one": "a", "two": "a"}, "two different"),
        ("add push", {"at": UP, "force": [0, 0, 0]}, "zero"),
        ("join features", {"one": UP, "two": UP}, "two bodies"),
        ("set controller", {"joint": "a", "target": "2 kg"}, "an angle such as"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused_in_words(session, what, arguments, words):
    before = session.text
    with pytest.raises(StateError, match=words):
        act(session, what, **arguments)
    assert session.text == before


def test_what_acts_on_bodies_is_not_put_on_the_ground_nor_on_one_body_alone(session):
    act(session, "add solid", shape="box", at=UP, name="arm", length=0.5)
    end = {"body": "arm", "p": [0.5, 0, 0], "z": [0, 0, 1]}
    text = session.text
    for what, arguments, words in (
        ("add contact at", {"at": UP}, "a contact with the floor acts on a body"),
        ("add push", {"at": UP, "force": [0, 0, 1]}, "a push acts on a body"),
        ("add spring at", {"one": UP, "two": UP | {"p": [1, 0, 0]}}, "both ends"),
        ("add spring at", {"one": end, "two": end | {"p": [0, 0, 0]}}, "both ends"),
    ):
        with pytest.raises(StateError, match=words):
            act(session, what, **arguments)
    assert session.text == text
