"""What runs keep: signals gathered on the way against those of finely sampled runs, and the memory that this takes."""

import resource
import subprocess
import sys

import numpy as np
import pytest

import catena as ct
from catena.simulation.keeping import room
from tests.simulation.test_failing_states import cart_pole

ASKED = (
    "max(slide)",
    "time_of_max(hinge)",
    "min(v.hinge)",
    "integral(v.hinge^2)",
    "mean(hinge)",
    "last(t)",
    "crossing(hinge - 1)",
    "crossing(hinge - 50)",
)


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 1e-9},
        {"integrator": "rk4", "step": 2e-3},
        {"rtol": 1e-9, "control": {"slide": "-3 * slide + sin(hinge)"}},
        {"rtol": 1e-9, "events": [ct.Event("hinge - 2.5", terminal=True)]},
        {"rtol": 1e-9, "parameters": {"pole.mass": [0.1, 0.2, 0.3]}},
    ],
    ids=["adaptive", "fixed", "law", "event", "varied"],
)
def test_what_is_gathered_on_the_way_is_what_fine_samples_show(options):
    s = cart_pole().system()
    v = np.zeros((3, 2))
    v[:, 1] = [-0.5, 0.2, 0.6]
    fine = ct.simulate(s, [0.0, 0.5], v, 1.2, samples=6001, check=False, **options)
    run = ct.simulate(s, [0.0, 0.5], v, 1.2, keep=ASKED, check=False, **options)
    x, y, w, t = fine.q[..., 0], fine.q[..., 1], fine.v[..., 1], fine.t
    ends = run.kept["last(t)"]
    inside = t <= ends[:, None] + 1e-9
    duration = np.broadcast_to(np.diff(t, prepend=0.0), y.shape) * inside
    found = run.kept
    # An end between two samples is none of them.
    near = 1e-3 if "events" in options else 1e-6
    np.testing.assert_allclose(found["max(slide)"], np.where(inside, x, -np.inf).max(axis=1), atol=near)
    np.testing.assert_allclose(found["min(v.hinge)"], np.where(inside, w, np.inf).min(axis=1), atol=near)
    peaks = t[np.argmax(np.where(inside, y, -np.inf), axis=1)]
    np.testing.assert_allclose(found["time_of_max(hinge)"], peaks, atol=4e-4)
    np.testing.assert_allclose(found["integral(v.hinge^2)"], (w**2 * duration).sum(axis=1), rtol=5e-3)
    np.testing.assert_allclose(found["mean(hinge)"], (y * duration).sum(axis=1) / ends, rtol=5e-3)
    first = t[np.argmax(y >= 1.0, axis=1)]
    np.testing.assert_allclose(found["crossing(hinge - 1)"], first, atol=2e-4)
    assert np.isnan(found["crossing(hinge - 50)"]).all()
    np.testing.assert_allclose(run.q[:, -1], fine.q[:, -1], atol=1e-9)
    assert run.q.shape == (3, 2, 2)


@pytest.mark.parametrize("method", [{"integrator": "rk4", "step": 1e-2}, {}], ids=["fixed", "adaptive"])
def test_what_the_step_gathers_is_what_is_gathered_of_functions_behind_it(method):
    """Formulas are gathered in the compiled step, functions by NumPy from all nodes; bits depend on no batch."""
    m = ct.Mechanism("ball joint on a slide")
    m.add_body("cart", 1.0, inertia=0.1)
    m.add_body("bob", 0.5, com=(0, 0, -0.5), inertia=(0.02, 0.03, 0.02))
    m.add_joint("slide", "ground", "cart", ct.Prismatic("x"))
    m.add_joint("ball", "cart", "bob", ct.Spherical())
    random = np.random.default_rng(1)
    q = np.tile(m.system().neutral(), (5, 1))
    v = random.normal(0.0, 2.0, (5, 4))
    formula = {"far": "c * slide - ball[1]", "entry": "v[2]^2 + 0.1 * t"}
    function = {
        "far": lambda t, q, v: 3.0 * q[:, 0] - q[:, 2],
        "entry": lambda t, q, v: v[:, 2] ** 2 + 0.1 * t,
    }
    tallies = ("min", "max", "time_of_min", "time_of_max", "mean", "integral", "last")
    keep = {f"{n} {k}": f"{k}({formula[n]})" for n in formula for k in tallies}
    keep |= {f"{n} {k} f": (k, function[n]) for n in function for k in tallies}
    keep |= {"at": "crossing(v[1] - 0.5)", "at f": ("crossing", lambda t, q, v: v[:, 1] - 0.5)}
    asked = ct.Scenario(m, q, v, duration=1.0, keep=keep, parameters={"c": 3.0}, **method)
    found = asked.run(check=False).kept
    for name in keep:
        if not name.endswith(" f"):
            np.testing.assert_allclose(found[name], found[f"{name} f"], rtol=1e-13, atol=1e-13, err_msg=name)
    assert np.isfinite(found["at"]).any()
    for k in (0, 3):
        alone = asked.with_(initial=q[k], velocity=v[k]).run(check=False).kept
        for name in (name for name in keep if not name.endswith(" f")):
            assert np.array_equal(alone[name], found[name][k], equal_nan=True), name


