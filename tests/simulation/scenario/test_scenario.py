"""Scenarios as data: what they simulate against `simulate` with the same things said otherwise, and what copies,
pickles, comparisons and digests keep."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena.simulation.scenario.frozen import FrozenMapping


def pendulum():
    m = ct.Mechanism("pendulum")
    m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.add_body("bob", mass=0.5, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.add_joint("A", "ground", "rod", ct.Revolute("y"))
    m.add_joint("B", "rod", "bob", ct.Revolute("y"), in_parent=ct.Pose(p=(1, 0, 0)))
    m.add_frame("tip", "bob", ct.Pose(p=(0.4, 0, 0)))
    return m


def everything():
    """A scenario of data only that has one of each."""
    return ct.Scenario(
        pendulum(), {"A": 0.3, "B": -0.1}, {"A": 1.0},
        control=[
            ct.Described(ct.PID, {"B": "0.3 * sin(2 * t)"}, kp=20.0, kd={"B": 2.0}, rate=200.0),
            ct.Described(ct.formula_control, {"A": "-k * A - 0.2 * v.A"}),
        ],
        wrenches={"tip": ct.ExternalWrench(("0", 0, 0, "f * q.B", 0, "0.1 * t"), axes="ground")},
        contacts=[ct.Stop("B", lower=-2.0, upper=2.0)],
        events=[ct.Event("position.tip[2] + 0.4", "low", direction=-1)],
        changes=[ct.Change(at=0.3, lock="B"), ct.Change(at=0.4, unlock="B")],
        parameters={"k": 3.0, "f": 0.5}, duration=0.5, samples=np.linspace(0.0, 0.5, 6),
        drift=ct.Baumgarte(0.1), plots=[ct.Plot(("A", "energy"))], view={"traces": ["tip"]},
    )  # fmt: skip


def test_formulas_move_as_functions_do():
    m = pendulum()
    s = m.system()
    q, v = s.assemble({"A": 0.3}), np.array([1.0, 0.0])
    common = {"samples": 11, "integrator": "rk4", "step": 1e-3}
    told = ct.Scenario(
        m, {"A": 0.3}, {"A": 1.0, "B": 0.0}, control={"A": "-k * A - 0.1 * v.A", "B": "2 * sin(w * t) * q[1]"},
        wrenches={"tip": [0, 0, 0, "0.1 * t", 0, "-0.5 * v.B"]}, events=["A - 0.5", ct.Event("v.B - A", "rates")],
        parameters={"k": 2.0, "w": 3.0}, duration=0.4, **common,
    ).run()  # fmt: skip

    def torque(t, q, v):
        return np.stack([-2.0 * q[..., 0] - 0.1 * v[..., 0], 2.0 * np.sin(3.0 * t) * q[..., 1]], axis=-1)

    def push(t, q, v):
        one = np.ones_like(v[..., 1])
        return np.stack([0 * one, 0 * one, 0 * one, 0.1 * t * one, 0 * one, -0.5 * v[..., 1]], axis=-1)

    looked = [lambda t, q, v: q[0] - 0.5, lambda t, q, v: v[1] - q[0]]
    given = ct.simulate(s, q, v, 0.4, control=torque, events=looked, forces={"tip": push}, **common)
    assert np.abs(told.q - given.q).max() < 1e-12
    assert [found.t for found in told.events] == pytest.approx([found.t for found in given.events], abs=1e-9)
    assert [found.name for found in told.events][0] in ("A - 0.5", "rates")
    assert told.settings["steps taken by"] == "the compiled loop"


def test_drives_by_formulas_and_numbers_begin_where_they_are():
    m = ct.generators.four_bar()
    told = ct.Scenario(m, drives={"A": "0.3 + 2 * t"}, duration=0.2, samples=5).run()
    s = m.system()
    q = s.assemble({"A": 0.3})
    drive = ct.references.function(lambda t: 0.3 + 2.0 * t)
    given = ct.simulate(s, q, s.velocity(q, {"A": 2.0}), 0.2, motion={"A": drive}, samples=5)
    assert np.array_equal(told.q, given.q)
    # A joint that closes a loop in the usual plan is planned into the tree.
    (loop,) = s.loops
    other = ct.Scenario(m, {"A": 0.3}, drives={}, duration=0.1).system
    at = float(s.joint_position(q, loop)[0])
    held = ct.Scenario(m, drives={loop: at}, duration=0.1, samples=3)
    assert other.loops == s.loops and loop in held.system.joints
    assert np.allclose(held.run()[loop], at)


def test_simulate_takes_what_scenarios_take():
    one = everything()
    s = one.system
    direct = ct.simulate(
        s, one.initial, one.velocity, 0.5, control=one.control, forces=one.wrenches, contacts=one.contacts,
        events=one.events, changes=one.changes, parameters=one.parameters, samples=one.samples, drift=one.drift,
    )  # fmt: skip
    again = ct.simulate(one)
    assert np.array_equal(direct["A"], again["A"])
    with pytest.raises(ct.StateError, match="leave the other arguments out"):
        ct.simulate(one, duration=2.0)


def test_hold_stays_and_structures_get_controllers_of_their_own():
    m = pendulum()
    run = ct.Scenario(
        m, {"A": 0.4, "B": 0.2}, control=ct.Described(ct.control.hold), duration=0.3, samples=4
    ).run()
    assert np.abs(run.q - [0.4, 0.2]).max() < 1e-9
    changed = ct.Scenario(
        m, {"A": 0.4, "B": 0.2}, control=ct.Described(ct.control.hold), changes=[ct.Change(at=0.1, lock="B")],
        duration=0.3, samples=4,
    ).run()  # fmt: skip
    assert np.abs(changed["A"] - 0.4).max() < 1e-9


def test_it_is_data():
    one, two = everything(), everything()
    assert one == two and hash(one) == hash(two) and one.digest == two.digest
    other = one.with_(duration=0.6)
    assert other != one and other.digest != one.digest and other.with_(duration=0.5) == one
    assert one.with_(parameters={"k": 3.0, "f": 0.6}).digest != one.digest
    assert one.with_(initial={"A": 0.3, "B": np.nextafter(-0.1, 0.0)}) != one
    again = pickle.loads(pickle.dumps(one))
    assert again == one and again.digest == one.digest
    two_runs = again.run(), one.run()
    assert all(np.array_equal(*(run[joint] for run in two_runs), equal_nan=True) for joint in "AB")
    with pytest.raises(AttributeError):
        one.duration = 3.0
    with pytest.raises(TypeError):
        one.parameters["k"] = 4.0
    with pytest.raises(ValueError, match="read-only"):
        one.samples[0] = 1.0
    assert isinstance(one.parameters, FrozenMapping)


def test_later_edits_change_nothing():
    m = pendulum()
    one = ct.Scenario(m, {"A": 0.3}, duration=0.1)
    before = one.digest
    m.gravity = (0, 0, 0)
    m.add_frame("elbow", "rod")
    assert one.digest == before and "elbow" not in one.mechanism.frames
    assert one.mechanism.gravity[2] == -9.81
    one.mechanism.add_frame("elbow", "rod")
    with pytest.raises(ct.StateError, match="with_"):
        one.run()


def test_another_process_has_the_same_digest_and_numbers(tmp_path):
    one = everything().with_(duration=0.1, samples=3, changes=())
    (tmp_path / "one.pickle").write_bytes(pickle.dumps(one))
    script = (
        "import pickle, sys; s = pickle.load(open(sys.argv[1], 'rb')); r = s.run(); "
        "print(s.digest); print(r['A'].tobytes().hex())"
    )
    out = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "one.pickle")],
        capture_output=True,
        text=True,
        check=True,
    )
    digest, numbers = out.stdout.split()
    assert digest == one.digest
    assert numbers == one.run()["A"].tobytes().hex()


def test_it_tells_itself():
    text = str(everything())
    for word in ("pendulum: 2 bodies", "A = 0.3", "PID(reference={'B': '0.3 * sin(2 * t)'}", "on tip", "lower=-2.0",
                 "low: posi", "at t = 0.3 s: lock B", "k = 3.0", "0.5 s by dopri5", "6 samples"):  # fmt: skip
        assert word in text, word
    assert "with initial" in repr(everything())


def test_functions_of_python_work_and_have_no_digest():
    one = ct.Scenario(pendulum(), control=lambda t, q, v: -v, duration=0.1, samples=3)
    one.run()
    assert one == one.with_() and one != one.with_(control=lambda t, q, v: -v)
    for told, word in (
        (one, "control is a function from Python"),
        (one.with_(control=None, drives={"A": lambda t: (t, 1.0, 0.0)}), "drives 'A' is a function"),
        (one.with_(control=None, events=[ct.Event(lambda t, q, v: t)]), "events"),
    ):
        with pytest.raises(ct.StateError, match=word):
            _ = told.digest
    s = one.mechanism.system()
    bound = ct.Scenario(s, control=ct.PID(s, {"A": 0.1}, kp=3.0), duration=0.1, samples=3)
    assert pickle.loads(pickle.dumps(bound)).run().q.shape == (3, 2)
    with pytest.raises(ct.StateError, match="a PID that was made for one system"):
        _ = bound.digest


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"mechanism": 3}, "give a ct.Mechanism"),
        ({"initial": {"C": 1.0}}, "no joint is named 'C'"),
        ({"initial": {"A": np.nan}}, "initial of joint 'A'"),
        ({"velocity": "fast"}, "velocity is 'fast'"),
        ({"drives": {"Z": 1.0}}, "drives: no joint is named 'Z'"),
        ({"drives": {"A": None}}, "the drive of joint 'A'"),
        ({"drives": 3}, "drives is 3"),
        ({"control": 3}, "control is 3"),
        ({"control": [3]}, "control holds 3"),
        ({"control": {"Z": "1"}}, "no joint is named 'Z'"),
        ({"wrenches": {"Z": [0] * 6}}, "no frame is named 'Z'"),
        ({"wrenches": {"tip": [0] * 5}}, "give six formulas"),
        ({"contacts": 3}, "is no contact"),
        ({"contacts": [ct.Contact("Z")]}, "'Z'"),
        ({"contacts": [ct.Stop("Z")]}, "'Z'"),
        ({"events": 3}, "give a list of ct.Event"),
        ({"changes": 3}, "changes holds 3"),
        ({"changes": [ct.Change(event="x", lock="A")]}, "no event is named 'x'"),
        ({"changes": [ct.Change(at=0.1, lock="Z")]}, "no joint is named 'Z'"),
        ({"parameters": {"k": "a"}}, "k is 'a'"),
        ({"duration": -1.0}, "duration is -1.0"),
        ({"integrator": "rk"}, "no integrator 'rk'"),
        ({"integrator": "rk4"}, "give step="),
        ({"samples": 1}, "samples is 1"),
        ({"drift": "x"}, "drift control 'x'"),
        ({"plan": {"x": 1}}, "no argument is named 'x'"),
        ({"view": {"x": 1}}, "no option is named 'x'"),
        ({"plots": [ct.Plot("Z")]}, "'Z'"),
        ({"near": {"Z": 1.0}}, "near: no joint is named 'Z'"),
        ({"colour": 1}, "no argument is named 'colour'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_once(changed, words):
    with pytest.raises(ct.CatenaError, match=words):
        ct.Scenario(pendulum()).with_(**changed)


@pytest.mark.parametrize(
    "told, words",
    [
        ({"control": {"A": "-k * A"}}, "'k' is not known"),
        ({"control": {"A": "q.C"}}, "'C' is not known"),
        ({"control": {"A": "q[7]"}}, "q has 2 entries"),
        ({"control": {"A": "2 *"}}, "ends too early"),
        ({"drives": {"A": "B + 1"}}, "'B' is not known"),
        ({"events": ["A -"]}, "ends too early"),
        ({"events": ["A", "C"]}, "'C' is not known"),
        ({"control": {"A": "A"}, "parameters": {"A": 1.0}}, "write q.A for the joint"),
        ({"wrenches": {"tip": ["x"] * 6}}, "'x' is not known"),
    ],
)  # fmt: skip
def test_wrong_formulas_are_refused_with_their_place(told, words):
    with pytest.raises(ct.CatenaError, match=words):
        ct.Scenario(pendulum(), duration=0.2, **told).run()


@pytest.mark.parametrize(
    "given, words",
    [
        ({}, "either at="), ({"at": 1.0, "event": "x"}, "either at="), ({"at": "x"}, "at is 'x'"),
        ({"at": 1.0}, "changes nothing"), ({"at": 1.0, "lock": 3}, "lock is 3"), ({"at": 1.0, "free": 2}, "free is 2"),
        ({"at": 1.0, "attach": {"name": "x"}}, "parent is missing"),
        ({"at": 1.0, "attach": {"q": 1}}, "no argument 'q'"),
        ({"at": 1.0, "attach": 3}, "arguments of m.attach"), ({"event": 3, "lock": "A"}, "event is 3"),
    ],
)  # fmt: skip
def test_changes_say_what_is_wrong(given, words):
    with pytest.raises(ct.StateError, match=words):
        ct.Change(**given)


def test_descriptions_are_checked():
    with pytest.raises(ct.StateError, match="does not take these arguments"):
        ct.Described(ct.PID, {"A": 0.1}, kq=3.0)
    with pytest.raises(ct.StateError, match="cannot be called"):
        ct.Described(3)


def test_a_change_that_attaches_moves_as_the_event_that_does_so():
    m = ct.Mechanism("hook", gravity=(0, 0, 0))
    m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    m.add_body("slide", mass=2.0)
    m.add_joint("A", "ground", "rod", ct.Revolute("z"))
    m.add_joint("x", "ground", "slide", ct.Prismatic("x"))
    joint = {"name": "hook", "parent": "rod", "child": "slide", "kind": ct.Planar()}
    s = m.system()
    said = ct.simulate(s, [0.2, 1.0], [1.0, 0.5], 0.6, changes=[ct.Change(at=0.3, attach=joint)])

    def then(here):
        return here.system.mechanism.attach("hook", "rod", "slide", ct.Planar(), at=here.configuration)

    done = ct.simulate(s, [0.2, 1.0], [1.0, 0.5], 0.6, events=ct.at_time(0.3, then=then))
    assert [len(part.system.mechanism.joints) for part in said.segments] == [2, 3]
    for name in ("A", "x"):
        np.testing.assert_allclose(said[name][-1], done[name][-1], rtol=0, atol=1e-12)
