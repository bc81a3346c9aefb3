"""The runs of examples as files: they are what the tool writes, and move as their examples do."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import catena as ct

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "scenarios"


def tool():
    spec = importlib.util.spec_from_file_location("write_scenarios", ROOT / "tools" / "write_scenarios.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCENARIOS, example = tool().SCENARIOS, tool().example


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_file_says_what_the_tool_says(name):
    assert ct.Scenario.load(FOLDER / f"{name}.toml") == SCENARIOS[name]()


def test_every_file_has_a_maker():
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(SCENARIOS)


def test_the_engine_moves_as_that_of_its_example():
    told = ct.Scenario.load(FOLDER / "25_engine.toml").with_(duration=0.05, samples=6)
    module = example("25_engine")
    s = module.engine().system()

    def forces(t, q, v):
        angle = s.joint_position(q, "main bearing")
        return {"cylinder": -module.gas(angle), "main bearing": np.array([-module.LOAD])}

    given = ct.simulate(s, {"main bearing": 0.3}, {"main bearing": 150.0}, 0.05, control=forces, samples=6)
    assert np.abs(told.run()["main bearing"] - given["main bearing"]).max() < 1e-8
