"""What the studio tells of a mechanism, against what the library and closed forms say."""

import numpy as np
import pytest

import catena as ct
from catena.errors import StateError
from catena.studio import EditingSession
from catena.studio.insight import branches_of, held, mode_course, modes_of, sentences, structure, turned
from catena.studio.session import BLANK
from catena.studio.worker import told


@pytest.fixture
def session(tmp_path):
    made = EditingSession(BLANK.format(name="mine"), "mine.toml", tmp_path)
    for name, arguments in (
        ("add bar", {"start": [0, 0], "end": [0, 0.4]}), ("add bar", {"start": "B", "end": [0.9, 0.8]}),
        ("add bar", {"start": "C", "end": [1.0, 0]}), ("ground point", {"point": "A"}),
        ("ground point", {"point": "D"}),
    ):  # fmt: skip
        made.act(name, arguments, made.revision)
    return made


def test_the_graph_has_each_body_and_joint_once_and_says_which_joint_closes_the_loop(session):
    told = structure(session.reading)
    system = session.reading.scenario.system
    assert set(told["places"]) == set(system.mechanism.bodies)
    assert {edge["joint"] for edge in told["edges"] if edge["is_loop"]} == set(system.loops)
    assert {edge["joint"] for edge in told["edges"]} == set(system.mechanism.joints)
    assert "can move in one way" in told["sentences"][0]["words"]


def test_vibrations_are_those_of_the_system(session):
    assert modes_of(session.reading)["modes"] == []
    session.act("add spring", {"start": "C", "end": [0.5, 1.2]}, session.revision)
    told = modes_of(session.reading)
    modes = session.reading.scenario.system.modes(session.reading.q)
    assert [one["hertz"] for one in told["modes"]] == pytest.approx(list(modes.hertz)) and not told[
        "is_elsewhere"
    ]
    assert len(mode_course(session.reading, 0).segments) == 1
    with pytest.raises(StateError, match="swings in"):
        mode_course(session.reading, 7)
    # With weight it swings about where it comes to rest.
    session.act("set gravity", {"gravity": 9.81}, session.revision)
    assert modes_of(session.reading)["is_elsewhere"]


def test_branches_are_the_two_points_in_which_two_circles_meet(session):
    told = branches_of(session.reading)
    assert told["held"] == ["A"] and len(told["branches"]) == 2
    B, D, r, s = np.array([0, 0.4]), np.array([1.0, 0]), np.hypot(0.9, 0.4), np.hypot(0.1, 0.8)
    d = np.linalg.norm(D - B)
    a = (r**2 - s**2 + d**2) / (2 * d)
    along, across = (D - B) / d, np.array([-(D - B)[1], (D - B)[0]]) / d
    expected = sorted(tuple(B + a * along + side * np.sqrt(r**2 - a**2) * across) for side in (1, -1))
    found = sorted(tuple(session.reading.points_at(q)["C"]) for q in told["branches"])
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("degrees", [10.0, 30.0, 150.0, -80.0])
def test_a_direction_that_is_typed_is_met(session, degrees):
    q = turned(session.reading, "A-B", np.deg2rad(degrees))
    x, z = session.reading.points_at(q)["B"]
    assert np.remainder(np.arctan2(z, x) - np.deg2rad(degrees) + 1.0, 2 * np.pi) == pytest.approx(
        1.0, abs=1e-8
    )
    assert np.abs(session.reading.scenario.system.closure(q)[0]).max() < 1e-9


def test_what_cannot_be_turned_is_told(session):
    with pytest.raises(StateError, match="not pinned to the ground"):
        turned(session.reading, "B-C", 0.0)
    with pytest.raises(StateError, match="cannot point there"):
        turned(session.reading, "C-D", 0.0)


def test_a_body_that_nothing_lets_move_is_named(tmp_path):
    """A triangle on the ground beside a pendulum: the triangle cannot move, the pendulum can."""
    m = ct.Mechanism("mine", gravity=(0, 0, 0))
    for name in ("left", "right", "pendulum"):
        m.add_body(name, mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", "ground", "left", ct.Revolute("y"))
    m.add_joint("C", "ground", "right", ct.Revolute("y"), in_parent=ct.Pose(p=(1, 0, 0)))
    ends = ct.Pose(p=(0.7, 0, 0)), ct.Pose(p=(0.8, 0, 0))
    m.add_joint("B", "left", "right", ct.Revolute("y"), in_parent=ends[0], in_child=ends[1])
    m.add_joint("P", "ground", "pendulum", ct.Revolute("y"), in_parent=ct.Pose(p=(2, 0, 0)))
    m.save(tmp_path / "mine.toml")
    made = EditingSession((tmp_path / "mine.toml").read_text(), "mine.toml", tmp_path)
    assert held(made.reading.scenario.system, made.reading.q) == ["left", "right"]
    assert {one["name"] for one in sentences(made.reading) if one["kind"] == "body"} == {"left", "right"}


def _post_on_the_ground():
    m = ct.generators.four_bar()
    m.add_body("post", mass=1.0, inertia=0.1)
    m.add_joint("foot", "ground", "post", ct.Fixed(), in_parent=ct.Pose(p=(2, 0, 0)))
    return m


@pytest.mark.parametrize(
    "make", [ct.generators.andrews, ct.generators.stewart, ct.generators.bricard, _post_on_the_ground]
)
def test_bodies_that_stand_still_are_those_whose_jacobians_say_so(make):
    system = make().system()
    q = system.assemble({})
    ways = np.eye(system.nv)
    if system.mechanics.constrained:
        K = system.closure_jacobian(q)
        _, sizes, rows = np.linalg.svd(K)
        ways = rows[np.sum(sizes > 1e-9 * sizes.max()) :]
    moved = {
        name: np.abs(system.jacobian(q, name) @ ways.T).max()
        for name in system.mechanism.bodies
        if name != "ground"
    }
    assert held(system, q) == [name for name, size in moved.items() if size < 1e-9 * max(moved.values())]


def test_what_rounding_strikes_is_not_told_and_what_an_impact_strikes_is(tmp_path):
    """A sled falls, slides and comes to rest: the impact is told with m v, that friction sticks without any impulse."""
    m = ct.Mechanism("sled")
    m.add_body("carriage", mass=0.0)
    m.add_body("sled", mass=2.0, inertia=0.1)
    m.add_joint("along", "ground", "carriage", ct.Prismatic("x"), actuated=False)
    m.add_joint("up", "carriage", "sled", ct.Prismatic("z"), actuated=False)
    m.add_frame("foot", "sled", ct.Pose())
    contacts = [ct.Contact("foot", friction=0.3)]
    scenario = ct.Scenario(m, initial=[0.0, 0.05], velocity=[1.0, 0.0], contacts=contacts, duration=0.8)
    changes = told(scenario.run(), scenario)["changes"]
    first = changes[0]
    speed = np.sqrt(2.0 * 9.81 * 0.05)
    struck = 2.0 * speed * np.hypot(1.0, 0.3)
    assert first["impulses"] == [f"foot is struck with {struck:.3g} N s"]
    assert first["energy_loss"] == pytest.approx(
        0.5 * 2.0 * (speed**2 + 1.0 - (1.0 - 0.3 * speed) ** 2), rel=1e-6
    )
    assert len(changes) > 1 and all(one["impulses"] == [] and not one["energy_loss"] for one in changes[1:])
