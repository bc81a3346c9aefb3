"""Spoiled files of scenarios: a scenario or a FormatError that begins with the file, never anything else, and never
slow. What can be read is printed, digested, and said again as text."""

from __future__ import annotations

import os
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from tests.fuzz.test_files import spoiled
from tests.fuzz.watching import ROOT, faults
from tests.simulation.scenario.file.test_file import FILE


@cache
def texts() -> list[str]:
    """Good files to spoil: those of the examples, and one that has nearly every table."""
    found = [path.read_text() for path in sorted((ROOT / "examples" / "scenarios").glob("*.toml"))]
    return [*[FILE] * 4, *(text for text in found if len(text) < 20_000)]


def check(seed: int) -> list[str]:
    """What is wrong with the file of a seed."""
    warnings.simplefilter("ignore")
    check.doing = "reading"  # type: ignore[attr-defined]
    random = np.random.default_rng([seed, 7])
    text = spoiled(random, texts()[int(random.integers(len(texts())))])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            scenario = ct.Scenario.load(path)
        except ct.FormatError as error:
            begins = str(error).startswith(str(path))
            return [] if begins else [f"a fault does not begin with the file: {error}"]
        except Exception as error:
            return [f"reading ends in a {type(error).__name__}: {error}"]
        check.doing = "saying it again"  # type: ignore[attr-defined]
        try:
            str(scenario), repr(scenario)
            scenario.save(Path(folder) / "again.toml")
            again = ct.Scenario.load(Path(folder) / "again.toml")
        except Exception as error:
            return [f"saving ends in a {type(error).__name__}: {error}"]
        same = again == scenario and again.digest == scenario.digest
        return [] if same else ["what was saved is another scenario"]


def test_spoiled_scenarios_are_refused_in_words():
    wrong = faults("test_scenario_files", range(40))
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_many_spoiled_scenarios_are_refused_in_words():
    wrong = faults("test_scenario_files", range(40, 2000), processes=os.cpu_count() or 1)
    assert not wrong, "\n".join(wrong)


@pytest.mark.fuzz
def test_20000_spoiled_scenarios_are_refused_in_words():
    wrong = faults("test_scenario_files", range(2000, 22_000), processes=os.cpu_count() or 1)
    assert not wrong, "\n".join(wrong)
