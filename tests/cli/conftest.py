"""A way to call the program and read what it said."""

import json
import tempfile
from dataclasses import dataclass

import pytest

from catena.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def data(self):
        """Standard output as JSON, in which NaN is not allowed."""

        def refuse(word):
            raise AssertionError(f"{word} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def catena(capsys, tmp_path, monkeypatch):
    """`catena("run", "four_bar", ...)` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    refuge = tmp_path / "refuge"
    refuge.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(refuge))

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Answer(code, said.out, said.err)

    return call


@pytest.fixture
def pendulum(tmp_path):
    """A Python file with a mechanism, and controls that do and do not work."""
    file = tmp_path / "pendulum.py"
    file.write_text(PENDULUM, encoding="utf-8")
    return file


PENDULUM = """
import catena as ct
import numpy as np


def make(length=1.0, pins=1):
    m = ct.Mechanism("pendulum")
    before = "ground"
    for k in range(1, pins + 1):
        m.add_body(f"rod{k}", mass=1.0, com=(0, 0, -length / 2), inertia=(length**2 / 12, length**2 / 12, 0))
        at = ct.Pose(p=(0, 0, 0 if k == 1 else -length))
        m.add_joint(f"pin{k}", before, f"rod{k}", ct.Revolute("y"), in_parent=at)
        before = f"rod{k}"
    m.set_initial(q={"pin1": 0.1})
    return m


def broken():
    return 1 / 0


def number():
    return 42


def torque(t, q, v):
    return 2.0 + 0.0 * v


def scaled(system, factor):
    return lambda t, q, v: factor * np.ones(system.nv)


def goes_wrong(t, q, v):
    return np.full_like(v, np.nan) if t > 0.3 else np.zeros_like(v)


def raises(t, q, v):
    if t > 0.3:
        raise KeyError("table")
    return np.zeros_like(v)
"""
