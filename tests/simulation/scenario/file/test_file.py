"""Scenarios in files: the same scenario and the same numbers as in Python, from every table and back, and what is said
about tables that are wrong."""

import numpy as np
import pytest

import catena as ct

FILE = """# A pendulum that is held.
format = 1

[mechanism]
name = "pendulum"

[parameters]
length = 0.5        # of the rod, to its centre
gain = "2 * length"
k = 3.0

[[body]]
name = "rod"
mass = 1.0
com = ["length", 0, 0]
inertia = [0.01, 0.1, 0.1]

[[body]]
name = "bob"
mass = 0.5
com = [0.2, 0, 0]
inertia = [0.01, 0.02, 0.02]

[[joint]]
name = "A"
kind = "revolute"
axis = "y"
parent = "ground"
child = "rod"

[[joint]]
name = "B"
kind = "revolute"
axis = "y"
parent = "rod"
child = "bob"
in_parent = { p = ["2 * length", 0, 0] }

[[frame]]
name = "tip"
body = "bob"
pose = { p = [0.4, 0, 0] }

[[wrench]]
name = "weight"
frame = "bob"
force = [0, 0, "-length"]

[initial]
q = { A = 0.3 }

[[controller]]      # holds the bob
kind = "pid"
reference = { B = "0.3 * sin(2 * t)" }
kp = "10 * gain"
kd = { B = 2.0 }
rate = 200

[[controller]]
kind = "formula"
forces = { A = "-k * A - 0.2 * v.A" }

[[wrench]]
name = "wind"
frame = "tip"
force = ["0.5 * q.B", 0, "0.1 * t"]

[[stop]]
joint = "B"
lower = -2
upper = "2 rad"

[[event]]
name = "low"
when = "position.tip[2] + 0.4"
direction = "falling"

[[change]]
at = 0.3
lock = "B"

[run]
duration = 0.4
samples = 5
drift = { kind = "baumgarte", time = 0.1 }

[[plot]]
show = ["A", "energy"]

[view]
traces = ["tip"]
"""


