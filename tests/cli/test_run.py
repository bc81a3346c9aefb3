"""`catena run` against the same simulation in Python, and against what is known of simple motions."""

import csv
import sys
import tempfile
from math import pi, sqrt

import numpy as np
import pytest

from catena import generators, simulate
from catena.simulation import Trajectory
from catena.simulation.stepping.drift import NAMES as DRIFTS
from catena.simulation.stepping.integrators import FIXED_STEPS, INTEGRATORS
from catena.system import tree_forces


def test_the_summary_is_that_of_the_same_simulation_in_python(catena):
    data = catena("run", "four_bar", "--v", "A=2", "--time", "1", "--samples", "11", "--json").data
    system = generators.four_bar().system()
    q = system.assemble({})
    run = simulate(system, q, system.velocity(q, {"A": 2.0}), 1.0, samples=11)
    assert data["reached"] == 1.0
    assert data["samples"] == 11
    assert data["steps"] == run.steps
    final = np.concatenate([data["final"]["q"][joint] for joint in system.joints])
    assert np.array_equal(final, run.q[-1])
    assert data["audit"]["ok"]
    assert data["energy_drift"] == run.energy_drift < 1e-7
    assert data["closure_error"] == run.closure_error < 1e-12
    assert (data["code"], data["error"], data["failed"]) == (0, None, [])


def test_the_words_say_what_was_done(catena):
    answer = catena("run", "four_bar", "--v", "A=2", "--time", "0.5")
    assert (answer.code, answer.err) == (0, "")
    assert "four-bar: 3 bodies, 4 joints, 1 loop" in answer.out
    assert "0.5 s in" in answer.out
    assert "steps of dopri5" in answer.out
    assert "times as fast as the motion itself" in answer.out
    assert "The energy changes by at most" in answer.out
    assert "The loops are open by at most" in answer.out