def test_signals_at_samples_and_functions_and_single_states():
    s = cart_pole().system()
    all_of_it = ct.simulate(s, [0.0, 0.5], [0.0, 0.1], 0.5, samples=6)
    keep = {
        "there": "slide + t",
        "high": ("max", lambda t, q, v: np.cos(q[:, 1])),
        "up": lambda t, q, v: v[:, 1],
    }
    run = ct.simulate(s, [0.0, 0.5], [0.0, 0.1], 0.5, samples=6, keep=keep)
    np.testing.assert_allclose(run.kept["there"], all_of_it["slide"][:, 0] + all_of_it.t, atol=1e-14)
    np.testing.assert_allclose(run.kept["up"], all_of_it.v[:, 1], atol=1e-14)
    assert run.kept["high"] == pytest.approx(np.cos(0.5)) and len(run.t) == 2
    scenario = ct.Scenario(cart_pole(), {"hinge": 0.5}, {"hinge": 0.1}, duration=0.5, keep=["last(slide)"])
    assert scenario.run().kept["last(slide)"] == pytest.approx(all_of_it["slide"][-1, 0], abs=1e-12)


def test_a_scenario_keeps_what_its_file_says(tmp_path):
    scenario = ct.Scenario(cart_pole(), {"hinge": 0.5}, duration=0.1, keep={"peak": "max(slide)"})
    scenario.save(tmp_path / "pole.toml")
    again = ct.Scenario.load(tmp_path / "pole.toml")
    assert again == scenario and again.digest == scenario.digest
    assert again.with_(keep=["final"]).run().kept == {}


def test_words_for_what_cannot_be_kept():
    s = cart_pole().system()
    for keep, words in (
        (3, "keep is 3"),
        (["max(elbow)"], "elbow"),
        ([lambda t, q, v: q], "names"),
        ({"a": lambda t, q, v: q}, "one number"),
        (["max(slide", "slide"], "max"),
        (["slide", "slide"], "twice"),
    ):
        with pytest.raises(ct.CatenaError, match=words):
            ct.simulate(s, [0.0, 0.5], [0.0, 0.1], 0.1, keep=keep)
    with pytest.raises(ct.StateError, match="GB of memory"):
        ct.simulate(s, [0.0, 0.5], np.zeros((20_000, 2)), 1.0, samples=1_000_000)


def ball_on_a_floor():
    """A ball over a floor, and where it begins."""
    m = ct.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=0.1)
    m.add_joint("z", "ground", "ball", ct.Prismatic("z"), actuated=False)
    return m.system(), [ct.Contact("ball", restitution=0.5)]


def test_of_a_ball_that_bounces_are_kept_what_formulas_say():
    """Signals of runs with contacts: of one state, of a batch, and at samples."""
    s, contacts = ball_on_a_floor()
    kept = [
        "min(v.z)",
        "time_of_min(v.z)",
        "max(v.z)",
        "time_of_max(v.z)",
        "integral(z)",
        "crossing(z - 0.5)",
    ]
    run = ct.simulate(s, [[1.0], [2.0]], [[0.0], [0.0]], 0.9, contacts=contacts, keep=kept)
    g = 9.81
    for k, height in enumerate((1.0, 2.0)):
        down = np.sqrt(2 * height / g)
        fast = g * down
        left = 0.9 - down
        area = height * down - g * down**3 / 6 + 0.5 * fast * left**2 / 2 - g * left**3 / 6
        expected = [-fast, down, 0.5 * fast, down, area, np.sqrt(2 * (height - 0.5) / g)]
        np.testing.assert_allclose([run.kept[name][k] for name in kept], expected, rtol=1e-7)
    alone = ct.simulate(s, [1.0], [0.0], 0.9, contacts=contacts, keep=["z", *kept], samples=7)
    assert alone.kept["z"].shape == (7,) and len(alone.t) == 2
    whole = ct.simulate(s, [1.0], [0.0], 0.9, contacts=contacts)
    np.testing.assert_array_equal(alone.kept["z"], whole.resample(7)["z"][:, 0])
    np.testing.assert_array_equal(alone.q[-1], whole.q[-1])
    for name in kept:
        assert alone.kept[name] == run.kept[name][0]
    with pytest.raises(ct.CatenaError, match="elbow"):
        ct.simulate(s, [1.0], [0.0], 0.9, contacts=contacts, keep=["max(elbow)"])