def in_python(length=0.5):
    m = ct.Mechanism("pendulum")
    m.add_body("rod", mass=1.0, com=(length, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.add_body("bob", mass=0.5, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.add_joint("A", "ground", "rod", ct.Revolute("y"))
    m.add_joint("B", "rod", "bob", ct.Revolute("y"), in_parent=ct.Pose(p=(2 * length, 0, 0)))
    m.add_frame("tip", "bob", ct.Pose(p=(0.4, 0, 0)))
    m.add_wrench("weight", "bob", force=(0, 0, -length))
    return ct.Scenario(
        m, {"A": 0.3},
        control=[
            ct.Described(ct.PID, {"B": "0.3 * sin(2 * t)"}, 20 * length, kd={"B": 2.0}, rate=200.0),
            ct.Described(ct.formula_control, {"A": "-k * A - 0.2 * v.A"}),
        ],
        wrenches={"tip": ct.ExternalWrench([0, 0, 0, "0.5 * q.B", 0, "0.1 * t"], axes="ground")},
        contacts=ct.Stop("B", lower=-2, upper=2),
        events=ct.Event("position.tip[2] + 0.4", "low", direction=-1),
        changes=ct.Change(at=0.3, lock="B"),
        parameters={"length": length, "gain": 2 * length, "k": 3.0}, duration=0.4, samples=5,
        drift=ct.Baumgarte(0.1), plots=ct.Plot(["A", "energy"]), view={"traces": ["tip"]},
    )  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(FILE)
    return path


def test_a_file_says_what_python_says(file):
    told, given = ct.Scenario.load(file), in_python()
    assert told == given and told.digest == given.digest
    one, other = told.run(), given.run()
    # A joint that is locked has no position there.
    assert all(np.array_equal(one[joint], other[joint], equal_nan=True) for joint in "AB")
    # The mechanism alone is read as before.
    assert list(ct.load(file).wrenches) == ["weight"]


def test_parameters_change_lengths_and_gains(file):
    other = ct.Scenario.load(file, parameters={"length": 0.6})
    assert other == in_python(0.6)
    changed = ct.Scenario.load(file).with_(duration=0.2)
    assert changed.with_(parameters={"length": 0.6}) == in_python(0.6).with_(duration=0.2)


def test_a_file_that_says_the_same_stays_as_it_is(file, tmp_path):
    one = ct.Scenario.load(file)
    one.save(file)
    assert file.read_text() == FILE
    one.save(tmp_path / "other.toml")
    assert (tmp_path / "other.toml").read_text() == FILE


def changed(text, *pairs):
    for old, new in pairs:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def wind(force):
    return {"tip": ct.ExternalWrench([0, 0, 0, force, 0, "0.1 * t"], axes="ground")}


HOLD, LAW = '[[controller]]      # holds the bob\nkind = "pid"', '\n[[controller]]\nkind = "formula"'
STOP = '[[stop]]\njoint = "B"\nlower = -2\nupper = "2 rad"\n\n'
EDITS = {
    "settings": (lambda s: s.with_(duration=2.0), [("duration = 0.4", "duration = 2.0")]),
    "a formula": (
        lambda s: s.with_(wrenches=wind("0.6 * q.B")),
        [('["0.5 * q.B", 0', '["0.6 * q.B", 0')],
    ),
    "one controller less": (
        lambda s: s.with_(control=s.control.parts[1]),
        [(FILE[FILE.index(HOLD) : FILE.index(LAW) + 1], "")],
    ),
    "a controller between": (
        lambda s: s.with_(
            control=[s.control.parts[0], ct.Described(ct.GravityCompensation), s.control.parts[1]]
        ),
        [(LAW, '\n[[controller]]\nkind = "gravity_compensation"\n' + LAW)],
    ),
    "no stop and another event": (
        lambda s: s.with_(contacts=(), events=[ct.Event("v.A", "turns"), *s.events]),
        [(STOP, ""), ('[[event]]\nname = "low"', '[[event]]\nname = "turns"\nwhen = "v.A"\n\n[[event]]\nname = "low"')],
    ),
    "nothing to see": (lambda s: s.with_(plots=()), [('[[plot]]\nshow = ["A", "energy"]\n\n', "")]),
}  # fmt: skip


@pytest.mark.parametrize("what", EDITS)
def test_what_did_not_change_stays_in_the_file(what, file):
    """Comments, order, names and formulas in the tables of a run, as in those of the mechanism."""
    edit, pairs = EDITS[what]
    other = edit(ct.Scenario.load(file))
    other.save(file)
    assert file.read_text() == changed(FILE, *pairs)
    assert ct.Scenario.load(file) == other


def every_table():
    """Scenarios that together have every key of every table."""
    m = ct.generators.four_bar()
    arm = ct.generators.chain(3)
    poses = ct.PosePath(ct.cubic([0.0, 1.0], [[0.1, 0.2, 0.3], [0.2, 0.2, 0.3]]), (1.0, 0.0, 0.0, 0.0))
    yield ct.Scenario(m, {"A": 0.3}, {"A": 1.0})
    yield ct.Scenario(m, drives={"A": "0.3 + t"}, near={"C": 0.1}, parameters={"w": 2.0})
    yield ct.Scenario(
        m,
        drives={"A": ct.spline([0, 0.5, 1], [0.3, 0.4, 0.3], ends="periodic")},
        start=1.5,
        samples=[1.5, 2.0],
    )
    yield ct.Scenario(
        m,
        drives={"A": 0.25},
        plan={"cut": ["D"], "accuracy": 1e-6},
        drift="none",
        integrator="rk4",
        step=1e-3,
    )
    yield ct.Scenario(
        arm, control=ct.Described(ct.control.hold, [10.0, 1.0], rate=100.0), drift=ct.Projection(2)
    )
    joint = next(iter(arm.joints))
    yield ct.Scenario(
        arm, [0.1, 0.2, 0.3], [0.0, 1.0, 0.0], rtol=1e-6, atol=1e-9, integrator="dop853", drift=ct.Corrective(1.0, 2.0),
        control=[
            ct.Described(
                ct.PID, {joint: ct.quintic([0, 1], [0.0, 1.0])}, 1.0, 2.0, 3.0, bias={joint: 0.1}, joints=[joint],
                limits={joint: [-3.0, 4.0]}, anti_windup="back_calculation", tracking=0.2, rate=500.0,
            ),
            ct.Described(ct.ComputedTorque, {joint: [0.5]}, [1.0, 2.0, 3.0], kd=4.0, damping=0.5),
            ct.Described(ct.GravityCompensation, partial=True),
            ct.Described(ct.Feedforward, {joint: "sin(t)"}),
            ct.Described(ct.TaskSpace, "link3", poses, 20.0, kd=3.0, posture=[0, 0, 0], posture_kp=2.0, damping=1.0),
            ct.Described(ct.PID, {joint: 0.1}, kp=3.0, limits=None, rate=None),
        ],
    )  # fmt: skip
    flyer = ct.Mechanism("flyer", gravity=(0, 0, 0))
    for name in ("bus", "hand"):
        flyer.add_body(name, mass=1.0, inertia=(0.1, 0.2, 0.3))
    flyer.add_joint("base", "ground", "bus", ct.Free())
    flyer.add_joint("elbow", "bus", "hand", ct.Revolute("z"), in_parent=ct.Pose(p=(0.5, 0, 0)))
    yield ct.Scenario(
        flyer, velocity={"base": [0, 0, 0.1, 0.25, 0, 0], "elbow": -0.4},
        wrenches={"hand": ct.quintic([0, 1], np.arange(12.0).reshape(2, 6)), "bus": [0, 0, "t", 0, 0, 1.0]},
        contacts=[
            ct.Contact("hand", "bus", 0.3, 0.2, 0.05, "touch", on_radius=0.1),
            ct.Contact("hand", name="edge", radius=0.01, rim=0.2),
            ct.Contact("bus", floor=ct.HeightField(range(4), range(5), np.outer(np.arange(4.0), np.ones(5)) / 7.0)),
            ct.Stop("elbow", upper=2.0, restitution=0.5),
        ],
        events=[ct.Event("v.elbow", terminal=True), ct.Event("q.base[0] - 0.4", "there", 1)],
        changes=[
            ct.Change(
                event="there",
                attach={"name": "fixture", "parent": "ground", "child": "hand", "kind": ct.Sdof("rz", "dx"),
                        "in_child": ct.Pose(p=(0.1, 0, 0), rpy=(0.1, 0.2, 0.3)), "damping": 0.1, "actuated": False},
            ),
            ct.Change(at=0.5, detach=["fixture"], lock=["elbow"]),
            ct.Change(at=0.6, unlock="elbow", fix=True),
            ct.Change(at=0.7, free=True),
        ],
        parameters={"bus.mass": [1.0, 2.0], "force": 2.5}, plots=[ct.Plot(), ct.Plot("energy", "energy.png")],
        view={"forces": False},
    )  # fmt: skip


@pytest.mark.parametrize("k, one", list(enumerate(every_table())))
def test_every_table_comes_back(k, one, tmp_path):
    path = tmp_path / "one.toml"
    one.save(path)
    again = ct.Scenario.load(path)
    assert again == one, path.read_text()
    assert again.digest == one.digest
    before = path.read_text()
    again.save(path)
    assert path.read_text() == before


def test_functions_are_refused_by_name_or_left_out(tmp_path):
    one = in_python().with_(
        control=lambda t, q, v: 0 * v, drives={"A": lambda t: (t, 1, 0)},
        events=[ct.Event(lambda t, q, v: t - 1, "soon"), ct.Event("t - 2")], changes=(),
    )  # fmt: skip
    path = tmp_path / "one.toml"
    with pytest.raises(ct.FormatError, match="the drive of joint 'A' is a function from Python"):
        one.save(path)
    assert not path.exists()
    one.save(path, functions="leave out")
    assert ct.Scenario.load(path) == one.with_(control=None, drives={}, events=["t - 2"])
    for bad in ("x.urdf", "x"):
        with pytest.raises(ct.FormatError, match=".toml"):
            one.save(tmp_path / bad)
    with pytest.raises(ct.FormatError, match="functions is 3"):
        one.save(path, functions=3)
    batch = ct.Scenario(one.mechanism, np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ct.FormatError, match="batch of initial states"):
        batch.save(path)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ('kind = "pid"', 'kind = "pd"', r":LINE: controller 1: no controller is named 'pd': did you mean 'pid'"),
        ('"-k * A -', '"-k * C -', r":LINE:\d+: controller formula: forces: 'C' is not known"),
        ("lower = -2", "lowr = -2", r":LINE: stop 1: unknown key 'lowr': did you mean 'lower'"),
        ('"falling"', '"down"', "give one of both, rising, falling"),
        ('lock = "B"', 'lock = "Q"', r":LINE: change 1: no joint is named 'Q'"),
        ('["tip"]', '["tp"]', "did you mean 'tip'"),
        ('"0.3 * sin(2 * t)"', '"0.3 * sin(2 * "', "ends too early"),
        ("duration = 0.4", "duration = -1", r":LINE: run: duration is -1.0"),
        ("samples = 5", "samples = 1", r":LINE: run: samples is 1"),
        ('kind = "baumgarte"', 'kind = "magic"', "give one of projection"),
        ('frame = "tip"\nforce', 'frame = "tap"\nforce', r"wrench 'wind': no body or frame is named 'tap'"),
        ("[run]", "[[run]]", "must be one table"),
        ("[[stop]]", "[stop]", "double brackets"),
        ("[[stop]]", "[[stops]]", "did you mean 'stop'"),
        ('"position.tip[2] + 0.4"', '"position.tip[2] + "', "ends too early"),
        ('when = "pos', 'at = 3\nwhen = "pos', "give either when"),
        ("kp = ", "kq = ", "unknown key 'kq'"),
        ('reference = { B', 'reference = { Z', "no joint is named 'Z'"),
    ],
)  # fmt: skip
def test_faults_tell_their_place(file, old, new, words):
    line = FILE[: FILE.index(old)].count("\n") + 1
    words = words.replace("LINE", str(line))
    file.write_text(FILE.replace(old, new, 1))
    with pytest.raises(ct.FormatError, match=words) as error:
        ct.Scenario.load(file)
    assert str(error.value).startswith(str(file))


def test_initial_states_may_stand_as_they_are(tmp_path):
    m = ct.generators.four_bar()
    s = m.system()
    q = s.assemble({"A": 0.3})
    one = ct.Scenario(m, q, s.velocity(q, {"A": 1.0}), duration=0.1, samples=3)
    one.save(tmp_path / "one.toml")
    again = ct.Scenario.load(tmp_path / "one.toml")
    assert again == one and np.array_equal(again.run().q, one.run().q)
    text = (tmp_path / "one.toml").read_text()
    (tmp_path / "one.toml").write_text(text.replace("[initial.v]\nA", "[initial.v]\n# A", 1))
    with pytest.raises(ct.FormatError, match="v has no joint 'A'"):
        ct.Scenario.load(tmp_path / "one.toml")


REACHING = [
    "__import__('os').system('touch reached')", "open('reached', 'w')", "exec('x')", "eval('1')", "t.__class__",
    "q.__class__.__mro__", "q.A.__dict__", "().__class__", "[x for x in q]", "lambda: 0", "globals()", "A; A", "A = 1",
    "getattr(t, 'real')", "{t}", "f'{t}'", "t if t else t", "'reached'", "q[__import__]", "9^9^9^9^9^9", "(" * 50 + "t",
    "sin" * 900 + "(t)",
]  # fmt: skip


@pytest.mark.parametrize("text", REACHING)
def test_formulas_reach_nothing(file, text, monkeypatch):
    """Wherever a formula may stand: a drive, a law, a reference, a wrench, an event, what is kept."""
    monkeypatch.chdir(file.parent)
    before = sorted(file.parent.iterdir())
    told = text.replace("\\", "\\\\").replace('"', '\\"')
    for old in ("0.3 * sin(2 * t)", "-k * A - 0.2 * v.A", "0.5 * q.B", "position.tip[2] + 0.4"):
        file.write_text(FILE.replace(f'"{old}"', f'"{told}"'))
        with pytest.raises(ct.CatenaError) as error:
            ct.Scenario.load(file).run()
        assert len(str(error.value)) < 5000
    for said in ({"drives": {"A": text}}, {"control": {"A": text}}, {"events": [text]}, {"keep": [text]}):
        with pytest.raises(ct.CatenaError):
            ct.Scenario(in_python().mechanism, duration=0.01, **said).run()
    assert sorted(file.parent.iterdir()) == before
