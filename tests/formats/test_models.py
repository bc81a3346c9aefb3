"""The model files of the examples describe the mechanisms they were made from."""

from pathlib import Path

import numpy as np
import pytest

import catena as ct
from tools.write_models import MODELS, main

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "models"


def test_every_model_file_has_its_maker_and_is_listed():
    files = sorted(file.name for file in FOLDER.glob("*.toml"))
    assert files == sorted(f"{name}.toml" for name in MODELS)
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [file for file in files if f"({file})" not in listed] == []


def test_the_tool_writes_them_all(tmp_path):
    assert main([str(tmp_path / "new")]) == 0
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == sorted(
        f"{name}.toml" for name in MODELS
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_gives_the_masses_and_poses_of_its_maker(name):
    loaded, made = ct.load(FOLDER / f"{name}.toml"), MODELS[name]()
    a, b = loaded.system(), made.system()
    assert (a.joints, a.loops) == (b.joints, b.loops)
    q = b.integrate(b.neutral(), np.random.default_rng(0).normal(size=b.nv), 0.1)
    np.testing.assert_allclose(a.mass_matrix(q), b.mass_matrix(q), rtol=1e-13, atol=1e-15)
    for frame in (*made.bodies, *made.frames):
        assert a.pose(q, frame).allclose(b.pose(q, frame), 1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_holds_the_elements_of_its_maker(name):
    loaded, made = ct.load(FOLDER / f"{name}.toml"), MODELS[name]()
    for what in ("actuators", "springs", "wrenches"):
        assert list(getattr(loaded, what)) == list(getattr(made, what))
    assert [list(loaded.initial.q), list(loaded.initial.v)] == [list(made.initial.q), list(made.initial.v)]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_starts_in_a_state_that_closes_its_loops(name):
    m = ct.load(FOLDER / f"{name}.toml")
    s = m.system()
    q = s.assemble(m.initial.q)
    v = s.velocity(q, m.initial.v)
    position, velocity = s.closure(q, v)
    assert np.abs(position).max(initial=0.0) < 1e-9 and np.abs(velocity).max(initial=0.0) < 1e-9