def test_names_that_nobody_knows_are_told_before_a_run_with_contacts_begins():
    def law(t, q, v):
        raise AssertionError("the run has begun")

    s, contacts = ball_on_a_floor()
    for keep in ("max(hight)", {"top": "v.hight"}):
        with pytest.raises(ct.FormulaError, match="hight"):
            ct.simulate(s, [0.2], [0.0], 1.0, contacts=contacts, control=law, keep=keep)


def test_signals_of_joints_that_are_not_always_there():
    """A pole that is locked half way keeps its angle; one that is let go has none."""
    s = cart_pole().system()
    q, v = [0.0, 0.2], [0.1, 0.0]
    locks = [ct.Event(lambda t, q, v: t - 0.3, then=lambda m, q, v: m.lock("hinge", at=q[1]))]
    whole = ct.simulate(s, q, v, 0.6, events=locks)
    run = ct.simulate(s, q, v, 0.6, keep=["max(hinge)", "last(slide)", "hinge"], samples=13, events=locks)
    angle = whole.segments[0]["hinge"][:, 0]
    assert run.kept["max(hinge)"] == pytest.approx(angle.max(), rel=1e-6)
    assert run.kept["last(slide)"] == whole["slide"][-1, 0]
    np.testing.assert_allclose(run.kept["hinge"][6:], angle[-1], rtol=1e-12)

    def let_go(m, q, v):
        """The pole floats, from where it is."""
        return m.detach("hinge").attach("floats", "ground", "pole", ct.Free(), at=s.configuration(q))

    lets_go = [ct.Event(lambda t, q, v: t - 0.3, then=let_go)]
    run = ct.simulate(s, q, v, 0.6, keep=["max(hinge)", "last(slide)", "hinge"], samples=13, events=lets_go)
    assert run.kept["max(hinge)"] == pytest.approx(angle.max(), rel=1e-6)
    assert np.isfinite(run.kept["hinge"][:6]).all() and np.isnan(run.kept["hinge"][7:]).all()


MEMORY = """
import resource, sys
import numpy as np
import catena as ct
from catena.simulation.keeping import room
from tests.simulation.test_failing_states import cart_pole

s = cart_pole().system()

def run(n):
    ct.simulate(s, np.tile([0.0, 0.5], (n, 1)), np.zeros(2), 1.0, integrator="rk4", step=1e-3, check=False,
                control={"slide": "-3 * slide"}, keep=["max(hinge)"])

run(1000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run(4000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "RUSAGE_SELF"), reason="memory is told by getrusage")
def test_memory_is_that_of_what_is_kept():
    """1000 steps of a compiled law with forces, states and velocities would be 48 kB a variant."""
    found = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(found.stdout) / 3000 < 6.0


def test_what_would_not_fit_is_said_before_the_run(monkeypatch):
    """With little memory left, by a made-up measure: a run of gigabytes is refused in words, what is small is not."""
    monkeypatch.setattr(room, "available", lambda: 100_000_000)
    s = cart_pole().system()
    q = np.zeros((50_000, 2))
    with pytest.raises(ct.StateError, match="need about 1.61 GB of memory, and 0.1 GB.*keep='final'"):
        ct.simulate(s, q, 0.0 * q, 1.0, samples=126, check=False, progress=False)
    ct.simulate(s, q[:10], 0.0 * q[:10], 0.01, samples=126, check=False)
    # Every step of one state is kept where no samples are named, as many as its duration says.
    with pytest.raises(ct.StateError, match="1 states at 10000000 samples need about"):
        ct.simulate(s, q[0], q[0], 1e4, integrator="rk4", step=1e-3)
