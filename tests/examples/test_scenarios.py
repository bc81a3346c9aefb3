"""The runs of examples as files: they are what the tool writes, move as their examples do, and give the same numbers
from Python, from the file, from the shell and part by part."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.cli import main

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "scenarios"
# Numbers of these are found by iteration, and rounded as the processor does.
COMPUTED = ("02_stanford_arm_valve", "10_three_arms_two_loops", "28_wishbone")
# Those that need little to be compiled.
QUICK = ("01_double_pendulum", "09_grapple_a_handle", "27_parameter_study")
# How much of a run is compared [s].
SHORT = {"25_engine": 0.01, "37_flexible_slider_crank": 0.002, "28_wishbone": 0.1}


def tool():
    spec = importlib.util.spec_from_file_location("write_scenarios", ROOT / "tools" / "write_scenarios.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCENARIOS, example = tool().SCENARIOS, tool().example


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_file_says_what_the_tool_says(name):
    told, made = ct.Scenario.load(FOLDER / f"{name}.toml"), SCENARIOS[name]()
    if name in COMPUTED:
        assert max(np.abs(x - y).max() for x, y in zip(told.state, made.state, strict=True)) < 1e-6
        made = made.with_(
            initial=told.initial, velocity=told.velocity, drives=told.drives, wrenches=told.wrenches
        )
        assert str(told) == str(made)
    else:
        assert told == made


def test_every_file_has_a_maker_and_every_example_a_file_or_a_reason():
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(SCENARIOS)
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    without = set(re.findall(r"\b\d\d\b", page.split("No file says")[1]))
    told = {name[:2] for name in SCENARIOS}
    for path in (ROOT / "examples").glob("[0-9][0-9]_*.py"):
        assert (path.name[:2] in told) != (path.name[:2] in without), path.name
    assert all(f"({name}.toml)" in page for name in SCENARIOS)


def same(one, other):
    assert np.array_equal(one.t, other.t)
    for joint in one.joints:
        assert np.array_equal(one[joint], other[joint], equal_nan=True), joint
    for a, b in zip(one.segments, other.segments, strict=True):
        assert all(np.array_equal(getattr(a, x), getattr(b, x)) for x in ("q", "v", "tau"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(SCENARIOS)],
)
def test_python_the_file_the_shell_and_a_stream_give_the_same_numbers(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = FOLDER / f"{name}.toml"
    told = ct.Scenario.load(file)
    short = told.with_(duration=SHORT.get(name, min(told.duration, 0.05)), samples=7, plots=())
    short.save("short.toml")
    again = ct.Scenario.load("short.toml")
    assert again == short and again.digest == short.digest
    run = short.run(check=False)
    same(again.run(check=False), run)
    assert main(["run", "short.toml", "--out", "run.nc", "--quiet"]) == 0, capsys.readouterr().err
    same(ct.Trajectory.load("run.nc"), run)
    stream = again.stream(every=0.0, check=False)
    parts = list(stream)
    same(stream.run, run)
    assert np.array_equal(np.concatenate([part.t for part in parts]), run.t)
    joint = run.joints[-1]
    rows = [x[joint] for part in parts for x in part.segments if joint in x.system.joints]
    whole = [x[joint] for x in run.segments if joint in x.system.joints]
    assert np.array_equal(np.concatenate(rows, axis=-2), np.concatenate(whole, axis=-2))


def test_the_engine_moves_as_that_of_its_example():
    told = ct.Scenario.load(FOLDER / "25_engine.toml").with_(duration=0.05, samples=6)
    module = example("25_engine")
    s = module.engine().system()

    def forces(t, q, v):
        angle = s.joint_position(q, "main bearing")
        return {"cylinder": -module.gas(angle), "main bearing": np.array([-module.LOAD])}

    given = ct.simulate(s, {"main bearing": 0.3}, {"main bearing": 150.0}, 0.05, control=forces, samples=6)
    assert np.abs(told.run()["main bearing"] - given["main bearing"]).max() < 1e-8


def test_a_beam_spins_up_as_that_of_its_example():
    told = ct.Scenario.load(FOLDER / "36_spin_up.toml").with_(duration=2.0, samples=5).run()
    module = example("36_spin_up")
    s = module.beam_on_a_hub(2).system()
    given = ct.simulate(
        s, s.neutral(), np.zeros(s.nv), 2.0, motion={"hub": module.hub}, samples=5, rtol=1e-7, atol=1e-9
    )
    assert np.abs(told["beam.modes"] - given["beam.modes"]).max() < 1e-7
