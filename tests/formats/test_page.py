"""The page about model files: its example loads, shows every key, and survives saving."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.formats.source import Source
from catena.formats.toml import read, write
from catena.formats.toml.forces import BUILT_IN as FORCES
from catena.formats.toml.kinds import BUILT_IN
from catena.formats.toml.schema import KEYS, MANY, ONCE, POSE

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
EXAMPLE, INCLUDED, *_ = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def crane(tmp_path):
    (tmp_path / "crane.toml").write_text(EXAMPLE)
    (tmp_path / "winch.toml").write_text(INCLUDED)
    with pytest.warns(ct.CatenaWarning, match="break the triangle inequality"):
        return ct.load(tmp_path / "crane.toml")


def test_the_example_is_a_mechanism_that_closes_its_loops(crane):
    m = crane
    s = m.system()
    # The ram of the boom, and the pump.
    assert len(s.loops) == 2
    q = s.assemble(m.initial.q)
    np.testing.assert_allclose(s.joint_position(q, "ram"), 0.1, atol=1e-9)
    position, velocity = s.closure(q, s.velocity(q, m.initial.v))
    assert np.abs(position).max() < 1e-9 and np.abs(velocity).max() < 1e-9


def test_the_example_is_closed_where_it_is_neutral(crane):
    s = crane.system()
    position, _ = s.closure(s.neutral())
    assert np.abs(position).max() < 1e-12


def test_the_example_survives(same, crane):
    same(read(write(crane, ""), Source("")), crane)


def test_the_example_shows_every_table_and_every_key():
    content = tomllib.loads(EXAMPLE)
    assert set(content) == {"format", *ONCE, *MANY}
    shown = {key for word in MANY for table in content[word] for key in table}
    shown |= {key for word in ("mechanism", "initial", "ground", "linkage") for key in content[word]}
    shown |= {key for state in content["states"].values() for key in state}
    shown |= {key for joint in content["joint"] for key in joint.get("load_friction", ())}
    # The other ways to describe a flexible body are on the page about those, and nothing in the example is a servo.
    shown |= {"beam_frame", "finite_elements", "signals"}
    assert {key for required, optional in KEYS.values() for key in (*required, *optional)} <= shown


def test_the_tables_of_the_page_list_every_key_and_kind():
    listed = PAGE[PAGE.index("## Tables and keys") : PAGE.index("## What the words mean")]
    keys = {key for required, optional in KEYS.values() for key in (*required, *optional)} - {
        "q",
        "v",
        "signals",
    }
    arguments = {key for _, names in BUILT_IN.values() for key in names}
    for key in keys | arguments:
        assert f"`{key}`" in listed, key
    arguments |= {one.name for made in FORCES.values() for one in fields(made) if one.init}
    for key in arguments:
        assert f"`{key}`" in listed, key
    for word in (*BUILT_IN, *FORCES):
        assert f'`"{word}"`' in listed, word
    for key in POSE:
        assert re.search(rf"`{key}[` ]", listed), key