def test_quiet_says_nothing(catena):
    answer = catena("run", "four_bar", "--time", "0.1", "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_pendulum_swings_with_its_period(catena, pendulum):
    """Small swings of a rod about its end: T = 2 pi sqrt(2 l / 3 g)."""
    period = 2 * pi * sqrt(2 * 1.5 / (3 * 9.81))
    model = f"{pendulum}:make(length=1.5)"
    data = catena("run", model, "--q", "pin1=1e-4", "--time", repr(period), "--json").data
    assert data["final"]["q"]["pin1"][0] == pytest.approx(1e-4, rel=1e-5)


def test_the_start_is_the_models_own_unless_given(catena, pendulum):
    own = catena("run", f"{pendulum}:make(pins=2)", "--time", "1e-9", "--json").data["final"]["q"]
    assert own["pin1"][0] == pytest.approx(0.1, abs=1e-9)
    given = catena("run", f"{pendulum}:make(pins=2)", "--time", "1e-9", "--q", "pin2=0.3", "--json").data[
        "final"
    ]["q"]
    assert (given["pin1"][0], given["pin2"][0]) == pytest.approx((0.1, 0.3), abs=1e-9)


def test_gravity_replaces_that_of_the_model(catena, pendulum):
    data = catena("run", f"{pendulum}:make", "--gravity", "-9.81,0,0", "--time", "1e-3", "--json").data
    # The centre of mass is at (-sin q, 0, -cos q) / 2 and I = 1/3: gravity along -x turns it about y by +3/2 g cos q.
    assert data["final"]["v"]["pin1"][0] == pytest.approx(1.5 * 9.81 * np.cos(0.1) * 1e-3, rel=1e-4)
    weightless = catena("run", f"{pendulum}:make", "--gravity", "0,0,0", "--time", "1", "--json").data
    assert weightless["final"]["q"]["pin1"][0] == 0.1


@pytest.mark.parametrize(
    ("control", "torque"),
    [
        (("constant", "pin1=2"), 2.0),
        (("pendulum.py:torque",), 2.0),
        (("pendulum.py:scaled(3.5)",), 3.5),
        (("pendulum.py:torque", "--rate", "100"), 2.0),
        (("none",), 0.0),
    ],
)
def test_controls_drive_the_joint(catena, pendulum, control, torque):
    """Without gravity a constant torque turns a rod by tau t^2 / 2 I, with I = 1/3."""
    words = ("run", "pendulum.py:make", "--q", "pin1=0", "--gravity", "0,0,0", "--time", "0.5", "--json")
    data = catena(*words, "--control", *control).data
    assert data["final"]["q"]["pin1"][0] == pytest.approx(torque * 0.5**2 / 2 * 3, rel=1e-7, abs=1e-15)


def test_hold_keeps_a_pushed_arm_where_it_was(catena):
    words = ("run", "arm7", "--q", "joint2=0.5", "joint4=1", "--time", "2", "--samples", "3", "--json")
    start = {"joint2": 0.5, "joint4": 1.0}

    def off(final):
        return max(abs(position[0] - start.get(joint, 0.0)) for joint, position in final.items())

    assert off(catena(*words).data["final"]["q"]) > 0.5
    assert off(catena(*words, "--v", "joint1=1", "--control", "hold").data["final"]["q"]) < 0.01


def test_gains_are_those_of_the_controller(catena, pendulum):
    """Without integral a pendulum comes to rest where the spring kp holds its weight: kp (q0 - q) = m g l / 2 sin q."""
    words = ("run", "pendulum.py:make", "--q", "pin1=0.5", "--time", "8", "--samples", "3", "--json")
    data = catena(*words, "--control", "hold", "--gain", "100,0,20", "--rate", "200").data
    q = data["final"]["q"]["pin1"][0]
    assert 100 * (0.5 - q) == pytest.approx(9.81 / 2 * np.sin(q), rel=1e-6)


def test_gravity_compensation_leaves_an_arm_standing(catena):
    words = ("run", "arm7", "--q", "joint2=0.5", "joint4=1", "--time", "1", "--control", "gravity", "--json")
    final = catena(*words).data["final"]
    assert final["q"]["joint2"][0] == pytest.approx(0.5, abs=1e-6)
    assert max(abs(v[0]) for v in final["v"].values()) < 1e-6


def test_an_event_stops_the_motion_where_the_joint_is(catena, pendulum):
    answer = catena(
        "run", "pendulum.py:make", "--q", "pin1=30deg", "--event", "pin1=0", "--time", "5", "--json"
    )
    data = answer.data
    assert answer.code == 0
    assert data["final"]["q"]["pin1"][0] == pytest.approx(0.0, abs=1e-9)
    # Energy gives the speed at the bottom: w^2 = 3 g (1 - cos 30deg) / l.
    assert abs(data["final"]["v"]["pin1"][0]) == pytest.approx(
        sqrt(3 * 9.81 * (1 - np.cos(pi / 6))), rel=1e-6
    )
    assert [event["name"] for event in data["events"]] == ["pin1 = 0"]
    words = catena("run", "pendulum.py:make", "--q", "pin1=30deg", "--event", "pin1=0", "--time", "5").out
    assert "pin1 = 0 at t = 0.4" in words


@pytest.mark.parametrize("ending", ["nc", "h5"])
def test_a_written_trajectory_reads_back(catena, tmp_path, ending):
    pytest.importorskip("h5py")
    answer = catena(
        "run", "four_bar", "--v", "A=2", "--time", "0.2", "--out", f"run.{ending}", "--samples", "7", "--json"
    )
    run = Trajectory.load(tmp_path / f"run.{ending}")
    assert answer.data["files"] == [f"run.{ending}"]
    assert len(run.t) == 7
    assert list(run.q[-1, :1]) == answer.data["final"]["q"]["A"]


def test_tables_pictures_and_pages_are_written(catena, tmp_path):
    words = (
        "run",
        "four_bar",
        "--time",
        "0.2",
        "--out",
        "run.csv",
        "--plot",
        "run.png",
        "--report",
        "run.html",
    )
    answer = catena(*words)
    assert answer.code == 0, answer.err
    assert "run.csv, run.png, run.html" in answer.out
    with open(tmp_path / "run.csv", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row and not row[0].startswith("#")]
    assert any("A" in cell for cell in rows[0])
    assert float(rows[-1][0]) == pytest.approx(0.2)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "four-bar" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_a_plot_without_a_screen_becomes_a_file(catena, tmp_path):
    answer = catena("run", "walker", "--time", "0.01", "--plot")
    assert answer.code == 0
    assert "no screen" in answer.err
    assert (tmp_path / "walker_on_4_point_feet.png").exists()


def test_a_file_that_cannot_be_written_costs_nothing_else(catena, tmp_path):
    missing = tmp_path / "no folder" / "run.csv"
    answer = catena("run", "four_bar", "--time", "0.1", "--out", missing, "--plot", "run.png", "--json")
    assert answer.code == 4
    assert str(missing) in answer.err
    assert (tmp_path / "run.png").exists()
    data = answer.data
    assert data["failed"] == [str(missing)]
    # The trajectory went to a refuge, which the words name.
    (refuge,) = [file for file in data["files"] if file.endswith(".csv")]
    assert refuge in answer.err
    with open(refuge, newline="") as stream:
        assert len(list(csv.reader(stream))) > data["samples"]
    answer = catena(
        "run", "four_bar", "--time", "0.1", "--plot", tmp_path / "no folder" / "run.png", "--out", "run.csv"
    )
    assert answer.code == 4
    assert (tmp_path / "run.csv").exists()


def test_without_matplotlib_the_trajectory_is_written_all_the_same(catena, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for plot in (("--plot", "run.png"), ("--plot",)):
        answer = catena("run", "four_bar", "--time", "0.1", "--out", "run.csv", *plot)
        assert answer.code == 4
        assert 'pip install "catena-dynamics[plot]"' in answer.err
        (tmp_path / "run.csv").unlink()


def test_a_trajectory_that_finds_no_refuge_does_not_cost_the_other_files(catena, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    answer = catena(
        "run", "four_bar", "--time", "0.1", "--out", tmp_path / "no folder" / "run.csv", "--plot", "run.png"
    )
    assert answer.code == 4
    assert "is lost" in answer.err
    assert (tmp_path / "run.png").exists()


@pytest.mark.parametrize(
    ("control", "words"), [("goes_wrong", "joint 'pin1'"), ("raises", "pendulum.py:40: KeyError: 'table'")]
)
def test_a_control_that_fails_stops_the_run_and_what_there_is_is_kept(
    catena, pendulum, tmp_path, control, words
):
    answer = catena(
        "run", "pendulum.py:make", "--control", f"pendulum.py:{control}", "--time", "1", "--out", "run.csv"
    )
    assert answer.code == 1
    assert answer.err.startswith("catena: error: ")
    assert words in answer.err
    assert "is in run.csv" in answer.err
    assert answer.err.count("\n") == 1
    with open(tmp_path / "run.csv", newline="") as stream:
        last = list(csv.reader(stream))[-1]
    assert 0.1 < float(last[0]) <= 0.35


@pytest.mark.parametrize("name", INTEGRATORS)
def test_every_integrator_of_the_help_runs(catena, name):
    step = ("--step", "1e-2") if name in FIXED_STEPS else ()
    # Steps that find impulses take trees.
    model = "arm7" if name == "time_stepping" else "four_bar"
    data = catena("run", model, "--time", "0.02", "--integrator", name, *step, "--json").data
    assert (data["integrator"], data["reached"], data["code"]) == (name, 0.02, 0)


@pytest.mark.parametrize("way", DRIFTS)
def test_every_way_to_keep_loops_closed_runs(catena, way):
    assert catena("run", "four_bar", "--time", "0.02", "--drift", way).code == 0


def test_a_constant_force_at_a_joint_that_closes_a_loop_is_that_of_the_tree_that_it_equals(catena):
    words = ("run", "four_bar", "--time", "0.3", "--samples", "4", "--control", "constant", "C=1", "--json")
    final = catena(*words).data["final"]["q"]
    system = generators.four_bar().system()
    assert "C" in system.loops

    def act(t, q, v):
        return tree_forces(system, q, {"C": 1.0})

    run = simulate(system, system.assemble({}), np.zeros(system.nv), 0.3, control=act, samples=4)
    assert np.allclose(
        np.concatenate([final[joint] for joint in system.joints]), run.q[-1], rtol=0, atol=1e-9
    )
